/* monitor: MONITOR. A client that said it gets a line for every command of every client, as Redis
 * writes it:
 *
 *   +1795178653.423515 [0 127.0.0.1:33678] "memory" "usage" "a\n" "SAMPLES" "0"
 *
 * A command is shown when it has its reply, one that blocks (BLPOP) when it begins to wait. What a
 * script calls comes after the line of its EVAL, with "lua" in place of the address.
 *
 * Commands of administration are not shown, nor are passwords. A monitor that does not read costs
 * what client-output-buffer-limit allows; then it is closed.
 */
#include "base/clock.h"
#include "request/command.h"
#include "request/feature.h"
#include "request/observe.h"
#include "request/permission.h"
#include "request/shapes.h"
#include "request/table.h"

#define SCRATCH_KEEP_BYTES (64 * 1024)

static void append_quoted(struct buf *out, struct slice word)
{
    static const char digits[] = "0123456789abcdef";
    static const char special[] = "\\\"\n\r\t\a\b";
    static const char letters[] = "\\\"nrtab";
    buf_append_byte(out, '"');
    for (size_t i = 0; i < word.len; i++) {
        uint8_t c = word.data[i];
        const char *at = c == 0 ? NULL : strchr(special, c);
        if (at != NULL) {
            buf_append_byte(out, '\\');
            buf_append_byte(out, (uint8_t)letters[at - special]);
        } else if (c >= ' ' && c <= '~') {
            buf_append_byte(out, c);
        } else {
            const char hex[4] = {'\\', 'x', digits[c >> 4], digits[c & 15]};
            buf_append(out, hex, sizeof hex);
        }
    }
    buf_append_byte(out, '"');
}

/* A Unix socket's address is "path:0" and shown as "unix:path". */
static void append_address(struct buf *out, const struct client *c)
{
    size_t len = strlen(c->link->address);
    if (c->link->is_unix && len > 2) len -= 2;
    buf_printf(out, "%s%.*s", c->link->is_unix ? "unix:" : "", (int)len, c->link->address);
}

/* Shows every monitor the command; uses rq->scratch. */
static void monitor_feed(struct request *rq)
{
    struct env *env = rq->env;
    if (env->families.monitors == NULL || (rq->command->flags & CMD_ADMIN) != 0) return;
    struct buf *line = rq->scratch;
    int64_t now_us = clock_wall_us();
    int database = rq->is_ran != NULL ? rq->is_ran->database : rq->client->database;
    buf_clear(line, SIZE_MAX);
    buf_printf(line, "+%lld.%06lld [%d ", (long long)(now_us / 1000000),
               (long long)(now_us % 1000000), database);
    if (rq->is_ran != NULL) {
        buf_append_str(line, "lua");
    } else {
        append_address(line, rq->client);
    }
    buf_append_byte(line, ']');
    for (size_t i = 0; i < rq->argc; i++) {
        buf_append_byte(line, ' ');
        append_quoted(line, observe_word(rq, i));
    }
    buf_append(line, "\r\n", 2);
    const struct client *first = env->families.monitors;
    struct client *c = env->families.monitors;
    do {
        /* A line that memory is too small for is not sent. */
        if (!line->is_failed) c->ops->write(c, buf_slice(line), 0);
        c = c->monitoring.next;
    } while (c != first);
    buf_clear(line, SCRATCH_KEEP_BYTES);
}

static void monitor_done(struct request *rq, int64_t took_us)
{
    (void)took_us;
    if (rq->is_ran != NULL || !rq->client->run.is_shown) monitor_feed(rq);
}

static void monitor_start(struct env *env, struct client *c)
{
    if (c->monitoring.is_on) return;
    c->monitoring.is_on = true;
    if (env->families.monitors == NULL) {
        env->families.monitors = c->monitoring.next = c->monitoring.prev = c;
        return;
    }
    c->monitoring.next = env->families.monitors;
    c->monitoring.prev = env->families.monitors->monitoring.prev;
    c->monitoring.prev->monitoring.next = c;
    env->families.monitors->monitoring.prev = c;
}

/* The client is no longer sent anything; harmless when it was not. */
static void monitor_stop(struct env *env, struct client *c)
{
    if (!c->monitoring.is_on) return;
    c->monitoring.is_on = false;
    if (env->families.monitors == c)
        env->families.monitors = c->monitoring.next == c ? NULL : c->monitoring.next;
    c->monitoring.next->monitoring.prev = c->monitoring.prev;
    c->monitoring.prev->monitoring.next = c->monitoring.next;
    c->monitoring.next = c->monitoring.prev = NULL;
}

static bool monitor_user_changed(struct env *env, struct client *c)
{
    struct slice word = slice_str("monitor");
    return !c->monitoring.is_on || client_may(env, c, &cmd_monitor, &word, 1);
}

const struct feature monitor_feature = {
    .user_changed = monitor_user_changed,
    .client_gone = monitor_stop,
    .client_reset = monitor_stop,
    .command_done = monitor_done,
    .command_blocks = monitor_feed,
};

static enum err monitor_run(struct request *rq)
{
    monitor_start(rq->env, rq->client);
    resp_simple(rq->w, "OK");
    return OK;
}

const struct command cmd_monitor = {
    .name = "monitor",
    .flags = CMD_ADMIN | CMD_DANGEROUS | CMD_NO_MULTI | CMD_ALL_KEYS,
    .group = "server",
    .summary = "Streams every command of every client as it runs, until RESET or QUIT.",
    .arguments = &no_arguments,
    .run = monitor_run,
};
