/* json_path: the paths of the commands of Redis's JSON module, and the places in JSON text that
 * they name.
 *
 *   $.a.b[0]["c d"]   JSONPath: replies are lists of what it finds
 *   .a.b[0]["c d"]    the older form, `.` alone for the whole value, also without the first point:
 *                     replies are of the one value
 *
 * A path goes one way: to members and to indexes (below 0: from the end). What may find several
 * places (*, .., slices, filters) is an error.
 *
 * Text here is what value_to_json writes: no blanks, no member twice.
 */
#ifndef COMMAND_JSON_JSON_PATH_H
#define COMMAND_JSON_JSON_PATH_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#define JSON_STEPS_MAX 128
/* So many objects on the way may be long and begin as a tag does: each is looked through. */
#define JSON_LONG_TAGS_MAX 4
#define JSON_LONG_TAG_BYTES (1u << 18)
/* Each of them counts the items of an array. */
#define JSON_STEPS_FROM_END_MAX 4

struct json_step {
    bool is_index;
    int64_t index;
    struct slice name; /* in the arena, or borrowed from the path */
};

struct json_path {
    struct slice text; /* borrowed */
    bool is_list;      /* JSONPath */
    size_t count;      /* 0 = the whole value */
    struct json_step *steps;
};

/* ERR_SYNTAX names the path and the offset. */
ERR_MUST_USE enum err json_path_parse(struct arena *arena, struct slice text, struct json_path *out,
                                      struct error *e);

/* Offsets in the text. */
struct json_place {
    bool exists;
    size_t from, to;  /* the value, when it exists */
    size_t item_from; /* the same with its name, when it is a member */
    /* It may be that only the last step leads nowhere: what that was asked of. */
    bool has_parent;
    size_t parent_from; /* its `{` or `[`: of {"$object":{..}} the inner one */
    bool is_wrapped;    /* and it is such a one */
};

/* Nothing is found in a tag that is no object. ERR_LIMIT: see JSON_LONG_TAGS_MAX. */
ERR_MUST_USE enum err json_find(struct slice text, const struct json_path *path,
                                struct json_place *out, struct error *e);
/* The value that begins there: where it ends. */
size_t json_end(struct slice text, size_t from);
/* Of an object or array at `from`: how many members or items it has. */
size_t json_count(struct slice text, size_t from);

/* Goes through an object or array, whose `{` or `[` is at `from`. */
struct json_walk {
    struct slice text;
    size_t at; /* of the next item; 0 = there is none */
    bool has_names;
    size_t item;       /* the one that was reached */
    struct slice name; /* its name, still escaped; of a member */
    size_t value;
};

void json_walk_start(struct json_walk *w, struct slice text, size_t from);
bool json_walk_next(struct json_walk *w);
/* Past the value just reached. */
void json_walk_skip(struct json_walk *w);

/* ---- json_kind.c: what is at a place; {"$date":..} is a value and no object ---- */

/* The `{` and the name of a tag that begins at `from`, a `{`; false: it is an object. */
struct json_tag {
    struct slice name; /* "date" */
    size_t value;      /* where what it holds begins */
    size_t looked;     /* bytes that it took to know */
};
bool json_is_tag(struct slice text, size_t from, struct json_tag *out);
/* Is there an object? Then where its members are: {"$object":{..}} is one too. */
bool json_is_object(struct slice text, size_t from, size_t *open);
/* "object", "array", "string", "integer", "number", "boolean", "null": what is at `from`; of other
 * tags their names without the dollar sign: "date", "bytes". */
struct slice json_type_name(struct slice text, size_t from);
/* What is at [from, to) as it is shown: bigints are bare literals. */
void json_show(struct slice text, size_t from, size_t to, struct buf *out);

#endif
