"""A value that must not be seen (R12). Runs everywhere that settings travel, executors included."""

from __future__ import annotations

import re
from typing import Any, NoReturn

from pydantic import GetCoreSchemaHandler
from pydantic_core import core_schema

MASK = "***"
_LOGIN_IN_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)[^/@\s]+@")


def without_login(text: str) -> str:
    """The same text, with the user and password of every address in it masked."""
    return _LOGIN_IN_ADDRESS.sub(rf"\1{MASK}@", text)


class Secret:
    """A password, a key: prints as `***` wherever text is made of it, and opens only by `reveal()`.

    It is no `str` on purpose: JSON encoders and `join` would read the characters of a subclass without asking.
    Pickling keeps the value, because executors must log in too; the pickles travel only inside Spark.
    """

    __slots__ = ("_value",)

    _value: str

    def __init__(self, value: str) -> None:
        object.__setattr__(self, "_value", value)

    def reveal(self) -> str:
        """Return the value, for handing it to a client and for nothing else."""
        return self._value

    def __setattr__(self, name: str, value: object) -> NoReturn:
        msg = "a secret does not change"
        raise AttributeError(msg)

    def __str__(self) -> str:
        return MASK

    def __repr__(self) -> str:
        return MASK

    def __format__(self, spec: str) -> str:
        return format(MASK, spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __reduce__(self) -> tuple[type[Secret], tuple[str]]:
        return (Secret, (self._value,))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Accept only what is wrapped already; show it masked in every dump, and not at all in validation errors."""
        del source, handler
        return core_schema.is_instance_schema(
            cls,
            serialization=core_schema.plain_serializer_function_ser_schema(str, return_schema=core_schema.str_schema()),
        )
