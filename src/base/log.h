/* log: lines in Redis's style, `pid:M date * text`, to stdout or a file. Any thread. An engine
 * inside of another program has a sink of its own, in its host (host.h): its threads, and those of
 * the program while they work for it, give their lines to that.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/err.h"

enum log_level {
    LOG_LEVEL_DEBUG,
    LOG_LEVEL_VERBOSE,
    LOG_LEVEL_NOTICE,
    LOG_LEVEL_WARNING,
    LOG_LEVEL_NOTHING
};

/* Lines below `level` are dropped. `path` empty = stdout; the file is appended to. */
ERR_MUST_USE enum err log_open(const char *path, enum log_level level, struct error *e);
/* Opens the file anew under its name: after it was renamed, lines go to a new one. On an error they
 * go on to the old one. Any thread. */
ERR_MUST_USE enum err log_reopen(struct error *e);
void log_set_level(enum log_level level);
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Takes lines, without date and end; any thread. */
struct log_sink {
    void (*line)(void *arg, enum log_level level, const char *text); /* NULL = they are dropped */
    void *arg;
    enum log_level least; /* below it they are dropped */
};

#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)
#define log_verbose(...) log_line(LOG_LEVEL_VERBOSE, __VA_ARGS__)
#define log_notice(...) log_line(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)

#endif
