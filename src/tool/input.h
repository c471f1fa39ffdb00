/* input: a file, or standard input, piece by piece: what is to be read together is in memory
 * together, however long it is. What has been taken is added up to a digest.
 */
#ifndef TOOL_INPUT_H
#define TOOL_INPUT_H

#include <xxhash.h>

#include "base/buf.h"
#include "base/file.h"
#include "tool/source.h"

struct input {
    struct file file; /* closed: standard input */
    const char *path;
    struct buf bytes; /* read, from `at` on not taken */
    size_t at;
    size_t searched;      /* no end of a line from `at` up to here */
    uint64_t offset;      /* of `at` */
    uint64_t size;        /* of a file; 0 = not known */
    bool is_file, is_end; /* is_end: all was read */
    XXH3_state_t *digest; /* owned; of what was taken; NULL = of that not all */
    uint64_t head;        /* hash of the first bytes */
};

/* "-" is standard input. What goes wrong is said, here and below. */
ERR_MUST_USE enum tool_status input_open(struct input *in, const char *path);
void input_close(struct input *in);
/* The bytes that are there and were not taken. */
struct slice input_rest(const struct input *in);
/* Reads more, at least one byte unless there are no more (in->is_end). */
ERR_MUST_USE enum tool_status input_more(struct input *in);
/* Takes n bytes of the rest. */
void input_take(struct input *in, size_t n);
/* The next line without its end, not taken yet; *taken: with it. data NULL at the end. */
ERR_MUST_USE enum tool_status input_line(struct input *in, struct slice *line, size_t *taken);
/* Passes over everything up to there. */
ERR_MUST_USE enum tool_status input_pass(struct input *in, uint64_t offset);
/* The last bytes of a file, at most `len`; 0 of what is none. */
size_t input_tail(struct input *in, uint8_t *out, size_t len);
void input_identity(const struct input *in, char out[SOURCE_PLACE_BYTES]);

#endif
