#!/bin/bash
# redis-py, newest version (redis-tests/python/requirements.txt), in an environment under build/.
. "$(dirname "$0")/server.sh"

home=$PWD/redis-tests/python
venv=$PWD/build/python

# Makes the environment once for each content of requirements.txt; one run at a time.
install() {
    (
        flock -w 120 9 || exit 1
        ! cmp -s "$home/requirements.txt" "$venv/installed" || exit 0
        rm -rf "$venv/env"
        python3 -m venv "$venv/env" &&
            timeout 100 "$venv/env/bin/pip" install -q --disable-pip-version-check --no-input \
                --timeout 10 --retries 1 -r "$home/requirements.txt" &&
            cp "$home/requirements.txt" "$venv/installed"
    ) 9>"$venv/lock" >"$scratch/install" 2>&1
}

mkdir -p "$venv"
if ! command -v python3 >/dev/null; then
    skip "redis-py" "python3 is not installed"
    exit 0
fi
if ! install; then
    skip "redis-py" "cannot be installed: $(grep -v '^$' "$scratch/install" | tail -n 1)"
    exit 0
fi
python=$venv/env/bin/python

start_server
for protocol in default 3 2; do
    timeout 60 "$python" "$home/scenario.py" "$port" "$protocol" "protocol $protocol"
    status=$?
    [ "$status" -eq 0 ] || failures=$((failures + 1))
    [ "$status" -le 1 ] || not_ok "the scenario by protocol $protocol ends (status $status)"
done
fixed_port=$port
stop_server

reconnects "redis-py: a client object goes on after the server restarts" "$fixed_port" \
    "$python" "$home/reconnect.py"
finish
