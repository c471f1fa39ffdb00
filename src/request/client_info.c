/* client_info: one line of CLIENT LIST: Redis's flags, then its fields in its order; what only this
 * server has comes last. */
#include "request/client_info.h"

#include "access/user.h"
#include "base/clock.h"
#include "request/client_memory.h"
#include "request/multi.h"
#include "request/tracking.h"
#include "request/view.h"
#include "request/watched.h"

/* As Redis: O monitor, b waiting, x in MULTI, P listening, t tracked, R who is told instead has
 * gone, B of all keys with a prefix, U on the Unix socket, e not to be evicted; N none. */
static void client_flags(const struct client *c, const struct tracking_view *v, char out[16])
{
    size_t n = 0;
    if (c->monitoring.is_on) out[n++] = 'O';
    if (c->run.is_waiting) out[n++] = 'b';
    if (c->txn.multi != NULL) out[n++] = 'x';
    if (client_subscriptions(c) > 0) out[n++] = 'P';
    if (v->is_on) out[n++] = 't';
    if (v->is_broken) out[n++] = 'R';
    if (v->options.is_broadcast) out[n++] = 'B';
    if (c->link->is_unix) out[n++] = 'U';
    if (c->settings.is_no_evict) out[n++] = 'e';
    if (n == 0) out[n++] = 'N';
    out[n] = '\0';
}

void client_info_write(const struct client *c, struct buf *out)
{
    int64_t now_ms = clock_wall_ms();
    char flags[16];
    struct tracking_view tracked;
    tracking_look(c, &tracked);
    client_flags(c, &tracked, flags);
    struct client_memory held;
    client_memory_measure(c, &held);
    struct slice user = c->user != NULL ? c->user->name : slice_str("(none)");
    size_t multi_mem = c->txn.multi != NULL ? multi_bytes(c->txn.multi) : 0;
    buf_printf(out, "id=%llu addr=%s laddr=%s fd=%d name=%s age=%lld idle=%lld flags=%s db=%d",
               (unsigned long long)c->id, c->link->address, c->link->local_address, c->link->fd,
               c->settings.name, (long long)(now_ms - c->link->created_ms) / 1000,
               (long long)(now_ms - c->link->active_ms) / 1000, flags, c->database);
    buf_printf(out,
               " sub=%zu psub=%zu ssub=%zu multi=%lld watch=%zu qbuf=%zu qbuf-free=0 argv-mem=0 "
               "multi-mem=%zu rbs=0 rbp=0 obl=%zu oll=0 omem=%zu tot-mem=%zu events=r",
               pubsub_count(&c->listening.subscriber, PUBSUB_CHANNEL),
               pubsub_count(&c->listening.subscriber, PUBSUB_PATTERN),
               pubsub_count(&c->listening.subscriber, PUBSUB_SHARD),
               c->txn.multi != NULL ? (long long)multi_count(c->txn.multi) : -1,
               client_watched_count(c), c->link->input_bytes, multi_mem, c->link->output_bytes,
               c->link->output_bytes, held.total);
    buf_printf(out, " cmd=%s%s%s user=%.*s redir=%lld resp=%d lib-name=%s lib-ver=%s",
               c->run.last_parent != NULL ? c->run.last_parent->name : "",
               c->run.last_parent != NULL ? "|" : "",
               c->run.last_command != NULL ? c->run.last_command->name : "NULL", (int)user.len,
               (const char *)user.data, tracked.is_on ? (long long)tracked.options.redirect : -1LL,
               c->settings.proto, c->settings.lib_name, c->settings.lib_version);
    if (view_is_tuples(c)) buf_append_str(out, " view=tuples");
}
