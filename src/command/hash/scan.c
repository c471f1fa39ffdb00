/* scan: HSCAN, HRANDFIELD: some of the fields of a hash. */
#include "command/hash/hash_int.h"
#include "request/elements_pick.h"
#include "request/elements_scan.h"

static void tell_field(struct resp_writer *w, const struct element *x, size_t *count)
{
    resp_bulk(w, x->name);
    ++*count;
}

static void tell_pair(struct resp_writer *w, const struct element *x, size_t *count)
{
    tell_field(w, x, count);
    resp_bulk(w, x->value);
    ++*count;
}

static enum err hscan_run(struct request *rq)
{
    const struct elements_scan *a = rq->bound;
    return elements_scan_run(rq, COLLECTION_HASH, a->names_only ? tell_field : tell_pair);
}
HASH_COMMAND(hscan, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Iterates over the fields of a hash. Cursor 0 means that the iteration is complete.",
             hscan_arguments, "`[cursor, [field, value ...]]`; with `NOVALUES` without the values.",
             hscan_run);

/* ---- HRANDFIELD ---- */

ELEMENTS_PICK_ARGUMENTS(hrandfield, "WITHVALUES");

static void reply_fields(struct resp_writer *w, const struct element *items, size_t count,
                         bool with_values)
{
    bool is_paired = with_values && w->proto == 3;
    resp_array(w, with_values && !is_paired ? count * 2 : count);
    for (size_t i = 0; i < count; i++) {
        if (is_paired) resp_array(w, 2);
        resp_bulk(w, items[i].name);
        if (with_values) resp_bulk(w, items[i].value);
    }
}

static enum err hrandfield_run(struct request *rq)
{
    return elements_pick_run(rq, COLLECTION_HASH, rq->bound, reply_fields);
}
HASH_COMMAND(hrandfield, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Returns random fields of a hash.", hrandfield_arguments,
             "A field, or nil. With `count`, an array of distinct fields; if it is negative, of "
             "that many, which may repeat.",
             hrandfield_run);
