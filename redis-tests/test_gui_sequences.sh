#!/bin/bash
# GUIs that npm does not have: the commands that each sends, in the order in which a person clicks, and the
# reply that it needs to each. Read in their sources; what differs between versions is here in both forms.
# Those of npm: test_gui_node.sh.
# shellcheck disable=SC2016 # $ begins a path
. "$(dirname "$0")/server.sh"

if ! command -v redis-cli >/dev/null; then
    skip "GUIs" "redis-cli is not installed (package redis-tools)"
    exit 0
fi

gui='' db=0 proto=-2

as_gui() {
    timeout 60 redis-cli --no-auth-warning --user gui --pass secret -p "$port" -n "$db" "$@"
}

cli() {
    as_gui "$proto" --no-raw "$@" 2>&1 |
        sed -e '/^$/d' -e 's/ *$//'
}

kv() {
    timeout 60 redis-cli -p "$port" -n "$db" "$@" 2>&1 | sed '/^$/d'
}

# wants <reply> <command>...: as redis-cli shows it.
wants() {
    local wanted=$1
    shift
    same "$gui: $*" "$wanted" "$(cli "$@")"
}

# wants_some <pattern> <command>...: an extended regular expression for the whole reply.
wants_some() {
    local pattern=$1 got
    shift
    got=$(cli "$@")
    if [[ $got =~ ^($pattern)$ ]]; then
        echo "ok - $gui: $*"
    else
        same "$gui: $*" "$pattern" "$got"
    fi
}

# holds <value> <key>: the tuple, as KV.GET tells it.
holds() {
    same "$gui: ... and the value is right" "$1" "$(kv KV.GET "$2")"
}

# dumped <key> <other key>: what DUMP gives of the one is restored as the other.
dumped() {
    as_gui --raw DUMP "$1" | head -c -1 | as_gui -x RESTORE "$2" 0
}

# info <section> <field>...: INFO has them.
info() {
    local section=$1 field told
    shift
    told=$(as_gui INFO | tr -d '\r')
    for field in "$@"; do
        [[ $told == *"# $section"*$'\n'"$field:"* ]] || { not_ok "$gui: INFO has $field"; return; }
    done
    echo "ok - $gui: INFO has $*"
}

# Values with what no JSON of a GUI knows: a bigint and dates.
ada='{"name":"Ada","id":{"$bigint":"9007199254740993"},"since":{"$date":"2023-04-23T00:00:00.000Z"},'
ada+='"tags":["a",{"k":null}],"q\"q":1.5}'
text=${ada//\\/\\\\}
text=\"${text//\"/\\\"}\"

# begin <gui> <database>
begin() {
    gui=$1 db=$2 proto=-2
    kv KV.SET '["users",42,"profile"]' "$ada" >/dev/null
    kv KV.SET '["users",43]' '[1,2,3]' >/dev/null
    kv KV.SET '["files","note"]' '{"$bytes":"cGxhaW4gdGV4dA=="}' >/dev/null
}

all_keys='1) "0"
2) 1) "files/note"
   2) "users/#42/profile"
   3) "users/#43"'
no_keys='1) "0"
2) (empty array)'
module='1) 1) "name"
   2) "ReJSON"
   3) "ver"
   4) (integer) 20[0-9]{3}
   5) "path"
   6) ""
   7) "args"
   8) (empty array)'
databases='1) "databases"
2) "16"'
cluster_disabled='ERR This instance has cluster support disabled'

start_server --user gui on '>secret' '~*' '&*' +@all view=tuples

# ---- RedisInsight ----
# From the module's version 2 on it sends paths with $, else the older ones; some commands have `.` always.

begin RedisInsight 1
wants OK CLIENT SETNAME redisinsight-common-0001
info Server redis_version redis_mode uptime_in_seconds
info Clients connected_clients
info Memory used_memory
info Stats instantaneous_ops_per_sec instantaneous_input_kbps instantaneous_output_kbps
info CPU used_cpu_sys used_cpu_user
info Replication role
info Keyspace "db$db"
wants "$cluster_disabled" CLUSTER INFO # redis-cli shows it as text
wants "(error) $cluster_disabled" CLUSTER SLOTS
wants_some "${module//[)(]/\\&}" MODULE LIST
wants_some '1\)  1\) "json.get"'$'\n''.*' COMMAND INFO json.get
wants '1) (nil)
2) (nil)
3) (nil)
4) (nil)' COMMAND INFO bf.info cf.info cms.info topk.info
wants "$databases" CONFIG GET databases
# The list of keys.
wants '(integer) 3' DBSIZE
wants "$all_keys" SCAN 0 MATCH '*' COUNT 500
wants '1) "0"
2) 1) "users/#42/profile"
   2) "users/#43"' SCAN 0 MATCH '*' COUNT 500 TYPE ReJSON-RL
wants '1) "0"
2) 1) "files/note"' SCAN 0 MATCH '*' COUNT 500 TYPE string
for type in hash list set zset stream graphdata TSDB-TYPE vectorset; do
    wants "$no_keys" SCAN 0 MATCH '*' COUNT 500 TYPE "$type"
done
wants_some '\(integer\) [0-9]+' MEMORY USAGE users/#42/profile samples 0
wants ReJSON-RL TYPE users/#42/profile
wants string TYPE files/note
wants '(integer) -1' TTL users/#42/profile
wants '(nil)' MEMORY USAGE nobody samples 0
wants none TYPE nobody
wants '(integer) -2' TTL nobody
# A value: how long it is ...
wants '"object"' JSON.TYPE users/#42/profile .
wants '(integer) 5' JSON.OBJLEN users/#42/profile .
wants '"array"' JSON.TYPE users/#43 .
wants '(integer) 3' JSON.ARRLEN users/#43 .
wants_some '\(integer\) [0-9]+' JSON.DEBUG MEMORY users/#42/profile .
# ... as a whole ...
wants "\"[${text:1:-1}]\"" JSON.GET users/#42/profile '$'
wants "$text" JSON.GET users/#42/profile .
wants '(nil)' JSON.GET nobody '$'
# ... and of a large one, a member after the other.
wants '1) "object"' JSON.TYPE users/#42/profile '$'
wants '1) 1) "name"
   2) "id"
   3) "since"
   4) "tags"
   5) "q\"q"' JSON.OBJKEYS users/#42/profile '$'
wants '1) "name"
2) "id"
3) "since"
4) "tags"
5) "q\"q"' JSON.OBJKEYS users/#42/profile .
wants '1) "string"' JSON.TYPE users/#42/profile '$["name"]'
wants '"string"' JSON.TYPE users/#42/profile '["name"]'
wants '1) "date"' JSON.TYPE users/#42/profile '$["since"]'
wants '1) (nil)' JSON.OBJLEN users/#42/profile '$["since"]'
wants '1) (integer) 2' JSON.ARRLEN users/#42/profile '$["tags"]'
wants '(integer) 2' JSON.ARRLEN users/#42/profile '["tags"]'
wants '1) "number"' JSON.TYPE users/#42/profile "\$['q\"q']"
wants '"[1.5]"' JSON.GET users/#42/profile "\$['q\"q']"
wants '"1.5"' JSON.GET users/#42/profile "['q\"q']"
wants_some '(1\) )?\(integer\) [0-9]+' JSON.DEBUG MEMORY users/#42/profile "\$['tags']"
wants '1) "null"' JSON.TYPE users/#42/profile "\$['tags'][1][\"k\"]"
wants '"[null]"' JSON.GET users/#42/profile "\$['tags'][1][\"k\"]"
wants '1) "integer"' JSON.TYPE users/#43 '$[0]'
wants '"[1]"' JSON.GET users/#43 '$[0]'
wants '"1"' JSON.GET users/#43 '[0]'
# It edits members; the bigint and the date beside them stay.
wants '(integer) 1' EXISTS users/#42/profile
wants OK JSON.SET users/#42/profile "\$['name']" '"Ada L."'
holds "${ada/Ada/Ada L.}" '["users",42,"profile"]'
wants OK JSON.SET users/#42/profile '["name"]' '"Ada"'
wants OK JSON.SET users/#42/profile '$["new"]' '{"at":{"$date":"2024-02-29T12:00:00.000Z"}}'
holds "${ada%\}},\"new\":{\"at\":{\"\$date\":\"2024-02-29T12:00:00.000Z\"}}}" '["users",42,"profile"]'
wants '(integer) 1' JSON.DEL users/#42/profile "\$['new']"
wants '1) (integer) 3' JSON.ARRAPPEND users/#42/profile "\$['tags']" '{"$set":[1]}'
wants '(integer) 4' JSON.ARRAPPEND users/#42/profile "['tags']" '"b"'
wants '1) (nil)' JSON.ARRAPPEND users/#42/profile "\$['name']" 1
wants '(integer) 1' JSON.DEL users/#42/profile "['tags'][3]"
holds "${ada/null\}]/null\},\{\"\$set\":[1]\}]}" '["users",42,"profile"]'
wants '(integer) 1' JSON.DEL users/#42/profile "\$['tags'][2]"
holds "$ada" '["users",42,"profile"]'
wants_some '\(error\) ERR .*' JSON.SET users/#42/profile "\$['since']" '{"$date":"yesterday"}'
wants_some '\(error\) ERR .*' JSON.SET users/#42/profile "\$['name']" 'no JSON'
holds "$ada" '["users",42,"profile"]'
# Bytes.
wants '(integer) 10' STRLEN files/note
wants '"plain"' GETRANGE files/note 0 4
wants '"plain text"' GET files/note
wants OK SET files/note other XX
holds '{"$bytes":"b3RoZXI="}' '["files","note"]'
# It adds ...
wants '(integer) 0' EXISTS users/#44
wants OK JSON.SET users/#44 '$' '{"n":{"$bigint":"1"}}' NX
holds '{"n":{"$bigint":"1"}}' '["users",44]'
wants '(nil)' JSON.SET users/#44 . 1 NX
wants OK SET files/#1 new EX 500 NX
wants '(nil)' SET files/#1 new NX
wants_some "\(integer\) 1" HSET users/#45 field value
# ... renames ...
wants '(integer) 0' RENAMENX users/#44 users/#43
wants '(integer) 1' RENAMENX users/#44 users/#46
holds '{"n":{"$bigint":"1"}}' '["users",46]'
# ... sets times to live ...
wants '(integer) 1' EXPIRE users/#46 500
wants_some '\(integer\) (499|500)' TTL users/#46
wants OK JSON.SET users/#46 '$' '{"n":{"$bigint":"2"}}'
wants_some '\(integer\) [1-9][0-9]{2}' TTL users/#46
wants '(integer) 1' PERSIST users/#46
wants '(integer) 0' EXPIRE nobody 500
# ... and deletes.
wants '(integer) 2' DEL users/#46 files/#1
wants '(integer) 0' DEL users/#46
wants '1) "0"
2) 1) "users/#42/profile"' SCAN 0 MATCH 'users/#42/*' COUNT 10000
wants '(integer) 1' UNLINK users/#42/profile
wants '"[1,2,3]"' JSON.GET users/#43 .

# ---- Another Redis Desktop Manager ----

begin "Another Redis Desktop Manager" 2
wants OK CLIENT SETNAME my-server
wants "$databases" CONFIG GET databases
same "$gui: each database has three figures" "db$db:keys=3,expires=0,avg_ttl=0" \
    "$(cli INFO | tr -d '\r' | grep -o "^db$db:.*")"
info Memory used_memory_human used_memory_peak_human
info Stats total_connections_received total_commands_processed
wants PONG PING
wants "$all_keys" SCAN 0 MATCH '*' COUNT 500
wants '1) "0"
2) 1) "users/#42/profile"' SCAN 0 MATCH '*prof*' COUNT 10000
wants '1) "0"
2) 1) "users/#42/profile"
   2) "users/#43"' SCAN 0 MATCH 'users/*' COUNT 10000
wants '(integer) 1' EXISTS users/#43
wants ReJSON-RL TYPE users/#42/profile
wants '(integer) -1' TTL users/#42/profile
wants "$text" JSON.GET users/#42/profile NOESCAPE
wants "$text" JSON.GET users/#42/profile
wants OK JSON.SET users/#42/profile . "${ada/Ada/Bob}"
wants OK JSON.SET users/#42/profile '$' "${ada/Ada/Bob}"
holds "${ada/Ada/Bob}" '["users",42,"profile"]'
wants OK JSON.SET users/#50 . '{"New key":"New value"}'
holds '{"New key":"New value"}' '["users",50]'
wants OK SET files/#2 ''
holds '{"$bytes":""}' '["files",2]'
wants OK RENAME users/#50 users/#51
wants '(integer) 1' EXPIRE users/#51 500
wants_some '\(integer\) (499|500)' TTL users/#51
wants '(integer) 1' PERSIST users/#51
wants_some '\(integer\) [0-9]+' MEMORY USAGE users/#51
wants '"msgpack"' OBJECT ENCODING users/#51
wants '(integer) 1' DEL users/#51
wants '(integer) 0' DEL users/#51

# ---- Tiny RDM ----
# In RESP3.

begin "Tiny RDM" 3
proto=-3
wants OK CLIENT SETINFO LIB-NAME go-redis
wants OK CLIENT SETNAME my%20server
wants PONG PING
wants '1# "databases" => "16"' CONFIG GET databases
info Keyspace "db$db"
wants '(integer) 3' DBSIZE
wants "$all_keys" SCAN 0 MATCH '*' COUNT 3000
wants '1) "0"
2) 1) "users/#42/profile"
   2) "users/#43"' SCAN 0 MATCH '*' COUNT 3000 TYPE rejson-rl
wants ReJSON-RL TYPE users/#42/profile
wants '(integer) -1' TTL users/#42/profile
wants_some '\(integer\) [0-9]+' MEMORY USAGE users/#42/profile SAMPLES 0
wants "$text" JSON.GET users/#42/profile
wants '"plain text"' GET files/note
wants '(integer) 10' STRLEN files/note
wants '(integer) -1' PTTL users/#42/profile
wants OK JSON.SET users/#42/profile . "${ada/Ada/Bob}"
holds "${ada/Ada/Bob}" '["users",42,"profile"]'
wants '(integer) 1' EXPIRE users/#42/profile 500
wants '(integer) 1' PERSIST users/#42/profile
wants '(integer) 0' RENAMENX users/#43 files/note
wants '(integer) 1' RENAMENX users/#43 users/#44
wants '(integer) 1' UNLINK users/#44
wants '(integer) 1' DEL users/#42/profile
# It takes keys out with DUMP and brings them in with RESTORE: as they are, whatever the bytes.
kv KV.SET '["users",42,"profile"]' "$ada" >/dev/null
same "$gui: what DUMP gave, RESTORE takes" OK "$(dumped users/#42/profile users/#52)"
holds "$ada" '["users",52]'

stop_server
finish
