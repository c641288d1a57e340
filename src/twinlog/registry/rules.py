"""What the file says about the registry's behaviour, as the pure rules need it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rules:
    """Defaults are Confluent's. `incompatible_code` is 409 up to Confluent 8.1 and 40901 from 8.2 on."""

    default_level: str = "BACKWARD"
    mode_mutable: bool = True
    validate_fields: bool = False
    validate_new: bool = True
    incompatible_code: int = 409
    most_listed: int = 1000
    encrypts: bool = False
    """Whether the file wants sensitive metadata to be encrypted. That is not done here, so such schemas are refused."""
    most_bytes: int = 1_000_000
    """Of one record: what the topic takes."""
