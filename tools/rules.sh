#!/bin/sh
# The rules of this house that no compiler knows. Prints `file:line: rule` for each that is broken and
# ends with 1 then.    Usage: tools/rules.sh [root of the tree]
#
#   ranks    a folder of src/ includes only folders of lower rank, and its own (the table below)
#   private  "x/y_int.h" is included in x only; "backend/local/..." in src/backend/local, src/db and src/server
#            only; src/backend itself includes no file access (base/file.h); src/tool is a client: of src it
#            includes base, codec and foreign
#   calls    names that are banned, or at home in one folder (the table below says why)
#   sizes    a file 600 lines, a function 50 lines and 6 parameters, a line 100 columns
#   words    no typedef of structs, unions and enums, no type ..._t, no open work marks
#   papers   no text names SPEC, DESIGN or STYLE, which readers of the repository do not have
#
# Read are src/ and include/, for papers all texts. POSIX sh and awk only. It is no C parser: it takes
# out comments and strings, and relies on the layout that clang-format keeps (a function's braces in
# column 1).

cd "${1:-$(dirname "$0")/..}" || exit 2
LC_ALL=C
export LC_ALL

# rank folder (src/README.md says what each is)
RANKS='
0 base
1 codec
1 resp
2 filter
2 foreign
2 backend
2 script
3 net
3 engine
3 pubsub
4 tracking
4 watch
4 collection
4 queue
4 search
4 index
4 database
5 access
5 db
6 request
6 offline
7 command/access
7 command/admin
7 command/catalog
7 command/channel
7 command/connect
7 command/index
7 command/json
7 command/kv
7 command/observe
7 command/geo
7 command/hash
7 command/list
7 command/queue
7 command/set
7 command/sort
7 command/stream
7 command/zset
7 command/script
7 command/session
7 command/string
7 node
8 command
8 session
8 http
9 server
9 embedded
9 tool
'

# names (a * at the end: any rest) | where they are allowed (path prefixes, - = nowhere) | why not elsewhere
# A name without * counts when it is called, one with * wherever it stands.
CALLS='
strcpy strcat stpcpy wcscpy sprintf vsprintf gets | - | knows no bounds: struct buf, or snprintf
strncpy strncat | - | leaves text without an end: struct buf, or snprintf
atoi atol atoll atof | - | hides errors: slice_to_i64, slice_to_u64, or strtod with its end checked
strtok strtok_r | - | cuts up its input: walk a struct slice
alloca | - | a stack overflow is no error anyone can handle: struct arena
rand srand random srandom drand48 | - | hidden global state: base/random
system popen | - | starts a shell
setjmp longjmp | src/base/host.c | errors are returned; what is broken is left by host_try
sigsetjmp siglongjmp | - | errors are returned
localtime gmtime ctime asctime | - | result in a shared buffer: the _r forms
usleep nanosleep sleep | src/base/ | nobody waits by sleeping: timers of net, conditions of base
malloc calloc realloc reallocarray free strdup strndup aligned_alloc posix_memalign | src/base/ | allocation goes through base/mem and base/arena
lua_* luaL_* | src/script/ | one folder knows Lua: script/sandbox.h
PQ* | src/backend/postgres/pg.c src/backend/postgres/pg_connect.c | one connection knows libpq: backend/postgres/pg.h
sqlite3* | src/backend/local/ src/tool/from_deno.c | nothing above the store (src/backend/store.h) knows SQLite; files of Deno are of SQLite too
curl_* | src/tool/web.c | one place of the tool speaks HTTP to others; the server never does
pthread_* | src/base/ src/backend/ src/net/ src/command/script/ src/server/ src/embedded/ src/tool/ | threads are made where messages move between them
ev_* | src/net/ src/server/ | the loop belongs to net: callbacks and timers of net
open openat creat fopen freopen fdopen fdatasync fsync sync_file_range | src/base/ | file access goes through base/file, where faults are injected
preadv2 | src/base/ src/backend/local/ | only the VFS of the store asks what is in the page cache
pread preadv pwrite pwritev pwritev2 ftruncate truncate fallocate posix_fallocate | src/base/ | file access goes through base/file, where faults are injected
rename renameat unlink unlinkat remove mkdir rmdir link symlink flock opendir mkstemp mkdtemp | src/base/ | file access goes through base/file, where faults are injected
read readv write writev | src/base/ src/net/ | files: base/file; sockets: net
socket socketpair bind listen accept accept4 connect send sendto sendmsg recv recvfrom recvmsg | src/net/ src/tool/ | sockets live in net
SSL_* | src/net/ src/tool/ | TLS is made and ended in net
setsockopt getsockopt getsockname getpeername getaddrinfo shutdown | src/net/ src/tool/ | sockets live in net
'

# headers | where they are allowed | why not elsewhere
HEADERS='
libpq-fe.h postgresql/libpq-fe.h | src/backend/postgres/pg_int.h | one connection knows libpq: backend/postgres/pg.h
sqlite3.h | src/backend/local/ src/tool/from_deno.c | nothing above the store (src/backend/store.h) knows SQLite; files of Deno are of SQLite too
lua5.1/* | src/script/ | one folder knows Lua
curl/curl.h | src/tool/web.c | one place of the tool speaks HTTP to others; the server never does
ev.h | src/net/ src/server/ | the loop belongs to net
pthread.h | src/base/ src/backend/ src/net/ src/command/script/ src/server/ src/embedded/ src/tool/ | threads are made where messages move between them
openssl/ssl.h | src/net/ src/tool/ | TLS is made and ended in net
threads.h | - | threads are pthreads
sys/socket.h netinet/in.h netinet/tcp.h arpa/inet.h netdb.h sys/un.h | src/net/ src/tool/ | sockets live in net
'

for tool in awk find grep; do
    command -v $tool >/dev/null || { echo "rules: $tool is not installed" >&2; exit 2; }
done
files=$(find src include -type f \( -name '*.c' -o -name '*.h' \) 2>/dev/null | sort)
[ -n "$files" ] || { echo "rules: no files in src and include of $PWD" >&2; exit 2; }

papers_are_named() {
    find README.md Makefile src include tests redis-tests conf docs examples clients tools -type f \
        ! -path 'tests/fuzz/corpus/*' ! -path 'tools/rules*.sh' -exec awk '
        /(^|[^A-Za-z0-9_])(SPEC|DESIGN|STYLE)([^A-Za-z0-9_]|$)/ {
            print FILENAME ":" FNR ": names a paper that readers do not have: say it, or name a file they have"
        }' {} + 2>/dev/null | sort | grep .
}

verdict=0
# shellcheck disable=SC2086
RANKS="$RANKS" CALLS="$CALLS" HEADERS="$HEADERS" awk '
function broken(line, what) {
    printf "%s:%d: %s\n", FILENAME, line, what
    count++
}

# Read "names | places | why" into the maps where[] and why[].
function read_table(text, where, why,    rows, n, i, col, names, m, j) {
    n = split(text, rows, "\n")
    for (i = 1; i <= n; i++) {
        if (split(rows[i], col, " [|] ") != 3) continue
        m = split(col[1], names, " ")
        for (j = 1; j <= m; j++) {
            where[names[j]] = col[2]
            why[names[j]] = col[3]
        }
    }
}

function is_allowed(places,    list, n, i) {
    n = split(places, list, " ")
    for (i = 1; i <= n; i++) if (index(FILENAME, list[i]) == 1) return 1
    return 0
}

# The line without comments, and with empty strings. is_comment carries a /* to the next lines.
function code_of(text,    out, i, n, c, two, quote) {
    out = ""
    n = length(text)
    for (i = 1; i <= n; i++) {
        c = substr(text, i, 1)
        two = substr(text, i, 2)
        if (is_comment) {
            if (two == "*/") { is_comment = 0; i++ }
        } else if (quote != "") {
            if (c == "\\") i++
            else if (c == quote) { out = out c; quote = "" }
        } else if (two == "/*") {
            is_comment = 1
            out = out " "
            i++
        } else if (two == "//") {
            break
        } else {
            if (c == "\"" || c == "\047") quote = c
            out = out c
        }
    }
    return out
}

# The families of commands are folders of their own: none includes another.
function folder_of(path,    part, n) {
    n = split(path, part, "/")
    return part[1] == "command" && n > 2 ? part[1] "/" part[2] : part[1]
}

function check_include(text,    path, folder, own) {
    sub(/^[ \t]*#[ \t]*include[ \t]*/, "", text)
    path = substr(text, 2)
    sub(/[">].*/, "", path)
    if ((path in header_where) && !is_allowed(header_where[path]))
        broken(FNR, "<" path "> is not for this folder: " header_why[path])
    if (substr(text, 1, 1) != "\"" || path == "tupled.h" || path == "tupled_db.h") return
    if (index(path, "/") == 0) {
        broken(FNR, "\"" path "\" is included without its folder")
        return
    }
    folder = folder_of(path)
    if (!(folder in rank)) {
        broken(FNR, "\"" path "\": folder " folder " has no rank")
        return
    }
    if (index(FILENAME, "src/") != 1) {
        broken(FNR, "\"" path "\": a public header includes nothing of src")
        return
    }
    own = folder_of(substr(FILENAME, 5))
    if (own in rank && folder != own && rank[folder] >= rank[own])
        broken(FNR, own " (rank " rank[own] ") may not include " folder " (rank " rank[folder] ")")
    if (own == "tool" && folder !~ /^(tool|base|codec|foreign|offline)$/)
        broken(FNR, "\"" path "\": a client knows of the server what goes over a connection; base, codec and foreign (the values of other systems, which import reads) are for both, offline needs no server")
    if (path ~ /_int\.h$/ && folder != own) broken(FNR, "\"" path "\" is private to " folder)
    if (path ~ /^backend\/local\// && FILENAME !~ /^src\/(backend\/local|db|server|offline)\//)
        broken(FNR, "\"" path "\": only backend/local, db, server and offline know what is on this machine")
    if (path == "base/file.h" && FILENAME ~ /^src\/backend\/[^\/]*$/)
        broken(FNR, "\"" path "\": the pipeline knows no files: journal.h and store.h are below it")
}

# Names in a line of code: those followed by "(" are calls, unless they are members.
function check_names(code,    before, name, rest, prefix) {
    rest = code
    before = ""
    while (match(rest, /[A-Za-z_][A-Za-z0-9_]*/)) {
        before = before substr(rest, 1, RSTART - 1)
        name = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
        if (before !~ /[0-9.]$|->$/) {
            if ((name in call_where) && rest ~ /^[ \t]*\(/ && !is_allowed(call_where[name]))
                broken(FNR, name "() is not allowed here: " call_why[name])
            for (prefix in prefix_where)
                if (index(name, prefix) == 1 && !is_allowed(prefix_where[prefix]))
                    broken(FNR, name " is not allowed here: " prefix_why[prefix])
        }
        before = name
    }
}

# Parameters of a function head: commas at depth 1 of its first brackets that are no attribute.
function parameters(head,    i, c, depth, commas, start) {
    while (match(head, /__attribute__[ \t]*\(\(/)) {
        start = RSTART
        depth = 0
        for (i = RSTART + RLENGTH - 2; i <= length(head); i++) {
            c = substr(head, i, 1)
            if (c == "(") depth++
            if (c == ")" && --depth == 0) break
        }
        head = substr(head, 1, start - 1) substr(head, i + 1)
    }
    i = index(head, "(")
    if (i == 0) return 0
    depth = 0
    commas = 0
    for (; i <= length(head); i++) {
        c = substr(head, i, 1)
        if (c == "(") depth++
        if (c == "," && depth == 1) commas++
        if (c == ")" && --depth == 0) break
    }
    return commas + 1
}

# Follows the top level of a file: head = what was read since the last thing ended.
function check_function(code,    n) {
    if (body_start > 0) {
        if (code !~ /^}/) return
        if (FNR - head_start + 1 > 50)
            broken(head_start, "function of " (FNR - head_start + 1) " lines, at most 50")
        body_start = 0
        head = ""
        return
    }
    if (code ~ /^[{]/ && head ~ /\)[ \t]*$/) {
        n = parameters(head)
        # A callback has the parameters that its library gives it.
        if (n > 6 && head !~ /\(nghttp2_session \*/) broken(head_start, "function of " n " parameters, at most 6")
        body_start = FNR
        return
    }
    if (code ~ /^[ \t]*$/ || code ~ /^[ \t]*#/ || is_directive) {
        if (head ~ /^[ \t]*$/) head = ""
        return
    }
    if (head == "") head_start = FNR
    head = head " " code
    if (code ~ /[;}][ \t]*$/ && code !~ /^[ \t]/) head = ""
    else if (code ~ /;[ \t]*$/ && head !~ /[{]/) head = ""
    else if (code ~ /\);[ \t]*$/ && head ~ /^ ?[A-Z_]+\(/) head = "" # a macro that defines something
}

function check_typedef(code) {
    if (code ~ /(^|[^A-Za-z0-9_])typedef([^A-Za-z0-9_]|$)/) {
        type = ""
        is_typedef = 1
    }
    if (!is_typedef) return
    type = type " " code
    if (type ~ /typedef[ \t]+(const[ \t]+)?(struct|union|enum)([^A-Za-z0-9_]|$)/) {
        broken(FNR, "typedef of a struct, union or enum: use its tag")
        is_typedef = 0
    } else if (type ~ /;/) {
        if (type ~ /_t[ \t]*(\[[^\]]*\])?[ \t]*;/ || type ~ /\([ \t]*\*[ \t]*[A-Za-z0-9_]*_t[ \t]*\)/)
            broken(FNR, "type name ends in _t: those belong to the C library")
        is_typedef = 0
    }
}

function file_end() {
    if (last_line > 600) printf "%s:%d: file of %d lines, at most 600\n", last_file, last_line, last_line
    if (last_line > 600) count++
}

BEGIN {
    n = split(ENVIRON["RANKS"], rows, "\n")
    for (i = 1; i <= n; i++) if (split(rows[i], col, " ") == 2) rank[col[2]] = col[1] + 0
    read_table(ENVIRON["CALLS"], call_where, call_why)
    read_table(ENVIRON["HEADERS"], header_where, header_why)
    for (name in call_where) {
        if (name !~ /[*]$/) continue
        prefix = substr(name, 1, length(name) - 1)
        prefix_where[prefix] = call_where[name]
        prefix_why[prefix] = call_why[name]
    }
}

FNR == 1 {
    file_end()
    last_file = FILENAME
    is_comment = is_typedef = is_directive = body_start = 0
    head = ""
    if (index(FILENAME, "src/") == 1 && !(folder_of(substr(FILENAME, 5)) in rank))
        broken(1, "folder " folder_of(substr(FILENAME, 5)) " has no rank in tools/rules.sh")
}

{
    last_line = FNR
    columns = $0
    gsub(/[\200-\277]/, "", columns)
    if (length(columns) > 100) broken(FNR, "line of " length(columns) " columns, at most 100")
    if ($0 ~ /(^|[^A-Za-z0-9_])(TODO|FIXME|XXX)([^A-Za-z0-9_]|$)/)
        broken(FNR, "open work mark: do it, or write it down elsewhere")
    was_comment = is_comment
    code = code_of($0)
    if (!was_comment && $0 ~ /^[ \t]*#[ \t]*include/) check_include($0)
    else check_names(code)
    if (code ~ /^[ \t]*#/) is_directive = 1
    check_function(code)
    check_typedef(code)
    if (code !~ /\\$/) is_directive = 0
}

END {
    file_end()
    exit count > 0
}
' $files || verdict=$?
if papers_are_named && [ $verdict = 0 ]; then verdict=1; fi
exit $verdict
