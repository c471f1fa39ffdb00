/* queue_export: KV.QUEUE EXPORT: messages with all that belongs to them, for a copy of the queue
 * elsewhere (docs/export.md); KV.LOAD takes them back.
 */
#include "base/bytes.h"
#include "command/queue/queue_int.h"
#include "request/args.h"
#include "request/format.h"
#include "request/table.h"

#define EXPORT_DEFAULT 100

static enum err arg_space(struct request *rq, struct slice word, enum space *out)
{
    static const struct {
        const char *word;
        enum space space;
    } spaces[] = {{"READY", SPACE_READY}, {"LEASED", SPACE_LEASE}, {"DEAD", SPACE_DEAD}};
    for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++) {
        *out = spaces[i].space;
        if (slice_is_word(word, spaces[i].word)) return OK;
    }
    return error_set(&rq->error, ERR_SYNTAX, "READY, LEASED or DEAD expected, not '%.*s'",
                     (int)(word.len < 32 ? word.len : 32), (const char *)word.data);
}

static enum err parse_export(struct request *rq, struct queue_page *p)
{
    struct options o = {.rq = rq, .at = 4};
    int64_t count = EXPORT_DEFAULT;
    enum err r = arg_queue(rq, rq->argv[2]);
    if (r == OK) r = arg_space(rq, rq->argv[3], &p->space);
    while (r == OK && o.at < rq->argc) {
        struct slice arg;
        if (options_take(&o, "COUNT", 0)) {
            r = options_integer(&o, "COUNT", 1, QUEUE_COUNT_MAX, &count);
        } else if (options_take(&o, "CURSOR", 1)) {
            r = options_argument(&o, "CURSOR", &arg);
            if (r == OK) r = queue_cursor_parse(rq, arg, p);
        } else {
            r = options_unknown(&o);
        }
    }
    p->queue = rq->argv[2];
    p->max = (size_t)count;
    return r;
}

static void reply_undelivered(struct request *rq, const struct message *m)
{
    const uint8_t *at = m->undelivered;
    resp_array(rq->w, m->undelivered_count);
    for (size_t i = 0; i < m->undelivered_count; i++) {
        size_t len = (size_t)at[0] << 8 | at[1];
        buf_clear(rq->scratch, SIZE_MAX);
        format_write_key(rq->format, slice_of(at + 2, len), rq->scratch);
        resp_bulk(rq->w, buf_slice(rq->scratch));
        at += 2 + len;
    }
}

static void reply_message(struct request *rq, const struct shown *s)
{
    char id[ID_CHARS];
    id_format(&s->id, id);
    resp_array(rq->w, 7);
    resp_bulk(rq->w, slice_of(id, ID_CHARS));
    reply_value(rq->w, rq->format, s->value);
    resp_int(rq->w, s->time_ms);
    resp_int(rq->w, s->attempts);
    resp_bulk(rq->w, s->error);
    resp_array(rq->w, s->message.backoff_count);
    for (size_t i = 0; i < s->message.backoff_count; i++) {
        resp_int(rq->w, message_backoff(&s->message, i));
    }
    reply_undelivered(rq, &s->message);
}

static enum err export_run(struct request *rq)
{
    struct queue_reading reading;
    struct queue_page p = {0};
    enum err r = parse_export(rq, &p);
    if (r != OK) return r;
    queue_view_begin(rq, &reading);
    r = queue_page(rq->env->db->queues, &reading.view, &p, &rq->error);
    queue_view_end(rq, &reading);
    if (r != OK) return r;
    resp_array(rq->w, 2);
    queue_cursor_reply(rq, &p, p.count > 0 ? &p.items[p.count - 1] : NULL);
    resp_array(rq->w, p.count);
    for (size_t i = 0; i < p.count; i++) reply_message(rq, &p.items[i]);
    return OK;
}

const struct command queue_export = {
    .name = "export",
    .arity = -4,
    .flags = CMD_QUEUE | CMD_READ | CMD_ADMIN | CMD_FORMAT,
    .group = "queue",
    .since = "0.1.0",
    .summary = "Messages, or dead letters, with all that KV.LOAD needs to make them anew.",
    .syntax = "queue <READY | LEASED | DEAD> [COUNT count] [CURSOR cursor]",
    .reply = "`[cursor, [[id, value, time ms, attempts, error, [backoff ms ...], [undelivered key "
             "...]] ...]]`; cursor `0` = done. The time is when the message is due, when its lease "
             "ends, when it died. READY: delayed ones too.",
    .run = export_run,
    .subjects = queue_read_subjects,
};
