/* records: the lines of an export: one record a line as JSON, or one after the other as
 * MessagePack. A record is a map of names to members (docs/export.md has them all). Keys and values
 * are passed on as they stand; what they say is the server's business.
 */
#ifndef TOOL_RECORDS_H
#define TOOL_RECORDS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#define RECORDS_FORMAT "tupled-export 1"
#define RECORDS_MEMBERS_MAX 15 /* of one record: what a small map of MessagePack has */

/* ---- writing ---- */

struct record_out {
    struct buf *out;
    bool is_pack;
    size_t head; /* where it begins */
    unsigned count;
};

void record_begin(struct record_out *r, struct buf *out, bool is_pack);
/* A key or a value, in the format that is written. */
void record_raw(struct record_out *r, const char *name, struct slice raw);
/* Text; bytes that are none become bytes. */
void record_text(struct record_out *r, const char *name, struct slice text);
void record_i64(struct record_out *r, const char *name, int64_t value);
void record_true(struct record_out *r, const char *name);
/* A list: as many record_item_* as it says follow. */
void record_list(struct record_out *r, const char *name, size_t count);
void record_item_raw(struct record_out *r, struct slice raw, bool is_first);
void record_item_text(struct record_out *r, struct slice text, bool is_first);
void record_item_i64(struct record_out *r, int64_t value, bool is_first);
/* A double, as the server writes it; infinities are text. */
void record_item_score(struct record_out *r, struct slice digits, bool is_first);
/* A list in a list: as many items follow, and record_list_end. */
void record_item_list(struct record_out *r, size_t count, bool is_first);
void record_list_end(struct record_out *r);
void record_end(struct record_out *r);

/* ---- reading ---- */

struct field {
    struct slice name, raw; /* raw: the member as it stands */
};

struct fields {
    bool is_pack;
    size_t count;
    struct field items[RECORDS_MEMBERS_MAX];
};

/* One line, without its end. Slices borrow from it. ERR_VALUE says what is wrong. */
ERR_MUST_USE enum err fields_read_json(struct slice line, struct fields *f, struct error *e);
/* The record at the start of `bytes`; *used: its length, 0 = it is not there to its end. */
ERR_MUST_USE enum err fields_read_pack(struct slice bytes, struct fields *f, size_t *used,
                                       struct error *e);
/* data NULL: there is none. */
struct slice fields_get(const struct fields *f, const char *name);

/* What a member is; false when it is of another type. Text is in the arena or borrowed. */
bool field_text(const struct fields *f, struct slice raw, struct arena *a, struct slice *out);
bool field_i64(const struct fields *f, struct slice raw, int64_t *out);
/* As record_item_score wrote it: the digits. */
bool field_score(const struct fields *f, struct slice raw, struct arena *a, struct slice *out);
bool field_is_true(const struct fields *f, struct slice raw);
/* The items of a list, as they stand; *out in the arena. */
bool field_list(const struct fields *f, struct slice raw, struct arena *a, struct slice **out,
                size_t *count);

/* The JSON value at *at: moves *at after it. False: there is none. It is not checked but for where
 * it ends. */
bool json_skip_value(const uint8_t **at, const uint8_t *end);

#endif
