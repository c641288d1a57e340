from __future__ import annotations

from tests.proofs import Promise, claims_of, judge, promises_of

_DESIGN = """
- **R1 No loss.** Every record arrives.
- **R2 No duplicate.** (planned) Never twice.
- **Other** R3 is not defined here.
"""
_TESTS = """
import pytest
pytestmark = [pytest.mark.proves("R9")]
@pytest.mark.proves("R1", "R2")
def test_a(): ...
@pytest.mark.proves("R3")
class TestThings:
    @pytest.mark.proves("R4")
    async def test_b(self): ...
    def helper(self): ...
@pytest.mark.proves("R5")
def not_a_test(): ...
"""


def test_promises_are_read_from_the_design() -> None:
    assert promises_of(_DESIGN) == [
        Promise("R1", "No loss", planned=False),
        Promise("R2", "No duplicate", planned=True),
    ]


def test_claims_come_from_functions_classes_and_files() -> None:
    a, b = "tests/test_x.py::test_a", "tests/test_x.py::TestThings::test_b"
    assert claims_of(_TESTS, "tests/test_x.py") == {"R1": [a], "R2": [a], "R3": [b], "R4": [b], "R9": [a, b]}


def test_unproven_and_unknown_promises_fail() -> None:
    promises = promises_of(_DESIGN)
    assert judge(promises, {"R1": ["t"]}) == []
    assert judge(promises, {}) == ["R1 No loss: no test proves it"]
    assert "R7" in judge(promises, {"R1": ["t"], "R7": ["t"]})[0]
