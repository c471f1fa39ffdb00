/* kv_index: KV.INDEX: the definitions of indexes. */
#include "base/mem.h"
#include "codec/key.h"
#include "codec/utf8.h"
#include "command/index/index_int.h"
#include "request/args.h"
#include "request/hint.h"
#include "request/keys.h"
#include "request/permission.h"
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
        return error_set(&rq->error, ERR_SYNTAX, "there is no index '%.*s'", shown,
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

/* Who may not read everything learns nothing of an index that is not there either. */
static enum err subjects_of_index(struct request *rq, struct subjects *out, struct slice name,
                                  unsigned needs)
{
    enum err r = definitions_begin(rq);
    if (r == ERR_WAIT) return r;
    const struct index *x = index_find(rq->env->db->indexes, rq->client->database, name);
    out->is_hidden = true;
    subjects_below(out, x != NULL ? x->definition.prefix : slice_of(NULL, 0), needs);
    return OK;
}

enum err index_read_subjects(struct request *rq, struct subjects *out)
{
    return subjects_of_index(rq, out, rq->argv[1], ACCESS_READ);
}

static enum err info_subjects(struct request *rq, struct subjects *out)
{
    return subjects_of_index(rq, out, rq->argv[2], ACCESS_READ);
}

static enum err drop_subjects(struct request *rq, struct subjects *out)
{
    return subjects_of_index(rq, out, rq->argv[2], ACCESS_BOTH);
}

/* It shows what there is, and with UNIQUE it refuses writes. */
static enum err create_subjects(struct request *rq, struct subjects *out)
{
    (void)rq;
    enum err r = subjects_keys(out);
    for (size_t i = 0; i < out->count; i++) out->items[i].needs = ACCESS_BOTH;
    return r;
}

/* ---- CREATE ---- */

struct create_args {
    struct definition definition;
    struct text_spec text;
    bool has_prefix;
    bool may_exist; /* IF NOT EXISTS */
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
                     "invalid index name: 1 to %d bytes of UTF-8 without blanks and control "
                     "characters",
                     INDEX_NAME_BYTES_MAX);
}

static enum err take_names(struct options *o, struct create_args *a, const char *word,
                           int64_t paths_max)
{
    struct request *rq = o->rq;
    struct definition *d = &a->definition;
    struct slice arg = {0};
    int64_t count = 0;
    if (d->path_count > 0) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "syntax error: an index is either ON values or for TEXT");
    }
    enum err r = options_argument(o, word, &arg);
    if (r == OK) r = arg_integer(rq, arg, word, 1, paths_max, &count);
    for (int64_t i = 0; i < count && r == OK; i++) {
        struct slice path = {0};
        r = options_argument(o, word, &path);
        if (r == OK) r = path_compile(path, rq->arena, &a->text.paths[i], &rq->error);
        for (size_t k = 0; k < d->path_count && r == OK; k++) {
            if (!slice_eq(d->paths[k], path)) continue;
            r = error_set(&rq->error, ERR_SYNTAX, "path '%.*s' is given twice", (int)path.len,
                          (const char *)path.data);
        }
        if (r == OK) d->paths[d->path_count++] = path;
    }
    return r;
}

/* ON n path ..., TEXT n path ... */
static enum err take_paths(struct options *o, struct create_args *a, const char *word,
                           int64_t paths_max)
{
    size_t before = a->definition.path_count;
    enum err r = take_names(o, a, word, paths_max);
    if (r != OK && before == 0) {
        bool is_text = word[0] == 'T';
        hint_count(o->rq, "paths", is_text ? "TEXT 2 title body" : "ON 1 name");
    }
    return r;
}

static enum err take_tokenizer(struct options *o, struct create_args *a)
{
    struct slice arg = {0};
    enum err r = options_argument(o, "TOKENIZE", &arg);
    if (r != OK || text_tokenizer_find(arg, &a->text.tokenizer)) return r;
    return error_set(&o->rq->error, ERR_SYNTAX,
                     "TOKENIZE must be unicode61, porter, ascii or trigram, not '%.*s'",
                     (int)(arg.len < 32 ? arg.len : 32), (const char *)arg.data);
}

static enum err take_create_option(struct options *o, struct create_args *a)
{
    struct range_args range = {0};
    bool is_taken = false;
    if (options_take(o, "ON", 0)) {
        a->definition.kind = INDEX_VALUE;
        return take_paths(o, a, "ON", INDEX_VALUE_PATHS_MAX);
    }
    if (options_take(o, "TEXT", 1)) {
        a->definition.kind = INDEX_TEXT;
        return take_paths(o, a, "TEXT", TEXT_PATHS_MAX);
    }
    if (options_take(o, "UNIQUE", 2)) {
        a->definition.is_unique = true;
        return OK;
    }
    if (options_take(o, "TOKENIZE", 3)) return take_tokenizer(o, a);
    if (options_take(o, "IF", 4)) {
        a->may_exist = options_take(o, "NOT", 5) && options_take(o, "EXISTS", 6);
        return a->may_exist ? OK
                            : error_set(&o->rq->error, ERR_SYNTAX,
                                        "syntax error: IF is written IF NOT EXISTS");
    }
    o->seen |= 1ull << OPTION_START | 1ull << OPTION_END; /* of a range, not of an index */
    enum err r = options_range(o, &range, &is_taken);
    if (r == OK && !is_taken) r = options_unknown(o);
    if (r != OK) return r;
    a->definition.prefix = engine_key_tuple(range.prefix);
    a->has_prefix = true;
    return OK;
}

static enum err parse_create(struct request *rq, struct create_args *a)
{
    struct options o = {.rq = rq, .at = 3};
    bool is_text = false;
    a->definition.name = rq->argv[2];
    enum err r = check_name(rq, rq->argv[2]);
    while (r == OK && o.at < rq->argc) r = take_create_option(&o, a);
    if (r != OK) return r;
    if (!a->has_prefix || a->definition.path_count == 0) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "syntax error: KV.INDEX CREATE needs PREFIX key, and ON or TEXT with a "
                         "number of paths and the paths");
    }
    is_text = a->definition.kind == INDEX_TEXT;
    if (is_text && a->definition.is_unique) {
        return error_set(&rq->error, ERR_SYNTAX, "syntax error: UNIQUE is for ON, not for TEXT");
    }
    if (!is_text && (o.seen & 1ull << 3) != 0) {
        return error_set(&rq->error, ERR_SYNTAX, "syntax error: TOKENIZE is for TEXT, not for ON");
    }
    a->text.prefix = a->definition.prefix;
    a->text.path_count = a->definition.path_count;
    if (is_text) {
        a->definition.tokenizer = slice_str(text_tokenizer_name(a->text.tokenizer));
    }
    return OK;
}

static bool is_same_definition(const struct definition *a, const struct definition *b)
{
    bool is_same = a->kind == b->kind && a->is_unique == b->is_unique &&
                   a->path_count == b->path_count && slice_eq(a->prefix, b->prefix);
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
    return error_set(
        &rq->error, ERR_SYNTAX,
        "there is an index '%.*s' with another definition: KV.INDEX INFO %.*s shows it", len, name,
        len, name);
}

static enum err create_run(struct request *rq)
{
    struct create_args a = {0};
    enum err r = parse_create(rq, &a);
    if (r == OK) r = definitions_begin(rq);
    if (r != OK) return r;
    const struct index *there = index_find(rq->env->db->indexes, rq->client->database,
                                           a.definition.name);
    if (there != NULL && !may_read_below(rq, there->definition.prefix)) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "this name is not free for an index here; take another");
    }
    if (a.may_exist && there != NULL) {
        return create_existing(rq, &a.definition, &there->definition);
    }
    struct index_create x = {.indexes = rq->env->db->indexes, .definition = a.definition};
    if (a.definition.kind == INDEX_TEXT) {
        buf_clear(rq->scratch, SIZE_MAX);
        text_spec_write(&a.text, rq->scratch);
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

/* The prefix: what is indexed is read, whenever it is written. */
static bool keys_of_create(const struct slice *argv, size_t argc, struct key_uses *out)
{
    for (size_t at = 3; at < argc; at++) {
        uint64_t paths = 0;
        bool has_paths = slice_is_word(argv[at], "ON") || slice_is_word(argv[at], "TEXT");
        if (slice_is_word(argv[at], "UNIQUE")) continue;
        if (slice_is_word(argv[at], "IF")) paths = 1; /* NOT EXISTS */
        if (++at == argc) return false;
        if (slice_is_word(argv[at - 1], "PREFIX")) {
            key_uses_add(out, argv[at], KEY_PREFIX);
        } else if (has_paths && (!slice_to_u64(argv[at], &paths) || paths >= argc - at)) {
            return false;
        }
        at += paths;
    }
    return true;
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
    .arity = -8,
    .flags = CMD_INDEX | CMD_WRITE | CMD_NO_MULTI | CMD_FORMAT,
    .key_flags = KEY_RO | KEY_ACCESS,
    .group = "kv",
    .since = "0.1.0",
    .summary = "An index of the values, or of the text, at paths of the entries below a prefix.",
    .syntax = "name PREFIX key <ON count path [path ...] [UNIQUE] | TEXT count path [path ...] "
              "[TOKENIZE tokenizer]> [IF NOT EXISTS]",
    .reply = "OK; with IF NOT EXISTS 0 when there is one that is equal, an error when one of the "
             "name is another. What is there already is added in the background, if it is much; "
             "INFO shows how far that is. `-DUPLICATE name key key` of a UNIQUE index that cannot "
             "be.",
    .run = create_run,
    .own_words = create_own_words,
    .keys = keys_of_create,
    .subjects = create_subjects,
};

/* ---- DROP ---- */

static enum err drop_run(struct request *rq)
{
    struct index_drop x = {.indexes = rq->env->db->indexes, .name = rq->argv[2]};
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
    .arity = 3,
    .flags = CMD_INDEX | CMD_WRITE | CMD_NO_MULTI | CMD_AUDITED | CMD_FORMAT,
    .group = "kv",
    .since = "0.1.0",
    .summary = "Ends an index; what it holds is removed in the background.",
    .syntax = "name",
    .reply = "1, or 0 when there is none of that name.",
    .run = drop_run,
    .subjects = drop_subjects,
};

/* ---- LIST, INFO ---- */

static enum err list_run(struct request *rq)
{
    enum err r = definitions_begin(rq);
    if (r != OK) return r;
    const struct index *first = index_first(rq->env->db->indexes, rq->client->database);
    size_t count = 0;
    for (const struct index *x = first; x != NULL; x = x->next) {
        count += may_read_below(rq, x->definition.prefix);
    }
    resp_array(rq->w, count);
    for (const struct index *x = first; x != NULL; x = x->next) {
        if (may_read_below(rq, x->definition.prefix)) resp_bulk(rq->w, x->definition.name);
    }
    return OK;
}

static const struct command sub_list = {
    .name = "list",
    .arity = 2,
    .flags = CMD_INDEX | CMD_READ | CMD_FOLLOWER | CMD_FORMAT,
    .group = "kv",
    .since = "0.1.0",
    .summary =
        "The names of the indexes in the selected database, of those that the user may read.",
    .syntax = "",
    .reply = "Names, sorted.",
    .run = list_run,
};

static void reply_definition(struct request *rq, const struct index *x, unsigned percent)
{
    static const char *const states[] = {"filling", "ready", "failed"};
    const struct definition *d = &x->definition;
    bool is_text = d->kind == INDEX_TEXT;
    enum index_state state = d->state;
    if (is_text) state = percent == 100 ? INDEX_READY : INDEX_FILLING;
    struct buf *key = rq->scratch;
    buf_clear(key, SIZE_MAX);
    engine_key_begin(key, x->database);
    buf_append(key, d->prefix.data, d->prefix.len);
    resp_map(rq->w, 8);
    resp_bulk_str(rq->w, "name");
    resp_bulk(rq->w, d->name);
    resp_bulk_str(rq->w, "type");
    resp_bulk_str(rq->w, is_text ? "text" : "value");
    resp_bulk_str(rq->w, "prefix");
    reply_key(rq->w, rq->format, buf_slice(key));
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
    const struct index *x = NULL;
    enum err r = definitions_begin(rq);
    if (r != OK) return r;
    x = index_find(rq->env->db->indexes, rq->client->database, rq->argv[2]);
    if (x == NULL) return arg_index(rq, rq->argv[2], INDEX_VALUE, &x);
    unsigned percent = 0;
    if (x->definition.kind == INDEX_TEXT) {
        r = text_state(rq, x, &percent);
    } else {
        percent = index_percent(rq->env->db->indexes, x);
    }
    if (r == OK) reply_definition(rq, x, percent);
    return r;
}

static const struct command sub_info = {
    .name = "info",
    .arity = 3,
    .flags = CMD_INDEX | CMD_READ | CMD_NO_MULTI | CMD_FORMAT,
    .group = "kv",
    .since = "0.1.0",
    .summary = "The definition of an index and how far it is.",
    .syntax = "name",
    .reply =
        "name, type (value or text), prefix, paths, unique or tokenize, state (filling, ready, "
        "failed), percent, error (nil unless it failed). A map, or a flat array in RESP2.",
    .run = info_run,
    .subjects = info_subjects,
};

COMMAND_HELP("kv", CMD_INDEX);

static const struct command *const index_subcommands[] = {
    &sub_create, &sub_drop, &sub_help, &sub_info, &sub_list, NULL,
};

const struct command kv_index = {
    .name = "kv.index",
    .arity = -2,
    .group = "kv",
    .since = "0.1.0",
    .summary = "Commands about indexes.",
    .syntax = "",
    .brief = "<CREATE name | INFO name | DROP name | LIST>",
    .subcommands = index_subcommands,
};
