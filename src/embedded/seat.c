/* seat: what commands take for a connection. Calls borrow one while they run; sessions and watches
 * have one of their own.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/mem.h"
#include "embedded/embedded_int.h"

#define LISTEN_WORK 100000

/* Its command can go on: in the next turn, not inside of this call. */
static void seat_ready(struct runner *r)
{
    const struct seat *s = (struct seat *)(void *)((char *)r - offsetof(struct seat, runner));
    struct call *c = s->call;
    if (c == NULL || c->state != CALL_PARKED) return;
    RING_UNLINK(c, next, prev);
    c->state = CALL_READY;
    RING_INSERT(&s->db->ready, c, next, prev);
}

static void seat_write(struct client *c, struct slice bytes, uint64_t version)
{
    struct seat *s = (struct seat *)(void *)c;
    if (s->watch != NULL) frames_add(s->watch, bytes, version);
}

static void seat_close(struct client *c)
{
    struct seat *s = (struct seat *)(void *)c;
    struct error e;
    if (s->watch == NULL) return;
    (void)error_set(&e, ERR_LIMIT,
                    "the callback was too slow, and more changes are pending than are kept; watch "
                    "again");
    watch_end(s->watch, &e);
}

static void seat_buffers(const struct client *c, size_t *input, size_t *output)
{
    *input = c->link->input_bytes;
    *output = c->link->output_bytes;
}

static const struct client_ops client_ops = {
    .write = seat_write,
    .close = seat_close,
    .buffers = seat_buffers,
};

static struct seat *seat_new(struct tupled_db *db)
{
    struct seat *s = mem_new(sizeof *s);
    s->db = db;
    s->link.fd = -1;
    s->link.is_local = true;
    s->link.created_ms = s->link.active_ms = clock_wall_ms();
    snprintf(s->link.address, sizeof s->link.address, "embedded:0");
    snprintf(s->link.local_address, sizeof s->link.local_address, "embedded:0");
    client_init(&s->client, &db->env, &s->link, &client_ops);
    runner_init(&s->runner, &db->env, &s->client, seat_ready);
    s->client.settings.proto = 3;
    s->client.database = (uint16_t)db->options.database;
    return s;
}

struct seat *seat_take(struct tupled_db *db)
{
    struct seat *s = db->free_seats;
    if (s == NULL) return seat_new(db);
    db->free_seats = s->next;
    return s;
}

void seat_give(struct seat *s)
{
    s->call = NULL;
    if (s->is_kept) return;
    s->next = s->db->free_seats;
    s->db->free_seats = s;
}

void seat_free(struct seat *s)
{
    struct env *env = &s->db->env;
    runner_drop(&s->runner);
    client_fini(&s->client, env);
    for (size_t work = LISTEN_WORK; !client_end_listening(&s->client, env, &work);) {
        work = LISTEN_WORK;
    }
    mem_free(s);
}

void seats_free(struct tupled_db *db)
{
    while (db->free_seats != NULL) {
        struct seat *s = db->free_seats;
        db->free_seats = s->next;
        seat_free(s);
    }
}
