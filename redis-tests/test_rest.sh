#!/bin/bash
# REST (docs/rest.md): every route with what it answers, what it refuses, and streams of events.
export HTTP=1
. "$(dirname "$0")/server.sh"

. redis-tests/rest.sh
begin_rest

# stamp_of <path>
stamp_of() {
    curl -s -m 20 "$base/keys/$1" | sed -E 's/.*"versionstamp":"([^"]*)".*/\1/'
}

# ---- entries ----
answers "a value is set" '200 {"ok":true,"versionstamp":VS}' PUT /keys/users/1 -d '{"n":"Ada","a":30}'
answers "... and read" '200 {"key":["users","1"],"value":{"n":"Ada","a":30},"versionstamp":VS}' GET /keys/users/1
answers "a stored null is an entry" '200 {"ok":true,"versionstamp":VS}' PUT /keys/nothing -d null
answers "... and not a missing one" '200 {"key":["nothing"],"value":null,"versionstamp":VS}' GET /keys/nothing
answers "one that is not there" '404 {"error":"Key not found"}' GET /keys/users/9
answers "an expiry" '200 {"ok":true,"versionstamp":VS}' PUT '/keys/short?expiresIn=60000' -d 1
same "... is kept" yes "$(redis-cli -p "$port" KV.PTTL '["short"]' | awk '$1 > 50000 && $1 <= 60000 { print "yes" }')"
answers "... and refused when it is too long" \
    '400 {"error":"expiresIn must be a number from 1 to 2147483647, received 2147483648"}' \
    PUT '/keys/short?expiresIn=2147483648' -d 1
answers "a slash in a part" '200 {"ok":true,"versionstamp":VS}' PUT /keys/a%2Fb/c%20d -d 1
answers "... stays there" '200 {"key":["a/b","c d"],"value":1,"versionstamp":VS}' GET /keys/a%2Fb/c%20d
answers "an empty part" '400 {"error":"Key path has an empty part"}' GET /keys/a//b
answers "... not even to write" '400 {"error":"Key path has an empty part"}' PUT /keys/a//b -d 1
same "... which wrote nothing" "" "$(redis-cli -p "$port" KV.GET '["a","","b"]')"
answers "no part" '400 {"error":"Key path cannot be empty"}' GET /keys/
answers "twenty parts" '404 {"error":"Key not found"}' GET "/keys$(printf '/x%.0s' {1..20})"
answers "twenty-one" '400 {"error":"Key path too deep (max 20 parts)"}' GET "/keys$(printf '/x%.0s' {1..21})"
answers "a part of 1025 characters" '400 {"error":"Key part too long (max 1024 chars)"}' GET "/keys/$(printf 'x%.0s' {1..1025})"
answers "no UTF-8" '400 {"error":"Key path is not valid percent-encoded UTF-8"}' GET /keys/%ff
answers "a broken value" '400 {"error":"invalid JSON: expected a value before the end of the text at offset 5"}' PUT /keys/x -d '{"a":'
answers "... which stored nothing" '404 {"error":"Key not found"}' GET /keys/x
answers "a bigint" '200 {"ok":true,"versionstamp":VS}' PUT /keys/big -d 123456789012345678901234567890
answers "... is exact" '200 {"key":["big"],"value":{"$bigint":"123456789012345678901234567890"},"versionstamp":VS}' GET /keys/big

# ---- lists ----
ask PUT /keys/users/2 -d '{"n":"Bob","a":25}' >/dev/null
ask PUT /keys/users/3 -d '{"n":"Eve","a":40}' >/dev/null
ask PUT /keys/users2/1 -d '{"n":"Zed"}' >/dev/null
one='{"key":["users","1"],"value":{"n":"Ada","a":30},"versionstamp":VS}'
two='{"key":["users","2"],"value":{"n":"Bob","a":25},"versionstamp":VS}'
three='{"key":["users","3"],"value":{"n":"Eve","a":40},"versionstamp":VS}'
answers "a prefix is whole parts" "200 [$one,$two,$three]" GET '/keys?prefix=users'
answers "a limit" "200 [$one,$two]" GET '/keys?prefix=users&limit=2'
answers "backwards" "200 [$three]" GET '/keys?prefix=users&limit=1&reverse=true'
answers "start and end" "200 [$two]" GET '/keys?prefix=users&start=users/2&end=users/3'
same "an empty prefix is none" "$(ask GET /keys)" "$(ask GET '/keys?prefix=')"
status "a limit beyond the most is the most" 200 GET '/keys?limit=5000'
answers "a limit of 0" '400 {"error":"limit must be a number from 1 to 1000, received 0"}' GET '/keys?limit=0'
answers "a limit that is none" '400 {"error":"limit must be a number from 1 to 1000, received 2abc"}' GET '/keys?limit=2abc'
answers "reverse that is none" '400 {"error":"reverse must be true or false"}' GET '/keys?reverse=1'
answers "a filter" "200 [$three]" POST /keys/list -d '{"prefix":["users"],"where":{"a":{"$gt":35}}}'
answers "a filter that is wrong" '400 {"error":"ERR where: a: unknown operator $zap"}' \
    POST /keys/list -d '{"prefix":["users"],"where":{"a":{"$zap":35}}}'
answers "an unknown member" '400 {"error":"the body has an unknown member \"prefx\""}' \
    POST /keys/list -d '{"prefx":["users"]}'
answers "a prefix of nothing" '400 {"error":"prefix: a key must have 1 to 20 parts, not 0"}' POST /keys/list -d '{"prefix":[]}'
answers "a count" '200 {"count":3}' GET '/keys/count?prefix=users'
answers "... of what fits" '200 {"count":1}' GET '/keys/count?prefix=users&where=%7B%22a%22%3A25%7D'
page=$(curl -s "$base/keys/paginate?prefix=users&limit=2")
cursor=$(sed -E 's/.*"cursor":"([^"]*)".*/\1/' <<<"$page")
same "a page" "{\"entries\":[$one,$two],\"cursor\":\"$cursor\",\"hasMore\":true}" "$(sed -E "$stamp" <<<"$page")"
answers "... and the next" "200 {\"entries\":[$three],\"cursor\":null,\"hasMore\":false}" \
    GET "/keys/paginate?prefix=users&limit=2&cursor=$cursor"
status "a cursor is for its question alone" 400 GET "/keys/paginate?prefix=users2&cursor=$cursor"
answers "many" "200 [$one,{\"key\":[\"no\"],\"value\":null,\"versionstamp\":null},$one]" \
    POST /keys/batch -d '{"keys":[["users","1"],["no"],["users","1"]]}'
answers "none" '400 {"error":"keys cannot be empty"}' POST /keys/batch -d '{"keys":[]}'
answers "what is no key" '400 {"error":"keys[1] must be a key: an array of strings, numbers, booleans, {\"$bigint\":\"..\"} or {\"$bytes\":\"..\"}"}' \
    POST /keys/batch -d '{"keys":[["a"],"b"]}'

# ---- deletes ----
answers "a JSON type without a body" \
    '400 {"error":"The Content-Type is JSON, but the body is missing; a proxy may have removed it. Use ?exact=true or ?where= in the URL"}' \
    DELETE /keys/users -H 'Content-Type: application/json'
status "a broken body" 400 DELETE /keys/users -d '{"exact":'
status "an unknown member of it" 400 DELETE /keys/users -d '{"exat":true}'
status "no key" 400 DELETE /keys
status "... also with a parameter" 400 DELETE '/keys?prefix=users'
answers "nothing of that deleted anything" '200 {"count":3}' GET '/keys/count?prefix=users'
ask PUT /keys/users -d '{"a":1}' >/dev/null
answers "exactly one, if it fits" '200 {"deletedCount":0}' DELETE /keys/users -d '{"exact":true,"where":{"a":2}}'
answers "... and it does" '200 {"deletedCount":1}' DELETE '/keys/users?exact=true&where=%7B%22a%22%3A1%7D'
answers "what fits, below too" '200 {"deletedCount":2}' DELETE /keys/users -d '{"where":{"a":{"$gte":30}}}'
ask PUT /keys/users -d 1 >/dev/null
answers "all, and the key itself" '200 {"deletedCount":2}' DELETE /keys/users
answers "its neighbour stays" '200 {"count":1}' GET '/keys/count?prefix=users2'
answers "many at once" '200 {"deletedCount":2}' POST /keys/delete-batch -d '{"keys":[["users2"],["big"],["no"]]}'

# ---- transactions ----
ask PUT /keys/t -d 1 >/dev/null
at=$(stamp_of t)
answers "a transaction" '200 {"ok":true,"versionstamp":VS}' POST /atomic -d '{"checks":[{"key":["t"],"versionstamp":"'"$at"'"},
    {"key":["no"],"versionstamp":null}],"mutations":[{"type":"set","key":["t"],"value":2,"expiresIn":60000},
    {"type":"sum","key":["n"],"value":5},{"type":"sum","key":["n"],"value":"2"},{"type":"max","key":["m"],"value":3},
    {"type":"sum","key":["b"],"value":{"__type":"bigint","value":"9"}},{"type":"append","key":["l"],"value":[true,{"a":1}]},
    {"type":"prepend","key":["l"],"value":[0]},{"type":"delete","key":["short"]}]}'
answers "... sums" '200 {"key":["n"],"value":7,"versionstamp":VS}' GET /keys/n
answers "... bigints" '200 {"key":["b"],"value":{"$bigint":"9"},"versionstamp":VS}' GET /keys/b
answers "... arrays" '200 {"key":["l"],"value":[0,true,{"a":1}],"versionstamp":VS}' GET /keys/l
answers "... deletes" '404 {"error":"Key not found"}' GET /keys/short
answers "a check that fails" '200 {"ok":false}' POST /atomic -d '{"checks":[{"key":["t"],"versionstamp":"'"$at"'"}],"mutations":[{"type":"delete","key":["t"]}]}'
status "a sum on a text changes nothing" 400 POST /atomic -d '{"mutations":[{"type":"delete","key":["t"]},{"type":"sum","key":["l"],"value":1}]}'
answers "... nothing" '200 {"key":["t"],"value":2,"versionstamp":VS}' GET /keys/t
answers "no mutations" '400 {"error":"mutations must be an array, which may be empty"}' POST /atomic -d '{}'
answers "an unknown type" '400 {"error":"mutations[0].type must be set, delete, sum, min, max, append or prepend"}' \
    POST /atomic -d '{"mutations":[{"type":"zap","key":["a"]}]}'
answers "no value" '400 {"error":"mutations[0].value must be given"}' POST /atomic -d '{"mutations":[{"type":"set","key":["a"]}]}'
answers "no array" '400 {"error":"mutations[0].value must be an array"}' \
    POST /atomic -d '{"mutations":[{"type":"append","key":["a"],"value":1}]}'
answers "no versionstamp" '400 {"error":"checks[0].versionstamp must be a string, or null if the key must not exist"}' \
    POST /atomic -d '{"checks":[{"key":["a"]}],"mutations":[]}'

# ---- the queue ----
enqueued=$(curl -s "$base/queue/enqueue" -d '{"value":{"t":1},"options":{"backoffSchedule":[0],"keysIfUndelivered":[["failed","x"]]}}')
id=$(sed -E 's/.*"id":"([^"]*)".*/\1/' <<<"$enqueued")
same "a message" "{\"ok\":true,\"id\":\"$id\"}" "$enqueued"
answers "stats" '200 {"pending":1,"processing":0,"dlq":0,"total":1}' GET /queue/stats
taken=$(curl -s "$base/queue/poll")
receipt=$(sed -E 's/.*"receipt":"([^"]*)".*/\1/' <<<"$taken")
same "it is taken" "{\"message\":{\"id\":\"$id\",\"value\":{\"t\":1},\"attempts\":1,\"receipt\":\"$receipt\"}}" "$taken"
answers "there is no other" '200 {"message":null}' GET /queue/poll
answers "nack by its id" '200 {"ok":true}' POST /queue/nack -d "{\"id\":\"$id\"}"
answers "an old receipt does nothing" '200 {"ok":false}' POST /queue/ack -d "{\"receipt\":\"$receipt\"}"
same "it comes again" 2 "$(curl -s "$base/queue/poll" | sed -E 's/.*"attempts":([0-9]*).*/\1/')"
answers "nack with a reason" '200 {"ok":true}' POST /queue/nack -d "{\"id\":\"$id\",\"error\":\"no luck\"}"
answers "the value went to its key" '200 {"key":["failed","x"],"value":{"t":1},"versionstamp":VS}' GET /keys/failed/x
dead=$(curl -s "$base/queue/dlq/$id" | sed -E 's/"failedAt":[0-9]+/"failedAt":T/')
same "a dead letter" "{\"id\":\"$id\",\"originalId\":\"$id\",\"value\":{\"t\":1},\"attempts\":2,\"errorMessage\":\"no luck\",\"failedAt\":T}" "$dead"
same "in the list" "[$dead]" "$(curl -s "$base/queue/dlq" | sed -E 's/"failedAt":[0-9]+/"failedAt":T/')"
answers "past its end" '200 []' GET '/queue/dlq?offset=1'
answers "it begins anew" "200 {\"ok\":true,\"newId\":\"$id\"}" POST "/queue/dlq/$id/requeue"
answers "... once" '404 {"error":"Message not found in DLQ"}' POST "/queue/dlq/$id/requeue"
answers "no word of the command is an id" "400 {\"error\":\"ERR invalid message id 'ALL'\"}" POST /queue/dlq/ALL/requeue
curl -s "$base/queue/poll" >/dev/null
answers "ack by its id" '200 {"ok":true}' POST /queue/ack -d "{\"id\":\"$id\"}"
answers "twice" '200 {"ok":false}' POST /queue/ack -d "{\"id\":\"$id\"}"
answers "no id" '400 {"error":"id must be a non-empty string"}' POST /queue/ack -d '{}'
status "a page's image takes no message" 403 GET /queue/poll -H 'Referer: http://example.com/'
answers "purge" '200 {"deletedCount":0}' DELETE /queue/dlq

# ---- search ----
answers "an index" '200 {"ok":true}' POST /indexes -d '{"prefix":["p"],"options":{"fields":["name"],"tokenize":"porter"}}'
answers "... the same again" '200 {"ok":true}' POST /indexes -d '{"prefix":["p"],"fields":["name"],"tokenize":"porter"}'
answers "... another in its place" '200 {"ok":true}' POST /indexes -d '{"prefix":["p"],"options":{"fields":["name","more"]}}'
answers "the list" '200 [{"prefix":["p"],"fields":["name","more"],"tokenize":"unicode61","tableName":"rest:p","state":"ready"}]' GET /indexes
ask PUT /keys/p/1 -d '{"name":"red fox","price":3}' >/dev/null
fox='{"key":["p","1"],"value":{"name":"red fox","price":3},"versionstamp":VS}'
answers "found" "200 [$fox]" GET '/search?prefix=p&query=fox'
answers "... with a filter" '200 []' POST /search -d '{"prefix":["p"],"query":"fox","options":{"where":{"price":{"$lt":2}}}}'
answers "a query that is none" '400 {"error":"ERR query: unterminated quote at offset 0"}' GET '/search?prefix=p&query=%22'
answers "no query" "400 {\"error\":\"Missing 'query' query parameter\"}" GET '/search?prefix=p'
answers "dropped" '200 {"ok":true}' DELETE '/indexes?prefix=p'
answers "no fields" '400 {"error":"options.fields must be a non-empty array"}' POST /indexes -d '{"prefix":["p"],"options":{}}'

# ---- watching ----
ask PUT /keys/w/1 -d 1 >/dev/null
listen keys '/watch?keys=w/1,w/2'
listen silent '/watch?keys=w/1&initial=false'
listen below '/watch/prefix?prefix=w'
listen two '/watch/prefix?prefix=w' --http2-prior-knowledge
listen jobs /queue/listen
for name in keys below two; do check "the stream $name begins with what is there" told "$name" '"value":1'; done
# A stream without a beginning may not have been opened yet.
for ((tries = 0; tries < 1000; tries++)); do
    ask PUT /keys/w/1 -d '"again"' >/dev/null
    ! grep -qF '"value":"again"' "$scratch/silent" || break
    sleep 0.01
done
ask PUT /keys/w/2 -d '"new"' >/dev/null
for name in keys below two; do check "the stream $name tells a change" told "$name" '"value":"new"'; done
ask DELETE /keys/w/1 >/dev/null
for name in keys silent below two; do
    check "the stream $name tells a delete" told "$name" '[{"key":["w","1"],"value":null,"versionstamp":null}]'
done
same "initial=false leaves out what was there" 0 "$(grep -c '"value":1' "$scratch/silent")"
ask POST /queue/enqueue -d '{"value":"job"}' >/dev/null
check "a message is pushed" told jobs '"value":"job","attempts":1,"receipt":"'
last=$(sed -n 's/^id: //p' "$scratch/below" | tail -1)
end_streams
ask PUT /keys/w/3 -d '"meanwhile"' >/dev/null
ask DELETE /keys/w/2 >/dev/null
listen again '/watch/prefix?prefix=w' -H "Last-Event-ID: $last"
check "what happened meanwhile follows" told again '"value":"meanwhile"'
check "... deletes too" told again '[{"key":["w","2"],"value":null,"versionstamp":null}]'
ask PUT /keys/w/4 -d '"after"' >/dev/null
check "... and then what is new" told again '"value":"after"'
same "... once" 1 "$(grep -c '"value":"after"' "$scratch/again")"
end_streams
answers "an id that is none" '400 {"error":"Last-Event-ID must be the id of an event of this stream"}' GET '/watch/prefix?prefix=w' -H 'Last-Event-ID: x'
answers "no keys" "400 {\"error\":\"Missing 'keys' query parameter\"}" GET /watch
at=$(stamp_of w/3)
answers "nothing is new" '200 {"entries":[],"versionstamps":[VS,""]}' GET "/watch/poll?keys=w/3,w/9&versionstamps=$at,"
ask PUT /keys/w/9 -d 9 >/dev/null
answers "something is" '200 {"entries":[{"key":["w","9"],"value":9,"versionstamp":VS}],"versionstamps":[VS,VS]}' \
    GET "/watch/poll?keys=w/3,w/9&versionstamps=$at,"
known=$(curl -s "$base/watch/prefix/poll?prefix=w" | sed -E 's/.*"versionstamps":"([^"]*)".*/\1/')
same "nothing is new below a prefix" '[]' \
    "$(curl -s "$base/watch/prefix/poll?prefix=w&versionstamps=$known" | sed -E 's/.*"entries":(.*),"versionstamps".*/\1/')"
ask DELETE /keys/w/3 >/dev/null
same "a delete is" '[{"key":["w","3"],"value":null,"versionstamp":null}]' \
    "$(curl -s "$base/watch/prefix/poll?prefix=w&versionstamps=$known" | sed -E 's/.*"entries":(.*),"versionstamps".*/\1/')"
same "one beyond the limit is not told as gone" '[]' \
    "$(curl -s "$base/watch/prefix/poll?prefix=w&limit=1&versionstamps=$(curl -s "$base/watch/prefix/poll?prefix=w" |
        sed -E 's/.*"versionstamps":"([^"]*)".*/\1/')" | sed -E 's/.*"entries":(.*),"versionstamps".*/\1/')"

# ---- what there is ----
check "the figures" grep -qE '^\{"operations":\{"operations":\{"get":\{"count":[1-9].*"queue":\{"pending":.*"storage":\{"entries":[1-9]' \
    <(curl -s "$base/metrics")
check "... for Prometheus" grep -q '^tupled_http_requests_total{version="2"} [1-9]' <(curl -s "$base/metrics/prometheus")
check "commands, of which the page makes its forms" grep -qF \
    '{"name":"delete","token":"DEL","members":[{"name":"key","type":"key","required":true}]}' <(curl -s "http://127.0.0.1:$http_port/ui/commands.json")
check "... with what a value must be" grep -qF '{"name":"value","type":"array","required":true}' <(curl -s "http://127.0.0.1:$http_port/ui/commands.json")
curl -s "$base/openapi.json" >"$scratch/openapi"
check "an OpenAPI document" grep -q '"/keys/{path}":{"get":' "$scratch/openapi"
if command -v python3 >/dev/null; then
    check "... that is JSON" python3 -c 'import json, sys; assert len(json.load(sys.stdin)["paths"]) > 20' <"$scratch/openapi"
    check "... and true: each route answers its methods" python3 redis-tests/openapi_routes.py "$base" <"$scratch/openapi"
else
    skip "... that is JSON and true" "python3 is not installed"
fi
answers "a parameter that is not known" "400 {\"error\":\"unknown parameter 'prefx'\"}" GET '/keys?prefx=users'

# ---- who and where ----
redis-cli -p "$port" ACL SETUSER bob on '>pw' '~w/*' '+kv.get' >/dev/null
status "a user without the right" 403 PUT /keys/w/5 -d 1 -u bob:pw
answers "... with it" '200 {"key":["w","9"],"value":9,"versionstamp":VS}' GET /keys/w/9 -u bob:pw
status "... for another key" 403 GET /keys/n -u bob:pw
redis-cli -p "$port" ACL SETUSER eve on '>pw' '~w/*' '&*' +subscribe +kv.version +kv.get >/dev/null
same "a stream that cannot begin leaves nothing behind" '403 200 ' \
    "$(curl -s -o /dev/null -o /dev/null -w '%{http_code} ' -u eve:pw "$base/watch/prefix?prefix=w" "$base/keys/w/9")"
same "another database" '{"error":"Key not found"}' "$(curl -s "http://127.0.0.1:$http_port/db/1/keyval/api/keys/n")"
same "one that is not there" 404 "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$http_port/db/nosuch/keyval/api/keys/n")"
redis-cli -p "$port" CONFIG SET default-format msgpack >/dev/null
answers "bodies are JSON, whatever default-format says" '200 {"key":["w","9"],"value":9,"versionstamp":VS}' GET /keys/w/9
redis-cli -p "$port" CONFIG SET default-format json >/dev/null
redis-cli -p "$port" CONFIG SET rest-path-numbers yes rest-delete-default exact >/dev/null
ask PUT /keys/num/42 -d 1 >/dev/null
same "numbers in paths" 1 "$(redis-cli -p "$port" KV.EXISTS '["num",42]')"
answers "deletes that are exact by default" '200 {"deletedCount":0}' DELETE /keys/num
stop_server
exit "$((failures > 0))"
