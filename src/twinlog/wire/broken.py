"""What a broken connection raises, in our words: the one place where these errors of the client library are judged."""

from __future__ import annotations

import os
import socket
import ssl
from typing import Final

from aiokafka.errors import KafkaConnectionError
from aiokafka.errors import KafkaTimeoutError as BrokerTimeout

from twinlog.errors import BrokerAway, ClusterError

BROKEN: Final = (OSError, EOFError, TimeoutError, KafkaConnectionError, BrokerTimeout)
"""What a broken, slow or closed connection raises. Only this room sees it; above, it is a BrokerAway."""


def why(trouble: BaseException) -> str:
    """What a connection met, without the address and without Python's wrapping."""
    match trouble:
        case BrokerAway():
            return trouble.reason
        case ClusterError():
            return trouble.problem
        case ssl.SSLCertVerificationError(verify_message=str(said)):
            return f"the certificate is not trusted: {said.rstrip('.')}"
        case ssl.SSLError():
            return str(trouble)
        case TimeoutError():
            return "no answer in time"
        case socket.gaierror():
            return trouble.strerror or str(trouble)
        case OSError(errno=int(number)):
            return os.strerror(number).lower()
        case KafkaConnectionError(__cause__=OSError(errno=int()) as cause):
            return why(cause)
        case ConnectionError() | EOFError() | KafkaConnectionError():
            return (
                "the broker closed the connection"  # without a number from the system: asyncio's own, or the client's
            )
        case _:
            return str(trouble) or type(trouble).__name__
