"""Access control lists: which of the source's the target gets, under which names. Pure and picklable.

    source's bindings ─▶ wanted (now) ─────────▶ diff_acls: create what is missing, remove what we added and the source
                     └─▶ promote_set (failover)            dropped; never what was there before us

`mm2` are MirrorMaker 2's rules to the letter: literal topics only, no writers, nothing is ever removed. `full` adds
what a failover needs: prefixed patterns, groups, and the writers' rights, held back until the copies are to be written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from twinlog.model.naming import ReplicationNaming
from twinlog.model.selection import Selection, replicates

Resource: TypeAlias = Literal["topic", "group", "transactional_id"]
Pattern: TypeAlias = Literal["literal", "prefixed"]
Mode: TypeAlias = Literal["mm2", "full"]

WILDCARD: Final = "*"
UNKNOWN: Final = "UNKNOWN"
"""An operation that the client library has no word for; it can be neither read in full nor created."""


@dataclass(frozen=True, order=True, slots=True)
class AclBinding:
    """One rule: who may, or may not, do what to which resource. Operations and permissions in Kafka's spelling."""

    resource: Resource
    pattern: Pattern
    name: str
    principal: str
    host: str
    operation: str
    permission: str

    def __str__(self) -> str:
        subject = f"{self.resource} {self.name}" + (WILDCARD if self.pattern == "prefixed" else "")
        origin = "" if self.host == WILDCARD else f" from {self.host}"
        return f"{self.permission} {self.operation} on {subject} to {self.principal}{origin}"

    @property
    def allows(self) -> bool:
        """Whether it grants; otherwise it denies."""
        return self.permission == "ALLOW"

    def covers(self, name: str) -> bool:
        """Whether it speaks of the resource of that name."""
        return name.startswith(self.name) if self.pattern == "prefixed" else self.name in {name, WILDCARD}


@dataclass(frozen=True)
class AclRules:
    """What a link says about ACLs. `mirrored` are the topics that it mirrors now."""

    mode: Mode
    source: str
    target: str
    topics: Selection
    groups: Selection
    naming: ReplicationNaming
    mirrored: Collection[str] = ()


# --- what the target gets ---------------------------------------------------------------------------------------------


def wanted_acls(bindings: Iterable[AclBinding], rules: AclRules) -> frozenset[AclBinding]:
    """The bindings that the target should have now."""
    return frozenset(
        binding
        for renamed in _renamed(bindings, rules)
        for binding in _without_writing(renamed)
        if renamed.resource != "transactional_id"
    )


def promote_set(bindings: Iterable[AclBinding], rules: AclRules) -> frozenset[AclBinding]:
    """What the target gets on top when its copies are to be written, at a failover. Empty in the mode `mm2`.

    Transactional ids are of use to writers only, so theirs wait too. Where copies have names of their own,
    applications continue under the original name: that topic is nobody's copy, and gets all their rights.
    """
    if rules.mode == "mm2":
        return frozenset()
    held_back = (
        binding
        for binding in _renamed(bindings, rules)
        if binding.resource == "transactional_id" or binding not in _without_writing(binding)
    )
    return frozenset((*held_back, *_under_original_names(bindings, rules)))


def _under_original_names(bindings: Iterable[AclBinding], rules: AclRules) -> Iterator[AclBinding]:
    """Rights on mirrored topics as the source has them, one topic each: a pattern would cover the target's own too."""
    if rules.naming.keeps_names:
        return
    originals = [topic for topic in rules.mirrored if not rules.naming.is_heartbeats(topic)]
    for binding in bindings:
        if binding.resource == "topic" and binding.operation != UNKNOWN:
            for topic in originals:
                if binding.covers(topic):
                    yield replace(binding, pattern="literal", name=topic)


def not_copied(bindings: Iterable[AclBinding], rules: AclRules) -> list[str]:
    """The bindings that belong to this link, but cannot be carried over, one sentence each (R13)."""
    return [
        f"{binding.resource} {binding.name}: an ACL of {binding.principal} has an operation that this version does not "
        f"know; create it on {rules.target} by hand"
        for binding in sorted(bindings)
        if binding.operation == UNKNOWN and any(_under_its_names(binding, rules))
    ]


def _renamed(bindings: Iterable[AclBinding], rules: AclRules) -> Iterator[AclBinding]:
    for binding in bindings:
        if binding.operation != UNKNOWN:
            yield from _under_its_names(binding, rules)


def _under_its_names(binding: AclBinding, rules: AclRules) -> Iterator[AclBinding]:
    """The binding as the target should know it; nothing when it is not of this link."""
    naming, full = rules.naming, rules.mode == "full"
    match binding.resource, binding.pattern:
        case "topic", "literal" if full and binding.name == WILDCARD and naming.policy == "default":
            # All copies from this source, not the topic that is literally called `A.*`.
            yield replace(binding, pattern="prefixed", name=naming.remote(rules.source, ""))
        case "topic", "literal":
            if replicates(binding.name, rules.source, rules.target, rules.topics, naming):
                yield replace(binding, name=naming.remote(rules.source, binding.name))
        case "topic", "prefixed" if full:
            # With unchanged names the prefix could open topics of the target that were never copied.
            if any(topic.startswith(binding.name) for topic in rules.mirrored):
                yield replace(binding, name=_remote_prefix(binding.name, rules))
        case "group", "literal" if full:
            if binding.name == WILDCARD or rules.groups.matches(binding.name):
                yield binding
        case ("group", "prefixed") | ("transactional_id", _) if full:
            yield binding
        case _:
            return


def _remote_prefix(prefix: str, rules: AclRules) -> str:
    return prefix if rules.naming.policy == "identity" else rules.naming.remote(rules.source, prefix)


def _without_writing(binding: AclBinding) -> tuple[AclBinding, ...]:
    """What may be granted while the copy belongs to the link: it has one writer (R10)."""
    if binding.resource != "topic" or not binding.allows:
        return (binding,)
    match binding.operation:
        case "WRITE":
            return ()
        case "ALL":
            return (replace(binding, operation="READ"),)
        case _:
            return (binding,)


# --- the diff ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AclDiff:
    """What to do on the target, and which bindings are there because of us once it is done."""

    create: frozenset[AclBinding]
    remove: frozenset[AclBinding]
    kept: frozenset[AclBinding]  # added by us earlier, still there and still wanted, or not ours to remove now
    refused: str | None = None  # why nothing is removed


def diff_acls(
    wanted: Collection[AclBinding],
    have: Collection[AclBinding],
    added: Collection[AclBinding],
    *,
    removing: bool,
    doubt: str | None = None,
) -> AclDiff:
    """Compare. `added` is what we created earlier; only that is ever removed, and nothing while there is a doubt."""
    there = frozenset(added) & frozenset(have)
    stale = there - frozenset(wanted) if removing else frozenset[AclBinding]()
    remove = frozenset[AclBinding]() if doubt else stale
    return AclDiff(
        create=frozenset(wanted) - frozenset(have),
        remove=remove,
        kept=there - remove,
        refused=doubt if stale else None,
    )


def removal_doubt(bindings: Collection[AclBinding], cluster_id: str, pinned: str | None) -> str | None:
    """Why the source cannot be believed about dropped ACLs; None when it can. A failover may need every one of them."""
    if pinned not in {None, cluster_id}:
        return (
            f"the source is another cluster than before (id {pinned} -> {cluster_id}): no ACL is removed; "
            "check bootstrap.servers"
        )
    if not bindings:
        return "the source has no ACLs at all, as if it had been emptied: none is removed"
    return None


# --- memos ------------------------------------------------------------------------------------------------------------


class AclKey(NamedTuple):
    """The bindings of one resource pattern are kept together: one memo each, however many principals there are."""

    purpose: str  # "added" or "promote"
    resource: Resource
    pattern: Pattern
    name: str

    def __str__(self) -> str:
        return "/".join(self)


def memos_of(purpose: str, bindings: Iterable[AclBinding]) -> dict[str, dict[str, Any]]:
    """Bodies of memos by their names."""
    bodies: dict[str, dict[str, Any]] = {}
    for b in sorted(bindings):
        body = bodies.setdefault(str(AclKey(purpose, b.resource, b.pattern, b.name)), {"bindings": []})
        body["bindings"].append([b.principal, b.host, b.operation, b.permission])
    return bodies


def bindings_in_memos(purpose: str, bodies: Mapping[str, Mapping[str, Any]]) -> frozenset[AclBinding]:
    """Read back the bindings that were remembered for this purpose."""
    acl_bindings: set[AclBinding] = set()
    for name, body in bodies.items():
        kind, _, path = name.partition("/")
        if kind == purpose:
            resource, pattern, resource_name = path.split("/", 2)
            acl_bindings.update(
                AclBinding(resource, pattern, resource_name, *rest)  # type: ignore[arg-type]  # our own memo
                for rest in body["bindings"]
            )
    return frozenset(acl_bindings)
