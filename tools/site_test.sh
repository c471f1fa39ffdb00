#!/bin/bash
# Tests of tools/site.py: the site has every page of the book, each in its part, and a search; nothing of it comes from
# another host; a link that leads nowhere is named, and then no site is made.

set -u
cd "$(dirname "$0")/.." || exit 1
. tests/checks.sh
if ! command -v mkdocs >/dev/null; then
    skip "the site" "mkdocs is not installed"
    exit 0
fi
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
site=$scratch/site

tools/site.py "$site" >"$scratch/said" 2>&1
same "it is made" 0 $?
missing=0
for page in docs/*.md; do
    name=$(basename "$page" .md)
    [ "$name" != README ] || name=index
    [ -s "$site/docs/$name.html" ] || missing=$((missing + 1))
done
same "every page is there" 0 "$missing"
same "the README is its beginning" 1 "$(grep -c '<h1.*>tupled</h1>' "$site/index.html")"
same "a page is in its part" 1 "$(grep -c 'Look up' "$site/docs/filters.html")"
same "the search knows words of a page" 1 "$(grep -c 'filtered_by_index' "$site/search/search_index.json")"
same "scripts, styles and pictures are its own" 0 \
    "$(grep -rhoE '<(script|link|img)[^>]*(src|href)="(https?:)?//[^"]*"' --include='*.html' "$site" | wc -l)"

git clone -q . "$scratch/clone" && cp tools/*.py "$scratch/clone/tools/"
printf '\n[a](nowhere.md) [b](keys.md#no-such-place) [c](filters.md#no-such-place)\n' >>"$scratch/clone/docs/limits.md"
"$scratch/clone/tools/site.py" "$scratch/clone/site" >"$scratch/said" 2>&1
same "a page that is not there ends it" 1 $?
same "... and is named" 1 "$(grep -c 'nowhere.md' "$scratch/said")"
git -C "$scratch/clone" checkout -q docs
printf '\n[c](filters.md#no-such-place)\n' >>"$scratch/clone/docs/limits.md"
"$scratch/clone/tools/site.py" "$scratch/clone/site" >"$scratch/said" 2>&1
same "a place that is not there ends it" 1 $?
same "... and is named" "site: docs/limits.html: filters.html#no-such-place: no such place" "$(grep '^site:' "$scratch/said")"
same "... and no site is made" 1 "$([ -e "$scratch/clone/site" ]; echo $?)"
exit "$((failures > 0))"
