/* log: see log.h. A line is made on the stack and written with one write(2), without a lock.
 * Reopening gives the new file the number of the old descriptor (dup3), so that a thread that is
 * writing notices nothing. */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/host.h"
#include "base/log_json.h"

/* Of the process: for threads whose host has no log of its own. */
static int log_fd = STDOUT_FILENO;
static char log_path[4096]; /* set once, by log_open; "" = standard output */
static enum log_level log_least = LOG_LEVEL_NOTICE;
static enum log_format log_form = LOG_FORMAT_TEXT;

enum err log_open(const char *path, enum log_level level, struct error *e)
{
    log_set_level(level);
    if (path == NULL || path[0] == '\0') return OK;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) return error_set(e, ERR_IO, "cannot open log file %s: %s", path, strerror(errno));
    log_fd = fd;
    snprintf(log_path, sizeof log_path, "%s", path);
    return OK;
}

enum err log_reopen(struct error *e)
{
    if (log_path[0] == '\0') return OK;
    int fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    /* The number stays: a thread that is writing a line needs no lock. */
    bool is_good = fd >= 0 && dup3(fd, log_fd, O_CLOEXEC) >= 0;
    int code = errno;
    if (fd >= 0) close(fd);
    if (is_good) return OK;
    return error_set(e, ERR_IO, "cannot open log file %s: %s", log_path, strerror(code));
}

bool log_has_file(void)
{
    return log_path[0] != '\0';
}

void log_set_level(enum log_level level)
{
    __atomic_store_n(&log_least, level, __ATOMIC_RELAXED);
}

void log_set_format(enum log_format format)
{
    __atomic_store_n(&log_form, format, __ATOMIC_RELAXED);
}

/* ---- lines ---- */

static size_t line_as_text(enum log_level level, int64_t now_ms, const char *text,
                           char out[LOG_TEXT_BYTES])
{
    time_t seconds = (time_t)(now_ms / 1000);
    struct tm tm;
    char date[32];
    localtime_r(&seconds, &tm);
    strftime(date, sizeof date, "%d %b %Y %H:%M:%S", &tm);
    int n = snprintf(out, LOG_TEXT_BYTES - 1, "%d:M %s.%03d %c %s", (int)getpid(), date,
                     (int)(now_ms % 1000), ".-*#"[level], text);
    size_t len = n < 0 ? 0 : (size_t)n;
    if (len > LOG_TEXT_BYTES - 2) len = LOG_TEXT_BYTES - 2;
    out[len++] = '\n';
    return len;
}

/* A line is one write, so that lines of several threads do not mix. */
static void line_write(enum log_level level, const struct log_field *fields, size_t count,
                       const char *text)
{
    char line[LOG_JSON_BYTES];
    int64_t now_ms = clock_wall_ms();
    size_t len;
    if (__atomic_load_n(&log_form, __ATOMIC_RELAXED) == LOG_FORMAT_JSON) {
        struct log_json_line what = {level, now_ms, (int)getpid(), text, fields, count};
        len = log_json(&what, line);
    } else {
        len = line_as_text(level, now_ms, text, line);
    }
    ssize_t ignored = write(log_fd, line, len);
    (void)ignored;
}

bool log_shows(enum log_level level)
{
    const struct log_sink *sink = host_mine->log;
    if (sink != NULL) return level >= sink->least && sink->line != NULL;
    return level >= __atomic_load_n(&log_least, __ATOMIC_RELAXED);
}

__attribute__((format(printf, 4, 0))) static void line_of(enum log_level level,
                                                          const struct log_field *fields,
                                                          size_t count, const char *format,
                                                          va_list args)
{
    const struct log_sink *sink = host_mine->log;
    char text[LOG_TEXT_BYTES];
    if (!log_shows(level)) return;
    vsnprintf(text, sizeof text, format, args);
    if (sink != NULL) {
        sink->line(sink->arg, level, text);
    } else {
        line_write(level, fields, count, text);
    }
}

void log_line(enum log_level level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    line_of(level, NULL, 0, format, args);
    va_end(args);
}

void log_event(enum log_level level, const struct log_field *fields, size_t count,
               const char *format, ...)
{
    va_list args;
    va_start(args, format);
    line_of(level, fields, count, format, args);
    va_end(args);
}
