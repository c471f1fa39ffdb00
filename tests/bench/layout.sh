#!/bin/bash
# layout: layouts of the store side by side (bench_layout.c says which, and what is measured). Every round
# has all layouts in turn. Prints medians as Markdown; docs/benchmarks-store.md keeps them.
#
#   tests/bench/layout.sh entries value-bytes rounds load|once|fill layout[/page-bytes] ...
#
# load: every round makes its databases; once: only the first does; fill: likewise, in a faster way.
# Value-bytes 0 is a mixture. The lines that bench_layout prints are added to build/layout/figures. The
# databases lie in build/layout and are removed at the end. A-plain and A-mmap read the database of A, which
# must come before them.
set -euo pipefail
cd "$(dirname "$0")/../.."
entries=$1 value=$2 rounds=$3 making=$4
shift 4
case $making in
fill) make_step=fill writes="write big" ;;
load | once) make_step=load writes=write ;;
*) echo "layout: $making: must be load, once or fill" >&2; exit 1 ;;
esac
figures=build/layout/figures
make -s build/release/tests/bench/bench_layout
mkdir -p build/layout
dir=$(mktemp -d "$PWD/build/layout/data.XXXXXX")
trap 'rm -rf "$dir"' EXIT

# The size of pages is fixed in page_sum.h: a copy with another stands before it.
build() { # page-bytes
    local to=build/layout/$1
    mkdir -p "$to/backend/local"
    sed "s/^#define PAGE_BYTES 4096$/#define PAGE_BYTES $1/" src/backend/local/page_sum.h \
        >"$to/backend/local/page_sum.h"
    gcc -std=gnu11 -D_GNU_SOURCE "-I$to" -Isrc -Iinclude -Itests -O2 -g -Wall -o "$to/bench_layout" \
        tests/bench/bench_layout.c tests/bench/help.c src/backend/local/{vfs,page_sum}.c \
        src/backend/local/{sqlite_store,store_}*.c build/release/libserver.a \
        -lhiredis -lev -lsqlite3 -lxxhash -lutf8proc -lpthread -lm
}

bench() { # layout[/page-bytes] seed step ...
    local layout=${1%/*} page=${1#"${1%/*}"} seed=$2 program=build/release/tests/bench/bench_layout
    local file=$dir/$layout${page:+.${page#/}}.db
    case $layout in A-*) file=$dir/A.db ;; esac
    [ -z "$page" ] || program=build/layout$page/bench_layout
    shift 2
    [ "$1" != "$make_step" ] || rm -f "$file"*
    "$program" "$layout" "$file" "$entries" "$value" "$seed" "$@" | tee -a "$dir/figures"
}

for layout in "$@"; do
    [ "$layout" = "${layout#*/}" ] || build "${layout#*/}"
done
for round in $(seq "$rounds"); do
    for layout in "$@"; do
        case $layout in
        A-mmap) bench "$layout" "$round" read scan count ;; # what is mapped does not leave the page cache
        A-plain) bench "$layout" "$round" read disk scan count ;;
        *)
            if [ "$making" = load ] || [ "$round" = 1 ]; then
                bench "$layout" "$round" "$make_step" size
            fi
            # shellcheck disable=SC2086
            bench "$layout" "$round" $writes read disk scan count
            ;;
        esac
    done
done >&2
cat "$dir/figures" >>"$figures"
echo "$entries entries, values of $value bytes, $rounds rounds; median (lowest-highest)"
tests/bench/layout_table.sh "$dir/figures"
