/* string_copy: COPY, RENAME, RENAMENX: a value of any kind, as it is stored, with its expiry, under
 * another plain key. What is read and what is written is one transaction.
 */
#include "command/string/string_int.h"
#include "request/keys.h"
#include "request/table.h"

static struct op copy_of(const struct entry *entry, struct slice key)
{
    return (struct op){.kind = OP_SET,
                       .key = key,
                       .value = entry->value,
                       .ttl = entry->expiry_ms == 0 ? TTL_NONE : TTL_AT,
                       .ttl_ms = entry->expiry_ms};
}

/* ---- COPY ---- */

static enum err copy_database(struct request *rq, struct slice word)
{
    int64_t number = 0;
    enum err r = string_integer(rq, word, &number);
    if (r != OK || number == rq->client->database) return r;
    if (number < 0 || number >= rq->env->settings.databases) {
        return error_set(&rq->error, ERR_SYNTAX, "DB index is out of range");
    }
    return error_set(&rq->error, ERR_SYNTAX, "COPY to another database is not supported");
}

static enum err parse_copy(struct request *rq, bool *replaces)
{
    enum err r = OK;
    for (size_t at = 3; at < rq->argc && r == OK; at++) {
        if (slice_is_word(rq->argv[at], "REPLACE")) {
            *replaces = true;
        } else if (slice_is_word(rq->argv[at], "DB") && at + 1 < rq->argc) {
            r = copy_database(rq, rq->argv[++at]);
        } else {
            r = string_syntax(rq);
        }
    }
    return r;
}

static enum err copy_run(struct request *rq)
{
    struct slice from = {0};
    struct slice to = {0};
    struct entry entry;
    struct entry there = {0};
    bool replaces = false;
    enum err r = parse_copy(rq, &replaces);
    if (r == OK && slice_eq(rq->argv[1], rq->argv[2])) {
        r = error_set(&rq->error, ERR_SYNTAX, "source and destination objects are the same");
    }
    if (r == OK) r = string_entry(rq, rq->argv[1], &from, &entry);
    if (r == OK) r = arg_string_key(rq, rq->argv[2], &to);
    if (r == OK && !replaces) r = request_get(rq, to, &there);
    if (r != OK) return r;
    if (entry.exists && !there.exists) {
        struct op op = copy_of(&entry, to);
        r = request_commit(rq, &op, 1);
        if (r != OK) return r;
    }
    resp_int(rq->w, entry.exists && !there.exists);
    return OK;
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
             "given. `DB` may name only the selected database.",
    .run = copy_run,
};

/* ---- RENAME, RENAMENX ---- */

static enum err rename_key(struct request *rq, bool only_if_absent, bool *is_done)
{
    struct slice from = {0};
    struct slice to = {0};
    struct entry entry;
    struct entry there = {0};
    *is_done = false;
    enum err r = string_entry(rq, rq->argv[1], &from, &entry);
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
