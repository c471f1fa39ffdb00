/* string_number: INCRBYFLOAT, on decimal text as Redis writes it: a long double with 17 digits
 * after the point, without the zeros at the end.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "command/string/string_int.h"
#include "request/keys.h"
#include "request/table.h"

/* Redis's: longer text is no number. The largest long double has 4933 digits before the point. */
#define NUMBER_CHARS_MAX (5 * 1024)

/* What strtold takes, but no blanks before it, no rest, no NaN. */
static bool number_read(struct slice text, long double *out)
{
    char room[NUMBER_CHARS_MAX];
    char *end = NULL;
    if (text.len == 0 || text.len >= sizeof room || isspace(text.data[0])) return false;
    memcpy(room, text.data, text.len);
    room[text.len] = '\0';
    errno = 0;
    *out = strtold(room, &end);
    if ((size_t)(end - room) != text.len || isnan(*out)) return false;
    return errno != ERANGE || !(isinf(*out) || fpclassify(*out) == FP_ZERO);
}

static struct slice number_write(struct arena *arena, long double n)
{
    char *text = arena_alloc(arena, NUMBER_CHARS_MAX);
    size_t len = (size_t)snprintf(text, NUMBER_CHARS_MAX, "%.17Lf", n);
    if (memchr(text, '.', len) != NULL) {
        while (text[len - 1] == '0') len--;
        if (text[len - 1] == '.') len--;
    }
    if (len == 2 && memcmp(text, "-0", 2) == 0) return slice_str("0");
    return slice_of(text, len);
}

ARGUMENTS(incrbyfloat_arguments, struct key_word, "key increment",
          ARG_KEY(struct key_word, key, "key", 0), ARG_WORD(struct key_word, word, "increment"));

static enum err incrbyfloat_run(struct request *rq)
{
    const struct key_word *a = rq->bound;
    struct slice bytes = {0};
    struct slice value = {0};
    bool exists = false;
    long double old = 0;
    long double more = 0;
    enum err r = string_read(rq, a->key, &exists, &bytes);
    if (r != OK) return r;
    if ((exists && !number_read(bytes, &old)) || !number_read(a->word, &more)) {
        return error_set(&rq->error, ERR_SYNTAX, "value is not a valid float");
    }
    if (!isfinite(old + more)) {
        return error_set(&rq->error, ERR_SYNTAX, "increment would produce NaN or Infinity");
    }
    struct slice sum = number_write(rq->arena, old + more);
    r = string_value(rq, sum, &value);
    if (r == OK) r = string_replace(rq, a->key, value);
    if (r == OK) resp_bulk(rq->w, sum);
    return r;
}
STRING_COMMAND(incrbyfloat, "incrbyfloat", CMD_WRITE | CMD_FAST, KEY_RW | KEY_ACCESS | KEY_UPDATE,
               "Adds to the number of a plain key, which may have a fraction.",
               incrbyfloat_arguments, incrbyfloat_run);
