#!/bin/bash
# Tests of tools/release_notes.sh: the section of the next version and no other, and what is refused.

set -u
cd "$(dirname "$0")/.." || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/tools" "$scratch/include"
cp tools/release_notes.sh "$scratch/tools/"
echo '#define TUPLED_VERSION "0.1.0"' >"$scratch/include/tupled.h"
. tests/checks.sh

printf '# Changelog\n\n## Unreleased (0.2.0)\n\n### Added\n\n- This.\n\n## 0.1.0\n\n- That.\n' >"$scratch/CHANGELOG.md"
same "the section of the next version" $'# tupled 0.2.0\n\n### Added\n\n- This.' "$("$scratch/tools/release_notes.sh" 2>"$scratch/todo")"
same "a version that is not set is told of" 1 "$(grep -c 'include/tupled.h says 0.1.0: set TUPLED_VERSION' "$scratch/todo")"
same "... with the tag" 1 "$(grep -c 'git tag -a v0.2.0' "$scratch/todo")"
printf '## Unreleased (0.2.0)\n\n## 0.1.0\n\n- That.\n' >"$scratch/CHANGELOG.md"
same "an empty section is refused" 'release-notes: the section of 0.2.0 is empty' "$("$scratch/tools/release_notes.sh" 2>&1 || echo)"
printf '## 0.1.0\n\n- That.\n' >"$scratch/CHANGELOG.md"
same "so is a changelog without one" 1 "$("$scratch/tools/release_notes.sh" >/dev/null 2>&1; echo $?)"
same "this tree has one" 0 "$(tools/release_notes.sh >/dev/null 2>&1; echo $?)"
exit "$((failures > 0))"
