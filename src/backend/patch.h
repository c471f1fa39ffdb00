/* patch: a long value in a journal as what a commit changed of it: the bytes between what it has in
 * common with the value before at its beginning and at its end. A bit that is set in a megabyte, or
 * a line that is appended, costs the journal some bytes and not the megabyte.
 *
 *   patch     version of the value before u64, place u64, length of the value before u32, common
 *             beginning u32, length of the value u32, length of the head u32; the head, the bytes
 *             between
 *
 * The head is what the value begins with in any case: a stored value begins with its length.
 *
 * Only journals know of patches: readers of a journal make whole values of them again. For that all
 * that a patch stands on is near: the value was written whole in the same segment of the journal,
 * in the batch at `place`, and since then as patches only, with not much between. So a segment can
 * be read without those before it.
 */
#ifndef BACKEND_PATCH_H
#define BACKEND_PATCH_H

#include "backend/backend.h"
#include "base/htab.h"

#define PATCH_VALUE_MIN (64u << 10) /* shorter values are always written whole */
#define PATCH_FIXED_BYTES 32
#define PATCH_HEAD_MAX 16 /* bytes of a head */

struct patch {
    uint64_t base_version;
    uint64_t place;
    uint32_t base_len;
    uint32_t from; /* where the common beginning ends, head included */
    uint32_t len;
    struct slice head;  /* borrowed, as the bytes */
    struct slice bytes; /* from `from` on */
};

static inline size_t patch_bytes(const struct patch *p)
{
    return PATCH_FIXED_BYTES + p->head.len + p->bytes.len;
}

/* `out` has room for patch_bytes. */
void patch_write(const struct patch *p, uint8_t *out);
/* False: it is none. */
bool patch_read(struct slice in, struct patch *p);

/* ---- writing: which values a segment has ---- */

struct patch_log;

struct patch_log *patch_log_new(void);
void patch_log_free(struct patch_log *l);
/* Another segment begins: values are written whole again. */
void patch_log_clear(struct patch_log *l);

/* The value that is about to be written, and where. */
struct patch_write {
    struct slice key;
    struct slice value;
    uint64_t version;
    const struct entry *base; /* the value before; NULL = none, or not known */
    uint64_t place;           /* of the batch */
    uint64_t end;             /* of what the segment has, that batch included */
};

/* True: as the patch, which borrows from the value. False: whole. */
bool patch_log_add(struct patch_log *l, const struct patch_write *w, struct patch *out);

/* ---- reading: the values that a segment has ---- */

struct patch_values {
    struct htab table;
};

void patch_values_init(struct patch_values *v);
void patch_values_fini(struct patch_values *v);
/* Another segment begins. */
void patch_values_clear(struct patch_values *v);
/* A mutation of the journal, in order; all others than long values and patches are passed over.
 * ERR_CORRUPT: a patch of what was not taken before. */
ERR_MUST_USE enum err patch_values_take(struct patch_values *v, uint64_t version,
                                        const struct mutation *mu, struct error *e);
/* Sets the value that the key got with this version, borrowed until the next change; false: none
 * that was taken. */
bool patch_values_get(const struct patch_values *v, struct slice key, uint64_t version,
                      struct slice *value);

#endif
