/* text_fold: text made alike before words are looked for in it, that of entries and that of queries
 * the same way: full case folding (so "strasse" is in "Straße"), without marks on Latin and Greek
 * letters and other marks that are no part of a letter of its own (a Hebrew point, an Arabic vowel
 * sign, the stress on a Cyrillic letter; not й), without invisible characters (a soft hyphen), the
 * same for all canonically equivalent forms. From the Unicode Standard, chapter 3, by utf8proc.
 *
 * ASCII is not touched: the tokenizers know its two cases.
 */
#ifndef BACKEND_LOCAL_TEXT_FOLD_H
#define BACKEND_LOCAL_TEXT_FOLD_H

#include "base/buf.h"

struct text_fold {
    struct slice text; /* folded; the input itself when that is ASCII */
    size_t input_bytes;
    struct buf folded;
    /* A uint32_t for each byte of `folded`: where the character, with its marks, that it came from
     * begins in the input. */
    struct buf clusters;
};

/* Any bytes, less than 4 GB, which it outlives; what is not UTF-8 stays as it is. False: no memory.
 * text_fold_fini in any case. */
bool text_fold_init(struct text_fold *f, struct slice input);
void text_fold_fini(struct text_fold *f);
/* Bytes [start, end) of the folded text, start < end: the bytes of the input they came from. */
void text_fold_source(const struct text_fold *f, size_t start, size_t end, size_t *input_start,
                      size_t *input_end);

#endif
