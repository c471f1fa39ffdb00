/* err: the lists of err.h as tables, the texts of errors, and die. die gives the host a chance to
 * survive first; only when that returns does the process end. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/host.h"

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

const char *err_lead(enum err code)
{
    static const char *const leads[ERR_COUNT] = {[OK] = "OK ",
#define X(name, prefix) [name] = prefix " ",
                                                 ERR_LIST(X)
#undef X
    };
    INVARIANT(code >= 0 && code < ERR_COUNT);
    return code == ERR_SCRIPT ? "" : leads[code];
}

const struct error_code error_codes[] = {
#define X(word, when, advice) {#word, when, advice},
    ERROR_CODES(X)
#undef X
        {NULL, NULL, NULL},
};

/* From offset `at` of the text on. */
__attribute__((format(printf, 3, 0))) static void write_text(struct error *e, size_t at,
                                                             const char *format, va_list args)
{
    vsnprintf(e->text + at, sizeof e->text - at, format, args);
    for (char *p = e->text + at; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20) *p = ' ';
    }
}

enum err error_set(struct error *e, enum err code, const char *format, ...)
{
    if (e == NULL) return code;
    e->code = code;
    va_list args;
    va_start(args, format);
    write_text(e, 0, format, args);
    va_end(args);
    return code;
}

void error_add(struct error *e, const char *format, ...)
{
    if (e == NULL) return;
    va_list args;
    va_start(args, format);
    write_text(e, strlen(e->text), format, args);
    va_end(args);
}

void die(const char *format, ...)
{
    va_list args;
    char why[ERROR_TEXT_BYTES];
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    host_break(why);
    va_start(args, format);
    fputs("tupled: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}
