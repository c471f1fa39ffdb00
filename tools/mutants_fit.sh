#!/bin/sh
# Looks whether the planted bugs of tests/mutants/*.txt still fit the source: each file is there, its
# `old` line is in it exactly once, no two bugs have one name, and each says what should catch it. Prints
# `file:line: what is wrong` and ends with 1 then.    Usage: tools/mutants_fit.sh [root of the tree]
# tests/mutants.sh plants them; that takes hours, this a second.

cd "${1:-$(dirname "$0")/..}" || exit 2
LC_ALL=C
export LC_ALL

cannot() {
    echo "mutants_fit: $1"
    exit 2
}
command -v awk >/dev/null || cannot "awk is not installed"
for list in tests/mutants/*.txt; do [ -s "$list" ] || cannot "no planted bugs found"; done
tests=$(
    ls tests/unit/*/test_*.c tests/unit/*/*/test_*.c | sed 's/^/unit /'
    ls tests/sim/*.c | sed 's/^/sim /'
    ls redis-tests/test_*.c redis-tests/test_*.sh | sed 's/^/redis /'
)
[ -n "$tests" ] || cannot "no tests found"
TESTS=$tests awk '
function wrong(what) {
    printf "%s:%d: %s: %s\n", FILENAME, FNR, name, what
    count++
}

# The text of a file, read once.
function text_of(path,    line, text) {
    if (path in texts) return texts[path]
    text = ""
    while ((getline line < path) > 0) text = text line "\n"
    close(path)
    return texts[path] = text
}

function end_of_one() {
    if (name != "" && !has_test) wrong("no test is named that should catch it")
}

BEGIN { test_count = split(ENVIRON["TESTS"], tests, "\n") }
FNR == 1 { end_of_one(); name = "" }
/^mutant / {
    end_of_one()
    name = substr($0, 8)
    path = ""
    has_test = 0
    if (name in seen) wrong("a second one of that name, the first is in " seen[name])
    seen[name] = FILENAME
    mutants++
}
/^file / { path = substr($0, 6) }
/^old / {
    old = substr($0, 5)
    text = text_of(path)
    at = index(text, old)
    if (text == "") wrong("there is no file " path)
    else if (at == 0) wrong("its line is not in " path)
    else if (index(substr(text, at + length(old)), old) > 0) wrong("its line is more than once in " path)
}
/^test / {
    has_test = 1
    found = 0
    for (i = 1; i <= test_count && !found; i++) {
        # The same tests, on PostgreSQL or on a store that answers late.
        kind = $2 == "postgres" || $2 == "late" ? "redis" : $2
        found = index(tests[i], kind " ") == 1 && index(tests[i], $3) > 0
    }
    if (!found) wrong("no such test: " substr($0, 6))
}
END {
    end_of_one()
    if (mutants == 0) { print "mutants_fit: no planted bugs found"; exit 2 }
    exit count > 0
}' tests/mutants/*.txt
