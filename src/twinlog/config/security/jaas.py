"""Logins in Java's spelling: `...ScramLoginModule required username="u" password="p";`. Pure.

Messages never quote any part of the text: all of it is a secret (R12).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from twinlog.config.security.secrets import Secret
from twinlog.config.text.values import ValueRefusedError

_TOKEN = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([=;])|([^\s=;"']+))""", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_FLAGS = {"required", "requisite", "sufficient", "optional"}
_MECHANISMS = {
    "PlainLoginModule": {"PLAIN"},
    "ScramLoginModule": {"SCRAM-SHA-256", "SCRAM-SHA-512"},
    "OAuthBearerLoginModule": {"OAUTHBEARER"},
    "Krb5LoginModule": {"GSSAPI"},
}


@dataclass(frozen=True)
class Login:
    """Name and password."""

    username: str
    password: Secret


def read_login(text: str, mechanism: str) -> Login:
    """Read the name and password of PLAIN or SCRAM; raises ValueRefusedError."""
    given = read_options(text, mechanism)
    if given.get("tokenauth", "false").lower() == "true":
        raise ValueRefusedError("delegation tokens (tokenauth) are not supported")
    missing = [option for option in ("username", "password") if option not in given]
    if missing:
        raise ValueRefusedError(f"the module has no {' and no '.join(missing)}")
    return Login(given["username"], Secret(given["password"]))


def read_options(text: str, mechanism: str) -> dict[str, str]:
    """Read the options of one login module that fits the mechanism; raises ValueRefusedError."""
    tokens = _tokens(text)
    if len(tokens) < 3 or tokens[-1] != ("mark", ";"):
        raise ValueRefusedError('expected `<module> required name="value" ...;`, with the semicolon')
    (_, module), (_, flag), *options = tokens[:-1]
    name = module.rpartition(".")[2]
    if name not in _MECHANISMS:
        raise ValueRefusedError(f"allowed are {', '.join(_MECHANISMS)}")
    if mechanism not in _MECHANISMS[name]:
        raise ValueRefusedError(f"{name} does not fit sasl.mechanism = {mechanism}")
    if flag.lower() not in _FLAGS:
        raise ValueRefusedError("the module must be followed by the word required")
    return _options(options)


def module_of(text: str) -> str:
    """Name the login module, without its package; raises ValueRefusedError."""
    tokens = _tokens(text)
    return tokens[0][1].rpartition(".")[2] if tokens else ""


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    at = 0
    stripped = text.rstrip()
    while at < len(stripped):
        matched = _TOKEN.match(stripped, at)
        if matched is None:
            raise ValueRefusedError("a quotation mark is never closed")
        quoted = matched.group(1) if matched.group(1) is not None else matched.group(2)
        if quoted is not None:
            tokens.append(("word", re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), quoted, flags=re.DOTALL)))
        elif matched.group(3):
            tokens.append(("mark", matched.group(3)))
        else:
            tokens.append(("word", matched.group(4)))
        at = matched.end()
    return tokens


def _options(tokens: list[tuple[str, str]]) -> dict[str, str]:
    triples = [tokens[at : at + 3] for at in range(0, len(tokens), 3)]
    options: dict[str, str] = {}
    for triple in triples:
        if [kind for kind, _ in triple] != ["word", "mark", "word"] or triple[1][1] != "=":
            raise ValueRefusedError('the options must read name="value", with nothing between them but blanks')
        options[triple[0][1]] = triple[2][1]
    return options
