/* fields: some fields of a hash, by what the entry of its key holds: for indexes and filters, which
 * see a hash as an object of texts (docs/hashes.md). Nothing is written, and a field is there until
 * its row goes, expired or not: its expiry_ms says when it ends.
 */
#ifndef COLLECTION_FIELDS_H
#define COLLECTION_FIELDS_H

#include "codec/collection.h"
#include "engine/engine.h"

/* The fields of these names into `out`, of which name.data NULL = it is not there. What is no hash
 * has none. Slices are borrowed from `value` and the rows. ERR_WAIT, ERR_CORRUPT. */
ERR_MUST_USE enum err fields_find(uint16_t database, struct slice value,
                                  const struct field_names *names, const struct row_source *from,
                                  struct element *out, struct error *e);
/* Where rows come from that are as the transaction of a view (`arg`) has them now. */
enum err fields_source(const struct row_source *from, const struct slice *keys, size_t count,
                       struct entry *out, struct error *e);
/* The same, with rows as the transaction of the view has them now. */
ERR_MUST_USE enum err fields_of_view(struct view *v, uint16_t database, struct slice value,
                                     const struct field_names *names, struct element *out,
                                     struct error *e);

/* Has the transaction written one of them? `value` is a spread hash. */
bool fields_are_written(struct view *v, uint16_t database, struct slice value,
                        const struct field_names *names);

#endif
