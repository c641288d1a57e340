"""Connectors over HTTP."""

from __future__ import annotations

from dataclasses import dataclass

from twinlog.errors.root import TwinlogError


@dataclass(eq=False)
class ConnectorError(TwinlogError):
    """What was asked of a connector was not done; nothing was changed."""

    code = "CONNECTOR"
    says = "{connector}: {problem}"

    connector: str
    problem: str


@dataclass(eq=False)
class ConnectorUnknown(ConnectorError):
    """There is no such connector, task or logger. The sentence is Connect's: its users look for it."""

    code = "CONNECTOR_UNKNOWN"
    says = "{problem}"


@dataclass(eq=False)
class ConnectorExists(ConnectorError):
    """The name is taken."""

    code = "CONNECTOR_EXISTS"
    says = "Connector {connector} already exists"


@dataclass(eq=False)
class ConnectorRefused(ConnectorError):
    """The request, or the settings in it, cannot be taken."""

    code = "CONNECTOR_REFUSED"
    says = "{problem}"


@dataclass(eq=False)
class ConnectorReadOnly(ConnectorError):
    """A link of the settings file was to be changed or deleted over HTTP."""

    code = "CONNECTOR_READ_ONLY"
    says = "{connector}: this link stands in {problem} and is changed there; over HTTP it can be paused and resumed"
    remedy = "Change the file: the service notices within seconds."


@dataclass(eq=False)
class LinkForbidden(ConnectorError):
    """The user may change some links, but not this one."""

    code = "LINK_FORBIDDEN"
    says = "{connector}: your role does not cover the link {problem}"
    remedy = "Ask the administrator who edits role.NAME.links in the settings file of the service."


@dataclass(eq=False)
class NotActive(ConnectorError):
    """Only the service that runs the links may change them, and it cannot be asked at the moment."""

    code = "NOT_ACTIVE"
    says = "{connector}: {problem}"
    remedy = "Ask again in a few seconds."
    retriable = True


@dataclass(eq=False)
class ServiceError(TwinlogError):
    """A running service that a command talks to did not do what was asked."""

    code = "SERVICE"
    says = "{url}: {problem}"

    url: str
    problem: str


@dataclass(eq=False)
class ServiceUnreachable(ServiceError):
    """No service answers at this address, or the answer is not Twinlog's."""

    code = "SERVICE_UNREACHABLE"
    says = "{url}: no service answers: {problem}"
    remedy = (
        "Check the address, and that `twinlog run --listen` or a worker (`twinlog connect --config FILE`) runs there; "
        "with https, also --ca and --certificate."
    )
    retriable = True


@dataclass(eq=False)
class ServiceRefused(ServiceError):
    """The service refused the request."""

    code = "SERVICE_REFUSED"
    says = "{url}: refused ({status}): {problem}"
    remedy = "{way}"

    status: int
    way: str


@dataclass(eq=False)
class ParkedRefused(TwinlogError):
    """Something was to be done with a parked record, and it was not done. Nothing was changed."""

    code = "PARKED_REFUSED"
    says = "{topic}: {place}: {problem}"
    remedy = "See `twinlog pipeline dlq list NAME --all`."

    topic: str
    place: str
    problem: str


@dataclass(eq=False)
class ChangesLost(TwinlogError):
    """A database no longer has the changes that a source has not read yet."""

    code = "CHANGES_LOST"
    says = "{database}: {problem}; changes behind {position} cannot be read any more"
    remedy = "Reset its offsets (`twinlog pipeline offsets NAME --reset`): the connector then reads all rows again."

    database: str
    problem: str
    position: str


@dataclass(eq=False)
class ChangesUnreadable(TwinlogError):
    """A database sends changes in a form that the source does not know, or refuses to send them."""

    code = "CHANGES_UNREADABLE"
    says = "{database}: {problem}"
    remedy = (
        "Look the message up in the database's manual; `twinlog pipeline validate FILE` checks rights and settings."
    )

    database: str
    problem: str
