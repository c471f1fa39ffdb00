#!/bin/bash
# What make would run to compile each file (standard input: make -nB) as a JSON compilation database, for clangd and
# its like: directory, file and command of each. Fails when there is none.

set -u
export LC_ALL=C
awk -v directory="$PWD" '
    function quoted(text) {
        gsub(/\\/, "\\\\", text)
        gsub(/"/, "\\\"", text)
        return "\"" text "\""
    }
    / -c -o / {
        if ($NF in seen) next
        seen[$NF] = 1
        printf "%s\n  {\"directory\": %s, \"file\": %s, \"command\": %s}", count++ ? "," : "[", \
            quoted(directory), quoted($NF), quoted($0)
    }
    END {
        if (count == 0) exit 1
        print "\n]"
    }'
