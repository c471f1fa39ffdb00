/* hash: 64 bits of some bytes, by XXH3 (xxHash's specification, doc/xxhash_spec.md). Two that are
 * not mixed up:
 *
 *   hash_bytes      for tables in memory. It has a secret of the process: else it is easy to make
 *                   keys without end that have one hash, and each is then compared with all others
 *   checksum_bytes  for what is stored, or compared with what another process has: the same
 *                   everywhere. Bytes can be made to have it: it finds damage, not forgery
 *
 * Any thread.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/slice.h"

uint64_t hash_bytes(struct slice s);
uint64_t checksum_bytes(struct slice s);

/* For tests that are to come to the same order of things each time: no secret from now on. Before
 * the first hash_bytes. */
void hash_fix(void);

#endif
