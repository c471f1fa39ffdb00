/* kv_index: KV.INDEX: the definitions of indexes. */
#include "base/mem.h"
#include "codec/key.h"
#include "codec/utf8.h"
#include "command/index/index_int.h"
#include "request/args.h"
#include "request/keys.h"
#include "request/permission.h"
#include "request/shapes.h"
#include "request/subjects.h"
#include "request/table.h"
#include "search/text.h"

/* ---- what the commands share ---- */

/* What is said of the definitions depends on the commit that made them so. */
static enum err definitions_begin(struct request *rq)
{
    struct indexes *ix = rq->env->db->indexes;
    enum err r = indexes_ready(ix, rq->client->database, rq->waiter, &rq->error);
    uint64_t version = indexes_version(ix, rq->client->database);
    depends_raise(&rq->depends, version);
    return r;
}

enum err arg_index(struct request *rq, struct slice name, enum index_kind kind,
                   const struct index **out)
{
    struct indexes *ix = rq->env->db->indexes;
    int shown = (int)(name.len < INDEX_NAME_BYTES_MAX ? name.len : INDEX_NAME_BYTES_MAX);
    enum err r = definitions_begin(rq);
    if (r != OK) return r;
    *out = index_find(ix, rq->client->database, name);
    if (*out == NULL) {
        return error_set(&rq->error, ERR_SYNTAX, "no such index '%.*s'", shown,
                         (const char *)name.data);
    }
    if ((*out)->definition.kind != kind) {
        return error_set(&rq->error, ERR_SYNTAX, "index '%.*s' is for %s", shown,
                         (const char *)name.data,
                         kind == INDEX_VALUE ? "text: use KV.SEARCH" : "values: use KV.FIND");
    }
    return OK;
}

enum err index_complete(struct request *rq, const struct index *x)
{
    const struct definition *d = &x->definition;
    if (d->state == INDEX_READY) return OK;
    if (d->state == INDEX_FILLING) {
        return error_set(&rq->error, ERR_INDEXING, "%u", index_percent(rq->env->db->indexes, x));
    }
    return error_set(&rq->error, ERR_SYNTAX, "index '%.*s' failed: %.*s", (int)d->name.len,
                     (const char *)d->name.data, (int)d->note.len, (const char *)d->note.data);
}

static enum err read_index(struct request *rq, const struct argument *a, struct slice word,
                           void *to)
{
    (void)a;
    memcpy(to, &word, sizeof word);
    return definitions_begin(rq) == ERR_WAIT ? ERR_WAIT : OK;
}

/* Who may not read everything learns nothing of an index that is not there either. */
static void index_subjects(struct subjects *s, const struct argument *a, const void *from)
{
    const struct request *rq = s->rq;
    const struct slice *name = from;
    const struct index *x = index_find(rq->env->db->indexes, rq->client->database, *name);
    s->is_hidden = true;
    if (x != NULL) {
        subjects_index(s, &x->definition, a->flags);
    } else {
        subjects_all_keys(s, a->flags);
    }
}
const struct argument_kind arg_kind_index = {.read = read_index, .subjects = index_subjects};

struct named {
    struct slice name;
};
ARGUMENTS(info_arguments, struct named, "name", ARG_INDEX(struct named, name, "name", ACCESS_READ));
ARGUMENTS(drop_arguments, struct named, "name", ARG_INDEX(struct named, name, "name", ACCESS_BOTH));

/* ---- CREATE ---- */

struct create {
    struct slice name, prefix; /* the prefix an internal key */
    struct slice hashes;       /* a pattern; data NULL = of values */
    struct slices values, texts;
    struct slice tokenizer;
    bool is_unique, may_exist; /* IF NOT EXISTS */
    /* What is made of them. */
    struct definition definition;
    struct text_spec text;
};

static enum err check_name(struct request *rq, struct slice name)
{
    bool is_good = name.len > 0 && name.len <= INDEX_NAME_BYTES_MAX &&
                   utf8_valid_bytes(name) == name.len;
    for (size_t i = 0; i < name.len && is_good; i++) {
        is_good = name.data[i] > 0x20 && name.data[i] != 0x7f;
    }
    if (is_good) return OK;
    return error_set(&rq->error, ERR_SYNTAX,
                     "invalid index name: must be 1 to %d bytes of UTF-8 without spaces and "
                     "control characters",
                     INDEX_NAME_BYTES_MAX);
}

static enum err take_paths(struct request *rq, struct create *a, const struct slices *paths)
{
    struct definition *d = &a->definition;
    enum err r = OK;
    for (size_t i = 0; i < paths->count && r == OK; i++) {
        struct slice path = paths->items[i];
        r = path_compile(path, rq->arena, &a->text.paths[i], &rq->error);
        for (size_t k = 0; k < i && r == OK; k++) {
            if (!slice_eq(d->paths[k], path)) continue;
            r = error_set(&rq->error, ERR_SYNTAX, "duplicate path '%.*s'", (int)path.len,
                          (const char *)path.data);
        }
        d->paths[d->path_count++] = path;
    }
    return r;
}

/* What contradicts itself. */
static enum err check_options(struct request *rq, const struct create *a)
{
    bool is_text = a->texts.count > 0;
    if (is_text && a->values.count > 0) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "syntax error: an index needs either ON (values) or TEXT");
    }
    bool has_place = a->prefix.data != NULL || a->hashes.data != NULL;
    if (!has_place || (!is_text && a->values.count == 0)) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "syntax error: KV.INDEX CREATE needs PREFIX key or HASHES pattern, and ON "
                         "or TEXT with a number of paths and the paths");
    }
    if (is_text && a->hashes.data != NULL && !rq->env->db->is_local) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "text indexes of hashes are not supported with backend postgresql");
    }
    if (is_text && a->is_unique) {
        return error_set(&rq->error, ERR_SYNTAX, "syntax error: UNIQUE needs ON, not TEXT");
    }
    if (!is_text && a->tokenizer.data != NULL) {
        return error_set(&rq->error, ERR_SYNTAX, "syntax error: TOKENIZE needs TEXT, not ON");
    }
    return OK;
}

/* A pattern is one, and a path is a field's name. */
static enum err check_hashes(struct request *rq, const struct create *a)
{
    struct slice ignored;
    if (a->hashes.data == NULL) return OK;
    enum err r = arg_pattern(rq, a->hashes);
    if (r == OK && utf8_valid_bytes(a->hashes) != a->hashes.len) {
        r = error_set(&rq->error, ERR_SYNTAX, "HASHES: the pattern is not valid UTF-8");
    }
    const struct slices *paths = a->texts.count > 0 ? &a->texts : &a->values;
    for (size_t i = 0; i < paths->count && r == OK; i++) {
        struct slice path = paths->items[i];
        if (path_is_name(a->text.paths[i], &ignored)) continue;
        r = error_set(&rq->error, ERR_SYNTAX,
                      "path '%.*s' is not the name of a field, which is all that a hash has; "
                      "quote a name with dots or brackets, such as \"home.city\"",
                      (int)path.len, (const char *)path.data);
    }
    return r;
}

static enum err check_create(struct request *rq, void *bound)
{
    struct create *a = bound;
    struct definition *d = &a->definition;
    bool is_text = a->texts.count > 0;
    enum err r = check_name(rq, a->name);
    if (r == OK) r = check_options(rq, a);
    if (r == OK) r = take_paths(rq, a, is_text ? &a->texts : &a->values);
    if (r == OK) r = check_hashes(rq, a);
    if (r != OK) return r;
    if (a->tokenizer.data != NULL && !text_tokenizer_find(a->tokenizer, &a->text.tokenizer)) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "TOKENIZE must be unicode61, porter, ascii or trigram, not '%.*s'",
                         (int)(a->tokenizer.len < 32 ? a->tokenizer.len : 32),
                         (const char *)a->tokenizer.data);
    }
    d->name = a->name;
    d->kind = is_text ? INDEX_TEXT : INDEX_VALUE;
    d->is_unique = a->is_unique;
    if (a->prefix.data != NULL) d->prefix = engine_key_tuple(a->prefix);
    d->hashes = a->hashes;
    a->text.prefix = d->prefix;
    a->text.is_of_hashes = definition_is_of_hashes(d);
    a->text.path_count = d->path_count;
    if (is_text) d->tokenizer = slice_str(text_tokenizer_name(a->text.tokenizer));
    return OK;
}

/* What is indexed is read, whenever it is written; it shows what there is, and with UNIQUE it
 * refuses writes. */
static void create_subjects(struct subjects *s, const void *bound)
{
    const struct create *a = bound;
    struct definition of = {.hashes = a->hashes};
    if (a->prefix.data != NULL) of.prefix = engine_key_tuple(a->prefix);
    subjects_index(s, &of, ACCESS_BOTH);
}

ARGUMENTS_WITH(
    create_arguments, struct create,
    "name [PREFIX key] [HASHES pattern] [ON count path [path ...]] [TEXT numpaths text-path "
    "[text-path ...]] [UNIQUE] [TOKENIZE tokenizer] [IF NOT EXISTS]",
    WITH(.shown = "name <PREFIX key | HASHES pattern> <ON count path [path ...] [UNIQUE] | "
                  "TEXT count path [path ...] [TOKENIZE tokenizer]> [IF NOT EXISTS]",
         .words_least = 6, .members = "IF - NOT - EXISTS -", .check = check_create,
         .subjects = create_subjects),
    ARG_WORD(struct create, name, "name"), ARG_PREFIX(struct create, prefix, "PREFIX", KEY_PREFIX),
    ARG_WORD(struct create, hashes, "HASHES"),
    ARG_COUNT("count", 1, INDEX_VALUE_PATHS_MAX, "paths", "ON 1 name"),
    ARG_WORDS(struct create, values, "path"),
    ARG_COUNT("numpaths", 1, TEXT_PATHS_MAX, "paths", "TEXT 2 title body"),
    ARG_WORDS(struct create, texts, "text-path"), ARG_FLAG(struct create, is_unique, "UNIQUE"),
    ARG_WORD(struct create, tokenizer, "TOKENIZE"), ARG_FLAG(struct create, may_exist, "IF"),
    ARG_FLAG(struct create, may_exist, "NOT"), ARG_FLAG(struct create, may_exist, "EXISTS"));

static bool is_same_definition(const struct definition *a, const struct definition *b)
{
    bool is_same = a->kind == b->kind && a->is_unique == b->is_unique &&
                   a->path_count == b->path_count && slice_eq(a->prefix, b->prefix) &&
                   definition_is_of_hashes(a) == definition_is_of_hashes(b) &&
                   slice_eq(a->hashes, b->hashes);
    if (is_same && a->kind == INDEX_TEXT) is_same = slice_eq(a->tokenizer, b->tokenizer);
    for (size_t i = 0; i < a->path_count && is_same; i++) {
        is_same = slice_eq(a->paths[i], b->paths[i]);
    }
    return is_same;
}

/* IF NOT EXISTS, and one of the name is there. */
static enum err create_existing(struct request *rq, const struct definition *wanted,
                                const struct definition *there)
{
    int len = (int)there->name.len;
    const char *name = (const char *)there->name.data;
    if (is_same_definition(wanted, there)) {
        resp_int(rq->w, 0);
        return OK;
    }
    return error_set(&rq->error, ERR_SYNTAX,
                     "index '%.*s' exists with another definition; KV.INDEX INFO %.*s shows it",
                     len, name, len, name);
}

static enum err create_run(struct request *rq)
{
    const struct create *a = rq->bound;
    enum err r = definitions_begin(rq);
    if (r != OK) return r;
    const struct index *there = index_find(rq->env->db->indexes, rq->client->database,
                                           a->definition.name);
    if (there != NULL && !may_read_index(rq, &there->definition)) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "this name is not available here; use another one");
    }
    if (a->may_exist && there != NULL) {
        return create_existing(rq, &a->definition, &there->definition);
    }
    struct index_create x = {.indexes = rq->env->db->indexes, .definition = a->definition};
    if (a->definition.kind == INDEX_TEXT) {
        buf_clear(rq->scratch, SIZE_MAX);
        text_spec_write(&a->text, rq->scratch);
        x.text_spec = arena_copy(rq->arena, buf_slice(rq->scratch));
    }
    struct op op = index_create_op(&x);
    struct txn t = {.database = rq->client->database, .ops = &op, .count = 1, .arena = rq->arena};
    r = engine_commit(rq->env->db->engine, &t, rq->waiter, &rq->error);
    depends_raise(&rq->depends, t.depends);
    if (r != OK) return r;
    rq->env->stats.writes++;
    resp_simple(rq->w, "OK");
    return OK;
}

/* ON n path ..., TEXT n path ...: paths are nearly any words. */
static size_t create_own_words(const struct slice *argv, size_t argc)
{
    for (size_t at = 3; at + 1 < argc; at++) {
        uint64_t count = 0;
        bool has_paths = slice_is_word(argv[at], "ON") || slice_is_word(argv[at], "TEXT");
        if (has_paths) {
            return slice_to_u64(argv[at + 1], &count) && count < argc ? at + 2 + count : 0;
        }
        at += slice_is_word(argv[at], "IF") ? 2 : !slice_is_word(argv[at], "UNIQUE");
    }
    return 0;
}

static const struct command sub_create = {
    .name = "create",
    .flags = CMD_INDEX | CMD_WRITE | CMD_NO_MULTI | CMD_FORMAT,
    .key_flags = KEY_RO | KEY_ACCESS,
    .group = "kv",
    .summary =
        "Creates an index of the values, or the text, at paths of the entries below a prefix, or "
        "of the fields of hashes.",
    .arguments = &create_arguments,
    .reply = "OK. With IF NOT EXISTS, 0 if the same index exists, and an error if the name has "
             "another definition. Many existing entries are added in the background; INFO shows "
             "the progress. `-DUPLICATE name key key` if two entries violate UNIQUE.",
    .run = create_run,
    .own_words = create_own_words,
};

/* ---- DROP ---- */

static enum err drop_run(struct request *rq)
{
    struct index_drop x = {.indexes = rq->env->db->indexes,
                           .name = ((const struct named *)rq->bound)->name};
    struct op op = index_drop_op(&x);
    struct txn t = {.database = rq->client->database, .ops = &op, .count = 1, .arena = rq->arena};
    enum err r = definitions_begin(rq);
    if (r == OK) r = engine_commit(rq->env->db->engine, &t, rq->waiter, &rq->error);
    depends_raise(&rq->depends, t.depends);
    if (r != OK) return r;
    rq->env->stats.writes++;
    resp_int(rq->w, op.is_met);
    return OK;
}

static const struct command sub_drop = {
    .name = "drop",
    .flags = CMD_INDEX | CMD_WRITE | CMD_NO_MULTI | CMD_AUDITED | CMD_FORMAT,
    .group = "kv",
    .summary = "Drops an index. Its rows are removed in the background.",
    .arguments = &drop_arguments,
    .reply = "1, or 0 if there is no index of that name.",
    .run = drop_run,
};

/* ---- LIST, INFO ---- */

static enum err list_run(struct request *rq)
{
    enum err r = definitions_begin(rq);
    if (r != OK) return r;
    const struct index *first = index_first(rq->env->db->indexes, rq->client->database);
    size_t count = 0;
    for (const struct index *x = first; x != NULL; x = x->next) {
        count += may_read_index(rq, &x->definition);
    }
    resp_array(rq->w, count);
    for (const struct index *x = first; x != NULL; x = x->next) {
        if (may_read_index(rq, &x->definition)) resp_bulk(rq->w, x->definition.name);
    }
    return OK;
}

static const struct command sub_list = {
    .name = "list",
    .flags = CMD_INDEX | CMD_READ | CMD_FOLLOWER | CMD_FORMAT,
    .group = "kv",
    .summary = "Lists the names of the indexes in the selected database that the user may read.",
    .arguments = &no_arguments,
    .reply = "Names, sorted.",
    .run = list_run,
};

static void reply_definition(struct request *rq, const struct index *x, unsigned percent)
{
    static const char *const states[] = {"filling", "ready", "failed"};
    const struct definition *d = &x->definition;
    bool is_text = d->kind == INDEX_TEXT;
    enum index_state state = d->state;
    bool is_told = !index_has_rows(x) || state == INDEX_READY; /* by the store */
    if (is_text && is_told) state = percent == 100 ? INDEX_READY : INDEX_FILLING;
    struct buf *key = rq->scratch;
    buf_clear(key, SIZE_MAX);
    engine_key_begin(key, x->database);
    buf_append(key, d->prefix.data, d->prefix.len);
    resp_map(rq->w, 9);
    resp_bulk_str(rq->w, "name");
    resp_bulk(rq->w, d->name);
    resp_bulk_str(rq->w, "type");
    resp_bulk_str(rq->w, is_text ? "text" : "value");
    resp_bulk_str(rq->w, "prefix");
    reply_key(rq->w, rq->format, buf_slice(key));
    resp_bulk_str(rq->w, "hashes");
    if (definition_is_of_hashes(d)) {
        resp_bulk(rq->w, d->hashes);
    } else {
        resp_nil(rq->w);
    }
    resp_bulk_str(rq->w, "paths");
    resp_array(rq->w, d->path_count);
    for (size_t i = 0; i < d->path_count; i++) resp_bulk(rq->w, d->paths[i]);
    resp_bulk_str(rq->w, is_text ? "tokenize" : "unique");
    if (is_text) {
        resp_bulk(rq->w, d->tokenizer);
    } else {
        resp_int(rq->w, d->is_unique);
    }
    resp_bulk_str(rq->w, "state");
    resp_bulk_str(rq->w, states[state]);
    resp_bulk_str(rq->w, "percent");
    resp_int(rq->w, percent);
    resp_bulk_str(rq->w, "error");
    if (d->note.len > 0) {
        resp_bulk(rq->w, d->note);
    } else {
        resp_nil(rq->w);
    }
}

static enum err info_run(struct request *rq)
{
    const struct named *a = rq->bound;
    const struct index *x = NULL;
    enum err r = definitions_begin(rq);
    if (r != OK) return r;
    x = index_find(rq->env->db->indexes, rq->client->database, a->name);
    if (x == NULL) return arg_index(rq, a->name, INDEX_VALUE, &x);
    unsigned percent = 0;
    bool is_kept = index_has_rows(x) && x->definition.state != INDEX_READY;
    if (x->definition.kind == INDEX_TEXT && !is_kept) {
        r = text_state(rq, x, &percent);
    } else {
        percent = index_percent(rq->env->db->indexes, x);
    }
    if (r == OK) reply_definition(rq, x, percent);
    return r;
}

static const struct command sub_info = {
    .name = "info",
    .flags = CMD_INDEX | CMD_READ | CMD_NO_MULTI | CMD_FORMAT,
    .group = "kv",
    .summary = "Returns the definition and the state of an index.",
    .arguments = &info_arguments,
    .reply =
        "A map, or a flat array in RESP2: name, type (value or text), prefix, hashes (a pattern, "
        "or nil if the index is not of hashes), paths, unique or tokenize, state (filling, ready, "
        "failed), percent, error (nil unless it failed).",
    .run = info_run,
};

COMMAND_HELP("kv", CMD_INDEX);

static const struct command *const index_subcommands[] = {
    &sub_create, &sub_drop, &sub_help, &sub_info, &sub_list, NULL,
};

const struct command kv_index = {
    .name = "kv.index",
    .group = "kv",
    .summary = "A container for commands about indexes.",
    .arguments = &container_arguments,
    .brief = "<CREATE name | INFO name | DROP name | LIST>",
    .subcommands = index_subcommands,
};
