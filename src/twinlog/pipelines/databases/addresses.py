"""JDBC URLs: which database, where, and which options. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from twinlog.config.security.places import Places
from twinlog.config.security.secrets import Secret

Product = Literal["postgresql", "mysql"]
_PRODUCTS: Final[dict[str, Product]] = {"postgresql": "postgresql", "mysql": "mysql", "mariadb": "mysql"}
_PORTS: Final = {"postgresql": 5432, "mysql": 3306}


@dataclass(frozen=True)
class Address:
    """Where a database is, and who asks. Prints without the password."""

    product: Product
    host: str
    port: int
    database: str
    user: str
    password: Secret
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.product}://{self.host}:{self.port}/{self.database}"

    def option(self, name: str, default: str = "") -> str:
        return dict(self.options).get(name, default)


def read_address(url: str, user: str = "", password: Secret | None = None) -> Address:
    """An address of a JDBC URL. Raises ValueError; the message never holds the URL, which may hold a password."""
    if not url.startswith("jdbc:"):
        raise ValueError("a JDBC URL starts with jdbc:")
    parts = urlsplit(url.removeprefix("jdbc:"))
    product = _PRODUCTS.get(parts.scheme)
    if product is None:
        known = ", ".join(f"jdbc:{product}://" for product in _PRODUCTS)
        raise ValueError(f"no dialect for jdbc:{parts.scheme}; there are: {known}")
    if not parts.hostname:
        raise ValueError(f"names no host; write jdbc:{parts.scheme}://HOST/{parts.path.lstrip('/') and 'DATABASE'}")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    own_user, own_password = options.pop("user", ""), options.pop("password", "")
    return Address(
        product,
        parts.hostname,
        parts.port or _PORTS[product],
        unquote(parts.path.lstrip("/")),
        user or own_user or unquote(parts.username or ""),
        password
        if password is not None and password.reveal()
        else Secret(own_password or unquote(parts.password or "")),
        tuple(sorted(options.items())),
    )


def leads_to_database(text: str) -> Places:
    """The hosts of a JDBC URL; PostgreSQL's library takes several."""
    return Places(tuple(host.strip("[]") for host in read_address(text.strip()).host.split(",")))


def search_path(address: Address) -> str:
    """An option of PostgreSQL for `currentSchema` of the URL. Without it the path of the user and database counts."""
    schema = address.option("currentSchema")
    escaped = schema.replace("\\", "\\\\").replace(" ", "\\ ")
    return f" -c search_path={escaped}" if schema else ""
