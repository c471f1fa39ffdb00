/* debug: DEBUG, for tests; enable-debug-command says who may use it. */
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/mem.h"
#include "request/block.h"
#include "request/shapes.h"
#include "request/table.h"

static enum err debug_allowed(struct request *rq)
{
    const struct request_settings *set = &rq->env->settings;
    if (set->debug_is_allowed) return OK;
    if (set->debug_is_local && rq->client->link->is_local) return OK;
    return error_set(
        &rq->error, ERR_SYNTAX,
        "DEBUG command not allowed. If the enable-debug-command option is set to "
        "\"local\", you can run it from a local connection, otherwise you need to set this "
        "option in the configuration file, and then restart the server.");
}

/* Each needs a reader of its own. */
#define DIGEST_DATABASES_MAX 24

/* A digest of everything live: databases, keys, versions, expiries and values, at one moment. */
struct digest {
    struct pending pending; /* first */
    struct engine_scan *scans[DIGEST_DATABASES_MAX];
    size_t count, at;
    uint64_t entries;
    XXH3_state_t *state;
};

#define DIGEST_SLICE_ROWS 1000

static void digest_free(struct pending *p)
{
    struct digest *d = (struct digest *)p;
    for (unsigned i = 0; i < d->count; i++) engine_scan_close(d->scans[i]);
    XXH3_freeState(d->state);
    mem_free(d);
}

static enum err digest_begin(struct request *rq)
{
    struct digest *d = mem_new(sizeof *d);
    d->pending.free = digest_free;
    rq->client->run.pending = &d->pending;
    d->state = XXH3_createState();
    if (d->state == NULL) return error_set(&rq->error, ERR_NOMEM, "out of memory for a digest");
    XXH3_128bits_reset(d->state);
    struct engine *g = rq->env->db->engine;
    uint16_t i = 0;
    for (uint32_t at = 0; engine_database_next(g, NULL, at, &i); at = (uint32_t)i + 1) {
        if (d->count == DIGEST_DATABASES_MAX) {
            return error_set(&rq->error, ERR_LIMIT,
                             "more than %d databases in use, too many for one digest",
                             DIGEST_DATABASES_MAX);
        }
        uint8_t start[KEY_HEAD_BYTES] = {KEY_HEAD(i, SPACE_DATA)};
        uint8_t end[KEY_HEAD_BYTES] = {KEY_HEAD(i, SPACE_DATA + 1)};
        struct scan_range range = {.start = slice_of(start, sizeof start),
                                   .end = slice_of(end, sizeof end),
                                   .with_values = true};
        struct engine_scan **scan = &d->scans[d->count];
        enum err r = engine_scan_open(g, NULL, &range, scan, &rq->error);
        if (r != OK) return r;
        d->count++;
        /* All see one moment, this one, whenever their turn comes. */
        r = engine_scan_pause(*scan, &rq->error);
        if (r != OK) return r;
    }
    return OK;
}

static void digest_add(struct digest *d, struct slice key, const struct entry *entry)
{
    uint64_t head[4] = {key.len, entry->version, (uint64_t)entry->expiry_ms, entry->value.len};
    XXH3_128bits_update(d->state, head, sizeof head);
    XXH3_128bits_update(d->state, key.data, key.len);
    XXH3_128bits_update(d->state, entry->value.data, entry->value.len);
    d->entries++;
}

static enum err digest_turn(struct request *rq, struct digest *d)
{
    for (unsigned i = 0; d->at < d->count; i++) {
        struct slice key;
        struct entry entry;
        if (i == DIGEST_SLICE_ROWS) return client_yield(rq, d->scans[d->at]);
        enum err r = engine_scan_next(d->scans[d->at], &key, &entry, rq->waiter, &rq->error);
        if (r != OK) return r;
        if (key.len == 0) {
            d->at++;
        } else {
            digest_add(d, key, &entry);
        }
    }
    return OK;
}

static enum err digest_run(struct request *rq)
{
    enum err r = debug_allowed(rq);
    if (r == OK && rq->client->run.pending == NULL) r = digest_begin(rq);
    struct digest *d = (struct digest *)rq->client->run.pending;
    if (r == OK) r = digest_turn(rq, d);
    if (r != OK) return r;
    for (unsigned i = 0; i < d->count; i++) {
        depends_raise(&rq->depends, engine_scan_depends(d->scans[i]));
    }
    XXH128_hash_t sum = XXH3_128bits_digest(d->state);
    char text[40];
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 16; i++) {
        text[i] = digits[(sum.high64 >> (60 - 4 * i)) & 15];
        text[16 + i] = digits[(sum.low64 >> (60 - 4 * i)) & 15];
    }
    resp_bulk(rq->w, slice_of(text, 32));
    return OK;
}

/* ---- SLEEP, ERROR, SET-ACTIVE-EXPIRE, LOG, PROTOCOL ---- */

#define SLEEP_S_MAX 86400

/* A plain decimal number, with an exponent at most. Redis sleeps for 0 when it is none. */
static bool parse_seconds(struct slice arg, double *seconds)
{
    char text[32];
    char *end = NULL;
    if (arg.len == 0 || arg.len >= sizeof text) return false;
    for (size_t i = 0; i < arg.len; i++) {
        uint8_t c = arg.data[i];
        bool is_in_number = c == '.' || ((c == 'e' || c == 'E' || c == '-' || c == '+') && i > 0);
        if (!is_in_number && (c < '0' || c > '9')) return false;
        text[i] = (char)c;
    }
    text[arg.len] = '\0';
    *seconds = strtod(text, &end);
    return end != text && *end == '\0' && *seconds >= 0 && *seconds <= SLEEP_S_MAX;
}

ARGUMENTS(sleep_arguments, struct one_word, "duration",
          ARG_WORD(struct one_word, word, "duration"));

static enum err sleep_run(struct request *rq)
{
    const struct one_word *a = rq->bound;
    double seconds = 0;
    enum err r = debug_allowed(rq);
    if (r != OK) return r;
    if (!parse_seconds(a->word, &seconds)) {
        return error_set(&rq->error, ERR_SYNTAX, "value is not a valid float");
    }
    clock_sleep_us((int64_t)(seconds * 1e6));
    resp_simple(rq->w, "OK");
    return OK;
}

#define STEP_MS_MAX (100LL * 366 * 86400 * 1000)

struct step {
    int64_t ms;
};
ARGUMENTS(clock_arguments, struct step, "milliseconds",
          ARG_INTEGER(struct step, ms, "milliseconds", -STEP_MS_MAX, STEP_MS_MAX, 0));

/* A system clock that is set wrong, and set right again. */
static enum err clock_run(struct request *rq)
{
    enum err r = debug_allowed(rq);
    if (r != OK) return r;
    clock_step_wall_ms(((const struct step *)rq->bound)->ms);
    resp_simple(rq->w, "OK");
    return OK;
}

ARGUMENTS(message_arguments, struct one_word, "message",
          ARG_WORD(struct one_word, word, "message"));

/* Whatever its first word is: for tests of what clients make of errors. */
static enum err error_run(struct request *rq)
{
    struct slice arg = ((const struct one_word *)rq->bound)->word;
    char text[512];
    enum err r = debug_allowed(rq);
    if (r != OK) return r;
    snprintf(text, sizeof text, "%.*s", (int)(arg.len < sizeof text ? arg.len : sizeof text - 1),
             (const char *)arg.data);
    resp_error_line(rq->w, text);
    return OK;
}

struct active_expire {
    int64_t is_on;
};
ARGUMENTS(set_active_expire_arguments, struct active_expire, "zero-or-one",
          ARG_INTEGER(struct active_expire, is_on, "zero-or-one", 0, 1, 0));

static enum err set_active_expire_run(struct request *rq)
{
    enum err r = debug_allowed(rq);
    if (r != OK) return r;
    engine_set_active_expire(rq->env->db->engine,
                             ((const struct active_expire *)rq->bound)->is_on != 0);
    resp_simple(rq->w, "OK");
    return OK;
}

static enum err log_run(struct request *rq)
{
    struct slice arg = ((const struct one_word *)rq->bound)->word;
    enum err r = debug_allowed(rq);
    if (r != OK) return r;
    char text[512];
    int n = (int)(arg.len < sizeof text ? arg.len : sizeof text);
    for (int i = 0; i < n; i++) text[i] = (char)(arg.data[i] < ' ' ? ' ' : arg.data[i]);
    log_warning("DEBUG LOG: %.*s", n, text);
    resp_simple(rq->w, "OK");
    return OK;
}

static void example_string(struct resp_writer *w)
{
    resp_bulk_str(w, "Hello World");
}

static void example_integer(struct resp_writer *w)
{
    resp_int(w, 12345);
}

static void example_double(struct resp_writer *w)
{
    resp_double(w, 3.141);
}

static void example_array(struct resp_writer *w)
{
    resp_array(w, 3);
    for (int i = 0; i < 3; i++) resp_int(w, i);
}

static void example_set(struct resp_writer *w)
{
    resp_set(w, 3);
    for (int i = 0; i < 3; i++) resp_int(w, i);
}

static void example_map(struct resp_writer *w)
{
    resp_map(w, 3);
    for (int i = 0; i < 3; i++) {
        resp_int(w, i);
        resp_bool(w, i == 1);
    }
}

/* Nothing else here sends attributes: clients exist that stop at them. */
static void example_attribute(struct resp_writer *w)
{
    if (w->proto == 3) {
        buf_append_str(w->out, "|1\r\n");
        resp_bulk_str(w, "key-popularity");
        resp_array(w, 2);
        resp_bulk_str(w, "key:123");
        resp_int(w, 90);
    }
    resp_bulk_str(w, "Some real reply following the attribute");
}

/* A push is no reply: one follows. */
static void example_push(struct resp_writer *w)
{
    resp_push(w, 2);
    resp_bulk_str(w, "server-cpu-usage");
    resp_int(w, 42);
    resp_bulk_str(w, "Some real reply following the push reply");
}

static void example_verbatim(struct resp_writer *w)
{
    resp_text(w, slice_str("This is a verbatim\nstring"));
}

static void example_true(struct resp_writer *w)
{
    resp_bool(w, true);
}

static void example_false(struct resp_writer *w)
{
    resp_bool(w, false);
}

static void example_bignum(struct resp_writer *w)
{
    static const char digits[] = "1234567999999999999999999999999999999";
    if (w->proto == 3) {
        buf_append_byte(w->out, '(');
        buf_append_str(w->out, digits);
        buf_append(w->out, "\r\n", 2);
    } else {
        resp_bulk_str(w, digits);
    }
}

static const struct {
    const char *word;
    void (*write)(struct resp_writer *w);
} examples[] = {
    {"STRING", example_string}, {"INTEGER", example_integer},
    {"DOUBLE", example_double}, {"NULL", resp_nil},
    {"ARRAY", example_array},   {"SET", example_set},
    {"MAP", example_map},       {"ATTRIB", example_attribute},
    {"PUSH", example_push},     {"VERBATIM", example_verbatim},
    {"TRUE", example_true},     {"FALSE", example_false},
    {"BIGNUM", example_bignum},
};

ARGUMENTS_WITH(protocol_arguments, struct one_word, "type",
               WITH(.shown = "<STRING | INTEGER | DOUBLE | NULL | ARRAY | SET | MAP | ATTRIB | "
                             "PUSH | VERBATIM | TRUE | FALSE | BIGNUM>"),
               ARG_WORD(struct one_word, word, "type"));

static enum err protocol_run(struct request *rq)
{
    struct slice type = ((const struct one_word *)rq->bound)->word;
    enum err r = debug_allowed(rq);
    if (r != OK) return r;
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        if (!slice_is_word(type, examples[i].word)) continue;
        if (examples[i].write == example_push && rq->w->proto != 3) {
            return error_set(&rq->error, ERR_SYNTAX, "RESP2 is not supported by this command");
        }
        if (examples[i].write == example_push && rq->messages != NULL) {
            return error_set(&rq->error, ERR_SYNTAX, "SUBSCRIBE is not allowed in a transaction");
        }
        examples[i].write(rq->w);
        return OK;
    }
    return error_set(&rq->error, ERR_SYNTAX,
                     "Wrong protocol type name. Please use one of the following: "
                     "string|integer|double|null|array|set|map|attrib|push|verbatim|true|false|"
                     "bignum");
}

/* What is none of the subcommands; in Redis's words for DEBUG. */
static enum err other_run(struct request *rq)
{
    enum err r = debug_allowed(rq);
    if (r != OK) return r;
    return error_set(&rq->error, ERR_SYNTAX,
                     "unknown subcommand or wrong number of arguments for '%.*s'. Try DEBUG HELP.",
                     (int)(rq->argv[1].len < 128 ? rq->argv[1].len : 128),
                     (const char *)rq->argv[1].data);
}

/* [number, microseconds, machine, which, from, to] of each move. */
static void reply_moves(struct request *rq, const struct trace_move *moves, size_t count)
{
    resp_array(rq->w, count);
    for (size_t i = 0; i < count; i++) {
        const struct trace_move *m = &moves[i];
        char which[24];
        snprintf(which, sizeof which, "%p", m->which);
        resp_array(rq->w, 6);
        resp_int(rq->w, (int64_t)m->number);
        resp_int(rq->w, m->at_us);
        resp_bulk_str(rq->w, m->machine->name);
        resp_bulk_str(rq->w, which);
        resp_bulk_str(rq->w, m->machine->states[m->from]);
        resp_bulk_str(rq->w, m->machine->states[m->to]);
    }
}

enum trace_what { TRACE_ON, TRACE_OFF, TRACE_GET };

struct trace_words {
    enum trace_what what;
    int64_t count;
};
ARGUMENTS(trace_arguments, struct trace_words, "<ON | OFF | GET [count]>",
          ARG_CHOICE(struct trace_words, what, {"ON", TRACE_ON}, {"OFF", TRACE_OFF},
                     {"GET", TRACE_GET}),
          ARG_INTEGER(struct trace_words, count, "count", 1, TRACE_MOVES, TRACE_MOVES));

static enum err trace_run(struct request *rq)
{
    const struct trace_words *a = rq->bound;
    enum err r = debug_allowed(rq);
    if (r != OK) return r;
    if (a->what != TRACE_GET) {
        trace_switch(a->what == TRACE_ON);
        resp_simple(rq->w, "OK");
        return OK;
    }
    struct trace_move *moves = arena_alloc(rq->arena, (size_t)a->count * sizeof *moves);
    reply_moves(rq, moves, trace_read(moves, (size_t)a->count));
    return OK;
}

#define DEBUG_SUB(id, word, more, text, of)                                                        \
    static const struct command sub_##id = {                                                       \
        .name = word,                                                                              \
        .flags = CMD_ADMIN | CMD_DANGEROUS | (more),                                               \
        .group = "server",                                                                         \
        .summary = text,                                                                           \
        .arguments = &(of),                                                                        \
        .run = id##_run,                                                                           \
    }

DEBUG_SUB(clock, "clock", 0, "Moves the server's clock forward, or backward.", clock_arguments);
/* It takes many turns, and EXEC has one. */
DEBUG_SUB(digest, "digest", CMD_NO_MULTI,
          "Returns a digest of all live entries of all databases, from one snapshot.",
          no_arguments);
DEBUG_SUB(error, "error", 0, "Returns the given error.", message_arguments);
DEBUG_SUB(log, "log", 0, "Writes a line to the log.", message_arguments);
DEBUG_SUB(protocol, "protocol", 0, "Returns an example reply of a type of the protocol.",
          protocol_arguments);
DEBUG_SUB(set_active_expire, "set-active-expire", 0,
          "Turns the removal of expired entries on or off. Readers see no difference.",
          set_active_expire_arguments);
DEBUG_SUB(sleep, "sleep", 0,
          "Stops the whole server for a number of seconds, which may have a fraction.",
          sleep_arguments);
DEBUG_SUB(trace, "trace", 0,
          "Records the last 1024 transitions of the server's state machines, and returns them.",
          trace_arguments);
COMMAND_HELP("server", 0);

static const struct command *const debug_subcommands[] = {
    &sub_clock, &sub_digest, &sub_error, &sub_help, &sub_log, &sub_protocol, &sub_set_active_expire,
    &sub_sleep, &sub_trace,  NULL,
};

const struct command cmd_debug = {
    .name = "debug",
    .flags = CMD_ADMIN | CMD_DANGEROUS | CMD_ANY_WORD | CMD_ALL_KEYS | CMD_AUDITED,
    .group = "server",
    .summary = "A container for debugging commands (enable-debug-command).",
    .arguments = &container_arguments,
    .run = other_run,
    .subcommands = debug_subcommands,
};
