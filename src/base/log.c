#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

static int log_fd = STDOUT_FILENO;
static enum log_level log_least = LOG_LEVEL_NOTICE;

enum err log_open(const char *path, enum log_level level, struct error *e)
{
    log_set_level(level);
    if (path == NULL || path[0] == '\0') return OK;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) return error_set(e, ERR_IO, "cannot open log file %s: %s", path, strerror(errno));
    log_fd = fd;
    return OK;
}

void log_set_level(enum log_level level)
{
    __atomic_store_n(&log_least, level, __ATOMIC_RELAXED);
}

void log_line(enum log_level level, const char *format, ...)
{
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
    va_list args;
    va_start(args, format);
    int m = vsnprintf(line + n, sizeof line - (size_t)n - 1, format, args);
    va_end(args);
    size_t len = (size_t)n + (m > 0 ? (size_t)m : 0);
    if (len > sizeof line - 2) len = sizeof line - 2;
    line[len++] = '\n';
    ssize_t ignored = write(log_fd, line, len);
    (void)ignored;
}
