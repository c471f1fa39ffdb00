/* view: what an operation of a layer sees of its transaction: the overlay, and the state below it.
 */
#include "engine/overlay.h"

struct view view_over(struct engine *g, struct overlay *o, uint16_t database, struct waiter *w)
{
    return (struct view){.engine = g,
                         .overlay = o,
                         .arena = o->arena,
                         .waiter = w,
                         .database = database,
                         .now_ms = o->now_ms,
                         .told_ms = o->told_ms,
                         .version = o->version};
}

struct view view_reading(struct engine *g, struct overlay *o, uint16_t database,
                         struct arena *arena, struct waiter *w)
{
    int64_t now_ms = o != NULL ? o->now_ms : engine_time_ms(g);
    return (struct view){.engine = g,
                         .overlay = o,
                         .arena = arena,
                         .waiter = w,
                         .database = database,
                         .now_ms = now_ms,
                         .told_ms = o != NULL ? o->told_ms : now_ms,
                         .version = o != NULL ? o->version : 0};
}

enum err view_stored(struct view *v, struct slice key, struct entry *out, struct error *e)
{
    struct backend *b = v->engine->backend;
    *out = (struct entry){0};
    if (v->overlay != NULL && overlay_is_flushed(v->overlay, key_database(key))) return OK;
    enum err r = backend_load(b, key, out, v->waiter, e);
    if (r == OK) depends_raise(&v->depends, out->depends);
    return r;
}

enum err view_get(struct view *v, struct slice key, struct entry *out, struct error *e)
{
    enum err r = engine_get(v->engine, v->overlay, key, out, v->waiter, e);
    if (r == OK) depends_raise(&v->depends, out->depends);
    return r;
}

bool view_own(const struct view *v, struct slice key, struct entry *out)
{
    *out = (struct entry){0};
    if (v->overlay == NULL) return false;
    if (v->overlay->count > 0) {
        const struct written *own = overlay_find(v->overlay, key);
        if (own != NULL) {
            overlay_entry(v->overlay, own, out);
            return true;
        }
    }
    return overlay_is_flushed(v->overlay, key_database(key));
}

bool view_is_flushed(const struct view *v)
{
    return overlay_is_flushed(v->overlay, v->database);
}

size_t view_range(struct view *v, struct slice start, struct slice end, struct view_row **out)
{
    struct written *const *found = NULL;
    *out = NULL;
    if (v->overlay->count == 0) return 0;
    size_t count = overlay_range(v->overlay, start, end, &found);
    struct view_row *rows = arena_alloc(v->arena, (count + 1) * sizeof *rows);
    for (size_t i = 0; i < count; i++) {
        rows[i] = (struct view_row){found[i]->key, found[i]->exists, found[i]->value};
    }
    *out = rows;
    return count;
}

void view_set(struct view *v, struct slice key, struct slice value)
{
    overlay_set(v->overlay, key, value, 0);
}

void view_set_expiring(struct view *v, struct slice key, struct slice value, int64_t expiry_ms)
{
    overlay_set(v->overlay, key, value, expiry_ms);
}

/* Of the first write of the key. */
static uint16_t first_cause(const struct view *v, struct slice key, enum row_cause cause)
{
    const struct written *own = overlay_find(v->overlay, key);
    return own != NULL ? own->cause : (uint16_t)cause;
}

void view_set_for(struct view *v, struct slice key, struct slice value, int64_t expiry_ms,
                  enum row_cause cause)
{
    uint16_t of_overlay = v->overlay->cause;
    v->overlay->cause = first_cause(v, key, cause);
    overlay_set(v->overlay, key, value, expiry_ms);
    v->overlay->cause = of_overlay;
}

void view_delete_for(struct view *v, struct slice key, enum row_cause cause)
{
    uint16_t of_overlay = v->overlay->cause;
    v->overlay->cause = first_cause(v, key, cause);
    overlay_delete(v->overlay, key);
    overlay_find(v->overlay, key)->is_void = v->overlay->cause == ROW_WAS_ABSENT;
    v->overlay->cause = of_overlay;
}

struct view_causes view_causes(struct view *v, struct slice start, struct slice end)
{
    struct view_causes own = {0};
    if (v->overlay == NULL || v->overlay->count == 0) return own;
    own.count = overlay_range(v->overlay, start, end, &own.rows);
    return own;
}

struct view_cause view_cause(const struct view_causes *own, size_t i)
{
    const struct written *w = own->rows[i];
    return (struct view_cause){w->key, w->exists, w->cause};
}

struct view_loan view_lend(struct view *v, size_t rows)
{
    struct view_loan loan = {0};
    if (v->overlay == NULL) return loan;
    if (rows > v->overlay->lent_left) rows = v->overlay->lent_left;
    loan.left = v->overlay->work_left;
    loan.lent = rows * SCAN_WORK_ROW;
    v->overlay->work_left += loan.lent;
    return loan;
}

void view_lend_end(struct view *v, const struct view_loan *loan)
{
    if (v->overlay == NULL) return;
    size_t used = loan->left + loan->lent - v->overlay->work_left;
    size_t of_lent = used < loan->lent ? used : loan->lent;
    v->overlay->lent_left -= of_lent / SCAN_WORK_ROW;
    v->overlay->work_left = loan->left - (used - of_lent);
}

void view_offer(struct view *v, struct slice key, struct slice value)
{
    const struct written *own = overlay_find(v->overlay, key);
    /* What was written for certain since the layers derived is not taken back with it. */
    bool is_certain = own != NULL && own->is_dirty && !own->is_offer;
    overlay_set(v->overlay, key, value, 0);
    overlay_find(v->overlay, key)->is_offer = !is_certain;
    view_exempt(v);
}

void view_delete(struct view *v, struct slice key)
{
    overlay_delete(v->overlay, key);
}

void view_forget(struct view *v, struct slice start, struct slice end)
{
    overlay_forget(v->overlay, start, end);
}

enum err view_derives(struct view *v, size_t rows, struct error *e)
{
    v->overlay->derived += rows;
    if (v->overlay->derived <= ENGINE_DERIVED_MAX) return OK;
    return error_set(e, ERR_LIMIT,
                     "the transaction changes more than %d rows of indexes "
                     "(transaction-index-rows); split it",
                     ENGINE_DERIVED_MAX);
}

uint32_t view_sequence(struct view *v)
{
    return v->overlay->sequence++;
}

size_t view_keys(const struct view *v, enum space space)
{
    return v->overlay->keys[space];
}

void view_for(struct view *v, uint16_t cause)
{
    v->overlay->cause = cause;
}

unsigned view_writes(const struct view *v)
{
    return v->overlay->writes;
}

uint64_t view_bytes(const struct view *v)
{
    return v->overlay->bytes;
}

void view_exempt(struct view *v)
{
    v->overlay->is_exempt = true;
}
