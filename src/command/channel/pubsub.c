/* pubsub: SUBSCRIBE and relatives, PUBSUB, over src/pubsub; PUBLISH is in publish.c. Frames and
 * rules are Redis's: a reply frame for every channel named; in RESP2 a connection that listens may
 * say nothing but a few words (src/request/dispatch.c), in RESP3 messages are pushes between other
 * replies.
 */
#include "pubsub/pubsub.h"

#include "base/glob.h"
#include "command/channel/channel_int.h"
#include "request/args.h"
#include "request/command.h"
#include "request/feature.h"
#include "request/table.h"

#define NAMES_MAX 10000        /* of one command */
#define UNSUBSCRIBE_NAMES 2000 /* ended in one turn */

/* ---- subscribing ---- */

struct kind {
    enum pubsub_kind kind;
    const char *subscribed, *unsubscribed; /* first words of the frames */
};

static const struct kind channels = {PUBSUB_CHANNEL, "subscribe", "unsubscribe"};
static const struct kind patterns = {PUBSUB_PATTERN, "psubscribe", "punsubscribe"};
static const struct kind shards = {PUBSUB_SHARD, "ssubscribe", "sunsubscribe"};

/* Shard channels are counted apart from channels and patterns, as in Redis. */
static size_t count_shown(const struct client *c, const struct kind *k)
{
    if (k->kind == PUBSUB_SHARD) return pubsub_count(&c->subscriber, PUBSUB_SHARD);
    return pubsub_count(&c->subscriber, PUBSUB_CHANNEL) +
           pubsub_count(&c->subscriber, PUBSUB_PATTERN);
}

static void reply_frame(struct request *rq, const struct kind *k, const char *word,
                        struct slice name, bool is_nil)
{
    resp_push(rq->w, 3);
    resp_bulk_str(rq->w, word);
    if (is_nil) {
        resp_nil(rq->w);
    } else {
        resp_bulk(rq->w, name);
    }
    resp_int(rq->w, (int64_t)count_shown(rq->client, k));
}

/* Names are bounded because patterns are matched against them: base/glob.h says what that costs. */
enum err check_channel(struct request *rq, struct slice name)
{
    if (name.len <= PUBSUB_NAME_BYTES_MAX) return OK;
    return error_set(&rq->error, ERR_LIMIT, "the channel's name has %zu bytes; %d are allowed",
                     name.len, PUBSUB_NAME_BYTES_MAX);
}

/* Whose channel it is, of the features; NULL = an ordinary one. */
static const struct feature_channel *channel_owner(const struct kind *k, struct slice name)
{
    if (k->kind != PUBSUB_CHANNEL) return NULL;
    for (const struct feature *const *f = feature_table; *f != NULL; f++) {
        if ((*f)->channel != NULL && (*f)->channel->is_mine(name)) return (*f)->channel;
    }
    return NULL;
}

/* What one turn of the loop may do bounds what one command may ask for. */
static enum err check_names(struct request *rq)
{
    if (rq->argc - 1 <= NAMES_MAX) return OK;
    return error_set(&rq->error, ERR_LIMIT,
                     "%s of %zu names; %d are allowed in one command: use several",
                     rq->command->name, rq->argc - 1, NAMES_MAX);
}

/* Also of those that somebody else listens to. */
static void channel_subjects(struct subjects *s, const struct kind *k, struct slice name)
{
    bool is_pattern = k->kind == PUBSUB_PATTERN;
    const struct feature_channel *owner = channel_owner(k, name);
    bool is_watch = k->kind != PUBSUB_SHARD && watch_is_channel(name, is_pattern);
    if (is_watch) {
        watch_subjects(s, name, is_pattern);
    } else if (is_pattern) {
        subjects_channels(s, name);
    } else {
        subjects_channel(s, name);
    }
    if (owner != NULL) owner->subjects(s, name);
    if (owner != NULL || is_watch) subjects_database_of(s, s->rq->client->database);
}

/* Is it one of the server's own? Then what it watches; an error when there is no such channel. */
static enum err parse_own(struct request *rq, const struct kind *k, struct slice name, bool *is_own,
                          struct watch_target *t)
{
    bool is_pattern = k->kind == PUBSUB_PATTERN;
    enum err r = is_pattern ? arg_pattern(rq, name) : check_channel(rq, name);
    if (r != OK) return r;
    *is_own = k->kind != PUBSUB_SHARD && watch_is_channel(name, is_pattern);
    if (*is_own) return watch_parse(rq, name, is_pattern, t);
    const struct feature_channel *owner = channel_owner(k, name);
    if (owner != NULL) return owner->check(rq, name);
    if (is_pattern || !slice_has_prefix(name, slice_str("kv:"))) return OK;
    return error_set(&rq->error, ERR_SYNTAX,
                     "unknown channel '%.*s': those that begin with kv: are the server's own, "
                     "kv:watch:<key>, kv:prefix:<key> and kv:queue:<name>",
                     (int)(name.len < 64 ? name.len : 64), (const char *)name.data);
}

/* All names are looked at first, so that an error or a wait finds nothing done. The first states of
 * watched keys come after all confirmations: libraries read as many frames as they named channels,
 * and take what lies between for one of them. */
static enum err subscribe(struct request *rq, const struct kind *k)
{
    if (check_names(rq) != OK) return rq->error.code;
    bool *is_own = arena_alloc(rq->arena, rq->argc * sizeof *is_own);
    struct watch_target *targets = arena_alloc(rq->arena, rq->argc * sizeof *targets);
    for (size_t i = 1; i < rq->argc; i++) {
        enum err r = parse_own(rq, k, rq->argv[i], &is_own[i], &targets[i]);
        if (r != OK) return r;
    }
    for (size_t i = 1; i < rq->argc; i++) {
        struct slice name = rq->argv[i];
        bool is_new = pubsub_subscribe(rq->env->pubsub, &rq->client->subscriber, k->kind, name);
        is_own[i] = is_own[i] && is_new;
        if (is_own[i]) watch_subscribe(rq, name, &targets[i]);
        reply_frame(rq, k, k->subscribed, name, false);
        const struct feature_channel *owner = channel_owner(k, name);
        if (owner != NULL) owner->subscribe(rq, name);
    }
    for (size_t i = 1; i < rq->argc; i++) {
        if (is_own[i]) watch_reply_first(rq, rq->argv[i], &targets[i]);
    }
    return OK;
}

static void unsubscribe_one(struct request *rq, const struct kind *k, struct slice name)
{
    pubsub_unsubscribe(rq->env->pubsub, &rq->client->subscriber, k->kind, name);
    const struct feature_channel *owner = channel_owner(k, name);
    if (owner != NULL) owner->unsubscribe(rq->client, name);
    if (k->kind != PUBSUB_SHARD) {
        watch_unsubscribe(rq->client, name, k->kind == PUBSUB_PATTERN);
    }
    reply_frame(rq, k, k->unsubscribed, name, false);
}

/* All of them, some in each turn: the frames of those go out as messages before the command is run
 * again, for which its waiter is in no list. */
static enum err unsubscribe_all(struct request *rq, const struct kind *k)
{
    struct subscriber *s = &rq->client->subscriber;
    struct buf *out = rq->w->out;
    size_t from = out->len;
    struct slice name;
    bool had_any = false;
    for (size_t n = 0; pubsub_first(s, k->kind, &name); n++) {
        if (n == UNSUBSCRIBE_NAMES) {
            struct slice frames = slice_of(out->data + from, out->len - from);
            rq->client->ops->write(rq->client, frames, 0);
            return error_set(&rq->error, ERR_WAIT, "channels are being ended");
        }
        unsubscribe_one(rq, k, arena_copy(rq->arena, name));
        had_any = true;
    }
    if (!had_any) reply_frame(rq, k, k->unsubscribed, slice_of(NULL, 0), true);
    return OK;
}

static enum err unsubscribe(struct request *rq, const struct kind *k)
{
    if (rq->argc == 1) return unsubscribe_all(rq, k);
    if (check_names(rq) != OK) return rq->error.code;
    for (size_t i = 1; i < rq->argc; i++) unsubscribe_one(rq, k, rq->argv[i]);
    return OK;
}

static const struct kind *kind_of(const struct command *c)
{
    if (c == &cmd_psubscribe) return &patterns;
    return c == &cmd_ssubscribe ? &shards : &channels;
}

static enum err subscribe_subjects(struct request *rq, struct subjects *out)
{
    const struct kind *k = kind_of(rq->command);
    for (size_t i = 1; i < rq->argc; i++) channel_subjects(out, k, rq->argv[i]);
    return OK;
}

static enum err subscribe_run(struct request *rq)
{
    return subscribe(rq, &channels);
}

static enum err psubscribe_run(struct request *rq)
{
    return subscribe(rq, &patterns);
}

static enum err ssubscribe_run(struct request *rq)
{
    return subscribe(rq, &shards);
}

static enum err unsubscribe_run(struct request *rq)
{
    return unsubscribe(rq, &channels);
}

static enum err punsubscribe_run(struct request *rq)
{
    return unsubscribe(rq, &patterns);
}

static enum err sunsubscribe_run(struct request *rq)
{
    return unsubscribe(rq, &shards);
}

/* A reply of several frames is no element of EXEC's: not between MULTI and EXEC. */
#define SUBSCRIBE_COMMAND(word, full_name, words, hook, text, arguments)                           \
    const struct command cmd_##word = {                                                            \
        .name = full_name,                                                                         \
        .arity = words,                                                                            \
        .flags = CMD_PUBSUB | CMD_SUBSCRIBED | CMD_NO_MULTI,                                       \
        .group = "pubsub",                                                                         \
        .since = "0.1.0",                                                                          \
        .summary = text,                                                                           \
        .syntax = arguments,                                                                       \
        .run = word##_run,                                                                         \
        .subjects = hook,                                                                          \
    }

SUBSCRIBE_COMMAND(subscribe, "subscribe", -2, subscribe_subjects, "Listens to channels.",
                  "channel [channel ...]");
SUBSCRIBE_COMMAND(psubscribe, "psubscribe", -2, subscribe_subjects,
                  "Listens to all channels that match glob patterns.", "pattern [pattern ...]");
SUBSCRIBE_COMMAND(ssubscribe, "ssubscribe", -2, subscribe_subjects, "Listens to shard channels.",
                  "shardchannel [shardchannel ...]");
SUBSCRIBE_COMMAND(unsubscribe, "unsubscribe", -1, NULL,
                  "Stops listening to channels, or to all of them.", "[channel [channel ...]]");
SUBSCRIBE_COMMAND(punsubscribe, "punsubscribe", -1, NULL,
                  "Stops listening to patterns, or to all of them.", "[pattern [pattern ...]]");
SUBSCRIBE_COMMAND(sunsubscribe, "sunsubscribe", -1, NULL,
                  "Stops listening to shard channels, or to all of them.",
                  "[shardchannel [shardchannel ...]]");

/* ---- changes of users ---- */

struct listener {
    struct env *env;
    struct client *client;
};

static bool may_listen(void *arg, enum pubsub_kind kind, struct slice name)
{
    const struct listener *l = arg;
    const struct command *const commands[] = {[PUBSUB_CHANNEL] = &cmd_subscribe,
                                              [PUBSUB_PATTERN] = &cmd_psubscribe,
                                              [PUBSUB_SHARD] = &cmd_ssubscribe};
    struct slice argv[] = {slice_str(commands[kind]->name), name};
    return client_may(l->env, l->client, commands[kind], argv, 2);
}

static bool channels_user_changed(struct env *env, struct client *c)
{
    struct listener l = {.env = env, .client = c};
    for (int k = 0; k < PUBSUB_KINDS; k++) {
        if (!pubsub_own(&c->subscriber, (enum pubsub_kind)k, may_listen, &l)) return false;
    }
    return true;
}

const struct feature channels_feature = {
    .user_changed = channels_user_changed,
};

/* ---- PUBSUB ---- */

/* May the user know that somebody listens to it? */
static bool is_shown(struct request *rq, enum pubsub_kind kind, struct slice name)
{
    struct subjects s = {.rq = rq};
    if (rq->client->user->is_unlimited) return true;
    channel_subjects(&s, kind == PUBSUB_SHARD ? &shards : &channels, name);
    bool may_know = !s.is_unclear;
    for (size_t i = 0; i < s.count && may_know; i++) {
        may_know = access_may(rq->client->user, &s.items[i]);
    }
    return may_know;
}

struct listing {
    struct request *rq;
    enum pubsub_kind kind;
    struct resp_writer w;
    struct glob *glob; /* NULL = all */
    size_t count;
};

static void list_one(void *arg, struct slice name, size_t subscribers)
{
    struct listing *l = arg;
    (void)subscribers;
    if (l->glob != NULL && !glob_fits(l->glob, name)) return;
    if (!is_shown(l->rq, l->kind, name)) return;
    resp_bulk(&l->w, name);
    l->count++;
}

static enum err list(struct request *rq, enum pubsub_kind kind)
{
    struct buf names; /* not scratch: that is where keys are read */
    struct listing l = {.rq = rq, .kind = kind, .w = {.out = &names, .proto = rq->w->proto}};
    if (rq->argc > 3) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "wrong number of arguments for 'pubsub|%s' command", rq->command->name);
    }
    if (rq->argc == 3) {
        enum err r = arg_pattern(rq, rq->argv[2]);
        if (r != OK) return r;
        l.glob = arena_alloc(rq->arena, sizeof *l.glob);
        glob_init(l.glob, rq->argv[2], false);
    }
    buf_init(&names);
    pubsub_each(rq->env->pubsub, kind, list_one, &l);
    bool is_whole = !names.is_failed;
    if (is_whole) {
        resp_array(rq->w, l.count);
        buf_append(rq->w->out, names.data, names.len);
    }
    buf_fini(&names);
    return is_whole ? OK : error_set(&rq->error, ERR_NOMEM, "no memory for the channels");
}

static enum err numbers(struct request *rq, enum pubsub_kind kind)
{
    resp_array(rq->w, 2 * (rq->argc - 2));
    for (size_t i = 2; i < rq->argc; i++) {
        resp_bulk(rq->w, rq->argv[i]);
        size_t count = pubsub_subscribers(rq->env->pubsub, kind, rq->argv[i]);
        resp_int(rq->w, is_shown(rq, kind, rq->argv[i]) ? (int64_t)count : 0);
    }
    return OK;
}

static enum err channels_run(struct request *rq)
{
    return list(rq, PUBSUB_CHANNEL);
}

static enum err shardchannels_run(struct request *rq)
{
    return list(rq, PUBSUB_SHARD);
}

static enum err numsub_run(struct request *rq)
{
    return numbers(rq, PUBSUB_CHANNEL);
}

static enum err shardnumsub_run(struct request *rq)
{
    return numbers(rq, PUBSUB_SHARD);
}

static enum err numpat_run(struct request *rq)
{
    resp_int(rq->w, (int64_t)pubsub_names(rq->env->pubsub, PUBSUB_PATTERN));
    return OK;
}

#define PUBSUB_SUB(word, full_name, words, text, arguments)                                        \
    static const struct command sub_##word = {                                                     \
        .name = full_name,                                                                         \
        .arity = words,                                                                            \
        .flags = CMD_PUBSUB,                                                                       \
        .group = "pubsub",                                                                         \
        .since = "0.1.0",                                                                          \
        .summary = text,                                                                           \
        .syntax = arguments,                                                                       \
        .run = word##_run,                                                                         \
    }

PUBSUB_SUB(channels, "channels", -2, "Channels that somebody listens to.", "[pattern]");
PUBSUB_SUB(numpat, "numpat", 2, "The number of patterns that somebody listens to.", "");
PUBSUB_SUB(numsub, "numsub", -2, "Channels and how many listen to them.",
           "[channel [channel ...]]");
PUBSUB_SUB(shardchannels, "shardchannels", -2, "Shard channels that somebody listens to.",
           "[pattern]");
PUBSUB_SUB(shardnumsub, "shardnumsub", -2, "Shard channels and how many listen to them.",
           "[shardchannel [shardchannel ...]]");
COMMAND_HELP("pubsub", 0);

static const struct command *const pubsub_subcommands[] = {
    &sub_channels, &sub_help, &sub_numpat, &sub_numsub, &sub_shardchannels, &sub_shardnumsub, NULL,
};

const struct command cmd_pubsub = {
    .name = "pubsub",
    .arity = -2,
    .group = "pubsub",
    .since = "0.1.0",
    .summary = "Commands about channels and who listens.",
    .syntax = "",
    .subcommands = pubsub_subcommands,
};
