/* set: the commands on one set: adding, removing, asking, random members. */
#include "collection/pick.h"
#include "command/set/set_int.h"
#include "request/elements_pick.h"
#include "request/elements_scan.h"

enum err set_open(struct request *rq, struct view *v, struct slice key, struct collection *c)
{
    return collection_open(rq->env->db->collections, v, key, COLLECTION_SET, c, &rq->error);
}

/* ---- SADD, SREM ---- */

ARGUMENTS(members_arguments, struct key_members, "key member [member ...]",
          ARG_KEY(struct key_members, key, "key", 0),
          ARG_WORDS(struct key_members, members, "member"));

static enum err sadd_change(struct request *rq, struct view *v, void *arg)
{
    struct key_members *a = arg;
    struct collection c;
    a->count = 0;
    enum err r = set_open(rq, v, a->key, &c);
    for (size_t i = 0; i < a->members.count && r == OK; i++) {
        struct element x = {.name = a->members.items[i]};
        bool was_there = false;
        r = collection_put(&c, &x, &was_there, NULL, &rq->error);
        a->count += !was_there;
    }
    return r == OK ? collection_save(&c, &rq->error) : r;
}

static enum err sadd_run(struct request *rq)
{
    struct key_members *a = rq->bound;
    enum err r = elements_commit(rq, sadd_change, a);
    if (r == OK) resp_int(rq->w, a->count);
    return r;
}
SET_COMMAND(sadd, CMD_WRITE | CMD_FAST, KEY_RW | KEY_INSERT,
            "Adds members to a set, which is created if it does not exist.", members_arguments,
            "The number of new members.", sadd_run);

static enum err srem_change(struct request *rq, struct view *v, void *arg)
{
    struct key_members *a = arg;
    struct collection c;
    a->count = 0;
    enum err r = set_open(rq, v, a->key, &c);
    for (size_t i = 0; i < a->members.count && r == OK && c.head.count > 0; i++) {
        bool was_there = false;
        r = collection_remove(&c, a->members.items[i], &was_there, NULL, &rq->error);
        a->count += was_there;
    }
    return r == OK ? collection_save(&c, &rq->error) : r;
}

static enum err srem_run(struct request *rq)
{
    struct key_members *a = rq->bound;
    enum err r = elements_commit(rq, srem_change, a);
    if (r == OK) resp_int(rq->w, a->count);
    return r;
}
SET_COMMAND(srem, CMD_WRITE | CMD_FAST, KEY_RW | KEY_DELETE,
            "Removes members of a set, and the set with its last member.", members_arguments,
            "The number of elements removed.", srem_run);

/* ---- SISMEMBER, SMISMEMBER, SCARD, SMEMBERS ---- */

struct key_member {
    struct slice key, member;
};
ARGUMENTS(member_arguments, struct key_member, "key member",
          ARG_KEY(struct key_member, key, "key", 0), ARG_WORD(struct key_member, member, "member"));

static enum err sismember_run(struct request *rq)
{
    const struct key_member *a = rq->bound;
    struct collection c;
    struct element x;
    struct view *v = elements_view(rq);
    bool found = false;
    enum err r = elements_open(rq, v, a->key, COLLECTION_SET, &c);
    if (r == OK) r = collection_find(&c, a->member, &found, &x, &rq->error);
    elements_read(rq, v);
    if (r == OK) resp_int(rq->w, found);
    return r;
}
SET_COMMAND(sismember, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO,
            "Tests whether a set has a member.", member_arguments, "1, or 0.", sismember_run);

static void tell_whether(struct resp_writer *w, const struct element *x)
{
    resp_int(w, x != NULL);
}

static enum err smismember_run(struct request *rq)
{
    const struct key_members *a = rq->bound;
    return elements_tell_each(rq, COLLECTION_SET, a->key, &a->members, tell_whether);
}
SET_COMMAND(smismember, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO,
            "Tests which of several members a set has.", members_arguments,
            "1 or 0 for each member.", smismember_run);

static enum err scard_run(struct request *rq)
{
    const struct one_key *a = rq->bound;
    struct collection c;
    enum err r = elements_open(rq, elements_view(rq), a->key, COLLECTION_SET, &c);
    if (r == OK) resp_int(rq->w, (int64_t)c.head.count);
    return r;
}
SET_COMMAND(scard, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO,
            "Returns the number of members of a set.", one_key_arguments,
            "The number, 0 if the key does not exist.", scard_run);

static void tell_member(struct resp_writer *w, const struct element *x, size_t *count)
{
    resp_bulk(w, x->name);
    ++*count;
}

static void begin_set(struct resp_writer *w, size_t count, size_t elements)
{
    (void)elements;
    resp_set(w, count);
}

static enum err smembers_run(struct request *rq)
{
    const struct one_key *a = rq->bound;
    struct telling t = {
        .kind = COLLECTION_SET, .key = a->key, .tell = tell_member, .begin = begin_set};
    return elements_tell(rq, &t);
}
SET_COMMAND(smembers, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS, "Returns all members of a set.",
            one_key_arguments, "The members; in RESP3 a set.", smembers_run);

/* ---- SMOVE ---- */

struct smove {
    struct slice from, to, member;
    bool is_moved;
};
ARGUMENTS(smove_arguments, struct smove, "source destination member",
          ARG_KEY(struct smove, from, "source", KEY_RW | KEY_ACCESS | KEY_DELETE),
          ARG_KEY(struct smove, to, "destination", KEY_RW | KEY_INSERT),
          ARG_WORD(struct smove, member, "member"));

static enum err smove_change(struct request *rq, struct view *v, void *arg)
{
    struct smove *a = arg;
    struct collection from;
    struct collection to;
    struct element x = {.name = a->member};
    bool was_there = false;
    a->is_moved = false;
    enum err r = set_open(rq, v, a->from, &from);
    if (r != OK || !from.exists) return r;
    r = set_open(rq, v, a->to, &to);
    if (r == OK && slice_eq(a->from, a->to)) {
        return collection_find(&from, a->member, &a->is_moved, &x, &rq->error);
    }
    if (r == OK) r = collection_remove(&from, a->member, &was_there, NULL, &rq->error);
    if (r != OK || !was_there) return r;
    a->is_moved = true;
    r = collection_put(&to, &x, &was_there, NULL, &rq->error);
    if (r == OK) r = elements_save_as(rq, &from, "srem");
    return r == OK ? elements_save_as(rq, &to, "sadd") : r;
}

static enum err smove_run(struct request *rq)
{
    struct smove *a = rq->bound;
    enum err r = elements_commit(rq, smove_change, a);
    if (r == OK) resp_int(rq->w, a->is_moved);
    return r;
}
SET_COMMAND(smove, CMD_WRITE | CMD_FAST, 0, "Moves a member from one set to another.",
            smove_arguments, "1, or 0 if the source does not have the member.", smove_run);

/* ---- SPOP ---- */

struct spop {
    struct slice key;
    int64_t count;
    bool has_count;
    struct pick pick; /* results */
};
#define NOT_POSITIVE "value is out of range, must be positive"

static enum err check_pop(struct request *rq, void *bound)
{
    struct spop *a = bound;
    a->has_count = rq->argc - rq->words_before > 1;
    return OK;
}
ARGUMENTS_WITH(spop_arguments, struct spop, "key [count]", WITH(.check = check_pop),
               ARG_KEY(struct spop, key, "key", 0),
               ARG_INTEGER_OR(struct spop, count, "count", 0, INT64_MAX, 1, NOT_POSITIVE));

#define SPOP_STEPS 3000 /* to remove one from a spread set (engine_take_steps) */

static enum err spop_change(struct request *rq, struct view *v, void *arg)
{
    struct spop *a = arg;
    struct collection c;
    enum err r = set_open(rq, v, a->key, &c);
    a->pick = (struct pick){.seed = elements_seed(rq, v), .count = (uint64_t)a->count};
    const struct pick *k = &a->pick;
    if (r == OK) r = pick_random(&c, &a->pick, &rq->error);
    if (r == OK && c.head.is_spread) engine_count_steps(v->overlay, k->picked * SPOP_STEPS);
    if (r == OK && c.exists && k->picked == c.head.count) {
        collection_clear(&c);
        return collection_save(&c, &rq->error);
    }
    for (size_t i = 0; i < k->picked && r == OK; i++) {
        bool was_there = false;
        r = collection_remove(&c, k->items[i].name, &was_there, NULL, &rq->error);
        if (r == ERR_WAIT) pick_begin_reads(&c, &k->items[i], k->picked - i);
    }
    return r == OK ? collection_save(&c, &rq->error) : r;
}

static enum err spop_run(struct request *rq)
{
    struct spop *a = rq->bound;
    enum err r = elements_commit(rq, spop_change, a);
    const struct pick *k = &a->pick;
    if (r != OK) return r;
    if (a->has_count) {
        resp_set(rq->w, k->picked);
    } else if (k->picked == 0) {
        resp_nil(rq->w);
    }
    for (size_t i = 0; i < k->picked; i++) resp_bulk(rq->w, k->items[i].name);
    return OK;
}
SET_COMMAND(spop, CMD_WRITE | CMD_FAST, KEY_RW | KEY_ACCESS | KEY_DELETE,
            "Removes and returns random members of a set.", spop_arguments,
            "The member, or nil. With `count`, an array of the members removed.", spop_run);

/* ---- SRANDMEMBER ---- */

static enum err check_pick(struct request *rq, void *bound)
{
    struct elements_pick *a = bound;
    a->words.is_given = rq->argc - rq->words_before > 1;
    return OK;
}
ARGUMENTS_WITH(srandmember_arguments, struct elements_pick, "key [count]",
               WITH(.check = check_pick), ARG_KEY(struct elements_pick, key, "key", 0),
               ARG_INTEGER_OR(struct elements_pick, words.count, "count", INT64_MIN, INT64_MAX, 1,
                              ARG_NOT_INTEGER));

static void reply_members(struct resp_writer *w, const struct element *items, size_t count,
                          bool has_more)
{
    (void)has_more;
    resp_array(w, count);
    for (size_t i = 0; i < count; i++) resp_bulk(w, items[i].name);
}

static enum err srandmember_run(struct request *rq)
{
    return elements_pick_run(rq, COLLECTION_SET, rq->bound, reply_members);
}
SET_COMMAND(srandmember, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
            "Returns random members of a set.", srandmember_arguments,
            "A member, or nil. With `count`, an array of distinct members; if it is negative, of "
            "that many, which may repeat.",
            srandmember_run);

/* ---- SSCAN ---- */

static enum err sscan_run(struct request *rq)
{
    return elements_scan_run(rq, COLLECTION_SET, tell_member);
}
SET_COMMAND(sscan, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
            "Iterates over the members of a set. Cursor 0 means that the iteration is complete.",
            elements_scan_arguments, "`[cursor, [member ...]]`.", sscan_run);
