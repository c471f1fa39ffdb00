# Sourced by benchmarks that measure several things in turn, several times.
#
#   note <name> <figures>    of one run: a second, p50, p99 and the longest in us; kept in $scratch/figures, and said
#   medians                  prints a table: of each name, in the order in which they came, the medians of its figures

note() {
    echo "$1|$2" >>"$scratch/figures"
    echo "$1: $2" >&2
}

medians() {
    local name line column median
    echo "| what | a second | p50 us | p99 us | longest us |"
    echo "| --- | --- | --- | --- | --- |"
    awk -F'|' '!($1 in seen) {seen[$1] = 1; order[++n] = $1} END {for (i = 1; i <= n; i++) print order[i]}' "$scratch/figures" |
        while IFS= read -r name; do
            line="| $name |"
            for column in 1 2 3 4; do
                median=$(awk -F'|' -v name="$name" '$1 == name {print $2}' "$scratch/figures" | awk -v c=$column '{print $c}' |
                    sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}')
                line="$line $median |"
            done
            echo "$line"
        done
}
