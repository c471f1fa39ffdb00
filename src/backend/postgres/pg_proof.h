/* pg_proof: what a connection proves about its server: which one it is, and that its commits wait
 * for standbys.
 *
 * A server is named "system/timeline/address:port": of its cluster's initdb, of the promotions
 * since, and where it is. Two servers that were promoted from the same one differ in the last part.
 * Who has another name is another server, whatever it has.
 *
 * A commit is safe if it waited for a standby. The server tells only what synchronous_standby_names
 * is now, and when its configuration was loaded. When the setting is emptied, commits that wait are
 * let go without a word (SyncRepUpdateSyncStandbysDefined in PostgreSQL's syncrep.c). So it is
 * asked after each commit, in the same packet: the configuration must be the one that was there
 * before the statement. The server's processes are told of a new one before those that wait are
 * let go (process_pm_reload_request in postmaster.c), and take it before their next statement. A
 * new configuration counts only after PG_PROOF_SETTLE_US: until then commits may not wait although
 * the setting says so.
 */
#ifndef BACKEND_POSTGRES_PG_PROOF_H
#define BACKEND_POSTGRES_PG_PROOF_H

#include "base/err.h"
#include "base/slice.h"

#define PG_SERVER_BYTES 160
#define PG_PROOF_SETTLE_US 250000

/* The name; on a server that stands by it is "". And the number of the process that says it. */
extern const char pg_proof_server_sql[];
/* Three numbers: does it wait (1, 0); when was the configuration loaded; what time is it there. The
 * times are those of PostgreSQL, in us since 2000 (timestamptz in binary). */
extern const char pg_proof_waits_sql[];

struct pg_waits {
    int64_t waits, loaded_us, age_us;
};

/* `loaded_us`: of the configuration under which commits are safe; 0 = not known. OK: they are;
 * ERR_WAIT: it is too new, ask again in *left_us; ERR_IO: it waits for none (pg_proof_none). */
ERR_MUST_USE enum err pg_proof_begin(const struct pg_waits *w, int64_t *loaded_us, int64_t *left_us,
                                     struct error *e);
ERR_MUST_USE enum err pg_proof_none(struct error *e);
/* After a commit: did it wait? ERR_IO: it is not known. */
ERR_MUST_USE enum err pg_proof_end(const struct pg_waits *w, int64_t *loaded_us, struct error *e);

#endif
