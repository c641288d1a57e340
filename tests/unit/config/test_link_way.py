"""A link that does not exist gets the way to the one that was meant."""

import pytest

from twinlog.config.telling.link_way import way_to_link

LINKS = ("east->west", "north->south")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("esat->west", "Did you mean 'east->west'?"),
        ("west->east", "`west->east.enabled = true`"),
        ("east->south", "`east->south.enabled = true`"),
        ("east", "did you mean 'east->west'?"),
        ("west", "did you mean 'east->west'?"),
        ("alone", "SOURCE->TARGET"),
        ("zzz", "`twinlog validate` lists"),
        ("east->east", "Did you mean 'east->west'?"),
    ],
)
def test_the_way(name: str, told: str):
    assert told in way_to_link(name, LINKS, ("alone",))


def test_no_link_at_all():
    assert way_to_link("a->b", ()) == "Check the name. `twinlog validate` lists the links of a file."
