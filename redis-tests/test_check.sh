#!/bin/bash
# tupledctl check (docs/tupledctl.md): what a server left is good, also after kill -9; one damage at a time,
# planted in a copy, is found and named; nothing is changed by looking.
. "$(dirname "$0")/server.sh"

tool=$PWD/build/asan/tupledctl
cli() {
    timeout 60 redis-cli -p "$port" "$@"
}
# look <dir> [word...]: its exit status in $status, its output in $scratch/out
look() {
    timeout 120 "$tool" check "$@" </dev/null >"$scratch/out" 2>"$scratch/err"
    status=$?
}
# good <name> <dir>
good() {
    look "$2"
    same "$1" "0 damaged 0" "$status $(grep -E '^damaged ' "$scratch/out" | tr -s ' ')"
    [ "$status" -eq 0 ] || cat "$scratch/out" "$scratch/err"
}
# flip <file> <offset>: one bit of a byte
flip() {
    local byte
    byte=$(od -An -tu1 -j "$2" -N 1 "$1")
    printf '%b' "\\x$(printf %02x $((byte ^ 4)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
# A fresh copy of $good is $copy.
fresh() {
    rm -rf "$copy"
    cp -a "$good" "$copy"
}
# named <name> <pattern>: check says "damage", with the pattern, and ends with 1
named() {
    look "$copy"
    if [ "$status" -eq 1 ] && grep -E '^damage ' "$scratch/out" | grep -qE -- "$2"; then
        echo "ok - $1: $(grep -E '^damage ' "$scratch/out" | grep -E -m 1 -- "$2")"
    else
        not_ok "$1"
        printf '  status %s, no damage like: %s\n' "$status" "$2"
        head -n 20 "$scratch/out" "$scratch/err" | sed 's/^/  /'
    fi
}
state_of() {
    (cd "$1" && for f in *; do [ -f "$f" ] && stat -c '%n %s %Y' "$f" && sha256sum "$f"; done)
}
big=$(head -c 900000 /dev/zero | tr '\0' v)

# ---- words ----
look
same "no words" 2 "$status"
mkdir "$scratch/empty"
look "$scratch/empty"
same "an empty directory" 2 "$status"
check "... is told" grep -qF "is neither a data directory" "$scratch/err"
look "$scratch/none"
same "a directory that is not there" 3 "$status"

# ---- a server's directory ----
start_server --journal-segment-size 4mb --changes-retention-size 64mb --memtable-size 1mb \
    --archive-dir "$scratch/archive" --archive-interval 1
cli KV.INDEX CREATE by PREFIX '["u"]' ON 1 n >/dev/null
cli KV.INDEX CREATE words PREFIX '["u"]' TEXT 1 t >/dev/null
for ((i = 0; i < 400; i++)); do
    echo "KV.SET '[\"u\",$i]' '{\"n\":$i,\"t\":\"some-text-$i\"}' EX 3600"
    echo "KV.ENQUEUE jobs '{\"n\":$i}'"
done | cli >/dev/null
for ((i = 0; i < 12; i++)); do
    printf '"%s"' "$big" | cli -x KV.SET "[\"big\",$i]" >/dev/null
done
same "the big values are there" 12 "$(cli KV.COUNT PREFIX '["big"]')"
same "the small ones too" 400 "$(cli KV.COUNT PREFIX '["u"]')"
look "$scratch/data"
same "a server has it open" 3 "$status"
check "... is told" grep -qF "a server has" "$scratch/err"
kill -KILL "$server"
wait "$server" 2>/dev/null
server=''
before=$(state_of "$scratch/data")
good "good after kill -9" "$scratch/data"
same "... and nothing is changed" "$before" "$(state_of "$scratch/data")"
start_server --journal-segment-size 4mb --changes-retention-size 64mb --memtable-size 1mb \
    --archive-dir "$scratch/archive" --archive-interval 1
cli KV.ARCHIVE BASE >/dev/null
for ((i = 0; i < 1000; i++)); do
    [ "$(find "$scratch/archive" -name '*.db' | wc -l)" -gt 0 ] && break
    sleep 0.02
done
cli KV.SET '["last"]' 1 >/dev/null
stop_server
good "good after a start and a clean stop" "$scratch/data"
look "$scratch/data" --json
check "as JSON" grep -qE '^\{"found":\[\],"pages":[0-9]+,"segments":[0-9]+,.*"damaged":0,"notes":0\}$' "$scratch/out"
good "the archive is good" "$scratch/archive"
same "... no lock is left" "" "$(find "$scratch" -newer "$scratch/archive/manifest" -name '*.part')"

# ---- damages of the database ----
good=$scratch/data copy=$scratch/copy
pages=$(($(stat -c %s "$good/tupled.db") / 4096))
for page in 0 1 $((pages / 3)) $((pages / 2)) $((pages - 1)); do
    fresh
    flip "$copy/tupled.db" $((page * 4096 + 700))
    named "a flipped byte in page $((page + 1))" "^damage  pages: tupled.db at offset $((page * 4096)): .*checksum"
done
fresh
flip "$copy/tupled.db" 700
look "$copy"
check "... in which SQLite finds nothing: told" grep -q "^note  copy: tupled.db: its contents were not checked, because a server" "$scratch/out"
fresh
flip "$copy/tupled.db" $((4 * 4096 - 1))
named "a flipped byte in a page's checksum" "tupled.db at offset 12288: "
fresh
dd if="$good/tupled.db" of="$copy/tupled.db" bs=4096 skip=7 seek=9 count=1 conv=notrunc status=none
named "a page at another's place" "tupled.db at offset 36864: page 10: "
fresh
truncate -s $(((pages - 3) * 4096)) "$copy/tupled.db"
named "a database that is cut off" "tupled.db: it is truncated: $((pages - 3)) of $pages pages"
fresh
truncate -s $((pages * 4096 - 100)) "$copy/tupled.db"
named "... within a page" "tupled.db: .* not a whole number of pages"
fresh
: >"$copy/tupled.db"
named "an empty database" "tupled.db: it is not a database"
fresh
rm "$copy/tupled.db"
named "a missing database" "tupled.db: it is missing"
fresh
flip "$copy/versions" 60
named "the file versions" "versions: checksum mismatch"
fresh
rm "$copy/versions"
named "... that is missing" "versions: it is missing"

# ---- damages of the journal ----
segments=("$good"/journal-*.log)
check "there are three segments at least" test "${#segments[@]}" -ge 3
first=$(basename "${segments[0]}") second=$(basename "${segments[1]}") third=$(basename "${segments[2]}")
# Where the batches of the first segment end: how full it became depends on time.
fresh
rm "$copy/$second"
look "$copy"
end=$(sed -n "s/.*$first at offset \([0-9]*\): versions after.*/\1/p" "$scratch/out")
# Where one with transactions begins: the first that a shorter file lacks. One without any only records what is
# durable, and is no loss.
for cut in $((end / 2)) $((end / 2 + 64)) $((end / 4)) $((end / 4 + 64)) $((end * 3 / 4)) $((end * 3 / 4 + 64)); do
    fresh
    truncate -s "$cut" "$copy/$first"
    look "$copy"
    at=$(sed -n "s/.*$first at offset \([0-9]*\): versions after.*/\1/p" "$scratch/out")
    [ "$(od -An -tu4 -j $((at + 4)) -N 4 "$good/$first")" -gt 0 ] && break
done
fresh
flip "$copy/$first" $((at + 60))
named "a flipped byte in a segment" "journal: $first at offset [0-9]+: versions after [0-9]+, up to [0-9]+, were on disk"
fresh
flip "$copy/$first" 70
named "... in its first batch" "journal: $first at offset 64: "
fresh
flip "$copy/$second" 3
named "a header's magic" "journal: $second at offset 0: its header is damaged"
fresh
flip "$copy/$second" 30
named "a header's version" "journal: $second at offset 0: its header is damaged"
fresh
rm "$copy/$second"
named "a missing segment" "journal: $first at offset [0-9]+: versions after [0-9]+"
fresh
truncate -s $((end / 2)) "$copy/$first"
named "a segment that is cut off" "journal: $first at offset [0-9]+: versions after [0-9]+"
fresh
cp "$copy/$first" "$copy/$second"
named "a segment under another's number" "journal: $first at offset [0-9]+: versions after [0-9]+"
rm -rf "$scratch/other"
mv "$scratch/data" "$scratch/kept"
start_server --journal-segment-size 4mb
cli KV.SET '["other"]' 1 >/dev/null
stop_server
mv "$scratch/data" "$scratch/other" && mv "$scratch/kept" "$scratch/data"
fresh
cp "$(find "$scratch/other" -name 'journal-*.log' | sort | head -n 1)" "$copy/$third"
named "another database's segment" "journal: $third at offset 0: it belongs to another database"
fresh
cp "$scratch/other/versions" "$copy/versions"
named "another database's versions" "journal: $first at offset 0: it belongs to another database"
# The first batch of a segment once more, where its last one ends.
payload=$(od -An -tu4 -j 68 -N 4 "$good/$first")
fresh
dd if="$good/$first" of="$copy/$first" bs=8 skip=8 seek=$((end / 8)) count=$(((56 + payload + 7) / 8)) \
    conv=notrunc status=none
named "versions that go back" "journal: $first at offset $end: versions are not ascending: "

# ---- an archive ----
good=$scratch/archive
segment=$(basename "$(find "$good" -name '*.log' | sort | head -n 1)")
base=$(basename "$(find "$good" -name '*.db' | sort | head -n 1)")
middle=$(basename "$(find "$good" -name '*.log' | sort | sed -n 2p)")
fresh
flip "$copy/$segment" 70 # in its first batch: further on may be what fills a block
named "a flipped byte in an archived segment" "archive: $segment: checksum mismatch"
check "... and where" grep -qE "archive: $segment: damaged at offset" "$scratch/out"
fresh
truncate -s 2000 "$copy/$segment"
named "an archived segment that is cut off" "archive: $segment: it has 2000 bytes"
fresh
rm "$copy/$segment"
named "one that is missing" "archive: $segment: it is missing"
fresh
flip "$copy/$base" 9000
named "a flipped byte in a base" "archive: $base: checksum mismatch"
check "... and its page" grep -qE "pages: $base at offset 8192" "$scratch/out"
fresh
rm "$copy/$base"
named "a base that is missing" "archive: $base: it is missing"
fresh
flip "$copy/manifest" 40
named "the manifest" "archive: manifest: "
fresh
cp "$copy/$middle" "$copy/$segment"
named "a segment in another's place" "archive: $segment: it is not the segment"

finish
