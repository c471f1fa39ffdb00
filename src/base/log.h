/* log: lines to stdout or a file, in one of two forms. Any thread.
 *
 *   text  as Redis's:   4711:M 22 Nov 2026 12:21:24.123 * text
 *   json  {"time":"2026-11-22T12:21:24.123Z","level":"notice","pid":4711,"message":"text"}
 *         and after these the line's fields, if it has any: {...,"port":6379}
 *
 * An engine inside of another program has a sink of its own, in its host (host.h): its threads, and
 * those of the program while they work for it, give their lines to that.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/err.h"

#define LOG_TEXT_BYTES 1024 /* of a line's text, with its end; what is longer is cut */

enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };

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
/* From the next line on. */
void log_set_format(enum log_format format);
/* Is a line of this level written? */
bool log_shows(enum log_level level);
/* Do lines go to a file that log_open opened? */
bool log_has_file(void);
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What a line says in words, once more for programs: only the json form shows it. */
struct log_field {
    const char *name; /* not time, level, pid or message */
    const char *text; /* NULL: it is the number */
    int64_t number;
};
/* As log_line. `fields` may be NULL when count is 0. */
void log_event(enum log_level level, const struct log_field *fields, size_t count,
               const char *format, ...) __attribute__((format(printf, 4, 5)));

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
