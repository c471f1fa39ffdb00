/* audit: see audit.h. A line that cannot be written does not fail the command: it is counted, and
 * the log tells of it once a minute at most. */
#include "request/audit.h"

#include <stdio.h>

#include "access/user.h"
#include "base/clock.h"
#include "base/line_file.h"
#include "base/log.h"
#include "codec/json_lex.h"
#include "request/numbers.h"
#include "request/observe.h"
#include "request/table.h"

#define WORDS_MAX 32
#define WORD_BYTES_MAX 256
#define TOLD_AGAIN_MS 60000

static void put_text(struct buf *out, struct slice text)
{
    json_string_write_lossy(
        slice_of(text.data, text.len < WORD_BYTES_MAX ? text.len : WORD_BYTES_MAX), out);
}

static void put_member(struct buf *out, const char *name, struct slice text)
{
    buf_printf(out, ",\"%s\":", name);
    put_text(out, text);
}

static void put_time(struct buf *out)
{
    char time[CLOCK_UTC_BYTES];
    clock_format_utc(clock_wall_ms(), time);
    buf_printf(out, "{\"time\":\"%s\"", time);
}

/* Whom a login names. */
static bool is_login_name(const struct request *rq, size_t i)
{
    if (rq->command == &cmd_auth) return rq->argc == 3 && i == 1;
    return rq->command == &cmd_hello && i >= 3 && slice_is_word(rq->argv[i - 1], "AUTH");
}

static bool is_login(const struct request *rq)
{
    for (size_t i = 1; i < rq->argc; i++) {
        if (is_login_name(rq, i)) return true;
    }
    return rq->command == &cmd_auth;
}

/* CONFIG SET: the names, and no value. */
static struct slice word_of(const struct request *rq, size_t i)
{
    if (is_login_name(rq, i)) return rq->argv[i];
    bool is_value = rq->command->names_before_values && i >= 3 && i % 2 == 1;
    return is_value ? slice_str("(redacted)") : observe_word(rq, i);
}

static void put_words(struct buf *out, const struct request *rq, const struct numbered *n)
{
    size_t first = n->parent != NULL ? 2 : 1;
    buf_append_str(out, ",\"arguments\":[");
    for (size_t i = first; i < rq->argc && i < first + WORDS_MAX; i++) {
        if (i > first) buf_append_byte(out, ',');
        put_text(out, word_of(rq, i));
    }
    buf_append_byte(out, ']');
    if (rq->argc > first + WORDS_MAX) buf_printf(out, ",\"words\":%zu", rq->argc - first);
}

static void tell_failure(struct env *env, const struct error *e)
{
    int64_t now_ms = clock_mono_us() / 1000;
    env->audit.failures++;
    if (env->audit.told_ms != 0 && now_ms - env->audit.told_ms < TOLD_AGAIN_MS) return;
    env->audit.told_ms = now_ms;
    log_warning("the audit trail is incomplete: %s", e->text);
}

void audit_add(struct request *rq, enum err result)
{
    struct env *env = rq->env;
    const struct client *c = rq->client;
    struct error e;
    struct buf line;
    if (env->audit.file == NULL || (rq->command->flags & CMD_AUDITED) == 0) return;
    if (rq->command == &cmd_hello && !is_login(rq)) return;
    const struct numbered *n = numbers_at(number_of(rq->command));
    const struct database *d = database_get(env->db->databases, c->database);
    char number[8];
    snprintf(number, sizeof number, "%u", c->database);
    buf_init(&line);
    put_time(&line);
    put_member(&line, "user", c->user != NULL ? c->user->name : slice_str(""));
    put_member(&line, "address", slice_str(c->link->address));
    put_member(&line, "database", d != NULL && d->name.len > 0 ? d->name : slice_str(number));
    put_member(&line, "command", slice_str(command_catalog.name(number_of(rq->command))));
    put_words(&line, rq, n);
    put_member(&line, "result", slice_str(result == OK ? "ok" : err_prefix(result)));
    buf_append_str(&line, "}\n");
    buf_require(&line);
    if (line_file_append(env->audit.file, buf_slice(&line), &e) != OK) tell_failure(env, &e);
    buf_fini(&line);
}
