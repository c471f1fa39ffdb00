#!/bin/sh
# Does tools/rules.sh see each broken rule, and only those? Small bad trees in a scratch directory.
# Prints `ok - name` and `not ok - name`, as tests/run.sh wants it.

rules=$(cd "$(dirname "$0")" && pwd)/rules.sh
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
failed=0

# tree <path>: an empty tree with one file, its text from standard input.
tree() {
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree/include" "$scratch/tree/$(dirname "$1")"
    cat >"$scratch/tree/$1"
}

verdict() {
    if [ "$1" = 0 ]; then
        echo "ok - $2"
    else
        echo "not ok - $2"
        sed 's/^/# /' "$scratch/out"
        failed=1
    fi
}

# breaks <name> <path:line> <part of the message>: exactly this one complaint, and exit status 1.
breaks() {
    "$rules" "$scratch/tree" >"$scratch/out" 2>&1
    status=$?
    [ $status = 1 ] && [ "$(wc -l <"$scratch/out")" = 1 ] && grep -qF "$2: " "$scratch/out" &&
        grep -qF "$3" "$scratch/out"
    verdict $? "$1"
}

# holds <name>: no complaint.
holds() {
    "$rules" "$scratch/tree" >"$scratch/out" 2>&1 && [ ! -s "$scratch/out" ]
    verdict $? "$1"
}

# call <name> <path> <text>: the text inside a function of the file is a banned call, in line 3.
call() {
    tree "$2" <<END
static void f(void)
{
    $3
}
END
    breaks "$1" "$2:3" "is not allowed here"
}

# call_holds <name> <path> <text>: likewise, and allowed.
call_holds() {
    tree "$2" <<END
static void f(void)
{
    $3
}
END
    holds "$1"
}

# ---- ranks ----

echo '#include "engine/x.h"' | tree src/base/a.c
breaks "a lower rank does not include a higher one" src/base/a.c:1 "base (rank 0) may not include engine (rank 3)"
echo '#include "resp/x.h"' | tree src/codec/a.h
breaks "folders of one rank do not include one another" src/codec/a.h:1 "may not include resp"
echo '#include "queue/x.h"' | tree src/watch/a.c
breaks "features do not include one another" src/watch/a.c:1 "may not include queue"
printf '#include "request/x.h"\n#include "base/y.h"\n#include "session/own.h"\n#include <stdio.h>\n' | tree src/session/a.c
holds "a higher rank includes lower ones and itself"
echo '  #  include "session/x.h"' | tree src/request/a.c
breaks "blanks do not hide an include" src/request/a.c:1 "may not include session"
echo '#include "command/kv/x.h"' | tree src/command/queue/a.c
breaks "a family of commands includes no other" src/command/queue/a.c:1 "may not include command/kv"
printf '#include "command/kv/x_int.h"\n#include "request/y.h"\n' | tree src/command/kv/a.c
holds "a family includes its own and what runs commands"
echo '/* #include "net/x.h" */' | tree src/request/a.c
holds "a comment includes nothing"
echo '#include "x.h"' | tree src/base/a.c
breaks "an include names its folder" src/base/a.c:1 "without its folder"
echo '#include "tupled.h"' | tree src/codec/a.c
holds "the public header may be included everywhere"
echo '#include "base/buf.h"' | tree include/tupled.h
breaks "the public header includes nothing of src" include/tupled.h:1 "includes nothing of src"
echo '#include "nowhere/x.h"' | tree src/server/a.c
breaks "an unknown folder has no rank" src/server/a.c:1 "has no rank"
echo 'int x;' | tree src/extra/a.c
breaks "a new folder needs a rank" src/extra/a.c:1 "has no rank"
echo '#include "backend/local/x.h"' | tree src/engine/a.c
breaks "the engine does not know the local backend" src/engine/a.c:1 "only backend/local, db, server and offline"
echo '#include "backend/local/x.h"' | tree src/backend/a.c
breaks "the pipeline does not know what is on this machine" src/backend/a.c:1 "only backend/local, db, server and offline"
echo '#include "base/file.h"' | tree src/backend/a.c
breaks "the pipeline knows no files" src/backend/a.c:1 "knows no files"
echo '#include "base/file.h"' | tree src/backend/local/a.c
holds "what is on this machine has files"
echo '#include <sqlite3.h>' | tree src/backend/a.c
breaks "sqlite3.h stays below the store" src/backend/a.c:1 "<sqlite3.h>"
echo '#include "backend/local/x.h"' | tree src/server/a.c
holds "the server knows the local backend"
echo '#include "backend/local/x.h"' | tree src/backend/local/a.c
holds "the local backend includes itself"
echo '#include "engine/x_int.h"' | tree src/queue/a.c
breaks "a private header stays in its folder" src/queue/a.c:1 "private"
echo '#include <sqlite3.h>' | tree src/engine/a.c
breaks "sqlite3.h stays in the backend" src/engine/a.c:1 "<sqlite3.h>"
echo '#include <sqlite3.h>' | tree src/backend/local/a.c
holds "the store of this machine includes sqlite3.h"
echo '#include <sys/socket.h>' | tree src/command/a.c
breaks "socket headers stay in net" src/command/a.c:1 "<sys/socket.h>"
echo '#include <ev.h>' | tree src/queue/a.c
breaks "ev.h stays in net" src/queue/a.c:1 "<ev.h>"
echo '#include <pthread.h>' | tree src/queue/a.c
breaks "pthread.h stays where threads are made" src/queue/a.c:1 "<pthread.h>"

tree src/tool/a.c <<'EOF'
#include "request/command.h"
EOF
breaks "the tool includes nothing of the server" src/tool/a.c:1 "a client knows of the server"

tree src/tool/a.c <<'EOF'
#include "base/buf.h"
#include "codec/key.h"
#include "foreign/deno.h"
#include "tool/tool.h"
EOF
holds "but base, codec and foreign"

# ---- calls ----

for name in strcpy strcat sprintf gets atoi atol strtok alloca; do
    call "$name is banned everywhere" src/base/a.c "$name(x);"
done
for name in malloc calloc realloc free; do
    call "$name is for base" src/engine/a.c "x = $name (x);"
    call_holds "base may call $name" src/base/a.c "x = $name(x);"
done
for name in open write fsync rename unlink; do
    call "$name is for base" src/engine/a.c "$name(x);"
    call_holds "base may call $name" src/base/a.c "$name(x);"
done
for name in socket bind listen accept4 connect recv send setsockopt; do
    call "$name is for net" src/command/a.c "$name(x);"
    call_holds "net may call $name" src/net/a.c "$name(x);"
done
call "sqlite3_* is for the backend" src/engine/a.c "return sqlite3_step(x);"
call "sqlite3 types are for the backend" src/search/a.c "sqlite3 *db = x;"
call_holds "the backend may call sqlite3_*" src/backend/local/a.c "sqlite3_step(x);"
call "pthread_* is for base, backend, net, server" src/queue/a.c "pthread_create(x);"
call "pthread types are not for features" src/queue/a.c "pthread_t x;"
call_holds "the backend may call pthread_*" src/backend/local/a.c "pthread_create(x);"
call "a call after a call is seen" src/engine/a.c "x(y, atoi(z));"
call "a call after a string is seen" src/engine/a.c "x(\"a\\\\\", '\"', atoi(z));"
call "a call after a comment is seen" src/engine/a.c "/* x */ atoi(z);"
call_holds "a member is no call" src/engine/a.c "ops->write(x); ops.open(x);"
call_holds "a longer name is another name" src/engine/a.c "file_write(x); my_free(x); freed(x);"
call_holds "a name without brackets is no call" src/engine/a.c "int open = 1; x.free = open;"
call_holds "strings call nothing" src/engine/a.c "x(\"use malloc(3), \\\"free()\\\"\");"
call_holds "comments call nothing" src/engine/a.c "/* malloc(x) */ x(); // free(x)"
printf '/* one\n malloc(x)\n two */\nint x;\n' | tree src/engine/a.c
holds "comments of several lines call nothing"

# ---- sizes ----

awk 'BEGIN { for (i = 0; i < 601; i++) print "int a" i ";" }' | tree src/base/a.c
breaks "a file has at most 600 lines" src/base/a.c:601 "file of 601 lines"
awk 'BEGIN { for (i = 0; i < 600; i++) print "int a" i ";" }' | tree src/base/a.c
holds "a file may have 600 lines"
awk 'BEGIN { print "int f(void)\n{"; for (i = 0; i < 48; i++) print "    a();"; print "}" }' | tree src/base/a.c
breaks "a function has at most 50 lines" src/base/a.c:1 "function of 51 lines"
awk 'BEGIN { print "int f(void)\n{"; for (i = 0; i < 47; i++) print "    a();"; print "}"
    print "int g(void)\n{"; for (i = 0; i < 47; i++) print "    a();"; print "}" }' | tree src/base/a.c
holds "functions may have 50 lines each"
awk 'BEGIN { print "static const int x[] = {"; for (i = 0; i < 100; i++) print "    1,"; print "};" }' | tree src/base/a.c
holds "a long table is no function"
printf 'int f(int a, int b, int c,\n      int d, int e, int g, int h)\n{\n}\n' | tree src/base/a.c
breaks "a function has at most 6 parameters" src/base/a.c:1 "function of 7 parameters"
printf 'int f(int a, int b, int c,\n      int (*d)(int, int, int), int e, int g)\n{\n}\n' | tree src/base/a.c
holds "parameters of a callback are its own"
printf 'static __attribute__((format(printf, 1, 2))) int f(int a, int b, int c, int d, int e)\n{\n}\n' | tree src/base/a.c
holds "an attribute is no parameter"
awk 'BEGIN { printf "int a"; for (i = 0; i < 95; i++) printf "a"; print ";" }' | tree src/base/a.c
breaks "a line has at most 100 columns" src/base/a.c:1 "line of 101 columns"
awk 'BEGIN { printf "/* "; for (i = 0; i < 94; i++) printf "\303\244"; print " */" }' | tree src/base/a.c
holds "columns are characters, not bytes"

# ---- words ----

echo 'typedef struct x { int y; } x;' | tree src/base/a.h
breaks "no typedef of a struct" src/base/a.h:1 "typedef of a struct"
printf 'typedef\nenum x { Y } x;\n' | tree src/base/a.h
breaks "no typedef of an enum over two lines" src/base/a.h:2 "typedef of a struct"
echo 'typedef int size_ms_t;' | tree src/base/a.h
breaks "no type ends in _t" src/base/a.h:1 "ends in _t"
echo 'typedef int (*call_t)(int a);' | tree src/base/a.h
breaks "no function type ends in _t" src/base/a.h:1 "ends in _t"
echo 'typedef int call_fn(int a, uint64_t b);' | tree src/base/a.h
holds "a typedef of a function is fine"
for mark in TODO FIXME XXX; do
    echo "/* $mark: later */" | tree src/base/a.c
    breaks "no $mark is left" src/base/a.c:1 "open work mark"
done
echo 'static const char name[] = "/tmp/x.XXXXXX";' | tree src/base/a.c
holds "a template of mkstemp is no mark"

# ---- papers ----

for paper in SPEC DESIGN STYLE; do
    echo "/* as in $paper 3. */" | tree src/base/a.c
    breaks "no comment names $paper" src/base/a.c:1 "names a paper"
done
for path in docs/a.md conf/a.conf include/a.h tests/a.c redis-tests/a.sh examples/a/b.py tools/a.sh; do
    printf 'one\ntwo (DESIGN)\n' | tree "$path"
    mkdir -p "$scratch/tree/src/base" && echo 'int x;' >"$scratch/tree/src/base/a.c"
    breaks "no paper is named in $path" "$path:2" "names a paper"
done
echo 'enum x { KEY_SPECS_MAX, SPEC_BYTES, MY_DESIGN }; /* a spec, its design and style */' | tree src/base/a.c
holds "names and words that are alike are no papers"
printf '/* STYLE */\ntypedef int x_t;\n' | tree src/base/a.c
"$rules" "$scratch/tree" >"$scratch/out" 2>&1
[ $? = 1 ] && [ "$(wc -l <"$scratch/out")" = 2 ]
verdict $? "papers and other rules are told together"

# ---- and ----

rm -rf "$scratch/tree" && mkdir "$scratch/tree"
"$rules" "$scratch/tree" >"$scratch/out" 2>&1
[ $? = 2 ]
verdict $? "a tree without files is an error, not a success"
exit $failed
