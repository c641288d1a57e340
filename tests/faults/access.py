"""Faults of access: passwords that are changed, certificates that expire, rights that are taken away."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from tests.faults.scenario import scenario

if TYPE_CHECKING:
    from tests.faults.scene import Scene


@scenario("a password is changed on the source before the mirror knows", 32,
          named="<source>: access denied: .*(?i:authentication failed)", peer=False, sites="secure")  # fmt: skip
def password_rotated(scene: Scene) -> None:
    """The source takes another password and drops all connections; the file with the secret follows 15 s later."""
    with scene.fault():
        new = secrets.token_hex(12)
        scene.secure.rotate(new)
        scene.secure.drop_connections(scene)
        scene.hold(15)
        scene.stood_still(10)
        scene.secure.tell(new)


@scenario("the right to write to one copy is taken away", 32,
          named=r"PARTITION_ACCESS_DENIED <orders>-<place>: T denies .*Write", peer=False, sites="secure")  # fmt: skip
def write_denied(scene: Scene) -> None:
    """Write on one copy is denied to the mirror's user on the target for 20 s. The other topic goes on."""
    with scene.fault(place=range(6)):
        scene.secure.deny("target", "WRITE", scene.twinlog.remote(scene.orders))
        scene.hold(20)
        scene.stood_still(10)
        scene.secure.allow_again("target", "WRITE", scene.twinlog.remote(scene.orders))


@scenario("the right to read one topic is taken away", 32,
          named=r"PARTITION_ACCESS_DENIED <orders>-<place>: <source> denies .*Read", peer=False,
          sites="secure")  # fmt: skip
def read_denied(scene: Scene) -> None:
    """Read on one topic is denied to the mirror's user on the source for 20 s. The other topic goes on."""
    with scene.fault(place=range(6)):
        scene.secure.deny("source", "READ", scene.orders)
        scene.hold(20)
        scene.stood_still(10)
        scene.secure.allow_again("source", "READ", scene.orders)


@scenario("the mirror's certificate expires", 32, named=r"<source>: .*certificate.* expired", peer=False,
          sites="certified")  # fmt: skip
def certificate_expired(scene: Scene) -> None:
    """The source takes certificates; the mirror's has expired when all connections drop; a new one comes 15 s later."""
    with scene.fault():
        scene.secure.certify(expired=True)
        scene.secure.drop_connections(scene)
        scene.hold(15)
        scene.stood_still(10)
        scene.secure.certify(expired=False)
