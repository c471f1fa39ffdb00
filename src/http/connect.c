/* connect: KV Connect over HTTP. Deno asks first, with a password, for what it needs to know
 * (POST /connect), and gets a token; then with the token for reads, writes and watches, whose
 * bodies are messages of src/foreign/datapath.proto. They become words of KV.CONNECT
 * (src/command/connect), and its replies become messages.
 *
 * Deno tries for ever when an answer is 5xx or does not come, so only what may go away by itself
 * is one, and never what may have been committed.
 */
#include "http/connect.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "base/bytes.h"
#include "engine/stamp.h"
#include "http/reply_json.h"

#define VERSION_MAX 3
#define STAMP_BYTES 10
#define UNPACK_BYTES ((size_t)4 << 20) /* beside some times the body's */
#define UNPACK_FACTOR 8

/* ---- answers ---- */

void connect_fail(struct exchange *x, int status, const char *format, ...)
{
    char text[ERROR_TEXT_BYTES + 64];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    buf_clear(&x->text, SIZE_MAX);
    buf_append_str(&x->text, text);
    exchange_answer(x, status, "text/plain; charset=utf-8", buf_slice(&x->text));
}

/* Deno's own errors have no code before them. */
static struct slice without_code(struct slice error)
{
    static const char *const codes[] = {"ERR ", "WRONGTYPE ", "LIMIT ", "RANGE ", "OVERFLOW "};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        size_t len = strlen(codes[i]);
        if (slice_has_prefix(error, slice_str(codes[i])))
            return slice_of(error.data + len, error.len - len);
    }
    return error;
}

bool connect_fails(struct exchange *x)
{
    struct slice error;
    if (!reply_is_error(buf_slice(&x->reply), &error)) return false;
    bool may_end = slice_has_prefix(error, slice_str("TRYAGAIN ")) ||
                   slice_has_prefix(error, slice_str("ERR disk full"));
    struct slice text = without_code(error);
    buf_clear(&x->text, SIZE_MAX);
    buf_append(&x->text, text.data, text.len);
    exchange_answer(x, may_end ? 503 : 400, "text/plain; charset=utf-8", buf_slice(&x->text));
    return true;
}

/* ---- messages ---- */

struct unpacking {
    struct arena *arena;
    size_t left; /* bytes: a body of empty messages would be many times itself */
};

static void *unpack_alloc(void *data, size_t size)
{
    struct unpacking *u = data;
    if (size > u->left) return NULL;
    u->left -= size;
    return arena_alloc(u->arena, size == 0 ? 1 : size);
}

static void unpack_free(void *data, void *pointer)
{
    (void)data; /* the arena goes with the exchange */
    (void)pointer;
}

ProtobufCMessage *connect_message(struct exchange *x, const ProtobufCMessageDescriptor *type)
{
    struct slice body = x->message->body;
    struct unpacking u = {.arena = &x->arena, .left = UNPACK_BYTES + UNPACK_FACTOR * body.len};
    ProtobufCAllocator allocator = {
        .alloc = unpack_alloc, .free = unpack_free, .allocator_data = &u};
    ProtobufCMessage *m = protobuf_c_message_unpack(type, &allocator, body.len, body.data);
    if (m == NULL)
        connect_fail(x, 400, "Invalid protobuf in the request: not a valid %s.", type->name);
    return m;
}

struct packing {
    ProtobufCBuffer buffer; /* first */
    struct buf *out;
};

static void append(ProtobufCBuffer *buffer, size_t len, const uint8_t *data)
{
    buf_append(((struct packing *)buffer)->out, data, len);
}

void connect_pack(const ProtobufCMessage *m, struct buf *out)
{
    struct packing p = {.buffer = {.append = append}, .out = out};
    (void)protobuf_c_message_pack_to_buffer(m, &p.buffer);
}

static void answer_message(struct exchange *x, const ProtobufCMessage *m)
{
    buf_clear(&x->text, SIZE_MAX);
    connect_pack(m, &x->text);
    exchange_answer(x, 200, "application/x-protobuf", buf_slice(&x->text));
}

ProtobufCBinaryData connect_binary(struct slice s)
{
    ProtobufCBinaryData b = {.len = s.len};
    memcpy(&b.data, &s.data, sizeof b.data); /* it has no const, and is only read */
    return b;
}

static struct slice bytes_of(ProtobufCBinaryData b)
{
    return slice_of(b.len == 0 ? (const uint8_t *)"" : b.data, b.len);
}

/* ---- what Deno must know ---- */

/* The newest version that both speak; 0: there is none. */
static int version_of(struct exchange *x)
{
    static const char *const names[] = {"supportedVersions", NULL};
    struct json_part body;
    struct json_part versions;
    struct json_part one;
    struct error e;
    int newest = 0;
    if (x->message->body.len == 0) return 1;
    if (json_check(x->message->body, &body, &e) != OK ||
        json_members(&body, names, &versions, false, "the body", &e) != OK ||
        versions.kind != JSON_ARRAY) {
        return 0;
    }
    struct slice rest = json_inside(&versions);
    while (json_next_item(&rest, &one)) {
        int64_t n = 0;
        if (json_part_integer(&one, &n) && n > newest && n <= VERSION_MAX) newest = (int)n;
    }
    return newest;
}

/* The scheme and host for those who want whole addresses. */
static void put_address(struct exchange *x, bool is_whole)
{
    struct slice path = x->message->path;
    if (is_whole) {
        struct slice host = session_host(x->session, x->message);
        buf_append_str(&x->text,
                       session_is_secure(x->session, x->message) ? "https://" : "http://");
        buf_append(&x->text, host.data, host.len);
    }
    while (path.len > 1 && path.data[path.len - 1] == '/') path.len--;
    buf_append(&x->text, path.data, path.len);
    buf_append_str(&x->text, "/v2");
}

/* Those who ask for what may be a little old are sent to nodes that stand by. */
static void put_others(struct exchange *x)
{
    const struct nodes_known *n = x->http->env->node.known;
    for (size_t i = 0; n != NULL && i < n->other_count; i++) {
        const struct node_other *o = &n->others[i];
        if (!o->is_up || o->http[0] == '\0') continue;
        buf_printf(&x->text, ",{\"url\":\"%s/connect/eventual\",\"consistency\":\"eventual\"}",
                   o->http);
    }
}

struct metadata {
    int version;
};

static void put_time(struct buf *out, int64_t ms)
{
    time_t s = (time_t)(ms / 1000);
    struct tm t;
    char text[40];
    gmtime_r(&s, &t);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &t);
    buf_append_str(out, text);
    buf_printf(out, ".%03dZ", (int)(ms % 1000));
}

static void opened(struct exchange *x)
{
    const struct metadata *t = x->task;
    struct slice rest = buf_slice(&x->reply);
    struct resp_item items[4];
    int64_t until_ms = 0;
    if (connect_fails(x)) return;
    for (size_t i = 0; i < 4; i++) {
        if (!rest_next(&rest, &items[i])) return;
    }
    (void)slice_to_i64(items[3].text, &until_ms);
    buf_clear(&x->text, SIZE_MAX);
    buf_printf(&x->text, "{\"version\":%d,\"databaseId\":\"", t->version);
    buf_append(&x->text, items[1].text.data, items[1].text.len);
    buf_append_str(&x->text, "\",\"endpoints\":[{\"url\":\"");
    put_address(x, t->version < 2);
    buf_append_str(&x->text, "\",\"consistency\":\"strong\"}");
    put_others(x);
    buf_append_str(&x->text, "],\"token\":\"");
    buf_append(&x->text, items[2].text.data, items[2].text.len);
    buf_append_str(&x->text, "\",\"expiresAt\":\"");
    put_time(&x->text, until_ms);
    buf_append_str(&x->text, "\"}");
    exchange_answer_json(x, 200);
}

void connect_metadata_run(struct exchange *x)
{
    struct metadata *t = arena_alloc(&x->arena, sizeof *t);
    t->version = version_of(x);
    x->task = t;
    if (t->version == 0) {
        connect_fail(x, 400,
                     "The server could not negotiate a protocol version: the body must be "
                     "{\"supportedVersions\":[..]} with one of 1, 2 and 3.");
        return;
    }
    exchange_words(x, opened, WORDS("KV.CONNECT", "OPEN"));
}

/* ---- reads ---- */

/* [key, data, encoding, versionstamp] */
static bool take_entry(struct exchange *x, struct slice *rest, Kv__Entry *e)
{
    struct resp_item items[5];
    struct expected stamp;
    struct error ignored;
    int64_t encoding = 0;
    for (size_t i = 0; i < 5; i++) {
        if (!rest_next(rest, &items[i])) return false;
    }
    if (!slice_to_i64(items[3].text, &encoding)) return false;
    if (stamp_parse(items[4].text, &stamp, &ignored) != OK) return false;
    uint8_t *bytes = arena_alloc(&x->arena, STAMP_BYTES);
    put_u64(bytes, stamp.version);
    bytes[8] = bytes[9] = 0;
    kv__entry__init(e);
    e->key = connect_binary(items[1].text);
    e->value = connect_binary(items[2].text);
    e->encoding = (int32_t)encoding;
    e->versionstamp = (ProtobufCBinaryData){STAMP_BYTES, bytes};
    return true;
}

static bool take_range(struct exchange *x, struct slice *rest, Kv__RangeOutput *range)
{
    struct resp_item head;
    kv__range_output__init(range);
    if (!rest_next(rest, &head)) return false;
    range->n_values = head.children;
    range->values = arena_alloc(&x->arena, (head.children + 1) * sizeof *range->values);
    Kv__Entry *entries = arena_alloc(&x->arena, (head.children + 1) * sizeof *entries);
    for (size_t i = 0; i < head.children; i++) {
        range->values[i] = &entries[i];
        if (!take_entry(x, rest, &entries[i])) return false;
    }
    return true;
}

static void was_read(struct exchange *x)
{
    struct slice rest = buf_slice(&x->reply);
    struct resp_item head;
    Kv__SnapshotReadOutput out = KV__SNAPSHOT_READ_OUTPUT__INIT;
    if (connect_fails(x)) return;
    if (!rest_next(&rest, &head)) return;
    out.status = 1;
    out.read_is_strongly_consistent = !x->http->env->node.stands_by;
    out.n_ranges = head.children;
    out.ranges = arena_alloc(&x->arena, (head.children + 1) * sizeof *out.ranges);
    for (size_t i = 0; i < head.children; i++) {
        out.ranges[i] = arena_alloc(&x->arena, sizeof *out.ranges[i]);
        if (!take_range(x, &rest, out.ranges[i])) return;
    }
    answer_message(x, &out.base);
}

void connect_read_run(struct exchange *x)
{
    const Kv__SnapshotRead *m = (Kv__SnapshotRead *)connect_message(x,
                                                                    &kv__snapshot_read__descriptor);
    if (m == NULL) return;
    struct rest_words w = rest_words_of(x, "KV.CONNECT");
    rest_words_str(&w, "READ");
    for (size_t i = 0; i < m->n_ranges; i++) {
        const Kv__ReadRange *r = m->ranges[i];
        rest_words_add(&w, bytes_of(r->start));
        rest_words_add(&w, bytes_of(r->end));
        rest_words_number(&w, r->limit);
        rest_words_str(&w, r->reverse ? "REVERSE" : "FORWARD");
    }
    rest_words_run(&w, was_read);
}

/* ---- writes ---- */

static void was_written(struct exchange *x)
{
    struct slice rest = buf_slice(&x->reply);
    struct resp_item item;
    struct expected stamp;
    struct error ignored;
    uint8_t bytes[STAMP_BYTES] = {0};
    Kv__AtomicWriteOutput out = KV__ATOMIC_WRITE_OUTPUT__INIT;
    if (connect_fails(x)) return;
    if (!rest_next(&rest, &item)) return;
    if (item.type == '*') {
        out.status = 2;
        out.failed_checks = arena_alloc(&x->arena, (item.children + 1) * sizeof *out.failed_checks);
        for (size_t i = item.children; i > 0; i--) {
            int64_t n = 0;
            if (!rest_next(&rest, &item) || !slice_to_i64(item.text, &n)) return;
            out.failed_checks[out.n_failed_checks++] = (uint32_t)n;
        }
    } else if (stamp_parse(item.text, &stamp, &ignored) == OK) {
        out.status = 1;
        put_u64(bytes, stamp.version);
        out.versionstamp = (ProtobufCBinaryData){STAMP_BYTES, bytes};
    }
    answer_message(x, &out.base);
}

static bool add_check(struct exchange *x, struct rest_words *w, const Kv__Check *c)
{
    static const char digits[] = "0123456789abcdef";
    if (c->versionstamp.len != 0 && c->versionstamp.len != STAMP_BYTES) {
        connect_fail(x, 400, "Invalid versionstamp.");
        return false;
    }
    char *hex = arena_alloc(&x->arena, 2 * STAMP_BYTES);
    for (size_t i = 0; i < c->versionstamp.len; i++) {
        hex[2 * i] = digits[c->versionstamp.data[i] >> 4];
        hex[2 * i + 1] = digits[c->versionstamp.data[i] & 15];
    }
    rest_words_str(w, "CHECK");
    rest_words_add(w, bytes_of(c->key));
    rest_words_add(w, slice_of(hex, 2 * c->versionstamp.len));
    return true;
}

static void add_value(struct rest_words *w, const Kv__Mutation *m)
{
    rest_words_number(w, m->value == NULL ? 0 : m->value->encoding);
    rest_words_add(w, m->value == NULL ? slice_str("") : bytes_of(m->value->data));
}

static void add_sum(struct rest_words *w, const Kv__Mutation *m)
{
    rest_words_add(w, bytes_of(m->sum_min));
    rest_words_add(w, bytes_of(m->sum_max));
    rest_words_str(w, m->sum_clamp ? "CLAMP" : "RANGE");
}

static bool add_mutation(struct exchange *x, struct rest_words *w, const Kv__Mutation *m)
{
    static const char *const kinds[] = {
        [1] = "SET", [2] = "DEL", [3] = "SUM", [4] = "MAX", [5] = "MIN", [9] = "SETSUFFIX"};
    int32_t kind = m->mutation_type;
    bool is_known = kind > 0 && kind < 10 && kinds[kind] != NULL;
    if (!is_known || (kind != 2 && m->value == NULL)) {
        connect_fail(x, 400, "Invalid mutation kind or arguments.");
        return false;
    }
    rest_words_str(w, kinds[kind]);
    rest_words_add(w, bytes_of(m->key));
    if (kind != 2) add_value(w, m);
    if (kind == 1 || kind == 9) rest_words_number(w, m->expire_at_ms);
    if (kind == 3) add_sum(w, m);
    return true;
}

static void add_message(struct rest_words *w, const Kv__Enqueue *q)
{
    rest_words_str(w, "ENQUEUE");
    rest_words_add(w, bytes_of(q->payload));
    rest_words_number(w, q->deadline_ms);
    rest_words_number(w, (int64_t)q->n_backoff_schedule);
    for (size_t i = 0; i < q->n_backoff_schedule; i++) {
        rest_words_number(w, q->backoff_schedule[i]);
    }
    rest_words_number(w, (int64_t)q->n_keys_if_undelivered);
    for (size_t i = 0; i < q->n_keys_if_undelivered; i++) {
        rest_words_add(w, bytes_of(q->keys_if_undelivered[i]));
    }
}

void connect_write_run(struct exchange *x)
{
    const Kv__AtomicWrite *m = (Kv__AtomicWrite *)connect_message(x, &kv__atomic_write__descriptor);
    if (m == NULL) return;
    struct rest_words w = rest_words_of(x, "KV.CONNECT");
    rest_words_str(&w, "WRITE");
    for (size_t i = 0; i < m->n_checks; i++) {
        if (!add_check(x, &w, m->checks[i])) return;
    }
    for (size_t i = 0; i < m->n_mutations; i++) {
        if (!add_mutation(x, &w, m->mutations[i])) return;
    }
    for (size_t i = 0; i < m->n_enqueues; i++) add_message(&w, m->enqueues[i]);
    rest_words_run(&w, was_written);
}
