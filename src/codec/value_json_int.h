/* value_json_int: the reader of typed JSON, shared by value_from_json.c (plain JSON) and
 * value_tags.c (what {"$tag":..} means).
 *
 * Whether {"$set":[..]} is a tag or an object with more members is known only after the value, and
 * looking ahead at every level would read deep text many times. So the first time it matters, the
 * members of that object and of all objects inside it are counted in one sweep (value_tags.c), and
 * the counts are used up, one per '{', as the reader gets there.
 */
#ifndef CODEC_VALUE_JSON_INT_H
#define CODEC_VALUE_JSON_INT_H

#include "codec/json_lex.h"
#include "codec/names.h"
#include "codec/placeholder.h"
#include "codec/value_int.h"

struct value_reader {
    struct json j;
    struct buf *out;
    unsigned depth;
    const uint8_t *swept_end; /* objects that begin before it have been counted */
    struct buf counts;        /* members per object, in order of '{': 1, 2, or 3 for more; owned */
    size_t counts_next;
    struct buf scratch; /* text of an escaped string; owned */
    struct names names;
    const struct placeholders *placeholders; /* NULL = none are allowed */
};

/* One value, appended. False: the error is set. Precondition of all: blanks may be skipped first.
 */
bool value_read(struct value_reader *r);
/* At '"': appends it as MessagePack str; *bytes = its length without the head. */
bool value_read_string(struct value_reader *r, size_t *bytes);
/* At '[': appends the items without a head. */
bool value_read_items(struct value_reader *r, uint64_t *count);
/* After '{' and its count: appends the members with their head. For an Error: only its members. */
bool value_read_members(struct value_reader *r, bool is_error);
/* At '{': takes it; its count of members, 0 when not known. */
unsigned value_read_brace(struct value_reader *r);

bool value_enter(struct value_reader *r, const uint8_t *where);
/* Memory ran out: sets the error; false. */
bool value_nomem(struct value_reader *r);

/* After '{' at `open`, at the first name: the tag this object is, and the cursor moves to its
 * value; TAG_NONE (cursor where it was) for any other object. */
enum value_tag value_find_tag(struct value_reader *r, const uint8_t *open, unsigned members);
/* At the value of a tag: appends what it means, up to and with '}'. */
bool value_read_tag(struct value_reader *r, enum value_tag tag);

#endif
