"""Sites that ask who comes, and a mirror whose password, certificate and rights can be changed while it runs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from tests.faults.mirrors import WanEnds
from tests.faults.site import Site

from twinlog.kafka.client_options import client_options
from twinlog.local.certificates import write_certificates
from twinlog.local.security import APPLICATION

if TYPE_CHECKING:
    from tests.faults.scene import Scene

_EVERYTHING = (("TOPIC", "*"), ("GROUP", "*"), ("TRANSACTIONAL_ID", "*"), ("BROKER", "kafka-cluster"))
Side = Literal["source", "target"]


class Authority:
    """Signs the mirror's certificates; the brokers of a site trust it beside their own."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Twinlog faults")])
        self._root = self._signed(self._name, self._key.public_key(), days=1, authority=True)

    def trusted_by(self, site: Site) -> None:
        """Make a site that was not started yet trust this authority."""
        write_certificates(site.files)
        text = site.files.authority.read_text() + self._root.public_bytes(Encoding.PEM).decode()
        site.files.authority.write_text(text)

    def write(self, file: Path, user: str, *, expired: bool) -> None:
        """Write a new key and certificate of a user."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, user)])
        certificate = self._signed(name, key.public_key(), days=-1 if expired else 1, authority=False)
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        new = file.with_suffix(".new")
        new.write_bytes(pem + certificate.public_bytes(Encoding.PEM))
        new.replace(file)

    def _signed(self, name: x509.Name, key: Any, *, days: int, authority: bool) -> x509.Certificate:
        now = dt.datetime.now(dt.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=2))
            .not_valid_after(now + dt.timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )


class SecureEnds(WanEnds):
    """The test enters as the super user; the mirror as a user who may do what an ACL grants."""

    by_certificate = False

    def __init__(self, source: Site, target: Site, **settings: str) -> None:
        super().__init__(source, target, **settings)
        self._secret = source.folder / "mirror-password.properties"
        self._certificate = source.folder / "mirror-cert.pem"
        self.tell(source.password(APPLICATION))
        if self.by_certificate:
            self.certify(expired=False)
        rules = [_rule(kind, name, "ALL", "ALLOW") for kind, name in _EVERYTHING]
        self._ask("source", lambda admin: admin.create_acls(rules))
        self._ask("target", lambda admin: admin.create_acls(rules))

    @property
    def mirror_properties(self) -> str:
        ours = (f"{self.alias}.", "T.")
        lines = [line for line in self.properties.splitlines() if not line.startswith(ours)]
        for alias, site in ((self.alias, self.source_cluster), ("T", self.target_cluster)):
            lines += [f"{alias}.{key} = {value}" for key, value in self._login(site).items()]
        return "\n".join(lines) + "\n"

    def _login(self, site: Site) -> dict[str, str]:
        if site is self.source_cluster and self.by_certificate:
            login = site.client_properties(APPLICATION, "TLS")
            return {**login, "ssl.keystore.location": str(self._certificate)}
        login = site.client_properties(APPLICATION)
        if site is self.source_cluster:
            hidden = f"${{file:{self._secret}:{APPLICATION}}}"
            login["sasl.jaas.config"] = login["sasl.jaas.config"].replace(site.password(APPLICATION), hidden)
        return login

    # --- what can be changed --------------------------------------------------------------------------------------

    def tell(self, password: str) -> None:
        """Put a password into the file that the settings refer to, as a secret store does."""
        new = self._secret.with_suffix(".new")
        new.write_text(f"{APPLICATION} = {password}\n", encoding="latin-1")
        new.replace(self._secret)

    def rotate(self, password: str) -> None:
        """Let the source take another password from now on."""
        login = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 8192)
        change = UserScramCredentialUpsertion(APPLICATION, login, password.encode())
        self._ask("source", lambda admin: admin.alter_user_scram_credentials([change]))

    def certify(self, *, expired: bool) -> None:
        """Give the mirror another certificate."""
        self.source_cluster.authority_of_mirrors.write(self._certificate, APPLICATION, expired=expired)

    def drop_connections(self, scene: Scene) -> None:
        """Reset every connection to the source for two seconds."""
        scene.network.lose(self.source_cluster.mirror_ports, what="reject with tcp reset")
        scene.hold(2)
        scene.network.open()

    def deny(self, side: Side, operation: str, topic: str) -> None:
        rule = _rule("TOPIC", topic, operation, "DENY")
        self._ask(side, lambda admin: admin.create_acls([rule]))

    def allow_again(self, side: Side, operation: str, topic: str) -> None:
        wanted = AclBindingFilter(
            ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, f"User:{APPLICATION}", "*",
            AclOperation[operation], AclPermissionType.DENY,
        )  # fmt: skip
        self._ask(side, lambda admin: admin.delete_acls([wanted]))

    def _ask(self, side: Side, question: Callable[[AdminClient], Mapping[Any, Any]]) -> None:
        """Ask and wait for all answers; the client must live until then."""
        settings = self.link.clients.source_admin if side == "source" else self.link.clients.target_admin
        admin = AdminClient({**{key: str(value) for key, value in client_options(settings).items()}, "log_level": 0})
        for future in question(admin).values():
            future.result(30)


class CertifiedEnds(SecureEnds):
    """The same, and the mirror enters the source with a certificate."""

    by_certificate = True


def _rule(kind: str, name: str, operation: str, permission: str) -> AclBinding:
    return AclBinding(
        ResourceType[kind], name, ResourcePatternType.LITERAL, f"User:{APPLICATION}", "*",
        AclOperation[operation], AclPermissionType[permission],
    )  # fmt: skip
