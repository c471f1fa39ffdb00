/* fuzz_command: any bytes as the requests of three connections, through the reader and the command
 * table down to a real backend, in one process and without a network. Nothing may crash; and every
 * command gets exactly one reply, well-formed in its protocol (value_end is the judge). The third
 * connection's user has all commands but those of administration, and no key, queue or channel:
 * whatever it says, nothing may be committed.
 *
 * A line that begins with '~' gives the following requests to the next connection. State is kept
 * from one input to the next but for a FLUSHALL: so that an input finds the same server each time.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz/env_help.h"
#include "index/index.h"
#include "request/block.h"
#include "request/login.h"
#include "request/observe.h"
#include "resp/reader.h"
#include "unit/db/db_help.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CLIENTS 3
#define LIMITED 2        /* the one without rights */
#define COMMANDS_MAX 500 /* of one input */
#define POLLS_MAX 300    /* while one is parked */

struct peer {
    struct client client;
    struct link link; /* first */
    struct waiter waiter;
    bool was_told, is_closed;
};

static struct env env;
static struct peer peers[CLIENTS];
static struct arena arena;
static struct buf scratch;
static uint64_t rows_written; /* by commits */

static void on_ready(struct waiter *w)
{
    struct peer *p = (struct peer *)((char *)w - offsetof(struct peer, waiter));
    p->was_told = true;
}

static void on_client_close(struct client *c)
{
    ((struct peer *)c)->is_closed = true;
}

static void on_client_write(struct client *c, struct slice bytes, uint64_t version)
{
    (void)version;
    (void)c;
    (void)bytes;
}

static void on_client_buffers(const struct client *c, size_t *input, size_t *output)
{
    *input = c->link->input_bytes;
    *output = c->link->output_bytes;
}

static const struct client_ops client_ops = {
    .write = on_client_write,
    .close = on_client_close,
    .buffers = on_client_buffers,
};

/* Set anew: the input before may have left the user able to do more. */
static struct user *limited(void)
{
    const struct slice words[] = {slice_str("reset"), slice_str("on"), slice_str("nopass"),
                                  slice_str("+@all"), slice_str("-@admin")};
    struct slice name = slice_str("limited");
    struct error e;
    if (users_set(env.users.all, name, words, sizeof words / sizeof words[0], &e) != OK) abort();
    return users_find(env.users.all, name);
}

static bool is_limited(const struct peer *p)
{
    return p == &peers[LIMITED] && p->client.user != NULL &&
           slice_eq(p->client.user->name, slice_str("limited"));
}

static void peer_open(struct peer *p, uint64_t id)
{
    *p = (struct peer){.waiter = {.ready = on_ready}, .link = {.fd = -1}};
    client_init(&p->client, &env, &p->link, &client_ops);
    p->client.id = id;
    if (p == &peers[LIMITED]) client_become(&p->client, limited());
}

static void peer_close(struct peer *p)
{
    waiter_cancel(&p->waiter);
    client_fini(&p->client, &env);
    for (size_t work = 1000; !client_end_listening(&p->client, &env, &work);) work = 1000;
}

/* An empty transaction commits, and has an id when one is given: that changes no data. */
static void count_rows(void *arg, uint64_t version, const struct write_set *ws)
{
    (void)arg;
    (void)version;
    for (size_t i = 0; i < ws->count; i++)
        rows_written += key_space(ws->items[i].key) != SPACE_IDEM;
}

static void start(void)
{
    static const struct layer layer = {.kinds = ~0u, .on_commit = count_rows};
    env_start(&env, "command");
    engine_add_layer(env.db->engine, &layer);
    arena_init(&arena, 64 * 1024);
    buf_init(&scratch);
}

static void turn(void)
{
    env_turn(&env);
}

/* After the RESP value at `at`; 0 when there is no well-formed one. A RESP2 reply has only its
 * types. */
static size_t value_end(struct slice s, size_t at, int proto, unsigned depth)
{
    const uint8_t *line = s.data + at;
    const uint8_t *end = at < s.len ? memchr(line, '\n', s.len - at) : NULL;
    int64_t n = 0;
    if (end == NULL || end - line < 2 || end[-1] != '\r' || depth > 20) return 0;
    struct slice rest = slice_of(line + 1, (size_t)(end - line) - 2);
    size_t next = (size_t)(end + 1 - s.data);
    if (strchr(proto == 3 ? "+-:$*_%~=,#(>|" : "+-:$*", line[0]) == NULL) return 0;
    if (memchr(rest.data, '\r', rest.len) != NULL) return 0;
    if (strchr("+-,", line[0]) != NULL) return next;
    if (line[0] == ':') return slice_to_i64(rest, &n) ? next : 0;
    if (line[0] == '_' || line[0] == '#' || line[0] == '(') return next;
    if (!slice_to_i64(rest, &n) || n < -1 || (n == -1 && proto == 3)) return 0;
    if (line[0] == '$' || line[0] == '=') {
        if (n < 0) return next;
        next += (size_t)n + 2;
        return next <= s.len && memcmp(s.data + next - 2, "\r\n", 2) == 0 ? next : 0;
    }
    if (line[0] == '%' || line[0] == '|') n *= 2;
    if (line[0] == '|') n++;
    for (int64_t i = 0; i < n && next != 0; i++) next = value_end(s, next, proto, depth + 1);
    return next;
}

/* One whole reply, and nothing after it. */
static void check_reply(const struct request *rq, const struct buf *out, int proto)
{
    /* A frame for each channel. */
    if (rq->command != NULL && (rq->command->flags & CMD_PUBSUB) != 0) {
        size_t at = 0;
        do at = value_end(buf_slice(out), at, proto, 0);
        while (at != 0 && at < out->len);
        if (at == out->len && at != 0) return;
    }
    /* RESET and HELLO change the protocol with their reply. */
    if (value_end(buf_slice(out), 0, proto, 0) == out->len) return;
    if (value_end(buf_slice(out), 0, rq->client->settings.proto, 0) == out->len) return;
    fprintf(stderr, "%s: no well-formed reply: %.*s\n",
            rq->command != NULL ? rq->command->name : "?", (int)out->len, (char *)out->data);
    abort();
}

static bool has_no_reply(const struct request *rq)
{
    const char *name = rq->command != NULL ? rq->command->name : "";
    bool is_client = rq->client->run.last_parent != NULL;
    return strcmp(name, "shutdown") == 0 ||
           (is_client && strcmp(name, "reply") == 0 && rq->w->out->len == 0);
}

static void run(struct peer *p, struct slice *argv, size_t argc)
{
    struct buf out;
    buf_init(&out);
    struct resp_writer w = {.out = &out};
    enum reply_mode mode = p->client.settings.reply_mode;
    for (;;) {
        struct request rq = {.env = &env,
                             .client = &p->client,
                             .argv = argv,
                             .argc = argc,
                             .arena = &arena,
                             .scratch = &scratch,
                             .w = &w,
                             .waiter = &p->waiter};
        w.proto = p->client.settings.proto;
        p->was_told = false;
        bool may_nothing = is_limited(p);
        uint64_t rows = rows_written;
        enum err r = command_run(&rq);
        if (may_nothing && rows_written != rows) {
            fprintf(stderr, "%s: a user without keys has changed something\n", rq.command->name);
            abort();
        }
        bool is_silent = has_no_reply(&rq) || mode != REPLY_ON;
        arena_reset(&arena);
        if (r == OK) {
            if (!is_silent) check_reply(&rq, &out, w.proto);
            if (is_silent && out.len != 0 && p->client.settings.reply_mode != REPLY_ON) abort();
            break;
        }
        for (unsigned k = 0; !p->was_told && p->waiter.next != NULL && k < POLLS_MAX; k++) turn();
        if (!p->was_told && p->waiter.next != NULL) {
            /* Blocked or paused for a long time: it goes away. */
            clients_unpause(&env);
            p->is_closed = true;
            break;
        }
    }
    turn();
    buf_fini(&out);
}

static void feed(struct slice input)
{
    struct resp_reader reader;
    struct error e;
    size_t room = 0;
    unsigned at = 0;
    resp_reader_init(&reader, 1 << 20);
    uint8_t *p = resp_reader_room(&reader, input.len + 1, &room);
    memcpy(p, input.data, input.len);
    resp_reader_fed(&reader, input.len);
    for (unsigned i = 0; i < COMMANDS_MAX; i++) {
        struct slice *argv = NULL;
        size_t argc = 0;
        if (resp_reader_next(&reader, &argv, &argc, &e) != RESP_COMMAND) break;
        if (argv[0].len == 1 && argv[0].data[0] == '~') {
            at = (at + 1) % CLIENTS;
            continue;
        }
        run(&peers[at], argv, argc);
        for (unsigned k = 0; k < CLIENTS; k++) {
            if (!peers[k].is_closed && !peers[k].client.run.closes_after_reply) continue;
            peer_close(&peers[k]);
            peer_open(&peers[k], k + 1);
        }
    }
    resp_reader_fini(&reader);
}

/* A flush leaves the definitions. */
static void drop_indexes(void)
{
    struct peer *p = &peers[0];
    for (uint16_t i = 0; i < env.settings.databases; i++) {
        for (const struct index *x; (x = index_first(env.db->indexes, i)) != NULL;) {
            struct slice words[3] = {slice_str("KV.INDEX"), slice_str("DROP"), x->definition.name};
            p->client.database = i;
            run(p, words, 3);
        }
    }
    p->client.database = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool has_started;
    struct slice flush = slice_str("FLUSHALL\r\n");
    struct error e;
    if (!has_started) start();
    has_started = true;
    if (size > 20000) return 0;
    if (users_load(env.users.all, slice_str(""), "nothing", &e) != OK) abort();
    for (unsigned i = 0; i < CLIENTS; i++) peer_open(&peers[i], i + 1);
    feed(flush);
    drop_indexes();
    feed(slice_of(data, size));
    for (unsigned i = 0; i < CLIENTS; i++) peer_close(&peers[i]);
    clients_unpause(&env);
    turn();
    return 0;
}
