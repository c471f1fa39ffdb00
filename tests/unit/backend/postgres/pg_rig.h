/* pg_rig: the rig of local_help.h on a PostgreSQL of the test's own. */
#ifndef TESTS_UNIT_BACKEND_POSTGRES_PG_RIG_H
#define TESTS_UNIT_BACKEND_POSTGRES_PG_RIG_H

#include "backend/postgres/postgres.h"
#include "unit/backend/local_help.h"
#include "unit/backend/postgres/pg_server.h"

struct pg_rig {
    const struct pg_server *server;
    int64_t id; /* of the engine: one that no other test has */
    size_t batch_bytes, slice_bytes;
    int64_t retention_ms;
    uint64_t retention_bytes;
    int64_t lease_ms;  /* 0 = 60 */
    bool is_quorum;    /* commits need a standby */
    struct term *term; /* of the open journal */
};

/* On pg_shared, of an engine that no other test of the program has. Without PostgreSQL the test is
 * skipped. */
struct pg_rig pg_rig_fresh(void);
/* As rig_init; it is opened with rig_open. `p` outlives it. */
void pg_rig_init(struct rig *r, struct pg_rig *p);

#endif
