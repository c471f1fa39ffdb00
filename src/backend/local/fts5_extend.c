/* fts5_extend: see fts5_extend.h. */
#include "backend/local/fts5_extend.h"

#include <stddef.h>

#include "backend/local/ranking.h"
#include "backend/local/tokenizer.h"

/* As "Extending FTS5" in SQLite's document FTS5 says. */
static fts5_api *api_of(sqlite3 *db)
{
    fts5_api *api = NULL;
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(db, "SELECT fts5(?1)", -1, &stmt, NULL) == SQLITE_OK) {
        sqlite3_bind_pointer(stmt, 1, &api, "fts5_api_ptr", NULL);
        sqlite3_step(stmt);
    }
    sqlite3_finalize(stmt);
    return api;
}

int fts5_extend(sqlite3 *db)
{
    fts5_api *api = api_of(db);
    if (api == NULL) return SQLITE_OK;
    int rc = tokenizer_register(api);
    return rc == SQLITE_OK ? ranking_register(api) : rc;
}
