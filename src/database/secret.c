/* secret: random bytes that the catalog keeps. */
#include "base/random.h"
#include "database/database_int.h"

static const uint8_t row_key[] = {KEY_HEAD(DATABASE_CATALOG, SPACE_DATABASE), DATABASE_CATALOG >> 8,
                                  DATABASE_CATALOG & 0xff, 's'};

bool secret_take(struct databases *x, struct slice key, const struct slice *value)
{
    if (!slice_eq(key, slice_of(row_key, sizeof row_key))) return false;
    x->has_secret = value != NULL && value->len == sizeof x->secret;
    if (x->has_secret) memcpy(x->secret, value->data, sizeof x->secret);
    return true;
}

const uint8_t *databases_secret(const struct databases *x)
{
    return x->has_secret ? x->secret : NULL;
}

static enum err apply(struct layer_op *op, struct view *v, bool *is_met, struct error *e)
{
    const struct database_secret_op *o = (const struct database_secret_op *)op;
    enum err r = databases_ready(o->databases, v->waiter, e);
    *is_met = r == OK && !o->databases->has_secret;
    if (!*is_met) return r;
    uint8_t *bytes = arena_alloc(v->arena, DATABASE_SECRET_BYTES);
    random_system(bytes, DATABASE_SECRET_BYTES);
    view_exempt(v);
    view_set(v, slice_of(row_key, sizeof row_key), slice_of(bytes, DATABASE_SECRET_BYTES));
    return OK;
}

struct op database_secret_op(struct database_secret_op *x)
{
    x->base.apply = apply;
    return (struct op){.kind = OP_LAYER, .layer = &x->base};
}
