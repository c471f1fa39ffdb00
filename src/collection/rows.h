/* rows: how the elements of a spread collection lie in the ordered keyspace.
 *
 *   key: database, SPACE_ELEMENT, incarnation (12), tag (1), then ...        value
 *   hash    f  field                                                         the field's value
 *           t  expiry in ms (8), field                                       nothing, or the field
 *   set     m  member                                                        nothing
 *   zset    m  member                                                        score (8)
 *           s  score in order (8), member                                    1 if the score is -0
 *   list    i  position (8)                                                  the element
 *   stream  e  id (16)                                                       fields of the entry
 *           g  group's name                                                  group.c has these:
 *           c  group's number (8), consumer's number (8)
 *           n  group's number, consumer's name
 *           p  group's number, id (16)
 *           q  group's number, consumer's number, id (16)                    nothing
 *
 *   database, SPACE_COLLECTION, incarnation (12), tuple                      nothing: whose it is
 *
 * Numbers are big-endian. The row of a field has the field's expiry. A name of more than
 * NAME_WHOLE_BYTES is in the key with its first NAME_WHOLE_BYTES and the first NAME_HASH_BYTES of
 * the SHA-256 of all of it, and whole in the value: before it its length (4 bytes) in a row f,
 * after the score in a row m, after a byte in a row s. So keys are short enough for PostgreSQL's
 * index, and in the order of names but for names that agree in so many bytes. Two names of one hash
 * would be one element: so the hash is one for which none can be made.
 *
 * The incarnation is of the commit that made the rows: never another's, so that all of a collection
 * is forgotten as one range, and a name that is given to a new collection shares nothing.
 */
#ifndef COLLECTION_ROWS_H
#define COLLECTION_ROWS_H

#include "codec/collection.h"
#include "engine/engine.h"

#define NAME_WHOLE_BYTES 1000
#define NAME_HASH_BYTES 16

enum row_tag {
    ROW_FIELD = 'f',
    ROW_EXPIRY = 't',
    ROW_MEMBER = 'm',
    ROW_SCORE = 's',
    ROW_POSITION = 'i',
    ROW_ENTRY = 'e',
    ROW_GROUP = 'g',
    ROW_CONSUMER = 'c',
    ROW_CONSUMER_NAME = 'n',
    ROW_PENDING = 'p',
    ROW_OWNED = 'q',
};

/* Whose rows. */
struct element_rows {
    uint16_t database;
    const uint8_t *incarnation; /* INCARNATION_ID_BYTES */
};

/* Keys, in the arena. */
struct slice row_of_name(struct arena *arena, const struct element_rows *of, enum row_tag tag,
                         struct slice name);
struct slice row_of_expiry(struct arena *arena, const struct element_rows *of, int64_t expiry_ms,
                           struct slice field);
struct slice row_of_score(struct arena *arena, const struct element_rows *of, double score,
                          struct slice member);
struct slice row_of_position(struct arena *arena, const struct element_rows *of, uint64_t position);
/* Of numbers, at most ROW_NUMBERS_MAX, and a name, which may be empty. */
#define ROW_NUMBERS_MAX 4
struct slice row_of_numbers(struct arena *arena, const struct element_rows *of, enum row_tag tag,
                            const uint64_t *numbers, size_t count, struct slice name);
struct slice row_of_owner(struct arena *arena, const struct element_rows *of, struct slice tuple);
/* The first key that is not below the tag, and the key of the tag: [start, end) are all its rows.
 */
struct slice rows_start(struct arena *arena, const struct element_rows *of, enum row_tag tag);
struct slice rows_end(struct arena *arena, const struct element_rows *of, enum row_tag tag);
/* The first key after this one. */
struct slice row_after(struct arena *arena, struct slice row);
/* All rows of the incarnation. */
void rows_all(struct arena *arena, const struct element_rows *of, struct slice *start,
              struct slice *end);
/* Where the rows of members with a score of at least this begin; after those of it. */
struct slice rows_from_score(struct arena *arena, const struct element_rows *of, double score);
struct slice rows_after_score(struct arena *arena, const struct element_rows *of, double score);

/* Values, in the arena. */
struct slice row_value_of_field(struct arena *arena, const struct element *x);
struct slice row_value_of_member(struct arena *arena, enum collection_kind kind,
                                 const struct element *x);
struct slice row_value_of_score(struct arena *arena, const struct element *x);

/* What a row of a kind says (tags f, m, s, i and e), borrowed from key and value. False: it is
 * damaged. */
bool row_read(enum collection_kind kind, struct slice key, const struct entry *row,
              struct element *out);
/* The position of a row i; the time of a row t. */
uint64_t row_position(struct slice key);
int64_t row_expiry_ms(struct slice key);
/* The field of a row t. */
struct slice row_expiry_field(struct slice key, struct slice value);
enum row_tag row_tag_of(struct slice key);
/* Its numbers, of row_of_numbers. False: it has not so many. */
bool row_numbers(struct slice key, uint64_t *numbers, size_t count);

/* Doubles as 8 bytes that sort as they do; -0 as 0. */
uint64_t score_order(double score);
double score_of_order(uint64_t order);

#endif
