/* rest_members: what a request says, as the words of a command: members of its body or parameters
 * of its URL, by the names that the command's arguments have in JSON (request/members.h).
 */
#ifndef HTTP_REST_MEMBERS_H
#define HTTP_REST_MEMBERS_H

#include "http/rest.h"
#include "request/members.h"

/* Where members are looked for: parts of the path first, then in one of the others. */
struct rest_source {
    struct exchange *x;
    const struct json_part *object; /* NULL: parameters of the URL */
    const char *where;              /* of the object, in errors: "mutations[2]"; "" = the body */
    const char *without;            /* names that are not taken here, blanks between; NULL = none */
    const char *aliases;            /* "backoff backoffSchedule": other names here; NULL = none */
    int64_t limit_max;              /* of the member `limit`, which is 100 then; 0 = as its row */
};

/* False, here and below: the request was answered with 400. */

/* The body as an object, *parts; without one: as an empty object. */
bool rest_take_body(struct exchange *x, struct json_part *object);
/* There are members of these names only, each once; more: one more name, or NULL. */
bool rest_check_members(const struct rest_source *s, const struct members *of, const char *more);
/* Adds the words of all members that are there. */
bool rest_add_members(struct rest_words *w, const struct rest_source *s, const struct members *of);
/* Those of each item of an array, an object of one of the variants: of `only` (a token), or, when
 * that is NULL, of the one that its member `type` names, which is none of `others` (NULL-ended). */
bool rest_add_objects(struct rest_words *w, const struct json_part *list, const char *name,
                      const struct members *variants, const char *only, const char *const *others);
/* The switch `name` is there, and true. */
bool rest_has_flag(const struct rest_source *s, const char *name, bool *is_set);

#endif
