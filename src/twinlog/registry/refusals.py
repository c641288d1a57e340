"""Why the registry does not do what a client asks: Confluent's error codes and sentences. The status is in the code."""

from typing import Any


class Refusal(Exception):
    """An answer with `error_code` and `message`. The first three digits of the code are the HTTP status."""

    def __init__(self, code: int, message: str, *, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retry_after_s = retry_after_s

    @property
    def status(self) -> int:
        return int(str(self.code)[:3])

    def body(self) -> dict[str, Any]:
        return {"error_code": self.code, "message": self.message}


class NotFound(Refusal):
    """What is asked for is not known here. Another instance may have written it a moment ago."""


class Incompatible(Refusal):
    """A version that breaks the rules of its subject."""


class NoLeader(Refusal):
    """No instance can write now."""

    def __init__(self, message: str = "Leader not known.", *, retry_after_s: int | None = None) -> None:
        super().__init__(50004, message, retry_after_s=retry_after_s)


def subject_not_found(subject: str | None) -> NotFound:
    """Error 40401: subject not found."""
    return NotFound(40401, f"Subject '{'null' if subject is None else subject}' not found.")


def version_not_found(version: int) -> NotFound:
    """Error 40402: version not found."""
    return NotFound(40402, f"Version {version} not found.")


def schema_not_found(what: str | int | None = None) -> NotFound:
    """40403, with the id or GUID where Confluent names it."""
    return NotFound(40403, "Schema not found" if what is None else f"Schema {what} not found")


def subject_soft_deleted(subject: str) -> Refusal:
    """Error 40404: subject soft deleted."""
    return Refusal(40404, f"Subject '{subject}' was soft deleted.Set permanent=true to delete permanently")


def subject_not_soft_deleted(subject: str) -> Refusal:
    """Error 40405: subject not soft deleted."""
    return Refusal(40405, f"Subject '{subject}' was not deleted first before being permanently deleted")


def version_soft_deleted(subject: str, version: object) -> Refusal:
    """Error 40406: version soft deleted."""
    said = f"Subject '{subject}' Version {version} was soft deleted.Set permanent=true to delete permanently"
    return Refusal(40406, said)


def version_not_soft_deleted(subject: str, version: object) -> Refusal:
    """Error 40407: version not soft deleted."""
    said = f"Subject '{subject}' Version {version} was not deleted first before being permanently deleted"
    return Refusal(40407, said)


def level_not_configured(subject: str | None) -> Refusal:
    """Error 40408: level not configured."""
    return Refusal(40408, f"Subject '{subject}' does not have subject-level compatibility configured")


def mode_not_configured(subject: str | None) -> Refusal:
    """Error 40409: mode not configured."""
    return Refusal(40409, f"Subject '{subject}' does not have subject-level mode configured")


def incompatible(subject: str, messages: list[str], code: int = 409) -> Incompatible:
    """409 is what Confluent answers up to 8.1, 40901 from 8.2 on."""
    told = f"[{', '.join(messages)}]"
    said = f'Schema being registered is incompatible with an earlier schema for subject "{subject}", details: {told}'
    return Incompatible(code, said)


def invalid_schema(message: str) -> Refusal:
    """The error 42201: the schema is invalid."""
    return Refusal(42201, message)


def invalid_version(text: str) -> Refusal:
    """Error 42202: invalid version."""
    told = f"The specified version '{text}' is not a valid version id. "
    return Refusal(42202, f'{told}Allowed values are between [1, 2^31-1] and the string "latest"')


def invalid_level() -> Refusal:
    """Error 42203: invalid level."""
    told = "Invalid compatibility level. Valid values are none, backward, forward, full, backward_transitive, "
    return Refusal(42203, f"{told}forward_transitive, and full_transitive")


def invalid_mode(message: str | None = None) -> Refusal:
    """Error 42204: invalid mode."""
    told = "Invalid mode. Valid values are READWRITE, READONLY, IMPORT and FORWARD."
    return Refusal(42204, message or told)


def not_permitted(message: str) -> Refusal:
    """42205: a mode or a rule of imports forbids it."""
    return Refusal(42205, message)


def ids_end(number: int, gap: int) -> Refusal:
    """50001: the other datacenter has not confirmed enough ids."""
    return store_failed(
        f"Id {number} may not be given yet: the other datacenter has not confirmed any of the last {gap} ids. "
        "Let the link that mirrors the schemas run."
    )


def is_a_copy(home: str) -> Refusal:
    """42205: the schemas belong to another cluster."""
    return not_permitted(
        f"This registry serves a copy of the schemas of Kafka cluster {home}. Register there, or promote this "
        "datacenter with `twinlog failover` or `twinlog registry promote`."
    )


def reference_exists(subject: str, version: int) -> Refusal:
    """Error 42206: reference exists."""
    key = f"{{magic=1,keytype=SCHEMA,subject={subject},version={version}}}"
    return Refusal(42206, f"One or more references exist to the schema {key}.")


def invalid_subject(subject: str) -> Refusal:
    """Error 42208: invalid subject."""
    return Refusal(42208, f"The specified subject '{subject}' is not a valid.")


def too_large() -> Refusal:
    """Error 42209: too large."""
    return Refusal(42209, "Register operation failed because schema is too large")


def invalid_rules(message: str) -> Refusal:
    """Error 42210: invalid rules."""
    return Refusal(42210, message)


def context_not_empty(context: str) -> Refusal:
    """Error 42211: context not empty."""
    return Refusal(42211, f"The specified context '{context}' is not empty.")


def store_failed(message: str) -> Refusal:
    """Error 50001: store failed."""
    return Refusal(50001, message)


def timed_out(message: str) -> Refusal:
    """50002: the record may have been written all the same."""
    return Refusal(50002, message)


def forwarding_failed(message: str) -> Refusal:
    """Error 50003: forwarding failed."""
    return Refusal(50003, message)
