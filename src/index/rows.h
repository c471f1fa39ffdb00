/* rows: what the rows of indexes hold.
 *
 *   space              key              value
 *   SPACE_INDEX        01 name          definition (below)
 *                      03               the next id
 *   SPACE_INDEX_ENTRY  id parts tuple   flags: an entry of the data space has these values
 *                      id parts         flags tuple: likewise, in a unique index
 *                      id 00 tuple      list: which rows an index of hashes has of a spread one
 *                      id 00 tuple      in an index of values, flags (tuple): that is a hash
 *   SPACE_TEXT         id               spec of a text index (search/text.h)
 *   SPACE_HASH_TEXT    id tuple         an object of the texts that an index of hashes has of one
 *
 * id: 4 bytes, big-endian; never used twice in a database, also not after a flush: the rows of an
 * index that was dropped may still be there (view_forget). parts: one for each path, encoded so
 * that memcmp orders them by type and value:
 *
 *   bytes   01 body
 *   string  02 body
 *   number  15 00 -inf | 01 ~(exponent body) negative | 02 zero | 03 exponent body | 04 +inf
 *           Numbers, bigints and u64 alike, by value: the value is 0.1xxx (binary) * 2^(exponent -
 *           2^31), exponent 4 bytes big-endian, body the bits after the point, without trailing
 *           zero bytes. NaN is not indexed.
 *   date    19 ms since 1970 + 2^63, 8 bytes big-endian
 *   false   26
 *   true    27
 *
 *   body    the bytes, 00 written as 00 ff, then 00 01; or, of more than INDEX_BODY_BYTES, so many
 *           of them and 00 02 and a hash of all (XXH3, 16 bytes)
 *
 * flags: 01 = the entry has several rows in this index (a path is an array, or a field of a hash
 * has a number's text).
 *
 * An index of hashes has a field's value as a string and, if it is the text of a number in JSON, as
 * that number too: rows for each combination. In a unique one those with such a number end with the
 * tuple: numbers may be written in several ways, so only strings are unique.
 *
 * Hashes below the prefix of an index of values are named, not indexed: a filter may match them
 * (plan.h).
 *
 * list: when the rows expire in ms (8 bytes, big-endian), then of each what follows the id in its
 * key, behind its length (4 bytes, big-endian). What a spread hash had before a transaction cannot
 * be read any more when that has written it several times.
 *
 * A definition is a MessagePack array: [format 1, id, kind, unique, prefix (bin), [path ...],
 * tokenizer, state, position (bin), filled, note]; of an index of hashes format is 2, and behind
 * the note is the pattern.
 */
#ifndef INDEX_ROWS_H
#define INDEX_ROWS_H

#include "base/buf.h"
#include "engine/engine.h"

#define INDEX_PATHS_MAX 16 /* of a text index; INDEX_VALUE_PATHS_MAX otherwise */
#define INDEX_VALUE_PATHS_MAX 8
#define INDEX_NAME_BYTES_MAX 128
#define INDEX_BODY_BYTES 512
#define INDEX_ID_BYTES 4
#define INDEX_NOTE_BYTES_MAX 1024

enum index_row { INDEX_ROW_DEFINITION = 1, INDEX_ROW_NEXT_ID = 3 };

enum index_kind { INDEX_VALUE, INDEX_TEXT };
enum index_state { INDEX_FILLING, INDEX_READY, INDEX_FAILED };

/* Slices are borrowed from its maker. */
struct definition {
    uint32_t id;
    enum index_kind kind;
    bool is_unique;
    struct slice name;
    struct slice prefix; /* encoded tuple */
    struct slice
        hashes; /* of an index of hashes: the glob that names of keys fit; else data NULL */
    size_t path_count;
    struct slice paths[INDEX_PATHS_MAX];
    struct slice tokenizer; /* INDEX_TEXT */
    /* INDEX_VALUE; how far a text index is, the backend knows. */
    enum index_state state;
    struct slice position; /* tuple of the last entry that was filled in; empty = none yet */
    uint64_t filled;       /* entries looked at */
    struct slice note;     /* why it failed */
};

void definition_write(const struct definition *d, struct buf *out);
/* Of hashes, or of values? */
static inline bool definition_is_of_hashes(const struct definition *d)
{
    return d->hashes.data != NULL;
}

/* The name is not in it. False when it is damaged. */
bool definition_read(struct slice row, struct definition *out);

/* Row keys, in the arena. */
struct slice index_row_key(struct arena *arena, uint16_t database, enum index_row row,
                           struct slice rest);
struct slice index_id_key(struct arena *arena, uint16_t database, enum space space, uint32_t id);
/* The key of a list, of the tuple of a data key. */
#define INDEX_LIST_TAG 0x00
#define INDEX_PARTS_FROM 0x01 /* parts begin with this or more */
struct slice index_list_key(struct arena *arena, uint16_t database, uint32_t id,
                            struct slice tuple);
/* Likewise of the texts of a hash. */
struct slice index_text_key(struct arena *arena, uint16_t database, uint32_t id,
                            struct slice tuple);
uint32_t index_id_read(struct slice bytes); /* INDEX_ID_BYTES */
void index_id_write(uint32_t id, uint8_t out[INDEX_ID_BYTES]);

/* The part of a stored value; false: it is of a type that is not indexed (nothing was appended). */
bool index_part(struct slice value, struct buf *out);
/* After the part at `at`; 0 when there is none. */
size_t index_part_end(struct slice key, size_t at);
/* First bytes of all parts of the type of this one: the range [*low, *high) of first bytes. */
void index_part_type(struct slice part, uint8_t *low, uint8_t *high);

#endif
