/* sentinel_commands: the commands of Sentinel's port. Replies have the names and forms of Redis
 * Sentinel's: libraries read them.
 */
#include <inttypes.h>
#include <stdio.h>

#include "access/users.h"
#include "base/clock.h"
#include "base/glob.h"
#include "node/sentinel_int.h"

#define LISTENED_BYTES_MAX 4096 /* of channels, and of patterns */

static void refuse(struct sentinel_call *c, enum err code, const char *why)
{
    struct error e;
    (void)error_set(&e, code, "%s", why);
    resp_error(&c->w, &e);
}

static bool is_word(const struct sentinel_call *c, size_t i, const char *word)
{
    return i < c->argc && slice_is_word(c->argv[i], word);
}

/* ---- connections ----------------------------------------------------------------------------- */

void sentinel_let_in(struct sentinel_call *c)
{
    const struct env *env = c->facts->node->env;
    if (!c->is_early || env->users.are_awaited) return;
    const struct user *initial = users_default(env->users.all);
    c->is_early = false;
    c->is_known = initial->is_on && initial->is_nopass;
}

/* True: the reply says so, and why. */
static bool knows_no_users(struct sentinel_call *c)
{
    const struct node *n = c->facts->node;
    struct error e;
    if (!n->env->users.are_awaited) return false;
    (void)nodes_know_no_users(&n->known, &e);
    resp_error(&c->w, &e);
    return true;
}

static bool login(struct sentinel_call *c, struct slice name, struct slice password)
{
    if (knows_no_users(c)) return false;
    if (users_login(c->facts->node->env->users.all, name, password) == NULL) {
        refuse(c, ERR_WRONGPASS, "invalid username-password pair or user is disabled.");
        return false;
    }
    c->is_known = true;
    return true;
}

static void run_auth(struct sentinel_call *c)
{
    if (c->argc != 2 && c->argc != 3) {
        refuse(c, ERR_SYNTAX, "wrong number of arguments for 'auth' command");
    } else if (login(c, c->argc == 3 ? c->argv[1] : slice_str("default"), c->argv[c->argc - 1])) {
        resp_simple(&c->w, "OK");
    }
}

/* A name is a part of the line of CLIENT LIST. */
static bool set_name(struct sentinel_call *c, struct slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (name.data[i] > ' ' && name.data[i] <= '~') continue;
        refuse(c, ERR_SYNTAX,
               "Client names cannot contain spaces, newlines or special characters.");
        return false;
    }
    snprintf(c->name, sizeof c->name, "%.*s", (int)name.len, (const char *)name.data);
    return true;
}

static void write_pair(struct sentinel_call *c, const char *name, const char *value)
{
    resp_bulk_str(&c->w, name);
    resp_bulk_str(&c->w, value);
}

static void run_hello(struct sentinel_call *c)
{
    int proto = is_word(c, 1, "3") ? 3 : 2;
    if (c->argc > 1 && !is_word(c, 1, "2") && !is_word(c, 1, "3")) {
        refuse(c, ERR_NOPROTO, "unsupported protocol version");
        return;
    }
    for (size_t i = 2; i < c->argc;) {
        if (is_word(c, i, "AUTH") && i + 2 < c->argc) {
            if (!login(c, c->argv[i + 1], c->argv[i + 2])) return;
            i += 3;
        } else if (is_word(c, i, "SETNAME") && i + 1 < c->argc) {
            if (!set_name(c, c->argv[i + 1])) return;
            i += 2;
        } else {
            refuse(c, ERR_SYNTAX, "Syntax error in HELLO");
            return;
        }
    }
    if (!c->is_known) {
        if (!knows_no_users(c))
            refuse(c, ERR_NOAUTH, "HELLO must be called with the client already authenticated");
        return;
    }
    c->w.proto = proto;
    resp_map(&c->w, 7);
    write_pair(c, "server", "redis");
    write_pair(c, "version", REDIS_COMPATIBLE_VERSION);
    resp_bulk_str(&c->w, "proto");
    resp_int(&c->w, proto);
    resp_bulk_str(&c->w, "id");
    resp_int(&c->w, (int64_t)c->id);
    write_pair(c, "mode", "sentinel");
    write_pair(c, "role", "sentinel");
    resp_bulk_str(&c->w, "modules");
    resp_array(&c->w, 0);
}

static void run_ping(struct sentinel_call *c)
{
    bool listens = c->channel_count + c->pattern_count > 0;
    if (listens && c->w.proto == 2) {
        resp_array(&c->w, 2);
        resp_bulk_str(&c->w, "pong");
        resp_bulk(&c->w, c->argc > 1 ? c->argv[1] : slice_str(""));
    } else if (c->argc > 1) {
        resp_bulk(&c->w, c->argv[1]);
    } else {
        resp_simple(&c->w, "PONG");
    }
}

static void run_quit(struct sentinel_call *c)
{
    resp_simple(&c->w, "OK");
    c->is_over = true;
}

static void run_client(struct sentinel_call *c)
{
    char line[NODE_TEXT_BYTES + CLIENT_NAME_MAX];
    int n = snprintf(line, sizeof line, "id=%" PRIu64 " addr=%s name=%s\n", c->id, c->address,
                     c->name);
    if (is_word(c, 1, "ID")) {
        resp_int(&c->w, (int64_t)c->id);
    } else if (is_word(c, 1, "GETNAME")) {
        resp_bulk_str(&c->w, c->name);
    } else if (is_word(c, 1, "SETNAME") && c->argc == 3) {
        if (set_name(c, c->argv[2])) resp_simple(&c->w, "OK");
    } else if (is_word(c, 1, "SETINFO") && c->argc == 4) {
        resp_simple(&c->w, "OK");
    } else if (is_word(c, 1, "INFO") || is_word(c, 1, "LIST")) {
        resp_text(&c->w, slice_of(line, (size_t)n));
    } else {
        refuse(c, ERR_SYNTAX,
               "CLIENT on this port supports ID, GETNAME, SETNAME, SETINFO, INFO and LIST");
    }
}

/* ---- who leads, and who stands by ------------------------------------------------------------ */

/* True: it is the one master; else the error was written. */
static bool is_master(struct sentinel_call *c, size_t i)
{
    if (i < c->argc && slice_eq(c->argv[i], slice_str(c->facts->master))) return true;
    refuse(c, ERR_SYNTAX, "No such master with that name");
    return false;
}

static const char *text_of(char out[32], uint64_t n)
{
    snprintf(out, 32, "%" PRIu64, n);
    return out;
}

/* What all kinds of instances have in common. */
static void write_instance(struct sentinel_call *c, const char *name, const char *address,
                           const char *flags, const char *role)
{
    char host[NODE_TEXT_BYTES];
    const char *port;
    node_split(address, host, &port);
    write_pair(c, "name", name);
    write_pair(c, "ip", host);
    write_pair(c, "port", port);
    write_pair(c, "runid", name);
    write_pair(c, "flags", flags);
    write_pair(c, "link-pending-commands", "0");
    write_pair(c, "link-refcount", "1");
    write_pair(c, "last-ping-sent", "0");
    write_pair(c, "last-ok-ping-reply", "0");
    write_pair(c, "last-ping-reply", "0");
    write_pair(c, "down-after-milliseconds", "3000");
    write_pair(c, "info-refresh", "0");
    write_pair(c, "role-reported", role);
    write_pair(c, "role-reported-time", "0");
}
#define INSTANCE_PAIRS 14

/* The nodes that are neither this one nor the leader, and this one when it does not lead. */
static bool is_standby(const struct node *n, const char *address)
{
    return address[0] != '\0' && strcmp(address, node_leader_address(n)) != 0;
}

static size_t standby_count(const struct node *n)
{
    size_t count = is_standby(n, n->known.address);
    for (size_t i = 0; i < n->known.other_count; i++) {
        count += is_standby(n, n->known.others[i].address);
    }
    return count;
}

static void write_master(struct sentinel_call *c)
{
    const struct node *n = c->facts->node;
    const char *address = node_leader_address(n);
    char number[32];
    resp_map(&c->w, INSTANCE_PAIRS + 6);
    write_instance(c, c->facts->master, address, address[0] != '\0' ? "master" : "master,s_down",
                   "master");
    write_pair(c, "config-epoch", text_of(number, n->known.epoch));
    write_pair(c, "num-slaves", text_of(number, standby_count(n)));
    write_pair(c, "num-other-sentinels", text_of(number, nodes_up(&n->known)));
    write_pair(c, "quorum", "1");
    write_pair(c, "failover-timeout", "180000");
    write_pair(c, "parallel-syncs", "1");
}

static void write_standby(struct sentinel_call *c, const char *address, bool is_up)
{
    const char *leader = node_leader_address(c->facts->node);
    char host[NODE_TEXT_BYTES];
    const char *port;
    node_split(leader, host, &port);
    resp_map(&c->w, INSTANCE_PAIRS + 7);
    write_instance(c, address, address, is_up ? "slave" : "s_down,slave", "slave");
    write_pair(c, "master-link-down-time", "0");
    write_pair(c, "master-link-status", leader[0] != '\0' ? "ok" : "err");
    write_pair(c, "master-host", host);
    write_pair(c, "master-port", port);
    write_pair(c, "slave-priority", "100");
    write_pair(c, "slave-repl-offset", "0");
    write_pair(c, "replica-announced", "1");
}

static void write_standbys(struct sentinel_call *c)
{
    const struct node *n = c->facts->node;
    resp_array(&c->w, standby_count(n));
    if (is_standby(n, n->known.address)) write_standby(c, n->known.address, true);
    for (size_t i = 0; i < n->known.other_count; i++) {
        const struct node_other *o = &n->known.others[i];
        if (is_standby(n, o->address)) write_standby(c, o->address, o->is_up);
    }
}

static void write_sentinels(struct sentinel_call *c)
{
    const struct node *n = c->facts->node;
    size_t count = 0;
    for (size_t i = 0; i < n->known.other_count; i++) {
        count += n->known.others[i].sentinel_port != 0;
    }
    resp_array(&c->w, count);
    for (size_t i = 0; i < n->known.other_count; i++) {
        const struct node_other *o = &n->known.others[i];
        char address[NODE_TEXT_BYTES + 16];
        const char *colon = strrchr(o->address, ':');
        if (o->sentinel_port == 0) continue;
        snprintf(address, sizeof address, "%.*s:%u",
                 colon != NULL ? (int)(colon - o->address) : (int)strlen(o->address), o->address,
                 o->sentinel_port);
        resp_map(&c->w, INSTANCE_PAIRS + 3);
        write_instance(c, o->name, address, o->is_up ? "sentinel" : "s_down,sentinel", "sentinel");
        write_pair(c, "last-hello-message", "0");
        write_pair(c, "voted-leader", "?");
        write_pair(c, "voted-leader-epoch", "0");
    }
}

static void write_address(struct sentinel_call *c)
{
    const char *address = node_leader_address(c->facts->node);
    char host[NODE_TEXT_BYTES];
    const char *port;
    bool is_it = slice_eq(c->argv[2], slice_str(c->facts->master));
    if (!is_it || address[0] == '\0') {
        resp_nil_array(&c->w);
        return;
    }
    node_split(address, host, &port);
    resp_array(&c->w, 2);
    resp_bulk_str(&c->w, host);
    resp_bulk_str(&c->w, port);
}

static void check_quorum(struct sentinel_call *c)
{
    const struct node *n = c->facts->node;
    const struct serving *serving = &n->env->node.serving;
    char line[512];
    size_t up = 1 + nodes_up(&n->known);
    if (serving->is_mute || serving->is_stuck) {
        snprintf(line, sizeof line, "NOQUORUM %s", serving->why.text);
        resp_error_line(&c->w, line);
        return;
    }
    if (node_leader_address(n)[0] == '\0' || n->known.cause[0] != '\0') {
        bool is_known = n->known.cause[0] != '\0';
        snprintf(line, sizeof line, "NOQUORUM there is no leader%s%s", is_known ? ": " : "",
                 n->known.cause);
        resp_error_line(&c->w, line);
        return;
    }
    snprintf(line, sizeof line,
             "OK %zu usable Sentinels. Quorum and failover authorization can be reached", up);
    resp_simple(&c->w, line);
}

static void run_sentinel(struct sentinel_call *c)
{
    bool is_named = c->argc == 3;
    if (is_word(c, 1, "MASTERS") && c->argc == 2) {
        resp_array(&c->w, 1);
        write_master(c);
    } else if (is_word(c, 1, "GET-MASTER-ADDR-BY-NAME") && is_named) {
        write_address(c);
    } else if (is_word(c, 1, "MASTER") && is_named) {
        if (is_master(c, 2)) write_master(c);
    } else if ((is_word(c, 1, "REPLICAS") || is_word(c, 1, "SLAVES")) && is_named) {
        if (is_master(c, 2)) write_standbys(c);
    } else if (is_word(c, 1, "SENTINELS") && is_named) {
        if (is_master(c, 2)) write_sentinels(c);
    } else if (is_word(c, 1, "CKQUORUM") && is_named) {
        if (is_master(c, 2)) check_quorum(c);
    } else if (is_word(c, 1, "MYID") && c->argc == 2) {
        resp_bulk_str(&c->w, c->facts->node->known.name);
    } else {
        refuse(c, ERR_SYNTAX,
               "SENTINEL supports MASTERS, MASTER name, REPLICAS name, SENTINELS name, "
               "GET-MASTER-ADDR-BY-NAME name, CKQUORUM name and MYID");
    }
}

static void run_role(struct sentinel_call *c)
{
    resp_array(&c->w, 2);
    resp_bulk_str(&c->w, "sentinel");
    resp_array(&c->w, 1);
    resp_bulk_str(&c->w, c->facts->master);
}

static void run_info(struct sentinel_call *c)
{
    const struct node *n = c->facts->node;
    const char *address = node_leader_address(n);
    char text[1024];
    int len = snprintf(text, sizeof text,
                       "# Server\r\nredis_version:%s\r\nredis_mode:sentinel\r\n\r\n"
                       "# Sentinel\r\nsentinel_masters:1\r\nsentinel_tilt:0\r\n"
                       "sentinel_running_scripts:0\r\nsentinel_scripts_queue_length:0\r\n"
                       "master0:name=%s,status=%s,address=%s,slaves=%zu,sentinels=%zu\r\n",
                       REDIS_COMPATIBLE_VERSION, c->facts->master,
                       address[0] != '\0' ? "ok" : "sdown", address, standby_count(n),
                       1 + nodes_up(&n->known));
    resp_text(&c->w, slice_of(text, (size_t)len < sizeof text ? (size_t)len : sizeof text - 1));
}

/* ---- listening ------------------------------------------------------------------------------- */

/* The texts, each with its NUL. */
static const char *find(const struct buf *b, struct slice name)
{
    if (b->len == 0) return NULL;
    const char *at = (const char *)b->data;
    const char *end = at + b->len;
    for (; at < end; at += strlen(at) + 1) {
        if (slice_eq(slice_str(at), name)) return at;
    }
    return NULL;
}

static void confirm(struct sentinel_call *c, const char *what, const struct slice *name)
{
    resp_push(&c->w, 3);
    resp_bulk_str(&c->w, what);
    if (name != NULL) {
        resp_bulk(&c->w, *name);
    } else {
        resp_nil(&c->w);
    }
    resp_int(&c->w, (int64_t)(c->channel_count + c->pattern_count));
}

static void listen_to(struct sentinel_call *c, bool is_pattern)
{
    struct buf *b = is_pattern ? &c->patterns : &c->channels;
    size_t *count = is_pattern ? &c->pattern_count : &c->channel_count;
    for (size_t i = 1; i < c->argc; i++) {
        struct slice name = c->argv[i];
        bool is_text = memchr(name.data, '\0', name.len) == NULL;
        if (!is_text || b->len + name.len >= LISTENED_BYTES_MAX) {
            refuse(c, ERR_LIMIT, "too many channels, or an invalid name");
            continue;
        }
        if (find(b, name) == NULL) {
            buf_append(b, name.data, name.len);
            buf_append_byte(b, '\0');
            buf_require(b);
            (*count)++;
        }
        confirm(c, is_pattern ? "psubscribe" : "subscribe", &name);
    }
}

static void forget(struct buf *b, size_t *count, struct slice name)
{
    const char *at = find(b, name);
    if (at == NULL) return;
    size_t from = (size_t)(at - (const char *)b->data);
    size_t len = strlen(at) + 1;
    memmove(b->data + from, b->data + from + len, b->len - from - len);
    b->len -= len;
    (*count)--;
}

static void stop_listening(struct sentinel_call *c, bool is_pattern)
{
    struct buf *b = is_pattern ? &c->patterns : &c->channels;
    size_t *count = is_pattern ? &c->pattern_count : &c->channel_count;
    const char *what = is_pattern ? "punsubscribe" : "unsubscribe";
    if (c->argc == 1 && *count == 0) confirm(c, what, NULL);
    for (size_t i = 1; i < c->argc; i++) {
        forget(b, count, c->argv[i]);
        confirm(c, what, &c->argv[i]);
    }
    while (c->argc == 1 && *count > 0) {
        char name[LISTENED_BYTES_MAX];
        snprintf(name, sizeof name, "%s", (const char *)b->data);
        struct slice s = slice_str(name);
        forget(b, count, s);
        confirm(c, what, &s);
    }
}

static void run_subscribe(struct sentinel_call *c)
{
    listen_to(c, false);
}

static void run_psubscribe(struct sentinel_call *c)
{
    listen_to(c, true);
}

static void run_unsubscribe(struct sentinel_call *c)
{
    stop_listening(c, false);
}

static void run_punsubscribe(struct sentinel_call *c)
{
    stop_listening(c, true);
}

void sentinel_tell(struct sentinel_call *c, const char *channel, const char *text)
{
    if (find(&c->channels, slice_str(channel)) != NULL) {
        resp_push(&c->w, 3);
        write_pair(c, "message", channel);
        resp_bulk_str(&c->w, text);
    }
    const char *at = (const char *)c->patterns.data;
    for (size_t i = 0; i < c->pattern_count; i++, at += strlen(at) + 1) {
        if (!glob_match(slice_str(at), slice_str(channel))) continue;
        resp_push(&c->w, 4);
        write_pair(c, "pmessage", at);
        write_pair(c, channel, text);
    }
}

/* ---- all of them ----------------------------------------------------------------------------- */

static const struct {
    const char *name; /* upper case */
    size_t words_min;
    bool is_open; /* also for those who have not said AUTH */
    void (*run)(struct sentinel_call *c);
} commands[] = {
    {"PING", 1, false, run_ping},
    {"SENTINEL", 2, false, run_sentinel},
    {"SUBSCRIBE", 2, false, run_subscribe},
    {"PSUBSCRIBE", 2, false, run_psubscribe},
    {"UNSUBSCRIBE", 1, false, run_unsubscribe},
    {"PUNSUBSCRIBE", 1, false, run_punsubscribe},
    {"AUTH", 2, true, run_auth},
    {"HELLO", 1, true, run_hello},
    {"CLIENT", 2, false, run_client},
    {"INFO", 1, false, run_info},
    {"ROLE", 1, false, run_role},
    {"QUIT", 1, true, run_quit},
};

void sentinel_run(struct sentinel_call *c)
{
    char line[256];
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (!is_word(c, 0, commands[i].name)) continue;
        if (!c->is_known && !commands[i].is_open) {
            if (!knows_no_users(c)) refuse(c, ERR_NOAUTH, "Authentication required.");
        } else if (c->argc < commands[i].words_min) {
            snprintf(line, sizeof line, "wrong number of arguments for '%s' command",
                     commands[i].name);
            refuse(c, ERR_SYNTAX, line);
        } else {
            commands[i].run(c);
        }
        return;
    }
    snprintf(line, sizeof line, "unknown command '%.*s': this port speaks the Sentinel protocol",
             (int)(c->argv[0].len < 64 ? c->argv[0].len : 64), (const char *)c->argv[0].data);
    refuse(c, ERR_SYNTAX, line);
}

void sentinel_call_fini(struct sentinel_call *c)
{
    buf_fini(&c->channels);
    buf_fini(&c->patterns);
}
