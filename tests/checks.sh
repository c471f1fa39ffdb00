# Sourced by tests that are scripts: the lines of report that tests/run.sh wants. $failures counts.
#
#   same <name> <wanted> <got>   `ok - name`, or `not ok - name` and what differs
#   skip <name> <why>            `skip - name: why`
#   not_ok <name>                `not ok - name`

failures=0

not_ok() {
    echo "not ok - $1"
    failures=$((failures + 1))
}

same() {
    if [ "$2" = "$3" ]; then
        echo "ok - $1"
        return
    fi
    not_ok "$1"
    printf '  wanted: %s\n     got: %s\n' "$2" "$3"
}

skip() {
    echo "skip - $1: $2"
}
