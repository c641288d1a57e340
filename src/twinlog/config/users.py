"""The file of those who may ask the service: names, roles, hashed passwords and tokens. Nothing in it opens a door.

    alice:admin:scrypt:<salt>:<hash>      a person with a password
    ci:operator:token:<hash>              a program with a token

Runs in the service, which reads the file again when it changes, and in `twinlog user`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
import os
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from twinlog.errors import UsageError

log = logging.getLogger("twinlog.rest")

ROLES: Final = ("viewer", "operator", "admin")
_NAME: Final = re.compile(r"[A-Za-z0-9_.@-]{1,100}")
_COST: Final = {"n": 2**14, "r": 8, "p": 1}


@dataclass(frozen=True)
class User:
    """One line of the file."""

    name: str
    role: str
    scheme: str
    secret: str = field(repr=False)

    def line(self) -> str:
        """As it stands in the file."""
        return f"{self.name}:{self.role}:{self.scheme}:{self.secret}"


def parse_users(text: str, file: str, roles: Collection[str] | None = None) -> list[User]:
    """Read the file. Raises UsageError that names the line; `roles` are those of the settings, where they are known."""
    users = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = line.strip().split(":", 3)
        if len(parts) != 4 or not _NAME.fullmatch(parts[1]) or parts[2] not in {"scrypt", "token"}:
            raise UsageError(f"{file}:{number}: expected name:role:scrypt:salt:hash or name:role:token:hash")
        if roles is not None and parts[1] not in roles:
            raise UsageError(
                f"{file}:{number}: {parts[1]}: there is no such role; role.{parts[1]}.may would make it one"
            )
        users.append(User(*parts))
    return users


def load_users(path: Path, roles: Collection[str] | None = None) -> list[User]:
    """Read the file. Raises UsageError."""
    try:
        return parse_users(path.read_text(encoding="utf-8"), str(path), roles)
    except OSError as error:
        raise UsageError(
            f"{path}: the file of users cannot be read ({error.strerror}); `twinlog user add` makes one"
        ) from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: it is no file of users; `twinlog user add` makes one") from None


def with_password(name: str, role: str, password: str) -> User:
    """Make a user who logs in by password."""
    _check(name, role)
    salt = os.urandom(16)
    return User(name, role, "scrypt", f"{_text(salt)}:{_text(_scrypt(password, salt))}")


def with_token(name: str, role: str) -> tuple[User, str]:
    """Make a user who shows a token; the token is returned once and kept nowhere."""
    _check(name, role)
    token = secrets.token_urlsafe(32)
    return User(name, role, "token", _digest(token)), token


def save_user(path: Path, user: User) -> None:
    """Put a user into the file, in place of an older one of that name."""
    kept = [one for one in load_users(path) if one.name != user.name] if path.exists() else []
    _write(path, [*kept, user])


def remove_user(path: Path, name: str) -> None:
    """Take a user out of the file. Raises UsageError when there is none."""
    users = load_users(path)
    kept = [one for one in users if one.name != name]
    if len(kept) == len(users):
        raise UsageError(f"{name}: no such user in {path}; `twinlog user list` shows all")
    _write(path, kept)


def _write(path: Path, users: list[User]) -> None:
    """Replace the file as a whole: the service may read it at any moment."""
    new = path.with_name(f".{path.name}.new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as paper:
        paper.writelines(f"{user.line()}\n" for user in users)
    new.replace(path)


class Users:
    """Looks people up. A password is slow to check on purpose, so one that was right is remembered, hashed anew."""

    def __init__(self, path: Path, roles: Collection[str] = ROLES) -> None:
        self._path = path
        self._roles = roles
        self._stamp: tuple[int, int] | None = None
        self._users: list[User] = []
        self._right: dict[bytes, User] = {}
        self._salt = os.urandom(32)
        self._users = load_users(path, roles)

    def remembered(self, name: str, password: str) -> User | None:
        """Find who logged in with this name and password before. Quick."""
        self._refresh()
        return self._right.get(self._key(name, password))

    def _key(self, name: str, password: str) -> bytes:
        return hmac.digest(self._salt, f"{name}\0{password}".encode(), "sha256")

    def by_password(self, name: str, password: str) -> User | None:
        """Find who logs in with a name and a password. Blocking."""
        if (known := self.remembered(name, password)) is not None:
            return known
        user = next((one for one in self._users if one.name == name and one.scheme == "scrypt"), None)
        salt, _, expected = user.secret.partition(":") if user else (_text(self._salt[:16]), "", "")
        # For an unknown name, too: how long it takes must not tell whether there is one.
        right = hmac.compare_digest(_text(_scrypt(password, base64.b64decode(salt))), expected)
        if user is None or not right:
            return None
        self._right[self._key(name, password)] = user
        return user

    def by_token(self, token: str) -> User | None:
        """Find whose token it is."""
        self._refresh()
        digest = _digest(token)
        return next(
            (one for one in self._users if one.scheme == "token" and hmac.compare_digest(one.secret, digest)), None
        )

    def _refresh(self) -> None:
        try:
            seen = self._path.stat()
            stamp = (seen.st_mtime_ns, seen.st_size)
            if stamp != self._stamp:
                self._stamp = stamp
                self._users = load_users(self._path, self._roles)
                self._right.clear()
        except (OSError, UsageError) as error:
            # It is being replaced, or somebody made a mistake in it: who was in it before stays.
            log.warning("%s: not read again: %s", self._path, error)


def _check(name: str, role: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name}: a user's name has letters, digits, `_`, `.`, `@` and `-`")
    if not _NAME.fullmatch(role):
        raise UsageError(f"{role}: a role is {', '.join(ROLES)}, or the NAME of a role.NAME.may of the settings file")


def _scrypt(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, **_COST)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", errors="surrogatepass")).hexdigest()


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
