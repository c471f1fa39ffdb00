/* rest: what the routes of REST share. There are two dialects over the commands of this server,
 * both below `rest-base`: that of KeyVal's document, with its routes, bodies, answers and limits
 * (docs/rest.md), and, below /kv, typed REST, which has all that the commands have
 * (docs/rest-typed.md). They differ in how keys are written, and in what the rows of their routes
 * say (rest_routes.c).
 *
 * Where false or NULL is returned, the request was answered with 400.
 */
#ifndef HTTP_REST_H
#define HTTP_REST_H

#include "http/http_int.h"
#include "http/reply_json.h"

#define REST_KEY_PARTS_MAX 20 /* of KeyVal, as the next ones */
#define REST_PART_CHARS_MAX 1024
#define REST_BATCH_MAX 1000
#define REST_EXPIRY_MS_MAX 2147483647
#define REST_LIMIT_DEFAULT 100
#define REST_LIMIT_MAX 1000

/* ---- rest_words.c: words of a command, as they are put together; in the arena ---- */

struct rest_words {
    struct exchange *x;
    struct slice *argv;
    size_t argc, cap;
};

/* `name`: its first words, with blanks between. */
struct rest_words rest_words_of(struct exchange *x, const char *name);
void rest_words_add(struct rest_words *w, struct slice word);
/* Words with blanks between. */
void rest_words_str(struct rest_words *w, const char *words);
void rest_words_number(struct rest_words *w, int64_t n);
/* Both, unless data of `value` is NULL. */
void rest_words_pair(struct rest_words *w, const char *name, struct slice value);
void rest_words_run(struct rest_words *w, exchange_step *step);

/* ---- rest_key.c: keys, of which the command gets the JSON text ---- */

/* `name`: in errors, "mutations[3].key". */
typedef bool rest_read_key(struct exchange *x, const struct json_part *part, const char *name,
                           struct slice *key);

struct rest_dialect {
    /* Of a parameter: an empty one is the empty key, if that may be. */
    bool (*text_key)(struct exchange *x, const char *name, struct slice text, bool allow_empty,
                     struct slice *key);
    rest_read_key *body_key;
    /* A value that must be a number, or an array; NULL = as the command says. */
    bool (*number)(struct exchange *x, const struct json_part *part, const char *name,
                   struct slice *out);
    bool (*array)(struct exchange *x, const struct json_part *part, const char *name,
                  struct slice *out);
    bool has_empty_key; /* an empty parameter is the empty key, else it says nothing */
    bool clamps_limit;  /* more than a limit may be is as much as it may be */
};
/* Of the route. */
const struct rest_dialect *rest_dialect_of(const struct exchange *x);
/* The key that the path ends with. */
bool rest_path_key(struct exchange *x, struct slice *key);
/* A parameter; *key.data NULL: it is not there. */
bool rest_query_key(struct exchange *x, const char *name, struct slice *key);
/* KeyVal: of a path ("/users/42"). */
bool rest_slashed_key(struct exchange *x, struct slice path, struct slice *key);
/* The path form of src/codec/key_path.c. */
bool rest_written_key(struct exchange *x, struct slice path, bool allow_empty, const char *what,
                      struct slice *key);

/* ---- rest_take.c: parameters, members of bodies ---- */

bool rest_refuse_number(struct exchange *x, const char *name, int64_t min, int64_t max,
                        struct slice got);
/* What is not there leaves *out as it was. */
bool rest_query_text(struct exchange *x, const char *name, struct slice *out);
bool rest_query_integer(struct exchange *x, const char *name, int64_t min, int64_t max,
                        int64_t *out);
bool rest_query_switch(struct exchange *x, const char *name, bool *out);
/* KeyVal's `limit`, of the query or a part of a body; more than 1000 is 1000. */
bool rest_limit(struct exchange *x, const struct json_part *part, int64_t *out);
/* The name in a {} of the route's path, decoded; it is not empty. */
bool rest_path_text(struct exchange *x, const char *name, struct slice *out);
/* The body as an object with these members, NULL-ended; see json_members. */
bool rest_body(struct exchange *x, const char *const *names, struct json_part *parts);
bool rest_is_there(const struct json_part *part);
/* A member that must be a string with text in it. */
bool rest_body_text(struct exchange *x, const struct json_part *part, const char *name,
                    struct slice *out);
bool rest_body_integer(struct exchange *x, const struct json_part *part, const char *name,
                       int64_t min, int64_t max, int64_t *out);
/* *out as it was when it is not there. */
bool rest_body_switch(struct exchange *x, const struct json_part *part, const char *name,
                      bool *out);
/* A parameter is a value as typed JSON. */
bool rest_is_json(struct exchange *x, const char *name, struct slice text);
/* Is it the id of a message, and no other word of a command (ALL)? */
bool rest_is_message_id(struct exchange *x, struct slice text);

/* ---- rest_command.c: the row of a route ---- */

/* Runs the command of the row, and answers as it says. */
exchange_step rest_command_run;
/* The command's words, of what the request says. */
bool rest_command_words(struct exchange *x, struct rest_words *w);
/* Runs words, with the header Idempotency-Key as IDEM; where that cannot be kept, it is refused. */
void rest_command_go(struct rest_words *w, exchange_step *step);
/* The same, of what is more than one transaction: false when there is such a header. */
bool rest_has_no_idem(struct exchange *x);
/* The step after it: answers x->reply as the row says. */
exchange_step rest_command_came;

/* ---- rest_answer.c ---- */

/* The reply is an error: answers that, with the status it has here, true. */
bool rest_fails(struct exchange *x);
/* x->text is empty. */
void rest_begin(struct exchange *x);
/* 200 and the reply in this shape (reply_json.h). */
void rest_answer_shape(struct exchange *x, const char *shape);
/* A reply that is a versionstamp: {"ok":true,"versionstamp":".."}; nil: {"ok":false}. */
void rest_answer_written(struct exchange *x);
void rest_answer_ok(struct exchange *x, bool is_ok);
/* Is the reply the number 1? */
bool rest_is_one(struct exchange *x);

/* The next item of a reply; *rest moves past it, but not past its children. */
bool rest_next(struct slice *rest, struct resp_item *item);
/* So many of them; *item: the last. */
bool rest_skip(struct slice *rest, size_t count, struct resp_item *item);
/* The text of a message on a channel; false: the frame is none. */
bool rest_message_text(struct slice frame, struct slice *text);

#define REST_ENTRY "{key! value! versionstamp}"
/* Items of a row of KV.CHANGES: itself, key, value, versionstamp, expiry. */
#define REST_ROW_ITEMS 5
bool rest_next_row(struct slice *rest, struct resp_item items[REST_ROW_ITEMS]);
/* "key":..,"value":..,"versionstamp":..: null of what was deleted, and the key of a flush. */
void rest_put_row(struct buf *out, const struct resp_item items[REST_ROW_ITEMS]);
/* An entry of key (JSON) with [value, versionstamp] or nil at *rest. */
void rest_put_found(struct buf *out, struct slice key, struct slice *rest);
/* The versionstamp of [value, versionstamp]; empty of nil. */
struct slice rest_stamp_at(struct slice reply);
/* The figures of KV.QUEUE STATS, as those of KeyVal. */
void rest_put_queue_stats(struct exchange *x, struct slice reply);

/* Streams of changes: of keys, or below a prefix (rest_watch.c). */
struct rest_watch {
    struct slice *keys; /* JSON */
    size_t count;
    struct slice prefix; /* JSON; data NULL = of keys */
    bool is_silent;      /* without what is there at first */
    int64_t limit;       /* of that */
    struct slice since;  /* of a prefix: everything after this versionstamp; data NULL = none */
};
void rest_watch_open(struct exchange *x, const struct rest_watch *w);

/* Every index whose name begins with `head`: put is given KV.INDEX INFO's reply about it. The
 * answer is `open`, what was put with commas between, and `close`. */
struct rest_indexes {
    const char *head, *open, *close;
    void (*put)(struct exchange *x, struct slice reply);
};
void rest_list_indexes(struct exchange *x, const struct rest_indexes *how);

/* ---- routes ---- */

/* openapi.c, rest_metrics.c */
exchange_step openapi_run, rest_metrics_run, rest_metrics_text_run;
/* rest_atomic.c: of both dialects */
exchange_step rest_atomic_run;
/* May the operation be in the list of that name? *has_type: then it names its type. */
bool rest_atomic_has(struct slice list, const char *token, bool *has_type);
/* rest_keys.c, rest_queue.c, rest_index.c, rest_watch.c, rest_watch_poll.c: of KeyVal */
exchange_step rest_get_run, rest_put_run, rest_delete_run, rest_list_run, rest_batch_run,
    rest_delete_batch_run, rest_delete_all_run;
exchange_step rest_enqueue_run, rest_poll_run, rest_ack_run, rest_nack_run, rest_stats_run,
    rest_dead_list_run, rest_dead_get_run, rest_dead_requeue_run, rest_dead_delete_run,
    rest_dead_purge_run, rest_listen_run;
exchange_step rest_index_create_run, rest_index_list_run, rest_index_drop_run, rest_search_run,
    rest_search_body_run;
exchange_step rest_watch_run, rest_watch_prefix_run, rest_watch_poll_run,
    rest_watch_prefix_poll_run;
/* kv_entries.c, kv_changes.c, kv_queue.c, kv_dead.c, kv_index.c: of typed REST */
exchange_step kv_get_run, kv_put_run, kv_delete_run, kv_page_run, kv_delete_range_run;
exchange_step kv_changes_run, kv_watch_run;
exchange_step kv_enqueue_run, kv_ack_run, kv_settle_run;
exchange_step kv_dead_requeue_run, kv_dead_requeue_many_run, kv_dead_delete_run,
    kv_dead_delete_many_run;
exchange_step kv_indexes_run, kv_index_put_run, kv_search_run;

#endif
