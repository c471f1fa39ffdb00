#!/bin/bash
# Runs the tests of a build that counts (build/cov, `make coverage`), and prints which part of the lines of each folder
# of src they reached. Usage: tools/coverage.sh [group of tests/run.sh]... (unit sim redis). What a server had counted
# when it was killed is not in it.

set -u
cd "$(dirname "$0")/.." || exit 1
export LC_ALL=C
groups=("$@")
[ ${#groups[@]} -gt 0 ] || groups=(unit sim redis)
command -v gcovr >/dev/null || { echo "coverage: gcovr is not installed"; exit 2; }
find build/cov -name '*.gcda' -delete
TUPLED_FLAVOUR=cov tests/run.sh "${groups[@]}" >build/coverage.log
status=$?
tail -1 build/coverage.log
gcovr --root . --object-directory build/cov --filter src/ --csv >build/coverage.csv || exit 1
[ "$(wc -l <build/coverage.csv)" -gt 1 ] || { echo "coverage: nothing was counted"; exit 1; }
awk -F, 'NR > 1 && $2 > 0 {
        folder = $1
        sub(/\/[^\/]*$/, "", folder)
        lines[folder] += $2; reached[folder] += $3
        all += $2; all_reached += $3
    }
    END {
        for (folder in lines) printf "%5.1f %%  %6d lines  %s\n", 100 * reached[folder] / lines[folder], lines[folder], folder
        printf "%5.1f %%  %6d lines  src\n", 100 * all_reached / all, all
    }' build/coverage.csv | sort -n
exit "$status"
