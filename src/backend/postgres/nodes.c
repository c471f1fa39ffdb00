/* nodes: a meeting is one upsert of the own row, which also tells which process wrote it before,
 * and one read of all others. A beat counts by when it was seen to change; a row that never moves
 * may be this node's own, from an earlier start, and is no twin. */
#include "backend/postgres/nodes.h"

#include <stdio.h>

#include "backend/postgres/pg_why.h"
#include "base/clock.h"
#include "base/mem.h"

#define UP_LEASES 3                       /* a node that was silent for so many is down ... */
#define GONE_US ((int64_t)3600 * 1000000) /* ... and after so long its row is removed */

struct nodes {
    struct term *term;
    struct pg *pg;
    uint16_t sentinel_port;
    const char *http;
    bool has_met; /* the row of this node's name and address is of this process */
    char twin[2 * NODES_TEXT_BYTES + 128];
    struct node_seen others[NODES_MAX];
    size_t count;
};

/* The process that wrote it before. */
static const char meet_sql[] =
    "WITH old AS (SELECT process FROM tupled_node WHERE id = $1 AND name = $2 AND address = $3) "
    "INSERT INTO tupled_node (id, name, address, sentinel_port, http, process, beat) "
    "VALUES ($1, $2, $3, $4, $5, $6, 1) ON CONFLICT (id, name, address) "
    "DO UPDATE SET sentinel_port = $4, http = $5, process = $6, beat = tupled_node.beat + 1 "
    "RETURNING coalesce((SELECT process FROM old), '')";
static const char others_sql[] =
    "SELECT name, address, beat, sentinel_port, http FROM tupled_node "
    "WHERE id = $1 AND NOT (name = $2 AND address = $3) ORDER BY name, address LIMIT 64";
static const char forget_sql[] =
    "DELETE FROM tupled_node WHERE id = $1 AND name = $2 AND address = $3 AND beat = $4";

struct nodes *nodes_new(struct term *t, uint16_t sentinel_port, const char *http)
{
    struct nodes *n = mem_new(sizeof *n);
    n->term = t;
    n->sentinel_port = sentinel_port;
    n->http = http;
    n->pg = term_connect(t, "nodes", TERM_SIGN);
    return n;
}

void nodes_free(struct nodes *n)
{
    if (n == NULL) return;
    pg_free(n->pg);
    mem_free(n);
}

static void put_node(struct nodes *n, const char *name, const char *address)
{
    pg_begin(n->pg);
    pg_put_i64(n->pg, term_id(n->term));
    pg_put_text(n->pg, name);
    pg_put_text(n->pg, address);
}

static void copy_column(const struct pg *c, size_t row, unsigned column, char *out)
{
    struct slice s = pg_bytes(c, row, column);
    snprintf(out, NODES_TEXT_BYTES, "%.*s", (int)s.len, (const char *)s.data);
}

static const struct node_seen *find(const struct node_seen *all, size_t count,
                                    const struct node_seen *x)
{
    for (size_t i = 0; i < count; i++) {
        bool is_it = strcmp(all[i].name, x->name) == 0 && strcmp(all[i].address, x->address) == 0;
        if (is_it) return &all[i];
    }
    return NULL;
}

/* What was read, beside what was known. One that is new was seen now. */
static void take(struct nodes *n)
{
    struct node_seen now[NODES_MAX];
    size_t count = pg_rows(n->pg) < NODES_MAX ? pg_rows(n->pg) : NODES_MAX;
    int64_t now_us = clock_mono_us();
    int64_t up_us = UP_LEASES * term_lease_ms(n->term) * 1000;
    for (size_t i = 0; i < count; i++) {
        struct node_seen *x = &now[i];
        copy_column(n->pg, i, 0, x->name);
        copy_column(n->pg, i, 1, x->address);
        x->beat = pg_i64(n->pg, i, 2);
        x->sentinel_port = (uint16_t)pg_i64(n->pg, i, 3);
        copy_column(n->pg, i, 4, x->http);
        const struct node_seen *old = find(n->others, n->count, x);
        bool has_moved = old == NULL || old->beat != x->beat;
        x->seen_us = has_moved ? now_us : old->seen_us;
        x->has_moved = old != NULL && (old->has_moved || has_moved);
        x->is_up = now_us - x->seen_us < up_us;
    }
    memcpy(n->others, now, count * sizeof now[0]);
    n->count = count;
}

/* Of the one that has been silent for longest, if that is long. */
static enum err forget(struct nodes *n, struct error *e)
{
    int64_t now_us = clock_mono_us();
    for (size_t i = 0; i < n->count; i++) {
        const struct node_seen *x = &n->others[i];
        if (now_us - x->seen_us < GONE_US) continue;
        put_node(n, x->name, x->address);
        pg_put_i64(n->pg, x->beat);
        return pg_run(n->pg, forget_sql, e);
    }
    return OK;
}

static void set_twin(struct nodes *n, const char *what, const char *name, const char *address)
{
    snprintf(n->twin, sizeof n->twin,
             "another node has the same %s: %s at %s; each node needs its own node-name and "
             "node-address",
             what, name, address);
}

/* A row of its own that another process has written since, or the row of another node that is up.
 * A row that does not move is of this node, from before. */
static void find_twin(struct nodes *n, bool is_same)
{
    const char *name = term_name(n->term);
    const char *address = term_address(n->term);
    n->twin[0] = '\0';
    if (is_same) set_twin(n, "name and address", name, address);
    for (size_t i = 0; i < n->count && n->twin[0] == '\0'; i++) {
        const struct node_seen *x = &n->others[i];
        if (!x->is_up || !x->has_moved) continue;
        bool has_address = address[0] != '\0' && strcmp(x->address, address) == 0;
        if (has_address) set_twin(n, "address", x->name, x->address);
        if (!has_address && strcmp(x->name, name) == 0) set_twin(n, "name", x->name, x->address);
    }
}

const char *nodes_twin(const struct nodes *n)
{
    return n->twin;
}

enum err nodes_meet(struct nodes *n, struct error *e)
{
    const char *name = term_name(n->term);
    const char *address = term_address(n->term);
    put_node(n, name, address);
    pg_put_i64(n->pg, n->sentinel_port);
    pg_put_text(n->pg, n->http);
    pg_put_text(n->pg, term_process(n->term));
    enum err r = pg_run_again(n->pg, meet_sql, e);
    if (r != OK) return r;
    bool is_same = n->has_met && !slice_eq(pg_bytes(n->pg, 0, 0), slice_str(term_process(n->term)));
    n->has_met = true;
    put_node(n, name, address);
    r = pg_run_again(n->pg, others_sql, e);
    if (r != OK) return r;
    take(n);
    find_twin(n, is_same);
    return forget(n, e);
}

enum err nodes_why(struct nodes *n, char *out, size_t size, struct error *e)
{
    return pg_why(n->pg, term_name(n->term), out, size, e);
}

const struct node_seen *nodes_others(const struct nodes *n, size_t *count)
{
    *count = n->count;
    return n->others;
}
