#!/bin/bash
# tools/english.sh finds what docs/style.md replaces, and nothing else.

set -u
cd "$(dirname "$0")/.." || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

verdict() { # <status> <name>
    [ "$1" = 0 ] && echo "ok - english: $2" && return
    echo "not ok - english: $2"
    cat "$scratch/out"
    failed=1
}

tree() { # <file>: its text comes from standard input
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree/docs" "$scratch/tree/$(dirname "$1")"
    echo "A page." >"$scratch/tree/docs/page.md"
    cat >"$scratch/tree/$1"
}

breaks() { # <name> <file:line> <part of what is said>
    tools/english.sh "$scratch/tree" >"$scratch/out" 2>&1
    [ $? = 1 ] && [ "$(wc -l <"$scratch/out")" = 1 ] && grep -qF "$2: " "$scratch/out" && grep -qF "$3" "$scratch/out"
    verdict $? "$1"
}

holds() { # <name>
    tools/english.sh "$scratch/tree" >"$scratch/out" 2>&1
    [ $? = 0 ] && [ ! -s "$scratch/out" ]
    verdict $? "$1"
}

for word in whoever Nobody somebody anybody everybody; do
    printf 'First.\nIs %s there?\n' "$word" | tree docs/a.md
    breaks "$word in a document" docs/a.md:2 "says nothing of whom"
done
for path in src/base/a.c include/a.h web/a.js docs/man/a.1; do
    printf 'int x; /* nobody has it */\n' | tree "$path"
    breaks "in $path" "$path:1" "says nothing of whom"
done
for phrase in "what cannot be had stays" "what is to be done?" "none waits for it" "the words are wrong"; do
    echo "Here $phrase" | tree docs/a.md
    breaks "'$phrase'" docs/a.md:1 "see docs/style.md"
done
echo "Who asks waits." | tree docs/a.md
breaks "a sentence that begins with who" docs/a.md:1 "nothing that it refers to"
echo "The user: he gets it." | tree docs/a.md
breaks "a person" docs/a.md:1 "is no term of ours"
printf 'log("the log is read"); /* as it is told */\nlog("it begins anew, from %%s", x);\n' | tree src/base/a.c
breaks "a message" src/base/a.c:2 "a message"
printf 'x = "no memory"; /* "what is there now": it goes on */\n' | tree src/base/a.c
holds "... but not a comment"
printf 'The client who_asks for nobody_else; the header says so. A user who asks is told. She.\n' | tree docs/a.md
holds "what is alike"
echo "| Who asks waits. | nobody |" | tree docs/style.md
holds "the page that has the examples"
echo 'int the_words_are_wrong; /* what is to be done */' | tree src/base/a.c
holds "phrases are looked for in documents only"

rm -rf "$scratch/tree" && mkdir "$scratch/tree"
tools/english.sh "$scratch/tree" >"$scratch/out" 2>&1
[ $? = 2 ]
verdict $? "a tree without documents is an error, not a success"
exit $failed
