/* function: FUNCTION LOAD and its relatives, FCALL. What they read and write are rows of the
 * catalog (library.h), in transactions like any other.
 */
#include "base/glob.h"
#include "codec/key.h"
#include "codec/pack.h"
#include "command/script/library.h"
#include "command/script/long.h"
#include "database/database.h"
#include "request/shapes.h"
#include "request/table.h"

#include <xxhash.h>

#define DUMP_MAGIC "TPLF\x01"
#define DUMP_HEAD_BYTES 5
#define DUMP_SUM_BYTES 8

/* ---- FCALL ---- */

/* As in Redis, one that is not there is told before what is wrong with the keys. */
static enum err read_function(struct request *rq, const struct argument *a, struct slice word,
                              void *to)
{
    struct program p = {0};
    (void)a;
    memcpy(to, &word, sizeof word);
    return function_find(rq, word, &p);
}
static const struct argument_kind function_kind = {.read = read_function};
PROGRAM_ARGUMENTS(fcall_arguments, "function", function_kind, "Bad number of keys provided");

static enum err fcall(struct request *rq, bool is_readonly)
{
    struct program p = {0};
    enum err r = function_find(rq, ((const struct program_words *)rq->bound)->what, &p);
    if (r != OK) return r;
    program_words(rq, &p);
    if (is_readonly && (p.flags & SCRIPT_NO_WRITES) == 0) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "Can not execute a script with write flag using *_ro command.");
    }
    p.is_readonly = (p.flags & SCRIPT_NO_WRITES) != 0;
    return program_run(rq, &p);
}

static enum err fcall_run(struct request *rq)
{
    return fcall(rq, false);
}

static enum err fcall_ro_run(struct request *rq)
{
    return fcall(rq, true);
}

#define FCALL_COMMAND(word, more, uses, text)                                                      \
    const struct command cmd_##word = {                                                            \
        .name = #word,                                                                             \
        .flags = (more),                                                                           \
        .key_flags = (uses),                                                                       \
        .group = "scripting",                                                                      \
        .summary = text,                                                                           \
        .arguments = &fcall_arguments,                                                             \
        .run = word##_run,                                                                         \
    }

FCALL_COMMAND(fcall, CMD_PUBLISHES, KEY_RW | KEY_ACCESS | KEY_UPDATE,
              "Runs a function as one transaction and returns its result.");
FCALL_COMMAND(fcall_ro, 0, KEY_RO | KEY_ACCESS,
              "Runs a function that only reads and returns its result.");

/* ---- all rows ---- */

struct row {
    struct slice key, name, value; /* in the arena */
};

struct rows {
    struct row *items; /* in the arena, by name */
    size_t count, cap;
};

/* The second part of the key, unless the row of a function says another. */
static struct slice name_of(struct slice key, struct slice value)
{
    struct key_part part = {0};
    struct function_row f;
    size_t at = 0;
    if (function_row(value, &f) && f.name.data != NULL) return f.name;
    struct slice tuple = engine_key_tuple(key);
    bool has_part = true;
    for (int i = 0; i < 2 && has_part; i++) has_part = key_next(tuple, &at, &part);
    return has_part && part.type == KEY_STRING ? part.bytes : slice_str("");
}

static void row_add(struct request *rq, struct rows *rows, struct slice key, struct slice value)
{
    rows->items = arena_grow(rq->arena, rows->items, rows->count, &rows->cap, sizeof *rows->items);
    struct row *row = &rows->items[rows->count++];
    row->key = arena_copy(rq->arena, key);
    row->value = arena_copy(rq->arena, value);
    row->name = name_of(row->key, row->value);
}

static enum err rows_read(struct request *rq, bool is_function, struct rows *out)
{
    struct scan_range range = {.with_values = true, .is_undivided = true};
    struct engine_scan *scan = NULL;
    *out = (struct rows){0};
    library_range(rq->arena, is_function, &range.start, &range.end);
    enum err r = engine_scan_open(rq->env->db->engine, rq->overlay, &range, &scan, &rq->error);
    while (r == OK) {
        struct slice key;
        struct entry entry;
        r = engine_scan_next(scan, &key, &entry, rq->waiter, &rq->error);
        if (r != OK || key.len == 0) break;
        row_add(rq, out, key, entry.value);
    }
    if (scan != NULL) depends_raise(&rq->depends, engine_scan_depends(scan));
    engine_scan_close(scan);
    return r;
}

static const struct row *library_find(const struct rows *rows, struct slice name)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (slice_eq(rows->items[i].name, name)) return &rows->items[i];
    }
    return NULL;
}

static bool is_taken(const struct rows *functions, struct slice name)
{
    for (size_t i = 0; i < functions->count; i++) {
        if (function_is_named(functions->items[i].name, name)) return true;
    }
    return false;
}

/* The library that a function's row names. */
static struct slice library_of(const struct row *row)
{
    struct function_row f;
    return function_row(row->value, &f) ? f.library : slice_str("");
}

/* ---- changes ---- */

struct library_change {
    struct rows libraries, functions; /* as they are before */
    struct op *ops;                   /* in the arena */
    size_t count, cap;
    const char *quote; /* around a library's name in Redis's words */
};

static enum err change_begin(struct request *rq, struct library_change *c)
{
    *c = (struct library_change){.quote = "'"};
    enum err r = rows_read(rq, false, &c->libraries);
    return r == OK ? rows_read(rq, true, &c->functions) : r;
}

static void op_add(struct request *rq, struct library_change *c, enum op_kind kind,
                   struct slice key, struct slice value)
{
    c->ops = arena_grow(rq->arena, c->ops, c->count, &c->cap, sizeof *c->ops);
    c->ops[c->count++] = (struct op){.kind = kind, .key = key, .value = value};
}

/* The library goes, with its functions. */
static void remove_library(struct request *rq, struct library_change *c, struct slice name)
{
    op_add(rq, c, OP_DELETE, library_key(rq->arena, name), slice_of(NULL, 0));
    for (size_t i = 0; i < c->functions.count; i++) {
        struct row *f = &c->functions.items[i];
        if (!slice_eq(library_of(f), name)) continue;
        op_add(rq, c, OP_DELETE, f->key, slice_of(NULL, 0));
        f->name = slice_str(""); /* it is no function any more */
    }
}

static void remove_all(struct request *rq, struct library_change *c)
{
    for (size_t i = 0; i < c->libraries.count; i++) {
        op_add(rq, c, OP_DELETE, c->libraries.items[i].key, slice_of(NULL, 0));
    }
    for (size_t i = 0; i < c->functions.count; i++) {
        op_add(rq, c, OP_DELETE, c->functions.items[i].key, slice_of(NULL, 0));
    }
    c->libraries.count = c->functions.count = 0;
}

/* ERR_SYNTAX, in Redis's words: something is there already. */
static enum err add_library(struct request *rq, struct library_change *c, const struct library *l,
                            bool replaces)
{
    if (library_find(&c->libraries, l->name) != NULL) {
        if (!replaces) {
            return error_set(&rq->error, ERR_SYNTAX, "Library %s%.*s%s already exists", c->quote,
                             (int)l->name.len, (const char *)l->name.data, c->quote);
        }
        remove_library(rq, c, l->name);
    }
    for (size_t i = 0; i < l->count; i++) {
        struct slice name = l->functions[i].name;
        if (!is_taken(&c->functions, name)) continue;
        return error_set(&rq->error, ERR_SYNTAX, "Function %.*s already exists", (int)name.len,
                         (const char *)name.data);
    }
    op_add(rq, c, OP_SET, library_key(rq->arena, l->name), library_row_write(rq->arena, l->code));
    for (size_t i = 0; i < l->count; i++) {
        struct slice name = l->functions[i].name;
        struct slice key = function_key(rq->arena, name);
        struct function_row f = {.library = l->name,
                                 .flags = l->functions[i].flags,
                                 .description = l->functions[i].description};
        if (!slice_eq(name_of(key, slice_str("")), name)) f.name = name;
        struct slice value = function_row_write(rq->arena, &f);
        op_add(rq, c, OP_SET, key, value);
        row_add(rq, &c->functions, key, value);
    }
    row_add(rq, &c->libraries, library_key(rq->arena, l->name), slice_str(""));
    return OK;
}

static enum err change_commit(struct request *rq, struct library_change *c)
{
    struct txn t = {.overlay = rq->overlay,
                    .database = DATABASE_CATALOG,
                    .ops = c->ops,
                    .count = c->count,
                    .arena = rq->arena};
    if (c->count == 0) return OK;
    enum err r = engine_commit(rq->env->db->engine, &t, rq->waiter, &rq->error);
    depends_raise(&rq->depends, t.depends);
    return r;
}

struct load {
    bool replaces;
    struct slice code;
};

/* As in Redis, what is before the code and not REPLACE is an option, also where REPLACE is too. */
static bool load_hint(struct request *rq, struct slice word)
{
    size_t first = (size_t)rq->words_before;
    word = rq->argv[first];
    if (rq->argc > first + 2 && slice_is_word(word, "REPLACE")) word = rq->argv[first + 1];
    (void)error_set(&rq->error, ERR_SYNTAX, "Unknown option given: %.*s",
                    (int)(word.len < 64 ? word.len : 64), (const char *)word.data);
    return true;
}

ARGUMENTS_WITH(load_arguments, struct load, "[REPLACE] function-code", WITH(.hint = load_hint),
               ARG_FLAG(struct load, replaces, "REPLACE"),
               ARG_WORD(struct load, code, "function-code"));

static enum err load_run(struct request *rq)
{
    const struct load *a = rq->bound;
    struct library library;
    struct library_change c;
    enum err r = library_read(a->code, rq->arena, &library, &rq->error);
    if (r == OK) r = change_begin(rq, &c);
    if (r == OK) r = add_library(rq, &c, &library, a->replaces);
    if (r == OK) r = change_commit(rq, &c);
    if (r == OK) resp_bulk(rq->w, library.name);
    return r;
}

ARGUMENTS(delete_arguments, struct one_word, "library-name",
          ARG_WORD(struct one_word, word, "library-name"));

static enum err delete_run(struct request *rq)
{
    struct slice name = ((const struct one_word *)rq->bound)->word;
    struct library_change c;
    enum err r = change_begin(rq, &c);
    if (r != OK) return r;
    if (library_find(&c.libraries, name) == NULL) {
        return error_set(&rq->error, ERR_SYNTAX, "Library not found");
    }
    remove_library(rq, &c, name);
    r = change_commit(rq, &c);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}

ARGUMENTS_WITH(flush_arguments, struct flush_words, "[ASYNC | SYNC]",
               WITH(.refusal = "FUNCTION FLUSH only supports SYNC|ASYNC option"),
               ARG_CHOICE(struct flush_words, is_async, {"ASYNC", true}, {"SYNC", false}));

static enum err flush_run(struct request *rq)
{
    struct library_change c;
    enum err r = change_begin(rq, &c);
    if (r != OK) return r;
    remove_all(rq, &c);
    r = change_commit(rq, &c);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}

/* ---- DUMP, RESTORE: "TPLF", version (1 byte), MessagePack array of the codes, XXH3 of all before
 * ---- */

static void sum_write(struct slice of, uint8_t to[DUMP_SUM_BYTES])
{
    uint64_t sum = XXH3_64bits(of.data, of.len);
    for (unsigned i = 0; i < DUMP_SUM_BYTES; i++) to[i] = (uint8_t)(sum >> (8 * i));
}

static enum err dump_run(struct request *rq)
{
    uint8_t head[PACK_HEAD_BYTES];
    uint8_t sum[DUMP_SUM_BYTES];
    struct rows rows;
    struct buf out;
    enum err r = rows_read(rq, false, &rows);
    if (r != OK) return r;
    buf_init(&out);
    buf_append(&out, DUMP_MAGIC, DUMP_HEAD_BYTES);
    buf_append(&out, head, pack_head(PACK_ARRAY, 0, rows.count, head));
    for (size_t i = 0; i < rows.count; i++) {
        buf_append(&out, rows.items[i].value.data, rows.items[i].value.len);
    }
    if (!out.is_failed) sum_write(buf_slice(&out), sum);
    buf_append(&out, sum, sizeof sum);
    if (out.is_failed) {
        r = error_set(&rq->error, ERR_NOMEM, "out of memory for the libraries");
    } else {
        resp_bulk(rq->w, buf_slice(&out));
    }
    buf_fini(&out);
    return r;
}

/* What is between the head and the sum; false: it is damaged, or not one of ours. */
static bool dump_open(struct slice dump, struct slice *body)
{
    uint8_t sum[DUMP_SUM_BYTES];
    if (dump.len < DUMP_HEAD_BYTES + DUMP_SUM_BYTES) return false;
    if (memcmp(dump.data, DUMP_MAGIC, DUMP_HEAD_BYTES) != 0) return false;
    size_t len = dump.len - DUMP_SUM_BYTES;
    sum_write(slice_of(dump.data, len), sum);
    *body = slice_of(dump.data + DUMP_HEAD_BYTES, len - DUMP_HEAD_BYTES);
    return memcmp(sum, dump.data + len, DUMP_SUM_BYTES) == 0;
}

static enum err restore_all(struct request *rq, struct library_change *c, struct slice body,
                            bool replaces)
{
    const uint8_t *at = body.data;
    const uint8_t *end = body.data + body.len;
    struct pack_item item = {0};
    bool is_good = pack_read(&at, end, &item) == PACK_OK && item.type == PACK_ARRAY;
    enum err r = OK;
    for (uint32_t left = item.count; r == OK && is_good && left > 0; left--) {
        struct library l;
        is_good = pack_read(&at, end, &item) == PACK_OK && item.type == PACK_STR;
        if (is_good) r = library_read(item.body, rq->arena, &l, &rq->error);
        if (is_good && r == OK) r = add_library(rq, c, &l, replaces);
    }
    if (is_good || r != OK) return r;
    return error_set(&rq->error, ERR_SYNTAX, "DUMP payload version or checksum are wrong");
}

enum policy { POLICY_APPEND, POLICY_FLUSH, POLICY_REPLACE };

struct restore {
    struct slice dump;
    enum policy policy;
};

ARGUMENTS_WITH(
    restore_arguments, struct restore, "serialized-value [FLUSH | APPEND | REPLACE]",
    WITH(.refusal = "Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE."),
    ARG_WORD(struct restore, dump, "serialized-value"),
    ARG_CHOICE(struct restore, policy, {"FLUSH", POLICY_FLUSH}, {"APPEND", POLICY_APPEND},
               {"REPLACE", POLICY_REPLACE}));

static enum err restore_run(struct request *rq)
{
    const struct restore *a = rq->bound;
    struct library_change c;
    struct slice body;
    if (!dump_open(a->dump, &body)) {
        return error_set(&rq->error, ERR_SYNTAX, "DUMP payload version or checksum are wrong");
    }
    enum err r = change_begin(rq, &c);
    if (r != OK) return r;
    c.quote = "";
    if (a->policy == POLICY_FLUSH) remove_all(rq, &c);
    r = restore_all(rq, &c, body, a->policy == POLICY_REPLACE);
    if (r == OK) r = change_commit(rq, &c);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}

/* ---- LIST, STATS, KILL ---- */

struct list_options {
    struct slice pattern; /* data NULL = all */
    bool with_code;
};

ARGUMENTS_WITH(list_arguments, struct list_options, "[LIBRARYNAME library-name-pattern] [WITHCODE]",
               WITH(.refusal = "Unknown argument {}"),
               {ARG_ONE(struct list_options, pattern, struct slice, "LIBRARYNAME",
                        arg_kind_pattern),
                .missing = "library name argument was not given"},
               ARG_FLAG(struct list_options, with_code, "WITHCODE"));

static void reply_function(struct request *rq, struct slice name, const struct function_row *f)
{
    size_t flags = 0;
    for (unsigned i = 0; i < SCRIPT_FLAGS; i++) flags += f->flags >> i & 1;
    resp_map(rq->w, 3);
    resp_bulk_str(rq->w, "name");
    resp_bulk(rq->w, name);
    resp_bulk_str(rq->w, "description");
    if (f->description.data != NULL) {
        resp_bulk(rq->w, f->description);
    } else {
        resp_nil(rq->w);
    }
    resp_bulk_str(rq->w, "flags");
    resp_set(rq->w, flags);
    for (unsigned i = 0; i < SCRIPT_FLAGS; i++) {
        if ((f->flags >> i & 1) != 0) resp_simple(rq->w, script_flag_names[i]);
    }
}

static void reply_library(struct request *rq, const struct row *library,
                          const struct rows *functions, bool with_code)
{
    size_t count = 0;
    struct slice code = slice_str("");
    for (size_t i = 0; i < functions->count; i++) {
        count += slice_eq(library_of(&functions->items[i]), library->name);
    }
    resp_map(rq->w, with_code ? 4 : 3);
    resp_bulk_str(rq->w, "library_name");
    resp_bulk(rq->w, library->name);
    resp_bulk_str(rq->w, "engine");
    resp_bulk_str(rq->w, "LUA");
    resp_bulk_str(rq->w, "functions");
    resp_array(rq->w, count);
    for (size_t i = 0; i < functions->count; i++) {
        struct function_row f;
        const struct row *row = &functions->items[i];
        if (!function_row(row->value, &f) || !slice_eq(f.library, library->name)) continue;
        reply_function(rq, row->name, &f);
    }
    if (!with_code) return;
    (void)library_row(library->value, &code);
    resp_bulk_str(rq->w, "library_code");
    resp_bulk(rq->w, code);
}

static enum err list_run(struct request *rq)
{
    const struct list_options *a = rq->bound;
    struct rows libraries;
    struct rows functions;
    enum err r = rows_read(rq, false, &libraries);
    if (r == OK) r = rows_read(rq, true, &functions);
    if (r != OK) return r;
    size_t count = 0;
    for (size_t i = 0; i < libraries.count; i++) {
        if (a->pattern.data != NULL && !glob_match_nocase(a->pattern, libraries.items[i].name))
            continue;
        libraries.items[count++] = libraries.items[i];
    }
    resp_array(rq->w, count);
    for (size_t i = 0; i < count; i++) {
        reply_library(rq, &libraries.items[i], &functions, a->with_code);
    }
    return OK;
}

static enum err stats_run(struct request *rq)
{
    struct rows libraries;
    struct rows functions;
    int64_t ms = 0;
    const char *running = long_running(rq->env->families.scripts, true, &ms);
    enum err r = rows_read(rq, false, &libraries);
    if (r == OK) r = rows_read(rq, true, &functions);
    if (r != OK) return r;
    resp_map(rq->w, 2);
    resp_bulk_str(rq->w, "running_script");
    if (running != NULL) {
        resp_map(rq->w, 2);
        resp_bulk_str(rq->w, "name");
        resp_bulk_str(rq->w, running);
        resp_bulk_str(rq->w, "duration_ms");
        resp_int(rq->w, ms);
    } else {
        resp_nil(rq->w);
    }
    resp_bulk_str(rq->w, "engines");
    resp_map(rq->w, 1);
    resp_bulk_str(rq->w, "LUA");
    resp_map(rq->w, 2);
    resp_bulk_str(rq->w, "libraries_count");
    resp_int(rq->w, (int64_t)libraries.count);
    resp_bulk_str(rq->w, "functions_count");
    resp_int(rq->w, (int64_t)functions.count);
    return OK;
}

static enum err kill_run(struct request *rq)
{
    if (long_kill(rq->env->families.scripts, true) == 0) {
        return error_set(&rq->error, ERR_NOTBUSY, "No scripts in execution right now.");
    }
    resp_simple(rq->w, "OK");
    return OK;
}

#define FUNCTION_SUB(word, more, text, of)                                                         \
    static const struct command sub_##word = {                                                     \
        .name = #word,                                                                             \
        .flags = (more),                                                                           \
        .group = "scripting",                                                                      \
        .summary = text,                                                                           \
        .arguments = &(of),                                                                        \
        .run = word##_run,                                                                         \
    }

FUNCTION_SUB(load, CMD_WRITE, "Creates a library of functions from Lua code and returns its name.",
             load_arguments);
FUNCTION_SUB(delete, CMD_WRITE, "Deletes a library and its functions.", delete_arguments);
FUNCTION_SUB(flush, CMD_WRITE, "Deletes all libraries.", flush_arguments);
FUNCTION_SUB(dump, 0, "Returns all libraries as bytes for FUNCTION RESTORE.", no_arguments);
FUNCTION_SUB(restore, CMD_WRITE, "Restores libraries from the bytes of FUNCTION DUMP.",
             restore_arguments);
FUNCTION_SUB(list, 0, "Lists the libraries and their functions.", list_arguments);
FUNCTION_SUB(stats, 0, "Returns the number of libraries and functions, and the function that runs.",
             no_arguments);
FUNCTION_SUB(kill, 0,
             "Terminates the functions that run for longer than a turn. Their writes are rolled "
             "back.",
             no_arguments);
COMMAND_HELP("scripting", 0);

static const struct command *const subcommands[] = {
    &sub_delete, &sub_dump, &sub_flush,   &sub_help,  &sub_kill,
    &sub_list,   &sub_load, &sub_restore, &sub_stats, NULL};

const struct command cmd_function = {
    .name = "function",
    .group = "scripting",
    .summary = "A container for commands about functions.",
    .arguments = &container_arguments,
    .subcommands = subcommands,
};
