"""The shortest way from a question to its answer: what consumers ask a million times is answered from prepared bytes.

Runs in the service's loop, once per connection. A whole GET in one packet, between two requests, is looked up by its
path before anything parses it; the headers that a client repeats are judged once. All else goes the ordinary way.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from twinlog.registry.bodies import by_id
from twinlog.registry.json_out import encode
from twinlog.registry.reads import entry_of_id
from twinlog.registry.state import State
from twinlog.surface.http.request_limits import LimitedProtocol
from twinlog.surface.registry.media_types import V1, MalformedType, answer_type, is_body_type

_MOST_ANSWERS: Final = 20_000
_MOST_BYTES: Final = 65_536
_MOST_HEADS: Final = 2_000
_LONGEST_HEAD: Final = 4_096
_BY_ID: Final = b"/schemas/ids/"
_SUBJECTS: Final = b"/subjects/"
_VERSIONS: Final = b"/versions"
_END: Final = b"\r\n\r\n"
_NOT_PLAIN: Final = frozenset({b"content-length", b"transfer-encoding", b"upgrade", b"expect", b"authorization"})


@dataclass
class Prepared:
    """Answers in the bytes that are sent, for one revision of the state."""

    state: Callable[[], State]
    enabled: Callable[[], bool]
    known: Callable[[State, str, bytes], bytes | None] = lambda _state, _subject, _body: None
    """The answer to a registration that changes nothing, by subject and body."""
    hits: int = 0
    _answers: dict[bytes, bytes] = field(default_factory=dict)
    _revision: int = -1
    _heads: dict[tuple[bytes, bool], int] = field(default_factory=dict)

    def keep(self, url: bytes, body: bytes, revision: int) -> None:
        """Keep the answer to a GET that was given at this revision."""
        if revision != self._revision or len(self._answers) >= _MOST_ANSWERS:
            self._answers.clear()
            self._revision = revision
        if len(body) <= _MOST_BYTES:
            self._answers[url] = _framed(body)

    def answer(self, url: bytes) -> bytes | None:
        """The bytes for a path and query; None when the ordinary way has to answer."""
        state = self.state()
        if self._revision == state.revision:
            answer = self._answers.get(url)
            if answer is not None:
                return answer
        if url.startswith(_BY_ID) and url[13:].isdigit() and len(url) < 24:
            entry = entry_of_id(state, int(url[13:]), "")
            if entry is not None:
                self.keep(url, encode(by_id(entry)), state.revision)
                return self._answers.get(url)
        return None

    def registered(self, url: bytes, body: bytes) -> bytes | None:
        """The bytes for a schema that its subject has already; None when the ordinary way has to answer."""
        if not (url.startswith(_SUBJECTS) and url.endswith(_VERSIONS)):
            return None
        subject = url[len(_SUBJECTS) : -len(_VERSIONS)]
        if b"/" in subject or b"%" in subject or b"?" in subject:
            return None
        known = self.known(self.state(), subject.decode("latin-1"), body)
        return None if known is None else _framed(known)

    def is_plain(self, head: bytes) -> bool:
        """Whether headers ask for nothing but Confluent's type on a connection that stays open."""
        return self._judged(head, body=False) == 0

    def length_of(self, head: bytes) -> int:
        """The length of the body behind plain headers; -1 for others."""
        return self._judged(head, body=True)

    def _judged(self, head: bytes, *, body: bool) -> int:
        known = self._heads.get((head, body))
        if known is None:
            if len(self._heads) >= _MOST_HEADS:
                self._heads.clear()
            known = self._heads[head, body] = _judge(head, body=body)
        return known


def _judge(head: bytes, *, body: bool = False) -> int:
    try:
        return _judge_readable(head, body=body)
    except MalformedType:
        return -1


def _judge_readable(head: bytes, *, body: bool) -> int:
    """The length of the body that plain headers announce, 0 for none; -1 for headers that are not plain."""
    hosts, lengths, accept = 0, list[bytes](), None
    for line in head.strip().split(b"\r\n"):
        name, colon, value = line.partition(b":")
        name, value = name.lower(), value.strip()
        if name == b"content-length" and body:
            lengths.append(value)
            continue
        if not colon or name != name.strip() or name in _NOT_PLAIN:
            return -1
        if name == b"connection" and value.lower() != b"keep-alive":
            return -1
        if name == b"content-type" and not is_body_type(value):
            return -1
        hosts += name == b"host"
        if name == b"accept":
            accept = value if accept is None else accept + b"," + value
    if (
        hosts != 1
        or answer_type(accept) != V1
        or len(lengths) != body
        or not all(length.isdigit() for length in lengths)
    ):
        return -1
    return int(lengths[0]) if lengths else 0


def _framed(body: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\ncontent-type: %s\r\n\r\n" % (len(body), V1)
    return head + body


class HotProtocol(LimitedProtocol):
    """HTTP/1.1 with the short way in front. `prepared` is set by `hot_protocol`."""

    prepared: Prepared
    _between: bool = True  # two requests: no byte of the next one was parsed yet
    _last_hot: float = 0.0

    def data_received(self, data: bytes) -> None:
        """Answer at once, or go the ordinary way."""
        if self._between and data.startswith(b"GET ") and data.endswith(_END) and self._answered(data):
            return
        if self._between and data.startswith(b"POST /subjects/") and self._registered(data):
            return
        self._between = False
        super().data_received(data)

    def _registered(self, data: bytes) -> bool:
        line_end, head_end = data.find(b"\r\n"), data.find(_END)
        if head_end < 0 or head_end - line_end > _LONGEST_HEAD or not self._may_answer(data, line_end):
            return False
        # The length is part of the head, so a head that was judged fits one length of body only.
        head, body = data[line_end : head_end + 4], data[head_end + 4 :]
        if self.prepared.length_of(head) != len(body):
            return False
        return self._send(self.prepared.registered(data[5 : line_end - 9], body))

    def _may_answer(self, data: bytes, line_end: int) -> bool:
        whole = line_end >= 13 and data[line_end - 9 : line_end] == b" HTTP/1.1"
        return whole and not self._is_answering() and not self.flow.write_paused and self.prepared.enabled()

    def _answered(self, data: bytes) -> bool:
        line_end = data.find(b"\r\n")
        if len(data) - line_end > _LONGEST_HEAD or data.find(_END) != len(data) - 4:
            return False
        if not self._may_answer(data, line_end) or not self.prepared.is_plain(data[line_end:]):
            return False
        return self._send(self.prepared.answer(data[4 : line_end - 9]))

    def _send(self, answer: bytes | None) -> bool:
        if answer is None:
            return False
        self._stop_waiting()
        if self.timeout_keep_alive_task is None:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )
        self._last_hot = self.loop.time()
        self.prepared.hits += 1
        self.transport.write(answer)
        return True

    def on_message_complete(self) -> None:
        """The request was read to its end."""
        super().on_message_complete()
        self._between = True

    def on_message_begin(self) -> None:
        """Another request begins in the same packet."""
        self._between = False
        super().on_message_begin()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that nobody used; the short way leaves the timer alone."""
        left = self._last_hot + self.timeout_keep_alive - self.loop.time()
        if self._last_hot and left > 0 and not self.transport.is_closing():
            self.timeout_keep_alive_task = self.loop.call_later(left, self.timeout_keep_alive_handler)
        else:
            super().timeout_keep_alive_handler()


def hot_protocol(prepared: Prepared) -> type[asyncio.Protocol]:
    """The protocol class for one registry."""
    made: Any = type("RegistryProtocol", (HotProtocol,), {"prepared": prepared})
    return made  # type: ignore[no-any-return]
