/* queue_dead: KV.DLQ: the dead letters of a queue. */
#include "command/queue/queue_int.h"
#include "request/args.h"
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
enum err queue_cursor_parse(struct request *rq, struct slice arg, struct queue_page *p)
{
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

static enum err parse_list(struct request *rq, struct queue_page *p, struct row_filter **where)
{
    struct options o = {.rq = rq, .at = 3};
    int64_t count = LIST_DEFAULT;
    enum err r = arg_queue(rq, rq->argv[2]);
    while (r == OK && o.at < rq->argc) {
        struct slice arg;
        if (options_take(&o, "COUNT", 0)) {
            r = options_argument(&o, "COUNT", &arg);
            if (r == OK) r = arg_integer(rq, arg, "COUNT", 1, QUEUE_COUNT_MAX, &count);
        } else if (options_take(&o, "CURSOR", 1)) {
            r = options_argument(&o, "CURSOR", &arg);
            if (r == OK) r = queue_cursor_parse(rq, arg, p);
        } else if (options_take(&o, "WHERE", 2)) {
            r = options_argument(&o, "WHERE", &arg);
            if (r == OK) r = arg_where(rq, arg, where);
        } else {
            r = options_unknown(&o);
        }
    }
    p->max = (size_t)count;
    return r;
}

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
    struct queue_page p = {.queue = rq->argv[2], .space = SPACE_DEAD};
    struct row_filter *where = NULL;
    struct shown last = {0};
    enum err r = parse_list(rq, &p, &where);
    if (r == OK) r = dead_page(rq, &p, where, &last);
    where_unref(where);
    if (r != OK) return r;
    resp_array(rq->w, 2);
    queue_cursor_reply(rq, &p, &last);
    resp_array(rq->w, p.count);
    for (size_t i = 0; i < p.count; i++) reply_shown(rq, &p.items[i]);
    return OK;
}

static const struct command sub_list = {
    .name = "list",
    .arity = -3,
    .flags = CMD_QUEUE | CMD_READ | CMD_FORMAT,
    .group = "queue",
    .since = "0.1.0",
    .summary = "The dead letters of a queue, newest first.",
    .syntax = "queue [COUNT count] [CURSOR cursor] [WHERE filter]",
    .reply = "`[cursor, [[id, value, attempts, error, failed at ms] ...]]`; cursor `0` = done. "
             "WHERE: of the next COUNT those that match, which may be none, with a cursor.",
    .run = dead_list_run,
    .subjects = queue_read_subjects,
};

static enum err dead_get_run(struct request *rq)
{
    struct queue_reading reading;
    struct shown shown = {0};

    enum err r = arg_queue(rq, rq->argv[2]);
    if (r == OK) r = arg_message_id(rq, rq->argv[3], &shown.id);
    if (r != OK) return r;
    queue_view_begin(rq, &reading);
    r = queue_dead_get(rq->env->db->queues, &reading.view, rq->argv[2], &shown, &rq->error);
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
    .arity = 4,
    .flags = CMD_QUEUE | CMD_READ | CMD_FAST | CMD_FORMAT,
    .group = "queue",
    .since = "0.1.0",
    .summary = "One dead letter.",
    .syntax = "queue id",
    .reply = "`[id, value, attempts, error, failed at ms]`, or nil.",
    .run = dead_get_run,
    .subjects = queue_read_subjects,
};

/* ---- REQUEUE, DEL, PURGE ---- */

static enum err dead_of_ids(struct request *rq, enum bulk_kind kind)
{
    size_t count = rq->argc - 3;
    struct message_id *ids = arena_alloc(rq->arena, count * sizeof *ids);
    for (size_t i = 0; i < count; i++) {
        enum err r = arg_message_id(rq, rq->argv[i + 3], &ids[i]);
        if (r != OK) return r;
    }
    struct queue_bulk x = {.queues = rq->env->db->queues,
                           .kind = kind,
                           .queue = rq->argv[2],
                           .ids = ids,
                           .id_count = count};
    struct op op = queue_bulk_op(&x);
    enum err r = request_commit(rq, &op, 1);
    if (r == OK) resp_int(rq->w, (int64_t)x.done);
    return r;
}

static enum err dead_of_all(struct request *rq, enum bulk_kind kind)
{
    uint64_t total = 0;
    enum err r = queue_bulk_run(rq, kind, rq->argv[2], &total);
    if (r == OK) resp_int(rq->w, (int64_t)total);
    return r;
}

static enum err dead_requeue_run(struct request *rq)
{
    enum err r = arg_queue(rq, rq->argv[2]);
    if (r != OK) return r;
    bool is_all = rq->argc == 4 && slice_is_word(rq->argv[3], "ALL");
    return is_all ? dead_of_all(rq, BULK_DEAD_REQUEUE) : dead_of_ids(rq, BULK_DEAD_REQUEUE);
}

static const struct command sub_requeue = {
    .name = "requeue",
    .arity = -4,
    .flags = CMD_QUEUE | CMD_WRITE | CMD_IDEM | CMD_FORMAT,
    .group = "queue",
    .since = "0.1.0",
    .summary = "Lets dead letters begin anew, with the options they were enqueued with.",
    .syntax = "queue <id [id ...] | ALL>",
    .reply = "How many.",
    .run = dead_requeue_run,
    .subjects = queue_write_subjects,
};

static enum err dead_del_run(struct request *rq)
{
    enum err r = arg_queue(rq, rq->argv[2]);
    return r == OK ? dead_of_ids(rq, BULK_DEAD_DELETE) : r;
}

static const struct command sub_del = {
    .name = "del",
    .arity = -4,
    .flags = CMD_QUEUE | CMD_WRITE | CMD_IDEM | CMD_FORMAT,
    .group = "queue",
    .since = "0.1.0",
    .summary = "Removes dead letters.",
    .syntax = "queue id [id ...]",
    .reply = "How many.",
    .run = dead_del_run,
    .subjects = queue_write_subjects,
};

static enum err dead_purge_run(struct request *rq)
{
    enum err r = arg_queue(rq, rq->argv[2]);
    return r == OK ? dead_of_all(rq, BULK_DEAD_DELETE) : r;
}

static const struct command sub_purge = {
    .name = "purge",
    .arity = 3,
    .flags = CMD_QUEUE | CMD_WRITE | CMD_IDEM | CMD_FORMAT,
    .group = "queue",
    .since = "0.1.0",
    .summary = "Removes all dead letters of a queue.",
    .syntax = "queue",
    .reply = "How many.",
    .run = dead_purge_run,
    .subjects = queue_write_subjects,
};

COMMAND_HELP("queue", CMD_QUEUE);

static const struct command *const dead_subcommands[] = {
    &sub_del, &sub_get, &sub_help, &sub_list, &sub_purge, &sub_requeue, NULL,
};

const struct command kv_dlq = {
    .name = "kv.dlq",
    .arity = -2,
    .group = "queue",
    .since = "0.1.0",
    .summary = "Commands about dead letters.",
    .syntax = "",
    .brief = "<LIST queue | GET queue id | REQUEUE queue id | DEL queue id | PURGE queue>",
    .subcommands = dead_subcommands,
};
