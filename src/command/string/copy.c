/* copy: COPY, MOVE, RENAME, RENAMENX: a value of any kind, as it is stored, with its expiry,
 * under another plain key or in another database. What is read and what is written is one
 * transaction, in two databases too.
 */
#include "codec/collection.h"
#include "command/string/across.h"
#include "command/string/string_int.h"
#include "request/keys.h"
#include "request/subjects.h"
#include "request/table.h"

/* ---- COPY ---- */

struct copy {
    struct slice from, to;
    struct slice database; /* of the copy; data NULL = the selected one */
    bool replaces;
};

/* The database of the copy is asked for too. */
static void copy_subjects(struct subjects *s, const void *bound)
{
    const struct copy *a = bound;
    if (a->database.data != NULL) subjects_database(s, a->database);
}

ARGUMENTS_WITH(copy_arguments, struct copy, "source destination [DB destination-db] [REPLACE]",
               WITH(.subjects = copy_subjects),
               ARG_KEY(struct copy, from, "source", KEY_RO | KEY_ACCESS),
               ARG_KEY(struct copy, to, "destination", KEY_OW | KEY_UPDATE),
               ARG_WORD(struct copy, database, "DB"), ARG_FLAG(struct copy, replaces, "REPLACE"));

static enum err copy_run(struct request *rq)
{
    const struct copy *a = rq->bound;
    struct slice to = a->to;
    struct entry entry;
    struct entry there = {0};
    uint16_t database = rq->client->database;
    enum err r = OK;
    if (a->database.data != NULL) r = other_database(rq, a->database, &database);
    bool is_elsewhere = database != rq->client->database;
    if (r == OK && !is_elsewhere && slice_eq(a->from, to)) {
        r = error_set(&rq->error, ERR_SYNTAX, "source and destination objects are the same");
    }
    if (r == OK) r = request_read(rq, a->from, &entry);
    if (r != OK) return r;
    if (is_elsewhere) to = key_in(rq, to, database);
    if (!a->replaces) r = request_get(rq, to, &there);
    if (r != OK) return r;
    if (entry.exists && !there.exists) {
        struct op set = copy_of(rq, &entry, a->from, to);
        struct database_ops ops = {.database = database, .ops = &set, .count = 1};
        r = commit_across(rq, &ops, 1);
        if (r != OK) return r;
    }
    resp_int(rq->w, entry.exists && !there.exists);
    return OK;
}

const struct command cmd_copy = {
    .name = "copy",
    .flags = CMD_STRING | CMD_KEYSPACE | CMD_WRITE,
    .group = "generic",
    .summary = "Copies the value of a key, of any type, and its expiry to another key.",
    .arguments = &copy_arguments,
    .reply = "1, or 0 if the source does not exist, or if the destination exists and `REPLACE` is "
             "not given.",
    .run = copy_run,
};

/* ---- MOVE ---- */

struct move {
    struct slice key, database;
};

static void move_subjects(struct subjects *s, const void *bound)
{
    const struct move *a = bound;
    subjects_database(s, a->database);
}

ARGUMENTS_WITH(move_arguments, struct move, "key db", WITH(.subjects = move_subjects),
               ARG_KEY(struct move, key, "key", KEY_RW | KEY_ACCESS | KEY_DELETE),
               ARG_WORD(struct move, database, "db"));

static enum err move_run(struct request *rq)
{
    const struct move *a = rq->bound;
    struct entry entry;
    struct entry there = {0};
    uint16_t database = 0;
    enum err r = other_database(rq, a->database, &database);
    if (r == OK && database == rq->client->database) {
        r = error_set(&rq->error, ERR_SYNTAX, "source and destination objects are the same");
    }
    if (r == OK) r = request_read(rq, a->key, &entry);
    if (r != OK) return r;
    struct slice to = key_in(rq, a->key, database);
    r = request_get(rq, to, &there);
    if (r != OK) return r;
    if (entry.exists && !there.exists) {
        struct op set = copy_of(rq, &entry, a->key, to);
        struct op remove = {.kind = OP_DELETE, .key = a->key};
        struct database_ops ops[] = {
            {.database = database, .ops = &set, .count = 1},
            {.database = rq->client->database, .ops = &remove, .count = 1},
        };
        r = commit_across(rq, ops, 2);
        if (r != OK) return r;
    }
    resp_int(rq->w, entry.exists && !there.exists);
    return OK;
}

const struct command cmd_move = {
    .name = "move",
    .flags = CMD_STRING | CMD_KEYSPACE | CMD_WRITE | CMD_FAST,
    .group = "generic",
    .summary = "Moves a key to another database. Returns 1, or 0 if it exists there or does not "
               "exist here.",
    .arguments = &move_arguments,
    .run = move_run,
};

/* ---- RENAME, RENAMENX ---- */

struct rename {
    struct slice from, to;
};
#define RENAME_FROM ARG_KEY(struct rename, from, "key", KEY_RW | KEY_ACCESS | KEY_DELETE)
ARGUMENTS(rename_arguments, struct rename, "key newkey", RENAME_FROM,
          ARG_KEY(struct rename, to, "newkey", KEY_OW | KEY_UPDATE));
ARGUMENTS(renamenx_arguments, struct rename, "key newkey", RENAME_FROM,
          ARG_KEY(struct rename, to, "newkey", KEY_OW | KEY_INSERT));

/* The entry as it is under another key of the database: the rows of a collection stay where they
 * are. */
static struct op renamed(struct request *rq, const struct entry *entry, struct slice from,
                         struct slice key)
{
    struct collection_head h;
    bool is_head = collection_head_read(entry->value, &h);
    /* The sweeper knows its fields that expire by the key. */
    if (is_head && !h.is_spread && h.expiring > 0) return copy_of(rq, entry, from, key);
    return (struct op){.kind = OP_SET,
                       .key = key,
                       .value = entry->value,
                       .ttl = entry->expiry_ms == 0 ? TTL_NONE : TTL_AT,
                       .ttl_ms = entry->expiry_ms};
}

static enum err rename_key(struct request *rq, bool only_if_absent, bool *is_done)
{
    const struct rename *a = rq->bound;
    struct entry entry;
    struct entry there = {0};
    *is_done = false;
    enum err r = request_read(rq, a->from, &entry);
    if (r == OK && !entry.exists) r = error_set(&rq->error, ERR_SYNTAX, "no such key");
    if (r == OK && only_if_absent) r = request_get(rq, a->to, &there);
    if (r != OK || there.exists) return r;
    *is_done = true;
    if (slice_eq(a->from, a->to)) return OK;
    struct op ops[] = {{.kind = OP_DELETE, .key = a->from}, renamed(rq, &entry, a->from, a->to)};
    return request_commit(rq, ops, 2);
}

static enum err rename_run(struct request *rq)
{
    bool is_done = false;
    enum err r = rename_key(rq, false, &is_done);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}

static enum err renamenx_run(struct request *rq)
{
    bool is_done = false;
    enum err r = rename_key(rq, true, &is_done);
    if (r == OK) resp_int(rq->w, is_done);
    return r;
}

#define RENAME_COMMAND(id, more, text)                                                             \
    const struct command cmd_##id = {                                                              \
        .name = #id,                                                                               \
        .flags = CMD_STRING | CMD_KEYSPACE | CMD_WRITE | (more),                                   \
        .group = "generic",                                                                        \
        .summary = text,                                                                           \
        .arguments = &id##_arguments,                                                              \
        .run = id##_run,                                                                           \
    }

RENAME_COMMAND(rename, 0,
               "Renames a key, of any type, with its expiry. Replaces the value of the new key.");
RENAME_COMMAND(renamenx, CMD_FAST, "Renames a key if the new key does not exist. Returns 1, or 0.");
