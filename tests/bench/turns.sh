#!/bin/bash
# turns: every command at its limits, with its longest turn of the event loop, on a server of its own with
# default settings (bench_turns.c). Prints docs/turns.md.
#   tests/bench/turns.sh [word]       only those rows that have this in their command
# BENCH_ROUNDS (3) is how many rounds there are.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/bench/release.sh
# Beside the repository's build, not in /tmp: that may be memory, and a sync must be one.
dir=$(mktemp -d "$PWD/build/bench.XXXXXX")
server=
stop() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    wait
    rm -rf "$dir"
}
trap stop EXIT
TUPLED_TEST_ANY_PORT=1 build/tupled --dir "$dir/tupled" --port 0 --http-port 0 --logfile "$dir/log" &
server=$!
port=
for _ in $(seq 600); do
    port=$(sed -n 's/.*ready to accept connections.* port \([0-9]*\).*/\1/p' "$dir/log" 2>/dev/null | head -1 || true)
    [ -n "$port" ] && break
    sleep 0.05
done
[ -n "$port" ] || { cat "$dir/log" >&2; exit 1; }
rounds=${BENCH_ROUNDS:-3}
cat <<END
# Turns of the event loop

The event loop serves all clients, one turn after the other. While a turn lasts, no other client is served. So a
command that has much to do does it in several turns, or in another thread. These tables have each command at its
limits, with the longest turn of the loop and the time until the reply.

- **longest turn**: processor time of the loop's thread, \`loop_turn_max_usec\` of \`INFO stats\` after a
  \`CONFIG RESETSTAT\`, until the reply was there and a little longer. Waiting for a processor does not count.
- **reply after**: from the first byte sent until the last byte of the reply was read, by one client on the same machine.
  It has everything that the client and other programs took from the processors: it says less than the turn.
- **(an error)**: the server refuses so much, and the figures are those of the refusal. **(once)**: measured once;
  the other figures are medians of $rounds runs.

Measured on $(date '+%-d %B %Y'), $(nproc) x $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), virtual and
shared with other work; the release build, an empty directory, default settings. \`make turn-table\` writes this page;
\`tests/bench/turns.sh word\` prints only those rows that have the word in their command. It ends with 1 when
\`COMMAND LIST\` has a command that is not here, or a command is not answered as the table says.

END
mkdir -p "$dir/tupled"
build/release/tests/bench/bench_turns "$port" "$rounds" "$@"
