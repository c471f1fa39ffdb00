/* string_lcs: LCS, the longest common subsequence of two values.
 *
 * It takes as many steps as the product of the two lengths, so that has a limit, and goes on in the
 * next turn after LCS_STEPS_MAX of them. Row i of the table of lengths is made of row i - 1; of all
 * rows only one bit for each place is kept: whether the way back goes up from there (else left).
 * Which of several longest ones is found is what Redis finds.
 */
#include "base/mem.h"
#include "command/string/string_int.h"
#include "request/block.h"
#include "request/keys.h"
#include "request/table.h"

#define LCS_BYTES_MAX (1u << 20)    /* of each value */
#define LCS_PLACES_MAX (1ull << 27) /* of the table: 16 MB of bits */
#define LCS_EXEC_MAX (1ull << 22)   /* the same in EXEC, which is one turn */
#define LCS_STEPS_MAX (4ull << 20)  /* places that are filled in one turn */

struct lcs_words {
    struct slice a, b;
    struct slices words;
};
/* What is wrong with the values comes before what is wrong with the options, as in Redis. */
ARGUMENTS_WITH(lcs_arguments, struct lcs_words, "key1 key2 [word ...]",
               WITH(.shown = "key1 key2 [LEN] [IDX] [MINMATCHLEN min-match-len] [WITHMATCHLEN]"),
               ARG_KEY(struct lcs_words, a, "key1", 0), ARG_KEY(struct lcs_words, b, "key2", 0),
               ARG_WORDS(struct lcs_words, words, "word"));

struct lcs_options {
    bool len_only, with_ranges, with_lengths;
    int64_t length_min; /* of a range */
};

struct lcs {
    struct pending pending; /* first */
    struct buf a, b;        /* the values */
    uint32_t *row;          /* b.len + 1 lengths */
    uint8_t *up;            /* a.len * b.len bits */
    size_t done;            /* rows */
    uint64_t depends;
};

static void lcs_free(struct pending *p)
{
    struct lcs *l = (struct lcs *)p;
    buf_fini(&l->a);
    buf_fini(&l->b);
    mem_free(l->row);
    mem_free(l->up);
    mem_free(l);
}

static size_t lcs_bytes(const struct pending *p)
{
    const struct lcs *l = (const struct lcs *)p;
    return l->a.len + l->b.len * 5 + l->a.len * l->b.len / 8;
}

static enum err parse_lcs(struct request *rq, const struct slices *words, struct lcs_options *o)
{
    enum err r = OK;
    *o = (struct lcs_options){0};
    for (size_t at = 0; at < words->count && r == OK; at++) {
        if (slice_is_word(words->items[at], "IDX")) {
            o->with_ranges = true;
        } else if (slice_is_word(words->items[at], "LEN")) {
            o->len_only = true;
        } else if (slice_is_word(words->items[at], "WITHMATCHLEN")) {
            o->with_lengths = true;
        } else if (slice_is_word(words->items[at], "MINMATCHLEN") && at + 1 < words->count) {
            r = string_integer(rq, words->items[++at], &o->length_min);
        } else {
            r = string_syntax(rq);
        }
    }
    if (r == OK && o->with_ranges && o->len_only) {
        r = error_set(&rq->error, ERR_SYNTAX,
                      "If you want both the length and indexes, please just use IDX.");
    }
    return r;
}

/* ---- the table ---- */

static enum err lcs_values(struct request *rq, struct slice *a, struct slice *b)
{
    const struct lcs_words *x = rq->bound;
    bool exists = false;
    enum err r = string_read(rq, x->a, &exists, a);
    if (r == OK) r = string_read(rq, x->b, &exists, b);
    if (r != ERR_TYPE) return r;
    return error_set(&rq->error, ERR_SYNTAX, "The specified keys must contain string values");
}

static enum err lcs_fits(struct request *rq, struct slice a, struct slice b)
{
    unsigned long long max = rq->overlay != NULL ? LCS_EXEC_MAX : LCS_PLACES_MAX;
    if (a.len <= LCS_BYTES_MAX && b.len <= LCS_BYTES_MAX && a.len * b.len <= max) return OK;
    return error_set(&rq->error, ERR_LIMIT,
                     "LCS of %zu and %zu bytes; 1 MB each is allowed, and a product of %llu%s",
                     a.len, b.len, max, rq->overlay != NULL ? " in EXEC" : "");
}

static enum err lcs_begin(struct request *rq, struct lcs **out)
{
    struct slice a = {0};
    struct slice b = {0};
    enum err r = lcs_values(rq, &a, &b);
    if (r == OK) r = lcs_fits(rq, a, b);
    if (r == OK) r = request_take_steps(rq, a.len * b.len);
    if (r != OK) return r;
    struct lcs *l = mem_new(sizeof *l);
    l->pending.free = lcs_free;
    l->pending.bytes = lcs_bytes;
    rq->client->run.pending = &l->pending;
    buf_append(&l->a, a.data, a.len);
    buf_append(&l->b, b.data, b.len);
    l->row = mem_new_try((b.len + 1) * sizeof *l->row);
    l->up = mem_new_try(a.len * b.len / 8 + 1);
    l->depends = rq->depends;
    *out = l;
    if (!l->a.is_failed && !l->b.is_failed && l->row != NULL && l->up != NULL) return OK;
    return error_set(&rq->error, ERR_NOMEM, "out of memory for the table of LCS");
}

static void lcs_row(struct lcs *l, size_t i)
{
    uint32_t diagonal = 0; /* of the row before, one to the left */
    uint64_t bit = i * l->b.len;
    uint8_t byte = l->a.data[i];
    for (size_t j = 1; j <= l->b.len; j++, bit++) {
        uint32_t above = l->row[j];
        uint32_t left = l->row[j - 1];
        bool is_up = above > left;
        if (is_up) l->up[bit >> 3] |= (uint8_t)(1u << (bit & 7));
        l->row[j] = l->b.data[j - 1] == byte ? diagonal + 1 : is_up ? above : left;
        diagonal = above;
    }
}

/* Is all of the table filled? Else the rest is for later turns. */
static bool lcs_fill(struct request *rq, struct lcs *l)
{
    uint64_t steps = 0;
    while (l->done < l->a.len && (steps < LCS_STEPS_MAX || rq->overlay != NULL)) {
        lcs_row(l, l->done++);
        steps += l->b.len + 1;
    }
    return l->done == l->a.len;
}

/* ---- the way back ---- */

struct lcs_range {
    size_t a, b, len; /* len 0 = none */
};

struct lcs_reply {
    const struct lcs_options *options;
    struct buf ranges;
    size_t count;
    struct resp_writer w;
};

static void range_add(struct lcs_reply *x, struct lcs_range *range)
{
    size_t len = range->len;
    size_t a = range->a;
    size_t b = range->b;
    range->len = 0;
    if (len == 0 || (int64_t)len < x->options->length_min) return;
    resp_array(&x->w, x->options->with_lengths ? 3 : 2);
    resp_array(&x->w, 2);
    resp_int(&x->w, (int64_t)a);
    resp_int(&x->w, (int64_t)(a + len - 1));
    resp_array(&x->w, 2);
    resp_int(&x->w, (int64_t)b);
    resp_int(&x->w, (int64_t)(b + len - 1));
    if (x->options->with_lengths) resp_int(&x->w, (int64_t)len);
    x->count++;
}

/* From the ends to the beginnings: the bytes, before `to` if that is not NULL, and the ranges. */
static void walk_back(const struct lcs *l, struct lcs_reply *x, uint8_t *to)
{
    struct lcs_range range = {0};
    size_t i = l->a.len;
    size_t j = l->b.len;
    while (i > 0 && j > 0) {
        uint64_t bit = (i - 1) * l->b.len + j - 1;
        if (l->a.data[i - 1] == l->b.data[j - 1]) {
            if (to != NULL) *--to = l->a.data[i - 1];
            range = (struct lcs_range){.a = --i, .b = --j, .len = range.len + 1};
            continue;
        }
        range_add(x, &range);
        if ((l->up[bit >> 3] >> (bit & 7) & 1) != 0) {
            i--;
        } else {
            j--;
        }
    }
    range_add(x, &range);
}

static enum err lcs_reply(struct request *rq, const struct lcs *l, const struct lcs_options *o)
{
    size_t len = l->row[l->b.len];
    struct lcs_reply x = {.options = o};
    if (o->len_only) {
        resp_int(rq->w, (int64_t)len);
        return OK;
    }
    buf_init(&x.ranges);
    x.w = (struct resp_writer){.out = &x.ranges, .proto = rq->client->settings.proto};
    if (o->with_ranges) {
        walk_back(l, &x, NULL);
        resp_map(rq->w, 2);
        resp_bulk_str(rq->w, "matches");
        resp_array(rq->w, x.count);
        buf_append(rq->w->out, x.ranges.data, x.ranges.len);
        resp_bulk_str(rq->w, "len");
        resp_int(rq->w, (int64_t)len);
    } else {
        uint8_t *text = arena_alloc(rq->arena, len + 1);
        walk_back(l, &x, text + len);
        resp_bulk(rq->w, slice_of(text, len));
    }
    bool has_failed = x.ranges.is_failed;
    buf_fini(&x.ranges);
    return has_failed ? error_set(&rq->error, ERR_NOMEM, "out of memory for the ranges") : OK;
}

static enum err lcs_run(struct request *rq)
{
    const struct lcs_words *x = rq->bound;
    struct lcs *l = (struct lcs *)rq->client->run.pending;
    struct lcs_options o;
    enum err r = OK;
    if (l == NULL) {
        struct slice a = {0};
        struct slice b = {0};
        r = lcs_values(rq, &a, &b); /* what is wrong with them comes first, as in Redis */
    }
    if (r == OK) r = parse_lcs(rq, &x->words, &o);
    if (r == OK && l == NULL) r = lcs_begin(rq, &l);
    if (r != OK) return r;
    depends_raise(&rq->depends, l->depends);
    if (!lcs_fill(rq, l)) return client_yield(rq, NULL);
    return lcs_reply(rq, l, &o);
}

const struct command cmd_lcs = {
    .name = "lcs",
    .flags = CMD_STRING | CMD_READ | CMD_FOLLOWER,
    .key_flags = KEY_RO | KEY_ACCESS,
    .group = "string",
    .summary = "Returns the longest common subsequence of two values.",
    .arguments = &lcs_arguments,
    .reply = "The subsequence; with `LEN` its length; with `IDX` its ranges in both values. A "
             "value has at most 1 MB, and the product of both lengths is at most 134217728 (16 MB "
             "of memory), in EXEC 4194304.",
    .run = lcs_run,
};
