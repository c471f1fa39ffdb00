#!/bin/bash
# build/libtupled.a and build/libtupled.so.0 as other programs get them: nothing is visible but what the
# headers declare, the headers are C and C++, the examples do what they say, and a program that was linked
# with the shared library runs.
. "$(dirname "$0")/server.sh"

declared() { sed 's://.*::' include/tupled.h include/tupled_db.h | tr '\n' ' ' \
    | grep -oE '\btupled_[a-z0-9_]+\(' | tr -d '(' | sort -u \
    | grep -vxE 'tupled_(text|options_init|on_.*)'; } # inline, a macro, types
visible() { nm "$@" | awk 'NF == 3 && $2 ~ /[A-Z]/ && $2 != "U" { print $3 }' | sed 's/@.*//' | sort -u; }

same "the static library shows what the headers declare" "$(declared)" "$(visible -g build/libtupled.a)"
same "the shared library shows what the headers declare" "$(declared)" \
    "$(visible -D --defined-only build/libtupled.so.0 | grep -vx TUPLED_0)"
same "no name but tupled_ is visible" "" "$(visible -g build/libtupled.a | grep -v '^tupled_')"
same "a program for hiredis links the keys alone" "libkeys.o" \
    "$(nm -A build/libtupled.a 2>/dev/null | awk '/ T tupled_key_init$/ { split($1, p, ":"); print p[2] }')"

printf '#include "tupled_db.h"\n#include "tupled.h"\nint main(void) { return tupled_text("").len != 0; }\n' >"$scratch/x.c"
check "the headers are plain C" gcc -std=c99 -pedantic -Wall -Wextra -Werror -Iinclude -fsyntax-only "$scratch/x.c"
if command -v g++ >/dev/null; then
    check "the headers are C++" g++ -x c++ -std=c++11 -Wall -Wextra -Werror -Iinclude -fsyntax-only "$scratch/x.c"
else
    skip "the headers are C++" "no g++ here"
fi

same "key_value takes a name once" "ada: added
grace: added
ada: the name is taken
[\"users\",1] = {\"name\":\"ada\"}
[\"users\",2] = {\"name\":\"grace\"}
count: 2" "$(timeout 60 build/examples/embedded/key_value "$scratch/kv" 2>&1)"
same "job_queue does every job" "20 squares, the last is 400" \
    "$(timeout 60 build/examples/embedded/job_queue "$scratch/jobs" 2>&1)"
same "structured packs and unpacks with msgpack-c" '{"sensor"=>"roof", "celsius"=>21.500000, "raw"=>"\x00\x01\x01"}
{"sensor"=>"cellar", "celsius"=>-3.250000, "raw"=>"\x00\x01\x02"}' \
    "$(timeout 60 build/examples/embedded/structured "$scratch/readings" 2>&1)"
same "watch is told of every write" "3 written, 3 told" \
    "$(timeout 60 build/examples/embedded/watch "$scratch/watch" 2>&1 | tail -1)"

# As an installed library is used: through its pkg-config file.
prefix=$scratch/usr
mkdir -p "$prefix/lib" "$prefix/include"
cp build/libtupled.so.0 "$prefix/lib/" && ln -s libtupled.so.0 "$prefix/lib/libtupled.so"
cp include/tupled_db.h "$prefix/include/"
flags=$(sed "s|@PREFIX@|$prefix|; s|@LIBDIR@|$prefix/lib|" build/libtupled.pc | awk -F': ' '/^(Libs|Cflags):/ { print $2 }' \
    | sed "s|\${libdir}|$prefix/lib|; s|\${includedir}|$prefix/include|" | tr '\n' ' ')
# shellcheck disable=SC2086
check "a program links with the shared library" gcc -o "$scratch/shared" examples/embedded/key_value.c $flags
same "and runs with it" "count: 2" \
    "$(LD_LIBRARY_PATH=$prefix/lib timeout 60 "$scratch/shared" "$scratch/shared-data" 2>&1 | tail -1)"

# The static library, as docs/embedded.md says, where both are installed.
cp build/libtupled.a "$prefix/lib/"
mkdir -p "$prefix/lib/pkgconfig"
sed "s|@PREFIX@|$prefix|; s|@LIBDIR@|$prefix/lib|" build/libtupled.pc >"$prefix/lib/pkgconfig/libtupled.pc"
line=$(sed -n 's|^    \(cc program.c .*libtupled\.a.*\)|\1|p' docs/embedded.md)
check "docs/embedded.md says how it is linked" test -n "$line"
if command -v pkg-config >/dev/null; then
    cp examples/embedded/key_value.c "$scratch/program.c"
    check "a program links with the static library" env -C "$scratch" PKG_CONFIG_PATH="$prefix/lib/pkgconfig" bash -c "$line"
    same "and needs no shared one" "" "$(ldd "$scratch/a.out" | grep -o 'libtupled[^ ]*')"
    check "which ldd would tell" grep -q 'libtupled\.so\.0' <(ldd "$scratch/shared")
    same "and runs" "count: 2" "$(timeout 60 "$scratch/a.out" "$scratch/static-data" 2>&1 | tail -1)"
else
    skip "a program links with the static library" "pkg-config is not installed"
fi

# A directory of the library is one of the server.
start_server --dir "$scratch/kv"
same "the server goes on with what a program wrote" '{"name":"grace"}' \
    "$(redis-cli -p "$port" KV.GET '["users",2]')"
same "a program is refused the directory of a server" "1" \
    "$(timeout 60 build/examples/embedded/key_value "$scratch/kv" 2>&1 | grep -c 'is locked')"
stop_server
finish
