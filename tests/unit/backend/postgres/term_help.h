/* term_help: nodes of one cluster, as terms without anything else, for tests of who leads. */
#ifndef TESTS_UNIT_BACKEND_POSTGRES_TERM_HELP_H
#define TESTS_UNIT_BACKEND_POSTGRES_TERM_HELP_H

#include "backend/postgres/term.h"
#include "unit/backend/postgres/pg_server.h"

#define LEASE_MS 400

/* Of an engine that no other test of the program has, pg_rig_fresh's neither. Without PostgreSQL
 * the test is skipped. */
int64_t term_fresh_id(void);
/* A node of that engine; the address is PostgreSQL's. */
struct term *term_node_at(const char *url, int64_t id, const char *name);
/* On pg_shared. */
struct term *term_node(int64_t id, const char *name);
/* It leads, at once. */
void term_expect_leads(struct term *t);

#endif
