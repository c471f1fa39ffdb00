# shellcheck shell=bash disable=SC2154 # keys are those of mutants.sh
# For tests/mutants.sh: a copy of the tree, one change in it at a time, and the tests that should notice.
# Counts in caught, survived and broken.

caught=0 survived=0 broken=0

# copy_tree: what git knows of, and what was built, in a directory that goes at the end; the caller is there then.
copy_tree() {
    copy=$(mktemp -d) || exit 1
    trap 'rm -rf "$copy"' EXIT
    git ls-files -z | xargs -0 cp -p --parents -t "$copy" || exit 1
    cp -rp build "$copy/build"
    cd "$copy" || exit 1
}

# wanted <name>: has it one of `keys` in it? All are wanted without keys.
wanted() {
    local k
    [ ${#keys[@]} -gt 0 ] || return 0
    for k in "${keys[@]}"; do [[ $1 == *"$k"* ]] && return 0; done
    return 1
}

# plant <file> <old> <new> [number]: false unless `old` is in the file exactly once, or is the whole line of that
# number. The original is in `saved`. A line that has a number was changed without thought of style: && beside || and
# what nothing uses any more are no errors then.
plant() {
    OLD=$2 NEW=$3 NUMBER=${4:-0} awk '
        NR == ENVIRON["NUMBER"] && $0 == ENVIRON["OLD"] { $0 = ENVIRON["NEW"]; is_changed = 1 }
        { text = text $0 "\n" }
        END {
            if (ENVIRON["NUMBER"] > 0) {
                n = split("parentheses unused-function unused-parameter unused-variable unused-but-set-variable", no)
                for (i = 1; i <= n; i++) printf "#pragma GCC diagnostic ignored \"-W%s\"\n", no[i]
                printf "#line 1\n%s", text
                exit !is_changed
            }
            at = index(text, ENVIRON["OLD"])
            if (at == 0) exit 1
            rest = substr(text, at + length(ENVIRON["OLD"]))
            if (index(rest, ENVIRON["OLD"]) > 0) exit 1
            printf "%s%s%s", substr(text, 1, at - 1), ENVIRON["NEW"], rest
        }' saved >"$1.new" && mv "$1.new" "$1"
}

# The programs that a test of this kind and substring runs.
targets() {
    case $1 in
    unit) ls -d tests/unit/*/test_*.c tests/unit/*/*/test_*.c 2>/dev/null ;;
    sim) ls -d tests/sim/sim_*.c ;;
    redis | postgres | late) ls -d redis-tests/test_*.c ;;
    esac | grep -F -- "$2" | sed 's/\.c$//; s/^/build\/asan\//'
}

# build <test>: what it needs; false when it does not compile (make.log).
build() {
    local kind=${1%% *} goals=()
    mapfile -t goals < <(targets "$kind" "${1#* }")
    case $kind in
    redis | postgres) goals+=(build/asan/tupled build/asan/tupledctl build/tupled build/tupledctl) ;;
    late) goals+=(build/asan/tupled-late build/asan/tupledctl build/tupled build/tupledctl) ;;
    esac
    # Link-time optimisation takes longer than most tests and shows nothing here.
    make -j"$(nproc)" CFLAGS_release='-O1 -g' "${goals[@]}" >make.log 2>&1
}

# passes <test>: run.log says what happened. A change may make a program take all memory or write without end: it is
# the first that the kernel ends, and its files have a bound (8 GiB).
passes() (
    echo 1000 >/proc/self/oom_score_adj
    ulimit -f $((8 * 1024 * 1024))
    TUPLED_STRICT_TURNS=1 TEST_TIMEOUT=${TEST_TIMEOUT:-120} tests/run.sh "${1%% *}" -- "${1#* }" >run.log 2>&1
)

# try <name> <file> <old> <new> <number, or ''> <tests...>
try() {
    local name=$1 file=$2 old=$3 new=$4 number=$5 test is_caught='' is_broken=''
    shift 5
    if ! cp -p "$file" saved || ! plant "$file" "$old" "$new" "$number"; then
        echo "broken    $name: its line is not in $file exactly once"
        broken=$((broken + 1))
        return
    fi
    # A test is built when its turn comes: most mutants are caught by the first, and servers take long to link.
    for test in "$@"; do
        if ! build "$test"; then
            is_broken=1
            break
        elif ! passes "$test"; then
            is_caught=$test
            break
        fi
    done
    if [ -n "$is_broken" ]; then
        echo "broken    $name: does not compile: $(grep -m 1 error: make.log)"
        broken=$((broken + 1))
    elif [ -n "$is_caught" ]; then
        echo "caught    $name ($is_caught)"
        caught=$((caught + 1))
    else
        echo "SURVIVED  $name ($file)"
        survived=$((survived + 1))
    fi
    cp saved "$file" # newer than the object: it is compiled again
}
