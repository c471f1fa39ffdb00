/* client_tracking: CLIENT TRACKING, TRACKINGINFO, CACHING, GETREDIR: a client that caches what it
 * reads asks to be told when that has changed. Words and errors are Redis's; what is done is in
 * src/request/tracking.h.
 */
#include "access/user.h"
#include "command/session/session_int.h"
#include "request/args.h"
#include "request/feature.h"
#include "request/table.h"
#include "request/tracking.h"

struct asked {
    struct tracking_options options;
    struct slice *prefixes; /* in the arena */
    size_t prefix_count;
};

/* ---- CLIENT TRACKING ---- */

/* Somebody else's connection is as good as none. */
static enum err find_target(struct request *rq, uint64_t id)
{
    const struct client *me = rq->client;
    for (const struct client *c = rq->env->clients.next; c != &rq->env->clients; c = c->next) {
        if (c->id == id && (me->user->is_unlimited || c->user == me->user)) return OK;
    }
    return error_set(&rq->error, ERR_SYNTAX, "The client ID you want redirect to does not exist");
}

static enum err parse_redirect(struct request *rq, struct slice word, struct asked *a)
{
    int64_t id = 0;
    if (a->options.redirect != 0) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "A client can only redirect to a single other client");
    }
    if (!slice_to_i64(word, &id)) {
        return error_set(&rq->error, ERR_SYNTAX, "value is not an integer or out of range");
    }
    a->options.redirect = (uint64_t)id;
    return find_target(rq, (uint64_t)id);
}

static enum err parse_prefix(struct request *rq, struct slice word, struct asked *a)
{
    if (word.len > TRACKING_PREFIX_BYTES_MAX) {
        return error_set(&rq->error, ERR_LIMIT, "the prefix has %zu bytes; %d are allowed",
                         word.len, TRACKING_PREFIX_BYTES_MAX);
    }
    a->prefixes[a->prefix_count++] = word;
    return OK;
}

static enum err parse(struct request *rq, struct asked *a)
{
    struct tracking_options *o = &a->options;
    enum err r = OK;
    a->prefixes = arena_alloc(rq->arena, rq->argc * sizeof *a->prefixes);
    for (size_t i = 3; i < rq->argc && r == OK; i++) {
        struct slice word = rq->argv[i];
        bool has_more = i + 1 < rq->argc;
        if (slice_is_word(word, "REDIRECT") && has_more) {
            r = parse_redirect(rq, rq->argv[++i], a);
        } else if (slice_is_word(word, "PREFIX") && has_more) {
            r = parse_prefix(rq, rq->argv[++i], a);
        } else if (slice_is_word(word, "BCAST")) {
            o->is_broadcast = true;
        } else if (slice_is_word(word, "OPTIN")) {
            o->is_optin = true;
        } else if (slice_is_word(word, "OPTOUT")) {
            o->is_optout = true;
        } else if (slice_is_word(word, "NOLOOP")) {
            o->is_noloop = true;
        } else {
            r = error_set(&rq->error, ERR_SYNTAX, "syntax error");
        }
    }
    return r;
}

/* Do the options go together, and with what the client has asked for before? */
static enum err check_options(struct request *rq, const struct asked *a)
{
    const struct tracking_options *o = &a->options;
    struct tracking_view was;
    tracking_look(rq->client, &was);
    const char *why = NULL;
    if (!o->is_broadcast && a->prefix_count > 0) {
        why = "PREFIX option requires BCAST mode to be enabled";
    } else if (was.is_on && was.options.is_broadcast != o->is_broadcast) {
        why = "You can't switch BCAST mode on/off before disabling tracking for this client, and "
              "then re-enabling it with a different mode.";
    } else if (o->is_broadcast && (o->is_optin || o->is_optout)) {
        why = "OPTIN and OPTOUT are not compatible with BCAST";
    } else if (o->is_optin && o->is_optout) {
        why = "You can't specify both OPTIN mode and OPTOUT mode";
    } else if ((o->is_optin && was.options.is_optout) || (o->is_optout && was.options.is_optin)) {
        why = "You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and "
              "then re-enabling it with a different mode.";
    }
    return why == NULL ? OK : error_set(&rq->error, ERR_SYNTAX, "%s", why);
}

/* One of them is the beginning of the other. */
static bool overlap(struct slice a, struct slice b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    return len == 0 || memcmp(a.data, b.data, len) == 0;
}

static enum err check_one_prefix(struct request *rq, struct slice prefix,
                                 const struct slice *others, size_t count, const char *what)
{
    for (size_t i = 0; i < count; i++) {
        if (!overlap(prefix, others[i])) continue;
        return error_set(&rq->error, ERR_SYNTAX,
                         "Prefix '%.*s' overlaps with %s prefix '%.*s'. Prefixes for a single "
                         "client must not overlap.",
                         (int)(prefix.len < 64 ? prefix.len : 64), (const char *)prefix.data, what,
                         (int)(others[i].len < 64 ? others[i].len : 64),
                         (const char *)others[i].data);
    }
    return OK;
}

static enum err check_prefixes(struct request *rq, const struct asked *a)
{
    struct slice *before = NULL;
    size_t count = tracking_prefixes(rq->client, rq->arena, &before);
    enum err r = OK;
    if (count + a->prefix_count > TRACKING_PREFIXES_MAX) {
        return error_set(&rq->error, ERR_LIMIT, "a client may have %d prefixes",
                         TRACKING_PREFIXES_MAX);
    }
    for (size_t i = 0; i < a->prefix_count && r == OK; i++) {
        r = check_one_prefix(rq, a->prefixes[i], before, count, "an existing");
        if (r != OK) break;
        r = check_one_prefix(rq, a->prefixes[i], a->prefixes + i + 1, a->prefix_count - i - 1,
                             "another provided");
    }
    return r;
}

static void switch_on(struct request *rq, const struct asked *a)
{
    tracking_on(rq->env, rq->client, &a->options);
    if (!a->options.is_broadcast) return;
    for (size_t i = 0; i < a->prefix_count; i++) {
        tracking_add_prefix(rq->env, rq->client, a->prefixes[i]);
    }
    if (a->prefix_count == 0) tracking_add_prefix(rq->env, rq->client, slice_str(""));
}

static enum err tracking_run(struct request *rq)
{
    struct asked a = {0};
    bool is_on = slice_is_word(rq->argv[2], "ON");
    enum err r = parse(rq, &a);
    if (r == OK && !is_on && !slice_is_word(rq->argv[2], "OFF")) {
        r = error_set(&rq->error, ERR_SYNTAX, "syntax error");
    }
    if (r == OK && is_on) r = check_options(rq, &a);
    if (r == OK && is_on && a.options.is_broadcast) r = check_prefixes(rq, &a);
    if (r != OK) return r;
    if (is_on) {
        switch_on(rq, &a);
    } else {
        tracking_off(rq->env, rq->client);
    }
    resp_simple(rq->w, "OK");
    return OK;
}

/* ---- the others ---- */

static enum err caching_run(struct request *rq)
{
    struct tracking_view v;
    const char *why = NULL;
    bool is_yes = slice_is_word(rq->argv[2], "YES");
    tracking_look(rq->client, &v);
    if (!v.is_on) {
        why = "CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or "
              "OPTOUT mode enabled";
    } else if (!is_yes && !slice_is_word(rq->argv[2], "NO")) {
        why = "syntax error";
    } else if (is_yes && !v.options.is_optin) {
        why = "CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.";
    } else if (!is_yes && !v.options.is_optout) {
        why = "CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.";
    }
    if (why != NULL) return error_set(&rq->error, ERR_SYNTAX, "%s", why);
    tracking_cache_next(rq->client);
    resp_simple(rq->w, "OK");
    return OK;
}

/* As Redis: -1 = off, 0 = the client itself. */
static void reply_redirect(struct request *rq, const struct tracking_view *v)
{
    resp_int(rq->w, v->is_on ? (int64_t)v->options.redirect : -1);
}

static enum err getredir_run(struct request *rq)
{
    struct tracking_view v;
    tracking_look(rq->client, &v);
    reply_redirect(rq, &v);
    return OK;
}

static void reply_flags(struct request *rq, const struct tracking_view *v)
{
    const char *flags[8];
    size_t n = 0;
    flags[n++] = v->is_on ? "on" : "off";
    if (v->options.is_broadcast) flags[n++] = "bcast";
    if (v->options.is_optin) flags[n++] = "optin";
    if (v->options.is_optin && v->is_caching) flags[n++] = "caching-yes";
    if (v->options.is_optout) flags[n++] = "optout";
    if (v->options.is_optout && v->is_caching) flags[n++] = "caching-no";
    if (v->options.is_noloop) flags[n++] = "noloop";
    if (v->is_broken) flags[n++] = "broken_redirect";
    resp_set(rq->w, n);
    for (size_t i = 0; i < n; i++) resp_bulk_str(rq->w, flags[i]);
}

static enum err trackinginfo_run(struct request *rq)
{
    struct tracking_view v;
    struct slice *prefixes = NULL;
    size_t count = tracking_prefixes(rq->client, rq->arena, &prefixes);
    tracking_look(rq->client, &v);
    resp_map(rq->w, 3);
    resp_bulk_str(rq->w, "flags");
    reply_flags(rq, &v);
    resp_bulk_str(rq->w, "redirect");
    reply_redirect(rq, &v);
    resp_bulk_str(rq->w, "prefixes");
    resp_array(rq->w, count);
    for (size_t i = 0; i < count; i++) resp_bulk(rq->w, prefixes[i]);
    return OK;
}

CLIENT_SUB(tracking, "tracking", -3, CMD_NO_MULTI,
           "Whether the client is told when what it has read changes.",
           "<ON | OFF> [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] [BCAST] "
           "[OPTIN] [OPTOUT] [NOLOOP]");
CLIENT_SUB(trackinginfo, "trackinginfo", 2, 0, "How the connection is tracked.", "");
CLIENT_SUB(caching, "caching", 3, CMD_NO_MULTI,
           "Whether the keys of the next command, or transaction, are tracked.", "<YES | NO>");
CLIENT_SUB(getredir, "getredir", 2, 0,
           "The client that is told instead of this one; 0 = none, -1 = it is not tracked.", "");

/* ---- feature ---- */

static void tracked_client_gone(struct env *env, struct client *c)
{
    tracking_off(env, c);
    tracking_target_gone(c);
}

static void tracked_client_bytes(const struct client *c, struct client_memory *out)
{
    out->channels += tracking_bytes(c);
}

const struct feature tracking_feature = {
    .open = trackings_open,
    .close = trackings_close,
    .use_engine = trackings_of_engine,
    .turn = tracking_turn,
    .tick = tracking_tick,
    .client_gone = tracked_client_gone,
    .client_reset = tracking_off,
    .client_bytes = tracked_client_bytes,
};
