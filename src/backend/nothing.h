/* nothing: a journal and a store that have nothing and take nothing: for a node that does not lead
 * (server/cluster.c). What a database on it is asked for is empty; each write is refused with
 * ERR_TRYAGAIN.
 */
#ifndef BACKEND_NOTHING_H
#define BACKEND_NOTHING_H

#include "backend/journal.h"
#include "backend/store.h"

void nothing_open(struct journal **journal, struct store **store);

#endif
