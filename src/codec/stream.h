/* stream: ids of the entries of a stream, as text and as bytes, and the fields of an entry as one
 * value. Pure functions.
 *
 *   id       text <ms>-<seq>; 16 bytes, ms and seq big-endian: they sort as ids do
 *   fields   number of words (varint); of each its length (varint) and bytes: field, value, ...
 *   part     of a stream as a dump has it: kind (1), then
 *            entry     id, length (varint), fields
 *            state     id, id of the greatest deleted one, entries ever added (8)
 *            group     name, id, entries read (8)
 *            consumer  group, name, seen (8), active (8)
 *            pending   group, consumer, id, delivered (8), deliveries (8)
 *            names with their length (varint); numbers of 8 bytes are big-endian
 */
#ifndef CODEC_STREAM_H
#define CODEC_STREAM_H

#include "base/buf.h"

#define STREAM_ID_BYTES 16
#define STREAM_ID_TEXT 42 /* with a NUL */

struct stream_id {
    uint64_t ms, seq;
};
#define STREAM_ID_LEAST ((struct stream_id){0, 0})
#define STREAM_ID_MOST ((struct stream_id){UINT64_MAX, UINT64_MAX})

/* < 0, 0, > 0. */
int stream_id_order(struct stream_id a, struct stream_id b);
static inline bool stream_id_is_zero(struct stream_id id)
{
    return id.ms == 0 && id.seq == 0;
}
/* The one after, or before. False: there is none. */
bool stream_id_next(struct stream_id *id);
bool stream_id_previous(struct stream_id *id);
void stream_id_put(uint8_t to[STREAM_ID_BYTES], struct stream_id id);
struct stream_id stream_id_get(const uint8_t from[STREAM_ID_BYTES]);
/* The length of the text. */
size_t stream_id_write(struct stream_id id, char to[STREAM_ID_TEXT]);
/* <ms> or <ms>-<seq>; `seq` is what a text without one means. False: it is neither. */
bool stream_id_read(struct slice text, uint64_t seq, struct stream_id *out);

/* `words`: a field, its value, and so on. */
void stream_fields_write(const struct slice *words, size_t count, struct buf *out);
/* How many words there are; *at is where they begin, for stream_fields_next. False: damaged. */
bool stream_fields_begin(struct slice fields, size_t *at, uint64_t *count);
/* The next word, borrowed. False: damaged. */
bool stream_fields_next(struct slice fields, size_t *at, struct slice *word);
/* Whether all of it is fields and their values, at least one of each. */
bool stream_fields_are_good(struct slice fields);

/* Parts of a stream, which come in the order of their kinds (collection/parts.h). */
enum stream_part_kind {
    PART_ENTRY = 1, /* id, fields */
    PART_STATE,     /* id: the last one given; deleted; count: entries ever added */
    PART_GROUP,     /* group; id: the last one delivered; entries_read */
    PART_CONSUMER,  /* group, consumer, at_ms: seen; active_ms */
    PART_PENDING,   /* group, consumer, id, at_ms: delivered; count: deliveries */
};

struct stream_part {
    enum stream_part_kind kind;
    struct stream_id id, deleted;
    struct slice fields; /* as stream_fields_write wrote them */
    struct slice group, consumer;
    uint64_t count;
    int64_t entries_read;     /* -1 = not known */
    int64_t at_ms, active_ms; /* -1 = never */
};

void stream_part_write(const struct stream_part *x, struct buf *out);
/* The next one, borrowed. False: damaged. */
bool stream_part_read(struct slice bytes, size_t *at, struct stream_part *out);

#endif
