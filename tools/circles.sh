#!/bin/bash
# Lists the circles among the files of src: sets of files each of which needs all others, seen from what
# the linker sees (functions and variables of one object that another uses). Needs what `make` has built.
#   Usage: tools/circles.sh [-v] [-n N]     -v: why, too; ends with 1 when a circle has more than N files
#                                           (default 3)

cd "$(dirname "$0")/.." || exit 2
max=3 verbose=0
while getopts n:v option; do
    case $option in
    n) max=$OPTARG ;;
    v) verbose=1 ;;
    *) exit 2 ;;
    esac
done
cannot() {
    echo "circles: $1" >&2
    exit 2
}
for tool in git nm awk; do command -v $tool >/dev/null || cannot "$tool is not installed"; done
objects=build/check/obj
[ -d "$objects" ] || objects=build/asan/obj
sources=$(git ls-files 'src/*.c')
[ -n "$sources" ] || cannot "no files are found in src, as git sees it"
list=$(for source in $sources; do echo "$objects/${source%.c}.o"; done)
for object in $list; do [ -s "$object" ] || cannot "$object is not there: \`make build/asan/tupled build/asan/tupledctl\` builds it"; done
symbols=$(mktemp) || exit 2
trap 'rm -f "$symbols"' EXIT
# shellcheck disable=SC2086 # they have no blanks
nm -A -P $list >"$symbols" || cannot "nm cannot read the objects"
awk -v max="$max" -v verbose="$verbose" -v root="$objects/" '
{
    file = $1
    sub(/:$/, "", file)
    sub(/\[.*/, "", file)
    sub(root, "", file)
    sub(/\.o$/, ".c", file)
    if ($3 ~ /[TDBRVW]/) home[$2] = file
    # The tables through which commands and routes are found: what they hold is called by pointers.
    if ($2 ~ /^(command_table|feature_table|route_tables|route_command|rest_routes)$/) next
    if ($3 == "U") { n++; user[n] = file; used[n] = $2 }
    files[file] = 1
}
# All that can be reached from `at`, along the arrows or (back) against them.
function reach(at, seen, back,    stack, top, i, count, list) {
    stack[top = 1] = at
    while (top > 0) {
        at = stack[top--]
        count = split(back ? into[at] : out[at], list, " ")
        for (i = 1; i <= count; i++) {
            if (list[i] in seen) continue
            seen[list[i]] = 1
            stack[++top] = list[i]
        }
    }
}
END {
    if (n == 0) { print "circles: the objects use nothing: nothing could be looked at" >"/dev/stderr"; exit 2 }
    for (i = 1; i <= n; i++) {
        to = home[used[i]]
        if (to == "" || to == user[i]) continue
        arrow[user[i], to] = arrow[user[i], to] " " used[i]
        if (arrow[user[i], to] != " " used[i]) continue
        out[user[i]] = out[user[i]] " " to
        into[to] = into[to] " " user[i]
    }
    for (f in files) {
        if (f in done) continue
        delete forth
        delete back
        reach(f, forth, 0)
        reach(f, back, 1)
        size = 0
        names = ""
        for (g in forth) if (g in back) {
            size++
            names = names "\n    " g
            done[g] = 1
            for (h in forth) if (verbose && h in back && (g, h) in arrow) {
                names = names "\n        " h ":" arrow[g, h]
            }
        }
        if (size < 2) continue
        circles++
        print size " files:" names
        if (size > max) bad++
    }
    print circles + 0 " circles, " bad + 0 " of more than " max " files"
    exit bad > 0
}' "$symbols"
