# Sourced by scripts of tests: ports for servers that are started again on the same one. They are below those that the
# kernel gives to connections. In a run of tests/run.sh every port is given once, and no other run on the machine has the
# same: a server that is down for a moment finds its port as it left it.
#
#   port_take <variable> [n]   the first of n (1) ports in a row that no process listens on
#   ports_reserve <directory>  tests/run.sh: a thousand ports for this run, as long as it lasts: $TUPLED_TEST_PORTS

ports_first=15000 ports_last=31000 ports_of_run=1000

ports_reserve() {
    local base fd path
    for ((base = ports_first; base <= ports_last; base += ports_of_run)); do
        path=/tmp/tupled-ports.$base
        { exec {fd}>>"$path"; } 2>/dev/null || continue
        # The run that held it may have removed it in between.
        if flock -n "$fd" && [ "$path" -ef "/proc/self/fd/$fd" ]; then
            echo 0 >"$1/ports"
            export TUPLED_TEST_PORTS="$base $1/ports"
            ports_lock=$path
            return
        fi
        exec {fd}>&-
    done
}

ports_release() {
    [ -z "${ports_lock:-}" ] || rm -f "$ports_lock"
}

# The next <n> of the run.
ports_next() {
    local base file used
    read -r base file <<<"$TUPLED_TEST_PORTS"
    {
        flock 9
        read -r used <"$file"
        [ $((used + $1)) -le "$ports_of_run" ] || used=0
        echo $((used + $1)) >"$file"
    } 9>"$file.lock"
    echo $((base + used))
}

port_take() {
    local tries try n count=${2:-1}
    for ((tries = 0; tries < 200; tries++)); do
        if [ -n "${TUPLED_TEST_PORTS:-}" ]; then
            try=$(ports_next "$count")
        else
            try=$((ports_first + SRANDOM % (ports_last - ports_first)))
            [[ " ${ports_taken:-} " != *" $try "* ]] || continue
        fi
        for ((n = try; n < try + count; n++)); do
            (exec 3<>"/dev/tcp/127.0.0.1/$n") 2>/dev/null && continue 2
        done
        ports_taken="${ports_taken:-} $try"
        printf -v "$1" %s "$try"
        return
    done
    echo "no free port"
    return 1
}
