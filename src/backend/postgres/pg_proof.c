/* pg_proof: the statements that a connection asks its server by, and what the answers mean. */
#include "backend/postgres/pg_proof.h"

const char pg_proof_server_sql[] =
    "SELECT CASE WHEN pg_is_in_recovery() THEN '' ELSE "
    "(SELECT system_identifier FROM pg_control_system()) || '/' || "
    "substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) || '/' || "
    "coalesce(host(inet_server_addr()), '') || ':' || current_setting('port') END, "
    "pg_backend_pid()";
const char pg_proof_waits_sql[] =
    "SELECT CASE WHEN current_setting('synchronous_standby_names') = '' THEN 0 ELSE 1 END::int8, "
    "pg_conf_load_time(), clock_timestamp()";

enum err pg_proof_none(struct error *e)
{
    return error_set(e, ERR_IO,
                     "PostgreSQL does not wait for standbys; set synchronous_standby_names there, "
                     "or postgresql-durability here");
}

enum err pg_proof_begin(const struct pg_waits *w, int64_t *loaded_us, int64_t *left_us,
                        struct error *e)
{
    *loaded_us = 0;
    if (w->waits == 0) return pg_proof_none(e);
    /* A clock that was set back must not stop it for good. */
    int64_t age_us = w->age_us < 0 ? PG_PROOF_SETTLE_US : w->age_us;
    *left_us = PG_PROOF_SETTLE_US - age_us;
    if (*left_us > 0) return ERR_WAIT;
    *loaded_us = w->loaded_us;
    return OK;
}

enum err pg_proof_end(const struct pg_waits *w, int64_t *loaded_us, struct error *e)
{
    bool is_same = *loaded_us != 0 && w->loaded_us == *loaded_us;
    if (w->waits != 0 && is_same) return OK;
    *loaded_us = 0;
    if (w->waits == 0) return pg_proof_none(e);
    return error_set(e, ERR_IO,
                     "PostgreSQL reloaded its configuration during a commit; it is unknown "
                     "whether it waited for a standby");
}
