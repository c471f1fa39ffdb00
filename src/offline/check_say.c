/* check_say: how all parts of check tell what they found. */
#include <stdarg.h>
#include <stdio.h>

#include "offline/check_int.h"

void check_path(struct buf *out, const char *dir, const char *name)
{
    buf_clear(out, SIZE_MAX);
    buf_printf(out, "%s/%s", dir, name);
    buf_append_byte(out, '\0');
    buf_require(out);
}

void check_say(struct check *k, enum check_kind kind, const char *part, const char *place,
               const char *format, ...)
{
    char text[ERROR_TEXT_BYTES];
    struct check_line line = {.kind = kind, .part = part, .place = place, .text = text};
    uint64_t *count = kind == CHECK_DAMAGE ? &k->damaged : &k->notes;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (++*count <= CHECK_LINES_MAX) k->found(k->arg, &line);
}

void check_progress(const struct check *k, const char *part, uint64_t done, uint64_t total)
{
    if (k->progress != NULL) k->progress(k->arg, part, done, total);
}
