/* http: what the settings say of HTTP (http/http.h), and whether the server is ready. */
#include <stdio.h>

#include "base/log.h"
#include "engine/start.h"
#include "server/server_int.h"

#define BINDS_MAX 16
#define TICKET_MS 60000

struct http_options http_options_of(const struct server *s)
{
    const struct config *c = s->config;
    return (struct http_options){
        .body_bytes_max = c->http_body_bytes,
        .idle_s = c->http_idle_s,
        .request_s = c->http_request_s,
        .output = {c->output_normal.hard_bytes, c->output_normal.soft_bytes,
                   c->output_normal.soft_s},
        .output_stream = {c->output_pubsub.hard_bytes, c->output_pubsub.soft_bytes,
                          c->output_pubsub.soft_s},
        .allowed_hosts = c->http_allowed_hosts,
        .allowed_origins = c->http_allowed_origins,
        .trusted_proxies = c->http_trusted_proxies,
        .rest_base = c->rest_base,
        .ticket_ms = s->ticket_ms > 0 ? s->ticket_ms : TICKET_MS,
        .rest_path_numbers = c->rest_path_numbers == CONFIG_YES,
        .rest_deletes_exact = c->rest_delete == CONFIG_DELETES_EXACT,
    };
}

/* NULL: it serves. */
void http_of_node(void *server, struct stream *stream, struct slice bytes)
{
    const struct server *s = server;
    if (s->http == NULL) {
        stream_kill(stream);
    } else {
        http_take(s->http, stream, bytes);
    }
}

static const char *why_standing_by(const struct server *s)
{
    static char text[2 * NODE_TEXT_BYTES + NODES_NOTICE_BYTES + 64];
    const struct node_leader *l = &s->node.leader;
    const char *cause = s->node.known.cause;
    bool is_known = l->is_known && !l->is_silent;
    if (is_known && cause[0] == '\0') {
        snprintf(text, sizeof text, "this node is not the leader: it is %s at %s", l->name,
                 l->address);
    } else {
        snprintf(text, sizeof text, "this node is not the leader, and knows of none%s%s",
                 cause[0] != '\0' ? ": " : "", cause);
    }
    return text;
}

/* NULL: it serves. */
static const char *why_not_ready(void *arg)
{
    const struct server *s = arg;
    struct backend_stats stats;
    struct backend *b = s->env.db->backend;
    if (s->service.state == SERVICE_STOPPING) return "the server is stopping";
    if (s->env.node.stands_by) return why_standing_by(s);
    if (s->env.node.serving.is_mute || s->env.node.serving.is_stuck)
        return s->env.node.serving.why.text;
    if (!engine_is_started(s->env.db->engine)) {
        return "the server is starting: loading queues and indexes";
    }
    backend_stats(b, &stats);
    if (stats.is_disk_full) return "the disk is full: nothing can be written";
    if (stats.is_store_full) return "the disk is full: writes cannot be applied";
    if (stats.is_store_failing) return "writes cannot be applied to the store: see the log";
    return NULL;
}

static enum err check_base(const char *base, struct error *e)
{
    size_t len = strlen(base);
    if (base[0] == '/' && len > 1 && base[len - 1] != '/') return OK;
    return error_set(e, ERR_SYNTAX, "rest-base must begin with / and must not end with it: \"%s\"",
                     base);
}

/* Addresses of a text with blanks between; `text` is cut in pieces. */
static size_t split(char *text, char **out)
{
    size_t count = 0;
    text += strspn(text, " \t");
    while (*text != '\0' && count < BINDS_MAX) {
        out[count++] = text;
        text += strcspn(text, " \t");
        if (*text != '\0') *text++ = '\0';
        text += strspn(text, " \t");
    }
    return count;
}

enum err http_open(struct server *s, struct error *e)
{
    const struct config *c = s->config;
    struct http_options options = http_options_of(s);
    char text[1024];
    char *bind[BINDS_MAX];
    bool is_any = s->is_any_http_port && c->http_port == 0;
    if (c->http_port == 0 && !is_any) return OK;
    enum err r = check_base(c->rest_base, e);
    if (r != OK) return r;
    snprintf(text, sizeof text, "%s", c->http_bind);
    s->http = http_new(&s->env, &options);
    http_set_ready(s->http, why_not_ready, s);
    struct net_listen l = {.protocol = &http_protocol,
                           .arg = s->http,
                           .bind = bind,
                           .bind_count = split(text, bind),
                           .port = (uint16_t)c->http_port,
                           .setting = "http-port",
                           .is_any_port = is_any,
                           .is_tls = c->http_tls == CONFIG_YES,
                           .unix_path = ""};
    r = net_listen(s->net, &l, &s->http_port, e);
    if (r == OK || c->http_port_is_said) return r;
    log_warning("cannot serve HTTP: %s; http-port 0 turns it off", e->text);
    s->http_port = 0;
    return OK;
}
