/* queue_export: KV.QUEUE EXPORT: messages with all that belongs to them, for a copy of the queue
 * elsewhere (docs/export.md); KV.LOAD takes them back.
 */
#include "base/bytes.h"
#include "command/queue/queue_int.h"
#include "request/args.h"
#include "request/format.h"
#include "request/table.h"

#define EXPORT_DEFAULT 100

struct export
{
    struct queue_page page;
    int64_t count;
};
ARGUMENTS(export_arguments, struct export,
          "queue <READY | LEASED | DEAD> [COUNT count] [CURSOR cursor]",
          ARG_QUEUE(struct export, page.queue, "queue", ACCESS_READ),
          ARG_CHOICE(struct export, page.space, {"READY", SPACE_READY}, {"LEASED", SPACE_LEASE},
                     {"DEAD", SPACE_DEAD}),
          ARG_INTEGER(struct export, count, "COUNT", 1, QUEUE_COUNT_MAX, EXPORT_DEFAULT),
          ARG_QUEUE_CURSOR(struct export, page, "CURSOR"));

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
    struct export *a = rq->bound;
    struct queue_page *p = &a->page;
    struct queue_reading reading;
    p->max = (size_t)a->count;
    queue_view_begin(rq, &reading);
    enum err r = queue_page(rq->env->db->queues, &reading.view, p, &rq->error);
    queue_view_end(rq, &reading);
    if (r != OK) return r;
    resp_array(rq->w, 2);
    queue_cursor_reply(rq, p, p->count > 0 ? &p->items[p->count - 1] : NULL);
    resp_array(rq->w, p->count);
    for (size_t i = 0; i < p->count; i++) reply_message(rq, &p->items[i]);
    return OK;
}

const struct command queue_export = {
    .name = "export",
    .flags = CMD_QUEUE | CMD_READ | CMD_ADMIN | CMD_FORMAT,
    .group = "queue",
    .summary = "Returns messages or dead letters with everything that KV.LOAD needs to recreate "
               "them.",
    .arguments = &export_arguments,
    .reply = "`[cursor, [[id, value, time ms, attempts, error, [backoff ms ...], [undelivered key "
             "...]] ...]]`. Cursor `0` means that there are no more. The time is when the message "
             "is due, when its lease ends, or when it became a dead letter. READY includes "
             "delayed messages.",
    .run = export_run,
};
