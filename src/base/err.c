#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *err_prefix(enum err code)
{
    static const char *const prefixes[ERR_COUNT] = {[OK] = "OK",
#define X(name, prefix) [name] = prefix,
                                                    ERR_LIST(X)
#undef X
    };
    INVARIANT(code >= 0 && code < ERR_COUNT);
    return prefixes[code];
}

const struct error_code error_codes[] = {
#define X(word, when, advice) {#word, when, advice},
    ERROR_CODES(X)
#undef X
        {NULL, NULL, NULL},
};

enum err error_set(struct error *e, enum err code, const char *format, ...)
{
    if (e == NULL) return code;
    e->code = code;
    va_list args;
    va_start(args, format);
    vsnprintf(e->text, sizeof e->text, format, args);
    va_end(args);
    for (char *p = e->text; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20) *p = ' ';
    }
    return code;
}

void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("tupled: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}
