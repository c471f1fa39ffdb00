# shellcheck shell=bash disable=SC2154 # keys, only, caught and survived are those of the other files
# For tests/mutants.sh --random: changes of src that are drawn, not thought of. Of all the places that places.sh
# finds each is as likely as another.

# draw <seed> <count>: so many of the lines read, in an order that the seed alone says, with every awk.
draw() {
    awk -v seed="$1" -v wanted="$2" '
        function below(n) {
            x = x * 16807 % 2147483647
            return int(x / 2147483647 * n)
        }
        { line[NR] = $0 }
        END {
            x = seed % 2147483646 + 1
            for (i = 0; i < 20; i++) below(1) # seeds that are near to one another begin alike
            for (i = 1; i <= wanted && i <= NR; i++) {
                k = i + below(NR - i + 1)
                print line[k]
                line[k] = line[i]
            }
        }'
}

# named <path, or folder and />: the tests that planted bugs name there, those that most of them name first.
named() {
    awk -v path="$1" '
        /^file / { file = substr($0, 6) }
        /^test / { if (file == path || (path ~ /\/$/ && index(file, path) == 1)) count[substr($0, 6)]++ }
        END { for (test in count) print count[test], test }' tests/mutants/*.txt | sort -k 1,1nr -k 2 | cut -d ' ' -f 2-
}

# nearest <path>: up to four tests of this source, short ones first: those that planted bugs of it name; the commands'
# test that has the first word of its name; those of its folder, first of its name, then of its first word, then those
# that include its header; else what the planted bugs of its folder name.
nearest() {
    local path=$1 folder=${1#src/} stem unit found=() kind test word
    folder=${folder%/*} stem=${path##*/} stem=${stem%.*}
    mapfile -t found < <(named "$path")
    word=${stem%%_*}
    if [ -f "redis-tests/test_$word.c" ] || [ -f "redis-tests/test_$word.sh" ]; then
        found=("${found[@]:0:3}" "redis redis-tests/test_$word.")
    fi
    case $path in
    src/tool/*) found=("${found[@]:0:3}" "redis redis-tests/test_tupledctl") ;;
    esac
    for unit in "tests/unit/$folder/test_$stem.c" "tests/unit/$folder/test_$word"*.c \
        $(grep -lsF "\"$folder/$stem.h\"" "tests/unit/$folder"/test_*.c) "tests/unit/$folder"/test_*.c; do
        [ -f "$unit" ] && found+=("unit $unit")
    done
    [ ${#found[@]} -gt 0 ] || mapfile -t found < <(named "${path%/*}/")
    [ ${#found[@]} -gt 0 ] || found=("redis test_commands_kv")
    printf '%s\n' "${found[@]}" | awk '
        # Not twice: what has an earlier one in it has been run with that.
        {
            for (i in kept) if ($1 == kind[i] && index($2, part[i])) next
            if (count == 4) exit
            kept[++count] = $0
            kind[count] = $1
            part[count] = $2
        }
        END {
            for (i = 1; i <= count; i++) if (kind[i] == "unit" || kind[i] == "sim") print kept[i]
            for (i = 1; i <= count; i++) if (kind[i] != "unit" && kind[i] != "sim") print kept[i]
        }'
}

# sound <test>: does it pass as long as nothing is changed? One that does not would catch everything. Asked once.
declare -A is_sound=()
sound() {
    if [ -z "${is_sound[$1]:-}" ]; then
        is_sound[$1]=no
        if ! build "$1"; then
            echo "left out  $1: does not compile without a change: $(grep -m 1 -E "error: |\\*\\*\\* " make.log)"
        elif passes "$1"; then
            is_sound[$1]=yes
        else
            echo "left out  $1: it fails without a change"
        fi
    fi
    [ "${is_sound[$1]}" = yes ]
}

# random_mutants <count> <seed>: as many that compile, of at most half as many again and ten.
random_mutants() {
    local count=$1 seed=$2 all path number kind old new name test tests
    mapfile -d '' -t all < <(find src -name '*.[ch]' -print0 | LC_ALL=C sort -z)
    places "${all[@]}" >places.txt
    draw "$seed" $((count + count / 2 + 10)) <places.txt >drawn.txt
    echo "seed $seed: $count of $(wc -l <places.txt) places in ${#all[@]} files; MUTANTS_SEED=$seed draws them again"
    while IFS=$'\t' read -r path number kind old new <&3; do
        [ $((caught + survived)) -lt "$count" ] || break
        name="$path:$number $kind"
        wanted "$name" || continue
        echo
        # As in the lists: to be kept there.
        printf 'mutant %s\nfile %s\nold %s\nnew %s\n' "$name" "$path" "${old#"${old%%[! ]*}"}" "${new#"${new%%[! ]*}"}"
        tests=()
        while IFS= read -r test <&4; do
            sound "$test" && tests+=("$test") && echo "test $test"
        done 4< <(if [ -n "$only" ]; then echo "$only"; else nearest "$path"; fi)
        if [ ${#tests[@]} -eq 0 ]; then
            echo "broken    $name: has no test that passes without it"
            broken=$((broken + 1))
        else
            try "$name" "$path" "$old" "$new" "$number" "${tests[@]}"
        fi
    done 3<drawn.txt
    echo
    echo "Some that survive change nothing that can be seen, or nothing that these few tests look at: no program can"
    echo "tell these apart. Each has to be looked at; what is a gap in the tests gets a test."
}
