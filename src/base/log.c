#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/host.h"

/* Of the process: for threads whose host has no log of its own. */
static int log_fd = STDOUT_FILENO;
static char log_path[4096]; /* set once, by log_open; "" = standard output */
static enum log_level log_least = LOG_LEVEL_NOTICE;

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
    /* The number stays: whoever is writing a line needs no lock. */
    bool is_good = fd >= 0 && dup3(fd, log_fd, O_CLOEXEC) >= 0;
    int code = errno;
    if (fd >= 0) close(fd);
    if (is_good) return OK;
    return error_set(e, ERR_IO, "cannot open log file %s: %s", log_path, strerror(code));
}

void log_set_level(enum log_level level)
{
    __atomic_store_n(&log_least, level, __ATOMIC_RELAXED);
}

__attribute__((format(printf, 3, 0))) static void sink_line(const struct log_sink *sink,
                                                            enum log_level level,
                                                            const char *format, va_list args)
{
    char text[1024];
    if (level < sink->least || sink->line == NULL) return;
    vsnprintf(text, sizeof text, format, args);
    sink->line(sink->arg, level, text);
}

void log_line(enum log_level level, const char *format, ...)
{
    va_list args;
    if (host_mine->log != NULL) {
        va_start(args, format);
        sink_line(host_mine->log, level, format, args);
        va_end(args);
        return;
    }
    if (level < __atomic_load_n(&log_least, __ATOMIC_RELAXED)) return;
    char line[1024];
    int64_t now_ms = clock_wall_ms();
    time_t seconds = (time_t)(now_ms / 1000);
    struct tm tm;
    localtime_r(&seconds, &tm);
    char date[32];
    strftime(date, sizeof date, "%d %b %Y %H:%M:%S", &tm);
    int n = snprintf(line, sizeof line, "%d:M %s.%03d %c ", (int)getpid(), date,
                     (int)(now_ms % 1000), ".-*#"[level]);
    va_start(args, format);
    int m = vsnprintf(line + n, sizeof line - (size_t)n - 1, format, args);
    va_end(args);
    size_t len = (size_t)n + (m > 0 ? (size_t)m : 0);
    if (len > sizeof line - 2) len = sizeof line - 2;
    line[len++] = '\n';
    ssize_t ignored = write(log_fd, line, len);
    (void)ignored;
}
