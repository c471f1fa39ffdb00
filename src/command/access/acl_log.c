/* acl_log: ACL LOG: what was refused to whom, and logins that failed (access/access_log.h). */
#include "base/clock.h"
#include "command/access/acl_int.h"
#include "request/login.h"
#include "request/shapes.h"
#include "request/table.h"

#define SHOWN_DEFAULT 10

static void reply_entry(struct request *rq, const struct access_log_entry *x, int64_t now_ms)
{
    static const char *const reasons[] = {
        [ACCESS_LOG_AUTH] = "auth",         [ACCESS_LOG_COMMAND] = "command",
        [ACCESS_LOG_KEY] = "key",           [ACCESS_LOG_CHANNEL] = "channel",
        [ACCESS_LOG_DATABASE] = "database",
    };
    struct resp_writer *w = rq->w;
    resp_map(w, 10);
    resp_bulk_str(w, "count");
    resp_int(w, (int64_t)x->count);
    resp_bulk_str(w, "reason");
    resp_bulk_str(w, reasons[x->reason]);
    resp_bulk_str(w, "context");
    resp_bulk_str(w, x->is_in_transaction ? "multi" : "toplevel");
    resp_bulk_str(w, "object");
    resp_bulk(w, x->object);
    resp_bulk_str(w, "username");
    resp_bulk(w, x->user);
    resp_bulk_str(w, "age-seconds");
    resp_double(w, (double)(now_ms - x->created_ms) / 1000);
    resp_bulk_str(w, "client-info");
    resp_bulk(w, x->client);
    resp_bulk_str(w, "entry-id");
    resp_int(w, (int64_t)x->id);
    resp_bulk_str(w, "timestamp-created");
    resp_int(w, x->created_ms);
    resp_bulk_str(w, "timestamp-last-updated");
    resp_int(w, x->updated_ms);
}

struct log_words {
    int64_t count;
    bool is_reset;
};
ARGUMENTS(log_arguments, struct log_words, "[count | RESET]",
          ARG_INTEGER(struct log_words, count, "count", INT64_MIN, INT64_MAX, SHOWN_DEFAULT),
          ARG_FLAG(struct log_words, is_reset, "RESET"));

static enum err log_run(struct request *rq)
{
    const struct log_words *a = rq->bound;
    struct access_log *log = rq->env->users.refused;
    int64_t wanted = a->count;
    int64_t now_ms = clock_wall_ms();
    if (a->is_reset) {
        access_log_reset(log);
        resp_simple(rq->w, "OK");
        return OK;
    }
    size_t count = access_log_count(log);
    if (wanted < 0) wanted = 0;
    if ((uint64_t)wanted < count) count = (size_t)wanted;
    resp_array(rq->w, count);
    for (size_t i = 0; i < count; i++) reply_entry(rq, access_log_at(log, i), now_ms);
    return OK;
}

const struct command acl_log = {
    .name = "log",
    .flags = CMD_ADMIN | CMD_DANGEROUS | CMD_NO_MULTI | CMD_AUDITED,
    .group = "server",
    .summary = "Lists refused commands and failed logins, newest first, 10 unless a count is "
               "given.",
    .arguments = &log_arguments,
    .reply = "An array of maps, or of flat arrays in RESP2.",
    .run = log_run,
};
