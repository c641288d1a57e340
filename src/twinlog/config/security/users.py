"""The users file of the service: names, roles, hashed passwords and tokens. It holds hashes only.

    alice:admin:scrypt:n=15,r=8,p=3:<salt>:<hash>     a person with a password; the cost is 2^n, blocks and lanes
    ci:operator:token:<hash>[:<seconds>]              a program with a token, and when it ends (seconds since 1970)
    bot:viewer:certificate:<subject>                  a program with a certificate of http.tls.client.ca

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
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cryptography.x509 import load_pem_x509_certificate

from twinlog.errors import UsageError
from twinlog.model.clock import SYSTEM_CLOCK

log = logging.getLogger("twinlog.rest")

ROLES: Final = ("viewer", "operator", "admin")
_NAME: Final = re.compile(r"[A-Za-z0-9_.@-]{1,100}")
_COST: Final = "n=15,r=8,p=3"
"""For new passwords: one of those that OWASP lists; 32 MB and some third of a second."""
_OLD_COST: Final = "n=14,r=8,p=1"
"""Of lines that do not say it."""
_DEAREST: Final = 256 << 20
LEAST_LENGTH: Final = 12
_GONE_S: Final = 5.0
"""A file may be missing for a moment while it is replaced."""
_FORMS: Final = "expected name:role:scrypt:cost:salt:hash or name:role:token:hash"


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

    @property
    def expires(self) -> int | None:
        """When a token ends, in seconds since 1970."""
        end = self.secret.partition(":")[2] if self.scheme == "token" else ""
        return int(end) if end else None

    def accepts_token(self, digest: str) -> bool:
        """Whether a token with this digest is theirs, and has not ended."""
        if self.scheme != "token" or not hmac.compare_digest(self.secret.partition(":")[0], digest):
            return False
        return self.expires is None or SYSTEM_CLOCK.now_s() < self.expires


def parse_users(text: str, file: str, roles: Collection[str] | None = None) -> list[User]:
    """Read the file. Raises UsageError that names the line; `roles` are those of the settings, where they are known."""
    users, wrong = read_lines(text, file, roles)
    if wrong:
        raise UsageError(wrong[0])
    return users


def read_lines(text: str, file: str, roles: Collection[str] | None) -> tuple[list[User], list[str]]:
    """The users of all lines that are in order, and what is wrong with the others."""
    users: list[User] = []
    wrong: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = line.strip().split(":", 3)
        if len(parts) != 4 or not _NAME.fullmatch(parts[1]) or not _is_sound(parts[2], parts[3]):
            wrong.append(f"{file}:{number}: {_FORMS}")
        elif roles is not None and parts[1] not in roles:
            wrong.append(f"{file}:{number}: {parts[1]}: there is no such role; role.{parts[1]}.may would make it one")
        else:
            users.append(User(*parts))
    return users, wrong


def _is_sound(scheme: str, secret: str) -> bool:
    parts = secret.split(":")
    match scheme:
        case "token":
            return len(parts) == 1 or (len(parts) == 2 and parts[1].isdecimal())
        case "certificate":
            return bool(secret.strip())
        case "scrypt":
            return len(parts) == 2 or (len(parts) == 3 and _cost(parts[0]) is not None)
        case _:
            return False


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
    """Make a user who logs in by password. Raises UsageError for a short one."""
    _check(name, role)
    if len(password) < LEAST_LENGTH:
        raise UsageError(f"{name}: a password has at least {LEAST_LENGTH} characters; nothing was changed")
    salt = os.urandom(16)
    return User(name, role, "scrypt", f"{_COST}:{_text(salt)}:{_text(_scrypt(password, salt, _COST))}")


def with_token(name: str, role: str, days: int | None = None) -> tuple[User, str]:
    """Make a user who shows a token; the token is returned once and kept nowhere."""
    _check(name, role)
    token = secrets.token_urlsafe(32)
    end = "" if days is None else f":{int(SYSTEM_CLOCK.now_s()) + days * 86_400}"
    return User(name, role, "token", _digest(token) + end), token


def with_certificate(name: str, role: str, certificate: bytes) -> User:
    """Make a user who shows a certificate in PEM. Raises UsageError."""
    _check(name, role)
    try:
        parsed = load_pem_x509_certificate(certificate)
    except ValueError:
        raise UsageError(f"{name}: there is no certificate in PEM; nothing was changed") from None
    return User(name, role, "certificate", parsed.subject.rfc4514_string())


def save_user(path: Path, user: User) -> None:
    """Put a user into the file, in place of an older one of that name."""
    kept = [other for other in load_users(path) if other.name != user.name] if path.exists() else []
    _write(path, [*kept, user])


def remove_user(path: Path, name: str) -> None:
    """Take a user out of the file. Raises UsageError when there is none."""
    users = load_users(path)
    kept = [user for user in users if user.name != name]
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
        self._stamp: tuple[int, int, int] | None = None
        self._users: list[User] = []
        self._right: dict[bytes, User] = {}
        self._salt = os.urandom(32)
        self._missing_since: float | None = None
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
        user = next((known for known in self._users if known.name == name and known.scheme == "scrypt"), None)
        *cost, salt, expected = user.secret.split(":") if user else (_COST, _text(self._salt[:16]), "")
        # For an unknown name, too: how long it takes must not tell whether there is one.
        made = _scrypt(password, base64.b64decode(salt), cost[0] if cost else _OLD_COST)
        right = hmac.compare_digest(_text(made), expected)
        if user is None or not right or user not in self._users:  # it may have been taken out meanwhile
            return None
        self._right[self._key(name, password)] = user
        return user

    def by_token(self, token: str) -> User | None:
        """Find whose token it is."""
        self._refresh()
        digest = _digest(token)
        return next((user for user in self._users if user.accepts_token(digest)), None)

    def by_certificate(self, subject: str) -> User | None:
        """Find whose certificate has this subject."""
        self._refresh()
        users = (user for user in self._users if user.scheme == "certificate" and user.secret == subject)
        return next(users, None) if subject else None

    def by_name(self, name: str) -> User | None:
        """Find somebody by name, to see whether they are still there."""
        self._refresh()
        return next((user for user in self._users if user.name == name), None)

    def _refresh(self) -> None:
        """Read the file again when it changed. Whoever is not in it is out; a wrong line concerns nobody else."""
        try:
            seen = self._path.stat()
            stamp = (seen.st_mtime_ns, seen.st_size, seen.st_ino)
            if stamp == self._stamp:
                self._missing_since = None
                return
            text = self._path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            self._miss(error)
            return
        self._stamp, self._missing_since = stamp, None
        self._users, wrong = read_lines(text, str(self._path), self._roles)
        self._right.clear()
        for sentence in wrong:
            log.error("%s; nobody logs in by this line", sentence)

    def _miss(self, error: Exception) -> None:
        now = time.monotonic()
        if self._missing_since is None:
            self._missing_since = now
        if now - self._missing_since > _GONE_S and (self._users or self._right):
            log.error("%s: the file of users cannot be read (%s); nobody logs in by it", self._path, error)
            self._stamp = None
            self._users = []
            self._right.clear()


def _check(name: str, role: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name}: a user's name has letters, digits, `_`, `.`, `@` and `-`")
    if not _NAME.fullmatch(role):
        raise UsageError(f"{role}: a role is {', '.join(ROLES)}, or the NAME of a role.NAME.may of the settings file")


def _cost(text: str) -> dict[str, int] | None:
    """The numbers of a cost; None for what is none, or would take all of the memory."""
    matched = re.fullmatch(r"n=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})", text)
    if matched is None:
        return None
    n, r, p = map(int, matched.groups())
    sound = n >= 10 and r > 0 and p > 0 and 128 * r * 2**n <= _DEAREST
    return {"n": 2**n, "r": r, "p": p} if sound else None


def _scrypt(password: str, salt: bytes, cost: str) -> bytes:
    numbers = _cost(cost) or {}
    return hashlib.scrypt(password.encode(), salt=salt, maxmem=2 * _DEAREST, **numbers)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", errors="surrogatepass")).hexdigest()


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
