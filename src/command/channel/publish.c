/* publish: PUBLISH and SPUBLISH; how messages are sent is in src/request/publication.c. */
#include "command/channel/channel_int.h"
#include "request/publication.h"
#include "request/table.h"

static enum err publish(struct request *rq, bool is_shard)
{
    size_t told = 0;
    struct slice channel = rq->argv[1];
    enum err r = check_channel(rq, channel);
    if (r != OK) return r;
    if (slice_has_prefix(channel, slice_str("kv:"))) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "channels that begin with kv: are the server's own");
    }
    r = publication_send(rq, is_shard, channel, rq->argv[2], &told);
    if (r == OK) resp_int(rq->w, (int64_t)told);
    return r;
}

static enum err publish_run(struct request *rq)
{
    return publish(rq, false);
}

static enum err spublish_run(struct request *rq)
{
    return publish(rq, true);
}

static enum err publish_subjects(struct request *rq, struct subjects *out)
{
    subjects_channel(out, rq->argv[1]);
    return OK;
}

#define PUBLISH_COMMAND(word, full_name, text, arguments)                                          \
    const struct command cmd_##word = {                                                            \
        .name = full_name,                                                                         \
        .arity = 3,                                                                                \
        .flags = CMD_PUBSUB | CMD_FAST | CMD_PUBLISHES,                                            \
        .group = "pubsub",                                                                         \
        .since = "0.1.0",                                                                          \
        .summary = text,                                                                           \
        .syntax = arguments,                                                                       \
        .run = word##_run,                                                                         \
        .subjects = publish_subjects,                                                              \
    }

PUBLISH_COMMAND(publish, "publish", "Sends a message to a channel; how many received it.",
                "channel message");
PUBLISH_COMMAND(spublish, "spublish", "Sends a message to a shard channel; how many received it.",
                "shardchannel message");
