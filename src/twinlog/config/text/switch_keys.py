"""Keys of a link that concern the switch of its clusters. One table, no logic."""

from __future__ import annotations

from typing import Any

from twinlog.config.text.keys import Key, Scope
from twinlog.config.text.values import Kind, OneOf, T_co, Text, Whole, Words


def _own(name: str, kind: Kind[T_co], default: str | None, meaning: str) -> Key[T_co]:
    return Key(name, (Scope.LINK,), kind, default, meaning, own=True)


FENCE = _own(
    "switch.fence", OneOf(("auto", "acl", "topic-config", "none")), "auto",
    "How producers are shut out at a switch: a rule that denies Write, max.message.bytes = 0, or not at all (you "
    "stop the producers). auto: by a rule wherever that can keep producers out while the link writes, otherwise "
    "by the topic's config.",
)  # fmt: skip
PRINCIPALS = _own(
    "switch.principals", Words(), "",
    "Principals that a fence by ACL never shuts out. Empty: the one that the link itself writes with.",
)  # fmt: skip
REVERSE = _own(
    "switch.reverse", OneOf(("auto", "start", "stop")), "auto",
    "After a planned failover: begin to copy back at once, or not. auto: unless the fence would have to be opened.",
)  # fmt: skip
TAIL = _own(
    "switch.tail", OneOf(("append", "keep")), "append",
    "Records of an old primary that were never copied, at failback: append them to the other side, or leave them.",
)  # fmt: skip
TAIL_TOPIC = _own(
    "switch.tail.topic", Text(), None, "Topic on the active side that such records are exported to, besides the file."
)
GRACE = _own(
    "switch.grace.seconds", Whole(0, 86_400), "30",
    "After a failback with a fence by topic config: how long the side that was left is shut for clients to move.",
)  # fmt: skip
TIMEOUT = _own("switch.timeout.seconds", Whole(5, 86_400), "600", "Longest wait of one step of a switch.")
URLS = _own(
    "switch.allowed.urls", Words(), "",
    "Addresses that hooks of a switch may ask, and all below them, e.g. https://gateway.example/kafka. Empty: any, but "
    "credentials go to addresses of this list or over TLS only.",
)  # fmt: skip
REDIRECTS = _own("redirects", Words(), "", "Names of hooks that tell clients where to go, in the order of calling.")
REDIRECT_KEYS = Key(
    "redirects.*", (Scope.LINK,), Text(), None,
    "Of each name N: redirects.N.type (command, webhook, dns, etcd, consul), redirects.N.timeout.seconds and what "
    "the type needs; see docs/failover.md.",
    secret=True, own=True,
)  # fmt: skip
SECRET = Key(
    "switch.secret", (Scope.LINK,), Text(), None,
    "The same text for both directions and for every file that switches this pair, best as a reference: it signs the "
    "switch log, and only signed entries count. Begin with `twinlog switch sign`. Absent: every entry counts.",
    secret=True, own=True,
)  # fmt: skip
SWITCH_KEYS: tuple[Key[Any], ...] = (
    FENCE, PRINCIPALS, REVERSE, TAIL, TAIL_TOPIC, GRACE, TIMEOUT, URLS, SECRET, REDIRECTS, REDIRECT_KEYS,
)  # fmt: skip
