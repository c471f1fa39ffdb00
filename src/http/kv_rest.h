/* kv_rest: what the routes of typed REST share, those below `rest-base` and /kv: keys in path form
 * or JSON, entity tags that are versionstamps, JSON or MessagePack. docs/rest-typed.md
 */
#ifndef HTTP_KV_REST_H
#define HTTP_KV_REST_H

#include "http/rest.h"

#define KV_REST_LIMIT_MAX 10000

/* Where false is returned, the request was answered. */

/* ---- keys ---- */

/* JSON, which begins with "[", or the path form. `what`: in errors. *key is JSON, which
 * the command checks. */
bool kv_rest_key(struct exchange *x, const char *what, struct slice text, bool allow_empty,
                 struct slice *key);
/* That of the path. */
bool kv_rest_path_key(struct exchange *x, struct slice *key);
/* A parameter; an empty one is the empty key. *key.data NULL: it is not there. */
bool kv_rest_query_key(struct exchange *x, const char *name, struct slice *key);
/* An array, or a string in path form. */
rest_read_key kv_rest_body_key;
/* prefix, start, end, where; with `is_paged` also limit, cursor, reverse, keysOnly. */
bool kv_rest_range(struct exchange *x, bool is_paged, struct rest_range *r);

/* ---- parameters, words ---- */

bool kv_rest_limit(struct exchange *x, int64_t *limit);
/* The next part of *rest as text; `what`: in errors. */
bool kv_rest_path_text(struct exchange *x, struct slice *rest, const char *what, struct slice *out);
/* The words of a command, NULL-ended, and the next part of *rest. */
bool kv_rest_path_words(struct exchange *x, struct slice *rest, const char *what,
                        const char *const *words, struct rest_words *w);
/* A value as typed JSON, in a parameter. */
bool kv_rest_is_json(struct exchange *x, const char *name, struct slice text);
/* Members of a body that may be empty. */
bool kv_rest_body(struct exchange *x, const char *const *names, struct json_part *parts);
bool kv_rest_body_switch(struct exchange *x, const struct json_part *part, const char *name,
                         bool *out);
/* Name and number, if the member is there. */
bool kv_rest_add_number(struct rest_words *w, const char *word, const struct json_part *part,
                        const char *name, int64_t min, int64_t max);
/* How many strings an array has; -1: answered. With `min` at least. */
int64_t kv_rest_count(struct exchange *x, const struct json_part *array, const char *name,
                      int64_t min);
/* The strings themselves. */
bool kv_rest_add_texts(struct exchange *x, struct rest_words *w, const struct json_part *array,
                       const char *name);

/* The header Idempotency-Key, as IDEM; its words are added if it is there. */
bool kv_rest_add_idem(struct exchange *x, struct rest_words *w);
/* Runs a write that takes it. */
void kv_rest_write(struct exchange *x, struct rest_words *w, exchange_step *step);
/* The command takes none: a request that says one is refused. */
bool kv_rest_has_no_idem(struct exchange *x);

/* ---- answers ---- */

/* The reply is an error: answers that, with the status it has here, true. */
bool kv_rest_fails(struct exchange *x);
/* ETag and what is said of it to pages of other origins. */
void kv_rest_tag(struct exchange *x, struct slice stamp);
/* {"ok":true} or 404 with `text`, as the reply is 1 or not. */
void kv_rest_answer_done(struct exchange *x, const char *text);
void kv_rest_answer_count(struct exchange *x, const char *name);

/* How the items of an array become members of an object. */
struct kv_rest_field {
    const char *name;
    bool is_text; /* else it is JSON, or a number */
};
/* [item ..] at *rest as an object of these fields, ended by one without a name; nil is null. */
void kv_rest_put_object(struct buf *out, struct slice *rest, const struct kv_rest_field *fields);
/* An item that is JSON already. */
rest_put kv_rest_put_json;
/* [name, value, ..] at *rest as members, without braces: `oldest-ms` is oldestMs; the value of
 * `prefix` is JSON, that of `unique` true or false. */
void kv_rest_put_members(struct buf *out, struct slice *rest);
/* An array of such objects: {"<name>":[..]}. */
void kv_rest_answer_objects(struct exchange *x, const char *name, struct slice reply,
                            rest_put *put);

/* Words of a message from `value`, `delay`, `backoff`, `undelivered`, `dedup`, in this order. */
#define KV_REST_MESSAGE_NAMES "value", "delay", "backoff", "undelivered", "dedup"
#define KV_REST_MESSAGE_PARTS 5
bool kv_rest_add_message(struct exchange *x, struct rest_words *w, const struct json_part *parts,
                         const char *where);

/* kv_entries.c */
exchange_step kv_rest_get_run, kv_rest_put_run, kv_rest_delete_run, kv_rest_list_run,
    kv_rest_count_run, kv_rest_delete_range_run;
/* kv_atomic.c */
exchange_step kv_rest_atomic_run;
/* kv_changes.c */
exchange_step kv_rest_changes_run, kv_rest_watch_run;
/* kv_queue.c */
exchange_step kv_rest_queues_run, kv_rest_queue_run, kv_rest_purge_run, kv_rest_peek_run,
    kv_rest_enqueue_run, kv_rest_lease_run, kv_rest_ack_run, kv_rest_nack_run, kv_rest_extend_run;
/* kv_dead.c */
exchange_step kv_rest_dead_list_run, kv_rest_dead_get_run, kv_rest_dead_requeue_run,
    kv_rest_dead_requeue_many_run, kv_rest_dead_delete_run, kv_rest_dead_delete_many_run;
/* kv_index.c */
exchange_step kv_rest_indexes_run, kv_rest_index_run, kv_rest_index_put_run,
    kv_rest_index_delete_run, kv_rest_find_run, kv_rest_search_run;

#endif
