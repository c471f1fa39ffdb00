/* rows: what the rows of indexes hold.
 *
 *   space              key              value
 *   SPACE_INDEX        01 name          definition (below)
 *                      03               the next id
 *   SPACE_INDEX_ENTRY  id parts tuple   flags: an entry of the data space has these values
 *                      id parts         flags tuple: likewise, in a unique index
 *   SPACE_TEXT         id               spec of a text index (search/text.h)
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
 * flags: 01 = the entry has several rows in this index (a path is an array).
 *
 * A definition is a MessagePack array: [format 1, id, kind, unique, prefix (bin), [path ...],
 * tokenizer, state, position (bin), filled, note].
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
/* The name is not in it. False when it is damaged. */
bool definition_read(struct slice row, struct definition *out);

/* Row keys, in the arena. */
struct slice index_row_key(struct arena *arena, uint16_t database, enum index_row row,
                           struct slice rest);
struct slice index_id_key(struct arena *arena, uint16_t database, enum space space, uint32_t id);
uint32_t index_id_read(struct slice bytes); /* INDEX_ID_BYTES */
void index_id_write(uint32_t id, uint8_t out[INDEX_ID_BYTES]);

/* The part of a stored value; false: it is of a type that is not indexed (nothing was appended). */
bool index_part(struct slice value, struct buf *out);
/* After the part at `at`; 0 when there is none. */
size_t index_part_end(struct slice key, size_t at);
/* First bytes of all parts of the type of this one: the range [*low, *high) of first bytes. */
void index_part_type(struct slice part, uint8_t *low, uint8_t *high);

#endif
