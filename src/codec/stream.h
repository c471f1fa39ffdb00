/* stream: ids of the entries of a stream, as text and as bytes, and the fields of an entry as one
 * value. Pure functions.
 *
 *   id       text <ms>-<seq>; 16 bytes, ms and seq big-endian: they sort as ids do
 *   fields   number of words (varint); of each its length (varint) and bytes: field, value, ...
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

#endif
