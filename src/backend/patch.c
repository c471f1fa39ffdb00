/* patch: see patch.h. */
#include "backend/patch.h"

#include "base/bytes.h"
#include "base/mem.h"

#define LOG_MAX 1024         /* values of which a segment is known to have them */
#define APART_MIN (1u << 20) /* bytes between a whole value and the last patch of it ... */
#define APART_TIMES 4        /* ... or so many times its length */

void patch_write(const struct patch *p, uint8_t *out)
{
    put_u64_little(out, p->base_version);
    put_u64_little(out + 8, p->place);
    put_u32_little(out + 16, p->base_len);
    put_u32_little(out + 20, p->from);
    put_u32_little(out + 24, p->len);
    put_u32_little(out + 28, (uint32_t)p->head.len);
    out += PATCH_FIXED_BYTES;
    bytes_copy(out, p->head.data, p->head.len);
    bytes_copy(out + p->head.len, p->bytes.data, p->bytes.len);
}

bool patch_read(struct slice in, struct patch *p)
{
    if (in.len < PATCH_FIXED_BYTES) return false;
    p->base_version = get_u64_little(in.data);
    p->place = get_u64_little(in.data + 8);
    p->base_len = get_u32_little(in.data + 16);
    p->from = get_u32_little(in.data + 20);
    p->len = get_u32_little(in.data + 24);
    size_t head = get_u32_little(in.data + 28);
    size_t left = in.len - PATCH_FIXED_BYTES;
    if (head > left || head > p->from) return false;
    p->head = slice_of(in.data + PATCH_FIXED_BYTES, head);
    p->bytes = slice_of(p->head.data + head, left - head);
    uint64_t to = (uint64_t)p->from + p->bytes.len;
    if (to > p->len) return false;
    return p->from + (p->len - to) <= p->base_len; /* what both begin and end with */
}

/* ---- what two values have in common ---- */

static size_t common_beginning(struct slice a, struct slice b)
{
    size_t max = a.len < b.len ? a.len : b.len;
    size_t n = 0;
    while (n + 64 <= max && memcmp(a.data + n, b.data + n, 64) == 0) n += 64;
    while (n < max && a.data[n] == b.data[n]) n++;
    return n;
}

static size_t common_end(struct slice a, struct slice b, size_t max)
{
    const uint8_t *x = a.data + a.len;
    const uint8_t *y = b.data + b.len;
    size_t n = 0;
    while (n + 64 <= max && memcmp(x - n - 64, y - n - 64, 64) == 0) n += 64;
    while (n < max && x[-1 - (ptrdiff_t)n] == y[-1 - (ptrdiff_t)n]) n++;
    return n;
}

static struct slice behind(struct slice s, size_t n)
{
    return slice_of(s.data + n, s.len - n);
}

static void compare(struct slice before, struct slice value, struct patch *out)
{
    size_t head = 0;
    INVARIANT(before.len > PATCH_HEAD_MAX && value.len > PATCH_HEAD_MAX); /* both are long */
    size_t from = common_beginning(before, value);
    if (from < PATCH_HEAD_MAX) {
        head = PATCH_HEAD_MAX;
        from = head + common_beginning(behind(before, head), behind(value, head));
    }
    size_t left = (before.len < value.len ? before.len : value.len) - from;
    size_t end = common_end(before, value, left);
    out->base_len = (uint32_t)before.len;
    out->from = (uint32_t)from;
    out->len = (uint32_t)value.len;
    out->head = slice_of(value.data, head);
    out->bytes = slice_of(value.data + from, value.len - from - end);
}

/* ---- writing ---- */

struct logged {
    struct slice key; /* first; behind the struct */
    uint64_t hash;
    uint64_t version; /* with which the value was written last */
    uint64_t place;   /* of the batch that has it whole, and ... */
    uint64_t end;     /* ... where the segment ended then */
};

struct patch_log {
    struct htab table;
};

struct patch_log *patch_log_new(void)
{
    struct patch_log *l = mem_new(sizeof *l);
    htab_init(&l->table);
    return l;
}

static void logged_free(struct patch_log *l)
{
    size_t at = 0;
    void *item;
    while ((item = htab_next(&l->table, &at)) != NULL) mem_free(item);
    htab_fini(&l->table);
}

void patch_log_free(struct patch_log *l)
{
    if (l == NULL) return;
    logged_free(l);
    mem_free(l);
}

void patch_log_clear(struct patch_log *l)
{
    if (l->table.count == 0) return;
    logged_free(l);
    htab_init(&l->table);
}

static struct logged *logged_new(struct patch_log *l, struct slice key, uint64_t hash)
{
    if (l->table.count == LOG_MAX) patch_log_clear(l);
    struct logged *i = mem_alloc(sizeof *i + key.len);
    *i = (struct logged){.key = slice_of(i + 1, key.len), .hash = hash};
    bytes_copy((uint8_t *)(i + 1), key.data, key.len);
    htab_insert(&l->table, hash, &i->key);
    return i;
}

/* Is the value before in the segment, near enough? */
static bool is_near(const struct logged *i, const struct patch_write *w)
{
    uint64_t apart = (uint64_t)w->value.len * APART_TIMES;
    if (apart < APART_MIN) apart = APART_MIN;
    return w->base != NULL && w->base->exists && w->base->version == i->version &&
           w->end - i->end <= apart;
}

bool patch_log_add(struct patch_log *l, const struct patch_write *w, struct patch *out)
{
    uint64_t hash = hash_bytes(w->key);
    struct logged *i = htab_find(&l->table, hash, w->key);
    bool is_patch = i != NULL && is_near(i, w);
    if (is_patch) {
        compare(w->base->value, w->value, out);
        is_patch = patch_bytes(out) < w->value.len / 2;
    }
    if (is_patch) {
        out->base_version = i->version;
        out->place = i->place;
    } else {
        if (i == NULL) i = logged_new(l, w->key, hash);
        i->place = w->place;
        i->end = w->end;
    }
    i->version = w->version;
    return is_patch;
}

/* ---- reading ---- */

struct patch_value {
    struct slice key; /* first; behind the struct */
    uint64_t version;
    struct buf value;
};

void patch_values_init(struct patch_values *v)
{
    htab_init(&v->table);
}

void patch_values_fini(struct patch_values *v)
{
    size_t at = 0;
    struct patch_value *i;
    while ((i = htab_next(&v->table, &at)) != NULL) {
        buf_fini(&i->value);
        mem_free(i);
    }
    htab_fini(&v->table);
}

void patch_values_clear(struct patch_values *v)
{
    if (v->table.count == 0) return;
    patch_values_fini(v);
    patch_values_init(v);
}

static enum err take_whole(struct patch_values *v, uint64_t version, const struct mutation *mu,
                           struct error *e)
{
    uint64_t hash = hash_bytes(mu->key);
    struct patch_value *i = htab_find(&v->table, hash, mu->key);
    if (i == NULL) {
        i = mem_new(sizeof *i + mu->key.len);
        i->key = slice_of(i + 1, mu->key.len);
        bytes_copy((uint8_t *)(i + 1), mu->key.data, mu->key.len);
        buf_init(&i->value);
        htab_insert(&v->table, hash, &i->key);
    }
    i->version = version;
    buf_clear(&i->value, SIZE_MAX);
    buf_append(&i->value, mu->value.data, mu->value.len);
    return i->value.is_failed ? error_set(e, ERR_NOMEM, "out of memory for a value of the journal")
                              : OK;
}

/* The bytes between the common parts take the place of those that the value had there. */
static enum err apply(struct buf *value, const struct patch *p, struct error *e)
{
    size_t end = p->len - p->from - p->bytes.len;
    if (p->len > p->base_len && buf_reserve(value, p->len - p->base_len) == NULL) {
        return error_set(e, ERR_NOMEM, "out of memory for a value of the journal");
    }
    memmove(value->data + p->len - end, value->data + p->base_len - end, end);
    bytes_copy(value->data + p->from, p->bytes.data, p->bytes.len);
    bytes_copy(value->data, p->head.data, p->head.len);
    value->len = p->len;
    return OK;
}

static enum err take_patch(struct patch_values *v, uint64_t version, const struct mutation *mu,
                           struct error *e)
{
    struct patch p;
    struct patch_value *i = htab_find(&v->table, hash_bytes(mu->key), mu->key);
    if (!patch_read(mu->value, &p)) return error_set(e, ERR_CORRUPT, "a malformed patch");
    if (i == NULL || i->version != p.base_version || i->value.len != p.base_len) {
        return error_set(e, ERR_CORRUPT,
                         "version %llu changes a value of version %llu, which does not precede it",
                         (unsigned long long)version, (unsigned long long)p.base_version);
    }
    i->version = version;
    return apply(&i->value, &p, e);
}

enum err patch_values_take(struct patch_values *v, uint64_t version, const struct mutation *mu,
                           struct error *e)
{
    if (mu->kind == MUTATION_PATCH) return take_patch(v, version, mu, e);
    bool is_long = mu->kind == MUTATION_SET && mu->value.len >= PATCH_VALUE_MIN;
    return is_long ? take_whole(v, version, mu, e) : OK;
}

bool patch_values_get(const struct patch_values *v, struct slice key, uint64_t version,
                      struct slice *value)
{
    const struct patch_value *i = htab_find(&v->table, hash_bytes(key), key);
    if (i == NULL || i->version != version) return false;
    *value = buf_slice(&i->value);
    return true;
}
