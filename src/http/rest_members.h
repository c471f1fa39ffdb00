/* rest_members: what a request says, as the words of a command: members of its body or parameters
 * of its URL, by the names that the command's arguments have in JSON (request/members.h).
 */
#ifndef HTTP_REST_MEMBERS_H
#define HTTP_REST_MEMBERS_H

#include "http/rest.h"
#include "request/members.h"

#define REST_MEMBERS_MAX 40 /* more than any object has that is taken here */

/* The members of an object, found by one walk over its text: a value may be long. */
struct rest_object {
    struct slice names[REST_MEMBERS_MAX];
    struct json_part values[REST_MEMBERS_MAX];
    size_t count;
};

/* Where members are looked for: parts of the path first, then in one of the others. */
struct rest_source {
    struct exchange *x;
    const struct rest_object *object; /* NULL: parameters of the URL */
    const char *where;                /* of the object, in errors: "mutations[2]"; "" = the body */
    const char *without;              /* names that are not taken here, blanks between */
    const char *aliases;              /* "backoff backoffSchedule": other names here; NULL = none */
    int64_t limit_max;                /* of the member `limit`, which is 100 then; 0 = as its row */
};

/* False, here and below: the request was answered with 400. */

/* No member is there twice. `what`: in errors. */
bool rest_take_object(struct exchange *x, const struct json_part *part, const char *what,
                      struct rest_object *out);
/* The body; without one: an empty object. */
bool rest_take_body(struct exchange *x, struct rest_object *out);
/* data NULL = it is not there. */
struct json_part rest_object_get(const struct rest_object *o, const char *name);
/* There are members of these names only; more: one more name, or NULL. */
bool rest_check_members(const struct rest_source *s, const struct members *of, const char *more);
/* Adds the words of all members that are there. */
bool rest_add_members(struct rest_words *w, const struct rest_source *s, const struct members *of);
/* Those of each item of an array, an object of one of the variants: of `only` (a token), or, when
 * that is NULL, of the one that its member `type` names, which is none of `others` (NULL-ended). */
bool rest_add_objects(struct rest_words *w, const struct json_part *list, const char *name,
                      const struct members *variants, const char *only, const char *const *others);
#endif
