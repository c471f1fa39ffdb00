/* format: how values travel: KV.FORMAT for a connection, FORMAT as the last words of a command for
 * that command alone, which also holds when connections are shared.
 *
 * A command whose own words may be anything says where they end (own_words): two queues of the
 * names FORMAT and JSON in KV.DEQUEUE's ALSO are queues. Elsewhere no word of a command that ends
 * so means anything: keys, values, versionstamps, receipts and ids never read FORMAT or JSON.
 */
#include "request/format.h"

#include "codec/collection.h"
#include "codec/key.h"
#include "codec/value.h"
#include "request/arguments.h"
#include "request/table.h"

/* ---- forms ---- */

enum err format_read_key(enum format format, struct slice arg, bool allow_empty,
                         const struct placeholders *p, struct buf *out, struct error *e)
{
    if (format == FORMAT_JSON_BARE) return key_from_bare_arg(arg, allow_empty, p, out, e);
    return key_from_arg(arg, allow_empty, p, out, e);
}

void format_write_key(enum format format, struct slice tuple, struct buf *out)
{
    switch (format) {
    case FORMAT_JSON: key_to_json(tuple, out); break;
    case FORMAT_MSGPACK: key_to_msgpack(tuple, out); break;
    case FORMAT_JSON_BARE: key_to_bare_json(tuple, out); break;
    }
}

void format_write_value(enum format format, struct slice value, struct buf *out)
{
    switch (format) {
    case FORMAT_JSON: value_to_json(value, out); break;
    case FORMAT_MSGPACK:
        if (collection_is_head(value)) {
            collection_to_msgpack(value, out);
        } else {
            buf_append(out, value.data, value.len);
        }
        break;
    case FORMAT_JSON_BARE: value_to_bare_json(value, out); break;
    }
}

/* ---- words ---- */

/* JSON, JSON BARE or MSGPACK; all of the words. */
static bool format_of_words(const struct env *env, const struct slice *words, size_t count,
                            enum format *out)
{
    if (count == 2 && slice_is_word(words[0], "JSON") && slice_is_word(words[1], "BARE")) {
        *out = FORMAT_JSON_BARE;
        return true;
    }
    if (count == 1 && slice_is_word(words[0], "JSON")) {
        *out = env->settings.bare_bigints ? FORMAT_JSON_BARE : FORMAT_JSON;
        return true;
    }
    *out = FORMAT_MSGPACK;
    return count == 1 && slice_is_word(words[0], "MSGPACK");
}

void format_take(struct request *rq)
{
    const struct command *c = rq->command;
    enum format format = FORMAT_JSON;
    /* The shortest form of the command comes before it. */
    size_t least = request_words_least(rq);
    rq->has_format = false;
    rq->format = rq->client->settings.format;
    if ((c->flags & CMD_FORMAT) == 0) return;
    for (size_t words = 1; words <= 2 && rq->argc >= least + 1 + words; words++) {
        size_t at = rq->argc - 1 - words;
        if (!slice_is_word(rq->argv[at], "FORMAT")) continue;
        if (!format_of_words(rq->env, rq->argv + at + 1, words, &format)) continue;
        if (c->own_words != NULL && c->own_words(rq->argv, rq->argc) > at) return;
        rq->has_format = true;
        rq->format = format;
        rq->argc = at;
        return;
    }
}

/* ---- KV.FORMAT ---- */

enum format_word { FORMAT_WORD_NONE, FORMAT_WORD_JSON, FORMAT_WORD_MSGPACK };

struct format_words {
    enum format_word word;
    bool is_bare;
};
ARGUMENTS(format_arguments, struct format_words, "[JSON [BARE] | MSGPACK]",
          ARG_CHOICE(struct format_words, word, {"JSON", FORMAT_WORD_JSON},
                     {"MSGPACK", FORMAT_WORD_MSGPACK}),
          ARG_FLAG(struct format_words, is_bare, "BARE"));

static enum err kv_format_run(struct request *rq)
{
    static const char *const names[] = {"JSON", "MSGPACK", "JSON BARE"};
    const struct format_words *a = rq->bound;
    struct client *c = rq->client;
    bool is_bare = a->is_bare || rq->env->settings.bare_bigints;
    switch (a->word) {
    case FORMAT_WORD_NONE: resp_bulk_str(rq->w, names[c->settings.format]); return OK;
    case FORMAT_WORD_JSON: c->settings.format = is_bare ? FORMAT_JSON_BARE : FORMAT_JSON; break;
    case FORMAT_WORD_MSGPACK: c->settings.format = FORMAT_MSGPACK; break;
    }
    resp_simple(rq->w, "OK");
    return OK;
}

const struct command kv_format = {
    .name = "kv.format",
    .flags = CMD_FAST | CMD_CONNECTION,
    .group = "kv",
    .summary = "Sets the format of keys and values on this connection. Without an argument, "
               "returns the current format.",
    .arguments = &format_arguments,
    .reply = "OK, or without an argument the current format.",
    .run = kv_format_run,
};
