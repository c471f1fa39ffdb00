/* group: XGROUP and XACK. */
#include "command/stream/stream_int.h"

static enum err no_key(struct request *rq)
{
    return error_set(&rq->error, ERR_SYNTAX,
                     "The XGROUP subcommand requires the key to exist. Note that for CREATE you "
                     "may want to use the MKSTREAM option to create an empty stream "
                     "automatically.");
}

/* The group of a stream; both are there. */
static enum err open_group(struct request *rq, struct view *v, struct slice key, struct slice name,
                           struct collection *c, struct stream_group *g)
{
    bool found = false;
    enum err r = stream_open(rq, v, key, c);
    if (r == OK && !c->exists) return no_key(rq);
    if (r == OK) r = group_find(c, name, &found, g, &rq->error);
    return r == OK && !found ? stream_no_such_group(rq, key, name) : r;
}

/* ---- CREATE, SETID ---- */

struct group_id {
    struct slice key, group, id;
    bool makes_stream;
    int64_t entries_read; /* -1 = not given, or not known */
};
#define GROUP_WORDS(in) ARG_KEY(in, key, "key", KEY_RW | KEY_UPDATE), ARG_WORD(in, group, "group")
#define GROUP_ID                                                                                   \
    GROUP_WORDS(struct group_id), ARG_WORD(struct group_id, id, "id"),                             \
        ARG_INTEGER_OR(struct group_id, entries_read, "ENTRIESREAD", INT64_MIN, INT64_MAX, -1,     \
                       ARG_NOT_INTEGER)

static enum err check_entries_read(struct request *rq, void *bound)
{
    const struct group_id *a = bound;
    if (a->entries_read >= -1) return OK;
    return error_set(&rq->error, ERR_SYNTAX, "value for ENTRIESREAD must be positive or -1");
}

ARGUMENTS_WITH(create_arguments, struct group_id,
               "key group id [MKSTREAM] [ENTRIESREAD entries-read]",
               WITH(.shown = "key group <id | $> [MKSTREAM] [ENTRIESREAD entries-read]",
                    .check = check_entries_read),
               GROUP_ID, ARG_FLAG(struct group_id, makes_stream, "MKSTREAM"));
ARGUMENTS_WITH(setid_arguments, struct group_id, "key group id [ENTRIESREAD entries-read]",
               WITH(.shown = "key group <id | $> [ENTRIESREAD entries-read]",
                    .check = check_entries_read),
               GROUP_ID);

static enum err last_id_of(struct request *rq, const struct group_id *a, const struct collection *c,
                           struct stream_id *out)
{
    *out = c->head.stream.last;
    return slice_eq(a->id, slice_str("$")) ? OK : stream_id_word(rq, a->id, 0, out);
}

static enum err create_change(struct request *rq, struct view *v, void *arg)
{
    const struct group_id *a = arg;
    struct collection c;
    struct stream_group g;
    struct stream_id last = {0};
    bool found = false;
    enum err r = stream_open(rq, v, a->key, &c);
    if (r == OK && !c.exists && !a->makes_stream) r = no_key(rq);
    if (r == OK) r = last_id_of(rq, a, &c, &last);
    if (r == OK) r = group_find(&c, a->group, &found, &g, &rq->error);
    if (r == OK && found) {
        r = error_set(&rq->error, ERR_BUSYGROUP, "Consumer Group name already exists");
    }
    if (r != OK) return r;
    if (!c.exists) stream_make(&c);
    group_make(&c, a->group, last, a->entries_read, &g);
    return elements_save_as(rq, &c, "xgroup-create");
}

static enum err create_run(struct request *rq)
{
    enum err r = elements_commit(rq, create_change, rq->bound);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}

/* As in Redis also "-" and "+", which XGROUP CREATE refuses. */
static bool is_an_end(struct slice word, struct stream_id *out)
{
    bool is_least = slice_eq(word, slice_str("-"));
    *out = STREAM_ID_MOST;
    if (is_least) *out = (struct stream_id){0};
    return is_least || slice_eq(word, slice_str("+"));
}

static enum err setid_change(struct request *rq, struct view *v, void *arg)
{
    const struct group_id *a = arg;
    struct collection c;
    struct stream_group g;
    enum err r = open_group(rq, v, a->key, a->group, &c, &g);
    if (r == OK && !is_an_end(a->id, &g.last)) r = last_id_of(rq, a, &c, &g.last);
    if (r != OK) return r;
    g.entries_read = a->entries_read;
    group_save(&c, &g);
    return OK;
}

static enum err setid_run(struct request *rq)
{
    enum err r = elements_commit(rq, setid_change, rq->bound);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}

/* ---- DESTROY, CREATECONSUMER, DELCONSUMER ---- */

struct group_words {
    struct slice key, group, consumer;
    int64_t result;
};
ARGUMENTS(destroy_arguments, struct group_words, "key group", GROUP_WORDS(struct group_words));
ARGUMENTS(consumer_arguments, struct group_words, "key group consumer",
          GROUP_WORDS(struct group_words), ARG_WORD(struct group_words, consumer, "consumer"));

static enum err destroy_change(struct request *rq, struct view *v, void *arg)
{
    struct group_words *a = arg;
    struct collection c;
    struct stream_group g;
    bool found = false;
    a->result = 0;
    enum err r = stream_open(rq, v, a->key, &c);
    if (r == OK && !c.exists) r = no_key(rq);
    if (r == OK) r = group_find(&c, a->group, &found, &g, &rq->error);
    if (r != OK || !found) return r;
    group_destroy(&c, &g);
    a->result = 1;
    return elements_save_as(rq, &c, "xgroup-destroy");
}

static enum err create_consumer_change(struct request *rq, struct view *v, void *arg)
{
    struct group_words *a = arg;
    struct collection c;
    struct stream_group g;
    struct stream_consumer x;
    bool found = false;
    enum err r = open_group(rq, v, a->key, a->group, &c, &g);
    if (r == OK) r = consumer_find(&c, &g, a->consumer, &found, &x, &rq->error);
    a->result = !found;
    if (r != OK || found) return r;
    consumer_make(&c, &g, a->consumer, &x);
    group_save(&c, &g);
    return OK;
}

static enum err del_consumer_change(struct request *rq, struct view *v, void *arg)
{
    struct group_words *a = arg;
    struct collection c;
    struct stream_group g;
    struct stream_consumer x;
    bool found = false;
    a->result = 0;
    enum err r = open_group(rq, v, a->key, a->group, &c, &g);
    if (r == OK) r = consumer_find(&c, &g, a->consumer, &found, &x, &rq->error);
    if (r != OK || !found) return r;
    a->result = (int64_t)x.pending;
    r = consumer_remove(&c, &g, &x, &rq->error);
    if (r != OK) return r;
    group_save(&c, &g);
    return OK;
}

static enum err run_for_result(struct request *rq,
                               enum err (*change)(struct request *rq, struct view *v, void *arg))
{
    struct group_words *a = rq->bound;
    enum err r = elements_commit(rq, change, a);
    if (r == OK) resp_int(rq->w, a->result);
    return r;
}

static enum err destroy_run(struct request *rq)
{
    return run_for_result(rq, destroy_change);
}

static enum err create_consumer_run(struct request *rq)
{
    return run_for_result(rq, create_consumer_change);
}

static enum err del_consumer_run(struct request *rq)
{
    return run_for_result(rq, del_consumer_change);
}

/* ---- the container ---- */

#define XGROUP(id, label, text, its_arguments, says, function)                                     \
    static const struct command id = {                                                             \
        .name = label,                                                                             \
        .flags = CMD_STRING | CMD_WRITE,                                                           \
        .key_flags = KEY_RW | KEY_UPDATE,                                                          \
        .group = "stream",                                                                         \
        .since = "0.2.0",                                                                          \
        .summary = text,                                                                           \
        .arguments = &(its_arguments),                                                             \
        .reply = says,                                                                             \
        .run = function,                                                                           \
    }

XGROUP(xgroup_create, "create",
       "Creates a consumer group that receives the entries after an id; $ means new entries only.",
       create_arguments, "OK, or `-BUSYGROUP` if the group exists.", create_run);
XGROUP(xgroup_setid, "setid", "Sets the id after which a group receives entries.", setid_arguments,
       "OK.", setid_run);
XGROUP(xgroup_destroy, "destroy", "Deletes a group with its consumers and pending entries.",
       destroy_arguments, "1, or 0 if the group does not exist.", destroy_run);
XGROUP(xgroup_createconsumer, "createconsumer", "Creates a consumer in a group.",
       consumer_arguments, "1, or 0 if the consumer exists.", create_consumer_run);
XGROUP(xgroup_delconsumer, "delconsumer", "Deletes a consumer and its pending entries.",
       consumer_arguments, "The number of its pending entries.", del_consumer_run);
COMMAND_HELP("stream", 0);

static const struct command *const xgroup_subcommands[] = {
    &xgroup_create,
    &xgroup_createconsumer,
    &xgroup_delconsumer,
    &xgroup_destroy,
    &sub_help,
    &xgroup_setid,
    NULL,
};
const struct command cmd_xgroup = {
    .name = "xgroup",
    .group = "stream",
    .since = "0.2.0",
    .summary = "A container for commands about consumer groups.",
    .arguments = &container_arguments,
    .subcommands = xgroup_subcommands,
};

/* ---- XACK ---- */

struct xack {
    struct slice key, group;
    struct stream_ids ids;
    int64_t count;
};
ARGUMENTS(xack_arguments, struct xack, "key group id [id ...]", ARG_KEY(struct xack, key, "key", 0),
          ARG_WORD(struct xack, group, "group"),
          {ARG_MANY(struct xack, ids, struct stream_id, "id", arg_kind_stream_id)});

enum err stream_acknowledge(struct request *rq, struct collection *c, struct stream_group *g,
                            struct stream_id id, int64_t *count)
{
    struct stream_pending p;
    struct stream_consumer x;
    bool found = false;
    enum err r = pending_find(c, g, id, &found, &p, &rq->error);
    if (r == OK && found) r = consumer_get(c, g, p.consumer, &x, &rq->error);
    if (r != OK || !found) return r;
    pending_remove(c, g, &p);
    x.pending--;
    consumer_save(c, g, &x);
    g->pending--;
    ++*count;
    return collection_writes(c, &rq->error);
}

static enum err xack_change(struct request *rq, struct view *v, void *arg)
{
    struct xack *a = arg;
    struct collection c;
    struct stream_group g;
    bool found = false;
    a->count = 0;
    enum err r = stream_open(rq, v, a->key, &c);
    if (r == OK) r = group_find(&c, a->group, &found, &g, &rq->error);
    if (r != OK || !found) return r;
    for (size_t i = 0; i < a->ids.count && r == OK; i++) {
        r = stream_acknowledge(rq, &c, &g, a->ids.items[i], &a->count);
    }
    if (r == OK && a->count > 0) group_save(&c, &g);
    return r;
}

static enum err xack_run(struct request *rq)
{
    struct xack *a = rq->bound;
    enum err r = elements_commit(rq, xack_change, a);
    if (r == OK) resp_int(rq->w, a->count);
    return r;
}
STREAM_COMMAND(xack, CMD_WRITE | CMD_FAST, KEY_RW | KEY_UPDATE,
               "Acknowledges entries, so that they are no longer pending in a group.",
               xack_arguments, "The number of entries that were pending.", xack_run);
