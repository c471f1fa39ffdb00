#!/bin/sh
# Makes the manual page of the settings: docs/man/tupled.conf.5.in, then conf/tupled.conf as roff, on
# standard output.    Usage: tools/conf_man.sh [root of the tree]
#
# In the file a setting is a line `#name value`, what explains it the comment lines before it, and
# `# ---- title ----` begins a section. Comment lines that are indented are shown as they are.

cd "${1:-$(dirname "$0")/..}" || exit 2
LC_ALL=C
export LC_ALL

cannot() {
    echo "conf_man: $1" >&2
    exit 2
}
for file in docs/man/tupled.conf.5.in conf/tupled.conf; do [ -s "$file" ] || cannot "$file is not there, or is empty"; done
command -v awk >/dev/null || cannot "awk is not installed"
grep -q '^#[a-z]' conf/tupled.conf || cannot "conf/tupled.conf has no line of a setting"

cat docs/man/tupled.conf.5.in
awk '
function roff(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    if (text ~ /^[.\047]/) text = "\\&" text
    return text
}

function tell_text(    i, is_shown) {
    for (i = 1; i <= lines; i++) {
        if ((line[i] ~ /^  /) != is_shown) {
            is_shown = !is_shown
            print is_shown ? ".nf" : ".fi"
        }
        print line[i] == "" ? ".PP" : roff(line[i])
    }
    if (is_shown) print ".fi"
    lines = 0
}

/^# ---- / {
    tell_text()
    gsub(/^# -+ | -+$/, "")
    print ".SH " toupper($0)
    next
}
/^# ?/ && !/^#[a-z]/ { sub(/^# ?/, ""); line[++lines] = $0; has_settings = 0; next }
/^#[a-z]/ {
    # Two settings may share an explanation: it stands below the last of them.
    names[++count] = substr($0, 2)
    has_settings = 1
    next
}
/^$/ {
    if (!has_settings) { tell_text(); next }
    for (i = 1; i <= count; i++) print (i == 1 ? ".TP\n\\fB" : ".TQ\n\\fB") roff(names[i]) "\\fP"
    count = 0
    tell_text()
    has_settings = 0
}
END {
    for (i = 1; i <= count; i++) print (i == 1 ? ".TP\n\\fB" : ".TQ\n\\fB") roff(names[i]) "\\fP"
    tell_text()
    print ".SH SEE ALSO\n.BR tupled (1),\n.BR tupled_db (3)"
}' conf/tupled.conf
