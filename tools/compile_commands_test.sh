#!/bin/bash
# Tests of tools/compile_commands.sh: every C file that is compiled is in it, with its flags, as JSON.

set -u
cd "$(dirname "$0")/.." || exit 1
unset MAKEFLAGS MFLAGS MAKELEVEL
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
. tests/checks.sh

same "one command" '[
  {"directory": "'"$PWD"'", "file": "a.c", "command": "gcc -DX=\"1\" -c -o a.o a.c"}
]' "$(echo 'gcc -DX="1" -c -o a.o a.c' | tools/compile_commands.sh)"
same "a file is there once" 1 "$(printf 'gcc -c -o a.o a.c\nclang -c -o b.o a.c\necho -c\n' | tools/compile_commands.sh | grep -c '"file"')"
same "nothing compiled is an error" 1 "$(tools/compile_commands.sh </dev/null >"$scratch/none"; echo $?)"
make -nB COMPILE_COMMANDS="$scratch/all" compile_commands.json >"$scratch/plan" 2>&1
same "make knows how" 1 "$(grep -c 'tools/compile_commands.sh' "$scratch/plan")"
make -nB test-build 2>/dev/null | tools/compile_commands.sh >"$scratch/all"
same "every source of src is in it" "$(find src -name '*.c' | sort)" \
    "$(sed -n 's|.*"file": "\(src/[^"]*\)".*|\1|p' "$scratch/all" | sort)"
same "... and the unit tests" "$(find tests/unit -name 'test_*.c' | sort)" \
    "$(sed -n 's|.*"file": "\(tests/unit/[^"]*/test_[^"]*\)".*|\1|p' "$scratch/all" | sort)"
if command -v python3 >/dev/null; then
    same "it is JSON" True "$(python3 -c 'import json, sys; print(len(json.load(sys.stdin)) > 500)' <"$scratch/all")"
fi
exit "$((failures > 0))"
