/* scrape: GET /metrics, for Prometheus: the figures of the server (metrics.h) and those of HTTP. */
#include "http/metrics.h"
#include "http/route.h"
#include "request/permission.h"
#include "request/table.h"

static const struct metric requests = {"tupled_http_requests", METRIC_COUNTER,
                                       "HTTP requests by protocol version."};
static const struct metric answers = {"tupled_http_responses", METRIC_COUNTER,
                                      "HTTP responses by the first digit of the status."};
static const struct metric streams = {"tupled_http_streams", METRIC_GAUGE, "Open event streams."};

static void write_http(void *arg, struct metrics_out *o)
{
    static const char *const versions[] = {"1.0", "1.1", "2"};
    static const char *const classes[] = {"1xx", "2xx", "3xx", "4xx", "5xx"};
    const struct http_counts *c = arg;
    metrics_begin(o, &requests);
    for (size_t i = 0; i < 3; i++) {
        struct metrics_label label = {"version", slice_str(versions[i])};
        metrics_u64(o, &label, 1, c->requests[i]);
    }
    metrics_begin(o, &answers);
    for (size_t i = 1; i < 5; i++) {
        struct metrics_label label = {"status", slice_str(classes[i])};
        metrics_u64(o, &label, 1, c->answers[i + 1]);
    }
    metrics_one(o, &streams, c->streams);
}

void scrape_run(struct exchange *x)
{
    struct http *h = x->http;
    struct metrics_more more = {.write = write_http, .arg = &h->counts};
    struct slice accept = http_header(x->message, "accept");
    struct metrics_options o = {
        .names_max = h->env->settings.metrics_names,
        .is_openmetrics = http_list_has(accept, "application/openmetrics-text"),
        .more = &more};
    struct slice words[] = {slice_str("INFO")};
    if (!client_may(h->env, &x->client, &cmd_info, words, 1)) {
        exchange_fail(x, 403,
                      "NOPERM this user has no permission to read the metrics: it needs +info");
        return;
    }
    buf_clear(&x->text, SIZE_MAX);
    metrics_write(h->env, &x->client, &o, &x->text);
    exchange_answer(x, 200, metrics_type(o.is_openmetrics), buf_slice(&x->text));
}
