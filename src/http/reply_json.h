/* reply_json: a reply of a command as JSON, in a shape that a text says. Pure functions.
 *
 *   [x]         an array, each of it an x
 *   {a b:x}     an array whose items are the members of an object, in this order
 *   (a b:x)     in the place of a member's shape: an object of items of the same array
 *   %{a:x}      a map, or names and values in turn: an object; values that are not named here are .
 *   name:x      around all of it: an object with this one member
 *   !           a text that is JSON already
 *   #           a number, also one that came as a text
 *   ?           true or false: a number, 0 is false
 *   ~           a cursor: the members `cursor` and `hasMore`, the last ones of the object
 *   .           whatever it is
 *   $           a text; it need not be said
 *
 * A mark stands right after the name of a member: `{id value! attempts}`. Numbers are numbers, and
 * nil is null, wherever they are, but [] in the place of an array. Names of maps, `oldest-ms`,
 * become `oldestMs`. Items beyond those that the shape has are left out.
 */
#ifndef HTTP_REPLY_JSON_H
#define HTTP_REPLY_JSON_H

#include "base/buf.h"
#include "base/err.h"
#include "resp/item.h"

#define SHAPE_DEPTH_MAX 33 /* no command nests deeper */

struct shape_level {
    char kind;      /* [ { % . as the shape; 0 = its items are left out */
    const char *at; /* of [: the shape of each; of { and %: what is left of its text */
    size_t left;    /* items that are still to come */
    bool has_one;
    bool is_map;         /* of %, or of . : names come before values */
    bool is_value;       /* likewise: the next one is a value */
    const char *next;    /* likewise: its shape */
    unsigned open;       /* ( of a {, that are open */
    struct slice cursor; /* ~; data NULL = none */
};

/* Bytes that are in *out before it are kept. */
struct shape_writer {
    struct buf *out;
    bool is_base64; /* texts, but OK: in base64 */
    bool is_odd;    /* a text was no UTF-8, and was written with replacements */
    size_t depth;
    struct shape_level levels[SHAPE_DEPTH_MAX];
};

/* `shape` is borrowed. */
void shape_begin(struct shape_writer *w, const char *shape, struct buf *out);
/* The next item of the reply. Its text must last until the reply is whole. */
void shape_item(struct shape_writer *w, const struct resp_item *item);
/* A whole reply that is no error; *rest is moved past it. */
void shape_write(const char *shape, struct slice *rest, struct buf *out);
/* One past the shape that `shape` begins with; it may be a mark, or nothing. */
const char *shape_end(const char *shape);

/* The same with the shape . ; is_base64: every text but OK in base64. ERR_VALUE: a text is not
 * UTF-8 and base64 was not asked for; what was appended is taken off. */
ERR_MUST_USE enum err reply_to_json(struct slice reply, bool is_base64, struct buf *out,
                                    struct error *e);
/* The text of a reply that is an error ("NOPERM ..."); false when it is none. */
bool reply_is_error(struct slice reply, struct slice *text);
/* The text of a bulk or line; data NULL of anything else, nil too. */
struct slice reply_text(struct slice reply);

#endif
