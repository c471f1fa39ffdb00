#!/bin/bash
# Typed REST, below /kv (docs/rest-typed.md): every route with what it answers and what it refuses, and streams.
export HTTP=1
. "$(dirname "$0")/server.sh"
. redis-tests/rest.sh
begin_rest /kv
cli() { redis-cli -p "$port" "$@"; }
# head_of <name of a header> <path> [curl's arguments]: its value.
head_of() {
    local name=$1 path=$2
    shift 2
    curl -s -m 20 -o "$scratch/body" -D - "$base$path" "$@" | tr -d '\r' | sed -n "s/^$name: //Ip"
}
# member <name>: of the JSON on standard input, the first text of that name.
member() { sed -E "s/.*\"$1\":\"([^\"]*)\".*/\1/"; }
stamp+='; s/"[0-9a-f]{24}"/ID/g; s/"(dueAt|failedAt|expiresAt|oldestMs)":[0-9]+/"\1":T/g; s/"(receipt|cursor)":"[^"]*"/"\1":R/g'

# ---- one entry ----
answers "a value is set" '200 {"ok":true,"versionstamp":VS}' PUT /entries/users/%2342 -d '{"n":"Ada","b":{"$bytes":"AAE="},"i":{"$bigint":"7"}}'
ada='{"n":"Ada","b":{"$bytes":"AAE="},"i":{"$bigint":"7"}}'
answers "... and read, as it is" "200 $ada" GET /entries/users/%2342
same "its key has a number" "$ada" "$(cli KV.GET '["users",42]')"
answers "a slash may be encoded" "200 $ada" GET /entries/users%2F%2342
answers "a key as JSON" "200 $ada" GET /entries/%5B%22users%22%2C42%5D
answers "a text that looks like a number is a text" '404 {"error":"the key does not exist"}' GET /entries/users/42
answers "all types of parts" '200 {"ok":true,"versionstamp":VS}' PUT /entries/a%252fb/%26ff00/%21true/%23n7/%25 -d 1
same "... are those" 1 "$(cli KV.GET '["a/b",{"$bytes":"/wA="},true,{"$bigint":"7"},""]')"
answers "no key" '400 {"error":"the key in the path: invalid key: a key must have at least one part"}' GET /entries/
answers "an empty part" '400 {"error":"the key in the path: invalid key: empty part (write the empty string as %) at part 2"}' GET /entries/a//b
answers "what must be escaped" '400 {"error":"the key in the path: invalid key: a character that must be percent-escaped at part 1"}' GET '/entries/a%20b'
answers "... is" '404 {"error":"the key does not exist"}' GET '/entries/a%2520b'
answers "no UTF-8" '400 {"error":"the path is not valid percent-encoded UTF-8"}' GET /entries/%ff
status "a key that is no JSON" 400 GET /entries/%5B1
answers "a stored null is an entry" '200 {"ok":true,"versionstamp":VS}' PUT /entries/nothing -d null
answers "... and not a missing one" '200 null' GET /entries/nothing
answers "a broken value" '400 {"error":"ERR invalid value: expected a value before the end of the text at offset 5"}' PUT /entries/x -d '{"a":'
answers "no value" '400 {"error":"ERR invalid value: expected a value before the end of the text at offset 0"}' PUT /entries/x
answers "... stored nothing" '404 {"error":"the key does not exist"}' GET /entries/x
answers "a type that is none of ours" '415 {"error":"the Content-Type of a value must be application/json or application/msgpack"}' \
    PUT /entries/x -d 7 -H 'Content-Type: text/plain'
answers "JSON with a character set" '200 {"ok":true,"versionstamp":VS}' PUT /entries/x -d 7 -H 'Content-Type: application/json; charset=utf-8'
answers "a parameter that is not known" "400 {\"error\":\"unknown parameter 'ttl'\"}" PUT '/entries/x?ttl=1' -d 1
answers "a method that it has not" '405 {"error":"ERR method not allowed; this path supports GET, HEAD, PUT, DELETE, OPTIONS"}' POST /entries/x -d 1
status "a path that is not there" 404 GET /nosuch

# ---- MessagePack ----
printf '\x82\xa1a\x01\xa1b\xc4\x01\xff' >"$scratch/packed"
for type in application/msgpack application/vnd.msgpack application/x-msgpack; do
    answers "a value as $type" '200 {"ok":true,"versionstamp":VS}' PUT /entries/packed --data-binary "@$scratch/packed" -H "Content-Type: $type"
    same "... is answered so" application/msgpack "$(head_of content-type /entries/packed -H "Accept: $type")"
    check "... the bytes that came" cmp "$scratch/packed" "$scratch/body"
done
answers "... and as JSON" '200 {"a":1,"b":{"$bytes":"/w=="}}' GET /entries/packed
same "as much of both is JSON" application/json "$(head_of content-type /entries/packed -H 'Accept: application/msgpack, application/json')"
same "more of MessagePack is that" application/msgpack \
    "$(head_of content-type /entries/packed -H 'Accept: application/json;q=0.5, application/msgpack;q=0.9, */*')"
same "what is not wanted is not sent" application/json "$(head_of content-type /entries/packed -H 'Accept: application/msgpack;q=0')"
status "broken MessagePack" 400 PUT /entries/packed --data-binary $'\xc1' -H 'Content-Type: application/msgpack'
printf '\x37' >"$scratch/packed"
answers "a byte that JSON would read as 7" '200 {"ok":true,"versionstamp":VS}' PUT /entries/byte --data-binary "@$scratch/packed" -H 'Content-Type: application/msgpack'
answers "... is 55" '200 55' GET /entries/byte

# ---- versionstamps ----
answers "a new entry" '200 {"ok":true,"versionstamp":VS}' PUT /entries/v -d 1 -H 'If-None-Match: *'
tag=$(head_of etag /entries/v)
same "the ETag is the versionstamp" "\"$(cli KV.GET '["v"]' WITHVERSION | tail -1)\"" "$tag"
same "one that is there already" "412 {\"error\":\"the condition is not met\",\"versionstamp\":$tag}" \
    "$(stamp=s/x/x/ ask PUT /entries/v -d 2 -H 'If-None-Match: *')"
answers "... stays" '200 1' GET /entries/v
answers "what the client has" '304 ' GET /entries/v -H "If-None-Match: $tag"
answers "... also made weak on the way" '304 ' GET /entries/v -H "If-None-Match: \"x\", W/$tag"
answers "... or any" '304 ' GET /entries/v -H 'If-None-Match: *'
answers "another is sent" '200 1' GET /entries/v -H 'If-None-Match: "00000000000000000001"'
answers "as it was" '200 {"ok":true,"versionstamp":VS}' PUT /entries/v -d 2 -H "If-Match: $tag"
answers "no longer as it was" '412 {"error":"the condition is not met","versionstamp":VS}' PUT /entries/v -d 3 -H "If-Match: $tag"
answers "... to be deleted" '412 {"error":"the condition is not met","versionstamp":VS}' DELETE /entries/v -H "If-Match: $tag"
answers "... is what it was" '200 2' GET /entries/v
answers "whatever it is" '200 {"ok":true,"versionstamp":VS}' PUT /entries/v -d 4 -H 'If-Match: *'
answers "... but is not" '412 {"error":"the condition is not met","versionstamp":null}' PUT /entries/none -d 4 -H 'If-Match: *'
answers "a versionstamp of what is not there" '412 {"error":"the condition is not met","versionstamp":null}' PUT /entries/none -d 4 -H "If-Match: $tag"
answers "a delete as it was" '200 {"ok":true,"versionstamp":VS}' DELETE /entries/v -H "If-Match: $(head_of etag /entries/v)"
answers "a delete of nothing" '404 {"error":"the key does not exist"}' DELETE /entries/v
answers "... with If-Match" '412 {"error":"the condition is not met","versionstamp":null}' DELETE /entries/v -H 'If-Match: *'
answers "a delete with a body" '400 {"error":"this request must not have a body"}' DELETE /entries/byte -d '{"where":{"a":1}}'
answers "a delete" '200 {"ok":true}' DELETE /entries/byte
answers "both conditions" '400 {"error":"If-Match and If-None-Match exclude each other"}' PUT /entries/v -d 1 -H "If-Match: $tag" -H 'If-None-Match: *'
answers "a tag that is none of ours" '400 {"error":"If-Match must be * or one versionstamp in quotes"}' PUT /entries/v -d 1 -H 'If-Match: "abc"'
answers "several" '400 {"error":"If-Match must be * or one versionstamp in quotes"}' DELETE /entries/v -H "If-Match: $tag, $tag"
answers "If-None-Match with a tag" '400 {"error":"If-None-Match of a write must be * (the key does not exist)"}' PUT /entries/v -d 1 -H "If-None-Match: $tag"
answers "... of a delete" '400 {"error":"If-None-Match is for PUT, because a missing key cannot be deleted"}' DELETE /entries/v -H 'If-None-Match: *'
same "none of that wrote" 0 "$(cli KV.EXISTS '["v"]' '["none"]')"
same "HEAD has the tag and no body" "200 " "$(ask HEAD /entries/nothing -I -o /dev/null)"

# ---- expiry ----
answers "an expiry" '200 {"ok":true,"versionstamp":VS}' PUT '/entries/short?expiresIn=60000' -d 1
at=$(head_of tupled-expires-at /entries/short)
check "... is told" [ "$((at - $(date +%s%3N)))" -gt 50000 ]
answers "... kept" '200 {"ok":true,"versionstamp":VS}' PUT '/entries/short?keepTtl=true' -d 2
same "... as it was" "$at" "$(head_of tupled-expires-at /entries/short)"
answers "... set to a time" '200 {"ok":true,"versionstamp":VS}' PUT "/entries/short?expiresAt=$((at + 1000))" -d 2
same "... to the millisecond" "$((at + 1000))" "$(head_of tupled-expires-at /entries/short)"
answers "... under a condition" '200 {"ok":true,"versionstamp":VS}' PUT '/entries/short?keepTtl=true' -d 3 -H "If-Match: $(head_of etag /entries/short)"
same "... too" "$((at + 1000))" "$(head_of tupled-expires-at /entries/short)"
answers "... ended" '200 {"ok":true,"versionstamp":VS}' PUT /entries/short -d 3
same "... by a write that says none" '' "$(head_of tupled-expires-at /entries/short)"
answers "two at once" '400 {"error":"only one of expiresIn, expiresAt and keepTtl can be given"}' PUT '/entries/short?expiresIn=5&keepTtl=true' -d 1
status "none at all" 400 PUT '/entries/short?expiresIn=0' -d 1
status "a switch that is none" 400 PUT '/entries/short?keepTtl=1' -d 1

# ---- the same request again ----
answers "a write with a name" '200 {"ok":true,"versionstamp":VS}' PUT /entries/again -d 1 -H 'Idempotency-Key: one'
tag=$(head_of etag /entries/again)
ask PUT /entries/again -d 2 >/dev/null
same "... again is what it was" "200 {\"ok\":true,\"versionstamp\":$tag}" "$(stamp=s/x/x/ ask PUT /entries/again -d 1 -H 'Idempotency-Key: one')"
answers "... and does nothing" '200 2' GET /entries/again
status "... with another value is refused" 400 PUT /entries/again -d 3 -H 'Idempotency-Key: one'
answers "a sum" '200 {"ok":true,"versionstamp":VS,"results":[5],"ids":[]}' POST /atomic -d '{"mutations":[{"type":"sum","key":"sum","value":5}]}' -H 'Idempotency-Key: two'
answers "... again" '200 {"ok":true,"versionstamp":VS,"results":[5],"ids":[]}' POST /atomic -d '{"mutations":[{"type":"sum","key":"sum","value":5}]}' -H 'Idempotency-Key: two'
answers "... happened once" '200 5' GET /entries/sum
answers "a conditional write" '200 {"ok":true,"versionstamp":VS}' PUT /entries/cond -d 1 -H 'If-None-Match: *' -H 'Idempotency-Key: three'
answers "... again is no conflict" '200 {"ok":true,"versionstamp":VS}' PUT /entries/cond -d 1 -H 'If-None-Match: *' -H 'Idempotency-Key: three'
answers "a name that is empty" '400 {"error":"Idempotency-Key must have 1 to 255 bytes, not 0"}' PUT /entries/again -d 1 -H 'Idempotency-Key;'
answers "one where none can be" '400 {"error":"Idempotency-Key is not supported here: this is not a single transaction"}' \
    DELETE '/entries?prefix=users' -H 'Idempotency-Key: x'
answers "... nor here" '400 {"error":"Idempotency-Key is not supported here: this is not a single transaction"}' POST /queues/q/lease -H 'Idempotency-Key: x'

# ---- ranges ----
cli FLUSHDB >/dev/null
for i in 1 2 3; do ask PUT "/entries/u/%23$i" -d "{\"n\":$i}" >/dev/null; done
ask PUT /entries/u2/x -d 0 >/dev/null
one='{"key":["u",1],"value":{"n":1},"versionstamp":VS}'
two='{"key":["u",2],"value":{"n":2},"versionstamp":VS}'
three='{"key":["u",3],"value":{"n":3},"versionstamp":VS}'
answers "a prefix is whole parts" "200 {\"entries\":[$one,$two,$three],\"cursor\":null,\"hasMore\":false}" GET '/entries?prefix=u'
answers "... also as JSON" "200 {\"entries\":[$one,$two,$three],\"cursor\":null,\"hasMore\":false}" GET '/entries?prefix=%5B%22u%22%5D'
answers "backwards" "200 {\"entries\":[$three,$two],\"cursor\":null,\"hasMore\":false}" GET '/entries?prefix=u&start=u/%232&reverse=true'
answers "start and end" "200 {\"entries\":[$two],\"cursor\":null,\"hasMore\":false}" GET '/entries?start=u/%232&end=u/%233'
answers "keys alone" '200 {"keys":[["u",1],["u",2],["u",3],["u2","x"]],"cursor":null,"hasMore":false}' GET '/entries?keysOnly=true'
answers "everything" '200 {"count":4}' GET '/count?prefix='
answers "a filter" "200 {\"entries\":[$three],\"cursor\":null,\"hasMore\":false}" GET '/entries?where=%7B%22n%22%3A%7B%22%24gt%22%3A2%7D%7D'
answers "a count of what fits" '200 {"count":2}' GET '/count?prefix=u&where=%7B%22n%22%3A%7B%22%24gt%22%3A1%7D%7D'
page=$(curl -s "$base/entries?prefix=u&limit=2")
cursor=$(member cursor <<<"$page")
same "a page" "{\"entries\":[$one,$two],\"cursor\":R,\"hasMore\":true}" "$(sed -E "$stamp" <<<"$page")"
answers "... and the next" "200 {\"entries\":[$three],\"cursor\":null,\"hasMore\":false}" GET "/entries?prefix=u&limit=2&cursor=$cursor"
status "a cursor is for its question alone" 400 GET "/entries?prefix=u2&cursor=$cursor"
answers "a prefix that is none" "400 {\"error\":\"prefix: invalid key: '#' must be followed by a number at part 2\"}" GET '/entries?prefix=u/%23x'
answers "a limit of 0" '400 {"error":"limit must be a number from 1 to 10000, received 0"}' GET '/entries?limit=0'
status "a filter that is wrong" 400 GET '/count?where=%7B%22a%22%3A%7B%22%24zap%22%3A1%7D%7D'
say='400 {"error":"prefix, start and end, or all=true must be given"}'
answers "a delete of nothing said" "$say" DELETE /entries
answers "... of an empty prefix" "$say" DELETE '/entries?prefix='
answers "... of an empty prefix as JSON" "$say" DELETE '/entries?prefix=%5B%5D'
answers "... of a start alone" "$say" DELETE '/entries?start=u'
answers "... of all and a prefix" "$say" DELETE '/entries?all=true&prefix=u'
answers "... deletes nothing" '200 {"count":4}' GET /count
answers "a delete of what fits" '200 {"deletedCount":1}' DELETE '/entries?prefix=u&where=%7B%22n%22%3A2%7D'
answers "... of so many" '200 {"deletedCount":1}' DELETE '/entries?prefix=u&limit=1'
answers "... from here to there" '200 {"deletedCount":1}' DELETE '/entries?start=u/%233&end=u/%234'
answers "... of all" '200 {"deletedCount":1}' DELETE '/entries?all=true'

# ---- transactions ----
ask PUT /entries/t -d 1 >/dev/null
tag=$(head_of etag /entries/t)
answers "a transaction" '200 {"ok":true,"versionstamp":VS,"results":[["t"],5,3,7,2,3,null],"ids":[]}' POST /atomic -d '{
    "checks":[{"key":"t","versionstamp":'"$tag"'},{"key":["no"],"versionstamp":null}],
    "mutations":[{"type":"set","key":"t","value":{"a":1},"expiresIn":60000},
    {"type":"sum","key":"n/#1","value":9,"clamp":[0,5]},{"type":"min","key":"min","value":3},{"type":"max","key":"max","value":7},
    {"type":"append","key":["l"],"value":[1,2]},{"type":"prepend","key":["l"],"value":[0]},{"type":"delete","key":["no"]}]}'
answers "... arrays" '200 [0,1,2]' GET /entries/l
answers "... sums at their limit" '200 5' GET /entries/n/%231
check "... expiries" [ -n "$(head_of tupled-expires-at /entries/t)" ]
answers "checks that fail" '409 {"ok":false,"error":"a check failed, nothing was changed","failed":[{"check":0,"versionstamp":VS},{"check":2,"versionstamp":null}]}' \
    POST /atomic -d '{"checks":[{"key":"t","versionstamp":'"$tag"'},{"key":"no","versionstamp":null},{"key":"no","versionstamp":'"$tag"'}],"mutations":[{"type":"delete","key":"t"}]}'
answers "... do nothing" '200 {"a":1}' GET /entries/t
status "a sum beyond its range" 400 POST /atomic -d '{"mutations":[{"type":"delete","key":"t"},{"type":"sum","key":"n/#1","value":9,"range":[0,5]}]}'
answers "... does nothing" '200 {"a":1}' GET /entries/t
# refused <what is wrong> <body>
refused() { answers "$1" "400 {\"error\":\"$1\"}" POST /atomic -d "$2"; }
refused 'a transaction must have checks, mutations, enqueues or acks' '{}'
refused 'mutations must be an array' '{"mutations":1}'
refused 'the body has an unknown member \"mutation\"' '{"mutation":[]}'
refused 'mutations[0] must be an object' '{"mutations":[1]}'
refused 'mutations[0].type must be set, delete, sum, min, max, append or prepend' '{"mutations":[{"type":"zap","key":"a"}]}'
refused 'mutations[1].key must be a key: an array of its parts, or a string in path form' '{"mutations":[{"type":"delete","key":"a"},{"type":"delete"}]}'
refused 'mutations[0].value must be given' '{"mutations":[{"type":"set","key":"a"}]}'
refused 'mutations[0]: value does not apply to delete' '{"mutations":[{"type":"delete","key":"a","value":1}]}'
refused 'mutations[0]: expiresIn does not apply to sum' '{"mutations":[{"type":"sum","key":"a","value":1,"expiresIn":5}]}'
refused 'mutations[0]: clamp does not apply to max' '{"mutations":[{"type":"max","key":"a","value":1,"clamp":[0,1]}]}'
refused 'mutations[0].clamp must be [lo, hi]' '{"mutations":[{"type":"sum","key":"a","value":1,"clamp":[0]}]}'
refused 'mutations[0]: only one of expiresIn, expiresAt and keepTtl can be given' '{"mutations":[{"type":"set","key":"a","value":1,"expiresIn":5,"keepTtl":true}]}'
refused 'checks[0].versionstamp must be a string, or null if the key must not exist' '{"checks":[{"key":"a"}]}'
refused 'enqueues[0].queue must be a non-empty string' '{"enqueues":[{"value":1}]}'
refused 'enqueues[0].value must be given' '{"enqueues":[{"queue":"q"}]}'
refused 'acks[0] must be a non-empty string' '{"acks":[7]}'
status "a receipt that is none" 400 POST /atomic -d '{"acks":["abc"]}'

# ---- queues ----
answers "messages of a transaction" '200 {"ok":true,"versionstamp":VS,"results":[["order"]],"ids":[ID,ID]}' POST /atomic -d '{
    "mutations":[{"type":"set","key":"order","value":1}],
    "enqueues":[{"queue":"jobs","value":{"j":1},"backoff":[0],"undelivered":["failed/#1",["failed",2]]},{"queue":"jobs","value":2,"delay":60000}]}'
answers "the queues" '200 {"queues":["jobs"]}' GET /queues
answers "figures" '200 {"ready":1,"delayed":1,"leased":0,"dead":0,"oldestMs":T,"enqueued":2,"delivered":0,"acked":0,"nacked":0,"expired":0}' GET /queues/jobs
answers "what comes next" '200 {"messages":[{"id":ID,"value":{"j":1},"attempts":0,"dueAt":T},{"id":ID,"value":2,"attempts":0,"dueAt":T}]}' GET /queues/jobs/messages
answers "... so many" '200 {"messages":[{"id":ID,"value":{"j":1},"attempts":0,"dueAt":T}]}' GET '/queues/jobs/messages?limit=1'
answers "a name with a slash" '200 {"ok":true,"id":ID}' POST /queues/a%2Fb%20c/messages -d '{"value":[]}'
same "... is that" '["jobs","a/b c"]' "$(curl -s "$base/queues" | sed -E 's/.*\["a\/b c","jobs"\].*/["jobs","a\/b c"]/')"
answers "a message that was told before" '200 {"ok":true,"id":ID}' POST /queues/d/messages -d '{"value":1,"dedup":"x"}'
answers "... is not there twice" '200 {"ok":false,"id":null}' POST /queues/d/messages -d '{"value":1,"dedup":"x"}'
answers "a member twice" '400 {"error":"the body has a duplicate \"count\""}' POST /queues/d/lease -d '{"count":1,"count":2}'
answers "a message by name" '200 {"ok":true,"id":ID}' POST /queues/d/messages -d '{"value":2}' -H 'Idempotency-Key: m'
answers "... twice" '200 {"ok":true,"id":ID}' POST /queues/d/messages -d '{"value":2}' -H 'Idempotency-Key: m'
answers "... is one" '200 {"deletedCount":2}' DELETE /queues/d/messages
# lease <body>: the receipt of a message of jobs.
lease() { curl -s -m 40 "$base/queues/jobs/lease" -d "$1" | member receipt; }
answers "a delivery" '200 {"messages":[{"queue":"jobs","id":ID,"value":{"j":1},"attempt":1,"receipt":R}]}' POST /queues/jobs/lease -d '{"count":5,"lease":60000}'
answers "there is no other" '200 {"messages":[]}' POST /queues/jobs/lease
answers "to wait for no time is not to wait" '200 {"messages":[]}' POST /queues/none/lease -d '{"wait":0}' -m 20
answers "... after some time" '200 {"messages":[]}' POST /queues/jobs/lease -d '{"wait":50}'
answers "... but of another queue" '200 {"messages":[{"queue":"a/b c","id":ID,"value":[],"attempt":1,"receipt":R}]}' \
    POST /queues/jobs/lease -d '{"wait":5000,"also":["none","a/b c"]}'
curl -s -m 40 "$base/queues/later/lease" -d '{"wait":20000}' >"$scratch/waited" &
waiting=$!
while ! cli INFO clients | grep -q '^blocked_clients:1'; do sleep 0.01; done
ask POST /queues/later/messages -d '{"value":"now"}' >/dev/null
wait "$waiting"
check "who waits gets what comes" grep -qF '"queue":"later"' "$scratch/waited"
receipt=$(member receipt <"$scratch/waited")
answers "its lease is longer" '200 {"ok":true}' POST /queues/later/extend -d "{\"receipt\":\"$receipt\",\"lease\":60000}"
answers "it is of that queue" "400 {\"error\":\"the receipt belongs to the queue 'later'\"}" POST /queues/jobs/ack -d "{\"receipt\":\"$receipt\"}"
answers "it is done" '200 {"ok":true}' POST /queues/later/ack -d "{\"receipt\":\"$receipt\"}"
answers "... once" '200 {"ok":false}' POST /queues/later/ack -d "{\"receipt\":\"$receipt\"}"
answers "a lease that is over is not longer" '200 {"ok":false}' POST /queues/later/extend -d "{\"receipt\":\"$receipt\",\"lease\":60000}"
answers "... nor given back" '200 {"ok":false}' POST /queues/later/nack -d "{\"receipt\":\"$receipt\"}"
for i in 1 2; do ask POST /queues/two/messages -d "{\"value\":$i}" >/dev/null; done
receipts=$(curl -s "$base/queues/two/lease" -d '{"count":2}' | grep -oE '"receipt":"[^"]*"' | sed 's/"receipt"://' | paste -sd,)
answers "two at once" '200 {"count":2}' POST /queues/two/ack -d "{\"receipts\":[$receipts]}"
answers "... once" '200 {"count":0}' POST /queues/two/ack -d "{\"receipts\":[$receipts]}"
ask POST /queues/two/messages -d '{"value":3}' >/dev/null
receipt=$(curl -s "$base/queues/two/lease" | member receipt)
receipt=$(curl -s -X POST "$base/queues/two/lease" | member receipt)
answers "the result and its acknowledgement" '200 {"ok":true,"versionstamp":VS,"results":[["done"]],"ids":[]}' \
    POST /atomic -d "{\"mutations\":[{\"type\":\"set\",\"key\":\"done\",\"value\":1}],\"acks\":[\"$receipt\"]}"
answers "... once" '409 {"ok":false,"error":"a check failed, nothing was changed","failed":[{"ack":0}]}' \
    POST /atomic -d "{\"mutations\":[{\"type\":\"set\",\"key\":\"done\",\"value\":2}],\"enqueues\":[{\"queue\":\"two\",\"value\":9}],\"acks\":[\"$receipt\"]}"
answers "... only" '200 1' GET /entries/done
answers "no value" '400 {"error":"value must be given"}' POST /queues/jobs/messages -d '{}'
answers "a backoff that is none" '400 {"error":"backoff must be an array of numbers"}' POST /queues/jobs/messages -d '{"value":1,"backoff":5}'
status "... nor this" 400 POST /queues/jobs/messages -d '{"value":1,"backoff":[-1]}'
answers "keys that are none" '400 {"error":"undelivered must be a key: an array of its parts, or a string in path form"}' \
    POST /queues/jobs/messages -d '{"value":1,"undelivered":[7]}'
status "a delay that is none" 400 POST /queues/jobs/messages -d '{"value":1,"delay":"5"}'
status "none at all" 400 POST /queues/jobs/lease -d '{"count":0}'
status "others that are none" 400 POST /queues/jobs/lease -d '{"also":"x"}'
answers "no receipt" '400 {"error":"receipt or receipts must be given"}' POST /queues/jobs/ack -d '{}'
answers "none of them" '400 {"error":"receipts must be a non-empty array of strings"}' POST /queues/jobs/ack -d '{"receipts":[]}'
answers "what was never one" "400 {\"error\":\"invalid receipt 'abc'\"}" POST /queues/jobs/ack -d '{"receipt":"abc"}'
answers "... nor a word of the command" "400 {\"error\":\"invalid receipt 'IDEM'\"}" POST /queues/jobs/ack -d '{"receipts":["IDEM","x"]}'
answers "no receipt of nack" '400 {"error":"receipt must be a non-empty string"}' POST /queues/jobs/nack -d '{}'
receipt=$(member receipt <"$scratch/waited")
answers "no lease" '400 {"error":"lease must be given"}' POST /queues/later/extend -d "{\"receipt\":\"$receipt\"}"
status "no name" 404 GET /queues//messages

# ---- dead letters ----
# bury <value> [other members]: a dead letter of the queue q.
bury() {
    ask POST /queues/q/messages -d "{\"value\":$1}" >/dev/null
    ask POST /queues/q/nack -d "{\"receipt\":\"$(curl -s -X POST "$base/queues/q/lease" | member receipt)\",\"dead\":true${2:-}}" >/dev/null
}
bury '{"n":1}' ',"error":"no luck"'
id=$(curl -s "$base/queues/q/dead" | member id)
letter='{"id":ID,"value":{"n":1},"attempts":1,"error":"no luck","failedAt":T}'
answers "a dead letter" "200 $letter" GET "/queues/q/dead/$id"
answers "in the list" "200 {\"messages\":[$letter],\"cursor\":null,\"hasMore\":false}" GET /queues/q/dead
answers "it begins anew" '200 {"ok":true}' POST "/queues/q/dead/$id/requeue"
answers "... once" '404 {"error":"the dead letter does not exist"}' POST "/queues/q/dead/$id/requeue"
answers "... and is not there" '404 {"error":"the dead letter does not exist"}' GET "/queues/q/dead/$id"
answers "an id that is none" "400 {\"error\":\"ERR invalid message id 'x'\"}" GET /queues/q/dead/x
ask DELETE /queues/q/messages >/dev/null
for i in 1 2 3 4 5; do bury "{\"n\":$i}"; done
id=$(curl -s "$base/queues/q/dead?limit=1" | member id)
answers "one is removed" '200 {"ok":true}' DELETE "/queues/q/dead/$id"
answers "... once" '404 {"error":"the dead letter does not exist"}' DELETE "/queues/q/dead/$id"
page=$(curl -s "$base/queues/q/dead?limit=3")
same "a page, newest first" "4 3 2 " "$(grep -oE '"n":[0-9]' <<<"$page" | cut -c5 | tr '\n' ' ')"
same "... and the next" "1 " "$(curl -s "$base/queues/q/dead?limit=3&cursor=$(member cursor <<<"$page")" | grep -oE '"n":[0-9]' | cut -c5 | tr '\n' ' ')"
odd='%7B%22n%22%3A%7B%22%24in%22%3A%5B1%2C3%5D%7D%7D'
same "those that fit" "3 1 " "$(curl -s "$base/queues/q/dead?where=$odd" | grep -oE '"n":[0-9]' | cut -c5 | tr '\n' ' ')"
answers "of those of a page" '200 {"messages":[],"cursor":R,"hasMore":true}' GET "/queues/q/dead?where=$odd&limit=1"
say='400 {"error":"ids, where or all must be given"}'
answers "a delete of nothing said" "$say" DELETE /queues/q/dead
answers "a requeue of nothing said" "$say" POST /queues/q/dead/requeue -d '{}'
answers "... of two things" "$say" POST /queues/q/dead/requeue -d '{"all":true,"where":{}}'
answers "... of ids that are none" '400 {"error":"ids must be a non-empty array of strings"}' POST /queues/q/dead/requeue -d '{"ids":[]}'
status "... of a filter that is wrong" 400 POST /queues/q/dead/requeue -d '{"where":{"a":{"$zap":1}}}'
answers "no word of the command is an id" "400 {\"error\":\"ERR invalid message id 'ALL'\"}" POST /queues/q/dead/ALL/requeue
answers "... in a list" "400 {\"error\":\"ERR invalid message id 'ALL'\"}" POST /queues/q/dead/requeue -d '{"ids":["ALL"]}'
answers "those that fit begin anew" '200 {"count":2}' POST /queues/q/dead/requeue -d '{"where":{"n":{"$in":[1,3]}}}'
answers "... and are ready" '200 {"ready":2,"delayed":0,"leased":0,"dead":2,"oldestMs":T,"enqueued":5,"delivered":5,"acked":0,"nacked":5,"expired":0}' GET /queues/q
answers "those that fit are removed" '200 {"count":1}' DELETE '/queues/q/dead?where=%7B%22n%22%3A2%7D'
id=$(curl -s "$base/queues/q/dead" | member id)
answers "those that are named" '200 {"count":1}' POST /queues/q/dead/requeue -d "{\"ids\":[\"$id\",\"ffffffffffffffffffffffff\"]}"
bury 1
bury 2 ',"error":"IDEM"'
check "a reason may be any word" grep -qF '"error":"IDEM"' <(curl -s "$base/queues/q/dead")
answers "all begin anew" '200 {"count":2}' POST /queues/q/dead/requeue -d '{"all":true}'
bury 3
answers "all are removed" '200 {"count":1}' DELETE '/queues/q/dead?all=true'
{
    for ((i = 0; i < 1200; i++)); do echo "KV.ENQUEUE big $i BACKOFF 0"; done
    for i in 1 2; do echo "KV.DEQUEUE big COUNT 1000 LEASE 1"; done
} | cli >/dev/null
while ! curl -s "$base/queues/big" | grep -q '"dead":1200'; do sleep 0.01; done
answers "more than a page of those that fit" '200 {"count":100}' DELETE '/queues/big/dead?where=%7B%22%24%22%3A%7B%22%24lt%22%3A100%7D%7D'
answers "... begins anew" '200 {"count":1050}' POST /queues/big/dead/requeue -d '{"where":{"$":{"$gte":150}}}'
answers "... and no other" '200 {"count":50}' DELETE '/queues/big/dead?all=true'
answers "a walk is not one transaction" '400 {"error":"Idempotency-Key is not supported here: this is not a single transaction"}' \
    DELETE "/queues/q/dead?where=$odd" -H 'Idempotency-Key: x'

# ---- indexes ----
cli FLUSHDB >/dev/null
for i in 1 2 3; do ask PUT "/entries/p/%23$i" -d "{\"n\":$i,\"m\":\"m$i\",\"t\":\"red fox $i\"}" >/dev/null; done
answers "an index" '200 {"ok":true,"created":true}' PUT /indexes/by_n -d '{"prefix":"p","on":["n","m"],"unique":true}'
answers "... that is there" '200 {"ok":true,"created":false}' PUT /indexes/by_n -d '{"prefix":["p"],"on":["n","m"],"unique":true}'
status "... with another definition" 409 PUT /indexes/by_n -d '{"prefix":"p","on":["n"]}'
by_n='{"name":"by_n","type":"value","prefix":["p"],"hashes":null,"paths":["n","m"],"unique":true,"state":"ready","percent":100,"error":null}'
answers "its definition" "200 $by_n" GET /indexes/by_n
answers "all of them" "200 {\"indexes\":[$by_n]}" GET /indexes
answers "one that is not there" "404 {\"error\":\"ERR no such index 'none'\"}" GET /indexes/none
answers "a second owner" '409 {"error":"DUPLICATE by_n [\"p\",1]"}' PUT /entries/p/x -d '{"n":1,"m":"m1"}'
# entry <number>
entry() { echo "{\"key\":[\"p\",$1],\"value\":{\"n\":$1,\"m\":\"m$1\",\"t\":\"red fox $1\"},\"versionstamp\":VS}"; }
answers "found by value" "200 {\"entries\":[$(entry 2)],\"cursor\":null,\"hasMore\":false}" GET '/indexes/by_n/find?value=2'
answers "... by two" "200 {\"entries\":[$(entry 2)],\"cursor\":null,\"hasMore\":false}" GET '/indexes/by_n/find?value=2&value=%22m2%22'
answers "... none" '200 {"entries":[],"cursor":null,"hasMore":false}' GET '/indexes/by_n/find?value=2&value=%22m3%22'
answers "... in a range" "200 {\"entries\":[$(entry 3),$(entry 2)],\"cursor\":null,\"hasMore\":false}" GET '/indexes/by_n/find?from=2&to=9&reverse=true'
answers "... that fit" "200 {\"entries\":[$(entry 3)],\"cursor\":null,\"hasMore\":false}" GET '/indexes/by_n/find?where=%7B%22m%22%3A%22m3%22%7D'
answers "... keys alone, a page" '200 {"keys":[["p",1]],"cursor":R,"hasMore":true}' GET '/indexes/by_n/find?keysOnly=true&limit=1'
cursor=$(curl -s "$base/indexes/by_n/find?keysOnly=true&limit=1" | member cursor)
answers "... and the next" '200 {"keys":[["p",2]],"cursor":R,"hasMore":true}' GET "/indexes/by_n/find?keysOnly=true&limit=1&cursor=$cursor"
answers "a text without quotes" '400 {"error":"value must be a JSON value, with strings in quotes: invalid JSON: expected a value at offset 0"}' GET '/indexes/by_n/find?value=FROM'
answers "an empty value" '400 {"error":"value must be a JSON value, with strings in quotes: invalid JSON: empty"}' GET '/indexes/by_n/find?value='
answers "a parameter that is a duplicate" "400 {\"error\":\"the parameter 'prefix' is a duplicate\"}" GET '/entries?prefix=&prefix=u'
status "a bound that is none" 400 GET '/indexes/by_n/find?from=x'
answers "of no index" "404 {\"error\":\"ERR no such index 'none'\"}" GET '/indexes/none/find?value=1'
answers "a text index" '200 {"ok":true,"created":true}' PUT /indexes/text -d '{"prefix":"p","text":["t"],"tokenize":"porter"}'
while ! curl -s "$base/indexes/text" | grep -q '"state":"ready"'; do sleep 0.01; done
answers "searched" "200 {\"entries\":[$(entry 3)]}" GET '/indexes/text/search?query=foxes+3'
answers "... with a filter" '200 {"entries":[]}' GET '/indexes/text/search?query=foxes+3&where=%7B%22n%22%3A1%7D'
answers "... past the first" '200 {"entries":[]}' GET '/indexes/text/search?query=3&offset=1'
check "... with scores and marks" grep -qE '^\{"hits":\[\{"entry":\{"key":\["p",3\],.*,"score":[0-9.e-]+,"texts":\{"t":"red <b>fox</b> <b>3</b>"\}\}\]\}$' \
    <(curl -s "$base/indexes/text/search?query=fox+3&scores=true&open=%3Cb%3E&close=%3C/b%3E")
check "... with a piece" grep -qF '"texts":{"t":"red fox 3"}' <(curl -s "$base/indexes/text/search?query=3&snippet=5")
answers "no query" '400 {"error":"query must be given"}' GET /indexes/text/search
status "a query that is none" 400 GET '/indexes/text/search?query=%22'
answers "one mark" '400 {"error":"open and close must be given together"}' GET '/indexes/text/search?query=a&open=x'
answers "a value index is not searched" "400 {\"error\":\"ERR index 'by_n' is for values: use KV.FIND\"}" GET '/indexes/by_n/search?query=a'
answers "no prefix" '400 {"error":"prefix must be a key: an array of its parts, or a string in path form"}' PUT /indexes/x -d '{"on":["a"]}'
answers "no paths" '400 {"error":"on (paths of values) or text (paths of texts) must be given"}' PUT /indexes/x -d '{"prefix":"p"}'
answers "none of them" '400 {"error":"on must be a non-empty array of strings"}' PUT /indexes/x -d '{"prefix":"p","on":[]}'
status "unique texts" 400 PUT /indexes/x -d '{"prefix":"p","text":["t"],"unique":true}'
cli HSET user:1 city Paris >/dev/null
answers "an index of hashes" '200 {"ok":true,"created":true}' PUT /indexes/cities -d '{"hashes":"user:*","on":["city"]}'
answers "... that is there" '200 {"ok":true,"created":false}' PUT /indexes/cities -d '{"hashes":"user:*","on":["city"]}'
status "... with another pattern" 409 PUT /indexes/cities -d '{"hashes":"user*","on":["city"]}'
answers "its definition" '200 {"name":"cities","type":"value","prefix":[],"hashes":"user:*","paths":["city"],"unique":false,"state":"ready","percent":100,"error":null}' GET /indexes/cities
answers "found by a field" '200 {"keys":[["user:1"]],"cursor":null,"hasMore":false}' GET '/indexes/cities/find?keysOnly=true&value=%22Paris%22'
answers "dropped" '200 {"ok":true}' DELETE /indexes/text
answers "... once" '404 {"error":"the index does not exist"}' DELETE /indexes/text

# ---- the feed ----
cli FLUSHDB >/dev/null
since=$(cli KV.VERSION)
ask PUT '/entries/f/%231?expiresIn=60000' -d 1 >/dev/null
ask PUT /entries/g -d 2 >/dev/null
ask DELETE /entries/f/%231 >/dev/null
first='{"key":["f",1],"value":1,"versionstamp":VS,"commit":VS,"expiresAt":T}'
gone='{"key":["f",1],"value":null,"versionstamp":null,"commit":VS}'
answers "changes" "200 {\"changes\":[$first,{\"key\":[\"g\"],\"value\":2,\"versionstamp\":VS,\"commit\":VS},$gone],\"next\":VS}" GET "/changes?since=$since"
answers "... below a prefix" "200 {\"changes\":[$first,$gone],\"next\":VS}" GET "/changes?since=$since&prefix=f"
answers "... so many" "200 {\"changes\":[$first],\"next\":VS}" GET "/changes?since=$since&prefix=f&limit=1"
next=$(curl -s "$base/changes?since=$since" | member next)
answers "there is nothing more" '200 {"changes":[],"next":VS}' GET "/changes?since=$next"
answers "... after some time" '200 {"changes":[],"next":VS}' GET "/changes?since=$next&wait=50"
answers "a flush" '200 {"changes":[{"key":null,"value":null,"versionstamp":null,"commit":VS}],"next":VS}' GET '/changes?prefix=nothing&limit=1'
status "a versionstamp of the future" 410 GET '/changes?since=00ffffffffffffff0000'
status "what is none" 400 GET '/changes?since=x'
ask PUT /entries/w/%231 -d 1 >/dev/null
listen keys '/watch?keys=w/%231,w/2'
listen list '/watch?keys=%5B%5B%22w%22,1%5D,%22w/2%22%5D&initial=false'
listen below '/watch?prefix=w'
listen all '/watch?prefix=&initial=false' --http2-prior-knowledge
listen since "/watch?prefix=w&since=$next"
for name in keys below since; do check "the stream $name begins with what is there" told "$name" '[{"key":["w",1],"value":1,'; done
check "... and what is not" told keys '{"key":["w","2"],"value":null,"versionstamp":null}'
ask PUT /entries/w/2 -d '"new"' >/dev/null
for name in keys list below all since; do check "the stream $name tells a change" told "$name" '{"key":["w","2"],"value":"new",'; done
last=$(sed -n 's/^id: //p' "$scratch/below" | tail -1)
end_streams
ask PUT /entries/w/3 -d '"meanwhile"' >/dev/null
listen again '/watch?prefix=w' -H "Last-Event-ID: $last"
check "what happened meanwhile follows" told again '"meanwhile"'
end_streams
answers "no stream of nothing" '400 {"error":"prefix or keys must be given"}' GET /watch
answers "... nor of both" '400 {"error":"prefix or keys must be given"}' GET '/watch?prefix=a&keys=b'
answers "keys that are none" '400 {"error":"keys: invalid key: a key must have at least one part"}' GET '/watch?keys=a,'
answers "... at all" '400 {"error":"keys must have 1 to 1000 keys"}' GET '/watch?keys='
answers "since of keys" '400 {"error":"since applies to a prefix: a stream of keys starts with their current state"}' GET "/watch?keys=a&since=$next"
answers "since that is none" '400 {"error":"since must be a versionstamp"}' GET '/watch?prefix=a&since=x'

# ---- what there is ----
same "a stream is answered with 200" 200 "$(curl -s -m 1 -o /dev/null -w '%{http_code}' "$base/watch?keys=a")"
echo "GET /watch 200" >>"$scratch/asked"
curl -s "${base%/kv}/openapi.json" >"$scratch/openapi"
check "a list is an array of what it has" grep -qF '"receipts":{"type":"array","items":{"type":"string"}}' "$scratch/openapi"
check "... and two words one of two" grep -qF \
    '"clamp":{"type":"array","items":{"type":["number","object"]},"minItems":2,"maxItems":2}' "$scratch/openapi"
if command -v python3 >/dev/null; then
    check "every operation was answered here" python3 redis-tests/openapi_asked.py /kv "$scratch/asked" <"$scratch/openapi"
else
    skip "every operation was answered here" "python3 is not installed"
fi

# ---- who and where ----
ask PUT /entries/w/9 -d 9 >/dev/null
cli ACL SETUSER bob on '>pw' '~w/*' '+kv.get' >/dev/null
status "a user without the right" 403 PUT /entries/w/5 -d 1 -u bob:pw
answers "... with it" '200 9' GET /entries/w/9 -u bob:pw
status "... for another key" 403 GET /entries/n -u bob:pw
status "nobody" 401 GET /entries/w/9 -u bob:wrong
root=http://127.0.0.1:$http_port
same "another database" '{"ok":true}' "$(curl -s -X PUT "$root/db/1/keyval/api/kv/entries/n" -d 1 | sed -E 's/,"vers.*"/,/; s/,}/}/')"
same "... by a header" 1 "$(curl -s "$base/entries/n" -H 'Tupled-Database: 1')"
same "... not in this one" 404 "$(curl -s -o /dev/null -w '%{http_code}' "$base/entries/n")"
cli CONFIG SET default-format msgpack >/dev/null
answers "JSON whatever commands have by default" '200 {"ok":true,"versionstamp":VS}' PUT /entries/format -d '{"a":7}'
answers "... is answered" '200 {"a":7}' GET /entries/format
cli CONFIG SET default-format json bare-bigints yes >/dev/null
answers "large numbers are bare" '200 {"ok":true,"versionstamp":VS}' PUT /entries/format -d 12345678901234567890
answers "... when that is set" '200 12345678901234567890' GET /entries/format
stop_server
exit "$((failures > 0))"
