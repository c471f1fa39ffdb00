/* publish: PUBLISH and SPUBLISH; how messages are sent is in src/request/publication.c. */
#include "command/channel/channel_int.h"
#include "request/arguments.h"
#include "request/publication.h"
#include "request/table.h"

struct publish {
    struct slice channel, message;
};

static void publish_subjects(struct subjects *s, const void *bound)
{
    subjects_channel(s, ((const struct publish *)bound)->channel);
}

ARGUMENTS_WITH(publish_arguments, struct publish, "channel message",
               WITH(.subjects = publish_subjects), ARG_WORD(struct publish, channel, "channel"),
               ARG_WORD(struct publish, message, "message"));
ARGUMENTS_WITH(spublish_arguments, struct publish, "shardchannel message",
               WITH(.subjects = publish_subjects),
               ARG_WORD(struct publish, channel, "shardchannel"),
               ARG_WORD(struct publish, message, "message"));

static enum err publish(struct request *rq, bool is_shard)
{
    const struct publish *a = rq->bound;
    size_t told = 0;
    enum err r = check_channel(rq, a->channel);
    if (r != OK) return r;
    if (slice_has_prefix(a->channel, slice_str("kv:"))) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "channels that begin with kv: are reserved for the server");
    }
    r = publication_send(rq, is_shard, a->channel, a->message, &told);
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

#define PUBLISH_COMMAND(word, text)                                                                \
    const struct command cmd_##word = {                                                            \
        .name = #word,                                                                             \
        .flags = CMD_PUBSUB | CMD_FAST | CMD_PUBLISHES,                                            \
        .group = "pubsub",                                                                         \
        .summary = text,                                                                           \
        .arguments = &word##_arguments,                                                            \
        .run = word##_run,                                                                         \
    }

PUBLISH_COMMAND(publish, "Publishes a message to a channel and returns the number of receivers.");
PUBLISH_COMMAND(spublish, "Publishes a message to a shard channel and returns the number of "
                          "receivers.");
