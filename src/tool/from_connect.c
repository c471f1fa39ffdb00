/* from_connect: a database of a KV Connect service (service.h): Deno Deploy, denokv, another server
 * like ours. It is read page by page in key order. A page is one state; the service has none over
 * several. Expiry is not part of the protocol, nor are queues. A place is the newest key, in hex.
 */
#include <datapath.pb-c.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "tool/deno_record.h"
#include "tool/kv_connect.h"
#include "tool/web.h"

#define REMOTE_LIMIT 1000                    /* entries of a page, as the service has it */
#define REMOTE_PAGE_BYTES ((size_t)16 << 20) /* above it pages get shorter */
#define REMOTE_TOKEN_BYTES 16384
#define REMOTE_RETRY_S 60

struct remote {
    const char *url;
    struct service *service;
    const Kv__RangeOutput *page; /* of the service; NULL = none */
    size_t at;                   /* of its next entry */
    int32_t limit;
    bool is_over;
    struct buf start, end;   /* keys that are wanted from now on */
    struct buf key;          /* the newest; empty = none yet */
    struct buf token;        /* with a 0 */
    struct deno_record made; /* of the newest entry */
    uint64_t number, bytes;
};

/* ---- opening --------------------------------------------------------------------------------- */

static enum tool_status remote_token(struct remote *r, const struct tool *t)
{
    struct error e;
    const char *path = tool_text(t, "--token-file");
    const char *token = getenv("DENO_KV_ACCESS_TOKEN");
    if (path != NULL && file_read_all(path, &r->token, REMOTE_TOKEN_BYTES, &e) != OK) {
        return tool_fail(TOOL_WORDS, "--token-file: %s", e.text);
    }
    if (path == NULL && token != NULL) buf_append_str(&r->token, token);
    size_t len = 0;
    while (len < r->token.len && r->token.data[len] > ' ' && r->token.data[len] < 127) len++;
    bool is_line = len == r->token.len || r->token.data[len] == '\n' || r->token.data[len] == '\r';
    r->token.len = len;
    buf_append_byte(&r->token, '\0');
    buf_require(&r->token);
    if (len > 0 && is_line) return TOOL_DONE;
    return tool_fail(TOOL_WORDS, "no access token; set DENO_KV_ACCESS_TOKEN, or put it in the "
                                 "first line of --token-file");
}

static enum tool_status remote_open(struct source *s, const char *from)
{
    struct remote *r = mem_new(sizeof *r);
    struct buf whole = {.data = NULL};
    int64_t retry_s = REMOTE_RETRY_S;
    s->state = r;
    r->url = from;
    r->limit = REMOTE_LIMIT;
    deno_record_range(s->prefix, &r->start, &r->end);
    bool is_url = strstr(from, "://") != NULL && web_resolve(from, NULL, &whole);
    buf_fini(&whole);
    if (!is_url) {
        return tool_fail(TOOL_WORDS, "--from connect needs the URL of a service (http or https)");
    }
    if (web_has_login(from)) {
        return tool_fail(TOOL_WORDS, "the URL contains a user or a password, which others can "
                                     "see; pass the access token in DENO_KV_ACCESS_TOKEN or "
                                     "--token-file");
    }
    enum tool_status status = tool_number(s->t, "--retry", 0, 86400, &retry_s);
    if (status == TOOL_DONE) status = remote_token(r, s->t);
    if (status != TOOL_DONE) return status;
    struct service_options o = {.url = from,
                                .token = (const char *)r->token.data,
                                .cacert = tool_text(s->t, "--source-cacert"),
                                .connect_s = s->t->server.timeout_s,
                                .retry_s = retry_s};
    return service_open(s->t, &o, &r->service);
}

static void remote_close(struct source *s)
{
    struct remote *r = s->state;
    if (r == NULL) return;
    service_close(r->service);
    deno_record_fini(&r->made);
    buf_fini(&r->start);
    buf_fini(&r->end);
    buf_fini(&r->key);
    buf_fini(&r->token);
    mem_free(r);
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* A key is given once: what comes later begins behind it. */
static void remote_pass(struct remote *r, struct slice key)
{
    buf_clear(&r->key, 1 << 20);
    buf_append(&r->key, key.data, key.len);
    buf_clear(&r->start, 1 << 20);
    buf_append(&r->start, key.data, key.len);
    buf_append_byte(&r->start, 0);
    buf_require(&r->key);
    buf_require(&r->start);
}

static enum tool_status remote_turn(struct remote *r)
{
    size_t bytes = 0;
    do {
        struct service_range range = {buf_slice(&r->start), buf_slice(&r->end), r->limit};
        enum tool_status status = service_read(r->service, &range, &r->page, &bytes);
        if (status != TOOL_DONE) return status;
        if (r->page == NULL) r->limit = r->limit / 8 + 1 < r->limit ? r->limit / 8 + 1 : 1;
    } while (r->page == NULL);
    r->at = 0;
    r->bytes += bytes;
    r->is_over = r->page->n_values == 0;
    if (bytes > REMOTE_PAGE_BYTES && r->limit > 1) r->limit /= 2;
    if (bytes < REMOTE_PAGE_BYTES / 4 && r->limit < REMOTE_LIMIT) {
        r->limit = r->limit * 2 < REMOTE_LIMIT ? r->limit * 2 : REMOTE_LIMIT;
    }
    return TOOL_DONE;
}

static struct slice remote_slice(ProtobufCBinaryData b)
{
    return slice_of(b.len == 0 ? (const uint8_t *)"" : b.data, b.len);
}

static enum tool_status remote_entry(struct remote *r, const Kv__Entry *e, struct record *out)
{
    struct deno_entry x = {.where = r->url,
                           .key = remote_slice(e->key),
                           .data = remote_slice(e->value),
                           .encoding = e->encoding};
    if (slice_cmp(x.key, buf_slice(&r->start)) < 0 || slice_cmp(x.key, buf_slice(&r->end)) >= 0) {
        return tool_fail(TOOL_NO, "%s: the response contains keys that were not requested", r->url);
    }
    if (e->versionstamp.len != DENO_STAMP_BYTES) {
        return tool_fail(TOOL_NO, "%s: a versionstamp of %zu bytes instead of %d", r->url,
                         e->versionstamp.len, DENO_STAMP_BYTES);
    }
    memcpy(x.stamp, e->versionstamp.data, DENO_STAMP_BYTES);
    remote_pass(r, x.key);
    out->number = ++r->number;
    return deno_record_entry(&r->made, &x, out);
}

static enum tool_status remote_next(struct source *s, struct record *out)
{
    struct remote *r = s->state;
    *out = (struct record){.kind = RECORD_NONE};
    while (!r->is_over && (r->page == NULL || r->at == r->page->n_values)) {
        enum tool_status status = remote_turn(r);
        if (status != TOOL_DONE) return status;
    }
    return r->is_over ? TOOL_DONE : remote_entry(r, r->page->values[r->at++], out);
}

/* ---- where it is ----------------------------------------------------------------------------- */

static void remote_place(const struct source *s, char out[SOURCE_PLACE_BYTES])
{
    const struct remote *r = s->state;
    struct buf text = {.data = NULL};
    buf_append_str(&text, "k:");
    deno_record_hex(buf_slice(&r->key), &text);
    buf_require(&text);
    snprintf(out, SOURCE_PLACE_BYTES, "%.*s", (int)text.len, (const char *)text.data);
    buf_fini(&text);
}

static enum tool_status remote_seek(struct source *s, const char *place)
{
    struct remote *r = s->state;
    struct buf key = {.data = NULL};
    bool is_place = strncmp(place, "k:", 2) == 0 && deno_record_unhex(slice_str(place + 2), &key);
    if (is_place && key.len > 0) remote_pass(r, buf_slice(&key));
    buf_fini(&key);
    return is_place ? TOOL_DONE : tool_fail(TOOL_NO, "invalid position \"%s\"", place);
}

static void remote_identity(const struct source *s, char out[SOURCE_PLACE_BYTES])
{
    const struct remote *r = s->state;
    snprintf(out, SOURCE_PLACE_BYTES, "database=%s,url=%016llx,prefix=%016llx",
             service_database(r->service), (unsigned long long)checksum_bytes(slice_str(r->url)),
             (unsigned long long)checksum_bytes(s->prefix));
}

static void remote_share(const struct source *s, uint64_t *done, uint64_t *all)
{
    const struct remote *r = s->state;
    *done = r->bytes;
    *all = 0;
}

const struct source_kind source_connect = {
    .name = "connect",
    .what = "a database of a KV Connect service",
    .is_service = true,
    .open = remote_open,
    .next = remote_next,
    .place = remote_place,
    .seek = remote_seek,
    .identity = remote_identity,
    .share = remote_share,
    .close = remote_close,
};
