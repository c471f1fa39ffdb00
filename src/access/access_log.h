/* access_log: what was refused, newest first, for ACL LOG: commands, keys, channels and databases
 * that a user had no right to, and logins that failed. The same within a minute is one entry with a
 * count. Bounded; belongs to the loop thread.
 */
#ifndef ACCESS_ACCESS_LOG_H
#define ACCESS_ACCESS_LOG_H

#include "base/slice.h"

enum access_log_reason {
    ACCESS_LOG_AUTH,
    ACCESS_LOG_COMMAND,
    ACCESS_LOG_KEY,
    ACCESS_LOG_CHANNEL,
    ACCESS_LOG_DATABASE,
    ACCESS_LOG_REASONS
};

struct access_log_entry {
    enum access_log_reason reason;
    bool is_in_transaction;
    struct slice object, user, client; /* at most the first bytes of each are kept */
    /* Of the log: */
    uint64_t id, count;
    int64_t created_ms, updated_ms; /* Unix time */
};

struct access_log;

struct access_log *access_log_new(void);
void access_log_free(struct access_log *log);
/* Older ones are forgotten at once. */
void access_log_set_max(struct access_log *log, size_t entries);
/* `entry->client` says who did it; the members of the log are ignored. */
void access_log_add(struct access_log *log, const struct access_log_entry *entry);
void access_log_reset(struct access_log *log);
size_t access_log_count(const struct access_log *log);
/* Since the start, whether kept or not. */
uint64_t access_log_total(const struct access_log *log, enum access_log_reason reason);
/* Newest first; good until the next change. NULL when i is past the last. */
const struct access_log_entry *access_log_at(const struct access_log *log, size_t i);

#endif
