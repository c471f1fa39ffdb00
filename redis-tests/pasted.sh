# Sourced by tests that paste what the documents show, after server.sh.
#
#   remember <command>   what its answer, in $scratch/answer, tells for later lines: told[versionstamp], told[id]
#                        the last one seen, told[receipt] of the last message, told[cursor] of the last page
#   fill_in              puts what was told for <versionstamp> and the like in $text
#   like <wanted>        whether $scratch/answer is so. Versionstamps and ids may be others, and ... is anything.

declare -A told=()

remember() {
    local found
    found=$(grep -oE '"[0-9a-f]{20}"' "$scratch/answer" | tail -n 1)
    [ -z "$found" ] || told[versionstamp]=${found//\"/}
    found=$(grep -oE '"[0-9a-f]{24}"' "$scratch/answer" | tail -n 1)
    [ -z "$found" ] || told[id]=${found//\"/}
    case $1 in
    *KV.DEQUEUE*) found=$(sed -n 's/^ *5) "\(.*\)"$/\1/p' "$scratch/answer" | tail -n 1)
        [ -z "$found" ] || told[receipt]=$found ;;
    *KV.LIST* | *KV.FIND* | *KV.DLQ*) found=$(sed -n 's/^1) "\(.*\)"$/\1/p' "$scratch/answer" | tail -n 1)
        [ -z "$found" ] || told[cursor]=$found ;;
    *KV.ELEMENTS*) found=$(sed -n 's/^5) "\(.*\)"$/\1/p' "$scratch/answer" | tail -n 1)
        [ -z "$found" ] || told[cursor]=$found ;;
    esac
}

fill_in() {
    local name
    for name in "${!told[@]}"; do text=${text//<$name>/${told[$name]}}; done
}

# What is left of 60 and of 3600 seconds, up to half a minute later, as at once.
seconds_at_once() {
    sed -E 's/^\(integer\) [345][0-9]$/(integer) 60/; s/^\(integer\) 35[789][0-9]$/(integer) 3600/' <<<"$1"
}

like() {
    local wanted got
    wanted=$(sed -E 's/"[0-9a-f]{20}([0-9a-f]{4})?(\\?")/"...\2/g' <<<"$1")
    got=$(sed -E '/^\([0-9.]+s\)$/d; s/[ \r]+$//' "$scratch/answer") # redis-cli's remark that it took long
    wanted=$(sed -E 's/[][\\*?]/\\&/g; s/\.\.\./*/g' <<<"$wanted")
    # shellcheck disable=SC2053
    [[ $got == $wanted ]] || [[ $(seconds_at_once "$got") == $wanted ]]
}
