/* text_ops: hands text.c to the backend. TEXT_VERSION rises with every change of what texts are
 * made of a value: indexes of an older one are filled anew when the store is opened. */
#include "search/text_ops.h"

#include "search/text.h"

_Static_assert(TEXT_PATHS_MAX <= TEXT_COLUMNS_MAX, "a path is a column");

static enum err spec_read(struct slice bytes, struct arena *arena, struct text_definition *out,
                          struct error *e)
{
    struct text_spec *spec = arena_alloc(arena, sizeof *spec);
    enum err r = text_spec_read(bytes, arena, spec, e);
    if (r != OK) return r;
    *out = (struct text_definition){.prefix = spec->prefix,
                                    .is_of_hashes = spec->is_of_hashes,
                                    .column_count = spec->path_count,
                                    .tokenize = text_tokenizer_option(spec->tokenizer),
                                    .spec = spec};
    return OK;
}

static bool column(const struct text_definition *d, size_t i, struct slice value, struct buf *out)
{
    return text_of_path(d->spec, i, value, out);
}

/* 1: neither ß nor marks were folded, signs of vowels ended words (Hindi), 46 powers of two had a
 * digit more. */
#define TEXT_VERSION 2

const struct text_ops search_text_ops = {
    .version = TEXT_VERSION, .read = spec_read, .column = column, .show = text_show_gaps};
