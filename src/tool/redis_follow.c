/* redis_follow: PSUBSCRIBE __keyevent@*__:*, whose messages are the names of keys. A PING on that
 * connection is answered after all events that came before it. */
#include "tool/redis_follow.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tool/tool.h"

#define READS_AT_ONCE 256 /* then others have their turn */

/* ---- the server's setting -------------------------------------------------------------------- */

void redis_events_needed(const char *has, char out[REDIS_EVENTS_BYTES])
{
    static const char types[] = "g$lshzxet";
    bool has_all = strchr(has, 'A') != NULL;
    if (!has_all) {
        has_all = true;
        for (const char *p = types; *p != '\0'; p++) has_all &= strchr(has, *p) != NULL;
    }
    bool has_channel = strchr(has, 'E') != NULL;
    out[0] = '\0';
    if (has_all && has_channel) return;
    snprintf(out, REDIS_EVENTS_BYTES, "%.32s%s%s", has, has_channel ? "" : "E", has_all ? "" : "A");
}

static enum tool_status set_events(struct redis_follow *f, struct redis_reader *r, const char *has,
                                   const char *needed, bool sets)
{
    redisReply *reply = NULL;
    if (!sets) {
        return tool_fail(TOOL_NO,
                         "%s does not send notifications: its notify-keyspace-events is \"%s\". "
                         "Run CONFIG SET notify-keyspace-events %s there, or give --set-events, "
                         "which does so and restores the previous value at the end",
                         r->who, has, needed);
    }
    enum tool_status s = redis_ask(
        r, TOOL_WORDS_OF("CONFIG", "SET", "notify-keyspace-events", needed), &reply);
    freeReplyObject(reply);
    if (s != TOOL_DONE) return s;
    size_t len = strlen(has) + 1;
    f->former = mem_alloc(len);
    memcpy(f->former, has, len);
    return TOOL_DONE;
}

static enum tool_status look_at_events(struct redis_follow *f, struct redis_reader *r, bool sets)
{
    redisReply *reply = NULL;
    char needed[REDIS_EVENTS_BYTES];
    wire_append_text(r->w, TOOL_WORDS_OF("CONFIG", "GET", "notify-keyspace-events"));
    enum tool_status s = redis_hear(r, &reply);
    if (s != TOOL_DONE) return s;
    if (!wire_is_array(reply, 2) || !wire_is(reply->element[1], REDIS_REPLY_STRING)) {
        s = tool_fail(TOOL_NO,
                      "cannot determine whether %s sends notifications (CONFIG GET "
                      "notify-keyspace-events): %s",
                      r->who, wire_is(reply, REDIS_REPLY_ERROR) ? reply->str : "it has none");
    } else {
        redis_events_needed(reply->element[1]->str, needed);
        if (needed[0] != '\0') s = set_events(f, r, reply->element[1]->str, needed, sets);
    }
    freeReplyObject(reply);
    return s;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void lose(struct redis_follow *f)
{
    if (f->w == NULL) return;
    snprintf(f->why, sizeof f->why, "%s", wire_why(f->w));
    wire_close(f->w);
    f->w = NULL;
    f->also.fds[0] = -1;
    f->is_lost = true;
}

/* ["pmessage", pattern, "__keyevent@<database>__:<event>", key] */
static void take_event(struct redis_follow *f, const redisReply *r)
{
    static const char head[] = "__keyevent@";
    if (!wire_is_array(r, 2)) return;
    if (slice_eq(wire_slice(r->element[0]), slice_str("pong"))) f->pongs++;
    if (r->elements != 4 || !slice_eq(wire_slice(r->element[0]), slice_str("pmessage"))) return;
    if (!slice_has_prefix(wire_slice(r->element[2]), slice_str(head))) return;
    unsigned long database = strtoul(r->element[2]->str + sizeof head - 1, NULL, 10);
    f->events++;
    redis_names_add(&f->dirty, (uint32_t)database, wire_slice(r->element[3]), clock_mono_us());
}

static bool is_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return fd >= 0 && poll(&p, 1, 0) > 0;
}

static sigset_t stop_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
}

static void take_signal(struct redis_follow *f)
{
    const struct timespec now = {.tv_sec = 0};
    sigset_t set = stop_signals();
    if (sigtimedwait(&set, NULL, &now) < 0) return;
    f->is_stopping = true;
    /* The next one ends the program. */
    f->also.fds[1] = -1;
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void attend(void *arg)
{
    struct redis_follow *f = arg;
    if (is_readable(f->also.fds[1])) take_signal(f);
    for (int i = 0; i < READS_AT_ONCE && is_readable(f->also.fds[0]); i++) {
        redisReply *r = NULL;
        if (!wire_move(f->w)) {
            lose(f);
            return;
        }
        while (wire_take(f->w, &r) && r != NULL) {
            take_event(f, r);
            freeReplyObject(r);
        }
    }
}

void redis_follow_wait(struct redis_follow *f, int64_t ms)
{
    struct pollfd p[2] = {{.fd = f->also.fds[0], .events = POLLIN},
                          {.fd = f->also.fds[1], .events = POLLIN}};
    if (f->w != NULL && wire_wants_out(f->w) && !wire_write(f->w)) lose(f);
    if (poll(p, 2, (int)ms) > 0) attend(f);
}

void redis_follow_ping(struct redis_follow *f)
{
    if (f->w == NULL) return;
    wire_append_text(f->w, TOOL_WORDS_OF("PING"));
    f->pings++;
    if (!wire_write(f->w)) lose(f);
}

bool redis_follow_is_answered(const struct redis_follow *f)
{
    return f->pongs == f->pings;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static enum tool_status subscribe(struct redis_follow *f)
{
    redisReply *r = NULL;
    enum tool_status s = wire_open(f->options, &f->w, f->why);
    if (s != TOOL_DONE) return tool_fail(s, "the source: %s", f->why);
    s = tool_ask(f->w, TOOL_WORDS_OF("PSUBSCRIBE", f->pattern), &r);
    freeReplyObject(r);
    if (s != TOOL_DONE) return s;
    f->is_lost = false;
    f->pings = f->pongs = 0;
    f->also.fds[0] = wire_fd(f->w);
    return s;
}

enum tool_status redis_follow_again(struct redis_follow *f)
{
    return subscribe(f);
}

enum tool_status redis_follow_open(struct redis_follow *f, struct redis_reader *r,
                                   const struct wire_options *o, int64_t database, bool sets)
{
    sigset_t set = stop_signals();
    *f = (struct redis_follow){.options = o, .stop_fd = -1};
    snprintf(f->pattern, sizeof f->pattern, "__keyevent@*__:*");
    if (database >= 0) {
        snprintf(f->pattern, sizeof f->pattern, "__keyevent@%lld__:*", (long long)database);
    }
    f->also = (struct wire_also){.fds = {-1, -1}, .attend = attend, .arg = f};
    enum tool_status s = look_at_events(f, r, sets);
    if (s == TOOL_DONE) s = subscribe(f);
    if (s != TOOL_DONE) return s;
    sigprocmask(SIG_BLOCK, &set, NULL);
    f->stop_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    f->also.fds[1] = f->stop_fd;
    return TOOL_DONE;
}

void redis_follow_close(struct redis_follow *f, struct redis_reader *r)
{
    redisReply *reply = NULL;
    if (f->former != NULL) {
        enum tool_status s = redis_ask(
            r, TOOL_WORDS_OF("CONFIG", "SET", "notify-keyspace-events", f->former), &reply);
        freeReplyObject(reply);
        if (s != TOOL_DONE) {
            tool_fail(s, "%s: its notify-keyspace-events was \"%s\" and could not be restored",
                      r->who, f->former);
        }
    }
    wire_close(f->w);
    if (f->stop_fd >= 0) close(f->stop_fd);
    redis_names_fini(&f->dirty);
    redis_names_fini(&f->groups);
    mem_free(f->former);
}
