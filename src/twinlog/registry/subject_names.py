"""Names of subjects and contexts: `orders-value` is in the default context, `:.east:orders-value` in context `.east`.

Pure. A context without a subject (`:.east:`) names the settings of that context; `None` names the settings of the
default context, and `:.__GLOBAL:` those of all contexts.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

DEFAULT: Final = "."
GLOBAL: Final = ".__GLOBAL"
GLOBAL_SCOPE: Final = ":.__GLOBAL:"
WILDCARD: Final = ":*:"
_PREFIX: Final = ":."
_RESERVED: Final = frozenset({"__GLOBAL", "__EMPTY"})
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")


class SubjectName(NamedTuple):
    """A subject and the context that it is in."""

    context: str
    subject: str

    @property
    def scope(self) -> str:
        """The name of the context's own settings; empty for the default context."""
        return "" if self.context == DEFAULT else f":{self.context}:"

    @property
    def full(self) -> str:
        return self.scope + self.subject


@lru_cache(maxsize=4096)
def split(name: str) -> SubjectName:
    """The parts of a name. `:.x` without a second colon is context `.x` with the empty subject."""
    if name.startswith(_PREFIX):
        context, _, subject = name[1:].partition(":")
        return SubjectName(context, subject)
    if name.startswith(WILDCARD):
        return SubjectName("*", name[len(WILDCARD) :])
    return SubjectName(DEFAULT, name)


def normalized(name: str) -> str:
    """The one spelling of a name: `:.:x` is `x`."""
    return split(name).full if name.startswith(":") else name


def context_of(name: str | None) -> str:
    """The context of a name; that of None is the default one."""
    return split(name).context if name and name.startswith(":") else DEFAULT


def is_default_scope(name: str | None) -> bool:
    """Whether a name means the settings of the default context."""
    return name is None or split(name) == (DEFAULT, "")


def is_valid(name: str, *, for_settings: bool = False) -> bool:
    """Whether a subject may have this name."""
    if _CONTROL.search(name):
        return False
    context, subject = split(name)
    return subject not in _RESERVED and (for_settings or context != GLOBAL)


def beside(parent: str | None, name: str) -> str:
    """A name as written inside of `parent`: without a context of its own it is in the context of the parent."""
    place = split(name)
    if place.context == DEFAULT and parent is not None and context_of(parent) != DEFAULT:
        return SubjectName(context_of(parent), name).full
    return place.full


def matches(scope: str | None, name: str) -> bool:
    """Whether a subject is what `scope` names: the subject itself, one of that context, or any for None or global."""
    if scope is None or scope == name:
        return True
    context, subject = split(scope)
    return not subject and (context == GLOBAL or context == context_of(name))


def context_scope(text: str) -> str:
    """A context as it is written in a path (`.east`, `east`, `:.east:`), as a scope. Raises ValueError."""
    text = text.removeprefix(":")
    text = text.removesuffix(":")
    if ":" in text:
        raise ValueError("Context name cannot contain a colon")
    if not text.startswith("."):
        text = f".{text}"
    return "" if text == DEFAULT else f":{text}:"
