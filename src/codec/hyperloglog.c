/* hyperloglog: see hyperloglog.h. Both encodings are read into an array of registers, where they
 * are merged and counted. A sparse one is changed in place, run by run, so that it gets the very
 * bytes that Redis gives it.
 */
#include "codec/hyperloglog.h"

#include <math.h>

#include "base/bytes.h"

#define INDEX_BITS 14
#define RANK_BITS 50 /* of the hash */
#define ENCODING 4   /* where it is in the head, and the estimate */
#define ESTIMATE 8
#define STALE 15 /* the byte of the head with the bit that says so */
#define STALE_BIT 0x80
#define DENSE 0
#define SPARSE 1
#define RUN_ZEROS 64
#define RUN_RANKS 4 /* registers of a run that are not 0 */
#define SPARSE_RANK_MAX 32
#define NEW_BYTES 18
/* No sparse one has more, since each run has a register. */
#define BYTES_MAX (HYPERLOGLOG_HEAD_BYTES + 2 * HYPERLOGLOG_REGISTERS)
#define JOINED 5 /* runs that are looked at when one has changed */
#define FEW 32   /* elements that are added without looking at all registers before */

static struct slice whole(const struct hyperloglog *h)
{
    return slice_of(h->data, h->len);
}

bool hyperloglog_is_dense(struct slice bytes)
{
    return bytes.data[ENCODING] == DENSE;
}

bool hyperloglog_is(struct slice bytes)
{
    if (bytes.len < HYPERLOGLOG_HEAD_BYTES || memcmp(bytes.data, "HYLL", 4) != 0) return false;
    if (hyperloglog_is_dense(bytes)) return bytes.len == HYPERLOGLOG_DENSE_BYTES;
    return bytes.data[ENCODING] == SPARSE;
}

size_t hyperloglog_room(struct slice bytes)
{
    bool is_long = bytes.len > HYPERLOGLOG_DENSE_BYTES && bytes.len <= BYTES_MAX;
    return is_long ? bytes.len : HYPERLOGLOG_DENSE_BYTES;
}

bool hyperloglog_begin(struct hyperloglog *h, uint8_t *room, struct slice bytes)
{
    static const uint8_t new_one[NEW_BYTES] = {'H', 'Y', 'L', 'L', SPARSE, [16] = 0x7f, 0xff};
    if (bytes.len > BYTES_MAX) return false;
    if (bytes.len == 0) bytes = slice_of(new_one, sizeof new_one);
    memcpy(room, bytes.data, bytes.len);
    *h = (struct hyperloglog){.data = room, .len = bytes.len};
    return true;
}

/* ---- the hash ---- */

/* MurmurHash64A, with the seed that Redis has. */
static uint64_t hash(struct slice s)
{
    const uint64_t by = 0xc6a4a7935bd1e995ULL;
    uint64_t h = 0xadc83b19ULL ^ (s.len * by);
    size_t at = 0;
    for (; at + 8 <= s.len; at += 8) {
        uint64_t k = get_u64_little(s.data + at) * by;
        h = (h ^ ((k ^ k >> 47) * by)) * by;
    }
    if (at < s.len) {
        uint64_t last = 0;
        for (size_t i = at; i < s.len; i++) last |= (uint64_t)s.data[i] << 8 * (i - at);
        h = (h ^ last) * by;
    }
    h = (h ^ h >> 47) * by;
    return h ^ h >> 47;
}

static uint8_t place_of(struct slice element, uint32_t *index)
{
    uint64_t h = hash(element);
    *index = (uint32_t)(h & (HYPERLOGLOG_REGISTERS - 1));
    uint64_t rest = h >> INDEX_BITS | 1ULL << RANK_BITS; /* zeros alone end there */
    return (uint8_t)(__builtin_ctzll(rest) + 1);
}

/* ---- dense ---- */

/* A register begins in one byte and may end in the next. Of the last one nothing is in a next. */
static uint8_t dense_get(const uint8_t *registers, uint32_t index)
{
    uint32_t bit = index * 6;
    const uint8_t *p = registers + (bit >> 3);
    unsigned shift = bit & 7;
    unsigned two = p[0] | (shift > 2 ? (unsigned)p[1] << 8 : 0);
    return (uint8_t)(two >> shift & 63);
}

static void dense_set(uint8_t *registers, uint32_t index, uint8_t rank)
{
    uint32_t bit = index * 6;
    uint8_t *p = registers + (bit >> 3);
    unsigned shift = bit & 7;
    p[0] = (uint8_t)((p[0] & ~(63u << shift)) | (unsigned)rank << shift);
    if (shift > 2) p[1] = (uint8_t)((p[1] & ~(63u >> (8 - shift))) | (unsigned)rank >> (8 - shift));
}

static void dense_merge(uint8_t to[HYPERLOGLOG_REGISTERS], const uint8_t *registers)
{
    for (size_t i = 0; i < HYPERLOGLOG_REGISTERS; i += 4, registers += 3) {
        uint32_t four = registers[0] | (uint32_t)registers[1] << 8 | (uint32_t)registers[2] << 16;
        for (size_t k = 0; k < 4; k++, four >>= 6) {
            uint8_t rank = four & 63;
            if (rank > to[i + k]) to[i + k] = rank;
        }
    }
}

/* ---- sparse ---- */

struct run {
    size_t at, bytes; /* where it is */
    uint32_t len;     /* registers */
    uint8_t rank;     /* of all of them */
};

/* The run that is at `at`. False: there is none, or half of one. */
static bool run_read(struct slice s, size_t at, struct run *out)
{
    if (at >= s.len) return false;
    uint8_t c = s.data[at];
    *out = (struct run){.at = at, .bytes = 1, .len = c + 1u};
    if ((c & 0x80) != 0) {
        out->rank = (uint8_t)((c >> 2 & 31) + 1);
        out->len = (c & 3) + 1;
    } else if ((c & 0x40) != 0) {
        if (s.len - at < 2) return false;
        out->bytes = 2;
        out->len = (uint32_t)((c & 63) << 8 | s.data[at + 1]) + 1;
    }
    return true;
}

/* `len` is what such a run may have; none is written for 0. The bytes that it takes. */
static size_t run_write(uint8_t *to, uint32_t len, uint8_t rank)
{
    if (len == 0) return 0;
    if (rank > 0) {
        to[0] = (uint8_t)(0x80 | (rank - 1) << 2 | (int)(len - 1));
    } else if (len <= RUN_ZEROS) {
        to[0] = (uint8_t)(len - 1);
    } else {
        to[0] = (uint8_t)(0x40 | (len - 1) >> 8);
        to[1] = (uint8_t)(len - 1);
        return 2;
    }
    return 1;
}

static bool sparse_merge(uint8_t to[HYPERLOGLOG_REGISTERS], struct slice s)
{
    struct run x;
    size_t at = HYPERLOGLOG_HEAD_BYTES;
    uint32_t index = 0;
    for (; run_read(s, at, &x); at += x.bytes, index += x.len) {
        if (index + x.len > HYPERLOGLOG_REGISTERS) return false;
        for (uint32_t i = index; x.rank > 0 && i < index + x.len; i++) {
            if (x.rank > to[i]) to[i] = x.rank;
        }
    }
    return at == s.len && index == HYPERLOGLOG_REGISTERS;
}

bool hyperloglog_merge(uint8_t registers[HYPERLOGLOG_REGISTERS], struct slice bytes)
{
    if (!hyperloglog_is_dense(bytes)) return sparse_merge(registers, bytes);
    dense_merge(registers, bytes.data + HYPERLOGLOG_HEAD_BYTES);
    return true;
}

static bool make_dense(struct hyperloglog *h)
{
    uint8_t registers[HYPERLOGLOG_REGISTERS] = {0};
    if (hyperloglog_is_dense(whole(h))) return true;
    if (!sparse_merge(registers, whole(h))) return false;
    uint8_t *to = h->data + HYPERLOGLOG_HEAD_BYTES;
    h->data[ENCODING] = DENSE;
    h->len = HYPERLOGLOG_DENSE_BYTES;
    memset(to, 0, HYPERLOGLOG_DENSE_BYTES - HYPERLOGLOG_HEAD_BYTES);
    for (uint32_t i = 0; i < HYPERLOGLOG_REGISTERS; i++) dense_set(to, i, registers[i]);
    return true;
}

/* Runs of the same rank, from `at` on, become one, as far as a run has room. What Redis does not
 * look at stays as it is: the bytes are to be the same. */
static void join_runs(struct hyperloglog *h, size_t at)
{
    struct run x;
    struct run next;
    for (int i = 0; i < JOINED && run_read(whole(h), at, &x); i++) {
        bool is_one = x.rank > 0 && run_read(whole(h), at + 1, &next) && next.rank == x.rank &&
                      x.len + next.len <= RUN_RANKS;
        if (is_one) {
            (void)run_write(h->data + at + 1, x.len + next.len, x.rank);
            memmove(h->data + at, h->data + at + 1, h->len - at - 1);
            h->len--;
        } else {
            at += x.bytes;
        }
    }
}

enum set { SET_DAMAGED, SET_SAME, SET_CHANGED };

static enum set dense_raise(struct hyperloglog *h, uint32_t index, uint8_t rank)
{
    uint8_t *registers = h->data + HYPERLOGLOG_HEAD_BYTES;
    if (dense_get(registers, index) >= rank) return SET_SAME;
    dense_set(registers, index, rank);
    return SET_CHANGED;
}

static enum set promote(struct hyperloglog *h, uint32_t index, uint8_t rank)
{
    return make_dense(h) ? dense_raise(h, index, rank) : SET_DAMAGED;
}

/* The run of the register becomes up to three: what is before it, itself, what is after it. */
static enum set sparse_raise(struct hyperloglog *h, uint32_t index, uint8_t rank)
{
    struct run x = {.at = HYPERLOGLOG_HEAD_BYTES};
    size_t previous = x.at;
    uint32_t first = 0;
    uint8_t runs[5];
    if (rank > SPARSE_RANK_MAX) return promote(h, index, rank);
    for (;; first += x.len) {
        size_t at = x.at + x.bytes;
        if (!run_read(whole(h), at, &x)) return SET_DAMAGED;
        if (index < first + x.len) break;
        previous = at;
    }
    if (x.rank >= rank) return SET_SAME;
    size_t len = run_write(runs, index - first, x.rank);
    len += run_write(runs + len, 1, rank);
    len += run_write(runs + len, first + x.len - 1 - index, x.rank);
    if (len > x.bytes && h->len + len - x.bytes > HYPERLOGLOG_SPARSE_BYTES_MAX) {
        return promote(h, index, rank);
    }
    uint8_t *to = h->data + x.at;
    memmove(to + len, to + x.bytes, h->len - x.at - x.bytes);
    memcpy(to, runs, len);
    h->len += len - x.bytes;
    join_runs(h, previous);
    return SET_CHANGED;
}

static enum set raise_one(struct hyperloglog *h, uint32_t index, uint8_t rank)
{
    return hyperloglog_is_dense(whole(h)) ? dense_raise(h, index, rank)
                                          : sparse_raise(h, index, rank);
}

/* A sparse one is walked over for each register: of many elements, only for those that change it.
 */
bool hyperloglog_add(struct hyperloglog *h, const struct slice *elements, size_t count,
                     bool *is_changed)
{
    uint8_t known[HYPERLOGLOG_REGISTERS];
    bool has_known = count > FEW && !hyperloglog_is_dense(whole(h));
    if (has_known) {
        memset(known, 0, sizeof known);
        (void)sparse_merge(known, whole(h)); /* of a damaged one those before the damage */
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t index = 0;
        uint8_t rank = place_of(elements[i], &index);
        if (has_known && known[index] >= rank) continue;
        enum set r = raise_one(h, index, rank);
        if (r == SET_DAMAGED) return false;
        if (has_known) known[index] = rank;
        *is_changed = *is_changed || r == SET_CHANGED;
    }
    return true;
}

bool hyperloglog_raise(struct hyperloglog *h, const uint8_t registers[HYPERLOGLOG_REGISTERS],
                       bool is_dense)
{
    if (is_dense && !make_dense(h)) return false;
    for (uint32_t i = 0; i < HYPERLOGLOG_REGISTERS; i++) {
        if (registers[i] > 0 && raise_one(h, i, registers[i]) == SET_DAMAGED) return false;
    }
    return true;
}

/* ---- the estimate ---- */

/* By Ertl's estimator, "New cardinality estimation algorithms for HyperLogLog sketches": sums that
 * are continued until they do not change any more. This one is for registers that are 0 ... */
static double sigma(double x)
{
    double y = 1;
    double z = x;
    double before = -1;
    if (x == 1) return (double)INFINITY;
    while (z != before) {
        before = z;
        x *= x;
        z += x * y;
        y += y;
    }
    return z;
}

/* ... and this one for those that can get no higher. */
static double tau(double x)
{
    double y = 1;
    double z = 1 - x;
    double before = -1;
    if (x == 0 || x == 1) return 0;
    while (z != before) {
        before = z;
        x = sqrt(x);
        y *= 0.5;
        z -= (1 - x) * (1 - x) * y;
    }
    return z / 3;
}

uint64_t hyperloglog_estimate(const uint8_t registers[HYPERLOGLOG_REGISTERS])
{
    const double alpha = 0.721347520444481703680; /* 1 / (2 ln 2) */
    const double m = HYPERLOGLOG_REGISTERS;
    uint32_t counts[64] = {0};
    for (size_t i = 0; i < HYPERLOGLOG_REGISTERS; i++) counts[registers[i] & 63]++;
    double z = m * tau((m - counts[RANK_BITS + 1]) / m);
    for (int k = RANK_BITS; k >= 1; k--) z = (z + counts[k]) * 0.5;
    z += m * sigma(counts[0] / m);
    double estimate = alpha * m * m / z;
    /* Registers that no hash gives: what Redis makes of an infinity. */
    return estimate < 0x1p63 ? (uint64_t)llround(estimate) : 1ULL << 63;
}

bool hyperloglog_kept(struct slice bytes, uint64_t *estimate)
{
    *estimate = get_u64_little(bytes.data + ESTIMATE);
    return (bytes.data[STALE] & STALE_BIT) == 0;
}

void hyperloglog_keep(struct hyperloglog *h, uint64_t estimate)
{
    put_u64_little(h->data + ESTIMATE, estimate);
}

void hyperloglog_forget(struct hyperloglog *h)
{
    h->data[STALE] |= STALE_BIT;
}
