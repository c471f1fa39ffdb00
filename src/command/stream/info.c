/* info: XINFO: what there is of a stream, its groups and their consumers. */
#include "command/stream/stream_int.h"

#define FULL_COUNT 10    /* entries and pending ones that FULL shows, when COUNT is not said */
#define NODE_ENTRIES 100 /* that a node of Redis has: what radix-tree-keys and -nodes go by */

static void name(struct request *rq, const char *text)
{
    resp_bulk_str(rq->w, text);
}

/* A stream that is there. */
static enum err open_info(struct request *rq, struct view *v, struct slice key,
                          struct collection *c)
{
    enum err r = elements_open(rq, v, key, COLLECTION_STREAM, c);
    if (r == OK && !c->exists) r = error_set(&rq->error, ERR_SYNTAX, "no such key");
    return r;
}

static void reply_entries_read(struct resp_writer *w, const struct stream_group *g)
{
    if (g->entries_read < 0) {
        resp_nil(w);
    } else {
        resp_int(w, g->entries_read);
    }
}

/* How many entries the group has still to read; nil: it is not known. */
static void reply_lag(struct resp_writer *w, const struct collection *c,
                      const struct stream_group *g)
{
    const struct stream_head *s = &c->head.stream;
    int64_t read = g->entries_read;
    if (s->added == 0) {
        resp_int(w, 0);
        return;
    }
    if (read < 0 || stream_has_gaps_after(s, c->head.count, g->last)) {
        read = stream_entries_upto(s, c->head.count, g->last);
    }
    if (read < 0) {
        resp_nil(w);
    } else {
        resp_int(w, (int64_t)s->added - read); /* below 0 when ENTRIESREAD said too many */
    }
}

/* ---- STREAM ---- */

struct info_stream {
    struct slice key;
    bool is_full;
    int64_t count;
};
ARGUMENTS(full_arguments, struct info_stream, "FULL [COUNT count]",
          ARG_FLAG(struct info_stream, is_full, "FULL"),
          ARG_INTEGER_OR(struct info_stream, count, "COUNT", INT64_MIN, INT64_MAX, FULL_COUNT,
                         ARG_NOT_INTEGER));
ARGUMENTS_WITH(info_stream_arguments, struct info_stream, "key [full]",
               WITH(.shown = "key [FULL [COUNT count]]"),
               ARG_KEY(struct info_stream, key, "key", KEY_RO | KEY_ACCESS),
               ARG_ALSO("full", full_arguments));

static void reply_head(struct request *rq, const struct collection *c)
{
    const struct stream_head *s = &c->head.stream;
    int64_t nodes = (int64_t)((c->head.count + NODE_ENTRIES - 1) / NODE_ENTRIES);
    name(rq, "length");
    resp_int(rq->w, (int64_t)c->head.count);
    name(rq, "radix-tree-keys");
    resp_int(rq->w, nodes);
    name(rq, "radix-tree-nodes");
    resp_int(rq->w, nodes + 1);
    name(rq, "last-generated-id");
    reply_stream_id(rq->w, s->last);
    name(rq, "max-deleted-entry-id");
    reply_stream_id(rq->w, s->deleted);
    name(rq, "entries-added");
    resp_int(rq->w, (int64_t)s->added);
    name(rq, "recorded-first-entry-id");
    reply_stream_id(rq->w, s->first);
}

static enum err edge(struct request *rq, struct collection *c, struct stream_id from,
                     struct stream_entry *out)
{
    struct stream_page page = {.from = from, .to = from, .max = 1};
    enum err r = stream_read(rq, c, &page);
    if (r == OK && page.count == 0) r = collection_damaged(c, &rq->error);
    if (r == OK) *out = page.items[0];
    return r;
}

static void reply_edge(struct request *rq, const struct stream_entry *x)
{
    if (x->fields.data == NULL) {
        resp_nil(rq->w);
    } else {
        reply_stream_entry(rq->w, x->id, x->fields);
    }
}

static enum err tell_stream(struct request *rq, struct collection *c)
{
    struct stream_entry first = {0};
    struct stream_entry last = {0};
    enum err r = OK;
    if (c->head.count > 0) {
        struct stream_id id = {0};
        bool found = false;
        r = edge(rq, c, c->head.stream.first, &first);
        if (r == OK) r = stream_seek(c, STREAM_ID_MOST, true, &found, &id, &rq->error);
        if (r == OK && !found) r = collection_damaged(c, &rq->error);
        if (r == OK) r = edge(rq, c, id, &last);
    }
    if (r != OK) return r;
    resp_map(rq->w, 10);
    reply_head(rq, c);
    name(rq, "groups");
    resp_int(rq->w, (int64_t)c->head.stream.groups);
    name(rq, "first-entry");
    reply_edge(rq, &first);
    name(rq, "last-entry");
    reply_edge(rq, &last);
    return OK;
}

/* ---- FULL ---- */

struct full {
    struct request *rq;
    struct collection *c;
    size_t max; /* of each list */
};

static enum err pending_of(const struct full *f, const struct stream_group *g, uint64_t consumer,
                           struct stream_pending **out, size_t *count)
{
    struct pending_range range = {.consumer = consumer, .to = STREAM_ID_MOST, .max = f->max};
    return pending_list(f->c, g, &range, out, count, &f->rq->error);
}

static enum err tell_consumer(const struct full *f, const struct stream_group *g,
                              const struct stream_consumer *x)
{
    struct request *rq = f->rq;
    struct stream_pending *items = NULL;
    size_t count = 0;
    enum err r = pending_of(f, g, x->number, &items, &count);
    if (r != OK) return r;
    resp_map(rq->w, 5);
    name(rq, "name");
    resp_bulk(rq->w, x->name);
    name(rq, "seen-time");
    resp_int(rq->w, x->seen_ms);
    name(rq, "active-time");
    resp_int(rq->w, x->active_ms);
    name(rq, "pel-count");
    resp_int(rq->w, (int64_t)x->pending);
    name(rq, "pending");
    resp_array(rq->w, count);
    for (size_t i = 0; i < count; i++) {
        resp_array(rq->w, 3);
        reply_stream_id(rq->w, items[i].id);
        resp_int(rq->w, items[i].delivered_ms);
        resp_int(rq->w, (int64_t)items[i].deliveries);
    }
    return OK;
}

static enum err tell_group_pending(const struct full *f, const struct stream_group *g)
{
    struct request *rq = f->rq;
    struct stream_pending *items = NULL;
    struct stream_consumer x = {0};
    size_t count = 0;
    enum err r = pending_of(f, g, 0, &items, &count);
    if (r == OK) resp_array(rq->w, count);
    for (size_t i = 0; i < count && r == OK; i++) {
        if (x.number != items[i].consumer) {
            r = consumer_get(f->c, g, items[i].consumer, &x, &rq->error);
        }
        if (r != OK) break;
        resp_array(rq->w, 4);
        reply_stream_id(rq->w, items[i].id);
        resp_bulk(rq->w, x.name);
        resp_int(rq->w, items[i].delivered_ms);
        resp_int(rq->w, (int64_t)items[i].deliveries);
    }
    return r;
}

static enum err tell_group(const struct full *f, const struct stream_group *g)
{
    struct request *rq = f->rq;
    struct stream_consumer *consumers = NULL;
    size_t count = 0;
    enum err r = consumers_list(f->c, g, &consumers, &count, &rq->error);
    if (r != OK) return r;
    resp_map(rq->w, 7);
    name(rq, "name");
    resp_bulk(rq->w, g->name);
    name(rq, "last-delivered-id");
    reply_stream_id(rq->w, g->last);
    name(rq, "entries-read");
    reply_entries_read(rq->w, g);
    name(rq, "lag");
    reply_lag(rq->w, f->c, g);
    name(rq, "pel-count");
    resp_int(rq->w, (int64_t)g->pending);
    name(rq, "pending");
    r = tell_group_pending(f, g);
    name(rq, "consumers");
    resp_array(rq->w, count);
    for (size_t i = 0; i < count && r == OK; i++) r = tell_consumer(f, g, &consumers[i]);
    return r;
}

static enum err tell_full(struct request *rq, struct collection *c, int64_t most)
{
    struct full f = {.rq = rq, .c = c, .max = COLLECTION_ROWS_MAX};
    struct stream_page page = {.to = STREAM_ID_MOST};
    struct stream_group *groups = NULL;
    size_t group_count = 0;
    size_t mark = rq->w->out->len;
    if (most < 0) most = FULL_COUNT;
    if (most > 0 && most < COLLECTION_ROWS_MAX) f.max = (size_t)most;
    page.max = (uint64_t)most;
    enum err r = stream_read(rq, c, &page);
    if (r == OK) r = groups_list(c, &groups, &group_count, &rq->error);
    if (r != OK) return r;
    resp_map(rq->w, 9);
    reply_head(rq, c);
    name(rq, "entries");
    resp_array(rq->w, page.count);
    for (size_t i = 0; i < page.count; i++) {
        reply_stream_entry(rq->w, page.items[i].id, page.items[i].fields);
    }
    name(rq, "groups");
    resp_array(rq->w, group_count);
    for (size_t i = 0; i < group_count && r == OK; i++) r = tell_group(&f, &groups[i]);
    if (r != OK) reply_cut(rq, mark);
    return r;
}

static enum err stream_run(struct request *rq)
{
    const struct info_stream *a = rq->bound;
    struct view *v = elements_view(rq);
    struct collection c;
    enum err r = open_info(rq, v, a->key, &c);
    if (r == OK) r = a->is_full ? tell_full(rq, &c, a->count) : tell_stream(rq, &c);
    elements_read(rq, v);
    return r;
}

/* ---- GROUPS, CONSUMERS ---- */

struct info_group {
    struct slice key, group;
};
ARGUMENTS(info_groups_arguments, struct info_group, "key",
          ARG_KEY(struct info_group, key, "key", KEY_RO | KEY_ACCESS));
ARGUMENTS(info_consumers_arguments, struct info_group, "key group",
          ARG_KEY(struct info_group, key, "key", KEY_RO | KEY_ACCESS),
          ARG_WORD(struct info_group, group, "group"));

static enum err count_consumers(struct request *rq, struct collection *c,
                                const struct stream_group *g, size_t *count)
{
    struct stream_consumer *consumers = NULL;
    return consumers_list(c, g, &consumers, count, &rq->error);
}

static enum err groups_run(struct request *rq)
{
    const struct info_group *a = rq->bound;
    struct view *v = elements_view(rq);
    struct collection c;
    struct stream_group *groups = NULL;
    size_t count = 0;
    size_t mark = rq->w->out->len;
    enum err r = open_info(rq, v, a->key, &c);
    if (r == OK) r = groups_list(&c, &groups, &count, &rq->error);
    if (r == OK) resp_array(rq->w, count);
    for (size_t i = 0; i < count && r == OK; i++) {
        const struct stream_group *g = &groups[i];
        size_t consumers = 0;
        r = count_consumers(rq, &c, g, &consumers);
        resp_map(rq->w, 6);
        name(rq, "name");
        resp_bulk(rq->w, g->name);
        name(rq, "consumers");
        resp_int(rq->w, (int64_t)consumers);
        name(rq, "pending");
        resp_int(rq->w, (int64_t)g->pending);
        name(rq, "last-delivered-id");
        reply_stream_id(rq->w, g->last);
        name(rq, "entries-read");
        reply_entries_read(rq->w, g);
        name(rq, "lag");
        reply_lag(rq->w, &c, g);
    }
    if (r != OK) reply_cut(rq, mark);
    elements_read(rq, v);
    return r;
}

static enum err consumers_run(struct request *rq)
{
    const struct info_group *a = rq->bound;
    struct view *v = elements_view(rq);
    struct collection c;
    struct stream_group g;
    struct stream_consumer *items = NULL;
    size_t count = 0;
    bool found = false;
    enum err r = open_info(rq, v, a->key, &c);
    if (r == OK) r = group_find(&c, a->group, &found, &g, &rq->error);
    if (r == OK && !found) r = stream_no_such_group(rq, a->key, a->group);
    if (r == OK) r = consumers_list(&c, &g, &items, &count, &rq->error);
    elements_read(rq, v);
    if (r != OK) return r;
    resp_array(rq->w, count);
    for (size_t i = 0; i < count; i++) {
        const struct stream_consumer *x = &items[i];
        int64_t idle_ms = v->told_ms - x->seen_ms;
        int64_t inactive_ms = v->told_ms - x->active_ms;
        resp_map(rq->w, 4);
        name(rq, "name");
        resp_bulk(rq->w, x->name);
        name(rq, "pending");
        resp_int(rq->w, (int64_t)x->pending);
        name(rq, "idle");
        resp_int(rq->w, idle_ms > 0 ? idle_ms : 0);
        name(rq, "inactive");
        resp_int(rq->w, x->active_ms < 0 ? -1 : inactive_ms > 0 ? inactive_ms : 0);
    }
    return OK;
}

/* ---- the container ---- */

#define XINFO(word, text, its_arguments, says)                                                     \
    static const struct command xinfo_##word = {                                                   \
        .name = #word,                                                                             \
        .flags = CMD_STRING | CMD_READ | CMD_FOLLOWER,                                             \
        .key_flags = KEY_RO | KEY_ACCESS,                                                          \
        .group = "stream",                                                                         \
        .since = "0.2.0",                                                                          \
        .summary = text,                                                                           \
        .arguments = &(its_arguments),                                                             \
        .reply = says,                                                                             \
        .run = word##_run,                                                                         \
    }

XINFO(consumers, "Lists the consumers of a group.", info_consumers_arguments,
      "An array of maps: name, pending entries, milliseconds since it was seen (idle) and since "
      "it received an entry (inactive).");
XINFO(groups, "Lists the consumer groups of a stream.", info_groups_arguments,
      "An array of maps: name, consumers, pending entries, last id, entries read, lag.");
XINFO(stream,
      "Returns information about a stream; with FULL also its entries, groups and pending entries.",
      info_stream_arguments, "A map.");
COMMAND_HELP("stream", 0);

static const struct command *const xinfo_subcommands[] = {
    &xinfo_consumers, &xinfo_groups, &sub_help, &xinfo_stream, NULL,
};
const struct command cmd_xinfo = {
    .name = "xinfo",
    .group = "stream",
    .since = "0.2.0",
    .summary = "A container for commands that describe streams.",
    .arguments = &container_arguments,
    .subcommands = xinfo_subcommands,
};
