/* json_body: JSON that came with a request, read where it lies. A text is checked as a whole once;
 * then its parts are found without errors, and stay raw: a value goes to its command as it was
 * written. Pure functions.
 */
#ifndef HTTP_JSON_BODY_H
#define HTTP_JSON_BODY_H

#include "base/arena.h"
#include "base/err.h"

#define JSON_DEPTH_MAX 128

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_part {
    enum json_kind kind;
    struct slice raw; /* without blanks around; data NULL = it is not there */
};

/* A text that is checked in parts: long ones take longer than a turn of the loop may. */
struct json_checker {
    struct slice text;
    size_t at; /* checked up to here */
    size_t depth;
    char closers[JSON_DEPTH_MAX]; /* of the containers that are open */
};

void json_checker_begin(struct json_checker *w, struct slice text);
/* Goes on for some more than `bytes`. ERR_WAIT: that was not all; else as json_check. */
ERR_MUST_USE enum err json_checker_go_on(struct json_checker *w, size_t bytes,
                                         struct json_part *out, struct error *e);
/* The one value that the text is. ERR_SYNTAX "invalid JSON: <what> at offset <n>". */
ERR_MUST_USE enum err json_check(struct slice text, struct json_part *out, struct error *e);
/* What is in an array or object whose check was good: begin with its raw text, *rest. False at the
 * end. */
struct slice json_inside(const struct json_part *container);
bool json_next_item(struct slice *rest, struct json_part *item);
bool json_next_member(struct slice *rest, struct json_part *name, struct json_part *value);
/* The text of a string, unescaped. */
struct slice json_text(const struct json_part *string, struct arena *arena);
/* Members of an object by their names, NULL-ended: parts[i] of names[i]. ERR_SYNTAX for one that
 * is there twice, or, with `is_strict`, one of another name. `what`: in errors, "the body". */
ERR_MUST_USE enum err json_members(const struct json_part *object, const char *const *names,
                                   struct json_part *parts, bool is_strict, const char *what,
                                   struct error *e);
/* Exact integers only. */
bool json_part_integer(const struct json_part *number, int64_t *out);
bool json_is_true(const struct json_part *part);

#endif
