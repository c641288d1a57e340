from twinlog.config.telling import reference
from twinlog.config.text.catalogue import CATALOGUE


def test_every_key_is_on_the_page():
    text = reference.page()
    assert [key.name for key in CATALOGUE if f"`{key.name}`" not in text] == []
    assert "| `refresh.topics.interval.seconds` | `5` | `600` |" in text
