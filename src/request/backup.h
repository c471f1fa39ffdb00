/* backup: the state of BGSAVE: env->backup, of src/command/admin/backup.c. Loop thread. */
#ifndef REQUEST_BACKUP_H
#define REQUEST_BACKUP_H

#include "backend/backend.h"

struct backup {
    struct backup_request request;
    struct buf path; /* of the one under way or the last; NUL-ended */
    bool is_running;
    int64_t started_us;
    int64_t took_s;             /* of the last; -1 = there was none */
    int64_t last_s;             /* Unix time of the last good one, or of the start */
    enum err last_result;       /* OK when there was none */
    uint64_t last_version;      /* in the last good one */
    uint64_t saves;             /* good ones */
    struct waiter_list waiting; /* SAVE */
};

/* At a start: what a killed server left of a backup that it was making goes. */
void backup_remove_parts(const char *dir);

#endif
