/* copy: COPY, MOVE, RENAME, RENAMENX: a value of any kind, as it is stored, with its expiry,
 * under another plain key or in another database. What is read and what is written is one
 * transaction, in two databases too.
 */
#include "command/string/across.h"
#include "command/string/string_int.h"
#include "request/keys.h"
#include "request/subjects.h"
#include "request/table.h"

/* ---- COPY ---- */

struct copy {
    bool replaces;
    uint16_t database; /* of the copy */
};

static enum err parse_copy(struct request *rq, struct copy *c)
{
    enum err r = OK;
    *c = (struct copy){.database = rq->client->database};
    for (size_t at = 3; at < rq->argc && r == OK; at++) {
        if (slice_is_word(rq->argv[at], "REPLACE")) {
            c->replaces = true;
        } else if (slice_is_word(rq->argv[at], "DB") && at + 1 < rq->argc) {
            r = other_database(rq, rq->argv[++at], &c->database);
        } else {
            r = string_syntax(rq);
        }
    }
    return r;
}

static enum err copy_run(struct request *rq)
{
    struct copy c;
    struct slice from = {0};
    struct slice to = {0};
    struct entry entry;
    struct entry there = {0};
    enum err r = parse_copy(rq, &c);
    if (r == OK && c.database == rq->client->database && slice_eq(rq->argv[1], rq->argv[2])) {
        r = error_set(&rq->error, ERR_SYNTAX, "source and destination objects are the same");
    }
    if (r == OK) r = arg_string_entry(rq, rq->argv[1], &from, &entry);
    if (r == OK) r = arg_string_key(rq, rq->argv[2], &to);
    if (r != OK) return r;
    if (c.database != rq->client->database) to = key_in(rq, to, c.database);
    if (!c.replaces) r = request_get(rq, to, &there);
    if (r != OK) return r;
    if (entry.exists && !there.exists) {
        struct op set = copy_of(&entry, to);
        struct database_ops ops = {.database = c.database, .ops = &set, .count = 1};
        r = commit_across(rq, &ops, 1);
        if (r != OK) return r;
    }
    resp_int(rq->w, entry.exists && !there.exists);
    return OK;
}

/* The database of the copy is asked for too. */
static enum err copy_subjects(struct request *rq, struct subjects *out)
{
    for (size_t at = 3; at + 1 < rq->argc; at++) {
        if (slice_is_word(rq->argv[at], "DB")) subjects_database(out, rq->argv[++at]);
    }
    return subjects_keys(out);
}

const struct command cmd_copy = {
    .name = "copy",
    .arity = -3,
    .flags = CMD_STRING | CMD_KEYSPACE | CMD_WRITE,
    .first_key = 1,
    .last_key = 2,
    .key_step = 1,
    .key_flags = KEY_OW | KEY_UPDATE,
    .other_key = 1,
    .other_key_flags = KEY_RO | KEY_ACCESS,
    .group = "generic",
    .since = "0.1.0",
    .summary = "Copies a value of any kind, with its expiry, to another plain key; 1 or 0.",
    .syntax = "source destination [DB destination-db] [REPLACE]",
    .reply = "1, or 0 when there is no such key, or the other one is there and `REPLACE` is not "
             "given.",
    .run = copy_run,
    .subjects = copy_subjects,
};

/* ---- MOVE ---- */

static enum err move_run(struct request *rq)
{
    struct slice from = {0};
    struct entry entry;
    struct entry there = {0};
    uint16_t database = 0;
    enum err r = other_database(rq, rq->argv[2], &database);
    if (r == OK && database == rq->client->database) {
        r = error_set(&rq->error, ERR_SYNTAX, "source and destination objects are the same");
    }
    if (r == OK) r = arg_string_entry(rq, rq->argv[1], &from, &entry);
    if (r != OK) return r;
    struct slice to = key_in(rq, from, database);
    r = request_get(rq, to, &there);
    if (r != OK) return r;
    if (entry.exists && !there.exists) {
        struct op set = copy_of(&entry, to);
        struct op remove = {.kind = OP_DELETE, .key = from};
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

static enum err move_subjects(struct request *rq, struct subjects *out)
{
    subjects_database(out, rq->argv[2]);
    return subjects_keys(out);
}

const struct command cmd_move = {
    .name = "move",
    .arity = 3,
    .flags = CMD_STRING | CMD_KEYSPACE | CMD_WRITE | CMD_FAST,
    .first_key = 1,
    .last_key = 1,
    .key_step = 1,
    .key_flags = KEY_RW | KEY_ACCESS | KEY_DELETE,
    .group = "generic",
    .since = "0.1.0",
    .summary = "Moves a plain key to another database, if it is not there; 1 or 0.",
    .syntax = "key db",
    .run = move_run,
    .subjects = move_subjects,
};

/* ---- RENAME, RENAMENX ---- */

static enum err rename_key(struct request *rq, bool only_if_absent, bool *is_done)
{
    struct slice from = {0};
    struct slice to = {0};
    struct entry entry;
    struct entry there = {0};
    *is_done = false;
    enum err r = arg_string_entry(rq, rq->argv[1], &from, &entry);
    if (r == OK && !entry.exists) r = error_set(&rq->error, ERR_SYNTAX, "no such key");
    if (r == OK) r = arg_string_key(rq, rq->argv[2], &to);
    if (r == OK && only_if_absent) r = request_get(rq, to, &there);
    if (r != OK || there.exists) return r;
    *is_done = true;
    if (slice_eq(from, to)) return OK;
    struct op ops[] = {{.kind = OP_DELETE, .key = from}, copy_of(&entry, to)};
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

#define RENAME_COMMAND(id, more, uses, text)                                                       \
    const struct command cmd_##id = {                                                              \
        .name = #id,                                                                               \
        .arity = 3,                                                                                \
        .flags = CMD_STRING | CMD_KEYSPACE | CMD_WRITE | (more),                                   \
        .first_key = 1,                                                                            \
        .last_key = 2,                                                                             \
        .key_step = 1,                                                                             \
        .key_flags = uses,                                                                         \
        .other_key = 1,                                                                            \
        .other_key_flags = KEY_RW | KEY_ACCESS | KEY_DELETE,                                       \
        .group = "generic",                                                                        \
        .since = "0.1.0",                                                                          \
        .summary = text,                                                                           \
        .syntax = "key newkey",                                                                    \
        .run = id##_run,                                                                           \
    }

RENAME_COMMAND(rename, 0, KEY_OW | KEY_UPDATE,
               "Gives a value of any kind another plain key, with its expiry.");
RENAME_COMMAND(renamenx, CMD_FAST, KEY_OW | KEY_INSERT,
               "As RENAME, if there is no value at the new key; 1 or 0.");
