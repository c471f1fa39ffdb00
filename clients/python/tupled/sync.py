"""The helper over redis.Redis. aio.py is the same over redis.asyncio.Redis."""

from __future__ import annotations

import logging
import threading
import time
from datetime import datetime
from typing import Any, Callable, Iterator, List, Optional, Sequence, Set, Tuple, TypeVar, Union

import redis

from . import commands
from .commands import (
    BEGINNING,
    AtomicBase,
    Batch,
    Call,
    Commit,
    Entry,
    Found,
    Length,
    Message,
    Number,
    Reject,
    Retry,
    Seconds,
    Where,
    Word,
)
from .errors import TupledError
from .live import Event, LiveState, Steps
from .values import Key, KeyLike, dump_key

T = TypeVar("T")
log = logging.getLogger("tupled")


class Tupled:
    """Keys, values, transactions and queues of the database that `client` has selected.

    A command whose connection broke, or that was answered TRYAGAIN, is sent again for `retry_for`
    seconds. Writes that would not bear that carry an IDEM id, so that they happen once. Commands
    that wait do so for `block` seconds at a time, less if the client's socket_timeout is short."""

    def __init__(self, client: redis.Redis, retry_for: float = 10.0, block: float = 1.0) -> None:
        self.redis = client
        self._execute: Callable[..., Any] = getattr(client, "execute_command")  # it has no types
        self.retry_for = retry_for
        self.block = commands.block_time(client.connection_pool.connection_kwargs, block)

    def run(self, call: Call[T]) -> T:
        until = time.monotonic() + self.retry_for
        pause = 0.02
        while True:
            try:
                reply = self._execute(*call.words)
            except Exception as error:
                again = commands.lost(error) and call.resend
                if not again or time.monotonic() >= until:
                    raise commands.give_up(error) from error
                time.sleep(pause)
                pause = min(2 * pause, 1.0)
            else:
                return call.parse(reply)

    def command(self, *words: Word) -> Any:
        """Any command, as redis-py answers it, with errors of this module; the helper sends it
        once."""
        return self.run(Call(list(words), lambda reply: reply, resend=False))

    def get(self, key: KeyLike) -> Optional[Entry]:
        """The entry: key, value, version, expires_at. None: there is none."""
        return self.run(commands.get(key))

    def get_many(self, keys: Sequence[KeyLike]) -> List[Optional[Entry]]:
        """All as of one moment, in the order of the keys."""
        return self.run(commands.get_many(keys))

    def set(
        self,
        key: KeyLike,
        value: Any,
        ttl: Optional[Seconds] = None,
        expires_at: Optional[datetime] = None,
        keep_ttl: bool = False,
        if_absent: bool = False,
        if_exists: bool = False,
        if_version: Optional[str] = None,
        idem: Optional[str] = None,
    ) -> Optional[str]:
        """The version of the write; None when the condition did not hold."""
        call = commands.set_(
            key, value, ttl, expires_at, keep_ttl, if_absent, if_exists, if_version, idem
        )
        return self.run(call)

    def delete(self, *keys: KeyLike, idem: Optional[str] = None) -> int:
        """How many there were."""
        return self.run(commands.delete(keys, idem))

    def list(
        self,
        prefix: Optional[KeyLike] = None,
        start: Optional[KeyLike] = None,
        end: Optional[KeyLike] = None,
        where: Optional[Where] = None,
        reverse: bool = False,
        limit: Optional[int] = None,
        page_size: int = 500,
    ) -> Iterator[Entry]:
        """The entries in the order of their keys, fetched a page at a time."""
        scope = commands.scope(prefix, start, end, where)
        for item in self._pages(commands.list_pages(scope, reverse, limit, page_size)):
            yield item

    def list_keys(
        self,
        prefix: Optional[KeyLike] = None,
        start: Optional[KeyLike] = None,
        end: Optional[KeyLike] = None,
        where: Optional[Where] = None,
        reverse: bool = False,
        limit: Optional[int] = None,
        page_size: int = 500,
    ) -> Iterator[Key]:
        scope = commands.scope(prefix, start, end, where)
        pages = commands.list_pages(scope, reverse, limit, page_size, keys_only=True)
        for item in self._pages(pages):
            yield item

    def find(
        self,
        index: str,
        *values: Any,
        from_: Any = None,
        to: Any = None,
        where: Optional[Where] = None,
        reverse: bool = False,
        limit: Optional[int] = None,
        page_size: int = 500,
    ) -> Iterator[Entry]:
        """The entries in the order of an index."""
        pages = commands.find_pages(index, values, from_, to, where, reverse, limit, page_size)
        for item in self._pages(pages):
            yield item

    def _pages(self, pages: commands.Pages) -> Iterator[Any]:
        call = pages.next()
        while call is not None:
            for item in self.run(call):
                yield item
            call = pages.next()

    def search(
        self,
        index: str,
        query: str,
        limit: int = 10,
        offset: int = 0,
        where: Optional[Where] = None,
    ) -> List[Found]:
        """What a full-text index finds, best first."""
        return self.run(commands.search(index, query, limit, offset, where))

    def count(
        self,
        prefix: Optional[KeyLike] = None,
        start: Optional[KeyLike] = None,
        end: Optional[KeyLike] = None,
        where: Optional[Where] = None,
    ) -> int:
        return self.run(commands.count(commands.scope(prefix, start, end, where)))

    def delete_range(
        self,
        prefix: Optional[KeyLike] = None,
        start: Optional[KeyLike] = None,
        end: Optional[KeyLike] = None,
        where: Optional[Where] = None,
        limit: Optional[int] = None,
    ) -> int:
        """How many were removed. Without a prefix and bounds: everything."""
        scope = commands.scope(prefix, start, end, None)
        filter_ = commands.scope(None, None, None, where)
        return self.run(commands.delete_range((scope or ["ALL"]) + filter_, limit))

    def ttl(self, key: KeyLike) -> Optional[float]:
        """Seconds; None: it never expires, or is not there."""
        return self.run(commands.ttl(key))

    def expire(self, key: KeyLike, ttl: Seconds, idem: Optional[str] = None) -> bool:
        return self.run(commands.expire(key, ttl, idem))

    def persist(self, key: KeyLike, idem: Optional[str] = None) -> bool:
        return self.run(commands.persist(key, idem))

    def sum(
        self,
        key: KeyLike,
        value: Any,
        clamp: Optional[Tuple[Any, Any]] = None,
        within: Optional[Tuple[Any, Any]] = None,
        idem: Optional[str] = None,
    ) -> Number:
        """`clamp` stops at its ends; what would leave `within` is a RangeError."""
        limits = commands.bounds(clamp, within)
        return self.run(commands.arithmetic("KV.SUM", key, value, limits, idem))

    def min(self, key: KeyLike, value: Any, idem: Optional[str] = None) -> Number:
        return self.run(commands.arithmetic("KV.MIN", key, value, [], idem))

    def max(self, key: KeyLike, value: Any, idem: Optional[str] = None) -> Number:
        return self.run(commands.arithmetic("KV.MAX", key, value, [], idem))

    def append(
        self, key: KeyLike, items: Sequence[Any], idem: Optional[str] = None
    ) -> Length:
        return self.run(commands.extend_array("KV.APPEND", key, items, idem))

    def prepend(
        self, key: KeyLike, items: Sequence[Any], idem: Optional[str] = None
    ) -> Length:
        return self.run(commands.extend_array("KV.PREPEND", key, items, idem))

    def version(self) -> str:
        """The newest commit that is acknowledged."""
        return self.run(commands.version())

    def atomic(self, idem: Optional[str] = None) -> Atomic:
        """A transaction to write down; `commit()` sends it."""
        return Atomic(self, idem)

    # ---- queues ----

    def enqueue(
        self,
        queue: str,
        value: Any,
        delay: Optional[Seconds] = None,
        backoff: Optional[Sequence[Seconds]] = None,
        undelivered: Optional[Sequence[KeyLike]] = None,
        dedup: Optional[str] = None,
        idem: Optional[str] = None,
    ) -> Optional[str]:
        """The id of the message; None when `dedup` has been seen."""
        options = commands.queue_options(delay, backoff, undelivered, dedup)
        return self.run(commands.enqueue(queue, value, options, idem))

    def dequeue(
        self,
        *queues: str,
        count: int = 1,
        lease: Seconds = 30,
        block: Optional[float] = None,
    ) -> List[Message]:
        """Up to `count` messages; `block` seconds at most if there is none."""
        if block is not None:
            kwargs = self.redis.connection_pool.connection_kwargs
            block = commands.block_time(kwargs, block)
        return self.run(commands.dequeue(queues, count, lease, block))

    def ack(self, *receipts: str, idem: Optional[str] = None) -> int:
        return self.run(commands.ack(receipts, idem))

    def nack(
        self,
        receipt: str,
        delay: Optional[Seconds] = None,
        error: Optional[str] = None,
        dead: bool = False,
        idem: Optional[str] = None,
    ) -> bool:
        return self.run(commands.nack(receipt, delay, error, dead, idem))

    def extend(self, receipt: str, lease: Seconds) -> bool:
        return self.run(commands.extend(receipt, lease))

    # ---- what happens ----

    def watch(self, *keys: KeyLike) -> Watcher:
        """An iterator over the entries of these keys: as they are, then again whenever one has
        another version. States in between may be left out."""
        return Watcher(self, keys)

    def feed(
        self,
        position: str = BEGINNING,
        prefix: Optional[KeyLike] = None,
        follow: bool = True,
        size: int = 1000,
    ) -> Feed:
        """An iterator over batches of the change feed after `position`."""
        return Feed(self, position, prefix, follow, size)

    def live(self, prefix: KeyLike = ()) -> LiveView:
        """A copy of what is below the prefix that can be kept up to date; it is read at once."""
        view = LiveView(self, prefix)
        view.load()
        return view


class Atomic(AtomicBase):
    """A transaction. When its outcome is unknown (the connection broke, and `retry_for` is over),
    commit() raises redis-py's ConnectionError or TimeoutError. Called again, it sends the same
    id: what was done is not done again."""

    def __init__(self, db: Tupled, idem: Optional[str] = None) -> None:
        super().__init__(idem)
        self._db = db

    def commit(self) -> Commit:
        return self._db.run(self.call())


class _Endless:
    """What goes on until stop() is called, over lost connections."""

    def __init__(self, db: Tupled) -> None:
        self._db = db
        self._stopping = threading.Event()

    def stop(self) -> None:
        """It ends within the time that a command waits. Safe in a signal handler."""
        self._stopping.set()

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def _insist(self, attempt: Callable[[], T]) -> Optional[T]:
        """Until it succeeds; None: stopped. Errors of the server are raised."""
        while not self.is_stopping:
            try:
                return attempt()
            except TupledError:
                raise
            except (redis.ConnectionError, redis.TimeoutError) as error:
                log.warning("tupled: no connection, trying again: %s", error)
                time.sleep(0.5)
        return None


class Watcher(_Endless):
    def __init__(self, db: Tupled, keys: Sequence[KeyLike]) -> None:
        super().__init__(db)
        self._keys = keys
        self._names = [dump_key(key) for key in keys]
        self._known: List[Optional[Entry]] = []

    def __iter__(self) -> Iterator[List[Optional[Entry]]]:
        first = self._insist(lambda: self._db.get_many(self._keys))
        if first is None:
            return
        self._known = first
        yield list(first)
        while not self.is_stopping:
            found = self._insist(self._poll)
            if found:
                self._known = [
                    found[name] if name in found else entry
                    for name, entry in zip(self._names, self._known)
                ]
                yield list(self._known)

    def _poll(self) -> Any:
        versions = [entry.version if entry else None for entry in self._known]
        return self._db.run(commands.poll(self._keys, versions, self._db.block))


class Feed(_Endless):
    """Batches of whole commits, in order. Store `batch.position` with what you did with its
    changes: the feed goes on there. With `follow` a batch comes at least every second, maybe
    without changes; without it, the iteration ends where the feed does. StaleError: the feed does
    not reach back to the position; read everything again (list), and go on from the version() of
    before."""

    def __init__(
        self,
        db: Tupled,
        position: str,
        prefix: Optional[KeyLike],
        follow: bool,
        size: int,
    ) -> None:
        super().__init__(db)
        self.position = position
        self._prefix = prefix
        self._follow = follow
        self._size = size

    def __iter__(self) -> Iterator[Batch]:
        while not self.is_stopping:
            batch = self._insist(self._next)
            if batch is None or (not self._follow and batch.position == self.position):
                return
            yield batch
            self.position = batch.position

    def _next(self) -> Batch:
        block = self._db.block if self._follow else None
        return self._db.run(
            commands.changes(self.position, self._prefix, self._size, block)
        )


class LiveView(_Endless):
    """The entries below a prefix, kept up to date by the change feed from the state that was read:
    nothing is missed and nothing comes twice, over lost connections and restarts too. When the feed
    does not reach back far enough, everything is read again and the differences are the events."""

    def __init__(self, db: Tupled, prefix: KeyLike) -> None:
        super().__init__(db)
        self._state = LiveState(prefix)

    @property
    def position(self) -> str:
        """The version that the entries are as of."""
        return self._state.position

    def get(self, key: KeyLike) -> Optional[Entry]:
        return self._state.entries.get(dump_key(key))

    def entries(self) -> List[Entry]:
        """In no certain order."""
        return list(self._state.entries.values())

    def __len__(self) -> int:
        return len(self._state.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries())

    def load(self) -> List[Event]:
        return self._run(self._state.load())

    def poll(self, timeout: float = 0.0) -> List[Event]:
        """Takes in what has changed, waiting up to `timeout` seconds for it."""
        until = time.monotonic() + timeout
        while True:
            left = max(0.0, until - time.monotonic())
            events = self._run(self._state.poll(min(left, self._db.block)))
            if events or time.monotonic() >= until:
                return events

    def events(self) -> Iterator[Event]:
        """Every change as it is taken in, until stop()."""
        while not self.is_stopping:
            for event in (self._insist(lambda: self.poll(self._db.block))) or []:
                yield event

    def _run(self, steps: Steps[List[Event]]) -> List[Event]:
        try:
            call = next(steps)
            while True:
                try:
                    reply = self._db.run(call)
                except TupledError as error:
                    call = steps.throw(error)
                else:
                    call = steps.send(reply)
        except StopIteration as end:
            events: List[Event] = end.value
            return events


# ---- workers ----


class Job:
    """A message that is being worked on. `is_lost`: its lease has expired, another worker has it."""

    def __init__(self, db: Tupled, message: Message) -> None:
        self.db = db
        self.message = message
        self.queue = message.queue
        self.id = message.id
        self.value = message.value
        self.attempt = message.attempt
        self.receipt = message.receipt
        self.is_settled = False
        self.is_lost = False
        self.conflicts: List[commands.Conflict] = []

    def atomic(self) -> JobAtomic:
        """A transaction that acknowledges the message together with what the job did: both or
        neither. After its commit the worker has nothing left to do."""
        return JobAtomic(self)

    def extend(self, lease: Seconds) -> bool:
        """The worker does this by itself, while the handler runs."""
        done = self.db.extend(self.receipt, lease)
        self.is_lost = not done and not self.is_settled
        return done


class JobAtomic(Atomic):
    def __init__(self, job: Job) -> None:
        super().__init__(job.db)
        self._job = job
        self.ack(job.receipt)

    def commit(self) -> Commit:
        result = super().commit()
        self._job.is_settled = self._job.is_settled or result.ok
        self._job.conflicts = result.conflicts
        if any(conflict.operation == "ACK" for conflict in result.conflicts):
            self._job.is_lost = True
        return result


Handler = Callable[[Job], None]


class Worker(_Endless):
    """Takes messages and calls `handler` with each, `concurrency` at a time.

    The handler returns: the message is acknowledged. It raises: the message comes again after its
    backoff, Retry(delay=...) says when, Reject makes it a dead letter. While it runs the lease is
    extended. A worker that dies loses nothing: the lease ends, and another worker gets the message.
    stop() lets the jobs that run finish."""

    def __init__(
        self,
        db: Tupled,
        queues: Union[str, Sequence[str]],
        handler: Handler,
        concurrency: int = 1,
        lease: float = 30.0,
    ) -> None:
        super().__init__(db)
        self._queues = [queues] if isinstance(queues, str) else list(queues)
        self._handler = handler
        self._concurrency = concurrency
        self._lease = lease
        self._running: Set[Job] = set()
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._trouble: Optional[Exception] = None

    def run(self) -> None:
        """Until stop() is called, by a handler of signals or another thread. An error of the server
        (no permission, say) stops the worker and is raised here."""
        takers = [threading.Thread(target=self._take) for _ in range(self._concurrency)]
        extender = threading.Thread(target=self._extend, daemon=True)
        for thread in [*takers, extender]:
            thread.start()
        try:
            for thread in takers:
                thread.join()
        finally:
            self.stop()
            for thread in takers:
                thread.join()
            self._ended.set()
            extender.join()
        if self._trouble is not None:
            raise self._trouble

    def _take(self) -> None:
        try:
            while not self.is_stopping:
                for message in self._insist(self._next) or []:
                    self._work(Job(self._db, message))
        except Exception as error:
            self._trouble = error
            self.stop()

    def _work(self, job: Job) -> None:
        with self._lock:
            self._running.add(job)
        try:
            self._handle(job)
        except (redis.ConnectionError, redis.TimeoutError) as error:
            log.warning("tupled: job %s is left to its lease: %s", job.id, error)
        finally:
            with self._lock:
                self._running.discard(job)

    def _next(self) -> List[Message]:
        call = commands.dequeue(self._queues, 1, self._lease, self._db.block)
        return self._db.run(call)

    def _handle(self, job: Job) -> None:
        try:
            self._handler(job)
        except Reject as refusal:
            self._db.nack(job.receipt, error=str(refusal), dead=True)
        except Retry as wish:
            self._db.nack(job.receipt, delay=wish.delay, error=str(wish))
        except Exception as error:
            log.warning("tupled: job %s of %s failed", job.id, job.queue, exc_info=True)
            self._db.nack(job.receipt, error=f"{type(error).__name__}: {error}")
        else:
            self._settle(job)

    def _settle(self, job: Job) -> None:
        if job.is_settled or job.is_lost:
            return
        if job.conflicts:  # its transaction did not happen, so the message is not done
            failed = ", ".join(f"{c.operation} {c.key}" for c in job.conflicts)
            self._db.nack(job.receipt, error=f"a check failed: {failed}")
        elif not self._db.ack(job.receipt):
            job.is_lost = True

    def _extend(self) -> None:
        while not self._ended.wait(self._lease / 3):
            with self._lock:
                running = list(self._running)
            for job in running:
                try:
                    job.extend(self._lease)
                except Exception as error:
                    log.warning("tupled: the lease of job %s is not extended: %s", job.id, error)
