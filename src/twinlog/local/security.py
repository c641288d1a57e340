"""How clients of a secure local cluster log in, from both sides. Pure: files, settings of brokers and of clients.

    folder/ca.pem            whom clients trust             folder/users.properties   passwords, for PLAIN on the broker
    folder/broker.pem        who the brokers are            folder/token-key.pem      signs tokens (OAUTHBEARER)
    folder/USER-cert.pem     who a user is (mutual TLS)     folder/jwks.json          checks them

One listener takes passwords and tokens, another one certificates. A user is the same by every way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, assert_never

HOST = "127.0.0.1"
ADMIN, APPLICATION = "admin", "twinlog"
"""The users of a secure cluster: the super user, and one that may do only what an ACL grants."""
USERS = (ADMIN, APPLICATION)
BROKER_NAME = "broker"
AUDIENCE = "twinlog-local"
"""For whom the tokens are that a local cluster takes."""

Way: TypeAlias = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "TLS"]
_PACKAGE = "org.apache.kafka.common.security"
_PLAIN_MODULE = f"{_PACKAGE}.plain.PlainLoginModule"
_SCRAM_MODULE = f"{_PACKAGE}.scram.ScramLoginModule"
_TOKEN_MODULE = f"{_PACKAGE}.oauthbearer.OAuthBearerLoginModule"


@dataclass(frozen=True)
class SecureFiles:
    """Where a secure cluster keeps what it is known by."""

    folder: Path

    @property
    def authority(self) -> Path:
        """The certificate that clients trust."""
        return self.folder / "ca.pem"

    @property
    def broker(self) -> Path:
        """Key and certificate of the brokers."""
        return self.folder / "broker.pem"

    @property
    def users(self) -> Path:
        """The passwords as brokers read them."""
        return self.folder / "users.properties"

    @property
    def token_key(self) -> Path:
        """The key that signs tokens."""
        return self.folder / "token-key.pem"

    @property
    def token_check(self) -> Path:
        """The public part of that key, as brokers read it."""
        return self.folder / "jwks.json"

    def certificate(self, user: str) -> Path:
        """Key and certificate of a user."""
        return self.folder / f"{user}-cert.pem"


def broker_security(files: SecureFiles) -> dict[str, str]:
    """Return what a broker of a secure cluster needs, beside its listeners. No password is among it."""
    plain_users = " ".join(f'user_{user}="${{file:{files.users}:{user}}}"' for user in USERS)
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(files.broker),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(files.authority),
        # Brokers know each other by certificate: no open side door.
        "listener.name.internal.ssl.client.auth": "required",
        "listener.name.controller.ssl.client.auth": "required",
        "listener.name.tls.ssl.client.auth": "required",
        "listener.name.tls.ssl.principal.mapping.rules": f"RULE:^CN=({'|'.join(USERS)})$/$1/,DEFAULT",
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "listener.name.client.sasl.enabled.mechanisms": "SCRAM-SHA-512,SCRAM-SHA-256,PLAIN,OAUTHBEARER",
        "listener.name.client.scram-sha-512.sasl.jaas.config": f"{_SCRAM_MODULE} required;",
        "listener.name.client.scram-sha-256.sasl.jaas.config": f"{_SCRAM_MODULE} required;",
        "listener.name.client.plain.sasl.jaas.config": f"{_PLAIN_MODULE} required {plain_users};",
        "listener.name.client.oauthbearer.sasl.jaas.config": f"{_TOKEN_MODULE} required;",
        "listener.name.client.oauthbearer.sasl.server.callback.handler.class": (
            f"{_PACKAGE}.oauthbearer.OAuthBearerValidatorCallbackHandler"
        ),
        "sasl.oauthbearer.jwks.endpoint.url": files.token_check.as_uri(),
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:{ADMIN};User:CN={BROKER_NAME}",
        "allow.everyone.if.no.acl.found": "false",
    }


def broker_java_options(files: SecureFiles) -> Sequence[str]:
    """Return what a broker's JVM must be told: which addresses it may take the keys of tokens from."""
    return (f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={files.token_check.as_uri()}",)


def client_security(files: SecureFiles, way: Way, user: str, password: str) -> dict[str, str]:
    """Return what a Java client needs to log in; for OAUTHBEARER the password is the client secret.

    The endpoint that hands out tokens (`sasl.oauthbearer.token.endpoint.url`) is not part of a local cluster.
    """
    trust = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(files.authority)}
    match way:
        case "TLS":
            own = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(files.certificate(user))}
            return {"security.protocol": "SSL", **trust, **own}
        case "PLAIN":
            login = f'{_PLAIN_MODULE} required username="{user}" password="{password}";'
        case "SCRAM-SHA-256" | "SCRAM-SHA-512":
            login = f'{_SCRAM_MODULE} required username="{user}" password="{password}";'
        case "OAUTHBEARER":
            login = f'{_TOKEN_MODULE} required clientId="{user}" clientSecret="{password}";'
        case _ as never:
            assert_never(never)
    return {"security.protocol": "SASL_SSL", "sasl.mechanism": way, "sasl.jaas.config": login, **trust}
