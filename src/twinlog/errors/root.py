"""The base of all errors."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(eq=False)
class TwinlogError(Exception):
    """Base of all: subclasses are dataclasses whose fields fill the sentences `says` and `remedy`."""

    code: ClassVar[str] = "TWINLOG"
    says: ClassVar[str] = "something went wrong"
    remedy: ClassVar[str] = ""
    retriable: ClassVar[bool] = False

    def facts(self) -> dict[str, Any]:
        """The fields of this error as plain values, for JSON and for the ledger."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def __str__(self) -> str:
        return self.says.format(**self.facts())

    def remedy_text(self) -> str:
        """What the operator can do about it; empty when there is nothing to do but wait."""
        return self.remedy.format(**self.facts())

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), tuple(self.facts().values()))


def told(error: BaseException) -> str:
    """What an exception says, for people: its sentence, or its kind where it has none. Never its `repr`."""
    return str(error) or type(error).__name__
