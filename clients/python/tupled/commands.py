"""What is sent for each command and what its reply means, for sync.py and aio.py alike: nothing
here talks to a server."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import (
    Any,
    Callable,
    Dict,
    Generic,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
)

from redis import exceptions

from .errors import TryAgainError, typed
from .values import (
    Key,
    KeyLike,
    NewKey,
    dump_key,
    dump_value,
    from_unix_milliseconds,
    load_key,
    load_value,
    milliseconds,
    unix_milliseconds,
)

Word = Union[str, int]
Seconds = Union[int, float, timedelta]
Where = Mapping[str, Any]
T = TypeVar("T")
A = TypeVar("A", bound="AtomicBase")

BEGINNING = "0"  # the position before the first change


@dataclass
class Call(Generic[T]):
    """A command, what its reply means, and whether it may be sent again after a lost connection."""

    words: List[Word]
    parse: Callable[[Any], T]
    resend: bool = True


@dataclass(frozen=True)
class Entry:
    key: Key
    value: Any
    version: str
    expires_at: Optional[datetime] = None  # where it was asked for


@dataclass(frozen=True)
class Number:
    """What KV.SUM, MIN and MAX have left there."""

    value: Any
    version: str


@dataclass(frozen=True)
class Length:
    """How long the array is after KV.APPEND and PREPEND."""

    length: int
    version: str


@dataclass(frozen=True)
class Found:
    """What a search has found; the score is the higher the better."""

    key: Key
    value: Any
    version: str
    score: float


@dataclass(frozen=True)
class Change:
    """`kind` is set, delete (expired too) or clear (all that was there before is gone)."""

    kind: str
    key: Key
    value: Any
    version: str
    expires_at: Optional[datetime] = None


@dataclass(frozen=True)
class Batch:
    """Whole commits of the change feed, and the position after them."""

    changes: List[Change]
    position: str


@dataclass(frozen=True)
class Message:
    queue: str
    id: str
    value: Any
    attempt: int
    receipt: str


@dataclass(frozen=True)
class Conflict:
    """Operation number `index` (from 0) did not hold: `version` is what the key has, None if it is
    absent. For an ACK, whose receipt is over, `key` is None."""

    index: int
    operation: str
    key: Optional[NewKey]
    version: Optional[str]


@dataclass(frozen=True)
class Commit:
    """What became of a transaction. It is true if it was committed. `results` has an item for each
    operation: the key of a SET, the new value of SUM, MIN and MAX, the new length of APPEND and
    PREPEND, the id of an ENQUEUE, else None."""

    ok: bool
    version: Optional[str] = None
    results: List[Any] = field(default_factory=list)
    conflicts: List[Conflict] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.ok


class Reject(Exception):
    """Raised by a handler: the message becomes a dead letter at once."""


class Retry(Exception):
    """Raised by a handler: the message comes again, after `delay` seconds or, without, after the
    backoff that it has."""

    def __init__(self, message: str = "", delay: Optional[Seconds] = None) -> None:
        super().__init__(message)
        self.delay = delay


def new_id() -> str:
    return str(uuid.uuid4())


# ---- replies ----


def text(reply: Any) -> str:
    return reply.decode() if isinstance(reply, bytes) else str(reply)


def maybe_text(reply: Any) -> Optional[str]:
    return None if reply is None else text(reply)


def number(reply: Any) -> int:
    return int(reply)


def is_done(reply: Any) -> bool:
    return int(reply) > 0


def entry(reply: Sequence[Any]) -> Entry:
    expiry = reply[3] if len(reply) > 3 else None
    return Entry(
        load_key(reply[0]),
        load_value(reply[1]),
        text(reply[2]),
        from_unix_milliseconds(None if expiry is None else int(expiry)),
    )


def change(row: Sequence[Any]) -> Change:
    key, value, version, expiry = row
    if key is None:
        return Change("clear", (), None, text(version))
    if value is None:
        return Change("delete", load_key(key), None, text(version))
    expires_at = from_unix_milliseconds(None if expiry is None else int(expiry))
    return Change("set", load_key(key), load_value(value), text(version), expires_at)


def message(reply: Sequence[Any]) -> Message:
    queue, id_, value, attempt, receipt = reply
    return Message(text(queue), text(id_), load_value(value), int(attempt), text(receipt))


# ---- words ----

JSON: List[Word] = ["FORMAT", "JSON"]


def idem(id_: Optional[str]) -> List[Word]:
    return ["IDEM", id_] if id_ else []


def lifetime(
    ttl: Optional[Seconds], expires_at: Optional[datetime], keep_ttl: bool
) -> List[Word]:
    words: List[Word] = []
    if ttl is not None:
        words += ["PX", milliseconds(ttl)]
    if expires_at is not None:
        words += ["PXAT", unix_milliseconds(expires_at)]
    if keep_ttl:
        words.append("KEEPTTL")
    if len(words) > 2:
        raise ValueError("one of ttl, expires_at and keep_ttl")
    return words


def bounds(
    clamp: Optional[Tuple[Any, Any]], within: Optional[Tuple[Any, Any]]
) -> List[Word]:
    if clamp and within:
        raise ValueError("one of clamp and within")
    for name, pair in (("CLAMP", clamp), ("RANGE", within)):
        if pair:
            return [name, dump_value(pair[0]), dump_value(pair[1])]
    return []


def queue_options(
    delay: Optional[Seconds],
    backoff: Optional[Sequence[Seconds]],
    undelivered: Optional[Sequence[KeyLike]],
    dedup: Optional[str],
) -> List[Word]:
    words: List[Word] = []
    if delay is not None:
        words += ["DELAY", milliseconds(delay)]
    if backoff is not None:
        words += ["BACKOFF", len(backoff), *(milliseconds(pause) for pause in backoff)]
    if undelivered:
        words += ["UNDELIVERED", len(undelivered), *map(dump_key, undelivered)]
    if dedup is not None:
        words += ["DEDUP", dedup]
    return words


def scope(
    prefix: Optional[KeyLike],
    start: Optional[KeyLike],
    end: Optional[KeyLike],
    where: Optional[Where],
) -> List[Word]:
    words: List[Word] = []
    for name, key in (("PREFIX", prefix), ("START", start), ("END", end)):
        if key is not None:
            words += [name, dump_key(key)]
    if where is not None:
        words += ["WHERE", dump_value(dict(where))]
    return words


# ---- commands ----


def get(key: KeyLike) -> Call[Optional[Entry]]:
    def parse(reply: Any) -> Optional[Entry]:
        return None if reply is None else entry([dump_key(key), *reply])

    words: List[Word] = ["KV.GET", dump_key(key), "WITHVERSION", "WITHEXPIRY"]
    return Call(words + JSON, parse)


def get_many(keys: Sequence[KeyLike]) -> Call[List[Optional[Entry]]]:
    def parse(reply: Any) -> List[Optional[Entry]]:
        return [
            None if found is None else entry([dump_key(key), *found])
            for key, found in zip(keys, reply)
        ]

    return Call(["KV.MGET", *map(dump_key, keys), *JSON], parse)


def set_(
    key: KeyLike,
    value: Any,
    ttl: Optional[Seconds] = None,
    expires_at: Optional[datetime] = None,
    keep_ttl: bool = False,
    if_absent: bool = False,
    if_exists: bool = False,
    if_version: Optional[str] = None,
    id_: Optional[str] = None,
) -> Call[Optional[str]]:
    condition: List[Word] = ["NX"] if if_absent else []
    condition += ["XX"] if if_exists else []
    condition += ["IFVERSION", if_version] if if_version is not None else []
    if condition and not id_:
        id_ = new_id()  # sent again after it was done, the condition would not hold
    words: List[Word] = ["KV.SET", dump_key(key), dump_value(value)]
    words += lifetime(ttl, expires_at, keep_ttl) + condition + JSON
    return Call(words + idem(id_), maybe_text)


def delete(keys: Sequence[KeyLike], id_: Optional[str]) -> Call[int]:
    return Call(["KV.DEL", *map(dump_key, keys), *JSON, *idem(id_ or new_id())], number)


def count(scope_words: List[Word]) -> Call[int]:
    return Call(["KV.COUNT", *scope_words, *JSON], number)


def delete_range(scope_words: List[Word], limit: Optional[int]) -> Call[int]:
    # Sent again, a LIMIT would remove more.
    words: List[Word] = ["KV.DELRANGE", *(scope_words or ["ALL"])]
    words += ["LIMIT", limit] if limit is not None else []
    return Call(words + JSON, number, resend=limit is None)


def ttl(key: KeyLike) -> Call[Optional[float]]:
    def parse(reply: Any) -> Optional[float]:
        return None if int(reply) < 0 else int(reply) / 1000

    return Call(["KV.PTTL", dump_key(key), *JSON], parse)


def expire(key: KeyLike, span: Seconds, id_: Optional[str]) -> Call[bool]:
    words: List[Word] = ["KV.PEXPIRE", dump_key(key), milliseconds(span)]
    return Call(words + JSON + idem(id_ or new_id()), is_done)


def persist(key: KeyLike, id_: Optional[str]) -> Call[bool]:
    return Call(["KV.PERSIST", dump_key(key), *JSON, *idem(id_ or new_id())], is_done)


def arithmetic(
    name: str, key: KeyLike, value: Any, limits: List[Word], id_: Optional[str]
) -> Call[Number]:
    words: List[Word] = [name, dump_key(key), dump_value(value), *limits]
    return Call(
        words + JSON + idem(id_ or new_id()),
        lambda reply: Number(load_value(reply[0]), text(reply[1])),
    )


def extend_array(
    name: str, key: KeyLike, items: Sequence[Any], id_: Optional[str]
) -> Call[Length]:
    words: List[Word] = [name, dump_key(key), dump_value(list(items))]
    return Call(
        words + JSON + idem(id_ or new_id()),
        lambda reply: Length(int(reply[0]), text(reply[1])),
    )


def version() -> Call[str]:
    return Call(["KV.VERSION", *JSON], text)


Page = Tuple[str, List[Any]]


class Pages:
    """The pages of KV.LIST or KV.FIND, one call after the other, until `limit` items are read."""

    def __init__(
        self,
        command: Sequence[Word],
        item: Callable[[Any], Any],
        reverse: bool,
        limit: Optional[int],
        page_size: int,
        options: Sequence[Word],
    ) -> None:
        self._command = list(command)
        self._options: List[Word] = [*options, *(["REVERSE"] if reverse else [])]
        self._item = item
        self._left = limit
        self._page_size = page_size
        self._cursor: Optional[str] = None

    def next(self) -> Optional[Call[List[Any]]]:
        if self._cursor == "0" or (self._left is not None and self._left <= 0):
            return None
        size = self._page_size if self._left is None else min(self._page_size, self._left)
        words: List[Word] = [*self._command, *self._options, "LIMIT", size]
        words += ["CURSOR", self._cursor] if self._cursor is not None else []
        return Call(words + JSON, self._parse)

    def _parse(self, reply: Any) -> List[Any]:
        self._cursor = text(reply[0])
        items = [self._item(item) for item in reply[1]]
        if self._left is not None:
            self._left -= len(items)
        return items


def list_pages(
    scope_words: List[Word],
    reverse: bool = False,
    limit: Optional[int] = None,
    page_size: int = 500,
    keys_only: bool = False,
) -> Pages:
    options: List[Word] = ["KEYSONLY"] if keys_only else ["WITHEXPIRY"]
    item: Callable[[Any], Any] = load_key if keys_only else entry
    return Pages(["KV.LIST", *scope_words], item, reverse, limit, page_size, options)


def find_pages(
    index: str,
    values: Sequence[Any],
    from_: Any,
    to: Any,
    where: Optional[Where],
    reverse: bool,
    limit: Optional[int],
    page_size: int,
) -> Pages:
    words: List[Word] = ["KV.FIND", index, *map(dump_value, values)]
    words += ["FROM", dump_value(from_)] if from_ is not None else []
    words += ["TO", dump_value(to)] if to is not None else []
    words += scope(None, None, None, where)
    return Pages(words, entry, reverse, limit, page_size, ["WITHEXPIRY"])


def search(
    index: str, query: str, limit: int, offset: int, where: Optional[Where]
) -> Call[List[Found]]:
    words: List[Word] = ["KV.SEARCH", index, query, "LIMIT", limit, "OFFSET", offset]
    words += [*scope(None, None, None, where), "WITHSCORES"]
    return Call(
        words + JSON,
        lambda reply: [
            Found(load_key(row[0]), load_value(row[1]), text(row[2]), float(row[3]))
            for row in reply
        ],
    )


def poll(
    keys: Sequence[KeyLike], versions: Sequence[Optional[str]], block: float
) -> Call[Dict[str, Optional[Entry]]]:
    """What is another than what is known, by the key as JSON."""

    def parse(reply: Any) -> Dict[str, Optional[Entry]]:
        return {
            dump_key(load_key(row[0])): None if row[2] is None else entry(row)
            for row in reply or []
        }

    words: List[Word] = ["KV.POLL", "BLOCK", max(1, milliseconds(block)), "KEYS", len(keys)]
    words += [*map(dump_key, keys), *(known or "NONE" for known in versions)]
    return Call(words + JSON, parse)


def changes(
    position: str, prefix: Optional[KeyLike], size: int, block: Optional[float]
) -> Call[Batch]:
    words: List[Word] = ["KV.CHANGES", position, *scope(prefix, None, None, None), "COUNT", size]
    words += ["BLOCK", max(1, milliseconds(block))] if block is not None else []
    return Call(
        words + JSON, lambda reply: Batch([change(row) for row in reply[1]], text(reply[0]))
    )


# ---- queues ----


def enqueue(
    queue: str, value: Any, options: List[Word], id_: Optional[str]
) -> Call[Optional[str]]:
    words: List[Word] = ["KV.ENQUEUE", queue, dump_value(value), *options]
    return Call(words + JSON + idem(id_ or new_id()), maybe_text)


def dequeue(
    queues: Sequence[str], size: int, lease: Seconds, block: Optional[float]
) -> Call[List[Message]]:
    words: List[Word] = ["KV.DEQUEUE", queues[0]]
    words += ["ALSO", len(queues) - 1, *queues[1:]] if len(queues) > 1 else []
    words += ["COUNT", size, "LEASE", milliseconds(lease)]
    words += ["BLOCK", max(1, milliseconds(block))] if block is not None else []
    return Call(words + JSON, lambda reply: [message(m) for m in reply or []])


def ack(receipts: Sequence[str], id_: Optional[str]) -> Call[int]:
    return Call(["KV.ACK", *receipts, *JSON, *idem(id_ or new_id())], number)


def nack(
    receipt: str, delay: Optional[Seconds], error: Optional[str], dead: bool, id_: Optional[str]
) -> Call[bool]:
    words: List[Word] = ["KV.NACK", receipt]
    words += ["DELAY", milliseconds(delay)] if delay is not None else []
    if error is not None:  # of which the server takes 1024 bytes
        words += ["ERROR", error.encode(errors="replace")[:1024].decode(errors="ignore")]
    words += ["DEAD"] if dead else []
    return Call(words + JSON + idem(id_ or new_id()), is_done)


def extend(receipt: str, lease: Seconds) -> Call[bool]:
    return Call(["KV.EXTEND", receipt, milliseconds(lease), *JSON], is_done)


# ---- transactions ----


class AtomicBase:
    """A transaction that is being written down. Each method adds one operation and gives the
    builder back; `id` is its IDEM id, so that sending it again does it once."""

    def __init__(self, id_: Optional[str] = None) -> None:
        self.id = id_ or new_id()
        self._words: List[Word] = []
        self._operations: List[Tuple[str, Optional[NewKey]]] = []

    def _add(self: A, name: str, key: Optional[KeyLike], *words: Word) -> A:
        self._operations.append((name, None if key is None else tuple(key)))
        self._words += [name, *([dump_key(key)] if key is not None else []), *words]
        return self

    def check(self: A, key: KeyLike, version: Optional[str]) -> A:
        """The key must have this version; None: it must be absent."""
        return self._add("CHECK", key, version or "NONE")

    def set(
        self: A,
        key: KeyLike,
        value: Any,
        ttl: Optional[Seconds] = None,
        expires_at: Optional[datetime] = None,
        keep_ttl: bool = False,
    ) -> A:
        return self._add("SET", key, dump_value(value), *lifetime(ttl, expires_at, keep_ttl))

    def delete(self: A, key: KeyLike) -> A:
        return self._add("DEL", key)

    def sum(
        self: A,
        key: KeyLike,
        value: Any,
        clamp: Optional[Tuple[Any, Any]] = None,
        within: Optional[Tuple[Any, Any]] = None,
    ) -> A:
        return self._add("SUM", key, dump_value(value), *bounds(clamp, within))

    def min(self: A, key: KeyLike, value: Any) -> A:
        return self._add("MIN", key, dump_value(value))

    def max(self: A, key: KeyLike, value: Any) -> A:
        return self._add("MAX", key, dump_value(value))

    def append(self: A, key: KeyLike, items: Sequence[Any]) -> A:
        return self._add("APPEND", key, dump_value(list(items)))

    def prepend(self: A, key: KeyLike, items: Sequence[Any]) -> A:
        return self._add("PREPEND", key, dump_value(list(items)))

    def enqueue(
        self: A,
        queue: str,
        value: Any,
        delay: Optional[Seconds] = None,
        backoff: Optional[Sequence[Seconds]] = None,
        undelivered: Optional[Sequence[KeyLike]] = None,
        dedup: Optional[str] = None,
    ) -> A:
        options = queue_options(delay, backoff, undelivered, dedup)
        return self._add("ENQUEUE", None, queue, dump_value(value), *options)

    def ack(self: A, receipt: str) -> A:
        return self._add("ACK", None, receipt)

    def call(self) -> Call[Commit]:
        words: List[Word] = ["KV.ATOMIC", "IDEM", self.id, "DETAILS", *self._words, *JSON]
        return Call(words, self._parse)

    def _parse(self, reply: Any) -> Commit:
        if reply[0] is None:
            return Commit(False, conflicts=[self._conflict(*failed) for failed in reply[1]])
        results = [self._result(i, result) for i, result in enumerate(reply[1])]
        return Commit(True, text(reply[0]), results)

    def _conflict(self, index: Any, found: Any) -> Conflict:
        name, key = self._operations[int(index)]
        return Conflict(int(index), name, key, maybe_text(found))

    def _result(self, index: int, result: Any) -> Any:
        if result is None:
            return None
        name = self._operations[index][0]
        if name == "SET":
            return load_key(result)
        if name in ("SUM", "MIN", "MAX"):
            return load_value(result)
        return int(result) if name in ("APPEND", "PREPEND") else text(result)


# ---- trouble ----


def lost(error: Exception) -> bool:
    """Was it the connection, so that the outcome of the command is unknown? Other errors are
    raised, those of the server as what errors.py has."""
    refused = typed(error)
    if isinstance(refused, TryAgainError):
        return True
    if refused is not None:
        raise refused from None
    if isinstance(error, exceptions.MaxConnectionsError):
        return False
    return isinstance(error, (exceptions.ConnectionError, exceptions.TimeoutError))


def give_up(error: Exception) -> Exception:
    return typed(error) or error


def block_time(connection_kwargs: Mapping[str, Any], wanted: float) -> float:
    """How long a command may wait: half of the library's read time-out at most. redis-py 8 has one
    of 5 seconds unless it is told otherwise."""
    time_out = connection_kwargs.get("socket_timeout", 5.0)
    return wanted if time_out is None else min(wanted, float(time_out) / 2)


