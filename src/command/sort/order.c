/* order: how SORT orders. By number: of equal ones the element decides. By text: as bytes; without
 * a weight comes first, and equal weights leave the elements in the order in which they came.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "codec/float_text.h"
#include "command/sort/sort_int.h"

static int by_place(const struct sort_item *a, const struct sort_item *b)
{
    return a->at < b->at ? -1 : a->at > b->at;
}

static int by_number(const struct sort_item *a, const struct sort_item *b)
{
    if (a->number != b->number) return a->number < b->number ? -1 : 1;
    return slice_cmp(a->element, b->element);
}

static int by_text(const struct sort_item *a, const struct sort_item *b)
{
    if (a->weight.data == NULL || b->weight.data == NULL) {
        return (a->weight.data != NULL) - (b->weight.data != NULL);
    }
    return slice_cmp(a->weight, b->weight);
}

static int up_by_number(const void *a, const void *b)
{
    int c = by_number(a, b);
    return c != 0 ? c : by_place(a, b);
}

static int down_by_number(const void *a, const void *b)
{
    int c = by_number(b, a);
    return c != 0 ? c : by_place(a, b);
}

static int up_by_text(const void *a, const void *b)
{
    int c = by_text(a, b);
    return c != 0 ? c : by_place(a, b);
}

static int down_by_text(const void *a, const void *b)
{
    int c = by_text(b, a);
    return c != 0 ? c : by_place(a, b);
}

/* As strtod reads it: up to a NUL, with blanks before it; an empty text is 0. */
static bool number_of(struct slice text, double *out)
{
    const uint8_t *end = text.len > 0 ? memchr(text.data, '\0', text.len) : NULL;
    if (end != NULL) text.len = (size_t)(end - text.data);
    *out = 0;
    if (text.len == 0) return true;
    while (text.len > 0 && isspace(text.data[0])) text = slice_of(text.data + 1, text.len - 1);
    return float_text_read(text, out);
}

enum err sort_order(struct request *rq, const struct sort *a, bool by_weight,
                    const struct sort_items *of)
{
    bool is_good = true;
    for (size_t i = 0; i < of->count; i++) {
        struct sort_item *x = &of->items[i];
        if (!by_weight) x->weight = x->element;
        x->number = 0;
        if (!a->is_text && x->weight.data != NULL) {
            is_good = number_of(x->weight, &x->number) && is_good;
        }
    }
    if (!is_good) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "One or more scores can't be converted into double");
    }
    if (of->count < 2) return OK;
    if (a->is_text) {
        qsort(of->items, of->count, sizeof *of->items,
              a->is_descending ? down_by_text : up_by_text);
    } else {
        qsort(of->items, of->count, sizeof *of->items,
              a->is_descending ? down_by_number : up_by_number);
    }
    return OK;
}
