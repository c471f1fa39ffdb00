/* text: what a text index holds, as bytes that the store keeps beside the data (a row of the
 * keyspace), and the text of a value for it. Pure functions: the store calls them from its own
 * thread, by the pointers of text_ops (backend/text.h says what they promise).
 *
 * Spec, a MessagePack array: [format 1, prefix (bin: the encoded tuple), tokenizer (str: one of the
 * names below), [path text (str), ...]]; of an index of hashes format is 2.
 *
 * The text of a path in a value: of a string itself; of a number, bigint, u64 or boolean its digits
 * or name as in JSON; of an array, Set, object or Map the texts of all that is inside (of objects
 * and Maps the values, not the names); of a shared value that of the value; of all else, nothing.
 * A NUL becomes a blank. Several texts are put one after the other with TEXT_GAP between them,
 * which every tokenizer takes for a token that is never searched for: so no phrase goes from one
 * into the next. (NEAR does: the gap counts as a word.)
 */
#ifndef SEARCH_TEXT_H
#define SEARCH_TEXT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#define TEXT_PATHS_MAX 16
#define TEXT_GAP_MARK "\xee\x80\x80" /* U+E000, the first of the private use area */
#define TEXT_GAP " " TEXT_GAP_MARK " "
#define TEXT_BYTES_MAX (1u << 20) /* of one path of one value; cut there, between characters */

enum text_tokenizer { TOKENIZE_UNICODE61, TOKENIZE_PORTER, TOKENIZE_ASCII, TOKENIZE_TRIGRAM };

struct text_spec {
    struct slice prefix; /* encoded tuple, without database and space */
    bool is_of_hashes;
    enum text_tokenizer tokenizer;
    size_t path_count;
    const struct path *paths[TEXT_PATHS_MAX];
};

/* By its name in any case; false when there is none. */
bool text_tokenizer_find(struct slice name, enum text_tokenizer *out);
const char *text_tokenizer_name(enum text_tokenizer t);
/* The argument of FTS5's tokenize option, a constant that may stand between single
 * quotes (backend/text.h). */
const char *text_tokenizer_option(enum text_tokenizer t);
/* Appends it. At least one path. */
void text_spec_write(const struct text_spec *spec, struct buf *out);
/* Everything of it in the arena. Any bytes may come. ERR_CORRUPT; ERR_FORMAT: of a newer program.
 */
ERR_MUST_USE enum err text_spec_read(struct slice bytes, struct arena *arena, struct text_spec *out,
                                     struct error *e);
/* Appends the text of the i-th path, UTF-8 without NUL. False: nothing was appended, since the path
 * is missing or there is no text at it (null, "", [], bytes, ...). `value` has passed value_check.
 */
bool text_of_path(const struct text_spec *spec, size_t i, struct slice value, struct buf *out);
/* For showing texts, highlighted texts and snippets: ", " takes the place of every TEXT_GAP, also
 * of what a snippet's end has left of one (the mark with a blank on one side). In place. A person's
 * own text that looks like one is shown in the same way. */
void text_show_gaps(struct buf *text);

#endif
