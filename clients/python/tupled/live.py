"""A copy of what is below a prefix, and how the change feed keeps it up to date; for sync.py and
aio.py alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Generator, List, Optional, Sequence, TypeVar

from .commands import BEGINNING, Call, Change, Entry, changes, list_pages, scope, version
from .errors import StaleError
from .values import Key, KeyLike, dump_key

T = TypeVar("T")


@dataclass(frozen=True)
class Event:
    """A change of a live view: kind is set or delete; `before` is the entry that was there."""

    kind: str
    key: Key
    value: Any
    version: str
    before: Optional[Entry] = None


Steps = Generator[Call[Any], Any, T]


class LiveState:
    """The entries below a prefix as of `position`. Its methods yield calls and are sent replies.

    Loading reads the version, then all pages, then the changes since that version up to one asked
    for after the last page: then the entries are what the database had at `position`, not a
    mixture of what it had while the pages were read."""

    PAGE = 1000

    def __init__(self, prefix: KeyLike) -> None:
        self.prefix = tuple(prefix)
        self.position = BEGINNING
        self.entries: Dict[str, Entry] = {}

    def load(self) -> Steps[List[Event]]:
        while True:
            try:
                return (yield from self._load())
            except StaleError:  # while it was read
                pass

    def _load(self) -> Steps[List[Event]]:
        position = yield version()
        entries: Dict[str, Entry] = {}
        pages = list_pages(scope(self.prefix, None, None, None), page_size=self.PAGE)
        call = pages.next()
        while call is not None:
            for found in (yield call):
                entries[dump_key(found.key)] = found
            call = pages.next()
        target = yield version()
        while position < target:
            batch = yield changes(position, self.prefix, self.PAGE, None)
            apply_changes(entries, batch.changes)
            position = batch.position
        events = difference(self.entries, entries, position)
        self.entries, self.position = entries, position
        return events

    def poll(self, block: float) -> Steps[List[Event]]:
        """The next changes, [] if there are none within `block` seconds."""
        try:
            batch = yield changes(self.position, self.prefix, self.PAGE, block)
        except StaleError:
            return (yield from self.load())
        events = apply_changes(self.entries, batch.changes)
        self.position = batch.position
        return events


def apply_changes(entries: Dict[str, Entry], rows: Sequence[Change]) -> List[Event]:
    events: List[Event] = []
    for row in rows:
        if row.kind == "clear":
            events += [
                Event("delete", e.key, None, row.version, e) for e in entries.values()
            ]
            entries.clear()
            continue
        name = dump_key(row.key)
        before = entries.pop(name, None)
        if row.kind == "set":
            entries[name] = Entry(row.key, row.value, row.version, row.expires_at)
        elif before is None:
            continue
        events.append(Event(row.kind, row.key, row.value, row.version, before))
    return events


def difference(before: Dict[str, Entry], after: Dict[str, Entry], position: str) -> List[Event]:
    """The events that lead from one state to the other."""
    events = [
        Event("delete", e.key, None, position, e) for name, e in before.items() if name not in after
    ]
    for name, e in after.items():
        old = before.get(name)
        if old is None or old.version != e.version:
            events.append(Event("set", e.key, e.value, e.version, old))
    return events
