# Completion of `tupledctl` in bash: subcommands, their actions and options, as the program itself lists
# them, and files.
_tupledctl() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} choices='' what='' action='' i
    COMPREPLY=()
    case $before in
    --password-file | --cacert | --cert | --key | --source-cacert | --source-cert | --source-key | --source-password-file | --token-file | --state | --map | --scratch)
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
        ;;
    esac
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        -u | --url | --db | --password-file | --timeout | --cacert | --cert | --key | --tls-name | --scratch) ((i++)) ;;
        -*) ;;
        *) if [ -z "$what" ]; then what=${COMP_WORDS[i]}; else action=${COMP_WORDS[i]}; fi ;;
        esac
    done
    if [ "$what $before" = "import --from" ]; then
        choices="export keyval deno connect redis"
    elif [[ $word == -* ]]; then
        choices=$({
            "${COMP_WORDS[0]}" --help
            [ -z "$what" ] || "${COMP_WORDS[0]}" help "$what"
        } 2>/dev/null | awk '/^  (-[a-zA-Z], |    )--/ { sub(/^ *(-[a-zA-Z], )?/, ""); print $1 }')
    elif [ -z "$what" ] || [ "$what$action" = help ]; then
        choices="$("${COMP_WORDS[0]}" --help 2>/dev/null | awk '/^  [a-z]/ { print $1 }') help"
    elif [ -z "$action" ]; then
        choices=$("${COMP_WORDS[0]}" help "$what" 2>/dev/null | awk '/^  [a-z]/ { print $1 }')
    fi
    if [ -n "$choices" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -o filenames -F _tupledctl tupledctl
