#!/bin/bash
# figures: one run of the benchmarks beside Redis, with the day, the commit and the machine, as docs/benchmarks-latest.md;
# README.md's table and chart are made of it (tools/figures.py, tools/chart.py). `make figures` builds first and calls it.
# FIGURES_ONLY: sections of run.sh (set get atomic queue); BENCH_ROUNDS (5) and BENCH_QUIET_S (0) as in sides.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d "$PWD/build/figures.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
BENCH_ONLY=${FIGURES_ONLY:-set get atomic queue} tests/bench/run.sh >"$scratch/requests"
tests/bench/types.sh | sed '/^Machine:/d' >"$scratch/types"
tests/bench/jobs.sh | sed '/^Machine:/d' >"$scratch/jobs"
commit=$(git rev-parse --short=12 HEAD)
[ -z "$(git status --porcelain --untracked-files=no)" ] || commit+=' with changes'
{
    echo "# Figures of one run"
    echo
    echo "Made by \`make figures\`, $(date -u +'%-d %B %Y'), commit $commit. Redis runs with \`appendfsync always\`; a ratio above 1 means"
    echo "that tupled is faster. What was measured, and why it is so: [benchmarks](benchmarks.md)."
    echo
    sed '/^$/N;/^\n$/D' "$scratch/requests"
    echo
    echo "## Data types"
    echo
    cat "$scratch/types"
    echo
    echo "## Job queues"
    echo
    cat "$scratch/jobs"
} | cat -s >"$scratch/page"
mv "$scratch/page" docs/benchmarks-latest.md
tools/figures.py
tools/chart.py
