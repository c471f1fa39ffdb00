/* verify: KV.VERIFY: reads everything that is stored in the background; shows what is damaged. */
#include "request/command.h"
#include "request/shapes.h"
#include "request/table.h"

static enum err start_run(struct request *rq)
{
    struct backend *b = engine_backend(rq->env->db->engine);
    enum err r = backend_verify_start(b, &rq->error);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}

static const struct command sub_start = {
    .name = "start",
    .flags = CMD_ADMIN | CMD_DANGEROUS | CMD_ALL_KEYS | CMD_NO_MULTI | CMD_FORMAT,
    .group = "server",
    .summary = "Starts a check of all stored data in the background.",
    .arguments = &no_arguments,
    .run = start_run,
};

static enum err stop_run(struct request *rq)
{
    struct backend *b = engine_backend(rq->env->db->engine);
    resp_int(rq->w, backend_verify_stop(b));
    return OK;
}

static const struct command sub_stop = {
    .name = "stop",
    .flags = CMD_ADMIN | CMD_DANGEROUS | CMD_ALL_KEYS | CMD_NO_MULTI | CMD_FORMAT,
    .group = "server",
    .summary = "Stops the check.",
    .arguments = &no_arguments,
    .reply = "1, or 0 if no check is running.",
    .run = stop_run,
};

static enum err status_run(struct request *rq)
{
    static const char *const states[] = {
        [VERIFY_NEVER] = "never",     [VERIFY_RUNNING] = "running", [VERIFY_GOOD] = "good",
        [VERIFY_DAMAGED] = "damaged", [VERIFY_STOPPED] = "stopped", [VERIFY_FAILED] = "failed"};
    struct backend *b = engine_backend(rq->env->db->engine);
    struct verify_figures f;
    backend_verify_figures(b, &f);
    resp_map(rq->w, 6);
    resp_bulk_str(rq->w, "state");
    resp_bulk_str(rq->w, states[f.state]);
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {{"pages", f.pages},
                {"pages-total", f.pages_total},
                {"damaged", f.damaged},
                {"took-ms", (uint64_t)f.took_ms}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        resp_bulk_str(rq->w, rows[i].name);
        resp_int(rq->w, (int64_t)rows[i].value);
    }
    resp_bulk_str(rq->w, "places");
    resp_array(rq->w, f.place_count);
    for (size_t i = 0; i < f.place_count; i++) resp_bulk_str(rq->w, f.places[i]);
    return OK;
}

static const struct command sub_status = {
    .name = "status",
    .flags = CMD_ADMIN | CMD_DANGEROUS | CMD_ALL_KEYS | CMD_FORMAT,
    .group = "server",
    .summary = "Returns the progress of the check, or the result of the last one.",
    .arguments = &no_arguments,
    .reply =
        "A map, or a flat array in RESP2: state (never, running, good, damaged, stopped, failed); "
        "pages read so far; pages-total, estimated; damaged pages and journal segments; took-ms; "
        "places of the first 16 damaged ones.",
    .run = status_run,
};

COMMAND_HELP("server", 0);

static const struct command *const verify_subcommands[] = {&sub_help, &sub_start, &sub_status,
                                                           &sub_stop, NULL};

const struct command kv_verify = {
    .name = "kv.verify",
    .group = "server",
    .summary = "A container for commands that check all stored data in the background.",
    .arguments = &container_arguments,
    .brief = "<START | STATUS | STOP>",
    .subcommands = verify_subcommands,
};
