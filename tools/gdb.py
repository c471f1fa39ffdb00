"""tupled's values in gdb: slices as text, stored keys and values as what they are, lists as their items.

    gdb -x tools/gdb.py --args build/asan/tupled --dir /tmp/d --port 7000

    (gdb) print word                      a struct slice: "GET" (3)
    (gdb) print scratch                   a struct buf likewise
    (gdb) print $key(op.key)              an internal key, or a tuple: database 0, space 1: ["users", 1]
    (gdb) print $value(entry.value)       a stored value: {"name": "Ada"}
    (gdb) print $items(&env->clients, "next")    the addresses of a ring or a list, up to 200

Nothing of the program is called, so it works on core files too.
"""
import json
import struct

import gdb
import gdb.printing

SHOWN_BYTES = 200
SHOWN_ITEMS = 200
NUMBER, STRING, BYTES, FALSE, TRUE, ZERO = 0x21, 0x02, 0x01, 0x26, 0x27, 0x14


def memory(slice_value):
    """The bytes of a struct slice or a struct buf."""
    length = int(slice_value["len"])
    if length == 0:
        return b""
    return gdb.selected_inferior().read_memory(int(slice_value["data"]), length).tobytes()


def quoted(raw):
    return json.dumps(raw.decode("utf-8", "replace"), ensure_ascii=False)


def shown(data):
    text = "".join(chr(c) if 0x20 <= c < 0x7F and c not in b'"\\' else f"\\x{c:02x}" for c in data[:SHOWN_BYTES])
    return f'"{text}"' + ("..." if len(data) > SHOWN_BYTES else "")


class BytesPrinter:
    """struct slice, struct buf."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        length = int(self.value["len"])
        if int(self.value["data"]) == 0:
            return "no data" if length == 0 else f"no data ({length})"
        try:
            return f"{shown(memory(self.value))} ({length})"
        except gdb.MemoryError:
            return f"not readable ({length})"


# ---- keys (src/codec/key.h) ----------------------------------------------------------------------


def until_end(data, at):
    """Text up to its end mark: a zero that is not followed by ff."""
    out = bytearray()
    while at < len(data):
        if data[at] != 0:
            out.append(data[at])
            at += 1
        elif data[at + 1 : at + 2] == b"\xff":
            out.append(0)
            at += 2
        else:
            return bytes(out), at + 1
    raise ValueError("a text without its end")


def bigint(data, at):
    kind = data[at]
    is_negative = kind < ZERO
    count = abs(kind - ZERO)
    at += 1
    if count > 8:
        count = data[at] ^ (0xFF if is_negative else 0)
        at += 1
    magnitude = bytes(c ^ 0xFF for c in data[at : at + count]) if is_negative else data[at : at + count]
    n = int.from_bytes(magnitude, "big")
    return (-n if is_negative else n), at + count


def tuple_parts(data):
    parts, at = [], 0
    while at < len(data):
        kind = data[at]
        if kind == STRING:
            text, at = until_end(data, at + 1)
            parts.append(quoted(text))
        elif kind == BYTES:
            raw, at = until_end(data, at + 1)
            parts.append(f"bytes {raw.hex()}")
        elif kind == NUMBER:
            bits = int.from_bytes(data[at + 1 : at + 9], "big")
            bits ^= 1 << 63 if bits >> 63 else (1 << 64) - 1
            parts.append(repr(struct.unpack(">d", bits.to_bytes(8, "big"))[0]))
            at += 9
        elif kind in (FALSE, TRUE):
            parts.append("true" if kind == TRUE else "false")
            at += 1
        elif 0x0B <= kind <= 0x1D:
            n, at = bigint(data, at)
            parts.append(f"{n}n")
        else:
            raise ValueError(f"a part of the unknown kind {kind:#x}")
    return "[" + ", ".join(parts) + "]"


class Key(gdb.Function):
    """$key(slice): a stored key: the database, the space and the tuple; or a tuple alone."""

    def __init__(self):
        super().__init__("key")

    def invoke(self, value):
        data = memory(value)
        try:
            return tuple_parts(data)
        except (ValueError, IndexError):
            pass
        try:
            head = f"database {int.from_bytes(data[:2], 'big')}, space {data[2]}: "
            return head + tuple_parts(data[3:])
        except (ValueError, IndexError) as e:
            return f"no key ({e}): {shown(data)}"


# ---- values (src/codec/value.h) ------------------------------------------------------------------


def packed(data, at):
    """One item of MessagePack as text, and what follows it."""
    c = data[at]
    at += 1

    def number(size, kind):
        if at + size > len(data):
            raise ValueError("it is cut short")
        return struct.unpack(">" + kind, data[at : at + size])[0], at + size

    def body(size):
        if at + size > len(data):
            raise ValueError("it is cut short")
        return data[at : at + size], at + size

    if c < 0x80 or c >= 0xE0:
        return str(c if c < 0x80 else c - 256), at
    if c < 0x90:
        return items(data, at, c & 15, True)
    if c < 0xA0:
        return items(data, at, c & 15, False)
    if c < 0xC0:
        raw, at = body(c & 31)
        return quoted(raw), at
    if c in (0xC0, 0xC2, 0xC3):
        return {0xC0: "null", 0xC2: "false", 0xC3: "true"}[c], at
    if 0xC4 <= c <= 0xC6 or 0xD9 <= c <= 0xDB:
        first = 0xC4 if c < 0xC7 else 0xD9
        size, at = number(1 << (c - first), "BHI"[c - first])
        raw, at = body(size)
        return (f"bytes {raw.hex()}" if first == 0xC4 else quoted(raw)), at
    if 0xC7 <= c <= 0xC9 or 0xD4 <= c <= 0xD8:
        size = 1 << (c - 0xD4)
        if c < 0xD4:
            size, at = number(1 << (c - 0xC7), "BHI"[c - 0xC7])
        kind, at = number(1, "b")
        raw, at = body(size)
        return f"ext({kind & 0xFF:#04x}) {raw.hex()}", at
    if c in (0xCA, 0xCB):
        n, at = number(4 if c == 0xCA else 8, "f" if c == 0xCA else "d")
        return repr(n), at
    if 0xCC <= c <= 0xD3:
        n, at = number(1 << (c & 3), "BHIQbhiq"[c - 0xCC])
        return str(n), at
    if 0xDC <= c <= 0xDF:
        count, at = number(2 if c % 2 == 0 else 4, "H" if c % 2 == 0 else "I")
        return items(data, at, count, c >= 0xDE)
    raise ValueError("c1 is no MessagePack")


def items(data, at, count, is_map):
    parts = []
    for _ in range(count):
        item, at = packed(data, at)
        if is_map:
            value, at = packed(data, at)
            item = f"{item}: {value}"
        parts.append(item)
    return ("{%s}" if is_map else "[%s]") % ", ".join(parts), at


class Value(gdb.Function):
    """$value(slice): a stored value as text."""

    def __init__(self):
        super().__init__("value")

    def invoke(self, value):
        data = memory(value)
        try:
            text, at = packed(data, 0)
        except (ValueError, IndexError) as e:
            return f"no value ({e}): {shown(data)}"
        return text if at == len(data) else f"{text}, and {len(data) - at} bytes more"


# ---- lists (src/base/list.h) ---------------------------------------------------------------------


class Items(gdb.Function):
    """$items(pointer, "next"): the addresses of what is in a ring or a list, by the name of the member."""

    def __init__(self):
        super().__init__("items")

    def invoke(self, first, member):
        name = member.string()
        found, at = [], first
        while int(at) != 0 and len(found) < SHOWN_ITEMS:
            found.append(hex(int(at)))
            at = at.dereference()[name]
            if int(at) == int(first):
                break
        return f"{len(found)}: " + " ".join(found)


def register():
    printers = gdb.printing.RegexpCollectionPrettyPrinter("tupled")
    printers.add_printer("slice", "^slice$", BytesPrinter)
    printers.add_printer("buf", "^buf$", BytesPrinter)
    gdb.printing.register_pretty_printer(gdb.current_objfile(), printers, replace=True)
    for function in (Key, Value, Items):
        function()


register()
