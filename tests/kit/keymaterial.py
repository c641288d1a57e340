"""Certificates and stores made on the spot, as Java's tools would leave them."""

import datetime as dt
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import NameOID

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True)
class KeyMaterial:
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def make(cls, name: str = "twinlog") -> "KeyMaterial":
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(NOW)
            .not_valid_after(NOW + dt.timedelta(days=3650))
            .sign(key, hashes.SHA256())
        )
        return cls(key, certificate)

    def chain_pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    def key_pem(self, password: str | None = None) -> str:
        encryption = (
            serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
        )
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
        ).decode()

    def keystore(self, password: str) -> bytes:
        encryption = serialization.BestAvailableEncryption(password.encode())
        return pkcs12.serialize_key_and_certificates(b"me", self.key, self.certificate, None, encryption)

    def truststore(self, password: str) -> bytes:
        encryption = serialization.BestAvailableEncryption(password.encode())
        return pkcs12.serialize_key_and_certificates(None, None, None, [self.certificate], encryption)
