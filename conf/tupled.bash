# Completion of `tupled` in bash: settings, as the program itself lists them, words that a setting may have,
# and files.
_tupled() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} choices
    COMPREPLY=()
    case $before in
    --loglevel) choices='debug verbose notice warning nothing' ;;
    --log-format) choices='text json' ;;
    --default-format) choices='json msgpack' ;;
    --durability) choices='always interval never' ;;
    --enable-debug-command) choices='no yes local' ;;
    --acl-pubsub-default) choices='resetchannels allchannels' ;;
    --tls-auth-clients) choices='no yes optional' ;;
    --tls-auth-clients-user) choices='off cn uri' ;;
    --rest-delete-default) choices='prefix exact' ;;
    --http-tls | --rest-path-numbers | --tls-prefer-server-ciphers | --protected-mode | --bare-bigints | --data-group-access | --latency-tracking) choices='no yes' ;;
    --dir | --backup-dir | --archive-dir)
        mapfile -t COMPREPLY < <(compgen -d -- "$word")
        return
        ;;
    *)
        if [[ $word != -* ]]; then
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
        fi
        choices="--help --version $("${COMP_WORDS[0]}" --help 2>/dev/null | awk '$1 ~ /^--/ { print $1 }')"
        ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
}
complete -o filenames -F _tupled tupled
