/* elements_scan: HSCAN, SSCAN, ZSCAN: a page of the elements of a collection, and a cursor. An
 * element that is there all the time is told, whatever is written meanwhile, unless the key gets
 * another collection: then the cursor is at its end.
 */
#ifndef REQUEST_ELEMENTS_SCAN_H
#define REQUEST_ELEMENTS_SCAN_H

#include "request/elements.h"

struct glob;

struct elements_scan {
    struct slice key, cursor;
    struct slice pattern; /* data NULL = every name */
    int64_t count;
    bool names_only; /* NOVALUES, NOSCORES */
    /* What is made of them. */
    struct glob *glob;
    struct slice place; /* of the cursor */
};
/* "key cursor [MATCH pattern] [COUNT count]", and with [NOVALUES], [NOSCORES] */
extern const struct arguments elements_scan_arguments, hscan_arguments, zscan_arguments;

/* `tell` as in struct telling. */
ERR_MUST_USE enum err elements_scan_run(struct request *rq, enum collection_kind kind,
                                        void (*tell)(struct resp_writer *w, const struct element *x,
                                                     size_t *count));

#endif
