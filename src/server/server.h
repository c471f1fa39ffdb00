/* server: puts the parts together: configuration, backend, engine, commands, network; starts and
 * stops them in order. News that travels upward arrives here by callbacks.
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "db/db.h"
#include "server/config.h"

/* Runs until it is told to stop; CONFIG SET changes the settings. The process's exit status; errors
 * have been printed. `wrap` is for tests (db.h); NULL = none. */
int server_run(struct config *config, const char *executable, const struct db_wrap *wrap);

#endif
