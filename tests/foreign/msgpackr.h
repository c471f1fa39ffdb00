/* msgpackr: values as the npm package msgpackr writes them with structuredClone (MessagePack with
 * prefix tags: an extension says what the value after it is), from and to the stored form
 * (codec/value.h). Pure functions over bytes. No part of the product: with it the tests have values
 * of all types out of one more library that others wrote.
 *
 *   d4 72 n, array of names, values    an object; from then on n (40 to 7f) and the values is
 *                                      another with these names: a "record"
 *   d4 73 00, array                    Set
 *   d4 78 00, [source, flags]          RegExp
 *   d4 65 00, [name, message, cause]   Error
 *   d6 69 id, value                    a value that is used again
 *   d6 70 id                           .. here
 *
 * A u64 and what is kept as V8 writes it have no form there; they are the extensions 55 and 56 that
 * they are in the stored form; a program tells msgpackr about them with addExtension.
 *
 * With records every type of the stored form goes both ways, but that:
 *
 *   - A Buffer is bytes; a Uint8Array is a typed array.
 *   - A hole in an array is undefined, and -0 is 0: msgpackr writes them so.
 *   - The stack of an Error is not written; msgpackr has no place for it. Any name is kept.
 *   - Strings with half of a pair of surrogates, two keys of a Map that look the same, bundled
 *     strings, and records that were not defined in the same value (shared structures) are refused.
 *
 * With useRecords:false msgpackr itself reads every map as an object; here a map whose keys are all
 * strings is one, and any other a Map.
 */
#ifndef TESTS_FOREIGN_MSGPACKR_H
#define TESTS_FOREIGN_MSGPACKR_H

#include "base/buf.h"
#include "base/err.h"

enum msgpackr_mode {
    MSGPACKR_RECORDS, /* its default: objects are records, a MessagePack map is a Map */
    MSGPACKR_MAPS     /* useRecords:false: a map whose keys are all strings is an object */
};

/* Appends the stored form; it passes value_check. Records name their keys once for many objects, so
 * the stored form may be much longer: `bytes_max` (at most 2^30) is where it ends, with ERR_LIMIT.
 * ERR_VALUE "invalid msgpackr value: <what> at offset <n>", ERR_NOMEM. Then `out` is as before. */
ERR_MUST_USE enum err msgpackr_to_value(struct slice packed, enum msgpackr_mode mode,
                                        size_t bytes_max, struct buf *out, struct error *e);

/* A stored value, which has passed value_check, appended. Lost is the stack of an Error, and with
 * MSGPACKR_MAPS what tells a Map from an object when all its keys are strings. Never fails but for
 * memory (sticky in out). */
void value_to_msgpackr(struct slice value, enum msgpackr_mode mode, struct buf *out);

#endif
