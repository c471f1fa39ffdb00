/* string_int: what the commands on the values of plain keys share. */
#ifndef COMMAND_STRING_STRING_INT_H
#define COMMAND_STRING_STRING_INT_H

#include "request/args.h"
#include "request/shapes.h"

/* No value is longer in the string view, whatever max-value-size says; Redis has the same bound. */
#define STRING_BYTES_MAX (512u << 20)

/* string.c */
/* The value of the key, which must be bytes: *bytes is empty when there is none. Borrowed until the
 * end of the turn; counted as a read. ERR_TYPE. */
ERR_MUST_USE enum err string_read(struct request *rq, struct slice key, bool *exists,
                                  struct slice *bytes);
/* The bytes as a value is stored, in the arena. ERR_NOMEM. */
ERR_MUST_USE enum err string_value(struct request *rq, struct slice bytes, struct slice *value);
/* An integer; error in Redis's words. */
ERR_MUST_USE enum err string_integer(struct request *rq, struct slice arg, int64_t *out);
ERR_MUST_USE enum err string_syntax(struct request *rq);

/* range.c */
/* May a value of so many bytes be made? Asked before there is memory for it. ERR_SYNTAX when no
 * string may be so long, ERR_LIMIT when it is max-value-size. */
ERR_MUST_USE enum err string_fits(struct request *rq, uint64_t bytes);
/* A value of `bytes`, all 00, in the arena; *to is where they can be written. ERR_NOMEM. */
ERR_MUST_USE enum err string_room(struct request *rq, size_t bytes, uint8_t **to,
                                  struct slice *value);
/* Sets the key, which keeps its expiry, to the value. */
ERR_MUST_USE enum err string_replace(struct request *rq, struct slice key, struct slice value);
/* From where to where, as Redis counts: below 0 from the end, cut to what is there. *start > *end:
 * nothing. `total` > 0 is the number of bytes, or of bits. */
void string_bounds(int64_t total, int64_t *start, int64_t *end);

/* Bytes as they came, as they are stored. */
extern const struct argument_kind arg_kind_bytes;
#define ARG_BYTES(in, member, label)                                                               \
    {                                                                                              \
        ARG_ONE(in, member, struct slice, label, arg_kind_bytes)                                   \
    }

#define STRING_COMMAND(id, word, more, uses, text, its_arguments, function)                        \
    const struct command cmd_##id = {                                                              \
        .name = word,                                                                              \
        .flags = CMD_STRING | (more),                                                              \
        .key_flags = uses,                                                                         \
        .group = "string",                                                                         \
        .summary = text,                                                                           \
        .arguments = &(its_arguments),                                                             \
        .run = function,                                                                           \
    }

#endif
