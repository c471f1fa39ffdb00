/* rest: what the routes of REST share: keys in paths and bodies, parameters, entries as JSON. REST
 * is that of KeyVal's document: its routes, bodies, answers and limits, over the commands of this
 * server. Below `rest-base`. docs/rest.md
 */
#ifndef HTTP_REST_H
#define HTTP_REST_H

#include "http/http_int.h"
#include "resp/item.h"

#define REST_KEY_PARTS_MAX 20
#define REST_PART_CHARS_MAX 1024
#define REST_LIMIT_DEFAULT 100
#define REST_LIMIT_MAX 1000
#define REST_BATCH_MAX 1000
#define REST_EXPIRY_MS_MAX 2147483647

/* Words of a command, as they are put together; in the arena. */
struct rest_words {
    struct exchange *x;
    struct slice *argv;
    size_t argc, cap;
};

struct rest_words rest_words_of(struct exchange *x, const char *name);
void rest_words_add(struct rest_words *w, struct slice word);
void rest_words_str(struct rest_words *w, const char *word);
void rest_words_number(struct rest_words *w, int64_t n);
/* Both words, unless `value` is empty. */
void rest_words_pair(struct rest_words *w, const char *name, struct slice value);
void rest_words_run(struct rest_words *w, exchange_step *step);

/* What a request says of a range; data NULL = not given. */
struct rest_range {
    struct slice prefix, start, end, cursor, where; /* the keys in JSON */
    int64_t limit;
    bool is_reverse, is_keys_only;
};

/* Its bounds and filter. */
void rest_words_range(struct rest_words *w, const struct rest_range *r);
/* That, and which page. */
void rest_words_page(struct rest_words *w, const struct rest_range *r);
/* Asks KV.LIST for it. */
void rest_list(struct exchange *x, const struct rest_range *r, exchange_step *step);

/* Where false or NULL is returned, the request was answered with 400. */

/* The JSON text of the key of a path ("/users/42"); `allow_empty`: "/" and "" are []. */
bool rest_path_key(struct exchange *x, struct slice path, bool allow_empty, struct slice *key);
/* That of a key in a body: checks its shape and limits. `where`: "keys[3]". */
bool rest_body_key(struct exchange *x, const struct json_part *part, const char *where,
                   struct slice *key);
/* That of the path form of src/codec/key_path.c; `what`: in errors. */
bool rest_written_key(struct exchange *x, struct slice path, bool allow_empty, const char *what,
                      struct slice *key);
/* A parameter whose value is a path: *key.data NULL when it is not there. */
bool rest_query_key(struct exchange *x, const char *name, struct slice *key);
/* Parameters that are texts, numbers, true or false; what is not there leaves *out as it was. */
bool rest_query_text(struct exchange *x, const char *name, struct slice *out);
bool rest_query_integer(struct exchange *x, const char *name, int64_t min, int64_t max,
                        int64_t *out);
bool rest_query_switch(struct exchange *x, const char *name, bool *out);
/* `limit`, from the query or a part of a body; more than 1000 is 1000. */
bool rest_limit(struct exchange *x, const struct json_part *part, int64_t *out);
/* The body as an object with these members, NULL-ended; see json_members. */
bool rest_body(struct exchange *x, const char *const *names, struct json_part *parts);
bool rest_is_there(const struct json_part *part);
/* A member that must be a string with text in it. */
bool rest_body_text(struct exchange *x, const struct json_part *part, const char *name,
                    struct slice *out);
bool rest_body_integer(struct exchange *x, const struct json_part *part, const char *name,
                       int64_t min, int64_t max, int64_t *out);

/* How a key of a body is read, as rest_body_key does. */
typedef bool rest_read_key(struct exchange *x, const struct json_part *part, const char *where,
                           struct slice *key);
/* Words of one element of a list in a body; `where`: "mutations[3]". */
typedef bool rest_add(struct exchange *x, struct rest_words *w, const struct json_part *part,
                      const char *where);

/* Those of all elements of the array `name`. */
bool rest_add_all(struct exchange *x, struct rest_words *w, const struct json_part *list,
                  const char *name, rest_add *add);
/* {"key":..,"versionstamp":".." or null}: a CHECK. */
bool rest_add_check(struct exchange *x, struct rest_words *w, const struct json_part *part,
                    const char *where, rest_read_key *read_key);
/* Delays and keys of a message, if they are there; `name`: in errors. */
bool rest_add_backoff(struct exchange *x, struct rest_words *w, const struct json_part *part,
                      const char *name);
bool rest_add_undelivered(struct exchange *x, struct rest_words *w, const struct json_part *part,
                          const char *name, rest_read_key *read_key);

/* Is it the id of a message, and no other word of a command (ALL)? False: answered with 400. */
bool rest_is_message_id(struct exchange *x, struct slice text);

/* The next item of a reply; *rest moves past it, but not past its children. */
bool rest_next(struct slice *rest, struct resp_item *item);
/* So many of them; *item: the last. */
bool rest_skip(struct slice *rest, size_t count, struct resp_item *item);
/* The text of a message on a channel; false: the frame is none. */
bool rest_message_text(struct slice frame, struct slice *text);
/* [key, value, versionstamp] at *rest, or nil with `key`, as an entry of an answer. */
void rest_put_entry(struct buf *out, struct slice *rest);
/* What it appends of one item of a page. */
typedef void rest_put(struct buf *out, struct slice *rest);
/* [item ..] at *rest as an array; nil is empty. */
void rest_put_array(struct buf *out, struct slice *rest, rest_put *put);
/* [cursor, [item ..]] of x->reply: the items as an array; *cursor. */
void rest_put_page(struct exchange *x, rest_put *put, struct resp_item *cursor);
/* The whole of it: {"<name>":[..],"cursor":".." or null,"hasMore":..}. */
void rest_answer_page(struct exchange *x, const char *name, rest_put *put);
/* Items of a row of KV.CHANGES: itself, key, value, versionstamp, expiry. */
#define REST_ROW_ITEMS 5
bool rest_next_row(struct slice *rest, struct resp_item items[REST_ROW_ITEMS]);
/* "key":..,"value":..,"versionstamp":..: null of what was deleted, and the key of a flush. */
void rest_put_row(struct buf *out, const struct resp_item items[REST_ROW_ITEMS]);
/* An entry of key (JSON) with [value, versionstamp] or nil at *rest. */
void rest_put_found(struct buf *out, struct slice key, struct slice *rest);
/* The versionstamp of [value, versionstamp]; empty of nil. */
struct slice rest_stamp_at(struct slice reply);
/* The figures of KV.QUEUE STATS, as those of REST. */
void rest_put_queue_stats(struct exchange *x, struct slice reply);
/* x->text is empty. */
void rest_begin(struct exchange *x);
/* {"<name>":<the integer of x->reply>} */
void rest_answer_integer(struct exchange *x, const char *name);
/* A reply that is a versionstamp: {"ok":true,"versionstamp":".."}; nil: {"ok":false}. */
void rest_answer_written(struct exchange *x);
void rest_answer_ok(struct exchange *x, bool is_ok);
/* Is the reply the number 1? */
bool rest_is_one(struct exchange *x);

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

/* openapi.c, rest_metrics.c, rest_keys.c, ... */
exchange_step openapi_run, rest_metrics_run, rest_metrics_text_run;
exchange_step rest_get_run, rest_put_run, rest_delete_run, rest_list_run, rest_list_body_run,
    rest_count_run, rest_paginate_run, rest_batch_run, rest_delete_batch_run, rest_delete_all_run;
/* rest_atomic.c */
exchange_step rest_atomic_run;
/* rest_queue.c */
exchange_step rest_enqueue_run, rest_poll_run, rest_ack_run, rest_nack_run, rest_stats_run,
    rest_dead_list_run, rest_dead_get_run, rest_dead_requeue_run, rest_dead_delete_run,
    rest_dead_purge_run, rest_listen_run;
/* rest_index.c */
exchange_step rest_index_create_run, rest_index_list_run, rest_index_drop_run, rest_search_run,
    rest_search_body_run;
/* rest_watch.c */
exchange_step rest_watch_run, rest_watch_prefix_run, rest_watch_poll_run,
    rest_watch_prefix_poll_run;

#endif
