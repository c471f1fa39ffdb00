/* json_int: what the commands named as those of Redis's JSON module share. They work on the typed
 * JSON text of a value (codec/value.h), in which {"$date":..} is a value and no object, and what
 * comes out of a change must be typed JSON again. A value that is bytes is Redis's `string`, and
 * none of theirs: WRONGTYPE.
 *
 * Bigints are shown as bare literals. But tools that show tuples (request/view.h) read a value
 * whole and write it whole, with all numbers as doubles between: they are shown tags.
 */
#ifndef COMMAND_JSON_JSON_INT_H
#define COMMAND_JSON_JSON_INT_H

#include "command/json/json_path.h"
#include "request/args.h"
#include "request/arguments.h"

/* What a command may read of several values or by several paths, and the text that it may lay out:
 * for the sake of those who wait. One value by one path is as long as a value may be. */
#define JSON_WORK_BYTES_MAX (16u << 20)
#define JSON_BYTE_STEPS 10 /* to read one (engine_take_steps) */

/* The value of the key as text, in `text`, which is cleared before; *exists false: there is none.
 * ERR_TYPE, ERR_NOMEM. */
ERR_MUST_USE enum err json_read(struct request *rq, struct slice key, struct buf *text,
                                bool *exists);
/* ERR_SYNTAX: the place is not there. */
ERR_MUST_USE enum err json_absent(struct request *rq, const struct json_path *path);
/* ERR_TYPE: another kind of value is expected. */
ERR_MUST_USE enum err json_wrong_kind(struct request *rq, struct slice text,
                                      const struct json_place *place, const char *expected);

/* "key [path]" */
struct json_at {
    struct slice key;
    struct slice path; /* data NULL = the whole */
};
extern const struct arguments json_at_arguments;
/* The path that the words say. */
struct slice json_path_word(struct slice path);

#define JSON_COMMAND(id, word, more, uses, text, its_arguments, function)                          \
    const struct command cmd_json_##id = {                                                         \
        .name = "json." word,                                                                      \
        .flags = CMD_STRING | (more),                                                              \
        .key_flags = uses,                                                                         \
        .group = "json",                                                                           \
        .summary = text,                                                                           \
        .arguments = &(its_arguments),                                                             \
        .run = function,                                                                           \
    }

#endif
