#include "backend/postgres/term.h"

#include <stdio.h>
#include <time.h>

#include "backend/postgres/schema.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/random.h"

#define TEXT_BYTES 256
#define MARGIN_PERCENT 10 /* of the lease: its holder ends it so much earlier */
#define WAIT_PERCENT 110  /* others wait so long for the next beat */

struct term {
    struct term_options options;
    char *url, *name, *address; /* owned */
    char holder[TEXT_BYTES];    /* its own: the name, and a number that no other process has */
    struct pg_breaker breaker;
    struct pg *pg; /* for the row */
    int state;     /* enum term_state; atomic */
    uint64_t epoch;
    uint64_t versions;
    unsigned quorum;      /* atomic */
    int64_t lease_end_us; /* atomic */
    /* The row as it was last seen. */
    int64_t seen_epoch, seen_beat, seen_us;
    char seen_holder[TEXT_BYTES], seen_address[TEXT_BYTES];
};

static const struct machine term_machine = {
    .name = "term",
    .states = {"following", "leading", "lost"},
    .allowed = {[TERM_FOLLOWING] = TO(TERM_LEADING), [TERM_LEADING] = TO(TERM_LOST)},
};

static int64_t now_us(void)
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

struct pg *term_connect(struct term *t, const char *name, enum term_use use)
{
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "tupled %s: %s", t->name, name);
    return pg_new(&(struct pg_options){.url = t->url,
                                       .name = text,
                                       .call_ms = t->options.call_ms,
                                       .is_quorum = t->options.durability != TERM_ASYNC,
                                       .is_read_only = use == TERM_READ,
                                       .breaker = &t->breaker});
}

enum err term_open(const struct term_options *options, struct term **out, struct error *e)
{
    struct term *t = mem_new(sizeof *t);
    t->options = *options;
    t->url = copy_text(options->url);
    t->name = copy_text(options->name);
    t->address = copy_text(options->address);
    t->seen_beat = -1;
    set_holder(t);
    enum err r = pg_breaker_init(&t->breaker, e);
    t->pg = term_connect(t, "leader", TERM_WRITE);
    if (r == OK) r = schema_make(t->pg, options->id, e);
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

static const char quorum_sql[] = "SELECT current_setting('synchronous_standby_names')";

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

/* ERR_IO while the server waits for no standby. Asked each time, as it may change at any moment. */
static enum err check_quorum(struct term *t, struct error *e)
{
    if (t->options.durability != TERM_QUORUM) return OK;
    pg_begin(t->pg);
    enum err r = pg_run_again(t->pg, quorum_sql, e);
    if (r != OK) return r;
    unsigned count = term_quorum_of(pg_bytes(t->pg, 0, 0));
    __atomic_store_n(&t->quorum, count, __ATOMIC_RELAXED);
    if (count > 0) return OK;
    return error_set(e, ERR_IO,
                     "PostgreSQL waits for no standby: set synchronous_standby_names there, or "
                     "postgresql-durability here");
}

/* ---- taking over ---- */

static const char look_sql[] =
    "SELECT epoch, beat, holder, address, versions_reserved FROM tupled_leader WHERE id = $1";

/* Another one each time. A count would not do: one that is lost when PostgreSQL fails over would
 * come again, and who had seen it would take the new one for the old. */
static int64_t new_beat(void)
{
    uint64_t random;
    random_system(&random, sizeof random);
    return (int64_t)(random >> 2);
}

/* The log's and the store's epochs rise together, or neither does. */
static const char take_sql[] =
    "WITH l AS (UPDATE tupled_leader SET epoch = epoch + 1, beat = $7, holder = $4, "
    "address = $5, timeline = $6, versions_reserved = versions_reserved + CASE WHEN timeline = '' "
    "OR timeline = $6 THEN 0 ELSE 1099511627776 END "
    "WHERE id = $1 AND epoch = $2 AND beat = $3 RETURNING id, epoch, versions_reserved), "
    "a AS (UPDATE tupled_applied SET epoch = l.epoch FROM l WHERE tupled_applied.id = l.id "
    "RETURNING 1) SELECT l.epoch, (SELECT count(*) FROM a), l.versions_reserved FROM l";
/* The first eight digits of the name of a file of its log; CockroachDB has none, nor YugabyteDB. */
static const char timeline_sql[] = "SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)";

static void copy_column(const struct pg *c, unsigned column, char out[TEXT_BYTES])
{
    struct slice s = pg_bytes(c, 0, column);
    snprintf(out, TEXT_BYTES, "%.*s", (int)s.len, (const char *)s.data);
}

static enum err look(struct term *t, struct error *e)
{
    pg_begin(t->pg);
    pg_put_i64(t->pg, t->options.id);
    enum err r = pg_run_again(t->pg, look_sql, e);
    if (r != OK) return r;
    /* Not from before it was asked: the beat may be younger than that, by however long it took. */
    int64_t at_us = now_us();
    if (pg_rows(t->pg) != 1) {
        return error_set(e, ERR_CORRUPT, "tupled_leader has no row of engine %lld",
                         (long long)t->options.id);
    }
    int64_t epoch = pg_i64(t->pg, 0, 0);
    int64_t beat = pg_i64(t->pg, 0, 1);
    copy_column(t->pg, 2, t->seen_holder);
    copy_column(t->pg, 3, t->seen_address);
    t->versions = (uint64_t)pg_i64(t->pg, 0, 4);
    if (epoch == t->seen_epoch && beat == t->seen_beat) return OK;
    t->seen_epoch = epoch;
    t->seen_beat = beat;
    t->seen_us = at_us;
    return OK;
}

static void lead(struct term *t, int64_t epoch, int64_t sent_us)
{
    int64_t lease_us = t->options.lease_ms * 1000;
    t->epoch = (uint64_t)epoch;
    int64_t end_us = sent_us + lease_us - lease_us * MARGIN_PERCENT / 100;
    __atomic_store_n(&t->lease_end_us, end_us, __ATOMIC_RELEASE);
    MACHINE_MOVE(&term_machine, t, state, TERM_LEADING);
}

/* By the holder too: a take-over that is found may be lost again when PostgreSQL fails over, and
 * somebody else may then have this epoch. */
static const char claim_sql[] =
    "UPDATE tupled_leader SET beat = $3 WHERE id = $1 AND epoch = $2 AND holder = $4";

/* Was the take-over whose answer did not come done? What is found may not be safe yet: it is when a
 * later write is answered, and the lease counts from before that. */
static enum err look_again(struct term *t, struct error *e)
{
    int64_t before = t->seen_epoch;
    enum err r = look(t, e);
    if (r != OK) return r;
    if (strcmp(t->seen_holder, t->holder) != 0 || t->seen_epoch != before + 1) {
        return error_set(e, ERR_WAIT, "somebody else leads");
    }
    pg_begin(t->pg);
    pg_put_i64(t->pg, t->options.id);
    pg_put_i64(t->pg, t->seen_epoch);
    pg_put_i64(t->pg, new_beat());
    pg_put_text(t->pg, t->holder);
    int64_t sent_us = now_us();
    r = pg_run_again(t->pg, claim_sql, e);
    if (r != OK) return r;
    if (pg_changed(t->pg) != 1) return error_set(e, ERR_WAIT, "somebody else leads");
    lead(t, t->seen_epoch, sent_us);
    return OK;
}

/* "none" where PostgreSQL's like has no timelines. */
static enum err find_timeline(struct term *t, char out[TEXT_BYTES], struct error *e)
{
    pg_begin(t->pg);
    enum err r = pg_run_again(t->pg, timeline_sql, e);
    if (r == OK) copy_column(t->pg, 0, out);
    if (r == OK || pg_outcome(t->pg) == PG_UNKNOWN) return r;
    snprintf(out, TEXT_BYTES, "none");
    return OK;
}

enum err term_try(struct term *t, struct error *e)
{
    char timeline[TEXT_BYTES];
    INVARIANT(term_state(t) == TERM_FOLLOWING);
    enum err r = look(t, e);
    if (r == OK) r = check_quorum(t, e);
    if (r != OK) return r;
    bool is_free = t->seen_holder[0] == '\0';
    int64_t wait_us = t->options.lease_ms * 1000 * WAIT_PERCENT / 100;
    if (!is_free && now_us() - t->seen_us < wait_us) {
        return error_set(e, ERR_WAIT, "%s leads", t->seen_holder);
    }
    r = find_timeline(t, timeline, e);
    if (r != OK) return r;
    pg_begin(t->pg);
    pg_put_i64(t->pg, t->options.id);
    pg_put_i64(t->pg, t->seen_epoch);
    pg_put_i64(t->pg, t->seen_beat);
    pg_put_text(t->pg, t->holder);
    pg_put_text(t->pg, t->address);
    pg_put_text(t->pg, timeline);
    pg_put_i64(t->pg, new_beat());
    int64_t sent_us = now_us();
    r = pg_run(t->pg, take_sql, e);
    if (r != OK) return pg_outcome(t->pg) == PG_UNKNOWN ? look_again(t, e) : r;
    if (pg_rows(t->pg) == 0) return error_set(e, ERR_WAIT, "somebody else was faster");
    if (pg_i64(t->pg, 0, 1) != 1) {
        return error_set(e, ERR_CORRUPT, "tupled_applied has no row of engine %lld",
                         (long long)t->options.id);
    }
    uint64_t versions = (uint64_t)pg_i64(t->pg, 0, 2);
    if (versions >= t->versions + TERM_JUMP) {
        log_warning(
            "PostgreSQL has another timeline than when the last leader began: it has failed "
            "over, or was restored; versions go on %llu higher",
            (unsigned long long)TERM_JUMP);
    }
    t->versions = versions;
    lead(t, pg_i64(t->pg, 0, 0), sent_us);
    return OK;
}

/* ---- leading ---- */

static const char renew_sql[] = "UPDATE tupled_leader SET beat = $3 WHERE id = $1 AND epoch = $2";
static const char hand_over_sql[] =
    "UPDATE tupled_leader SET beat = $3, holder = '' WHERE id = $1 AND epoch = $2";

static enum err beat(struct term *t, const char *sql, struct error *e)
{
    pg_begin(t->pg);
    pg_put_i64(t->pg, t->options.id);
    pg_put_i64(t->pg, (int64_t)t->epoch);
    pg_put_i64(t->pg, new_beat());
    enum err r = pg_run_again(t->pg, sql, e);
    if (r != OK) return r;
    if (pg_changed(t->pg) == 1) return OK;
    term_lose(t);
    return error_set(e, ERR_TRYAGAIN, "another node leads now");
}

enum err term_renew(struct term *t, struct error *e)
{
    int64_t lease_us = t->options.lease_ms * 1000;
    int64_t sent_us = now_us();
    if (term_state(t) != TERM_LEADING) return error_set(e, ERR_TRYAGAIN, "another node leads now");
    enum err r = check_quorum(t, e);
    if (r == OK) r = beat(t, renew_sql, e);
    if (r != OK) return r;
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
    if (r != OK) log_warning("not handed over: %s", e.text);
}

bool term_has_lease(const struct term *t)
{
    return term_state(t) == TERM_LEADING &&
           now_us() < __atomic_load_n(&t->lease_end_us, __ATOMIC_ACQUIRE);
}

enum term_state term_state(const struct term *t)
{
    return (enum term_state)__atomic_load_n(&t->state, __ATOMIC_ACQUIRE);
}

void term_lose(struct term *t)
{
    int expected = TERM_LEADING;
    __atomic_store_n(&t->lease_end_us, 0, __ATOMIC_RELEASE);
    bool is_first = __atomic_compare_exchange_n(&t->state, &expected, TERM_LOST, false,
                                                __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    if (is_first) machine_moves(&term_machine, t, TERM_LEADING, TERM_LOST);
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

const char *term_name(const struct term *t)
{
    return t->name;
}

const char *term_address(const struct term *t)
{
    return t->address;
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
