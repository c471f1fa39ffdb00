/* pg_params: all parameters in one buffer, with their offsets, since it may move while it grows. */
#include "backend/postgres/pg_params.h"
#include "base/bytes.h"

#define KEEP_BYTES (1u << 20)

/* Type ids of PostgreSQL's catalog (pg_type.dat); they never change. */
#define OID_BYTEA 17
#define OID_INT8 20
#define OID_TEXT 25
#define OID_BYTEA_ARRAY 1001
#define OID_INT8_ARRAY 1016

void pg_params_init(struct pg_params *p)
{
    *p = (struct pg_params){0};
    buf_init(&p->bytes);
}

void pg_params_fini(struct pg_params *p)
{
    buf_fini(&p->bytes);
}

void pg_begin(struct pg *c)
{
    struct pg_params *p = pg_params_of(c);
    buf_clear(&p->bytes, KEEP_BYTES);
    p->count = 0;
}

/* The parameter is what is appended from now on. */
static void put(struct pg_params *p, uint32_t type)
{
    INVARIANT(p->count < PG_PARAMS_MAX);
    p->offset[p->count] = p->bytes.len;
    p->type[p->count] = type;
}

static void put_end(struct pg_params *p)
{
    p->len[p->count] = p->bytes.len - p->offset[p->count];
    p->count++;
}

static void append_u32(struct buf *b, uint32_t v)
{
    uint8_t bytes[4];
    put_u32(bytes, v);
    buf_append(b, bytes, sizeof bytes);
}

static void append_u64(struct buf *b, uint64_t v)
{
    uint8_t bytes[8];
    put_u64(bytes, v);
    buf_append(b, bytes, sizeof bytes);
}

void pg_put_i64(struct pg *c, int64_t v)
{
    struct pg_params *p = pg_params_of(c);
    put(p, OID_INT8);
    append_u64(&p->bytes, (uint64_t)v);
    put_end(p);
}

void pg_put_bytes(struct pg *c, struct slice v)
{
    struct pg_params *p = pg_params_of(c);
    put(p, OID_BYTEA);
    if (v.len > 0) buf_append(&p->bytes, v.data, v.len);
    put_end(p);
}

void pg_put_text(struct pg *c, const char *v)
{
    struct pg_params *p = pg_params_of(c);
    put(p, OID_TEXT);
    buf_append_str(&p->bytes, v);
    put_end(p);
}

/* Of one dimension, without NULLs: array_recv in PostgreSQL's arrayfuncs.c. */
static void append_array_head(struct pg_params *p, uint32_t item, size_t count)
{
    append_u32(&p->bytes, count > 0 ? 1 : 0); /* dimensions */
    append_u32(&p->bytes, 0);                 /* has NULLs */
    append_u32(&p->bytes, item);
    if (count == 0) return;
    append_u32(&p->bytes, (uint32_t)count);
    append_u32(&p->bytes, 1); /* the first index */
}

void pg_put_i64s(struct pg *c, const int64_t *v, size_t count)
{
    struct pg_params *p = pg_params_of(c);
    put(p, OID_INT8_ARRAY);
    append_array_head(p, OID_INT8, count);
    for (size_t i = 0; i < count; i++) {
        append_u32(&p->bytes, 8);
        append_u64(&p->bytes, (uint64_t)v[i]);
    }
    put_end(p);
}

void pg_put_slices(struct pg *c, const struct slice *v, size_t count)
{
    struct pg_params *p = pg_params_of(c);
    put(p, OID_BYTEA_ARRAY);
    append_array_head(p, OID_BYTEA, count);
    for (size_t i = 0; i < count; i++) {
        append_u32(&p->bytes, (uint32_t)v[i].len);
        if (v[i].len > 0) buf_append(&p->bytes, v[i].data, v[i].len);
    }
    put_end(p);
}
