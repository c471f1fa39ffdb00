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
    bool is_on;
    int64_t redirect; /* 0 = to the client itself */
    struct slices prefixes;
    bool is_broadcast, is_optin, is_optout, is_noloop;
};

/* ---- CLIENT TRACKING ---- */

/* Of another user: as if it were not there. */
static enum err find_target(struct request *rq, uint64_t id)
{
    const struct client *me = rq->client;
    for (const struct client *c = rq->env->clients.list.next; c != &rq->env->clients.list;
         c = c->next) {
        if (c->id == id && (me->user->is_unlimited || c->user == me->user)) return OK;
    }
    return error_set(&rq->error, ERR_SYNTAX, "The client ID you want redirect to does not exist");
}

static bool tracking_hint(struct request *rq, struct slice word)
{
    if (!slice_is_word(word, "REDIRECT")) return false;
    (void)error_set(&rq->error, ERR_SYNTAX, "A client can only redirect to a single other client");
    return true;
}

static enum err read_prefix(struct request *rq, const struct argument *a, struct slice word,
                            void *to)
{
    (void)a;
    memcpy(to, &word, sizeof word);
    if (word.len <= TRACKING_PREFIX_BYTES_MAX) return OK;
    return error_set(&rq->error, ERR_LIMIT, "the prefix has %zu bytes; %d are allowed", word.len,
                     TRACKING_PREFIX_BYTES_MAX);
}
static const struct argument_kind prefix_kind = {.read = read_prefix};

ARGUMENTS_WITH(tracking_arguments, struct asked,
               "<ON | OFF> [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] [BCAST] "
               "[OPTIN] [OPTOUT] [NOLOOP]",
               WITH(.hint = tracking_hint),
               ARG_CHOICE(struct asked, is_on, {"ON", true}, {"OFF", false}),
               ARG_INTEGER(struct asked, redirect, "REDIRECT", INT64_MIN, INT64_MAX, 0),
               {ARG_MANY(struct asked, prefixes, struct slice, "PREFIX", prefix_kind)},
               ARG_FLAG(struct asked, is_broadcast, "BCAST"),
               ARG_FLAG(struct asked, is_optin, "OPTIN"),
               ARG_FLAG(struct asked, is_optout, "OPTOUT"),
               ARG_FLAG(struct asked, is_noloop, "NOLOOP"));

/* Do the options go together, and with what the client has asked for before? */
static enum err check_options(struct request *rq, const struct asked *a)
{
    struct tracking_view was;
    tracking_look(rq->client, &was);
    const char *why = NULL;
    if (!a->is_broadcast && a->prefixes.count > 0) {
        why = "PREFIX option requires BCAST mode to be enabled";
    } else if (was.is_on && was.options.is_broadcast != a->is_broadcast) {
        why = "You can't switch BCAST mode on/off before disabling tracking for this client, and "
              "then re-enabling it with a different mode.";
    } else if (a->is_broadcast && (a->is_optin || a->is_optout)) {
        why = "OPTIN and OPTOUT are not compatible with BCAST";
    } else if (a->is_optin && a->is_optout) {
        why = "You can't specify both OPTIN mode and OPTOUT mode";
    } else if ((a->is_optin && was.options.is_optout) || (a->is_optout && was.options.is_optin)) {
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
    if (count + a->prefixes.count > TRACKING_PREFIXES_MAX) {
        return error_set(&rq->error, ERR_LIMIT, "a client may have %d prefixes",
                         TRACKING_PREFIXES_MAX);
    }
    for (size_t i = 0; i < a->prefixes.count && r == OK; i++) {
        r = check_one_prefix(rq, a->prefixes.items[i], before, count, "an existing");
        if (r != OK) break;
        r = check_one_prefix(rq, a->prefixes.items[i], a->prefixes.items + i + 1,
                             a->prefixes.count - i - 1, "another provided");
    }
    return r;
}

static void switch_on(struct request *rq, const struct asked *a)
{
    struct tracking_options o = {.redirect = (uint64_t)a->redirect,
                                 .is_broadcast = a->is_broadcast,
                                 .is_optin = a->is_optin,
                                 .is_optout = a->is_optout,
                                 .is_noloop = a->is_noloop};
    tracking_on(rq->env, rq->client, &o);
    if (!a->is_broadcast) return;
    for (size_t i = 0; i < a->prefixes.count; i++) {
        tracking_add_prefix(rq->env, rq->client, a->prefixes.items[i]);
    }
    if (a->prefixes.count == 0) tracking_add_prefix(rq->env, rq->client, slice_str(""));
}

static enum err tracking_run(struct request *rq)
{
    const struct asked *a = rq->bound;
    enum err r = OK;
    if (a->redirect != 0) r = find_target(rq, (uint64_t)a->redirect);
    if (r == OK && a->is_on) r = check_options(rq, a);
    if (r == OK && a->is_on && a->is_broadcast) r = check_prefixes(rq, a);
    if (r != OK) return r;
    if (a->is_on) {
        switch_on(rq, a);
    } else {
        tracking_off(rq->env, rq->client);
    }
    resp_simple(rq->w, "OK");
    return OK;
}

/* ---- the others ---- */

struct caching {
    bool is_yes;
};
ARGUMENTS(caching_arguments, struct caching, "<YES | NO>",
          ARG_CHOICE(struct caching, is_yes, {"YES", true}, {"NO", false}));

static enum err caching_run(struct request *rq)
{
    struct tracking_view v;
    const char *why = NULL;
    bool is_yes = ((const struct caching *)rq->bound)->is_yes;
    tracking_look(rq->client, &v);
    if (!v.is_on) {
        why = "CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or "
              "OPTOUT mode enabled";
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

CLIENT_SUB(tracking, "tracking", CMD_NO_MULTI,
           "Turns notifications about changes of the keys that the client has read on or off.",
           tracking_arguments);
CLIENT_SUB(trackinginfo, "trackinginfo", 0, "Returns the state of tracking for the connection.",
           no_arguments);
CLIENT_SUB(caching, "caching", CMD_NO_MULTI,
           "Sets whether the keys of the next command or transaction are tracked.",
           caching_arguments);
CLIENT_SUB(getredir, "getredir", 0,
           "Returns the id of the client that receives the invalidations, 0 for this one, -1 "
           "without tracking.",
           no_arguments);

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
