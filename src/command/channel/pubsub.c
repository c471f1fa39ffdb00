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
#include "request/hint.h"
#include "request/shapes.h"
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
    if (k->kind == PUBSUB_SHARD) return pubsub_count(&c->listening.subscriber, PUBSUB_SHARD);
    return pubsub_count(&c->listening.subscriber, PUBSUB_CHANNEL) +
           pubsub_count(&c->listening.subscriber, PUBSUB_PATTERN);
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
    return error_set(&rq->error, ERR_LIMIT, "the channel's name has %zu bytes; the maximum is %d",
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
static enum err check_names(struct request *rq, size_t count)
{
    if (count <= NAMES_MAX) return OK;
    return error_set(&rq->error, ERR_LIMIT, "%s of %zu names; the maximum for one command is %d",
                     rq->command->name, count, NAMES_MAX);
}

/* Also of channels with other subscribers. */
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
                     "unknown channel '%.*s': names with kv: are reserved for the server, which "
                     "has kv:watch:<key>, kv:prefix:<key> and kv:queue:<name>",
                     (int)(name.len < 64 ? name.len : 64), (const char *)name.data);
}

/* All names are looked at first, so that an error or a wait finds nothing done. The first states of
 * watched keys come after all confirmations: libraries read as many frames as they named channels,
 * and take what lies between for one of them. */
static enum err subscribe(struct request *rq, const struct kind *k)
{
    const struct slices *names = &((const struct many_words *)rq->bound)->words;
    bool *is_own = arena_alloc(rq->arena, names->count * sizeof *is_own);
    struct watch_target *targets = arena_alloc(rq->arena, names->count * sizeof *targets);
    for (size_t i = 0; i < names->count; i++) {
        enum err r = parse_own(rq, k, names->items[i], &is_own[i], &targets[i]);
        if (r != OK) return r;
    }
    for (size_t i = 0; i < names->count; i++) {
        struct slice name = names->items[i];
        bool is_new = pubsub_subscribe(rq->env->pubsub, &rq->client->listening.subscriber, k->kind,
                                       name);
        is_own[i] = is_own[i] && is_new;
        if (is_own[i]) watch_subscribe(rq, name, &targets[i]);
        reply_frame(rq, k, k->subscribed, name, false);
        const struct feature_channel *owner = channel_owner(k, name);
        if (owner != NULL) owner->subscribe(rq, name);
    }
    for (size_t i = 0; i < names->count; i++) {
        if (is_own[i]) watch_reply_first(rq, names->items[i], &targets[i]);
    }
    return OK;
}

static void unsubscribe_one(struct request *rq, const struct kind *k, struct slice name)
{
    pubsub_unsubscribe(rq->env->pubsub, &rq->client->listening.subscriber, k->kind, name);
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
    struct subscriber *s = &rq->client->listening.subscriber;
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
    const struct slices *names = &((const struct many_words *)rq->bound)->words;
    if (names->count == 0) return unsubscribe_all(rq, k);
    for (size_t i = 0; i < names->count; i++) unsubscribe_one(rq, k, names->items[i]);
    return OK;
}

static void names_subjects(struct subjects *s, const struct kind *k, const void *bound)
{
    const struct slices *names = &((const struct many_words *)bound)->words;
    for (size_t i = 0; i < names->count; i++) channel_subjects(s, k, names->items[i]);
}

static void subscribe_subjects(struct subjects *s, const void *bound)
{
    names_subjects(s, &channels, bound);
}

static void psubscribe_subjects(struct subjects *s, const void *bound)
{
    names_subjects(s, &patterns, bound);
}

static void ssubscribe_subjects(struct subjects *s, const void *bound)
{
    names_subjects(s, &shards, bound);
}

#define NAMES(label)                                                                               \
    {                                                                                              \
        ARG_MANY(struct many_words, words, struct slice, label, arg_kind_word),                    \
            .fits = check_names                                                                    \
    }

ARGUMENTS_WITH(subscribe_arguments, struct many_words, "channel [channel ...]",
               WITH(.subjects = subscribe_subjects), NAMES("channel"));
ARGUMENTS_WITH(psubscribe_arguments, struct many_words, "pattern [pattern ...]",
               WITH(.subjects = psubscribe_subjects), NAMES("pattern"));
ARGUMENTS_WITH(ssubscribe_arguments, struct many_words, "shardchannel [shardchannel ...]",
               WITH(.subjects = ssubscribe_subjects), NAMES("shardchannel"));
/* What is listened to may be ended by every user. */
ARGUMENTS(unsubscribe_arguments, struct many_words, "[channel [channel ...]]", NAMES("channel"));
ARGUMENTS(punsubscribe_arguments, struct many_words, "[pattern [pattern ...]]", NAMES("pattern"));
ARGUMENTS(sunsubscribe_arguments, struct many_words, "[shardchannel [shardchannel ...]]",
          NAMES("shardchannel"));

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
#define SUBSCRIBE_COMMAND(word, text)                                                              \
    const struct command cmd_##word = {                                                            \
        .name = #word,                                                                             \
        .flags = CMD_PUBSUB | CMD_SUBSCRIBED | CMD_NO_MULTI,                                       \
        .group = "pubsub",                                                                         \
        .summary = text,                                                                           \
        .arguments = &word##_arguments,                                                            \
        .run = word##_run,                                                                         \
    }

SUBSCRIBE_COMMAND(subscribe, "Subscribes to channels.");
SUBSCRIBE_COMMAND(psubscribe, "Subscribes to the channels that match glob patterns.");
SUBSCRIBE_COMMAND(ssubscribe, "Subscribes to shard channels.");
SUBSCRIBE_COMMAND(unsubscribe, "Unsubscribes from channels, or from all of them.");
SUBSCRIBE_COMMAND(punsubscribe, "Unsubscribes from patterns, or from all of them.");
SUBSCRIBE_COMMAND(sunsubscribe, "Unsubscribes from shard channels, or from all of them.");

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
        if (!pubsub_own(&c->listening.subscriber, (enum pubsub_kind)k, may_listen, &l))
            return false;
    }
    return true;
}

const struct feature channels_feature = {
    .user_changed = channels_user_changed,
};

/* ---- PUBSUB ---- */

/* Whether the user may know that it has subscribers. */
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

ARGUMENTS_WITH(list_arguments, struct one_word, "[pattern]", WITH(.hint = hint_number),
               ARG_PATTERN(struct one_word, word, "pattern"));

static enum err list(struct request *rq, enum pubsub_kind kind)
{
    struct buf names; /* not scratch: that is where keys are read */
    struct listing l = {.rq = rq, .kind = kind, .w = {.out = &names, .proto = rq->w->proto}};
    struct slice pattern = ((const struct one_word *)rq->bound)->word;
    if (pattern.data != NULL) {
        l.glob = arena_alloc(rq->arena, sizeof *l.glob);
        glob_init(l.glob, pattern, false);
    }
    buf_init(&names);
    pubsub_each(rq->env->pubsub, kind, list_one, &l);
    bool is_whole = !names.is_failed;
    if (is_whole) {
        resp_array(rq->w, l.count);
        buf_append(rq->w->out, names.data, names.len);
    }
    buf_fini(&names);
    return is_whole ? OK : error_set(&rq->error, ERR_NOMEM, "out of memory for the channels");
}

ARGUMENTS(channel_numbers, struct many_words, "[channel [channel ...]]",
          ARG_WORDS(struct many_words, words, "channel"));
ARGUMENTS(shard_numbers, struct many_words, "[shardchannel [shardchannel ...]]",
          ARG_WORDS(struct many_words, words, "shardchannel"));

static enum err numbers(struct request *rq, enum pubsub_kind kind)
{
    const struct slices *names = &((const struct many_words *)rq->bound)->words;
    resp_array(rq->w, 2 * names->count);
    for (size_t i = 0; i < names->count; i++) {
        struct slice name = names->items[i];
        resp_bulk(rq->w, name);
        size_t count = pubsub_subscribers(rq->env->pubsub, kind, name);
        resp_int(rq->w, is_shown(rq, kind, name) ? (int64_t)count : 0);
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

#define PUBSUB_SUB(word, text, of)                                                                 \
    static const struct command sub_##word = {                                                     \
        .name = #word,                                                                             \
        .flags = CMD_PUBSUB,                                                                       \
        .group = "pubsub",                                                                         \
        .summary = text,                                                                           \
        .arguments = &(of),                                                                        \
        .run = word##_run,                                                                         \
    }

PUBSUB_SUB(channels, "Lists the channels that have subscribers.", list_arguments);
PUBSUB_SUB(numpat, "Returns the number of patterns that have subscribers.", no_arguments);
PUBSUB_SUB(numsub, "Returns the number of subscribers of channels.", channel_numbers);
PUBSUB_SUB(shardchannels, "Lists the shard channels that have subscribers.", list_arguments);
PUBSUB_SUB(shardnumsub, "Returns the number of subscribers of shard channels.", shard_numbers);
COMMAND_HELP("pubsub", 0);

static const struct command *const pubsub_subcommands[] = {
    &sub_channels, &sub_help, &sub_numpat, &sub_numsub, &sub_shardchannels, &sub_shardnumsub, NULL,
};

const struct command cmd_pubsub = {
    .name = "pubsub",
    .group = "pubsub",
    .summary = "A container for commands about channels and subscribers.",
    .arguments = &container_arguments,
    .subcommands = pubsub_subcommands,
};
