/* verify: `tupledctl verify`. The server reads all that it has stored and looks at the checksums.
 */
#include "tool/commands.h"
#include "tool/output.h"
#include "tool/wire_map.h"

#define VERIFY_LOOK_MS 100

const struct tool_option verify_options[] = {
    {"--status", 0, NULL, "only show the progress, or the result of the last check"},
    {"--stop", 0, NULL, "stop the running check"},
    {.name = NULL},
};

static bool verify_is(const redisReply *r, const char *state)
{
    return slice_eq(wire_map_text(r, "state"), slice_str(state));
}

static enum tool_status verify_look(struct wire *w, redisReply **reply)
{
    if (*reply != NULL) freeReplyObject(*reply);
    *reply = NULL;
    enum tool_status status = tool_ask(w, TOOL_WORDS_OF("KV.VERIFY", "STATUS"), reply);
    if (status != TOOL_DONE) return status;
    return wire_map_text(*reply, "state").len > 0 ? TOOL_DONE : tool_strange("KV.VERIFY STATUS");
}

static enum tool_status verify_wait(const struct tool *t, struct wire *w, redisReply **reply)
{
    struct progress p;
    progress_init(&p, t);
    enum tool_status status = verify_look(w, reply);
    while (status == TOOL_DONE && verify_is(*reply, "running")) {
        int64_t pages = wire_map_i64(*reply, "pages");
        int64_t total = wire_map_i64(*reply, "pages-total");
        if (progress_is_due(&p)) {
            progress_show(&p, "verify: %lld of about %lld pages, %d %%, %lld damaged",
                          (long long)pages, (long long)total,
                          total > pages ? (int)(pages * 100 / total) : 100,
                          (long long)wire_map_i64(*reply, "damaged"));
        }
        status = tool_pause(w, VERIFY_LOOK_MS);
        if (status == TOOL_DONE) status = verify_look(w, reply);
    }
    progress_end(&p);
    return status;
}

/* What was found, a place a line, and how it ends. */
static enum tool_status verify_show(const struct tool *t, const redisReply *r)
{
    wire_map_print(t, r);
    if (verify_is(r, "damaged")) {
        return tool_fail(TOOL_NO, "%lld places are damaged; docs/durability.md explains what to do",
                         (long long)wire_map_i64(r, "damaged"));
    }
    if (verify_is(r, "failed")) return tool_fail(TOOL_NO, "the check failed; see the server's log");
    if (verify_is(r, "stopped")) return tool_fail(TOOL_NO, "the check was stopped");
    return TOOL_DONE;
}

enum tool_status verify_run(struct tool *t)
{
    struct wire *w = NULL;
    redisReply *reply = NULL;
    enum tool_status status = tool_connect(t, &w);
    if (status != TOOL_DONE) return status;
    if (tool_has(t, "--stop")) {
        status = tool_ask(w, TOOL_WORDS_OF("KV.VERIFY", "STOP"), &reply);
        if (status == TOOL_DONE && reply->integer == 0) {
            status = tool_fail(TOOL_NO, "no check is running");
        }
    } else if (tool_has(t, "--status")) {
        status = verify_look(w, &reply);
        if (status == TOOL_DONE) status = verify_show(t, reply);
    } else {
        status = tool_ask(w, TOOL_WORDS_OF("KV.VERIFY", "START"), &reply);
        if (status == TOOL_DONE) status = verify_wait(t, w, &reply);
        if (status == TOOL_DONE) status = verify_show(t, reply);
    }
    if (reply != NULL) freeReplyObject(reply);
    wire_close(w);
    return status;
}
