/* kv_connect: requests are repeated while the failure may be one of the moment; metadata are
 * checked before anything of them is used, since they go into a URL and headers; an answer is
 * unpacked within a bound of memory. */
#include "tool/kv_connect.h"

#include <datapath.pb-c.h>
#include <poll.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"
#include "codec/date.h"
#include "tool/records.h"
#include "tool/web.h"

#define SERVICE_VERSION_MAX 3
#define SERVICE_WAIT_MS 200 /* the first pause, about; each later one is double */
#define SERVICE_WAIT_MS_MAX 10000
#define SERVICE_EARLY_MS 10000 /* before its end, a token is renewed */
#define SERVICE_SILENT_S 30
#define SERVICE_ANSWER_BYTES ((size_t)256 << 20)
#define SERVICE_UNPACK_BYTES ((size_t)4 << 20) /* beside some times the answer's */
#define SERVICE_UNPACK_FACTOR 8
#define SERVICE_TEXT_BYTES 400 /* of an answer, in an error */
#define SERVICE_TOKEN_BYTES 16384
#define SERVICE_ID_BYTES 128

struct service {
    const struct tool *t;
    struct service_options options;
    struct web *web;
    struct rng rng;
    struct buf request, answer;
    Kv__SnapshotReadOutput *page; /* in `arena` */
    struct arena arena;
    /* What the metadata said. */
    int64_t version;
    char database[SERVICE_ID_BYTES];
    struct buf endpoint; /* URL, with a 0 at its end */
    struct buf token;    /* likewise */
    int64_t renew_us;    /* of clock_mono_us */
};

/* ---- pauses ---------------------------------------------------------------------------------- */

struct service_tries {
    int64_t begun_us;
    unsigned count; /* failures in a row */
};

/* Waits before the next try; false: the time for that is over. `why`: what failed. */
static bool service_pause(struct service *s, struct service_tries *n, const char *why)
{
    int64_t now = clock_mono_us();
    int64_t ms = SERVICE_WAIT_MS;
    if (n->count == 0) n->begun_us = now;
    for (unsigned i = 0; i < n->count && ms < SERVICE_WAIT_MS_MAX; i++) ms *= 2;
    if (ms > SERVICE_WAIT_MS_MAX) ms = SERVICE_WAIT_MS_MAX;
    ms = ms / 2 + (int64_t)rng_below(&s->rng, (uint64_t)ms);
    if (now + ms * 1000 > n->begun_us + s->options.retry_s * 1000000) return false;
    n->count++;
    tool_warn(s->t, "%s: %s; retrying in %lld ms", s->options.url, why, (long long)ms);
    poll(NULL, 0, (int)ms);
    return true;
}

/* ---- answers --------------------------------------------------------------------------------- */

static bool service_may_end(int status)
{
    return status >= 500 || status == 429;
}

/* "503: the text of the answer", as far as it is printable. */
static void service_describe(const struct service *s, int status, char why[WEB_WHY_BYTES])
{
    int len = snprintf(why, WEB_WHY_BYTES, "it responded with status %d", status);
    size_t at = (size_t)len;
    if (s->answer.len > 0) at += (size_t)snprintf(why + at, WEB_WHY_BYTES - at, ": ");
    for (size_t i = 0; i < s->answer.len && i < SERVICE_TEXT_BYTES; i++) {
        uint8_t c = s->answer.data[i];
        why[at++] = c >= ' ' && c < 127 ? (char)c : ' ';
    }
    while (why[at - 1] == ' ') at--;
    why[at] = '\0';
}

/* Posts until there is an answer that is no failure of the moment. */
static enum tool_status service_post(struct service *s, const struct web_request *r, bool may_wait,
                                     int *status)
{
    char why[WEB_WHY_BYTES];
    struct service_tries tries = {.count = 0};
    for (;;) {
        enum web_result result = web_post(s->web, r, status, &s->answer, why);
        if (result == WEB_ANSWERED && !service_may_end(*status)) return TOOL_DONE;
        if (result == WEB_ANSWERED) service_describe(s, *status, why);
        if (result == WEB_NEVER) return tool_fail(TOOL_NO, "%s: %s", r->url, why);
        if (!may_wait || !service_pause(s, &tries, why)) {
            return tool_fail(TOOL_BROKEN, "%s: %s%s", r->url, why,
                             may_wait ? ". The data up to there is loaded; with --state, repeat "
                                        "the command to continue"
                                      : "");
        }
    }
}

static enum tool_status service_refused(const struct service *s, const char *url, int status)
{
    char why[WEB_WHY_BYTES];
    bool is_access = status == 401 || status == 403;
    service_describe(s, status, why);
    return tool_fail(TOOL_NO, "%s: %s%s", url, why,
                     is_access ? ". Pass the access token in DENO_KV_ACCESS_TOKEN or --token-file"
                               : "");
}

/* ---- metadata -------------------------------------------------------------------------------- */

static bool service_two_digits(const char *text, int64_t *out)
{
    if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9') return false;
    *out = (text[0] - '0') * 10 + (text[1] - '0');
    return true;
}

bool service_time(struct slice text, int64_t *ms)
{
    char head[21];
    int64_t hours = 0;
    int64_t minutes = 0;
    if (text.len < 20 || text.len > 40) return false;
    memcpy(head, text.data, 19);
    head[19] = 'Z';
    head[20] = '\0';
    if (!date_parse(slice_str(head), ms)) return false;
    const char *at = (const char *)text.data + 19;
    const char *end = (const char *)text.data + text.len;
    if (*at == '.') at++;
    while (at < end && *at >= '0' && *at <= '9') at++;
    if (end - at == 1 && (*at == 'Z' || *at == 'z')) return true;
    if (end - at != 6 || (*at != '+' && *at != '-') || at[3] != ':') return false;
    if (!service_two_digits(at + 1, &hours) || !service_two_digits(at + 4, &minutes)) return false;
    int64_t offset = (hours * 60 + minutes) * 60000;
    *ms += *at == '+' ? -offset : offset;
    return true;
}

static enum tool_status service_strange(const struct service *s, const char *what)
{
    return tool_fail(TOOL_NO, "%s is not a KV Connect service: %s", s->options.url, what);
}

/* It goes into a header: no blanks, no ends of lines. */
static bool service_is_word(struct slice text, size_t len_max)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] <= ' ' || text.data[i] >= 127) return false;
    }
    return text.len > 0 && text.len <= len_max;
}

static void service_keep(struct buf *b, struct slice text)
{
    buf_clear(b, SIZE_MAX);
    buf_append(b, text.data, text.len);
    buf_append_byte(b, '\0');
    buf_require(b);
}

/* The first endpoint with the newest state. */
static enum tool_status service_take_endpoint(struct service *s, const struct fields *f)
{
    struct slice *items = NULL;
    size_t count = 0;
    struct fields one;
    struct error e;
    struct slice url = {0};
    bool is_found = false;
    if (!field_list(f, fields_get(f, "endpoints"), &s->arena, &items, &count)) {
        return service_strange(s, "its metadata has no list of endpoints");
    }
    for (size_t i = 0; i < count && !is_found; i++) {
        struct slice level = {0};
        is_found = fields_read_json(items[i], &one, &e) == OK &&
                   field_text(&one, fields_get(&one, "url"), &s->arena, &url) &&
                   field_text(&one, fields_get(&one, "consistency"), &s->arena, &level) &&
                   slice_eq(level, slice_str("strong"));
    }
    if (!is_found) return service_strange(s, "it has no endpoint with strong consistency");
    struct buf relative = {.data = NULL};
    service_keep(&relative, url);
    buf_clear(&s->endpoint, SIZE_MAX);
    bool is_url = web_resolve(s->options.url, (const char *)relative.data, &s->endpoint);
    buf_fini(&relative);
    if (!is_url) return service_strange(s, "its endpoint is not an http or https URL");
    if (web_is_secure(s->options.url) && !web_is_secure((const char *)s->endpoint.data)) {
        return service_strange(s, "its endpoint does not use https, although the service does");
    }
    while (s->endpoint.len > 1 && s->endpoint.data[s->endpoint.len - 2] == '/') {
        s->endpoint.data[--s->endpoint.len - 1] = '\0';
    }
    return TOOL_DONE;
}

/* Renewed some time before the end; of a token with a short life, in its middle. */
static enum tool_status service_take_token(struct service *s, const struct fields *f)
{
    struct slice token = {0};
    struct slice expires = {0};
    int64_t until_ms = 0;
    if (!field_text(f, fields_get(f, "token"), &s->arena, &token) ||
        !service_is_word(token, SERVICE_TOKEN_BYTES)) {
        return service_strange(s, "its metadata has no token");
    }
    if (!field_text(f, fields_get(f, "expiresAt"), &s->arena, &expires) ||
        !service_time(expires, &until_ms)) {
        return service_strange(s, "its metadata does not say when the token expires");
    }
    service_keep(&s->token, token);
    int64_t left_ms = until_ms - clock_wall_ms();
    int64_t wait_ms = left_ms > 2 * SERVICE_EARLY_MS ? left_ms - SERVICE_EARLY_MS : left_ms / 2;
    /* With clocks that differ by hours it is used until it is refused. */
    s->renew_us = left_ms <= 0 ? INT64_MAX : clock_mono_us() + wait_ms * 1000;
    return TOOL_DONE;
}

static enum tool_status service_take_database(struct service *s, const struct fields *f)
{
    struct slice id = fields_get(f, "databaseId");
    if (id.len == 0) id = fields_get(f, "uuid");
    if (!field_text(f, id, &s->arena, &id) || !service_is_word(id, SERVICE_ID_BYTES - 1)) {
        return service_strange(s, "its metadata has no databaseId");
    }
    bool is_other = s->database[0] != '\0' && !slice_eq(id, slice_str(s->database));
    memcpy(s->database, id.data, id.len);
    s->database[id.len] = '\0';
    return is_other ? tool_fail(TOOL_NO, "%s now serves another database", s->options.url)
                    : TOOL_DONE;
}

static enum tool_status service_take(struct service *s)
{
    struct fields f;
    struct error e;
    arena_reset(&s->arena);
    s->page = NULL;
    if (fields_read_json(buf_slice(&s->answer), &f, &e) != OK ||
        !field_i64(&f, fields_get(&f, "version"), &s->version)) {
        return service_strange(s, "its metadata has no version");
    }
    if (s->version < 1 || s->version > SERVICE_VERSION_MAX) {
        return tool_fail(TOOL_NO, "%s uses version %lld of KV Connect; tupledctl supports 1 to %d",
                         s->options.url, (long long)s->version, SERVICE_VERSION_MAX);
    }
    enum tool_status status = service_take_database(s, &f);
    if (status == TOOL_DONE) status = service_take_endpoint(s, &f);
    if (status == TOOL_DONE) status = service_take_token(s, &f);
    return status;
}

static enum tool_status service_ask(struct service *s, bool may_wait)
{
    int code = 0;
    struct buf login = {.data = NULL};
    buf_printf(&login, "authorization: Bearer %s%c", s->options.token, '\0');
    buf_require(&login);
    struct web_request r = {
        .url = s->options.url,
        .headers = {"content-type: application/json", (const char *)login.data},
        .body = slice_str("{\"supportedVersions\":[1,2,3]}"),
    };
    enum tool_status status = service_post(s, &r, may_wait, &code);
    buf_fini(&login);
    if (status == TOOL_DONE && code != 200) status = service_refused(s, s->options.url, code);
    return status == TOOL_DONE ? service_take(s) : status;
}

/* ---- reads ----------------------------------------------------------------------------------- */

struct service_memory {
    struct arena *arena;
    size_t left; /* an answer of empty messages would be many times itself */
};

static void *service_alloc(void *arg, size_t bytes)
{
    struct service_memory *m = arg;
    if (bytes > m->left) return NULL;
    m->left -= bytes;
    return arena_alloc_try(m->arena, bytes == 0 ? 1 : bytes);
}

static void service_free(void *arg, void *pointer)
{
    (void)arg; /* the arena is emptied before the next answer */
    (void)pointer;
}

static enum tool_status service_unpack(struct service *s, const struct Kv__RangeOutput **page)
{
    struct service_memory m = {
        .arena = &s->arena, .left = SERVICE_UNPACK_BYTES + SERVICE_UNPACK_FACTOR * s->answer.len};
    ProtobufCAllocator allocator = {
        .alloc = service_alloc, .free = service_free, .allocator_data = &m};
    arena_reset(&s->arena);
    s->page = kv__snapshot_read_output__unpack(&allocator, s->answer.len, s->answer.data);
    const char *url = (const char *)s->endpoint.data;
    if (s->page == NULL) return tool_fail(TOOL_NO, "%s: invalid response", url);
    const Kv__SnapshotReadOutput *p = s->page;
    if (p->read_disabled || p->status == 2) {
        return tool_fail(TOOL_NO, "%s: reads are disabled for this database", url);
    }
    if (s->version >= 3 && p->status != 1) {
        return tool_fail(TOOL_NO, "%s: the read failed (code %d)", url, (int)p->status);
    }
    if (s->version >= 3 && !p->read_is_strongly_consistent) {
        return tool_fail(TOOL_NO, "%s: it does not read the latest state", url);
    }
    if (p->n_ranges != 1) {
        return tool_fail(TOOL_NO, "%s: it returned %zu ranges instead of 1", url, p->n_ranges);
    }
    *page = p->ranges[0];
    return TOOL_DONE;
}

static ProtobufCBinaryData service_bytes(struct slice s)
{
    return (ProtobufCBinaryData){.len = s.len, .data = bytes_unconst(s.data)};
}

static void service_pack(struct service *s, const struct service_range *range)
{
    Kv__ReadRange one = KV__READ_RANGE__INIT;
    Kv__SnapshotRead m = KV__SNAPSHOT_READ__INIT;
    Kv__ReadRange *list[] = {&one};
    one.start = service_bytes(range->start);
    one.end = service_bytes(range->end);
    one.limit = range->limit;
    m.n_ranges = 1;
    m.ranges = list;
    buf_clear(&s->request, SIZE_MAX);
    uint8_t *room = buf_reserve(&s->request, kv__snapshot_read__get_packed_size(&m));
    buf_require(&s->request);
    s->request.len = kv__snapshot_read__pack(&m, room);
}

/* Posts it with the token that there is now. */
static enum tool_status service_post_read(struct service *s, int *code)
{
    struct buf head = {.data = NULL};
    char url[4096];
    char database[SERVICE_ID_BYTES + 40];
    char version[40];
    snprintf(url, sizeof url, "%.4000s/snapshot_read", (const char *)s->endpoint.data);
    snprintf(database, sizeof database, "%s: %s",
             s->version == 1 ? "x-transaction-domain-id" : "x-denokv-database-id", s->database);
    snprintf(version, sizeof version, "x-denokv-version: %d", (int)s->version);
    buf_printf(&head, "authorization: Bearer %s%c", (const char *)s->token.data, '\0');
    buf_require(&head);
    struct web_request r = {
        .url = url,
        .headers = {"content-type: application/x-protobuf", (const char *)head.data, database,
                    s->version == 1 ? NULL : version},
        .body = buf_slice(&s->request),
    };
    enum tool_status status = service_post(s, &r, true, code);
    buf_fini(&head);
    return status;
}

/* Does the answer say that the token is no longer good? */
static bool service_wants_token(const struct service *s, int code)
{
    static const char word[] = "invalidAuthorizationHeader";
    return code == 401 || code == 403 ||
           (code == 400 && s->answer.len > 0 &&
            memmem(s->answer.data, s->answer.len, word, sizeof word - 1) != NULL);
}

enum tool_status service_read(struct service *s, const struct service_range *range,
                              const struct Kv__RangeOutput **page, size_t *bytes)
{
    int code = 0;
    enum tool_status status = TOOL_DONE;
    *page = NULL;
    service_pack(s, range);
    if (clock_mono_us() >= s->renew_us) status = service_ask(s, true);
    if (status == TOOL_DONE) status = service_post_read(s, &code);
    if (status == TOOL_DONE && service_wants_token(s, code)) {
        status = service_ask(s, true);
        if (status == TOOL_DONE) status = service_post_read(s, &code);
    }
    *bytes = s->answer.len;
    if (status != TOOL_DONE) return status;
    if (code == 200) return service_unpack(s, page);
    if ((code == 400 || code == 413) && range->limit > 1) return TOOL_DONE;
    return service_refused(s, (const char *)s->endpoint.data, code);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

enum tool_status service_open(const struct tool *t, const struct service_options *o,
                              struct service **out)
{
    uint64_t seed = 0;
    struct service *s = mem_new(sizeof *s);
    struct web_options web = {.cacert = o->cacert,
                              .connect_s = o->connect_s,
                              .silent_s = SERVICE_SILENT_S,
                              .bytes_max = SERVICE_ANSWER_BYTES};
    *out = s;
    s->t = t;
    s->options = *o;
    random_system(&seed, sizeof seed);
    rng_init(&s->rng, seed);
    arena_init(&s->arena, 1 << 20);
    s->web = web_new(&web);
    if (s->web == NULL) return tool_fail(TOOL_BROKEN, "out of memory for connections");
    return service_ask(s, false);
}

void service_close(struct service *s)
{
    if (s == NULL) return;
    web_free(s->web);
    arena_fini(&s->arena);
    buf_fini(&s->request);
    buf_fini(&s->answer);
    buf_fini(&s->endpoint);
    buf_fini(&s->token);
    mem_free(s);
}

const char *service_database(const struct service *s)
{
    return s->database;
}
