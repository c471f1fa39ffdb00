#!/bin/sh
# The files of web/ as a C file on standard output, each in gzip, for the binary (src/http/page_file.h).
#   Usage: tools/page_files.sh web
set -eu
LC_ALL=C
export LC_ALL
cd "$1"
for tool in gzip od awk sha256sum; do
    command -v $tool >/dev/null || { echo "page_files.sh: $tool is not installed" >&2; exit 1; }
done
[ -s index.html ] || { echo "page_files.sh: $1 has no index.html" >&2; exit 1; }

type_of() {
    case $1 in
    *.html) echo "text/html; charset=utf-8" ;;
    *.css) echo "text/css; charset=utf-8" ;;
    *.js) echo "text/javascript; charset=utf-8" ;;
    *.svg) echo "image/svg+xml" ;;
    *.ico) echo "image/x-icon" ;;
    *) echo "page_files.sh: $1: a file of no known type" >&2; exit 1 ;;
    esac
}

echo '/* Made by tools/page_files.sh of the files in web/. */'
echo '#include "http/page_file.h"'
n=0
for f in *; do
    type_of "$f" >/dev/null
    printf '\nstatic const uint8_t file_%d[] = {' "$n"
    gzip -9nc "$f" | od -An -v -tu1 | awk '{ gsub(/^ +/, ""); gsub(/ +/, ","); printf "\n    %s,", $0 }'
    printf '\n};\n'
    n=$((n + 1))
done
printf '\nconst struct page_file page_files[] = {\n'
n=0
for f in *; do
    tag=$(sha256sum "$f" | cut -c1-16)
    printf '    {"%s", "%s", "\\"%s\\"", file_%d, sizeof file_%d, %d},\n' \
        "$f" "$(type_of "$f")" "$tag" "$n" "$n" "$(wc -c <"$f")"
    n=$((n + 1))
done
printf '    {0},\n};\n'
