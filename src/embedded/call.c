/* call: from words to a result. embedded_int.h draws its states. */
#include <stdio.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/mem.h"
#include "embedded/embedded_int.h"
#include "embedded/futex.h"
#include "engine/stamp.h"
#include "request/args.h"
#include "request/block.h"
#include "request/format.h"
#include "request/selected.h"
#include "request/table.h"
#include "resp/item.h"

#define TURN_EVERY 64        /* reads of what is in memory */
#define KEEP_BYTES (1 << 20) /* of scratch memory, between two calls */

/* ---- results ---- */

void call_free(struct call *c)
{
    buf_fini(&c->out);
    mem_free(c->entry);
    mem_free(c);
}

static void write_error(struct call *c, const struct error *e)
{
    struct resp_writer w = {.out = &c->out, .proto = 3};
    buf_clear(&c->out, SIZE_MAX);
    mem_free(c->entry);
    c->entry = NULL;
    resp_error(&w, e);
}

int call_outcome(const struct call *c, struct tupled_error *e)
{
    if (c->broken != NULL) return db_broken(c->broken, e);
    if (c->out.is_failed) {
        return error_give(e, ERR_NOMEM, "out of memory for a reply; the command has taken effect");
    }
    return reply_outcome(buf_slice(&c->out), e);
}

static void leave_seat(struct call *c)
{
    struct seat *s = c->seat;
    if (s == NULL) return;
    s->client.link->stream_base += c->out.len;
    s->client.link->stream_sent =
        s->client.link->stream_base; /* what it dequeued is the caller's now */
    seat_give(s);
    c->seat = NULL;
}

static void leave_list(struct call *c)
{
    if (c->state == CALL_QUEUED || c->state == CALL_RUNNING) return;
    RING_UNLINK(c, next, prev);
}

void call_done(struct tupled_db *db, struct call *c)
{
    leave_list(c);
    leave_seat(c);
    c->state = CALL_DONE;
    if (c->finish != NULL) {
        c->next = NULL;
        *db->done_last = c;
        db->done_last = &c->next;
        db->has_news = true;
    } else if (c->is_slept_on) {
        STACK_UNLINK(db->sleepers, c, sleep_next, sleep_prev);
        c->next = db->woken;
        db->woken = c;
    }
}

/* What it has taken from a queue goes back there, as if a connection had broken. */
void call_fail(struct tupled_db *db, struct call *c, const struct error *e)
{
    struct seat *s = c->seat;
    leave_list(c);
    c->state = CALL_RUNNING;
    if (s != NULL) runner_drop(&s->runner);
    if (s != NULL && !s->is_kept) {
        s->call = NULL;
        seat_free(s);
        c->seat = NULL;
    } else if (s != NULL) {
        client_drop_pending(&s->client);
        client_block_clear(&s->client, &db->env);
        c->seat = NULL;
        s->call = NULL;
    }
    write_error(c, e);
    call_done(db, c);
}

/* Held until what it depends on is durable; mostly it comes last. */
static void hold(struct tupled_db *db, struct call *c)
{
    struct call *at = &db->held;
    if (c->depends <= db->durable) {
        call_done(db, c);
        return;
    }
    while (at->prev != &db->held && at->prev->depends > c->depends) at = at->prev;
    c->state = CALL_HELD;
    RING_INSERT(at, c, next, prev);
}

/* ---- running ---- */

static void give_entry(struct tupled_db *db, struct call *c, const struct entry *entry)
{
    struct slice value = entry->value;
    if (db->env.settings.default_format != FORMAT_MSGPACK) {
        buf_clear(&db->scratch, KEEP_BYTES);
        format_write_value(db->env.settings.default_format, entry->value, &db->scratch);
        value = buf_slice(&db->scratch);
    }
    struct tupled_entry *x = mem_alloc_try(sizeof *x + value.len + 1);
    if (x == NULL || db->scratch.is_failed) {
        struct error e;
        mem_free(x);
        (void)error_set(&e, ERR_NOMEM, "out of memory for a value of %zu bytes", value.len);
        write_error(c, &e);
        return;
    }
    uint8_t *bytes = (uint8_t *)(x + 1);
    bytes_copy(bytes, value.data, value.len);
    bytes[value.len] = 0;
    *x = (struct tupled_entry){.value = {bytes, value.len}, .expiry_ms = entry->expiry_ms};
    stamp_format(entry->version, x->versionstamp);
    c->entry = x;
}

static enum err get_run(struct tupled_db *db, struct call *c, struct request *rq)
{
    struct slice key = {0};
    struct entry entry;
    rq->command = &kv_get;
    rq->format = rq->client->settings.format;
    enum err r = request_enter(rq);
    if (r == OK) r = arg_key(rq, c->argv[0], &key);
    if (r == OK) r = request_get(rq, key, &entry);
    if (r == ERR_WAIT) return r;
    rq->client->entered.has_entered = false;
    db->env.stats.commands++;
    if (r != OK) {
        write_error(c, &rq->error);
        return OK;
    }
    db->env.stats.reads++;
    if (entry.exists) {
        db->env.stats.hits++;
        give_entry(db, c, &entry);
    } else {
        db->env.stats.misses++;
    }
    return OK;
}

/* The confirmation is dropped, the messages that follow it are the first frames. */
static void take_first_frames(struct call *c)
{
    struct slice rest = buf_slice(&c->out);
    if (rest.len > 0 && rest.data[0] == '-') return;
    size_t first = resp_reply_length(rest);
    frames_add(c->seat->watch, slice_of(rest.data + first, rest.len - first), c->depends);
    c->out.len = first;
    c->depends = 0;
}

static void run(struct tupled_db *db, struct call *c)
{
    struct seat *s = c->seat;
    struct resp_writer w = {.out = &c->out, .proto = s->client.settings.proto};
    struct request rq = {
        .argv = c->argv, .argc = c->argc, .arena = &db->arena, .scratch = &db->scratch, .w = &w};
    enum err r = OK;
    c->state = CALL_RUNNING;
    runner_begin(&s->runner, &rq);
    if (c->kind == CALL_GET) {
        r = get_run(db, c, &rq);
    } else {
        db->env.now_us = clock_mono_us();
        r = command_run(&rq);
    }
    r = runner_over(&s->runner, &rq, r);
    if (r == ERR_WAIT) {
        bool is_parked = runner_is_parked(&s->runner); /* else it was woken already */
        c->state = is_parked ? CALL_PARKED : CALL_READY;
        struct call *ring = is_parked ? &db->parked : &db->ready;
        RING_INSERT(ring, c, next, prev);
        return;
    }
    c->depends = rq.depends;
    if (c->kind == CALL_SUBSCRIBE) take_first_frames(c);
    hold(db, c);
}

void call_again(struct tupled_db *db, struct call *c)
{
    RING_UNLINK(c, next, prev);
    c->state = CALL_RUNNING;
    run(db, c);
}

static bool is_refused(struct tupled_db *db, struct call *c)
{
    struct error e;
    if (db->failure.code != OK) {
        (void)error_set(
            &e, ERR_IO,
            "the database has stopped: %s. Close it, and open it again when the cause is removed",
            db->failure.text);
        call_fail(db, c, &e);
        return true;
    }
    if (db->is_closing) {
        (void)error_set(&e, ERR_SYNTAX, "the database is being closed");
        call_fail(db, c, &e);
        return true;
    }
    if (c->kind != CALL_COMMAND) return false;
    const char *why = refuse_command(c->argv, c->argc, c->seat != NULL);
    if (why == NULL) return false;
    (void)error_set(&e, ERR_SYNTAX, "%.*s %s", (int)(c->argv[0].len < 64 ? c->argv[0].len : 64),
                    (const char *)c->argv[0].data, why);
    call_fail(db, c, &e);
    return true;
}

void call_start(struct tupled_db *db, struct call *c)
{
    c->state = CALL_RUNNING;
    if (is_refused(db, c)) return;
    if (c->seat == NULL) c->seat = seat_take(db);
    c->seat->call = c;
    run(db, c);
}

/* ---- synchronous ---- */

/* The thread that makes the turns cannot wait for itself: it makes them until the call is done. */
static void drive(struct tupled_db *db, struct call *c)
{
    for (;;) {
        __atomic_store_n(&db->is_woken, 0, __ATOMIC_RELEASE);
        db_take(db);
        db_turn(db);
        bool is_done = c->state == CALL_DONE;
        bool is_busy = db->is_busy;
        db_leave(db);
        if (is_done) return;
        if (!is_busy) db_sleep(db);
    }
}

struct running {
    struct tupled_db *db;
    struct call *call;
};

static void run_and_wait(void *arg)
{
    const struct running *r = arg;
    struct tupled_db *db = r->db;
    struct call *c = r->call;
    bool is_driver = db->options.is_driven != 0;
    db_enter(db);
    call_start(db, c);
    if (c->kind != CALL_GET || c->state != CALL_DONE || ++db->runs % TURN_EVERY == 0) db_step(db);
    if (c->state == CALL_DONE) {
        db_leave(db);
    } else if (is_driver) {
        db_leave(db);
        drive(db, c);
    } else {
        c->is_slept_on = true;
        STACK_PUSH(db->sleepers, c, sleep_next, sleep_prev);
        db_leave(db);
        futex_await(&c->is_done);
    }
}

void call_run(struct tupled_db *db, struct call *c)
{
    struct running r = {db, c};
    if (!db_guard(db, run_and_wait, &r)) c->broken = db;
}

/* ---- asynchronous ---- */

struct call *call_new(enum call_kind kind, const struct slice *argv, size_t argc)
{
    size_t bytes = 0;
    for (size_t i = 0; i < argc; i++) bytes += argv[i].len;
    struct call *c = mem_alloc_try(sizeof *c + argc * sizeof *argv + bytes);
    if (c == NULL) return NULL;
    struct slice *words = (struct slice *)(void *)(c + 1);
    uint8_t *p = (uint8_t *)(words + argc);
    for (size_t i = 0; i < argc; i++) {
        bytes_copy(p, argv[i].data, argv[i].len);
        words[i] = slice_of(p, argv[i].len);
        p += argv[i].len;
    }
    *c = (struct call){.kind = kind, .argv = words, .argc = argc};
    return c;
}

int call_submit(struct tupled_db *db, struct call *c)
{
    __atomic_add_fetch(&db->users, 1, __ATOMIC_ACQ_REL);
    pthread_mutex_lock(&db->queue_lock);
    bool is_closed = db->is_closed_to_calls || db_is_broken(db);
    if (!is_closed) {
        c->next = NULL;
        *db->queue_last = c;
        db->queue_last = &c->next;
        __atomic_add_fetch(&db->queued, 1, __ATOMIC_ACQ_REL);
    }
    pthread_mutex_unlock(&db->queue_lock);
    if (is_closed) {
        call_free(c);
    } else {
        db_wake(db);
    }
    __atomic_sub_fetch(&db->users, 1, __ATOMIC_ACQ_REL);
    return is_closed ? TUPLED_FAILED : TUPLED_YES;
}
