"""Exported schemas: written and read again, in an order that can be imported, and compared."""

from __future__ import annotations

import pytest

from twinlog.registry.inventory import Inventory, differences, in_import_order, read_lines


def _version(subject: str, version: int, number: int, text: str, **more: object) -> dict[str, object]:
    return {"subject": subject, "version": version, "id": number, "schema": text, "deleted": False, **more}


def test_what_was_written_is_read_again_whatever_is_in_a_text() -> None:
    odd = 'line\u2028and "quotes"\n'
    kept = Inventory([_version("s", 1, 1, odd)], {"": {"compatibilityLevel": "FULL"}}, {"s": "READONLY"})
    again = read_lines("\n".join(kept.lines()).split("\n"))
    assert again == kept
    assert not differences(again, kept)


def test_what_others_refer_to_comes_first() -> None:
    refers = [{"name": "I", "subject": "inner", "version": 1}]
    outer, inner = _version("outer", 1, 1, "o", references=refers), _version("inner", 1, 2, "i")
    assert [one["subject"] for one in in_import_order([outer, inner])] == ["inner", "outer"]


def test_every_difference_is_named() -> None:
    here = Inventory([_version("s", 1, 1, "a"), _version("s", 2, 2, "b")], {"s": {"normalize": True}})
    there = Inventory([_version("s", 1, 1, "x"), _version("t", 1, 3, "c")])
    found = {(one.kind, one.what) for one in differences(here, there)}
    assert found == {
        ("schema", "id 1 of context ."),
        ("id", "id 2 of context ."),
        ("id", "id 3 of context ."),
        ("version", "s version 2"),
        ("version", "t version 1"),
        ("config", "s"),
    }


def test_a_file_that_is_no_export_is_refused_by_its_line() -> None:
    with pytest.raises(ValueError, match="line 2"):
        read_lines(['{"subject":"s","version":1,"id":1,"schema":"x"}', "{}"])
