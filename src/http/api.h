/* api: commands as words in JSON: what is for one of them and for several (api_batch.c). */
#ifndef HTTP_API_H
#define HTTP_API_H

#include "http/http_int.h"

/* Of x->task while the body is checked, and when `then` is called. */
struct api_body {
    struct json_checker checker;
    struct json_part json;
    exchange_step *then;
};

/* Checks the body, which is JSON, in as many turns as that takes; goes on with `then`, or answers
 * what is wrong with it. */
void api_take_body(struct exchange *x, exchange_step *then);
/* Of a body whose check was good. NULL: it is a command; or what is wrong. */
const char *api_check_words(const struct json_part *array);
/* The words of what api_check_words found good; NULL, or what is wrong. */
const char *api_take_words(const struct json_part *array, struct arena *arena, struct slice **argv,
                           size_t *argc);
/* Answers what was wrong; argv is NULL when api_check_words said so. */
void api_fail_words(struct exchange *x, const char *wrong, const struct slice *argv, size_t argc);
/* Appends {"result":..} or {"error":".."} of a reply to x->text. True: it is no error. */
bool api_put_result(struct exchange *x, struct slice reply);

#endif
