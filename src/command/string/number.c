/* string_number: INCRBYFLOAT, on decimal text as Redis writes it: a long double with 17 digits
 * after the point, without the zeros at the end.
 */
#include <math.h>

#include "codec/float_text.h"
#include "command/string/string_int.h"
#include "request/keys.h"
#include "request/table.h"

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
    if ((exists && !float_text_read_long(bytes, &old)) || !float_text_read_long(a->word, &more)) {
        return error_set(&rq->error, ERR_SYNTAX, "value is not a valid float");
    }
    if (!isfinite(old + more)) {
        return error_set(&rq->error, ERR_SYNTAX, "increment would produce NaN or Infinity");
    }
    struct slice sum = float_text_write_long(rq->arena, old + more);
    r = string_value(rq, sum, &value);
    if (r == OK) r = string_replace(rq, a->key, value);
    if (r == OK) resp_bulk(rq->w, sum);
    return r;
}
STRING_COMMAND(incrbyfloat, "incrbyfloat", CMD_WRITE | CMD_FAST, KEY_RW | KEY_ACCESS | KEY_UPDATE,
               "Increments the number of a key, which may have a fraction.", incrbyfloat_arguments,
               incrbyfloat_run);
