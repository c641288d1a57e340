"""What the catalogue says about one key. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeAlias, TypeVar

from twinlog.config.text.values import Kind

T = TypeVar("T")


class Scope(Enum):
    """Where a key may stand."""

    FILE = "top of the file"
    LINK = "top of the file, or A->B."
    LINK_ONLY = "A->B."
    SHARED = "top of the file, A., or before any client"
    CONSUMER = "A.consumer. or A->B.source.consumer."
    PRODUCER = "B.producer. or A->B.producer.override."
    ADMIN = "A.admin. or A->B.source.admin., A->B.target.admin."
    WORKER = "B."


@dataclass(frozen=True)
class Supported:
    """Twinlog does what the key says."""


@dataclass(frozen=True)
class Meaningless:
    """There is nothing here that the key could set; `reason` says why that is so."""

    reason: str


Support: TypeAlias = Supported | Meaningless


@dataclass(frozen=True)
class Key(Generic[T]):
    """One key, or with a name that ends in `.*` a family of keys.

    `default` is text as a file would have it; None means that absence has a meaning of its own, told in `meaning`.
    `mm2_default` is MirrorMaker 2's (or the Java client's) where it differs.
    """

    name: str
    scopes: tuple[Scope, ...]
    kind: Kind[T]
    default: str | None
    meaning: str
    support: Support = Supported()
    secret: bool = False
    own: bool = False
    old_names: tuple[str, ...] = ()
    mm2_default: str | None = None

    def covers(self, name: str) -> bool:
        """Tell whether this is the entry for a name of the file (old names included)."""
        if self.name.endswith(".*"):
            return name.startswith(self.name[:-1]) or name == self.name[:-2]
        return name == self.name or name in self.old_names

    @property
    def shared(self) -> bool:
        """Whether every Kafka client has it, so that it may stand before no client at all."""
        return Scope.SHARED in self.scopes
