"""What a topic of schemas holds, small enough to be kept for every link: ids with digests, places with ids. Pure."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import NamedTuple

from twinlog.registry import records as rec
from twinlog.registry.content import Content
from twinlog.registry.pair.home import HOME_SUBJECT, Home, home_of, later
from twinlog.registry.records import BadRecord, LogicalKey
from twinlog.registry.state import MARK, MARKS_SUBJECT
from twinlog.registry.subject_names import context_of


class SchemaId(NamedTuple):
    """An id means something only within its context."""

    context: str
    number: int

    def __str__(self) -> str:
        return f"id {self.number}" if self.context == "." else f"id {self.number} of context {self.context}"


class Place(NamedTuple):
    """A version of a subject."""

    subject: str
    version: int

    def __str__(self) -> str:
        return f"{self.subject} version {self.version}"


class Held(NamedTuple):
    """What lies at a place."""

    id: int
    digest: bytes
    offset: int


def fingerprint(content: Content) -> bytes:
    """What two topics compare of a schema."""
    references = [(reference.name, reference.subject, reference.version) for reference in content.references]
    said = json.dumps([content.kind, content.text, references], ensure_ascii=True)
    return hashlib.md5(said.encode(), usedforsecurity=False).digest()


@dataclass
class TopicIndex:
    """The records of a topic up to `position`."""

    position: int = 0
    places: dict[Place, Held] = field(default_factory=dict)
    home: Home | None = None
    faults: int = 0
    _ids: dict[SchemaId, dict[Place, bytes]] = field(default_factory=dict)
    _highest: dict[str, int] = field(default_factory=dict)

    def apply(self, key: bytes | None, value: bytes | None, offset: int) -> None:
        """Take one record. What the registry leaves out is left out and counted; the registry itself names it."""
        self.position = offset + 1
        try:
            self._take(rec.decode_key(key), value, offset)
        except (BadRecord, ValueError, TypeError, AttributeError):
            self.faults += 1

    def _take(self, key: LogicalKey, value: bytes | None, offset: int) -> None:
        if key.kind == rec.SCHEMA:
            place = Place(key.subject or "", key.version)
            schema = None if value is None else rec.decode_schema(value)
            if schema is not None and (schema.subject, schema.version) != place:
                raise BadRecord(f"the value is of {schema.subject} version {schema.version}")
            self._remove(place)
            if schema is not None:
                self._put(place, schema, offset)
        elif key.kind == rec.CLEAR_SUBJECT:
            return  # concerns deleted versions, whose ids stay what they were
        elif key.kind == rec.CONFIG and key.subject == HOME_SUBJECT and value is not None:
            self.home = later(self.home, home_of(rec.decode_config(value)))
        elif key.kind == rec.CONFIG and key.subject == MARKS_SUBJECT and value is not None:
            said = (rec.decode_config(value).get("defaultMetadata") or {}).get("properties") or {}
            for name, number in said.items():
                if name.startswith(MARK) and str(number).isdecimal():
                    self._note_highest(name.removeprefix(MARK), int(number))

    def _put(self, place: Place, schema: rec.SchemaValue, offset: int) -> None:
        number, context, content = schema.id, context_of(place.subject), schema.content
        digest = fingerprint(content)
        self.places[place] = Held(number, digest, offset)
        self._ids.setdefault(SchemaId(context, number), {})[place] = digest
        self._note_highest(context, number)

    def _remove(self, place: Place) -> None:
        held = self.places.pop(place, None)
        if held is None:
            return
        number = SchemaId(context_of(place.subject), held.id)
        self._ids[number].pop(place, None)
        if not self._ids[number]:
            del self._ids[number]

    def _note_highest(self, context: str, number: int) -> None:
        self._highest[context] = max(self._highest.get(context, 0), number)

    @property
    def highest(self) -> dict[str, int]:
        """The highest id of each context that the topic shows."""
        return dict(self._highest)

    def digests(self) -> dict[SchemaId, bytes]:
        """Every id and what it stands for; of an id with two schemas the first, as the registry reads it."""
        return {number: next(iter(places.values())) for number, places in self._ids.items()}

    def places_of(self, number: SchemaId) -> list[Place]:
        """Where an id is used."""
        return sorted(self._ids.get(number, ()))
