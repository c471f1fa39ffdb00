/* progress: the line of output.h. */
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "tool/output.h"
#include "tool/tool.h"

#define PROGRESS_TERMINAL_US 100000
#define PROGRESS_LINE_US 1000000

void progress_init(struct progress *p, const struct tool *t)
{
    p->is_terminal = isatty(STDERR_FILENO) != 0;
    p->is_shown = !t->is_quiet && (p->is_terminal || t->shows_progress);
    p->next_us = 0;
}

bool progress_is_due(struct progress *p)
{
    if (!p->is_shown || clock_mono_us() < p->next_us) return false;
    p->next_us = clock_mono_us() + (p->is_terminal ? PROGRESS_TERMINAL_US : PROGRESS_LINE_US);
    return true;
}

/* As much of it as fits into a line of the terminal, so that it can be written over. */
static int progress_width(void)
{
    struct winsize size = {.ws_col = 0};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 79;
    return size.ws_col - 1;
}

void progress_show(struct progress *p, const char *format, ...)
{
    char text[512];
    va_list args;
    if (!p->is_shown) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fflush(stdout);
    if (p->is_terminal) {
        fprintf(stderr, "\r%.*s\x1b[K", progress_width(), text);
    } else {
        fprintf(stderr, "%s\n", text);
    }
}

void progress_end(struct progress *p)
{
    if (p->is_shown) progress_clear();
}

void progress_clear(void)
{
    if (isatty(STDERR_FILENO) != 0) fprintf(stderr, "\r\x1b[K");
}
