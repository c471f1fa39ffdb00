/* ping: `tupledctl ping`. For people, and for whatever looks after a service: the exit status says
 * it all.
 */
#include "base/clock.h"
#include "tool/commands.h"
#include "tool/info.h"
#include "tool/output.h"

static const char *const ping_names[] = {"version", "health", "uptime_seconds", "milliseconds",
                                         NULL};

/* A user who may not run INFO still learns that the server is there. */
static enum tool_status ping_show(const struct tool *t, const redisReply *info, int64_t took_us)
{
    struct sheet s;
    struct slice version = slice_str("");
    struct slice health = slice_str("");
    bool is_known = info->type == REDIS_REPLY_STRING;
    struct slice text = is_known ? wire_slice(info) : slice_str("");
    sheet_init(&s, ping_names);
    is_known = is_known && info_text(text, "tupled_version", &version) &&
               info_text(text, "health", &health);
    if (is_known) {
        sheet_text(&s, version);
        sheet_text(&s, health);
        sheet_i64(&s, info_i64(text, "uptime_in_seconds"));
    } else {
        for (int i = 0; i < 3; i++) sheet_null(&s);
    }
    sheet_double(&s, (double)took_us / 1000, 3);
    sheet_print_record(&s, t->is_json);
    sheet_fini(&s);
    if (!is_known) {
        return tool_fail(TOOL_NO, "it responds, but does not report its health: %s",
                         info->type == REDIS_REPLY_ERROR ? info->str : "INFO has no field health");
    }
    if (slice_eq(health, slice_str("ok"))) return TOOL_DONE;
    return tool_fail(TOOL_NO, "the server is not healthy: %.*s", (int)health.len,
                     (const char *)health.data);
}

enum tool_status ping_run(struct tool *t)
{
    struct wire *w = NULL;
    redisReply *reply = NULL;
    enum tool_status status = tool_connect(t, &w);
    if (status != TOOL_DONE) return status;
    int64_t start_us = clock_mono_us();
    int64_t until_us = start_us + t->server.timeout_s * 1000000;
    int64_t took_us = 0;
    static const char *const asked[2] = {"PING", "INFO"};
    for (int i = 0; i < 2 && status == TOOL_DONE; i++) {
        wire_append_text(w, TOOL_WORDS_OF(asked[i]));
        switch (wire_next(w, until_us, &reply)) {
        case WIRE_REPLY: break;
        case WIRE_NOTHING:
            status = tool_fail(TOOL_BROKEN, "no reply within %lld s",
                               (long long)t->server.timeout_s);
            break;
        case WIRE_STOPPED:
        case WIRE_GONE: status = tool_fail(TOOL_BROKEN, "%s", wire_why(w)); break;
        }
        if (i == 0) took_us = clock_mono_us() - start_us;
        if (i == 0 && status == TOOL_DONE && reply->type == REDIS_REPLY_ERROR) {
            status = tool_refused(reply);
        }
        if (i == 1 && status == TOOL_DONE) status = ping_show(t, reply, took_us);
        if (reply != NULL) freeReplyObject(reply);
        reply = NULL;
    }
    wire_close(w);
    return status;
}
