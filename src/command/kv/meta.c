/* kv_meta: commands about the database. */
#include "base/glob.h"
#include "codec/key.h"
#include "codec/value.h"
#include "filter/filter.h"
#include "index/index.h"
#include "queue/queue.h"
#include "request/args.h"
#include "request/shapes.h"
#include "request/table.h"
#include "search/query.h"
#include "search/text.h"

static enum err kv_version_run(struct request *rq)
{
    struct backend *b = engine_backend(rq->env->db->engine);
    reply_stamp(rq, backend_version_durable(b));
    return OK;
}

const struct command kv_version = {
    .name = "kv.version",
    .flags = CMD_READ | CMD_FOLLOWER | CMD_FAST | CMD_FORMAT,
    .group = "kv",
    .summary = "Returns the newest acknowledged versionstamp.",
    .arguments = &no_arguments,
    .reply = "A versionstamp.",
    .run = kv_version_run,
};

static enum err kv_limits_run(struct request *rq)
{
    const struct engine_options *limits = engine_limits(rq->env->db->engine);
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        {"key-bytes", KEY_BYTES_MAX},
        {"key-parts", KEY_PARTS_MAX},
        {"value-bytes", limits->value_bytes_max},
        {"value-depth", VALUE_DEPTH_MAX},
        {"transaction-ops", limits->ops_max},
        {"transaction-bytes", limits->txn_bytes_max},
        {"transaction-index-rows", ENGINE_DERIVED_MAX},
        {"list-limit", LIST_LIMIT_MAX},
        {"list-page-bytes", LIST_PAGE_BYTES_MAX},
        {"queue-name-bytes", QUEUE_NAME_BYTES_MAX},
        {"queue-count", QUEUE_COUNT_MAX},
        {"queue-backoff", QUEUE_BACKOFF_MAX},
        {"queue-undelivered", QUEUE_UNDELIVERED_MAX},
        {"queue-lease-ms", QUEUE_LEASE_MS_MAX},
        {"queue-error-bytes", QUEUE_ERROR_BYTES_MAX},
        {"filter-bytes", FILTER_BYTES_MAX},
        {"filter-depth", FILTER_DEPTH_MAX},
        {"filter-conditions", FILTER_CONDITIONS_MAX},
        {"path-bytes", PATH_BYTES_MAX},
        {"indexes", indexes_max(rq->env->db->indexes)},
        {"index-name-bytes", INDEX_NAME_BYTES_MAX},
        {"index-paths", INDEX_VALUE_PATHS_MAX},
        {"index-elements", INDEX_ELEMENTS_MAX},
        {"text-paths", TEXT_PATHS_MAX},
        {"text-bytes", TEXT_BYTES_MAX},
        {"query-bytes", QUERY_BYTES_MAX},
        {"query-words", QUERY_WORDS_MAX},
        {"query-depth", QUERY_DEPTH_MAX},
        {"pattern-bytes", GLOB_BYTES_MAX},
        {"channel-bytes", PUBSUB_NAME_BYTES_MAX},
        {"databases", rq->env->settings.databases},
        {"clients", rq->env->settings.clients_max},
    };
    size_t count = sizeof rows / sizeof rows[0];
    resp_map(rq->w, count);
    for (size_t i = 0; i < count; i++) {
        resp_bulk_str(rq->w, rows[i].name);
        resp_int(rq->w, (int64_t)rows[i].value);
    }
    return OK;
}

const struct command kv_limits = {
    .name = "kv.limits",
    .flags = CMD_FAST | CMD_FORMAT,
    .group = "kv",
    .summary = "Returns all limits and their values.",
    .arguments = &no_arguments,
    .reply = "A map of names and values, or a flat array in RESP2.",
    .run = kv_limits_run,
};
