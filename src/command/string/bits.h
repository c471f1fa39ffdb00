/* bits: what the commands on the bits of a value share. */
#ifndef COMMAND_STRING_BITS_H
#define COMMAND_STRING_BITS_H

#include "command/string/string_int.h"

/* bits.c */
/* `factor` times the number that the word says, a place of a bit; error in Redis's words. */
ERR_MUST_USE enum err bits_offset(struct request *rq, struct slice arg, unsigned factor,
                                  uint64_t *out);
/* The bytes, with zeros after them up to `len` if they are fewer: *to is where they can be
 * changed, *value what is to be stored. In the arena; the errors of string_fits and string_room. */
ERR_MUST_USE enum err bits_lengthen(struct request *rq, struct slice bytes, uint64_t len,
                                    uint8_t **to, struct slice *value);

/* A key, and words that are read when the value is known, since Redis finds what is wrong with them
 * only then. */
struct key_and_words {
    struct slice key;
    struct slices words;
};

#define BITS_COMMAND(id, word, more, uses, text, its_arguments, function)                          \
    STRING_COMMAND(id, word, CMD_BITMAP | (more), uses, text, its_arguments, function)

#endif
