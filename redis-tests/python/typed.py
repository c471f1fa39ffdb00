"""What a user may write, for mypy --strict: it is not run. Lines that must be refused carry an ignore, which
mypy reports when it is not needed."""

from typing import Optional

import redis
from redis import asyncio as redis_asyncio

from tupled import AsyncTupled, BigInt, CommitVersion, Entry, Key, KeyLike, Tupled, UUIDv7


def keys(db: Tupled) -> Optional[str]:
    db.set(("a", UUIDv7()), 1)
    db.set(("log", CommitVersion()), {"id": UUIDv7(), "at": CommitVersion()})
    db.set(["a", 1, 1.5, True, b"x", bytearray(b"x"), memoryview(b"x"), BigInt(1)], None)
    key: KeyLike = ("a", UUIDv7(1), CommitVersion())
    db.atomic().check(key, None).set(key, 1).sum(key, 1).delete(key).commit()
    db.enqueue("jobs", 1, undelivered=[("failed", UUIDv7())])
    db.set(("a", None), 1)  # type: ignore[arg-type]
    db.set(("a", object()), 1)  # type: ignore[arg-type]
    return db.set(("a",), 1)


def what_was_read(db: Tupled) -> Optional[Key]:
    entry: Optional[Entry] = db.get(("a",))
    if entry is None:
        return None
    part: str = entry.key[0]  # type: ignore[assignment]
    again = db.get(entry.key)
    return entry.key if again is None else again.key + (part,)


async def likewise(db: AsyncTupled) -> int:
    await db.set(("a", UUIDv7()), 1)
    async for entry in db.list(("a",)):
        await db.set(entry.key, entry.value)
    return await db.delete(("a", 1), idem="once")


db = Tupled(redis.Redis())
async_db = AsyncTupled(redis_asyncio.Redis())
