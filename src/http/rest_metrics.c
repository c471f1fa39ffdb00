/* rest_metrics: GET /metrics: figures of commands, of the queue and of the database as JSON. What
 * there is more of is in /metrics/prometheus.
 */
#include "http/metrics.h"
#include "http/rest.h"
#include "http/route.h"
#include "request/permission.h"
#include "request/stats.h"
#include "request/table.h"

/* What KeyVal calls an operation, of commands of this server. */
static const struct {
    const char *name;
    const char *commands[4];
} operations[] = {
    {"get", {"kv.get", "kv.mget"}},
    {"set", {"kv.set"}},
    {"delete", {"kv.del", "kv.delrange"}},
    {"list", {"kv.list"}},
    {"count", {"kv.count"}},
    {"atomic_commit", {"kv.atomic"}},
    {"search", {"kv.search"}},
    {"queue_enqueue", {"kv.enqueue"}},
    {"queue_dequeue", {"kv.dequeue"}},
    {"queue_ack", {"kv.ack"}},
    {"queue_nack", {"kv.nack"}},
};

struct sums {
    uint64_t calls, usec, failed;
};

static struct sums sums_of(const struct env *env, const char *const commands[4])
{
    struct sums s = {0};
    for (size_t i = 0; i < stats_count(env); i++) {
        const struct command_count *row = stats_at(env, i);
        for (size_t k = 0; k < 4 && commands[k] != NULL; k++) {
            if (row->parent != NULL || strcmp(row->command->name, commands[k]) != 0) continue;
            s.calls += row->calls;
            s.usec += row->usec;
            s.failed += row->failed;
        }
    }
    return s;
}

static void put_operations(struct exchange *x)
{
    struct sums all = {0};
    buf_append_str(&x->text, "{\"operations\":{\"operations\":{");
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        struct sums s = sums_of(x->http->env, operations[i].commands);
        double ms = s.calls > 0 ? (double)s.usec / 1000.0 / (double)s.calls : 0.0;
        buf_printf(&x->text, "%s\"%s\":{\"count\":%llu,\"errors\":%llu,\"avgLatencyMs\":%.3f}",
                   i > 0 ? "," : "", operations[i].name, (unsigned long long)s.calls,
                   (unsigned long long)s.failed, ms);
        all.calls += s.calls;
        all.failed += s.failed;
    }
    buf_printf(&x->text, "},\"totals\":{\"operations\":%llu,\"errors\":%llu}}",
               (unsigned long long)all.calls, (unsigned long long)all.failed);
}

static void stats_came(struct exchange *x)
{
    struct env *env = x->http->env;
    struct backend *b = env->db->backend;
    struct backend_count count;
    struct slice reply = buf_slice(&x->reply);
    if (rest_fails(x)) return;
    backend_count(b, x->client.database, &count);
    rest_begin(x);
    put_operations(x);
    buf_append_str(&x->text, ",\"queue\":");
    rest_put_queue_stats(x, reply);
    buf_printf(&x->text, ",\"storage\":{\"entries\":%llu,\"sizeBytes\":%llu}}",
               (unsigned long long)count.entries, (unsigned long long)count.bytes);
    exchange_answer_json(x, 200);
}

static bool may_see(struct exchange *x)
{
    struct slice words[] = {slice_str("INFO")};
    if (client_may(x->http->env, &x->client, &cmd_info, words, 1)) return true;
    exchange_fail(x, 403, "NOPERM this user has no permission to read the metrics: it needs +info");
    return false;
}

void rest_metrics_run(struct exchange *x)
{
    if (may_see(x)) exchange_words(x, stats_came, WORDS("KV.QUEUE", "STATS", "default"));
}

void rest_metrics_text_run(struct exchange *x)
{
    scrape_run(x);
}
