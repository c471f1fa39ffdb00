/* pg_texts: text indexes, in a file of this machine (backend/nearby.h) that can be thrown away:
 * what is in PostgreSQL is true; the file is begun anew whenever it may not say the same.
 *
 * Each memtable is applied to the file first, then to PostgreSQL. So after the end of a process the
 * file has all that PostgreSQL has applied, and may have more: that is in the journal, and comes
 * again. The file is gone on with
 *
 * - if it is of this engine, these tables and this timeline of PostgreSQL (its origin), and of an
 *   epoch before this one, and
 * - if it has as much as tupled_applied says; or more, and the journal has a batch with that
 *   version, of the epoch that wrote the file: then nothing that is in it was lost since.
 *
 * It is not if it has less: another node has led meanwhile. Then, and when it was not there, could
 * not be written or is damaged, it begins with the definitions that are in PostgreSQL, and is
 * filled in from there in slices; until that is done a search answers ERR_INDEXING.
 *
 * Filling reads what is in PostgreSQL after an apply that was done, never in the middle of one that
 * failed. What comes to PostgreSQL later comes to the file too, wherever the filling is.
 */
#include <inttypes.h>
#include <stdio.h>

#include "backend/postgres/pg_store_int.h"
#include "backend/text.h"
#include "base/htab.h"
#include "base/log.h"
#include "base/mem.h"

#define ORIGIN_BYTES 300

static const char identity_sql[] =
    "SELECT l.timeline || ' ' || coalesce(md5(s.link), '') FROM tupled_leader l "
    "LEFT JOIN tupled_secret s ON s.id = l.id WHERE l.id = $1";
static const char definitions_sql[] =
    "SELECT e.key, e.version, e.expiry_ms, e.checksum, e.value FROM "
    "unnest($2::bytea[], $3::bytea[]) r(first, until) JOIN tupled_entry e ON e.id = $1 "
    "AND e.key >= r.first AND e.key < r.until WHERE " PG_IS_THERE;
static const char has_version_sql[] =
    "SELECT count(*) FROM tupled_log WHERE id = $1 AND epoch = $2 AND version_before < $3 "
    "AND last_version >= $3";

/* ---- its state ---- */

static struct store *texts_file(struct pg_store *s)
{
    return __atomic_load_n(&s->texts.file, __ATOMIC_ACQUIRE);
}

static enum pg_texts_state texts_state(struct pg_store *s)
{
    return (enum pg_texts_state)__atomic_load_n(&s->texts.state, __ATOMIC_ACQUIRE);
}

static void texts_move(struct pg_store *s, enum pg_texts_state to)
{
    __atomic_store_n(&s->texts.state, (int)to, __ATOMIC_RELEASE);
}

/* From now on it lacks something. Its origin goes, if that can be written: if it cannot, it will
 * have less than PostgreSQL. */
static void texts_fail(struct pg_store *s, const struct error *why)
{
    struct store *file = texts_file(s);
    struct error ignored;
    bool is_news = texts_state(s) != PG_TEXTS_FAILED;
    pthread_mutex_lock(&s->lock);
    s->texts.why = *why;
    pthread_mutex_unlock(&s->lock);
    s->texts.is_filling = true;
    texts_move(s, PG_TEXTS_FAILED);
    if (__atomic_load_n(&s->is_given_up, __ATOMIC_RELAXED)) return;
    if (is_news) log_warning("text indexes: %s: %s; retrying", s->texts.path, why->text);
    if (file != NULL) (void)!s->nearby->texts_mark(file, slice_str(""), &ignored);
}

static void texts_took(struct pg_store *s, struct store_progress *p)
{
    s->texts.is_filling = p->is_filling;
    s->texts.has_garbage = p->has_garbage;
    store_progress_fini(p);
}

/* ---- what is in PostgreSQL ---- */

static enum err texts_identity(struct pg_store *s, struct error *e)
{
    pg_begin(s->pg);
    pg_put_i64(s->pg, term_id(s->term));
    enum err r = pg_run_again(s->pg, identity_sql, e);
    if (r != OK) return r;
    struct slice text = pg_rows(s->pg) == 1 ? pg_bytes(s->pg, 0, 0) : slice_of(NULL, 0);
    char *out = mem_alloc(ORIGIN_BYTES);
    snprintf(out, ORIGIN_BYTES, "%" PRId64 " %.*s", term_id(s->term), (int)text.len,
             text.len > 0 ? (const char *)text.data : "");
    s->texts.identity = out;
    return OK;
}

/* Asks for the rows of all databases that have anything. */
static enum err run_definitions(struct pg_store *s, struct error *e)
{
    size_t count = 0;
    for (uint32_t i = 0; sparse_next(&s->counts, &i) != NULL; i++) count++;
    uint8_t(*bytes)[2 * KEY_HEAD_BYTES] = mem_new(count * sizeof *bytes);
    struct slice *firsts = mem_new(2 * count * sizeof *firsts);
    struct slice *untils = firsts + count;
    count = 0;
    for (uint32_t i = 0; sparse_next(&s->counts, &i) != NULL; i++) {
        uint8_t *first = bytes[count];
        uint8_t *until = first + KEY_HEAD_BYTES;
        (void)key_head_write(first, (uint16_t)i, BACKEND_SPACE_TEXT);
        (void)key_head_write(until, (uint16_t)i, BACKEND_SPACE_TEXT + 1);
        firsts[count] = slice_of(first, KEY_HEAD_BYTES);
        untils[count++] = slice_of(until, KEY_HEAD_BYTES);
    }
    pg_begin(s->pg);
    pg_put_i64(s->pg, term_id(s->term));
    pg_put_slices(s->pg, firsts, count);
    pg_put_slices(s->pg, untils, count);
    enum err r = pg_run_again(s->pg, definitions_sql, e);
    mem_free(firsts);
    mem_free(bytes);
    return r;
}

/* All of them, up to what is applied; *m, also on an error, is the caller's. */
static enum err texts_definitions(struct pg_store *s, struct memtable **m, struct error *e)
{
    *m = memtable_new_aside();
    enum err r = run_definitions(s, e);
    if (r != OK) return r;
    for (size_t i = 0; i < pg_rows(s->pg); i++) {
        struct mutation mu = {.kind = MUTATION_SET,
                              .key = pg_bytes(s->pg, i, 0),
                              .value = pg_bytes(s->pg, i, 4),
                              .expiry_ms = pg_i64(s->pg, i, 2)};
        uint64_t version = (uint64_t)pg_i64(s->pg, i, 1);
        int64_t sum = pg_entry_checksum(mu.key, version, mu.expiry_ms, mu.value);
        if (sum != pg_i64(s->pg, i, 3)) return pg_damaged(mu.key, e);
        (void)memtable_database(*m, key_database(mu.key));
        memtable_put(*m, hash_bytes(mu.key), &mu, version);
    }
    (*m)->version_last = s->applied;
    return OK;
}

/* Store thread: what is filled in. */
static enum err texts_fetch(void *arg, const struct store_fetch *f, struct store_chunk *out,
                            uint64_t *entries, struct error *e)
{
    struct pg_store *s = arg;
    *entries = store_counts_get(&s->counts, key_database(f->start)).entries;
    return store_fetch(s->texts.source, f, out, e);
}

/* ---- beginning ---- */

static enum err open_file(struct pg_store *s, bool is_new, struct buf *origin, struct store **out,
                          struct error *e)
{
    const struct nearby_texts texts = {.path = s->texts.path,
                                       .text_ops = s->text_ops,
                                       .source = {texts_fetch, s},
                                       .is_new = is_new};
    return s->nearby->texts_open(&texts, origin, out, e);
}

static enum err texts_mark(struct pg_store *s, struct store *file, struct error *e)
{
    char origin[ORIGIN_BYTES + 24];
    snprintf(origin, sizeof origin, "%" PRIu64 " %s", term_epoch(s->term), s->texts.identity);
    return s->nearby->texts_mark(file, slice_str(origin), e);
}

/* Nothing but definitions: a new file, or the one that is open, emptied. */
static enum err begin_anew(struct pg_store *s, const struct memtable *definitions, struct error *e)
{
    struct store *file = texts_file(s);
    struct store_progress p = {0};
    struct buf origin;
    enum err r = OK;
    buf_init(&origin);
    if (file != NULL) {
        r = s->nearby->texts_empty(file, e);
    } else {
        r = open_file(s, true, &origin, &file, e);
        if (r == OK) __atomic_store_n(&s->texts.file, file, __ATOMIC_RELEASE);
    }
    buf_fini(&origin);
    if (r == OK) r = store_apply(file, definitions, &p, e);
    if (r == OK) r = texts_mark(s, file, e);
    if (r == OK) {
        texts_took(s, &p);
        __atomic_store_n(&s->texts.is_damaged, false, __ATOMIC_RELAXED);
        texts_move(s, PG_TEXTS_GOOD);
    }
    return r;
}

/* After an apply that was done. */
static enum err begin_again(struct pg_store *s, struct error *e)
{
    struct memtable *definitions = NULL;
    enum err r = texts_definitions(s, &definitions, e);
    if (r == OK) r = begin_anew(s, definitions, e);
    memtable_free(definitions);
    if (r == OK) log_notice("text indexes: rebuilding %s", s->texts.path);
    return r;
}

static enum err has_version(struct pg_store *s, uint64_t epoch, uint64_t version, bool *has,
                            struct error *e)
{
    pg_begin(s->pg);
    pg_put_i64(s->pg, term_id(s->term));
    pg_put_i64(s->pg, (int64_t)epoch);
    pg_put_i64(s->pg, (int64_t)version);
    enum err r = pg_run_again(s->pg, has_version_sql, e);
    *has = r == OK && pg_i64(s->pg, 0, 0) > 0;
    return r;
}

/* Does a file of this origin say what is in PostgreSQL? *why, when it does not. */
static enum err is_current(struct pg_store *s, struct slice origin, uint64_t applied,
                           const char **why, struct error *e)
{
    uint64_t epoch = 0;
    bool has = true;
    const uint8_t *space = origin.len > 0 ? memchr(origin.data, ' ', origin.len) : NULL;
    size_t digits = space == NULL ? 0 : (size_t)(space - origin.data);
    bool is_whole = space != NULL && slice_to_u64(slice_of(origin.data, digits), &epoch);
    enum err r = OK;
    *why = "it is incomplete";
    if (!is_whole) return OK;
    struct slice identity = slice_of(space + 1, origin.len - digits - 1);
    *why = "it belongs to another PostgreSQL server, or to one that has failed over";
    if (!slice_eq(identity, slice_str(s->texts.identity))) return OK;
    *why = "it belongs to a leader that PostgreSQL does not know";
    if (epoch >= term_epoch(s->term)) return OK;
    *why = "another node has been the leader since";
    if (applied < s->applied) return OK;
    if (applied > s->applied) r = has_version(s, epoch, applied, &has, e);
    *why = has ? NULL : "it contains data that PostgreSQL has lost";
    return r;
}

/* The file that is there, if it is current; else `file` of the texts stays NULL. */
static enum err take_file(struct pg_store *s, struct error *e)
{
    struct error file_error;
    struct store_progress p = {0};
    struct store *file = NULL;
    const char *why = NULL;
    struct buf origin;
    buf_init(&origin);
    enum err r = open_file(s, false, &origin, &file, &file_error);
    if (r != OK) {
        buf_fini(&origin);
        if (r == ERR_LOCKED) texts_fail(s, &file_error);
        return OK;
    }
    file->ops->state(file, &p);
    r = is_current(s, buf_slice(&origin), p.applied, &why, e);
    if (r == OK && why == NULL) r = texts_mark(s, file, &file_error);
    if (r == OK && why == NULL) {
        s->texts.file = file;
        texts_took(s, &p);
        texts_move(s, PG_TEXTS_GOOD);
        log_notice("text indexes: %s is up to date", s->texts.path);
    } else {
        store_progress_fini(&p);
        store_close(file);
        if (why != NULL && origin.len > 0) log_notice("text indexes: %s: %s", s->texts.path, why);
    }
    buf_fini(&origin);
    return why == NULL ? OK : r;
}

enum err pg_texts_open(struct pg_store *s, const char *path, struct error *e)
{
    struct memtable *definitions = NULL;
    struct error why;
    if (path == NULL || s->nearby == NULL || s->text_ops == NULL) return OK;
    size_t len = strlen(path) + 1;
    s->texts.path = memcpy(mem_alloc(len), path, len);
    enum err r = pg_reader_open(&s->base, &s->texts.source, e);
    if (r == OK) r = texts_identity(s, e);
    if (r == OK) r = texts_definitions(s, &definitions, e);
    if (r == OK && memtable_is_empty(definitions)) {
        if (s->nearby->texts_remove(path, &why) != OK) log_warning("%s", why.text);
    } else if (r == OK) {
        r = take_file(s, e);
        bool is_anew = r == OK && texts_state(s) == PG_TEXTS_NONE;
        if (is_anew && begin_anew(s, definitions, &why) != OK) texts_fail(s, &why);
    }
    if (definitions != NULL) memtable_free(definitions);
    return r;
}

void pg_texts_close(struct pg_store *s)
{
    store_close(texts_file(s));
    store_reader_close(s->texts.source);
    mem_free(s->texts.identity);
    mem_free(s->texts.path);
}

void pg_texts_give_up(struct pg_store *s)
{
    struct store *file = texts_file(s);
    if (file != NULL) file->ops->give_up(file);
}

/* ---- what is applied ---- */

/* Does it make a text index? */
static bool defines(const struct memtable *m)
{
    for (uint32_t i = 0; sparse_next(&m->databases, &i) != NULL; i++) {
        const uint8_t start[] = {KEY_HEAD((uint16_t)i, BACKEND_SPACE_TEXT)};
        struct slice prefix = slice_of(start, sizeof start);
        struct omap_iter it = omap_seek(&m->order, prefix);
        const struct mem_entry *entry = omap_peek(&it);
        if (entry != NULL && slice_has_prefix(entry->key, prefix)) return true;
    }
    return false;
}

static enum err apply_to_file(struct pg_store *s, const struct memtable *m, struct error *e)
{
    struct store_progress p = {0};
    struct store *file = texts_file(s);
    if (__atomic_load_n(&s->texts.is_damaged, __ATOMIC_RELAXED)) {
        return error_set(e, ERR_CORRUPT, "it is damaged");
    }
    enum err r = store_apply(file, m, &p, e);
    if (r == OK && (p.damage.code != OK || p.aside.count > 0)) {
        *e = p.damage;
        r = ERR_CORRUPT;
    }
    texts_took(s, &p);
    return r;
}

void pg_texts_apply(struct pg_store *s, const struct memtable *m)
{
    struct error e;
    enum err r = OK;
    if (s->texts.path == NULL) return;
    if (texts_state(s) == PG_TEXTS_NONE) {
        if (!defines(m)) return;
        struct memtable *nothing = memtable_new_aside();
        nothing->version_last = s->applied;
        r = begin_anew(s, nothing, &e);
        memtable_free(nothing);
    }
    if (r == OK && texts_state(s) == PG_TEXTS_GOOD) r = apply_to_file(s, m, &e);
    if (r != OK) texts_fail(s, &e);
}

/* On little, an index is complete when it is applied. */
void pg_texts_applied(struct pg_store *s, enum err result)
{
    struct error ignored;
    bool is_filling = s->texts.is_filling;
    s->texts.is_torn = result != OK;
    if (result != OK || !is_filling || texts_state(s) != PG_TEXTS_GOOD) return;
    if (store_fill(texts_file(s), &is_filling, &ignored) == OK) s->texts.is_filling = is_filling;
}

enum err pg_texts_fill(struct pg_store *s, bool *is_filling, struct error *e)
{
    enum err r = OK;
    *is_filling = s->texts.is_filling;
    if (!s->texts.is_filling) return OK;
    if (s->texts.is_torn) return error_set(e, ERR_IO, "cannot write the store");
    if (texts_state(s) == PG_TEXTS_FAILED) {
        r = begin_again(s, e);
        if (r != OK) texts_fail(s, e);
    }
    if (r == OK) r = store_fill(texts_file(s), is_filling, e);
    if (r == OK) s->texts.is_filling = *is_filling;
    return r;
}

void pg_texts_clean(struct pg_store *s, bool *has_more)
{
    struct store *file = texts_file(s);
    struct store_progress p = {0};
    struct error ignored;
    if (file == NULL || !s->texts.has_garbage) return;
    bool is_done = store_clean(file, &p, &s->texts.has_garbage, &ignored) == OK;
    if (!is_done) s->texts.has_garbage = false; /* until something more is */
    *has_more = *has_more || s->texts.has_garbage;
    store_progress_fini(&p);
}

/* ---- searching ---- */

void pg_texts_pin(struct pg_reader *r)
{
    struct pg_store *s = r->store;
    r->has_texts_pin = false;
    r->texts_state = texts_state(s);
    if (r->texts_state != PG_TEXTS_GOOD) return;
    if (r->texts == NULL && store_reader_open(texts_file(s), &r->texts, &r->texts_error) != OK) {
        r->texts = NULL;
        return;
    }
    r->has_texts_pin = store_pin(r->texts, &r->texts_error) == OK;
}

void pg_texts_unpin(struct pg_reader *r)
{
    if (r->has_texts_pin) store_unpin(r->texts);
    r->has_texts_pin = false;
}

void pg_texts_reader_close(struct pg_reader *r)
{
    pg_texts_unpin(r);
    store_reader_close(r->texts);
    r->texts = NULL;
}

void pg_texts_search(struct pg_reader *r, struct text_request *q, int64_t deadline_us)
{
    struct pg_store *s = r->store;
    q->count = 0;
    q->percent = 0;
    if (r->has_texts_pin) {
        r->texts->ops->search(r->texts, q, deadline_us);
        if (q->result == ERR_CORRUPT) {
            __atomic_store_n(&s->texts.is_damaged, true, __ATOMIC_RELAXED);
        }
        return;
    }
    switch (r->texts_state) {
    case PG_TEXTS_NONE: q->result = error_set(&q->error, ERR_INDEXING, "0"); break;
    case PG_TEXTS_GOOD:
        q->error = r->texts_error;
        q->result = q->error.code;
        break;
    case PG_TEXTS_FAILED:
        pthread_mutex_lock(&s->lock);
        q->result = error_set(&q->error, ERR_IO, "the text indexes of this node have failed: %s",
                              s->texts.why.text);
        pthread_mutex_unlock(&s->lock);
        break;
    }
}
