/* format: how values travel: KV.FORMAT for a connection, FORMAT as the last words of a command for
 * that command alone, which also holds when connections are shared.
 *
 * A command whose own words may be anything says where they end (own_words): two queues of the
 * names FORMAT and JSON in KV.DEQUEUE's ALSO are queues. Elsewhere no word of a command that ends
 * so means anything: keys, values, versionstamps, receipts and ids never read FORMAT or JSON.
 */
#include "command/commands.h"

static bool format_of_word(struct slice word, enum format *out)
{
    bool is_json = slice_is_word(word, "JSON");
    if (!is_json && !slice_is_word(word, "MSGPACK")) return false;
    *out = is_json ? FORMAT_JSON : FORMAT_MSGPACK;
    return true;
}

void format_take(struct request *rq)
{
    const struct command *c = rq->command;
    /* The shortest form of the command comes before it. */
    size_t least = (size_t)(c->arity < 0 ? -c->arity : c->arity);
    rq->has_format = false;
    rq->format = rq->client->format;
    if ((c->flags & CMD_FORMAT) == 0 || rq->argc < least + 2) return;
    size_t at = rq->argc - 2;
    if (!slice_is_word(rq->argv[at], "FORMAT")) return;
    if (!format_of_word(rq->argv[at + 1], &rq->format)) return;
    if (c->own_words != NULL && c->own_words(rq->argv, rq->argc) > at) {
        rq->format = rq->client->format;
        return;
    }
    rq->has_format = true;
    rq->argc = at;
}

static enum err kv_format_run(struct request *rq)
{
    struct client *c = rq->client;
    if (rq->argc == 1) {
        resp_bulk_str(rq->w, c->format == FORMAT_JSON ? "JSON" : "MSGPACK");
        return OK;
    }
    struct options o = {.rq = rq, .at = 1};
    if (!format_of_word(rq->argv[1], &c->format)) return options_unknown(&o);
    o.at++;
    if (o.at < rq->argc) return options_unknown(&o);
    resp_simple(rq->w, "OK");
    return OK;
}

const struct command kv_format = {
    .name = "kv.format",
    .arity = -1,
    .flags = CMD_FAST | CMD_CONNECTION,
    .group = "kv",
    .since = "0.1.0",
    .summary = "How this connection sends values and gets values and keys back; alone it tells.",
    .syntax = "[JSON | MSGPACK]",
    .reply = "OK; without a word the format in use.",
    .run = kv_format_run,
};
