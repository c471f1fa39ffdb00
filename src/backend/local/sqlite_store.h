/* sqlite_store: the store of this machine, one SQLite database, tupled.db. Written only by the
 * store thread; each reader is a connection of its own. backend/store.h has the contract.
 *
 *   kv(k BLOB PRIMARY KEY, ver INTEGER, exp INTEGER, v) WITHOUT ROWID
 *   large(id INTEGER PRIMARY KEY, v BLOB): values that are too long for kv (store_large.c)
 *   meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID: 'database_id', 'applied', 'timeline'
 *     (lineage.h; only after a restore)
 *   counts(d INTEGER PRIMARY KEY, entries, expiring, bytes): backend/store_counts.h
 *   aside(k, ver, exp, v) as kv; v NULL = removed: entries that belong into a part of kv that is
 *     damaged and can therefore not be written. They are newer than what kv may have of them.
 *   places(d INTEGER PRIMARY KEY, g INTEGER): the generation of a database's rows, if not 0
 *   forgotten(start BLOB PRIMARY KEY, end BLOB, is_damaged INTEGER): ranges of kv that are not
 *     read any more; what is damaged is not tried again before the next start
 *   dropped, text, and what text names: store_text.h
 *
 * `k` is database, generation (store_place.c), space, tuple bytes; in aside it is an internal key,
 * which has no generation. `ver` the commit version, `exp` wall-clock
 * ms or 0, `v` the value, or an integer, the id of a large one. application_id is "tupl",
 * user_version the format. Every page has a checksum (page_sum.h).
 *
 * Applying a memtable is several transactions (slices), each durable at its COMMIT; the last one
 * moves 'applied'. A crash in between leaves a mixture that the journal's replay makes whole again,
 * because replay is idempotent; and while the server runs the memtable stays in front of the
 * mixture.
 *
 * may_wait false: what is in the page cache is read, what is not is refused (vfs.h).
 */
#ifndef BACKEND_LOCAL_SQLITE_STORE_H
#define BACKEND_LOCAL_SQLITE_STORE_H

#include "backend/local/journal_format.h"
#include "backend/store.h"

#define STORE_FORMAT 5

struct lineage;
struct text_ops;

struct sqlite_options {
    const char *path;
    uint64_t cache_bytes; /* page cache of the writer; a reader gets reader_cache_bytes */
    uint64_t reader_cache_bytes;
    const struct text_ops *text_ops; /* NULL = text indexes are not kept; backend/text.h */
    uint64_t flush_rows; /* a database of at most so many rows is flushed by removing them; a test
                          * has other figures; 0 = as usual (store_flush.c) */
};

/* Opens or creates. ERR_FORMAT when it is newer than this program or no database of ours. */
ERR_MUST_USE enum err sqlite_open(const struct sqlite_options *options, struct store **out,
                                  struct error *e);
/* Borrowed; DATABASE_ID_BYTES. */
const uint8_t *sqlite_database_id(const struct store *s);
/* Borrowed. */
const struct lineage *sqlite_lineage(const struct store *s);
/* The database file, open for reading. */
int sqlite_fd(const struct store *s);

/* ---- files that are not in use (store_own.c) ---- */

/* A copy becomes a database of its own: DATABASE_ID_BYTES of `id`, and a lineage. */
ERR_MUST_USE enum err sqlite_own(const char *path, const uint8_t *id, const struct lineage *l,
                                 struct error *e);
/* Takes all data of these databases out of a copy, so that nothing of it is in the file. */
ERR_MUST_USE enum err sqlite_omit(const char *path, const uint16_t *databases, size_t count,
                                  const struct text_ops *text_ops, struct error *e);

#endif
