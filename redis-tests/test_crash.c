/* kill -9 under load, again and again: what was acknowledged is there, transactions are whole,
 * versionstamps only grow. And recovery seen from outside: damaged and torn journal files, a second
 * server, wrong settings.
 *
 * Every client writes keys of its own, so its model is exact: after a crash the server must hold
 * the client's state after all acknowledged commands and the first m of those that were sent and
 * not answered, for some m. The last client works in another database and sometimes flushes it.
 *
 * Environment: TUPLED_SEED repeats a run as far as its commands go; TUPLED_LONG=1 and CRASH_SECONDS
 * make it long.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "backend/local/journal_format.h"
#include "client.h"
#include "load_help.h"

#define ENOUGH 1000 /* commands answered in a campaign; fewer prove little */
#define CLIENTS 16
#define FLUSHER (CLIENTS - 1)
#define SEQUENCE 200   /* keys of a client's sequence */
#define LASTING 8      /* its keys with a long TTL */
#define FLEETING 4     /* its keys with a TTL of FLEETING_MS */
#define FLEETING_MS 40 /* shorter than any restart and look afterwards */
#define LASTING_MS 3600000
#define DEPTH 64 /* commands sent ahead */
#define LIMIT_MS 20000
#define VALUE_BYTES_MAX 1200

enum kind { SET, TRIPLE, SUM, DEL, SET_LASTING, SET_FLEETING, DELRANGE, FLUSH, GET, COUNT, KINDS };

/* How often each is sent. */
static const unsigned weights[KINDS] = {40, 15, 15, 6, 4, 4, 1, 1, 10, 4};

struct cell {
    uint64_t value;   /* 0 = absent */
    uint64_t version; /* 0 = not told */
};

struct model {
    struct cell sequence[SEQUENCE];
    struct cell triple[3]; /* always equal */
    struct cell sum;       /* value = 1 + the sum */
    struct cell lasting[LASTING];
};

struct op {
    enum kind kind;
    unsigned at, to; /* keys */
    uint64_t value;
};

struct actor {
    struct model acknowledged;
    struct op ops[DEPTH]; /* ring: sent and not answered, oldest at first */
    unsigned first, count;
};

struct campaign {
    struct testserver *server;
    struct load_client clients[CLIENTS];
    struct actor actors[CLIENTS];
    uint64_t next_value;
    uint64_t version_max;  /* of earlier rounds */
    uint64_t *versions;    /* given in this round */
    size_t count, cap;     /* of versions */
    uint64_t acknowledged; /* commands, of all rounds */
    unsigned round;
    unsigned copies; /* of tupled.db */
};

static struct campaign *run;

/* ---- the model ------------------------------------------------------------------------------- */

/* JSON text of a sequence value: its number, and padding that makes memtables fill. */
static const char *value_text(uint64_t value)
{
    static char text[VALUE_BYTES_MAX];
    int len = snprintf(text, sizeof text, "\"%llu:", (unsigned long long)value);
    int pad = (int)(value * 2654435761u % 900);
    memset(text + len, 'p', (size_t)pad);
    snprintf(text + len + pad, sizeof text - (size_t)(len + pad), "\"");
    return text;
}

static unsigned remove_range(struct model *m, unsigned from, unsigned to)
{
    unsigned removed = 0;
    for (unsigned i = from; i < to; i++) {
        removed += m->sequence[i].value != 0;
        m->sequence[i] = (struct cell){0};
    }
    return removed;
}

/* Does it; returns what KV.DEL, DELRANGE and COUNT reply. */
static unsigned model_apply(struct model *m, const struct op *op, uint64_t version)
{
    struct cell cell = {.value = op->value, .version = version};
    unsigned count = 0;
    switch (op->kind) {
    case SET: m->sequence[op->at] = cell; break;
    case TRIPLE:
        for (int i = 0; i < 3; i++) m->triple[i] = cell;
        break;
    case SUM:
        cell.value += m->sum.value != 0 ? m->sum.value : 1;
        m->sum = cell;
        break;
    case DEL:
        count = remove_range(m, op->at, op->at + 1);
        return count + remove_range(m, op->to, op->to + 1);
    case SET_LASTING: m->lasting[op->at] = cell; break;
    case DELRANGE: return remove_range(m, op->at, op->to);
    case FLUSH: *m = (struct model){0}; break;
    case COUNT:
        for (unsigned i = 0; i < SEQUENCE; i++) count += m->sequence[i].value != 0;
        break;
    default: break;
    }
    return count;
}

static bool cell_fits(const struct cell *model, const struct cell *found)
{
    if (model->value != found->value) return false;
    return model->value == 0 || model->version == 0 || model->version == found->version;
}

/* Where the two differ, as text; NULL = nowhere. */
static const char *model_difference(const struct model *m, const struct model *found)
{
    static char text[160];
    const struct cell *a = (const struct cell *)m;
    const struct cell *b = (const struct cell *)found;
    for (size_t i = 0; i < sizeof *m / sizeof *a; i++) {
        if (cell_fits(&a[i], &b[i])) continue;
        const char *names[] = {"sequence", "triple", "sum", "lasting"};
        size_t starts[] = {0, SEQUENCE, SEQUENCE + 3, SEQUENCE + 4, SIZE_MAX};
        size_t g = 0;
        while (i >= starts[g + 1]) g++;
        snprintf(text, sizeof text, "%s %zu: expected %llu (version %llu), found %llu (%llu)",
                 names[g], i - starts[g], (unsigned long long)a[i].value,
                 (unsigned long long)a[i].version, (unsigned long long)b[i].value,
                 (unsigned long long)b[i].version);
        return text;
    }
    return NULL;
}

/* ---- load ------------------------------------------------------------------------------------ */

static void op_say(struct load_client *l, const struct op *op)
{
    int n = (int)l->number;
    unsigned long long v = op->value;
    switch (op->kind) {
    case SET: load_say(l, "KV.SET ['c',%d,'s',%d] %s", n, (int)op->at, value_text(v)); break;
    case TRIPLE:
        load_say(l,
                 "KV.ATOMIC SET ['c',%d,'t',0] %llu SET ['c',%d,'t',1] %llu SET ['c',%d,'t',2] "
                 "%llu",
                 n, v, n, v, n, v);
        break;
    case SUM: load_say(l, "KV.SUM ['c',%d,'n'] %llu", n, v); break;
    case DEL:
        load_say(l, "KV.DEL ['c',%d,'s',%d] ['c',%d,'s',%d]", n, (int)op->at, n, (int)op->to);
        break;
    case SET_LASTING:
        load_say(l, "KV.SET ['c',%d,'l',%d] %llu PX %d", n, (int)op->at, v, LASTING_MS);
        break;
    case SET_FLEETING:
        load_say(l, "KV.SET ['c',%d,'f',%d] %llu PX %d", n, (int)op->at, v, FLEETING_MS);
        break;
    case DELRANGE:
        load_say(l, "KV.DELRANGE START ['c',%d,'s',%d] END ['c',%d,'s',%d]", n, (int)op->at, n,
                 (int)op->to);
        break;
    case FLUSH: load_say(l, "FLUSHDB"); break;
    case GET: load_say(l, "KV.GET ['c',%d,'s',%d] WITHVERSION", n, (int)op->at); break;
    default: load_say(l, "KV.COUNT PREFIX ['c',%d,'s']", n); break;
    }
}

static enum kind random_kind(void)
{
    unsigned sum = 0;
    for (int i = 0; i < KINDS; i++) sum += weights[i];
    unsigned at = (unsigned)load_below(sum);
    enum kind kind = SET;
    while (at >= weights[kind]) at -= weights[kind++];
    return kind;
}

static void op_send(struct load_client *l, struct actor *a)
{
    struct op *op = &a->ops[(a->first + a->count++) % DEPTH];
    *op = (struct op){.kind = random_kind(), .value = ++run->next_value};
    if (op->kind == FLUSH && l->number != FLUSHER) op->kind = SET;
    unsigned limit = op->kind == SET_LASTING ? LASTING : SEQUENCE;
    if (op->kind == SET_FLEETING) limit = FLEETING;
    op->at = (unsigned)load_below(limit);
    op->to = (op->at + 1 + (unsigned)load_below(20)) % SEQUENCE;
    if (op->kind == SUM) op->value = 1 + load_below(9);
    if (op->kind == DELRANGE && op->to < op->at) op->to = SEQUENCE;
    op_say(l, op);
}

static void remember(const redisReply *stamp)
{
    uint64_t version = load_version(stamp);
    if (run->count == run->cap) {
        run->cap = run->cap == 0 ? 65536 : run->cap * 2;
        run->versions = realloc(run->versions, run->cap * sizeof *run->versions);
        if (run->versions == NULL) abort();
    }
    if (version <= run->version_max) {
        fail_msg("version %llu was given, though %llu had been before the restart",
                 (unsigned long long)version, (unsigned long long)run->version_max);
    }
    run->versions[run->count++] = version;
}

static void check_get(const struct load_client *l, const struct cell *cell, const redisReply *r)
{
    if (r->type == REDIS_REPLY_NIL && cell->value == 0) return;
    bool is_right = r->type == REDIS_REPLY_ARRAY && r->elements == 2 && cell->value != 0;
    if (is_right) is_right = strcmp(r->element[0]->str, value_text(cell->value)) == 0;
    if (is_right && cell->version != 0) is_right = load_version(r->element[1]) == cell->version;
    if (is_right) return;
    fail_msg("client %zu read %.30s, expected value %llu", l->number,
             r->type == REDIS_REPLY_ARRAY ? r->element[0]->str : "nil",
             (unsigned long long)cell->value);
}

/* The reply to the oldest unanswered command: checked, and taken into the model. */
static void on_reply(struct load_client *l, const redisReply *r)
{
    struct actor *a = l->arg;
    struct model *m = &a->acknowledged;
    struct op op = a->ops[a->first];
    const redisReply *stamp = NULL;
    if (a->count == 0) return; /* SELECT */
    a->first = (a->first + 1) % DEPTH;
    a->count--;
    run->acknowledged++;
    if (r->type == REDIS_REPLY_ERROR) fail_msg("client %zu: %s", l->number, r->str);
    if (op.kind == SET || op.kind == TRIPLE || op.kind == SET_LASTING || op.kind == SET_FLEETING) {
        stamp = r;
    } else if (op.kind == SUM) {
        assert_int_equal(r->type, REDIS_REPLY_ARRAY);
        stamp = r->element[1];
    }
    if (stamp != NULL) remember(stamp);
    unsigned count = model_apply(m, &op, stamp != NULL ? run->versions[run->count - 1] : 0);
    if (op.kind == GET) check_get(l, &m->sequence[op.at], r);
    if (op.kind == SUM && strtoull(r->element[0]->str, NULL, 10) + 1 != m->sum.value) {
        fail_msg("client %zu: the sum is %s, expected %llu", l->number, r->element[0]->str,
                 (unsigned long long)m->sum.value - 1);
    }
    bool counts = op.kind == DEL || op.kind == DELRANGE || op.kind == COUNT;
    if (counts && (r->type != REDIS_REPLY_INTEGER || r->integer != count)) {
        fail_msg("client %zu: kind %d replied %lld, expected %u", l->number, op.kind, r->integer,
                 count);
    }
}

static void clients_open(void)
{
    for (size_t i = 0; i < CLIENTS; i++) {
        struct load_client *l = &run->clients[i];
        *l = (struct load_client){.number = i, .arg = &run->actors[i], .on_reply = on_reply};
        load_open(l, run->server);
        if (i == FLUSHER) load_say(l, "SELECT 1");
    }
    load_drain(run->clients, CLIENTS, LIMIT_MS);
}

static void clients_close(void)
{
    for (size_t i = 0; i < CLIENTS; i++) load_close(&run->clients[i]);
}

static void load_for(long ms)
{
    long until = testserver_now_ms() + ms;
    while (testserver_now_ms() < until) {
        for (size_t i = 0; i < CLIENTS; i++) {
            struct actor *a = &run->actors[i];
            if (run->clients[i].is_gone) fail_msg("client %zu lost its connection", i);
            while (a->count < DEPTH && load_below(8) > 0) op_send(&run->clients[i], a);
        }
        load_turn(run->clients, CLIENTS, 1);
    }
}

/* ---- looking at what is there ---------------------------------------------------------------- */

static void found_entry(struct model *found, size_t client, const redisReply *entry)
{
    int number = -1;
    int at = -1;
    char group = 0;
    char key[80];
    const char *text = entry->element[1]->str;
    struct cell *cell = NULL;
    snprintf(key, sizeof key, "%s", entry->element[0]->str);
    int fields = sscanf(key, "[\"c\",%d,\"%c\",%d]", &number, &group, &at);
    if (fields < 2 || number != (int)client) fail_msg("a foreign key: %s", key);
    if (group == 's' && at >= 0 && at < SEQUENCE) cell = &found->sequence[at];
    if (group == 't' && at >= 0 && at < 3) cell = &found->triple[at];
    if (group == 'n' && fields == 2) cell = &found->sum;
    if (group == 'l' && at >= 0 && at < LASTING) cell = &found->lasting[at];
    if (cell == NULL) fail_msg("key %s should not be there", key);
    cell->version = load_version(entry->element[2]);
    cell->value = strtoull(text + (group == 's'), NULL, 10) + (group == 'n');
    if (group == 's' && strcmp(text, value_text(cell->value)) != 0) {
        fail_msg("key %s holds %.40s...: not what was written", key, text);
    }
}

static void find(redisContext *c, size_t client, struct model *found)
{
    *found = (struct model){0};
    redisReply *r = ask_reply(c, "KV.LIST PREFIX ['c',%d] LIMIT 10000", (int)client);
    if (r->type != REDIS_REPLY_ARRAY) fail_msg("KV.LIST: %s", r->str);
    assert_string_equal(r->element[0]->str, "0");
    for (size_t i = 0; i < r->element[1]->elements; i++) {
        found_entry(found, client, r->element[1]->element[i]);
    }
    freeReplyObject(r);
    for (unsigned i = 0; i < LASTING; i++) {
        if (found->lasting[i].value == 0) continue;
        long long left = ask_integer(c, "KV.PTTL ['c',%d,'l',%d]", (int)client, (int)i);
        if (left < LASTING_MS / 2 || left > LASTING_MS) fail_msg("a TTL of %lld ms", left);
    }
    if (found->triple[0].version != found->triple[1].version ||
        found->triple[0].version != found->triple[2].version) {
        fail_msg("client %zu: a transaction is there in part", client);
    }
}

/* Takes what is there as the model, if it is one of those that may be. */
static void settle(redisContext *c, size_t client)
{
    struct actor *a = &run->actors[client];
    struct model found;
    struct model m = a->acknowledged;
    char first[160] = "";
    find(c, client, &found);
    const char *difference = model_difference(&m, &found);
    if (difference != NULL) snprintf(first, sizeof first, "%s", difference);
    for (unsigned i = 0; difference != NULL && i < a->count; i++) {
        (void)model_apply(&m, &a->ops[(a->first + i) % DEPTH], 0);
        difference = model_difference(&m, &found);
    }
    if (difference != NULL) {
        fail_msg("round %u, client %zu, against what was acknowledged: %s; and with all of the %u "
                 "unanswered commands: %s",
                 run->round, client, first, a->count, difference);
    }
    const struct cell *cells = (const struct cell *)&found;
    for (size_t i = 0; i < sizeof found / sizeof *cells; i++) {
        if (cells[i].version > run->version_max) run->version_max = cells[i].version;
    }
    a->acknowledged = found;
    a->count = 0;
}

static void look(void)
{
    redisContext *c = testserver_connect(run->server);
    if (run->count > 0) {
        load_expect_distinct(run->versions, run->count);
        run->version_max = run->versions[run->count - 1];
        run->count = 0;
    }
    long until = testserver_now_ms() + 3 * FLEETING_MS; /* what fleets has done so by then */
    while (testserver_now_ms() < until) testserver_pause();
    for (size_t i = 0; i < CLIENTS; i++) {
        if (i == FLUSHER) expect(c, "+OK", "SELECT 1");
        settle(c, i);
    }
    redisFree(c);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void round_killed(long load_ms)
{
    clients_open();
    load_for(load_ms);
    testserver_kill(run->server);
    while (load_turn(run->clients, CLIENTS, 50)) continue; /* replies that had left the server */
    clients_close();
    testserver_again(run->server);
    look();
}

/* SIGTERM in the middle of the load: the same must hold. */
static void round_stopped(long load_ms)
{
    clients_open();
    load_for(load_ms);
    testserver_stop(run->server);
    while (load_turn(run->clients, CLIENTS, 50)) continue;
    clients_close();
    testserver_again(run->server);
    look();
}

static void copy_file(const char *from, const char *to)
{
    char part[65536];
    FILE *in = fopen(from, "re");
    FILE *out = fopen(to, "we");
    if (in == NULL || out == NULL) fail_msg("cannot copy %s to %s", from, to);
    for (size_t n = 0; (n = fread(part, 1, sizeof part, in)) > 0;) fwrite(part, 1, n, out);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

/* Without its journal the database is complete, too, and its versions go on far above. */
static void check_backup(const char *digest, uint64_t version)
{
    char from[600];
    char to[600];
    char dir[500];
    static const char *const args[] = {"--enable-debug-command", "yes", NULL};
    snprintf(dir, sizeof dir, "%.400s.copy%u", testserver_dir(run->server), ++run->copies);
    assert_int_equal(mkdir(dir, 0700), 0);
    snprintf(from, sizeof from, "%s/tupled.db", testserver_dir(run->server));
    snprintf(to, sizeof to, "%s/tupled.db", dir);
    copy_file(from, to);
    struct testserver *s = testserver_start(
        &(struct testserver_options){.is_release = true, .dir = dir, .args = args});
    redisContext *c = testserver_connect(s);
    expect(c, digest, "DEBUG DIGEST");
    redisReply *r = ask_reply(c, "KV.SET ['new'] 1");
    uint64_t next = load_version(r);
    if (next < version + (1ull << 40)) {
        fail_msg("version %llu after a restored backup that ended at %llu",
                 (unsigned long long)next, (unsigned long long)version);
    }
    freeReplyObject(r);
    redisFree(c);
    testserver_free(s);
}

/* A clean stop: what it leaves is exactly what it had, all of it in tupled.db. */
static void round_clean(long load_ms)
{
    clients_open();
    load_for(load_ms);
    load_drain(run->clients, CLIENTS, LIMIT_MS);
    clients_close();
    look();
    redisContext *c = testserver_connect(run->server);
    char digest[64];
    snprintf(digest, sizeof digest, "%s", ask(c, "DEBUG DIGEST"));
    assert_int_equal(strlen(digest), 32);
    redisReply *r = ask_reply(c, "KV.VERSION");
    uint64_t version = load_version(r);
    freeReplyObject(r);
    redisFree(c);
    testserver_stop(run->server);
    check_backup(digest, version);
    testserver_again(run->server);
    c = testserver_connect(run->server);
    expect(c, digest, "DEBUG DIGEST");
    redisFree(c);
    look();
}

static void campaign_begin(const char *durability)
{
    const char *args[] = {"--memtable-size",
                          "1mb",
                          "--journal-segment-size",
                          "4mb",
                          "--write-buffer-limit",
                          "16mb",
                          "--memtable-age",
                          "200",
                          "--enable-debug-command",
                          "yes",
                          "--changes-retention-size",
                          "8mb",
                          "--durability",
                          durability,
                          NULL};
    load_seed();
    run = calloc(1, sizeof *run);
    if (run == NULL) abort();
    run->server = testserver_start(&(struct testserver_options){.is_release = true, .args = args});
}

static void campaign_end(void)
{
    fprintf(stderr, "# %u rounds, %llu commands answered\n", run->round,
            (unsigned long long)run->acknowledged);
    assert_true(run->acknowledged > ENOUGH);
    testserver_free(run->server);
    free(run->versions);
    free(run);
    run = NULL;
}

static long campaign_seconds(void)
{
    const char *given = getenv("CRASH_SECONDS");
    return given != NULL ? atol(given) : 600;
}

/* Rounds may be very short, and all of a few by chance: then some more. */
static bool wants_round(unsigned i, unsigned rounds, long until)
{
    if (load_is_long()) return testserver_now_ms() < until;
    return i < rounds || (run->acknowledged <= ENOUGH && i < rounds + 10);
}

static void kill_rounds(unsigned rounds, long seconds)
{
    long until = testserver_now_ms() + seconds * 1000;
    for (unsigned i = 0; wants_round(i, rounds, until); i++) {
        run->round++;
        round_killed(load_below(6) == 0 ? 5 : 100 + (long)load_below(1200));
        if (i % 8 == 3) round_stopped(100 + (long)load_below(400));
        if (i % 8 == 6) round_clean(100 + (long)load_below(400));
    }
}

/* ---- tests of the campaign ------------------------------------------------------------------- */

static void nothing_acknowledged_is_lost_by_kill_9(void **state)
{
    campaign_begin("always");
    kill_rounds(5, campaign_seconds() * 8 / 10);
    campaign_end();
}

static void a_clean_stop_leaves_everything_in_the_database_file(void **state)
{
    campaign_begin("always");
    round_clean(400);
    round_stopped(300);
    round_clean(200);
    campaign_end();
}

static void kill_9_loses_nothing_under_interval(void **state)
{
    campaign_begin("interval 50");
    kill_rounds(2, campaign_seconds() / 10);
    campaign_end();
}

static void kill_9_loses_nothing_under_never(void **state)
{
    campaign_begin("never");
    kill_rounds(2, campaign_seconds() / 10);
    campaign_end();
}

/* ---- files ----------------------------------------------------------------------------------- */

#define KEYS 20

/* The newest journal segment that was written to. */
struct segment {
    char path[600];
    uint8_t *bytes; /* owned */
    size_t len;
    size_t last_data; /* offset of the last batch that holds a transaction */
    size_t end;       /* after the last batch */
    bool is_marked;   /* the last batch holds none: it proves that those before are durable */
};

static void segment_read(struct segment *seg, const char *dir)
{
    DIR *d = opendir(dir);
    char newest[300] = "";
    assert_non_null(d);
    for (struct dirent *entry; (entry = readdir(d)) != NULL;) {
        char path[600];
        char magic[8] = "";
        if (strncmp(entry->d_name, "journal-", 8) != 0) continue;
        snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        FILE *f = fopen(path, "re");
        bool is_used = f != NULL && fread(magic, 1, 8, f) == 8 && memcmp(magic, "TUPLEDJ", 7) == 0;
        if (f != NULL) fclose(f);
        if (is_used && strcmp(entry->d_name, newest) > 0) {
            snprintf(newest, sizeof newest, "%s", entry->d_name);
        }
    }
    closedir(d);
    snprintf(seg->path, sizeof seg->path, "%.290s/%s", dir, newest);
    FILE *f = fopen(seg->path, "re");
    assert_non_null(f);
    free(seg->bytes);
    seg->bytes = malloc(64u << 20);
    seg->len = fread(seg->bytes, 1, 64u << 20, f);
    fclose(f);
}

static void segment_walk(struct segment *seg)
{
    struct batch_header h;
    size_t at = JOURNAL_HEADER_BYTES;
    seg->last_data = 0;
    while (at < seg->len && batch_peek(seg->bytes + at, seg->len - at, &h)) {
        if (h.transactions > 0) seg->last_data = at;
        seg->is_marked = h.transactions == 0;
        at += batch_bytes(h.payload_bytes);
    }
    seg->end = at;
}

static void segment_write(const struct segment *seg, size_t at, const void *bytes, size_t len)
{
    FILE *f = fopen(seg->path, "r+e");
    assert_non_null(f);
    assert_int_equal(fseek(f, (long)at, SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

/* A server that was killed after KEYS acknowledged writes, which are in the journal only, and after
 * it had noted that they are durable. */
static struct testserver *killed_server(struct segment *seg)
{
    static const char *const args[] = {"--memtable-age", "600000", "--journal-segment-size", "4mb",
                                       NULL};
    struct testserver *s = testserver_start(
        &(struct testserver_options){.is_release = true, .args = args});
    redisContext *c = testserver_connect(s);
    long until = testserver_now_ms() + LIMIT_MS;
    *seg = (struct segment){0};
    for (int i = 0; i < KEYS; i++) expect(c, "@", "KV.SET ['k',%d] 'value-%d'", i, i);
    do {
        if (testserver_now_ms() > until) fail_msg("no idle marker in the journal");
        testserver_pause();
        segment_read(seg, testserver_dir(s));
        segment_walk(seg);
    } while (!seg->is_marked);
    redisFree(c);
    testserver_kill(s);
    return s;
}

static void expect_all_keys(struct testserver *s)
{
    redisContext *c = testserver_connect(s);
    for (int i = 0; i < KEYS; i++) {
        char wanted[40];
        snprintf(wanted, sizeof wanted, "'value-%d'", i);
        expect(c, wanted, "KV.GET ['k',%d]", i);
    }
    expect(c, ":20", "KV.COUNT");
    expect(c, "@", "KV.SET ['new'] 1");
    redisFree(c);
}

/* Flips one bit of the batch at this offset: refused by name and offset, until it is put right. */
static void expect_refusal(struct testserver *s, const struct segment *seg, size_t batch)
{
    char wanted[700];
    size_t at = batch + JOURNAL_BATCH_BYTES + TXN_BYTES + 5;
    uint8_t damaged = seg->bytes[at] ^ 0x10;
    struct testserver_options o = {.is_release = true, .dir = testserver_dir(s)};
    segment_write(seg, at, &damaged, 1);
    snprintf(wanted, sizeof wanted, "journal damaged: %s at offset %zu:", seg->path, batch);
    testserver_refuses(&o, wanted);
    testserver_refuses(&o, wanted); /* nothing was cut off or removed */
    segment_write(seg, at, &seg->bytes[at], 1);
}

static void a_damaged_byte_in_the_durable_journal_prevents_the_start(void **state)
{
    struct segment seg;
    struct testserver *s = killed_server(&seg);
    expect_refusal(s, &seg, JOURNAL_HEADER_BYTES);
    testserver_again(s);
    expect_all_keys(s);
    testserver_free(s);
    free(seg.bytes);
}

static void damage_of_the_last_acknowledged_batch_prevents_the_start(void **state)
{
    struct segment seg;
    struct testserver *s = killed_server(&seg);
    assert_true(seg.last_data > JOURNAL_HEADER_BYTES);
    expect_refusal(s, &seg, seg.last_data);
    testserver_again(s);
    expect_all_keys(s);
    testserver_free(s);
    free(seg.bytes);
}

static void garbage_behind_the_last_batch_is_passed_over(void **state)
{
    struct segment seg;
    uint8_t garbage[5000];
    struct testserver *s = killed_server(&seg);
    load_seed();
    for (size_t i = 0; i < sizeof garbage; i++) garbage[i] = (uint8_t)load_random();
    segment_write(&seg, seg.end, garbage, sizeof garbage);
    testserver_again(s);
    expect_all_keys(s);
    testserver_free(s);
    free(seg.bytes);
}

/* What a power failure leaves of a batch that was being written. */
static void a_torn_batch_behind_the_last_is_cut_off_with_a_log_line(void **state)
{
    struct segment seg;
    struct testserver *s = killed_server(&seg);
    uint8_t torn[JOURNAL_BATCH_BYTES + 64] = {0};
    struct segment_id id = {.number = 1}; /* not the segment's: the checksum is wrong */
    struct batch_header h = {.payload_bytes = 64,
                             .first_version = 1ull << 60,
                             .last_version = 1ull << 60,
                             .transactions = 1};
    batch_seal(torn, &h, &id);
    segment_write(&seg, seg.end, torn, sizeof torn);
    testserver_again(s);
    assert_true(testserver_has_logged(s, "truncated an unsynced tail of"));
    assert_true(testserver_has_logged(s, seg.path));
    expect_all_keys(s);
    testserver_free(s);
    free(seg.bytes);
}

static void a_second_server_on_the_directory_is_refused(void **state)
{
    struct testserver *s = testserver_start(&(struct testserver_options){.is_release = true});
    redisContext *c = testserver_connect(s);
    struct testserver_options o = {.is_release = true, .dir = testserver_dir(s)};
    expect(c, "@", "KV.SET ['a'] 1");
    testserver_refuses(&o, "another server is running on this directory (");
    testserver_refuses(&o, "/LOCK is locked)");
    expect(c, "1", "KV.GET ['a']");
    expect(c, "@", "KV.SET ['a'] 2");
    redisFree(c);
    testserver_kill(s);
    testserver_again(s); /* a killed server's lock is no obstacle */
    c = testserver_connect(s);
    expect(c, "2", "KV.GET ['a']");
    redisFree(c);
    testserver_free(s);
}

static void settings_that_are_wrong_are_named(void **state)
{
    static const char *const cases[][2] = {{"--no-such-setting", "1"},
                                           {"--memtable-size", "nonsense"},
                                           {"--journal-segment-size", "1kb"},
                                           {"--durability", "sometimes"},
                                           {"--databases", "17"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const args[] = {cases[i][0], cases[i][1], NULL};
        struct testserver_options o = {.is_release = true, .args = args};
        testserver_refuses(&o, cases[i][0] + 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_acknowledged_is_lost_by_kill_9),
        cmocka_unit_test(a_clean_stop_leaves_everything_in_the_database_file),
        cmocka_unit_test(kill_9_loses_nothing_under_interval),
        cmocka_unit_test(kill_9_loses_nothing_under_never),
        cmocka_unit_test(a_damaged_byte_in_the_durable_journal_prevents_the_start),
        cmocka_unit_test(damage_of_the_last_acknowledged_batch_prevents_the_start),
        cmocka_unit_test(garbage_behind_the_last_batch_is_passed_over),
        cmocka_unit_test(a_torn_batch_behind_the_last_is_cut_off_with_a_log_line),
        cmocka_unit_test(a_second_server_on_the_directory_is_refused),
        cmocka_unit_test(settings_that_are_wrong_are_named),
    };
    load_use_disk();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
