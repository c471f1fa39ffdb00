#!/bin/bash
# tupledctl (docs/tupledctl.md): every subcommand, its exit status, what it says when something is wrong. The
# program is the ASan build, so that a leak ends it with another status.
. "$(dirname "$0")/server.sh"
. redis-tests/tls.sh

tool=$PWD/build/asan/tupledctl
unset TUPLEDCTL_URL TUPLEDCTL_PASSWORD

# ctl <word>...: its output, in which a versionstamp is @ and a message's id is #
ctl() {
    timeout 60 "$tool" "$@" </dev/null 2>"$scratch/err" >"$scratch/out"
    status=$?
    sed -E 's/[0-9a-f]{24}/#/g; s/[0-9a-f]{20}/@/g' "$scratch/out"
    return "$status"
}
# ends <name> <status> <word>...: how it ends; its output stays in $scratch/out and $scratch/err
ends() {
    local name=$1 wanted=$2
    shift 2
    ctl "$@" >/dev/null
    same "$name" "$wanted" "$status"
    [ "$status" -eq "$wanted" ] || sed 's/^/  /' "$scratch/err"
}
# says <name> <text>: the last one said that on standard error
says() {
    check "$1" grep -qF -- "$2" "$scratch/err"
}
cli() {
    timeout 60 redis-cli -p "$port" "$@"
}
# there <file> <pattern>: waits until the file has such a line, for 30 s at most
there() {
    local tries
    for ((tries = 0; tries < 1500; tries++)); do
        grep -qE -- "$2" "$1" && return
        sleep 0.02
    done
    cat "$1"
    return 1
}

# ---- words ----
ends "help" 0 --help
check "... names the subcommands" grep -qE '^  backup ' "$scratch/out"
ends "help on one" 0 help dlq
check "... names its actions" grep -qE '^  requeue QUEUE' "$scratch/out"
ends "--help after it" 0 dlq --help
same "the version is the server's" "$("$TUPLED_BIN" --version | sed 's/.* //')" "$(ctl --version | sed 's/.* //')"
ends "nothing to do" 2
ends "an unknown subcommand" 2 pong
says "... is told" "unknown subcommand pong"
ends "an unknown action" 2 queue pause
says "... is told" "unknown action: tupledctl queue pause"
ends "an unknown option" 2 ping --once
says "... is told" "unknown option --once of ping"
ends "an option without its value" 2 ping --url
ends "a value for an option that has none" 2 ping --json=1
ends "too many words" 2 ping now
ends "too few" 2 db rename a
says "... say what is wanted" "tupledctl db rename NAME NEW"
ends "a number that is none" 2 top --interval 1x
ends "a URL that is none" 2 -u localhost:6379 ping
ends "another scheme" 2 -u http://localhost ping
ends "a port that is none" 2 -u redis://localhost:70000 ping
ends "a broken %" 2 -u redis://:%4@localhost ping
ends "a user without a password" 2 -u redis://ann@localhost ping
ends "TLS options without TLS" 2 -u redis://localhost --insecure ping

# ---- no server ----
ends "nobody listens" 3 -u redis://127.0.0.1:1 ping
says "... what, where, why, what to do" \
    "cannot connect to 127.0.0.1:1: Connection refused. Nothing listens there. Is the server running"
ends "no such socket" 3 -u "unix://$scratch/none" ping
says "... is told" "$scratch/none: No such file or directory"
ends "no such host" 3 -u redis://no-such-host.invalid ping
# A listener that never answers.
coproc SILENT { exec timeout 60 python3 -c '
import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); print(s.getsockname()[1], flush=True)
kept = []
while True: kept.append(s.accept())' 2>/dev/null; }
silent=$SILENT_PID
if read -r -t 20 silent_port <&"${SILENT[0]}"; then
    ends "somebody who never answers" 3 -u "redis://127.0.0.1:$silent_port" --timeout 1 ping
    says "... is told" "no reply within 1 s"
    ends "... by TLS neither" 3 -u "rediss://127.0.0.1:$silent_port" --timeout 1 ping
    says "... is told" "no TLS handshake within 1 s"
    kill "$silent" 2>/dev/null
else
    skip "somebody who never answers" "python3 is not here"
fi

# ---- a server ----
make_certificates
start_tls_server --tls-auth-clients no --unixsocket "$scratch/socket"
export TUPLEDCTL_URL=redis://127.0.0.1:$port
version=$("$TUPLED_BIN" --version | sed 's/.* //')
same "ping" "version $version
health ok" "$(ctl ping | awk 'NR <= 2 { print $1, $2 }')"
same "ping as JSON" "{\"version\":\"$version\",\"health\":\"ok\",\"uptime_seconds\":N,\"milliseconds\":N}" \
    "$(ctl ping --json | sed -E 's/:[0-9.]+/:N/g')"
ends "the environment's URL is not the one that is given" 3 -u redis://127.0.0.1:1 ping
ends "a Unix socket" 0 -u "unix://$scratch/socket?db=3" ping
cli -n 5 SET five 1 >/dev/null
cli -n 5 KV.ENQUEUE inside 1 >/dev/null
same "a database in the URL" inside "$(ctl -u "redis://127.0.0.1:$port/5" queue list | awk 'NR > 1 { print $1 }')"
same "a database by option" inside "$(ctl queue list --db 5 | awk 'NR > 1 { print $1 }')"
ends "one that is not there" 1 queue list --db nowhere

# ---- TLS ----
ends "TLS" 0 -u "rediss://127.0.0.1:$tls" --cacert "$scratch/ca.crt" ping
ends "... by name" 0 -u "rediss://localhost:$tls" --cacert "$scratch/ca.crt" ping
ends "... a certificate that nobody has signed" 3 -u "rediss://127.0.0.1:$tls" ping
says "... is told" "the certificate is not trusted"
ends "... that somebody else has signed" 3 -u "rediss://127.0.0.1:$tls" --cacert "$scratch/other-ca.crt" ping
ends "... that is for another name" 3 -u "rediss://127.0.0.1:$tls" --cacert "$scratch/ca.crt" --tls-name example.org ping
says "... is told" "the certificate is for another name"
ends "... for another address" 3 -u "rediss://localhost:$tls" --cacert "$scratch/ca.crt" --tls-name 127.0.0.2 ping
says "... is told" "the certificate is for another name"
ends "... for that address" 0 -u "rediss://localhost:$tls" --cacert "$scratch/ca.crt" --tls-name 127.0.0.1 ping
ends "... is not looked at with --insecure" 0 -u "rediss://127.0.0.1:$tls" --insecure ping
ends "... a file that is not there" 2 -u "rediss://127.0.0.1:$tls" --cacert "$scratch/none" ping
ends "TLS to the port without" 3 -u "rediss://127.0.0.1:$port" ping
says "... is told" "redis:// connects without TLS"
ends "the port for TLS without TLS" 3 -u "redis://127.0.0.1:$tls" ping
says "... is told" "Use rediss:// for TLS"
ends "much by TLS, both ways" 0 -u "rediss://127.0.0.1:$tls" --cacert "$scratch/ca.crt" bench -q -n 40 -c 3 -P 4 \
    --keys 50 --size 300000 set get
same "... and all of it" "get 40 set 40" "$(awk 'NR > 1 { print $1, $2 }' "$scratch/out" | xargs)"

unset TUPLED_TEST_ANY_TLS_PORT

# ---- databases ----
ends "a database is made" 0 db create shop --max-bytes 1000000 --comment "the shop's"
same "... and shown" "name shop
comment the shop's
max_bytes 1000000" "$(ctl db info shop | awk '/^(name|comment|max_bytes) / { n = $1; sub(/^[^ ]+ +/, ""); print n, $0 }')"
same "... in the list, as JSON" '"name":"shop"' "$(ctl db list --json | grep -o '"name":"shop"')"
ends "... is there already" 1 db create shop
ends "its limits are changed" 0 db limit shop --max-entries 7 --backup yes --keep 2
same "... that was not named stays" "1000000 7" \
    "$(ctl db info shop --json | sed -E 's/.*"max_bytes":([0-9]*),"max_entries":([0-9]*).*/\1 \2/')"
ends "a limit is a size" 0 db limit shop --max-bytes 1gb
same "... in bytes" "1073741824" "$(ctl db info shop --json | sed -E 's/.*"max_bytes":([0-9]*),.*/\1/')"
ends "... or it is refused" 1 db limit shop --max-bytes 1gig
says "... with what it may be" "MAXBYTES must be a size such as 1000000 or 100mb"
ends "a limit of nothing" 2 db limit shop
ends "it is renamed" 0 db rename shop store
ends "it is not dropped without --yes" 2 db drop store
says "... which is told" "use --yes"
ends "... and still there" 0 db info store
ends "it is dropped" 0 db drop store --yes
ends "... and gone" 1 db info store

# ---- queues ----
ends "a queue that is not there" 1 queue show mail
cli KV.ENQUEUE mail '{"to":"ann"}' >/dev/null
id=$(cli KV.ENQUEUE mail '"second"' DELAY 3600000)
same "queues" "queue ready delayed
mail 1 1" "$(ctl queue list | awk '{ print $1, $2, $3 }')"
same "one" '{"ready":1,"delayed":1,"leased":0,"dead":0' "$(ctl queue show mail --json | cut -d, -f1-4)"
same "what comes next" '[{"id":"#","attempts":0,"due":"TIME","value":{"to":"ann"}},{"id":"#","attempts":0,"due":"TIME","value":"second"}]' \
    "$(ctl queue peek mail --json | sed -E 's/"due":"20[^"]*Z"/"due":"TIME"/g')"
ends "no lease to end" 1 queue release mail "$id"
says "... is told" "no leased message"
first=$(cli KV.DEQUEUE mail | sed -n 2p)
ends "a lease is ended" 0 queue release mail "$first"
same "... and the message waits again" '"delayed":2' "$(ctl queue show mail --json | grep -o '"delayed":[0-9]*')"
cli KV.ENQUEUE mail 3 >/dev/null
third=$(cli KV.DEQUEUE mail | sed -n 2p)
ends "a leased message is removed" 0 queue remove mail "$third" -y
ends "a queue is not emptied without --yes" 2 queue purge mail
same "a queue is emptied" '{"removed":2}' "$(ctl queue purge mail --yes --json)"
cli KV.ENQUEUE $'\e[31mred\xff' 1 >/dev/null
same "what moves a cursor is not printed" '\x1b[31mred\xff' "$(ctl queue list | awk 'NR == 2 { print $1 }')"
same "... and is good JSON" '[{"queue":"\u001b[31mred�"' "$(ctl queue list --json | cut -d, -f1)"

# ---- dead letters ----
for n in 1 2 3; do
    cli KV.ENQUEUE jobs "{\"n\":$n}" >/dev/null
    cli KV.NACK "$(cli KV.DEQUEUE jobs | tail -n 1)" DEAD ERROR "no. $n" >/dev/null
done
same "dead letters, newest first" '# 1 TIME no. 3 {"n":3}
# 1 TIME no. 2 {"n":2}
# 1 TIME no. 1 {"n":1}' "$(ctl dlq list jobs | sed -E '1d; s/20[0-9-]*T[0-9:.]*Z/TIME/; s/  +/ /g')"
same "... so many" 2 "$(ctl dlq list jobs --count 2 | tail -n +2 | wc -l)"
same "... with a filter" '{"n":2}' "$(ctl dlq list jobs --where '{"n":2}' | awk 'NR > 1 { print $NF }')"
id=$(ctl dlq list jobs --json >/dev/null && sed -E 's/.*"id":"([0-9a-f]*)","attempts":1,"failed":"[^"]*","error":"no. 2".*/\1/' "$scratch/out")
same "one of them" 'no. 2' "$(ctl dlq show jobs "$id" | sed -n 's/^error *//p')"
ends "one that is not there" 1 dlq show jobs 000000000000000000000001
ends "which?" 2 dlq requeue jobs
ends "ids and all of them" 2 dlq requeue jobs "$id" --all
same "one begins anew" '{"requeued":1}' "$(ctl dlq requeue jobs "$id" --json)"
ends "they are not removed without --yes" 2 dlq delete jobs --all
same "they are removed" "removed  2" "$(ctl dlq delete jobs --all --yes)"

# ---- users ----
echo "secret word" >"$scratch/password"
ends "a user is made" 0 user add ann '+get' '+kv.get' '+ping' '+acl|whoami' '~a/*' --new-password-file "$scratch/password"
says "... until the restart" "lost when the server restarts"
same "... and listed" "ann default" "$(ctl user list | awk 'NR > 1 { print $1 }' | xargs)"
ends "... is there already" 1 user add ann --no-password
ends "a password among the rules is refused" 2 user add eve '>open'
says "... which is told" "is visible to others"
ends "nobody to ask for a password" 2 user add eve +get
export TUPLEDCTL_PASSWORD="secret word"
ends "a user who may not ask how the server is" 1 -u "redis://ann@127.0.0.1:$port" ping
says "... learns that it is there" "it responds, but does not report its health: NOPERM"
ends "what a user may not" 1 -u "redis://ann@127.0.0.1:$port" db list
says "... is told" "NOPERM"
TUPLEDCTL_PASSWORD=wrong ends "a wrong password" 1 -u "redis://ann@127.0.0.1:$port" user whoami
says "... is told" "WRONGPASS"
unset TUPLEDCTL_PASSWORD
ends "a password in a file" 0 -u "redis://ann@127.0.0.1:$port" --password-file "$scratch/password" user whoami
ends "a password file that is not there" 2 --password-file "$scratch/none" ping
same "a password in the URL" "user  ann" "$(ctl -u "redis://ann:secret%20word@127.0.0.1:$port" user whoami)"
ends "may the user?" 0 user may ann kv.get '["a",1]'
ends "... and that?" 1 user may ann kv.set '["a",1]' 1
says "... why not" "has no permissions to run the 'kv.set' command"
ends "more rules" 0 user rules ann +kv.set -q
ends "... and now?" 0 user may ann kv.set '["a",1]' 1
printf 'other\n' | timeout 30 "$tool" user password ann --new-password-file - -q
same "another password, from standard input" 0 $?
ends "... is the only one" 1 -u "redis://ann:secret%20word@127.0.0.1:$port" user whoami
ends "... and good" 0 -u "redis://ann:other@127.0.0.1:$port" user whoami
ends "a user is not removed without --yes" 2 user delete ann
ends "a user is removed" 0 user delete ann --yes
ends "... who is gone" 1 user delete ann --yes
ends "... and not shown" 1 user show ann
ends "without a configuration nothing can be kept" 1 user add ann --no-password --save
says "... which is told" "was made, but could not be made permanent"
echo "for the operator" | timeout 30 "$tool" user password default --new-password-file - -q
ends "without a password" 1 ping
says "... it is told what to do" "TUPLEDCTL_PASSWORD or --password-file"
export TUPLEDCTL_PASSWORD="for the operator"
ends "with it" 0 ping
cli -a "$TUPLEDCTL_PASSWORD" --no-auth-warning ACL SETUSER default nopass >/dev/null
unset TUPLEDCTL_PASSWORD

# ---- backups ----
ends "a backup" 0 backup --wait --json
file=$(sed -E 's/.*"file":"([^"]*)".*/\1/' "$scratch/out")
check "... is where it says" test -s "$file"
same "... and holds what it says" "tupled-$(sed -E 's/.*"version":"([^"]*)".*/\1/' "$scratch/out").db" "${file##*/}"
ends "a backup without waiting" 0 backup
check "... says which file" grep -q "^file  *$scratch/data/backups/tupled-" "$scratch/out"
until [ "$(cli INFO persistence | grep -c '^rdb_bgsave_in_progress:0')" = 1 ]; do sleep 0.02; done
rm -rf "$scratch/data/backups" && : >"$scratch/data/backups"
cli SET more 1 >/dev/null
ends "a backup that fails" 1 backup --wait
check "... is told, with the place" grep -q "$scratch/data/backups" "$scratch/err"
rm -f "$scratch/data/backups"

# ---- watching ----
cli KV.SET '["w",1]' '"old"' >/dev/null
timeout 60 "$tool" watch '["w",1]' '["none"]' --prefix '["w",2]' >"$scratch/watch" 2>"$scratch/watch-err" &
watcher=$!
check "the current state comes first" there "$scratch/watch" '"old"'
check "... of what is not there too" there "$scratch/watch" '\["none"\]  \(gone\)'
cli KV.SET '["w",1]' '"new"' >/dev/null
cli KV.SET '["w",2,"x"]' '[1,2]' >/dev/null
cli KV.SET '["w",3]' '"not asked for"' >/dev/null
check "changes" there "$scratch/watch" '\["w",2,"x"\]  \[1,2\]'
kill -KILL "$server"
wait "$server" 2>/dev/null
check "a lost connection is told" there "$scratch/watch-err" 'reconnecting'
start_server --port "$port"
cli KV.DEL '["w",1]' >/dev/null
cli KV.SET '["none"]' 1 >/dev/null
check "it goes on after a restart" there "$scratch/watch" '\["none"\]  1'
cli FLUSHDB >/dev/null
check "a flush" there "$scratch/watch" '\(all keys\)  \(gone\)'
kill "$watcher"
wait "$watcher" 2>/dev/null
same "nothing was missed, nothing is there twice" '["w",1]  "old"
["none"]  (gone)
["w",1]  "new"
["w",2,"x"]  [1,2]
["w",1]  (gone)
["none"]  1
(all keys)  (gone)' "$(sed 's/^[0-9a-f]*  //' "$scratch/watch")"
since=$(sed -n '3s/ .*//p' "$scratch/watch")
same "from a version on, as JSON" '{"versionstamp":"@","key":["w",2,"x"],"value":[1,2],"gone":false}
{"versionstamp":"@","key":["w",1],"value":null,"gone":true}' \
    "$(ctl watch '["w",1]' --prefix '["w",2]' --since "$since" --count 2 --json)"
ends "a version that never was" 1 watch --prefix '[]' --since ffffffffffffffff0000
says "... is stale" "STALE"
says "... and what that means is told" "were missed"
ends "nothing to watch" 2 watch
# The key changes between the question for the version and the one for its value: a server that plays that.
coproc PLAYED { exec timeout 60 python3 -c '
import socket
text = lambda t: b"$%d\r\n%s\r\n" % (len(t), t)
row = lambda value, version: b"*4\r\n" + text(b"[\"a\"]") + text(value) + text(version) + b"$-1\r\n"
stamp = lambda n: b"%020x" % (n << 16)
said = {b"CLIENT": b"+OK\r\n", b"KV.VERSION": text(stamp(1)),
        b"KV.GET": b"*3\r\n" + text(b"2") + text(stamp(2)) + b"$-1\r\n",
        b"KV.CHANGES": b"*2\r\n" + text(stamp(3)) + b"*2\r\n" + row(b"2", stamp(2)) + row(b"3", stamp(3))}
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); print(s.getsockname()[1], flush=True)
f = s.accept()[0].makefile("rwb")
while line := f.readline():
    words = [f.read(int(f.readline()[1:]) + 2)[:-2] for _ in range(int(line[1:]))]
    f.write(said[words[0]]); f.flush()' 2>/dev/null; }
played=$PLAYED_PID
if read -r -t 20 played_port <&"${PLAYED[0]}"; then
    same "a change that came with the first state is not shown again" '["a"]  2
["a"]  3' "$(ctl -u "redis://127.0.0.1:$played_port" watch '["a"]' --count 2 | sed 's/^@  //')"
    kill "$played" 2>/dev/null
else
    skip "a change that came with the first state is not shown again" "python3 is not here"
fi
ends "a key that is none" 2 watch users
timeout 30 "$tool" watch --prefix '[]' --since 0 2>"$scratch/err" | head -n 1 >"$scratch/out"
same "it ends when nobody reads any more" "1" "$(wc -l <"$scratch/out")"

# ---- what asks on a terminal ----
# typed <prompt> <text> ... -- <word>...: each text is typed when its prompt is on the screen ($scratch/screen);
# how the call ended is $status
typed() {
    local dialogue=() words
    while [ "$1" != -- ]; do dialogue+=("$1"); shift; done
    shift
    printf -v words '%q ' "$tool" "$@"
    : >"$scratch/screen"
    coproc SCREEN { TERM=xterm timeout 60 script -qec "stty -a >$scratch/before; $words; echo \$? >$scratch/status; stty -a >$scratch/after" /dev/null >"$scratch/screen" 2>&1; }
    local pid=$SCREEN_PID to=${SCREEN[1]} i
    for ((i = 0; i < ${#dialogue[@]}; i += 2)); do
        there "$scratch/screen" "${dialogue[i]}" >/dev/null || break
        printf '%s' "${dialogue[i + 1]}" >&"$to"
    done
    wait "$pid" 2>/dev/null
    status=$(cat "$scratch/status")
}
if command -v script >/dev/null; then
    cli KV.DB CREATE precious >/dev/null
    typed 'y/N' $'n\n' -- db drop precious
    same "no is no" 1 "$status"
    ends "... and it is still there" 0 db info precious
    typed 'y/N' $'y\n' -- db drop precious
    same "yes is yes" 0 "$status"
    ends "... and it is gone" 1 db info precious
    typed 'New password' $'hush hush\n' 'Repeat' $'hush hush\n' -- user add tom +@all -q
    same "a password is asked for" 0 "$status"
    check "... and not shown" test -z "$(grep hush "$scratch/screen")"
    check "... with the terminal as it was" cmp "$scratch/before" "$scratch/after"
    ends "... and good" 0 -u "redis://tom:hush%20hush@127.0.0.1:$port" ping
    typed 'New password' $'one\n' 'Repeat' $'two\n' -- user password tom
    same "two that differ are none" 2 "$status"
    ends "... and the old one stays" 0 -u "redis://tom:hush%20hush@127.0.0.1:$port" ping
else
    skip "what asks on a terminal" "script is not installed (package util-linux)"
fi

# ---- top ----
ends "a look" 0 top --once
check "... says what runs" grep -qE '^info +[0-9.]+' "$scratch/out"
same "... and finds in INFO all that it asks for" "" "$(cat "$scratch/err")"
same "... as JSON" '"health":"ok"' "$(ctl top --once --json | grep -o '"health":"ok"')"
same "... likewise" "" "$(cat "$scratch/err")"
if command -v script >/dev/null; then
    typed 'commands [0-9]' q -- top
    check "the screen" grep -qE 'commands [0-9]' "$scratch/screen"
    same "q ends it" 0 "$status"
    check "... with the terminal as it was" cmp "$scratch/before" "$scratch/after"
    check "... and its own screen left" grep -q $'\x1b\[?1049l' "$scratch/screen"
else
    skip "the screen" "script is not installed (package util-linux)"
fi

# ---- how fast ----
cli SET mine 1 >/dev/null
ends "bench" 0 bench -q -n 60 -c 4 --keys 200 --json
same "... every mix, every operation" \
    "get 60 set 60 atomic 60 queue 60 list 60 watch 60 plain-get 60 plain-set 60" \
    "$(tr '}' '\n' <"$scratch/out" | sed -nE 's/.*"mix":"([a-z-]*)","operations":([0-9]*).*/\1 \2/p' | xargs)"
ends "... several at a time on a connection" 0 bench -n 60 -c 3 -P 5 atomic queue
says "... says what it writes" 'writes below ["tupledctl-bench",'
same "... leaves nothing" "1 0" "$(cli DBSIZE | tr '\n' ' ')$(cli KV.QUEUE LIST | grep -c bench)"
ends "a mix that is not there" 2 bench everything
timeout 60 "$tool" bench -s 60 -c 4 set queue >"$scratch/out" 2>"$scratch/err" &
pid=$!
busy() {
    local tries
    for ((tries = 0; tries < 1500; tries++)); do
        [ "$(cli DBSIZE)" -gt 20 ] && return
        sleep 0.02
    done
    return 1
}
check "it is under way" busy
ps -o pid= --ppid "$pid" | xargs kill -INT
wait "$pid"
same "Ctrl-C ends it" 1 $?
same "... and leaves nothing" 1 "$(cli DBSIZE)"
timeout 60 "$tool" bench -s 60 -c 4 set >"$scratch/out" 2>"$scratch/err" &
pid=$!
check "another one" busy
kill -KILL "$server"
wait "$server" 2>/dev/null
server=''
wait "$pid"
same "a server that is killed ends it" 3 $?
says "... which is told" "the connection broke"
says "... and what is left" "its data is still there"
start_server --port "$port"

# ---- verification ----
ends "all is good" 0 verify --json
same "... and says so" good "$(sed -E 's/.*"state":"([a-z]*)".*/\1/' "$scratch/out")"
ends "what the last one found" 0 verify --status
ends "none to stop" 1 verify --stop
for ((i = 0; i < 3000; i++)); do echo "KV.SET '[\"d\",$i]' '\"$(printf '%0200d' "$i")\"'"; done | cli >/dev/null
same "there is much" 3000 "$(cli KV.COUNT PREFIX '["d"]')"
stop_server
place=$(grep -abo -m 1 "$(printf '%0200d' 1500)" "$scratch/data/tupled.db" | head -n 1 | cut -d: -f1)
printf 'damaged!' | dd of="$scratch/data/tupled.db" bs=1 seek="$place" conv=notrunc 2>/dev/null
start_server --port "$port"
ends "damage" 1 verify
says "... is told" "docs/durability.md"
check "... with its place" grep -q 'places.*tupled.db' "$scratch/out"
ends "ping says that it is not well" 1 ping
says "... too" "the server is not healthy: damaged"
stop_server
finish
