/* passing: a session on a node that does not lead: its connection is passed on to the leader. On
 * the leader: it takes the client of another node. */
#include "request/following.h"
#include "request/serving.h"
#include "request/stats.h"
#include "session/session_int.h"

bool passing_knows_users(struct session *x)
{
    struct error e;
    struct env *env = x->shared->env;
    if (!env->users.are_awaited) return true;
    if (node_await_users(env->node.self, &x->pass, &x->runner.waiter, &e) != ERR_WAIT) return true;
    runner_park(&x->runner);
    return false;
}

bool passing_is_wanted(struct session *x)
{
    const struct command *parent = NULL;
    const struct env *env = x->shared->env;
    if (!env->node.stands_by || x->client.user == NULL) return false;
    const struct command *c = command_of_words(x->argv, x->argc, &parent);
    if (c == NULL || following_has(&x->client, c)) return false;
    bool is_about_node = c->is_own && (c->flags & CMD_TRANSACTION) == 0;
    if (!is_about_node || !node_is_alone(env->node.self, &x->pass)) return true;
    node_pass_cancel(&x->pass);
    return false;
}

/* What came after the command. */
static void add_rest(const struct session *x, struct buf *out)
{
    struct slice rest = resp_reader_rest(&x->reader);
    buf_append(out, rest.data, rest.len);
}

/* The command is the first that the leader gets; after it all that came with it. */
static void hand_on(struct session *x)
{
    struct buf bytes;
    struct resp_writer w = {.out = &bytes, .proto = 2};
    buf_init(&bytes);
    resp_array(&w, x->argc);
    for (size_t i = 0; i < x->argc; i++) resp_bulk(&w, x->argv[i]);
    add_rest(x, &bytes);
    if (bytes.is_failed) {
        stream_kill(x->stream);
    } else {
        node_hand_on(x->shared->env->node.self, &x->pass, x->stream, buf_slice(&bytes));
    }
    buf_fini(&bytes);
}

bool passing_go(struct session *x)
{
    struct error e;
    struct stream *s = x->stream;
    enum err r = node_pass(x->shared->env->node.self, &x->pass, &x->client, &s->link,
                           &x->runner.waiter, &e);
    x->is_command_waiting = r == ERR_WAIT;
    if (r == ERR_WAIT) {
        runner_park(&x->runner);
        return false;
    }
    if (r == OK) {
        hand_on(x);
        return false;
    }
    stats_error(x->shared->env, e.code);
    resp_error(&x->writer, &e);
    stream_mark_own(s, 0);
    const struct command *parent;
    if (serving_ends_with(command_of_words(x->argv, x->argc, &parent))) stream_drain(s);
    return s->state == STREAM_OPEN;
}

bool passing_accept(struct session *x)
{
    struct stream *s = x->stream;
    const struct session_options *o = &x->shared->options;
    enum node_accepted r = node_accept(x->shared->env->node.self, &x->offer, &x->client, x->argv,
                                       x->argc, &x->writer);
    stream_mark_own(s, 0);
    if (r != NODE_IS_HTTP) return true;
    struct buf bytes;
    buf_init(&bytes);
    add_rest(x, &bytes);
    buf_require(&bytes);
    if (o->speaks_http == NULL) {
        stream_kill(s);
    } else {
        o->speaks_http(o->speaks_http_arg, s, buf_slice(&bytes));
    }
    buf_fini(&bytes);
    return false;
}
