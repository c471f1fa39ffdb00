#!/bin/bash
# `make install` and `make uninstall` into a directory: what is there, that texts name the directories that
# were asked for, that pages of the manual and the completion work, and what systemd says of the service.
. "$(dirname "$0")/server.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL

to=$scratch/to
where=(PREFIX=/opt/tupled SYSCONFDIR=/opt/etc LIBDIR=/opt/tupled/lib64 STATEDIR=/srv/tupled)
put() { make -s -o all "$1" "${where[@]}" DESTDIR="$to"; }
files() { (cd "$to" && find . -type f -o -type l) | sort; }

check "it is installed" put install
same "in the directories asked for" "./opt/etc
./opt/tupled" "$(cd "$to" && find . -mindepth 2 -maxdepth 2 | sort)"
for file in bin/tupled bin/tupledctl lib64/libtupled.a lib64/libtupled.so lib64/libtupled.so.0 lib64/pkgconfig/libtupled.pc \
    include/tupled.h include/tupled_db.h lib/systemd/system/tupled.service share/man/man1/tupled.1 share/man/man1/tupledctl.1 \
    share/man/man3/tupled_db.3 share/man/man5/tupled.conf.5 share/bash-completion/completions/tupled share/bash-completion/completions/tupledctl \
    share/doc/tupled/README.md share/doc/tupled/docs/operation.md \
    share/doc/tupled/conf/grafana/tupled.json share/doc/tupled/conf/prometheus/tupled.rules.yml; do
    check "$file" test -s "$to/opt/tupled/$file"
done
check "etc/logrotate.d/tupled" test -s "$to/opt/etc/logrotate.d/tupled"
same "no place is left open in a text" "" "$(grep -rlE '@[A-Z]+@' "$to" --include='*.service' --include='*.pc' --include='*.[135]')"
version=$("$to/opt/tupled/bin/tupled" --version | sed 's/.* //')
same "there is one version" "$version $version $version" \
    "$(sed -n 's/^Version: //p' "$to/opt/tupled/lib64/pkgconfig/libtupled.pc") $(sed -n 's/^\.TH TUPLED 1 "tupled \(.*\)"/\1/p' \
        "$to/opt/tupled/share/man/man1/tupled.1") $(awk '$2 == "TUPLED_VERSION" { gsub(/"/, ""); print $3 }' include/tupled.h)"
same "the service runs what was installed" "/opt/tupled/bin/tupled /opt/etc/tupled/tupled.conf" \
    "$(sed -n 's/^ExecStart=//p' "$to/opt/tupled/lib/systemd/system/tupled.service")"
same "its data is where it was asked for" "dir /srv/tupled" "$(grep '^dir' "$to/opt/etc/tupled/tupled.conf")"

# ---- the settings ----
check "the installed server is the one that was built" cmp "$to/opt/tupled/bin/tupled" "$TUPLED_BIN"
check "... and the compiler left the allocation in that sorts freed blocks" \
    grep -q '<malloc@plt>' <(objdump -d --disassemble=sort_freed "$TUPLED_BIN")
# starts <settings>: until it says that it is ready.
starts() {
    local tries
    "$to/opt/tupled/bin/tupled" "$1" --port 0 --http-port 0 --dir "$scratch/data" >"$scratch/log" 2>&1 &
    server=$!
    for ((tries = 0; tries < 2000; tries++)); do
        grep -q 'ready to accept connections on 127.0.0.1' "$scratch/log" && return 0
        kill -0 "$server" 2>/dev/null || break
        sleep 0.01
    done
    cat "$scratch/log"
    return 1
}
check "the installed settings are good" starts "$to/opt/etc/tupled/tupled.conf"
stop_server
same "and nothing is wrong with them" "" "$(grep ' # ' "$scratch/log")"
echo 'timeout 77' >>"$to/opt/etc/tupled/tupled.conf"
check "it is installed again" put install
same "settings that are there are kept" "timeout 77" "$(tail -n 1 "$to/opt/etc/tupled/tupled.conf")"

# ---- the manual ----
if command -v man >/dev/null; then
    for page in man1/tupled.1 man1/tupledctl.1 man3/tupled_db.3 man5/tupled.conf.5; do
        same "$page is a good page" "" "$(MANROFFSEQ='' MANWIDTH=100 man --warnings -l "$to/opt/tupled/share/man/$page" 2>&1 >/dev/null)"
    done
else
    skip "the pages of the manual" "man is not installed (package man-db)"
fi
settings=$("$to/opt/tupled/bin/tupled" --help | awk '$1 ~ /^--/ { print substr($1, 3) }' | sort)
documented=$(sed -n 's/^\\fB\([a-z\\-]*\) .*/\1/p' "$to/opt/tupled/share/man/man5/tupled.conf.5" | tr -d '\\' | sort)
same "tupled.conf(5) has every setting" "$settings" "$documented"

# ---- completion ----
complete_words() { # <word>...: what the last one may become
    # shellcheck disable=SC1090
    (
        . "$to/opt/tupled/share/bash-completion/completions/tupled"
        COMP_WORDS=("$to/opt/tupled/bin/tupled" "$@")
        COMP_CWORD=$#
        _tupled
        printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' '
    )
}
same "settings are completed" "--log-format --logfile --loglevel " "$(complete_words --log)"
same "and their words" "nothing notice " "$(complete_words --loglevel no)"
same "words of the completion are the server's" "" "$(
    for pair in loglevel:debug log-format:json default-format:msgpack durability:never enable-debug-command:local \
        protected-mode:no bare-bigints:yes data-group-access:yes latency-tracking:no; do
        complete_words "--${pair%%:*}" | grep -q "" &&
            [[ " $(complete_words "--${pair%%:*}" '') " == *" ${pair##*:} "* ]] || echo "${pair%%:*}"
    done)"

complete_ctl() { # <word>...: what the last one may become
    # shellcheck disable=SC1090
    (
        . "$to/opt/tupled/share/bash-completion/completions/tupledctl"
        COMP_WORDS=("$to/opt/tupled/bin/tupledctl" "$@")
        COMP_CWORD=$#
        _tupledctl
        printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' '
    )
}
same "tupledctl: subcommands are completed" "ping " "$(complete_ctl pi)"
same "tupledctl: options are completed" "--password-file " "$(complete_ctl ping --pass)"
same "tupledctl: every subcommand is in its manual" "" "$(comm -23 \
    <("$to/opt/tupled/bin/tupledctl" --help | sed -n '/^  [a-z]/s/^  \([a-z]*\) .*/\1/p' | sort) \
    <(sed -n 's/^\.B \([a-z]*\)$/\1/p; s/^\.BR* \([a-z]*\) .*/\1/p' docs/man/tupledctl.1 | sort -u))"

# ---- the service ----
if command -v systemd-analyze >/dev/null; then
    here=$scratch/here
    check "it is installed where it can be looked at" make -s -o all install PREFIX="$here/usr" SYSCONFDIR="$here/etc"
    same "systemd finds nothing wrong with the service" "" \
        "$(systemd-analyze verify --man=no "$here/usr/lib/systemd/system/tupled.service" 2>&1)"
    exposure=$(systemd-analyze security --offline=yes --no-pager "$here/usr/lib/systemd/system/tupled.service" |
        sed -n 's/.*exposure level for [^:]*: \([0-9.]*\).*/\1/p')
    same "its exposure is what docs/operation.md says" "$exposure" \
        "$(sed -n 's/.*exposure level of \([0-9.]*[0-9]\).*/\1/p' docs/operation.md)"
else
    skip "what systemd says of the service" "systemd-analyze is not here (package systemd)"
fi

# ---- who finds the library ----
# With an ldconfig of its own, which knows $known, and notes that it was run.
mkdir "$scratch/bin"
# shellcheck disable=SC2016 # it is what the programs say
printf '#!/bin/sh\nif [ "$*" = "-v -N -X" ]; then echo "$known: (from somewhere)"; else echo run >>"$noted"; fi\n' >"$scratch/bin/ldconfig"
# shellcheck disable=SC2016
printf '#!/bin/sh\necho "$user"\n' >"$scratch/bin/id"
chmod +x "$scratch/bin/ldconfig" "$scratch/bin/id"
# told <user> <known directory> [variable...]: how often ldconfig was run, and what is said of it.
told() {
    local said
    : >"$scratch/noted"
    said=$(user=$1 known=$2 noted=$scratch/noted PATH="$scratch/bin:$PATH" \
        make -s -o all install PREFIX="$scratch/sys" "${@:3}" 2>&1 | grep -o 'does not look\|has to be run, so' | head -n 1)
    echo "$(grep -c run "$scratch/noted") $said"
}
same "root: the system learns of the library" "1 " "$(told 0 "$scratch/sys/lib")"
same "others are told to" "0 has to be run, so" "$(told 1000 "$scratch/sys/lib")"
same "a directory that the system does not know is told" "0 does not look" "$(told 0 /usr/lib)"
same "nothing of that for a package" "0 " "$(told 0 "$scratch/sys/lib" DESTDIR="$scratch/package")"

check "it is uninstalled" put uninstall
same "but for the settings" "./opt/etc/tupled/tupled.conf" "$(files)"
same "no directory of its documents is left" "" "$(find "$to" -path '*/share/doc/tupled*')"
finish
