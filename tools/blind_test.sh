#!/bin/bash
# The house's checks where they can see nothing: each must fail, and say why.

tools=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
failed=0

# blind <name> <part of what is said> <command>...: it fails and says that.
blind() {
    local name=$1 wanted=$2 status
    shift 2
    "$@" >"$scratch/out" 2>&1 </dev/null
    status=$?
    if [ "$status" -ne 0 ] && grep -qF "$wanted" "$scratch/out"; then
        echo "ok - $name"
    else
        echo "not ok - $name (status $status)"
        sed 's/^/# /' "$scratch/out"
        failed=1
    fi
}

# A tree of nothing but the tools, and programs without one of them.
tree=$scratch/tree
empty() { rm -rf "${tree:?}"; mkdir -p "$tree/tools" && cp "$tools"/*.sh "$tools"/*.py "$tree/tools/"; }
# shellcheck disable=SC2317 # called by blind
without() { # program: a PATH that has all but it
    rm -rf "${scratch:?}/bin"
    mkdir "$scratch/bin"
    ln -sf /usr/sbin/* /usr/bin/* "$scratch/bin/"
    rm -f "$scratch/bin/$1"
    shift
    PATH=$scratch/bin "$@"
}

empty
git -C "$tree" init -q
blind "circles.sh: no sources" "no files are found in src" "$tree/tools/circles.sh"
mkdir -p "$tree/src/base" && echo 'int a;' >"$tree/src/base/a.c" && git -C "$tree" add src
blind "circles.sh: no objects" "build/asan/obj/src/base/a.o is not there" "$tree/tools/circles.sh"
mkdir -p "$tree/build/asan/obj/src/base" && echo "no object" >"$tree/build/asan/obj/src/base/a.o"
blind "circles.sh: what is no object" "nm cannot read" "$tree/tools/circles.sh"
blind "circles.sh: no nm" "nm is not installed" without nm "$tree/tools/circles.sh"

empty
blind "rules.sh: no sources" "no files in src and include" "$tree/tools/rules.sh" "$tree"
blind "rules.sh: no awk" "awk is not installed" without awk "$tools/rules.sh" "$tools/.."
blind "rules.sh: no such tree" "$scratch/none" "$tree/tools/rules.sh" "$scratch/none"
blind "mutants_fit.sh: no planted bugs" "no planted bugs found" "$tree/tools/mutants_fit.sh" "$tree"
mkdir -p "$tree/tests/mutants" && printf 'mutant a\n' >"$tree/tests/mutants/a.txt"
blind "mutants_fit.sh: no tests" "no tests found" "$tree/tools/mutants_fit.sh" "$tree"
blind "mutants_fit.sh: no awk" "awk is not installed" without awk "$tools/mutants_fit.sh" "$tools/.."
blind "conf_man.sh: no settings" "docs/man/tupled.conf.5.in is not there" "$tree/tools/conf_man.sh" "$tree"
mkdir -p "$tree/docs/man" "$tree/conf" && echo .TH >"$tree/docs/man/tupled.conf.5.in" && echo '# text' >"$tree/conf/tupled.conf"
blind "conf_man.sh: a file without settings" "has no line of a setting" "$tree/tools/conf_man.sh" "$tree"
git -C "$tree" init -q
blind "links.py: no documents" "no links are found" "$tree/tools/links.py"
blind "chart.py: no figures" "docs/benchmarks-latest.md is not there" "$tree/tools/chart.py"
blind "figures.py: no figures" "docs/benchmarks-latest.md is not there" "$tree/tools/figures.py"
echo '# text' >"$tree/docs/benchmarks-latest.md"
blind "figures.py: a page without them" "has no row" "$tree/tools/figures.py" check
blind "chart.py: a page without them" "has no such figures" "$tree/tools/chart.py" check
mkdir "$tree/web"
blind "page_files.sh: no page" "has no index.html" "$tree/tools/page_files.sh" "$tree/web"
blind "page_files.sh: no gzip" "gzip is not installed" without gzip "$tools/page_files.sh" "$tools/../web"
blind "check.sh: no sources" "no sources are found" "$tree/tools/check.sh" rules
for step in clang:clang format:clang-format tidy:clang-tidy cppcheck:cppcheck gcc:gcc; do
    blind "check.sh: no ${step#*:}" "${step#*:} is not installed" without "${step#*:}" "$tools/check.sh" "${step%:*}"
done
exit $failed
