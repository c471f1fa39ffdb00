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

#define BITS_COMMAND(id, word, words, more, uses, text, arguments)                                 \
    STRING_COMMAND(id, word, words, CMD_BITMAP | (more), uses, 1, 1, text, arguments)

#endif
