/* term: see term.h; term_look.c reads the row, term_lost.c gives up. Each statement names the epoch
 * and beat that it expects. One whose answer does not come may have been done: a take-over looks
 * again and claims the row, a renewal is repeated with the same new beat, which counts as its own.
 * Every lease counts from before its statement was sent. */
#include "backend/postgres/term.h"

#include <stdio.h>
#include <time.h>

#include "backend/postgres/pg_why.h"
#include "backend/postgres/schema.h"
#include "backend/postgres/term_int.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"

#define MARGIN_PERCENT 10 /* of the lease: its holder ends it so much earlier */
#define WAIT_PERCENT 110  /* others wait so long for the next beat */

const struct machine term_machine = {
    .name = "term",
    .states = {"following", "leading", "lost"},
    .allowed = {[TERM_FOLLOWING] = TO(TERM_LEADING), [TERM_LEADING] = TO(TERM_LOST)},
};

int64_t term_now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static char *copy_text(const char *text)
{
    size_t bytes = strlen(text) + 1;
    return memcpy(mem_alloc(bytes), text, bytes);
}

/* ---- life ---- */

static void set_holder(struct term *t)
{
    uint8_t random[8];
    random_system(random, sizeof random);
    size_t n = (size_t)snprintf(t->holder, sizeof t->holder - 20, "%s", t->name);
    if (n > sizeof t->holder - 21) n = sizeof t->holder - 21;
    t->holder[n++] = '/';
    for (size_t i = 0; i < sizeof random; i++, n += 2) {
        snprintf(t->holder + n, 3, "%02x", random[i]);
    }
}

static struct pg *connect_to(struct term *t, const char *name, const struct pg_options *how)
{
    char text[TERM_TEXT_BYTES + 32];
    struct pg_options o = *how;
    snprintf(text, sizeof text, PG_NAME_OF_NODE "%s", t->name, name);
    o.url = t->url;
    o.name = text;
    o.call_ms = t->options.call_ms;
    o.is_quorum = how->is_quorum && t->options.durability != TERM_ASYNC;
    o.breaker = &t->breaker;
    o.host_turns = t->options.host_turns != NULL ? t->options.host_turns : &t->own_turns;
    return pg_new(&o);
}

struct pg *term_connect(struct term *t, const char *name, enum term_use use)
{
    return connect_to(t, name,
                      &(struct pg_options){.is_read_only = use == TERM_READ,
                                           .is_quorum = use != TERM_SIGN,
                                           .is_proved = term_is_quorum(t),
                                           .prove = term_prove,
                                           .arg = t});
}

struct pg *term_connect_anywhere(struct term *t, const char *name)
{
    return connect_to(t, name, &(struct pg_options){.is_quorum = true});
}

enum err term_open(const struct term_options *options, struct term **out, struct error *e)
{
    struct term *t = mem_new(sizeof *t);
    t->options = *options;
    if (t->options.format == 0) t->options.format = SCHEMA_FORMAT;
    t->url = copy_text(options->url);
    t->name = copy_text(options->name);
    t->address = copy_text(options->address);
    t->seen_beat = -1;
    pthread_mutex_init(&t->lock, NULL);
    set_holder(t);
    enum err r = pg_breaker_init(&t->breaker, e);
    t->pg = term_connect(t, "leader", TERM_WRITE);
    if (r == OK) r = schema_make(t->pg, options->id, t->options.format, e);
    if (r != OK) {
        term_free(t);
        t = NULL;
    }
    *out = t;
    return r;
}

void term_free(struct term *t)
{
    if (t == NULL) return;
    pg_free(t->pg);
    pg_breaker_fini(&t->breaker);
    pthread_mutex_destroy(&t->lock);
    mem_free(t->url);
    mem_free(t->name);
    mem_free(t->address);
    mem_free(t);
}

void term_give_up(struct term *t)
{
    pg_break(&t->breaker);
}

/* ---- the quorum ---- */

/* The setting, and how many standbys are connected, whichever they are. */
static const char quorum_sql[] = "SELECT current_setting('synchronous_standby_names'), "
                                 "(SELECT count(*) FROM pg_stat_replication)";

unsigned term_quorum_of(struct slice text)
{
    size_t at = 0;
    unsigned n = 0;
    while (at < text.len && text.data[at] == ' ') at++;
    if (at == text.len) return 0;
    size_t begin = at;
    while (at < text.len && text.data[at] != ' ' && text.data[at] != '(') at++;
    struct slice word = slice_of(text.data + begin, at - begin);
    bool has_method = slice_is_word(word, "ANY") || slice_is_word(word, "FIRST");
    if (!has_method) at = begin;
    while (at < text.len && text.data[at] == ' ') at++;
    for (; at < text.len && text.data[at] >= '0' && text.data[at] <= '9' && n < 1000; at++) {
        n = n * 10 + (unsigned)(text.data[at] - '0');
    }
    while (at < text.len && text.data[at] == ' ') at++;
    return at < text.len && text.data[at] == '(' && n > 0 ? n : 1;
}

/* ERR_IO while the server waits for no standby, or for more than are there. Asked each time, as it
 * may change at any moment. */
static enum err check_quorum(struct term *t, struct error *e)
{
    if (t->options.durability != TERM_QUORUM) return OK;
    pg_begin(t->pg);
    enum err r = pg_run_again(t->pg, quorum_sql, e);
    if (r != OK) return r;
    unsigned count = term_quorum_of(pg_bytes(t->pg, 0, 0));
    __atomic_store_n(&t->quorum, count, __ATOMIC_RELAXED);
    if (count == 0) return pg_proof_none(e);
    int64_t connected = pg_i64(t->pg, 0, 1);
    if (connected >= count) return OK;
    return error_set(e, ERR_IO,
                     "PostgreSQL cannot commit: it waits for %u standbys "
                     "(synchronous_standby_names), and %lld are connected",
                     count, (long long)connected);
}

/* ---- taking over ---- */

int64_t term_new_beat(void)
{
    uint64_t random;
    random_system(&random, sizeof random);
    return (int64_t)(random >> 2);
}

/* The log's and the store's epochs rise together, or neither does. Format 2 and 3 had the timeline
 * alone. */
static const char take_sql[] =
    "WITH l AS (UPDATE tupled_leader SET epoch = greatest(epoch, $8) + 1, beat = $7, holder = $4, "
    "address = $5, timeline = $6, versions_reserved = greatest(versions_reserved, $10) + CASE WHEN "
    "$9 = 0 AND (timeline IN ('', $6) OR position('/' || timeline || '/' in $6) > 0) THEN 0 ELSE "
    "1099511627776 END, noticed = CASE WHEN $9 = 0 THEN noticed ELSE $11 END "
    "WHERE id = $1 AND epoch = $2 AND beat = $3 AND (SELECT format FROM tupled_schema) <= $12 "
    "RETURNING id, epoch, versions_reserved), "
    "a AS (UPDATE tupled_applied SET epoch = l.epoch FROM l WHERE tupled_applied.id = l.id "
    "RETURNING 1) SELECT l.epoch, (SELECT count(*) FROM a), l.versions_reserved FROM l";

static void lead(struct term *t, int64_t epoch, int64_t beat, int64_t sent_us)
{
    int64_t lease_us = t->options.lease_ms * 1000;
    INVARIANT(epoch > 0 && t->epoch == 0 && (uint64_t)epoch >= (uint64_t)t->known_epoch); /* 1 */
    INVARIANT(t->lease_end_us == 0 && !t->is_over);                                       /* 2 */
    t->epoch = (uint64_t)epoch;
    t->beat = beat;
    t->next_beat = term_new_beat();
    int64_t end_us = sent_us + lease_us - lease_us * MARGIN_PERCENT / 100;
    __atomic_store_n(&t->lease_end_us, end_us, __ATOMIC_RELEASE);
    MACHINE_MOVE(&term_machine, t, state, TERM_LEADING);
}

/* By the holder too: a take-over that is found may be lost again when PostgreSQL fails over, and
 * another node may then have this epoch. */
static const char claim_sql[] =
    "UPDATE tupled_leader SET beat = $3 WHERE id = $1 AND epoch = $2 AND holder = $4";

/* Was the take-over whose answer did not come done? What is found may not be safe yet: it is when a
 * later write is answered, and the lease counts from before that. */
static enum err look_again(struct term *t, struct error *e)
{
    int64_t before = t->seen_epoch;
    int64_t beat = term_new_beat();
    enum err r = term_look(t, e);
    if (r != OK) return r;
    if (strcmp(t->seen_holder, t->holder) != 0 || t->seen_epoch <= before) {
        return error_set(e, ERR_WAIT, "another node is the leader");
    }
    pg_begin(t->pg);
    pg_put_i64(t->pg, t->options.id);
    pg_put_i64(t->pg, t->seen_epoch);
    pg_put_i64(t->pg, beat);
    pg_put_text(t->pg, t->holder);
    int64_t sent_us = term_now_us();
    r = pg_run_safe_again(t->pg, claim_sql, e);
    if (r != OK) return r;
    if (pg_changed(t->pg) != 1) return error_set(e, ERR_WAIT, "another node is the leader");
    lead(t, t->seen_epoch, beat, sent_us);
    return OK;
}

static int64_t wait_us(const struct term *t)
{
    return t->options.lease_ms * 1000 * WAIT_PERCENT / 100;
}

bool term_holder_is_silent(const struct term *t)
{
    return t->seen_holder[0] != '\0' && t->looked_us - t->seen_us >= wait_us(t);
}

/* OK: no node leads, and this one can. */
static enum err may_take(const struct term *t, struct error *e)
{
    bool is_free = t->seen_holder[0] == '\0';
    if (!is_free && term_now_us() - t->seen_us < wait_us(t)) {
        return error_set(e, ERR_WAIT, "%s leads", t->seen_holder);
    }
    if (t->seen_format <= t->options.format) return OK;
    return error_set(e, ERR_IO,
                     "the tables in PostgreSQL now have format %lld, but this node supports "
                     "formats up to %lld and will not lead; use a newer version of tupled",
                     (long long)t->seen_format, (long long)t->options.format);
}

static enum err take(struct term *t, struct error *e)
{
    char less[TERM_TEXT_BYTES];
    int64_t beat = term_new_beat();
    snprintf(less, sizeof less,
             "node %s: PostgreSQL had epoch %lld and version %lld, and now has less", t->name,
             (long long)t->known_epoch, (long long)t->known_version);
    pg_begin(t->pg);
    pg_put_i64(t->pg, t->options.id);
    pg_put_i64(t->pg, t->seen_epoch);
    pg_put_i64(t->pg, t->seen_beat);
    pg_put_text(t->pg, t->holder);
    pg_put_text(t->pg, t->address);
    pg_put_text(t->pg, t->server);
    pg_put_i64(t->pg, beat);
    pg_put_i64(t->pg, t->known_epoch);
    pg_put_i64(t->pg, t->is_less);
    pg_put_i64(t->pg, t->is_less ? t->known_version : 0);
    pg_put_text(t->pg, less);
    pg_put_i64(t->pg, t->options.format);
    int64_t sent_us = term_now_us();
    enum err r = pg_run_safe(t->pg, take_sql, e);
    if (r != OK) return pg_outcome(t->pg) == PG_UNKNOWN ? look_again(t, e) : r;
    if (pg_rows(t->pg) == 0) return error_set(e, ERR_WAIT, "another node was elected");
    if (pg_i64(t->pg, 0, 1) != 1) {
        return error_set(e, ERR_CORRUPT, "tupled_applied has no row for engine %lld",
                         (long long)t->options.id);
    }
    uint64_t versions = (uint64_t)pg_i64(t->pg, 0, 2);
    if (versions >= t->versions + TERM_JUMP) {
        log_warning("PostgreSQL is not the server of the last term, or has lost data: it has "
                    "failed over, or was restored; versions continue %llu higher",
                    (unsigned long long)TERM_JUMP);
    }
    t->versions = versions;
    if (t->is_less) snprintf(t->noticed, sizeof t->noticed, "%s", less);
    lead(t, pg_i64(t->pg, 0, 0), beat, sent_us);
    return OK;
}

enum err term_try(struct term *t, struct error *e)
{
    INVARIANT(term_state(t) == TERM_FOLLOWING);
    enum err r = term_look(t, e);
    if (r == OK) r = check_quorum(t, e);
    if (r == OK) r = may_take(t, e);
    if (r != OK) return r;
    /* From here on no other server will do. */
    snprintf(t->server, sizeof t->server, "%s", pg_server_name(t->pg));
    r = take(t, e);
    if (r != OK) t->server[0] = '\0';
    return r;
}

/* ---- leading ---- */

/* The row has the beat that was written last, or the one before if no answer came. */
static const char renew_sql[] = "UPDATE tupled_leader SET beat = $3 WHERE id = $1 AND epoch = $2 "
                                "AND beat IN ($4, $3)";
static const char hand_over_sql[] =
    "UPDATE tupled_leader SET beat = $3, holder = '' WHERE id = $1 AND epoch = $2 "
    "AND beat IN ($4, $3)";

static enum err beat(struct term *t, const char *sql, struct error *e)
{
    INVARIANT(t->epoch > 0 && t->beat != t->next_beat); /* 1 and 3 */
    pg_begin(t->pg);
    pg_put_i64(t->pg, t->options.id);
    pg_put_i64(t->pg, (int64_t)t->epoch);
    pg_put_i64(t->pg, t->next_beat);
    pg_put_i64(t->pg, t->beat);
    enum err r = pg_run_safe_again(t->pg, sql, e);
    if (r != OK) return r;
    if (pg_changed(t->pg) != 1) return term_lost(t, NULL, e);
    t->beat = t->next_beat;
    t->next_beat = term_new_beat();
    return OK;
}

enum err term_renew(struct term *t, struct error *e)
{
    int64_t lease_us = t->options.lease_ms * 1000;
    int64_t sent_us = term_now_us();
    if (term_state(t) != TERM_LEADING) return term_why(t, e);
    enum err r = check_quorum(t, e);
    if (r == OK) r = beat(t, renew_sql, e);
    if (r != OK) return term_state(t) == TERM_LOST ? term_why(t, e) : r;
    int64_t end_us = sent_us + lease_us - lease_us * MARGIN_PERCENT / 100;
    __atomic_store_n(&t->lease_end_us, end_us, __ATOMIC_RELEASE);
    return OK;
}

void term_hand_over(struct term *t)
{
    struct error e;
    if (term_state(t) != TERM_LEADING) return;
    __atomic_store_n(&t->lease_end_us, 0, __ATOMIC_RELEASE);
    enum err r = beat(t, hand_over_sql, &e);
    if (r != OK) log_warning("leadership not handed over: %s", e.text);
}

bool term_has_lease(const struct term *t)
{
    return term_state(t) == TERM_LEADING && !__atomic_load_n(&t->is_over, __ATOMIC_ACQUIRE) &&
           term_now_us() < __atomic_load_n(&t->lease_end_us, __ATOMIC_ACQUIRE);
}

enum term_state term_state(const struct term *t)
{
    return (enum term_state)__atomic_load_n(&t->state, __ATOMIC_ACQUIRE);
}

uint64_t term_epoch(const struct term *t)
{
    return t->epoch;
}

int64_t term_id(const struct term *t)
{
    return t->options.id;
}

int64_t term_lease_ms(const struct term *t)
{
    return t->options.lease_ms;
}

bool term_is_quorum(const struct term *t)
{
    return t->options.durability == TERM_QUORUM;
}

const char *term_name(const struct term *t)
{
    return t->name;
}

const char *term_address(const struct term *t)
{
    return t->address;
}

const char *term_process(const struct term *t)
{
    return t->holder;
}

uint64_t term_holder_epoch(const struct term *t)
{
    return (uint64_t)t->seen_epoch;
}

unsigned term_quorum(const struct term *t)
{
    return __atomic_load_n(&t->quorum, __ATOMIC_RELAXED);
}

uint64_t term_versions(const struct term *t)
{
    return t->versions;
}

const char *term_holder(const struct term *t)
{
    return t->seen_holder;
}

const char *term_holder_address(const struct term *t)
{
    return t->seen_address;
}

const char *term_noticed(const struct term *t)
{
    return t->noticed;
}

/* ---- the secret ---- */

static const char make_secret_sql[] =
    "INSERT INTO tupled_secret VALUES ($1, $2) ON CONFLICT DO NOTHING";
static const char secret_sql[] = "SELECT link FROM tupled_secret WHERE id = $1";

enum err term_secret(struct term *t, uint8_t out[TERM_SECRET_BYTES], struct error *e)
{
    random_system(out, TERM_SECRET_BYTES);
    pg_begin(t->pg);
    pg_put_i64(t->pg, t->options.id);
    pg_put_bytes(t->pg, slice_of(out, TERM_SECRET_BYTES));
    enum err r = pg_run_again(t->pg, make_secret_sql, e);
    if (r != OK) return r;
    pg_begin(t->pg);
    pg_put_i64(t->pg, t->options.id);
    r = pg_run_again(t->pg, secret_sql, e);
    if (r != OK) return r;
    if (pg_rows(t->pg) != 1 || pg_bytes(t->pg, 0, 0).len != TERM_SECRET_BYTES) {
        return error_set(e, ERR_CORRUPT, "tupled_secret has no secret of %d bytes for engine %lld",
                         TERM_SECRET_BYTES, (long long)t->options.id);
    }
    memcpy(out, pg_bytes(t->pg, 0, 0).data, TERM_SECRET_BYTES);
    return OK;
}
