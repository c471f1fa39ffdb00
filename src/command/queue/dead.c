/* queue_dead: KV.DLQ: the dead letters of a queue. */
#include "command/queue/queue_int.h"
#include "request/shapes.h"
#include "request/table.h"
#include "request/where.h"

#define LIST_DEFAULT 100
#define CURSOR_CHARS (2 * SLOT_BYTES)
#define FILTER_WORK (1u << 20) /* of a page: it ends early */

/* ---- LIST, GET ---- */

static void reply_shown(struct request *rq, const struct shown *s)
{
    char id[ID_CHARS];
    id_format(&s->id, id);
    resp_array(rq->w, 5);
    resp_bulk(rq->w, slice_of(id, ID_CHARS));
    reply_value(rq->w, rq->format, s->value);
    resp_int(rq->w, s->attempts);
    resp_bulk(rq->w, s->error);
    resp_int(rq->w, s->time_ms);
}

/* The time of the last one shown in hexadecimal digits, and its id. */
static enum err read_cursor(struct request *rq, const struct argument *a, struct slice arg,
                            void *to)
{
    struct queue_page *p = to;
    (void)a;
    uint8_t padded[ID_CHARS];
    struct message_id time;
    struct message_id id;
    if (arg.len == 1 && arg.data[0] == '0') return OK;
    memset(padded, '0', sizeof padded);
    bool is_good = arg.len == CURSOR_CHARS;
    if (is_good) {
        memcpy(padded + ID_CHARS - 16, arg.data, 16);
        is_good = id_parse(slice_of(padded, ID_CHARS), &time) &&
                  id_parse(slice_of(arg.data + 16, ID_CHARS), &id);
    }
    if (!is_good) return error_set(&rq->error, ERR_SYNTAX, "invalid cursor");
    p->after = slot_of((int64_t)get_u64(time.bytes + ID_BYTES - 8), &id);
    p->has_after = true;
    return OK;
}
const struct argument_kind arg_kind_queue_cursor = {.read = read_cursor};

void queue_cursor_reply(struct request *rq, const struct queue_page *p, const struct shown *last)
{
    char text[CURSOR_CHARS];
    char digits[ID_CHARS];
    struct message_id time = {{0}};
    if (!p->is_more) {
        resp_bulk_str(rq->w, "0");
        return;
    }
    put_u64(time.bytes + ID_BYTES - 8, (uint64_t)last->time_ms);
    id_format(&time, digits);
    memcpy(text, digits + ID_CHARS - 16, 16);
    id_format(&last->id, digits);
    memcpy(text + 16, digits, ID_CHARS);
    resp_bulk(rq->w, slice_of(text, CURSOR_CHARS));
}

struct dead_list {
    struct queue_page page;
    int64_t count;
    struct slice where;
};
ARGUMENTS_WITH(dead_list_arguments, struct dead_list,
               "queue [COUNT count] [CURSOR cursor] [WHERE filter]", WITH(.members = "COUNT limit"),
               ARG_FIXED(struct dead_list, page.space, SPACE_DEAD),
               ARG_QUEUE(struct dead_list, page.queue, "queue", ACCESS_READ),
               ARG_INTEGER(struct dead_list, count, "COUNT", 1, QUEUE_COUNT_MAX, LIST_DEFAULT),
               ARG_QUEUE_CURSOR(struct dead_list, page, "CURSOR"),
               ARG_FILTER(struct dead_list, where, "WHERE"));

/* Leaves those that match; *last: of those that were looked at. What would take longer than a turn
 * of the loop may is for the next page. */
static enum err dead_filter(struct request *rq, struct queue_page *p,
                            const struct row_filter *where, struct shown *last)
{
    size_t matched = 0;
    uint64_t work = 0;
    size_t i = 0;
    for (; i < p->count && work < FILTER_WORK; i++) {
        *last = p->items[i];
        enum err r = row_filter_check(where, last->value, ROW_LOOP_WORK_MAX, &rq->error);
        if (r != OK) return r;
        work += row_filter_work(where, last->value);
        if (where->matches(where, last->value)) p->items[matched++] = *last;
    }
    if (i < p->count) p->is_more = true;
    p->count = matched;
    return OK;
}

static enum err dead_page(struct request *rq, struct queue_page *p, const struct row_filter *where,
                          struct shown *last)
{
    struct queue_reading reading;
    queue_view_begin(rq, &reading);
    enum err r = queue_page(rq->env->db->queues, &reading.view, p, &rq->error);
    queue_view_end(rq, &reading);
    if (r != OK || p->count == 0) return r;
    *last = p->items[p->count - 1];
    return where != NULL ? dead_filter(rq, p, where, last) : OK;
}

static enum err dead_list_run(struct request *rq)
{
    struct dead_list *a = rq->bound;
    struct queue_page *p = &a->page;
    struct row_filter *where = NULL;
    struct shown last = {0};
    enum err r = a->where.data != NULL ? arg_where(rq, a->where, &where) : OK;
    p->max = (size_t)a->count;
    if (r == OK) r = dead_page(rq, p, where, &last);
    where_unref(where);
    if (r != OK) return r;
    resp_array(rq->w, 2);
    queue_cursor_reply(rq, p, &last);
    resp_array(rq->w, p->count);
    for (size_t i = 0; i < p->count; i++) reply_shown(rq, &p->items[i]);
    return OK;
}

static const struct command sub_list = {
    .name = "list",
    .flags = CMD_QUEUE | CMD_READ | CMD_FORMAT,
    .group = "queue",
    .summary = "Lists the dead letters of a queue, newest first.",
    .arguments = &dead_list_arguments,
    .reply = "`[cursor, [[id, value, attempts, error, failed at ms] ...]]`. Cursor `0` means that "
             "there are no more. With WHERE, those of the next COUNT that match; a page may be "
             "empty and still have a cursor.",
    .run = dead_list_run,
};

static enum err dead_get_run(struct request *rq)
{
    const struct queue_message *a = rq->bound;
    struct queue_reading reading;
    struct shown shown = {.id = a->id};
    queue_view_begin(rq, &reading);
    enum err r = queue_dead_get(rq->env->db->queues, &reading.view, a->queue, &shown, &rq->error);
    queue_view_end(rq, &reading);
    if (r != OK) return r;
    if (shown.exists) {
        reply_shown(rq, &shown);
    } else {
        resp_nil_array(rq->w);
    }
    return OK;
}

static const struct command sub_get = {
    .name = "get",
    .flags = CMD_QUEUE | CMD_READ | CMD_FAST | CMD_FORMAT,
    .group = "queue",
    .summary = "Returns one dead letter.",
    .arguments = &read_message_arguments,
    .reply = "`[id, value, attempts, error, failed at ms]`, or nil.",
    .run = dead_get_run,
};

/* ---- REQUEUE, DEL, PURGE ---- */

struct message_ids {
    struct message_id *items;
    size_t count;
};
struct dead_some {
    struct slice queue;
    struct message_ids ids;
    bool is_all;
};
ARGUMENTS_WITH(requeue_arguments, struct dead_some, "queue <id [id ...] | ALL>",
               WITH(.members = "id ids"), ARG_QUEUE(struct dead_some, queue, "queue", ACCESS_WRITE),
               ARG_MESSAGE_IDS(struct dead_some, ids, "id"),
               ARG_FLAG(struct dead_some, is_all, "ALL"));
ARGUMENTS_WITH(dead_del_arguments, struct dead_some, "queue id [id ...]", WITH(.members = "id ids"),
               ARG_QUEUE(struct dead_some, queue, "queue", ACCESS_WRITE),
               ARG_MESSAGE_IDS(struct dead_some, ids, "id"));

static enum err dead_of_ids(struct request *rq, enum bulk_kind kind)
{
    const struct dead_some *a = rq->bound;
    struct queue_bulk x = {.queues = rq->env->db->queues,
                           .kind = kind,
                           .queue = a->queue,
                           .ids = a->ids.items,
                           .id_count = a->ids.count};
    struct op op = queue_bulk_op(&x);
    enum err r = request_commit(rq, &op, 1);
    if (r == OK) resp_int(rq->w, (int64_t)x.done);
    return r;
}

static enum err dead_of_all(struct request *rq, struct slice queue, enum bulk_kind kind)
{
    uint64_t total = 0;
    enum err r = queue_bulk_run(rq, kind, queue, &total);
    if (r == OK) resp_int(rq->w, (int64_t)total);
    return r;
}

static enum err dead_requeue_run(struct request *rq)
{
    const struct dead_some *a = rq->bound;
    return a->is_all ? dead_of_all(rq, a->queue, BULK_DEAD_REQUEUE)
                     : dead_of_ids(rq, BULK_DEAD_REQUEUE);
}

static const struct command sub_requeue = {
    .name = "requeue",
    .flags = CMD_QUEUE | CMD_WRITE | CMD_IDEM | CMD_FORMAT,
    .group = "queue",
    .summary = "Enqueues dead letters again, with their original options.",
    .arguments = &requeue_arguments,
    .reply = "The number.",
    .run = dead_requeue_run,
};

static enum err dead_del_run(struct request *rq)
{
    return dead_of_ids(rq, BULK_DEAD_DELETE);
}

static const struct command sub_del = {
    .name = "del",
    .flags = CMD_QUEUE | CMD_WRITE | CMD_IDEM | CMD_FORMAT,
    .group = "queue",
    .summary = "Deletes dead letters.",
    .arguments = &dead_del_arguments,
    .reply = "The number.",
    .run = dead_del_run,
};

static enum err dead_purge_run(struct request *rq)
{
    const struct queue_named *a = rq->bound;
    return dead_of_all(rq, a->queue, BULK_DEAD_DELETE);
}

static const struct command sub_purge = {
    .name = "purge",
    .flags = CMD_QUEUE | CMD_WRITE | CMD_IDEM | CMD_FORMAT,
    .group = "queue",
    .summary = "Deletes all dead letters of a queue.",
    .arguments = &write_queue_arguments,
    .reply = "The number.",
    .run = dead_purge_run,
};

COMMAND_HELP("queue", CMD_QUEUE);

static const struct command *const dead_subcommands[] = {
    &sub_del, &sub_get, &sub_help, &sub_list, &sub_purge, &sub_requeue, NULL,
};

const struct command kv_dlq = {
    .name = "kv.dlq",
    .group = "queue",
    .summary = "A container for commands about dead letters.",
    .arguments = &container_arguments,
    .brief = "<LIST queue | GET queue id | REQUEUE queue id | DEL queue id | PURGE queue>",
    .subcommands = dead_subcommands,
};
