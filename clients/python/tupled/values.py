"""Keys and values: Python's types on one side, the server's typed JSON on the other.

A key is a tuple of str, bytes, BigInt, int or float, bool. What a value may be is in the table of
the README. Types that Python does not have are small classes here: BigInt, U64, Map, Set, RegExp,
ErrorValue, TypedArray, V8 and UNDEFINED.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

INTEGER_MAX = 2**53 - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class BigInt(int):
    """An integer that the server keeps as a bigint, whatever its size. In a key BigInt(1) and 1 are
    two different parts."""

    def __repr__(self) -> str:
        return f"BigInt({int(self)})"


class U64(int):
    """A counter of 64 bits that wraps; a whole value, not a part of one."""

    def __repr__(self) -> str:
        return f"U64({int(self)})"


class Undefined:
    """JavaScript's undefined; UNDEFINED is the one object of this class."""

    def __repr__(self) -> str:
        return "UNDEFINED"

    def __bool__(self) -> bool:
        return False


UNDEFINED = Undefined()


class Map:
    """A Map: pairs in order, whose keys may be anything, lists and objects too."""

    def __init__(self, pairs: Iterable[Tuple[Any, Any]] = ()) -> None:
        self.pairs: List[Tuple[Any, Any]] = [(key, value) for key, value in pairs]

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of a key of the same type and value."""
        for k, v in self.pairs:
            if type(k) is type(key) and k == key:
                return v
        return default

    def to_dict(self) -> Dict[Any, Any]:
        """A dict, if its keys can be keys of one."""
        return dict(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[Tuple[Any, Any]]:
        return iter(self.pairs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Map) and self.pairs == other.pairs

    def __repr__(self) -> str:
        return f"Map({self.pairs!r})"


class Set(List[Any]):
    """A Set whose members cannot be members of Python's (lists, objects; or both 1 and True)."""


@dataclass(frozen=True)
class RegExp:
    source: str
    flags: str = ""


@dataclass(frozen=True)
class ErrorValue:
    """An Error as a value; `stack` and `cause` are UNDEFINED where there is none."""

    name: str
    message: str
    stack: Any = UNDEFINED
    cause: Any = UNDEFINED


@dataclass(frozen=True)
class TypedArray:
    """JavaScript's typed array: the name of its type, and its bytes."""

    type: str
    data: bytes


@dataclass(frozen=True)
class V8:
    """A value that only V8 can read: the bytes as it wrote them."""

    data: bytes


@dataclass(frozen=True)
class InvalidDate:
    """A Date that is no time."""


@dataclass(frozen=True)
class UUIDv7:
    """Becomes a new UUID when written; the same n is the same one throughout a transaction."""

    n: int = 0


@dataclass(frozen=True)
class CommitVersion:
    """Becomes the versionstamp of the commit that writes it."""


# What a key has that was read, ...
KeyPart = Union[str, bytes, int, float, bool]
Key = Tuple[KeyPart, ...]
# ... and what one may have that is given: the server fills in placeholders when it writes.
NewKeyPart = Union[KeyPart, bytearray, memoryview, UUIDv7, CommitVersion]
NewKey = Tuple[NewKeyPart, ...]
KeyLike = Sequence[NewKeyPart]

_TAGS = frozenset(
    "$bigint $u64 $bytes $date $undefined $number $map $set $regexp $error $typed $v8 $id $ref"
    " $object $uuidv7 $versionstamp".split()
)
_NUMBERS = {
    "NaN": math.nan,
    "-NaN": math.copysign(math.nan, -1.0),
    "Infinity": math.inf,
    "-Infinity": -math.inf,
    "-0": -0.0,
}


def _compact(plain: Any) -> str:
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _base64(data: Union[bytes, bytearray, memoryview]) -> str:
    return base64.b64encode(data).decode("ascii")


def _float(number: float) -> Any:
    if math.isnan(number):
        return {"$number": "-NaN" if math.copysign(1.0, number) < 0 else "NaN"}
    if math.isinf(number):
        return {"$number": "Infinity" if number > 0 else "-Infinity"}
    if number == 0 and math.copysign(1.0, number) < 0:
        return {"$number": "-0"}
    return number


def _digits(number: int) -> str:
    """As the server has bigints in text: those of more than 1024 bytes in hex."""
    if -(1 << 8192) < number < (1 << 8192):
        return str(int(number))
    return hex(number)


# ---- keys ----


def _part(part: Any) -> Any:
    if isinstance(part, (UUIDv7, CommitVersion)):
        return _placeholder(part)
    if isinstance(part, (bool, str)):
        return part
    if isinstance(part, (bytes, bytearray, memoryview)):
        return {"$bytes": _base64(part)}
    if isinstance(part, BigInt):
        return {"$bigint": str(int(part))}
    if isinstance(part, int):
        if not -INTEGER_MAX <= part <= INTEGER_MAX:
            raise ValueError(f"{part} in a key is beyond +-(2^53-1): BigInt({part}) is a bigint")
        return int(part)
    if isinstance(part, float):
        return _float(part)
    raise TypeError(f"a part of a key is str, bytes, BigInt, int, float or bool, not {part!r}")


def dump_key(key: KeyLike) -> str:
    """The key as JSON. ("users", 42) becomes ["users",42]."""
    if isinstance(key, (str, bytes)):
        raise TypeError(f"a key is a tuple of parts: ({key!r},)")
    return _compact([_part(part) for part in key])


def load_key(text: Union[str, bytes]) -> Key:
    """The key that the server shows as this text."""
    return tuple(_load_part(part) for part in json.loads(text))


def _load_part(part: Any) -> KeyPart:
    if isinstance(part, dict):
        [(tag, content)] = part.items()
        if tag == "$bigint":
            return BigInt(content)
        if tag == "$bytes":
            return base64.b64decode(content)
        return _NUMBERS[content]
    if isinstance(part, int) and not isinstance(part, bool) and abs(part) > INTEGER_MAX:
        return BigInt(part)  # of a server with bare-bigints
    known: KeyPart = part
    return known


# ---- values ----


class _Circular(Exception):
    pass


class _Dump:
    """One value on its way out. Objects that contain themselves are written with ids, and then all
    that are in several places are."""

    def __init__(self) -> None:
        self.open: Dict[int, Any] = {}
        self.ids: Optional[Dict[int, int]] = None
        self.written: Dict[int, int] = {}

    def value(self, v: Any) -> Any:
        if v is None or isinstance(v, (bool, str)):
            return v
        if isinstance(v, (list, tuple, dict, set, frozenset, Map)):
            return self.container(v)
        return self.leaf(v)

    def leaf(self, v: Any) -> Any:
        if isinstance(v, int):
            if isinstance(v, U64):
                return {"$u64": str(int(v))}
            if isinstance(v, BigInt) or not -INTEGER_MAX <= v <= INTEGER_MAX:
                return {"$bigint": _digits(v)}
            return int(v)
        if isinstance(v, float):
            return _float(v)
        if isinstance(v, (bytes, bytearray, memoryview)):
            return {"$bytes": _base64(v)}
        if isinstance(v, datetime):
            return {"$date": _date(v)}
        if isinstance(v, InvalidDate):
            return {"$date": None}
        if isinstance(v, Undefined):
            return {"$undefined": True}
        if isinstance(v, RegExp):
            return {"$regexp": [v.source, v.flags]}
        if isinstance(v, ErrorValue):
            fields = {"name": v.name, "message": v.message}
            for name in ("stack", "cause"):
                if getattr(v, name) is not UNDEFINED:
                    fields[name] = self.value(getattr(v, name))
            return {"$error": fields}
        if isinstance(v, TypedArray):
            return {"$typed": [v.type, _base64(v.data)]}
        if isinstance(v, V8):
            return {"$v8": _base64(v.data)}
        if isinstance(v, (UUIDv7, CommitVersion)):
            return _placeholder(v)
        raise TypeError(f"{type(v).__name__} has no form as a value: {v!r}")

    def container(self, v: Any) -> Any:
        me = id(v)
        if self.ids is None:
            if me in self.open:
                raise _Circular
            self.open[me] = v
            plain = self.contents(v)
            del self.open[me]
            return plain
        if me in self.written:
            return {"$ref": self.written[me]}
        if me not in self.ids:
            return self.contents(v)
        number = self.written[me] = len(self.written) + 1
        return {"$id": number, "value": self.contents(v)}

    def contents(self, v: Any) -> Any:
        if isinstance(v, dict):
            if all(isinstance(key, str) for key in v):
                plain = {key: self.value(value) for key, value in v.items()}
                names = set(plain)
                looks_tagged = (len(plain) == 1 and names < _TAGS) or names == {"$id", "value"}
                return {"$object": plain} if looks_tagged else plain
            return {"$map": [[self.value(key), self.value(value)] for key, value in v.items()]}
        if isinstance(v, Map):
            return {"$map": [[self.value(key), self.value(value)] for key, value in v.pairs]}
        items = [self.value(item) for item in v]
        return {"$set": items} if isinstance(v, (set, frozenset, Set)) else items


def _children(v: Any) -> List[Any]:
    if isinstance(v, dict):
        return [*v.keys(), *v.values()]
    if isinstance(v, Map):
        return [item for pair in v.pairs for item in pair]
    if isinstance(v, ErrorValue):
        return [v.stack, v.cause]
    return list(v) if isinstance(v, (list, tuple, set, frozenset)) else []


def _in_several_places(v: Any) -> Dict[int, int]:
    seen: Dict[int, int] = {}
    todo = [v]
    while todo:
        item = todo.pop()
        if isinstance(item, (list, tuple, dict, set, frozenset, Map)):
            seen[id(item)] = seen.get(id(item), 0) + 1
            if seen[id(item)] > 1:
                continue
        todo += _children(item)
    return {me: count for me, count in seen.items() if count > 1}


def _date(time: datetime) -> str:
    if time.tzinfo is None:
        raise ValueError(f"{time!r} has no time zone: say which, as timezone.utc")
    utc = time.astimezone(timezone.utc)
    return utc.strftime("%Y-%m-%dT%H:%M:%S.").rjust(20, "0") + f"{utc.microsecond // 1000:03d}Z"


def _placeholder(v: Union[UUIDv7, CommitVersion]) -> Any:
    return {"$uuidv7": v.n} if isinstance(v, UUIDv7) else {"$versionstamp": True}


def dump_value(value: Any) -> str:
    """The value as typed JSON."""
    try:
        return _compact(_Dump().value(value))
    except _Circular:
        dump = _Dump()
        dump.ids = _in_several_places(value)
        return _compact(dump.value(value))


class _Load:
    def __init__(self) -> None:
        self.shared: Dict[int, Any] = {}

    def value(self, plain: Any, number: Optional[int] = None) -> Any:
        if isinstance(plain, list):
            items: List[Any] = []
            self.keep(number, items)
            items += [self.value(item) for item in plain]
            return items
        if isinstance(plain, int) and not isinstance(plain, bool) and abs(plain) > INTEGER_MAX:
            return BigInt(plain)
        if not isinstance(plain, dict):
            return plain
        if len(plain) == 2 and "$id" in plain and "value" in plain:
            value = self.value(plain["value"], plain["$id"])
            self.shared.setdefault(plain["$id"], value)
            return value
        if len(plain) == 1:
            [(tag, content)] = plain.items()
            if tag in _TAGS:
                return self.tagged(tag, content, number)
        return self.object(plain, number)

    def keep(self, number: Optional[int], value: Any) -> None:
        if number is not None:
            self.shared[number] = value

    def object(self, plain: Dict[str, Any], number: Optional[int]) -> Dict[str, Any]:
        result: Dict[str, Any] = {}
        self.keep(number, result)
        for key, item in plain.items():
            result[key] = self.value(item)
        return result

    def tagged(self, tag: str, content: Any, number: Optional[int]) -> Any:
        if tag == "$map":
            map_ = Map()
            self.keep(number, map_)
            map_.pairs += [(self.value(key), self.value(value)) for key, value in content]
            return map_
        if tag == "$set":
            return self.set(content, number)
        if tag == "$object":
            return self.object(content, number)
        if tag == "$ref":
            return self.shared[content]
        return self.leaf(tag, content)

    def set(self, content: List[Any], number: Optional[int]) -> Any:
        if number is not None:  # it may contain itself
            shared = Set()
            self.keep(number, shared)
            shared += [self.value(item) for item in content]
            return shared
        items = [self.value(item) for item in content]
        try:
            plain = set(items)
        except TypeError:
            return Set(items)
        return plain if len(plain) == len(items) else Set(items)

    def leaf(self, tag: str, content: Any) -> Any:
        if tag == "$bigint":
            return BigInt(content, 0)
        if tag == "$u64":
            return U64(content)
        if tag == "$bytes":
            return base64.b64decode(content)
        if tag == "$date":
            return _load_date(content)
        if tag == "$undefined":
            return UNDEFINED
        if tag == "$number":
            return _NUMBERS[content]
        if tag == "$regexp":
            return RegExp(content[0], content[1])
        if tag == "$error":
            more = {k: self.value(content[k]) for k in ("stack", "cause") if k in content}
            return ErrorValue(content["name"], content["message"], **more)
        if tag == "$typed":
            return TypedArray(content[0], base64.b64decode(content[1]))
        if tag == "$v8":
            return V8(base64.b64decode(content))
        return UUIDv7(content) if tag == "$uuidv7" else CommitVersion()


def _load_date(text: Optional[str]) -> Any:
    if text is None:
        return InvalidDate()
    try:
        time = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ")
    except ValueError:
        raise ValueError(f"{text} is a time that Python's datetime cannot hold") from None
    return time.replace(tzinfo=timezone.utc)


def load_value(text: Union[str, bytes]) -> Any:
    """The value that the server shows as this text."""
    try:
        return _Load().value(json.loads(text))
    except (KeyError, TypeError, binascii.Error) as error:
        raise ValueError(f"no typed JSON of this version: {error!r}") from error


def milliseconds(span: Union[int, float, timedelta]) -> int:
    """Of seconds, or of a timedelta."""
    seconds = span.total_seconds() if isinstance(span, timedelta) else span
    return round(seconds * 1000)


def unix_milliseconds(time: datetime) -> int:
    if time.tzinfo is None:
        raise ValueError(f"{time!r} has no time zone: say which, as timezone.utc")
    return (time - _EPOCH) // timedelta(milliseconds=1)


def from_unix_milliseconds(ms: Optional[int]) -> Optional[datetime]:
    return None if ms is None else _EPOCH + timedelta(milliseconds=ms)
