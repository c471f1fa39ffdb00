/* health: /livez: the process answers. /readyz: it serves. Both without a user, for monitoring; why
 * it does not serve is told only when asked for (?verbose).
 */
#include "http/route.h"

#include "codec/json_lex.h"

static void answer(struct exchange *x, const char *why_not)
{
    int status = why_not == NULL ? 200 : 503;
    struct slice ignored;
    buf_clear(&x->text, SIZE_MAX);
    buf_append_str(&x->text, why_not == NULL ? "{\"status\":\"ok\"" : "{\"status\":\"not ready\"");
    if (why_not != NULL &&
        http_query_value(x->message->query, "verbose", &x->arena, &ignored) != 0) {
        buf_append_str(&x->text, ",\"why\":");
        json_string_write_lossy(slice_str(why_not), &x->text);
    }
    buf_append_str(&x->text, "}\n");
    exchange_answer_json(x, status);
}

void health_live_run(struct exchange *x)
{
    answer(x, NULL);
}

void health_ready_run(struct exchange *x)
{
    const struct http *h = x->http;
    answer(x, h->why_not_ready != NULL ? h->why_not_ready(h->ready_arg) : NULL);
}
