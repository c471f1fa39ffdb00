/* collection_audit: whether the rows of all collections are those that their heads say: every spread
 * collection has one owner row, as many rows of each kind as its head says, and the layer answers
 * "may be" for its key; every owner row is of one, and so is every row of an element once what was
 * forgotten has been removed.
 */
#ifndef TESTS_UNIT_COLLECTION_COLLECTION_AUDIT_H
#define TESTS_UNIT_COLLECTION_COLLECTION_AUDIT_H

#include "collection/collection_int.h"

struct collection_owner; /* a spread collection, and what was found of it */

struct collection_audit {
    struct backend *backend;
    struct collections *all;
    struct arena *arena;
    unsigned databases;      /* that are looked at, from 0 on */
    bool (*turn)(void *arg); /* lets everything that waits run, once; false after a fatal error */
    void *arg;
    bool has_garbage; /* what was forgotten may be there still */
    /* result */
    size_t spread; /* so many spread collections */
    /* Of the run: */
    struct collection_owner *owners;
    size_t cap;
};

/* Fails the test on what is wrong. False after a fatal error: nothing is known. */
bool collection_audit_run(struct collection_audit *a);

#endif
