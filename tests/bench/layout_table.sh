#!/bin/bash
# layout_table: lines of bench_layout to a Markdown table: a row for each layout, a column for each figure,
# medians, lowest and highest in brackets where there are several.
set -euo pipefail
sort -k1,6 -k7,7g "$1" | awk '
function text(x) { return x >= 100 ? sprintf("%d", x) : sprintf("%.2f", x) }
{
    layout = $1 ($2 == 4096 ? "" : "/" $2); what = $5 " " $6; id = layout SUBSEP what
    if (!(layout in seen)) { seen[layout]; layouts[++layout_count] = layout }
    figures[id, ++n[id]] = $7
}
END {
    column_count = split("load entries/s,load written,fill entries/s,fill written," \
        "write entries/s,write written,big entries/s,big written,read reads/s," \
        "read pages,disk reads/s,disk pages,scan 100,scan 100-pages/100,scan 10000,scan 10000-pages/100," \
        "count 10000,count 10000-pages/100,size MB", columns, ",")
    printf "| |"; for (c = 1; c <= column_count; c++) printf " %s |", columns[c]
    printf "\n| --- |"; for (c = 1; c <= column_count; c++) printf " --- |"
    print ""
    for (l = 1; l <= layout_count; l++) {
        printf "| %s |", layouts[l]
        for (c = 1; c <= column_count; c++) {
            id = layouts[l] SUBSEP columns[c]; count = n[id]
            if (count == 0) { printf " |"; continue }
            middle = (figures[id, int((count + 1) / 2)] + figures[id, int(count / 2) + 1]) / 2
            printf " %s", text(middle)
            if (count > 1) printf " (%s-%s)", text(figures[id, 1]), text(figures[id, count])
            printf " |"
        }
        print ""
    }
}'
