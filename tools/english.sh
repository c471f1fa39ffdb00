#!/bin/sh
# Finds turns of phrase that docs/style.md replaces. Prints `file:line: what` for each and ends with 1 then.
# Usage: tools/english.sh [root of the tree]
#
#   words     that say nothing of whom: in all texts, the source, the page
#   phrases   that a reader has to translate: in the documents
#   messages  likewise, in the texts that the programs and the page show
#
# POSIX sh and awk only.

cd "${1:-$(dirname "$0")/..}" || exit 2
LC_ALL=C
export LC_ALL

pages=$(find README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs clients examples src -name '*.md' ! -path docs/style.md \
    ! -path '*/node_modules/*' 2>/dev/null)
[ -n "$pages" ] || { echo "english: there are no documents to read" >&2; exit 2; }
sources=$(find src include web docs/man -type f \( -name '*.[ch]' -o -name '*.js' -o -name '*.[1-8]' \) 2>/dev/null)

# shellcheck disable=SC2086
awk '
BEGIN {
    words = "(^|[^a-z_])(whoever|whomever|nobody|somebody|anybody|everybody)([^a-z_]|$)"
    count = split("cannot be had|can be had|to be had|is to be done|are to be done|none waits|the words are wrong|" \
                  "how to keep what|for people who", phrases, "|")
    dangling = "(^|[.;:,] )who (asks|waits|wants|reads|writes|needs|comes|does|knows|gives) "
    person = "(^|[^a-z])(he|she|him|his) "
    message = "\"[^\"]*[a-z] (anew|goes on|is told|are told|is there already|what is there|of before|is no more|" \
              "is good for|no memory for|are gone|is to be)[^a-z]"
}
function told(what) { printf "%s:%d: %s: see docs/style.md\n", FILENAME, FNR, what; found = 1 }
{
    line = tolower($0)
    if (match(line, words)) told("\"" substr(line, RSTART, RLENGTH) "\" says nothing of whom")
    text = line
    sub(/\/\*.*/, "", text)
    if (FILENAME ~ /\.[ch]$/ && match(text, message)) told("a message: " substr(text, RSTART, RLENGTH))
    if (FILENAME !~ /\.md$/) next
    for (i = 1; i <= count; i++) if (index(line, phrases[i])) told("\"" phrases[i] "\"")
    if (match(line, dangling)) told("\"" substr(line, RSTART, RLENGTH) "\" has nothing that it refers to")
    if (match(line, person)) told("\"" substr(line, RSTART, RLENGTH) "\" is no term of ours")
}
END { exit found }' $pages $sources
