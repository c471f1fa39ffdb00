#!/bin/bash
# What the next version brings: the section "Unreleased (x.y.z)" of CHANGELOG.md, after it was looked at whether the
# tree is that version. On standard error: what is left to do before it is tagged.

set -u
cd "$(dirname "$0")/.." || exit 1
export LC_ALL=C
version=$(sed -n 's/^## Unreleased (\([0-9.]*\))$/\1/p' CHANGELOG.md)
[ -n "$version" ] || { echo "release-notes: CHANGELOG.md has no section \"Unreleased (x.y.z)\"" >&2; exit 1; }
notes=$(awk '/^## / { is_it = /^## Unreleased/; next } is_it' CHANGELOG.md)
[ -n "${notes//[[:space:]]/}" ] || { echo "release-notes: the section of $version is empty" >&2; exit 1; }
now=$(awk '$2 == "TUPLED_VERSION" { gsub(/"/, ""); print $3 }' include/tupled.h)
printf '# tupled %s\n%s\n' "$version" "$notes"
{
    echo "release-notes: to do for v$version:"
    [ "$now" = "$version" ] || echo "  include/tupled.h says $now: set TUPLED_VERSION"
    echo "  CHANGELOG.md: the section becomes \"## $version, $(date +%Y-%m-%d)\", with an empty one above it"
    [ -z "$(git status --porcelain 2>/dev/null)" ] || echo "  what is changed must be committed"
    echo "  git tag -a v$version -F build/release-notes.md"
} >&2
