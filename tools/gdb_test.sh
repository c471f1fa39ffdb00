#!/bin/bash
# Tests of tools/gdb.py: a program that stops with keys, values and lists, and what gdb shows of them.

set -u
cd "$(dirname "$0")/.." || exit 1
if ! command -v gdb >/dev/null || ! gdb -batch -ex 'python print(1)' 2>/dev/null | grep -qx 1; then
    echo "skip - gdb shows tupled's values: there is no gdb with Python"
    exit 0
fi
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/show.c" <<'C'
#include "base/buf.h"
struct thing { struct thing *next; };
static __attribute__((noinline)) void here(struct slice word, struct slice key, struct slice inner, struct slice value,
    struct slice broken, struct buf text, struct thing *ring)
{
    __asm__ volatile("" ::"r"(&word), "r"(&key), "r"(&inner), "r"(&value), "r"(&broken), "r"(&text), "r"(ring) : "memory");
}
#define S(bytes) slice_of(bytes, sizeof(bytes) - 1)
int main(void)
{
    static uint8_t bytes[] = "ab\"c";
    struct thing b, a = {&b};
    b.next = &a;
    here(S("GET\n"), S("\x02users\0\x21\xc0\0\0\0\0\0\0\0\x27\x15\x07"), S("\0\x05\x01\x02" "a\0\xff" "b\0\x01\xff\0"),
         S("\x82\xa1" "a\x93\x01\xc0\xcb\x3f\xf8\0\0\0\0\0\0\xa1" "b\xd4\x42\x07"), S("\xda\x01"), (struct buf){.data = bytes, .len = 4}, &a);
    return 0;
}
C
gcc -g -O0 -D_GNU_SOURCE -Isrc -o "$scratch/show" "$scratch/show.c" || exit 1
gdb -batch -nx -x tools/gdb.py -ex 'break here' -ex run -ex 'print word' -ex 'print text' -ex 'print $key(key)' -ex 'print $key(inner)' \
    -ex 'print $value(value)' -ex 'print $value(broken)' -ex 'print $items(ring, "next")' "$scratch/show" >"$scratch/said" 2>&1
. tests/checks.sh
if ! grep -q '^Breakpoint 1, here' "$scratch/said"; then
    skip "gdb shows tupled's values" "gdb may not run a program here"
    exit 0
fi
# shows <name> <number> <text>
shows() {
    same "$1" "$3" "$(sed -n "s/^\\\$$2 = //p" "$scratch/said")"
}
shows "a slice is text" 1 '"GET\x0a" (4)'
shows "a buffer too" 2 '"ab\x22c" (4)'
shows "a tuple has typed parts" 3 '"[\"users\", 2.0, true, 7n]"'
shows "an internal key has a database and a space" 4 '"database 5, space 1: [\"a\\u0000b\", bytes ff]"'
shows "a value is what it says" 5 '"{\"a\": [1, null, 1.5], \"b\": ext(0x42) 07}"'
shows "one that is broken says so" 6 '"no value (it is cut short): \"\\xda\\x01\""'
if grep -q '^\$7 = "2: 0x' "$scratch/said"; then echo "ok - a ring has its items"; else
    not_ok "a ring has its items"
fi
exit "$((failures > 0))"
