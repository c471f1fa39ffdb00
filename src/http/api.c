/* api: commands as words in JSON, in the forms of Upstash's REST API, so that its libraries work:
 *
 *   POST /            ["KV.GET","[\"a\"]"]        {"result":..} or {"error":".."}
 *   GET  /get/a       the words as parts of the path; parameters and a body are words too
 *
 * Several commands in one request: api_batch.c.
 */
#include <stdio.h>

#include "codec/base64.h"
#include "codec/json_lex.h"
#include "http/api.h"
#include "http/reply_json.h"
#include "http/route.h"
#include "resp/reader.h"

#define PART_BYTES (256 * 1024) /* of a body, checked between two looks at the clock */

/* What belongs to a connection, and what to do instead. */
static const struct {
    const char *name;
    const char *instead;
} refused[] = {
    {"select", "name the database in the header Tupled-Database, or as /db/<name> before the path"},
    {"auth", "send an Authorization header"},
    {"hello", "send an Authorization header"},
    {"multi", "send the commands to /multi-exec"},
    {"exec", "send the commands to /multi-exec"},
    {"discard", "send the commands to /multi-exec"},
    {"watch", "use KV.ATOMIC with CHECK"},
    {"unwatch", "use KV.ATOMIC with CHECK"},
    {"kv.format", "put FORMAT JSON or FORMAT MSGPACK at the end of the command"},
    {"quit", "each request is independent"},
    {"reset", "each request is independent"},
    {"subscribe", "open /subscribe/<channel>"},
    {"ssubscribe", "open /subscribe/<channel>"},
    {"psubscribe", "open /subscribe/<channel> for each channel"},
    {"unsubscribe", "close the event stream of /subscribe"},
    {"sunsubscribe", "close the event stream of /subscribe"},
    {"punsubscribe", "close the event stream of /subscribe"},
    {"monitor", "open /monitor"},
    {"kv.queue|prefetch", "each request is independent"},
    {"client|setname", "each request is independent"},
    {"client|setinfo", "each request is independent"},
    {"client|getname", "each request is independent"},
    {"client|reply", "each request is independent"},
    {"client|no-evict", "each request is independent"},
    {"client|no-touch", "each request is independent"},
    {"client|tracking", "each request is independent"},
    {"client|caching", "each request is independent"},
};

static bool is_called(const struct command *c, const struct command *parent, const char *name)
{
    size_t len = parent == NULL ? 0 : strlen(parent->name);
    if (parent == NULL) return strcmp(c->name, name) == 0;
    return strncmp(name, parent->name, len) == 0 && name[len] == '|' &&
           strcmp(name + len + 1, c->name) == 0;
}

/* NULL: it can be run. */
static const char *why_refused(const struct slice *argv, size_t argc)
{
    const struct command *parent = NULL;
    const struct command *c = command_of_words(argv, argc, &parent);
    for (size_t i = 0; c != NULL && i < sizeof refused / sizeof refused[0]; i++) {
        if (is_called(c, parent, refused[i].name)) return refused[i].instead;
    }
    return NULL;
}

static bool is_base64(const struct exchange *x)
{
    return slice_is_word(http_header(x->message, "upstash-encoding"), "BASE64");
}

bool api_put_result(struct exchange *x, struct slice reply)
{
    struct slice text;
    struct error e;
    size_t mark = x->text.len;
    if (reply_is_error(reply, &text)) {
        buf_append_str(&x->text, "{\"error\":");
        json_string_write_lossy(text, &x->text);
        buf_append_byte(&x->text, '}');
        return false;
    }
    buf_append_str(&x->text, "{\"result\":");
    if (reply_to_json(reply, is_base64(x), &x->text, &e) == OK) {
        buf_append_byte(&x->text, '}');
        return true;
    }
    char told[ERROR_TEXT_BYTES + 64];
    snprintf(told, sizeof told, "ERR the command has taken effect, but %s", e.text);
    x->text.len = mark;
    buf_append_str(&x->text, "{\"error\":");
    json_string_write_lossy(slice_str(told), &x->text);
    buf_append_byte(&x->text, '}');
    return false;
}

/* ---- words ----------------------------------------------------------------------------------- */

static bool word_bytes(struct arena *arena, const struct json_part *object, struct slice *out)
{
    struct slice rest = json_inside(object);
    struct json_part name;
    struct json_part value;
    struct json_part more;
    struct buf bytes;
    if (!json_next_member(&rest, &name, &value) || json_next_item(&rest, &more)) return false;
    if (!slice_eq(name.raw, slice_str("\"$bytes\"")) || value.kind != JSON_STRING) return false;
    buf_init(&bytes);
    bool is_good = base64_decode(json_text(&value, arena), &bytes) && !bytes.is_failed;
    if (is_good) *out = arena_copy(arena, buf_slice(&bytes));
    buf_fini(&bytes);
    return is_good;
}

const char *api_check_words(const struct json_part *array)
{
    struct slice rest;
    struct json_part word;
    size_t count = 0;
    if (array->kind != JSON_ARRAY) {
        return "a command must be an array of strings: [\"KV.GET\",\"[\\\"a\\\"]\"]";
    }
    for (rest = json_inside(array); json_next_item(&rest, &word);) {
        if (++count > RESP_ARGS_MAX) return "a command has more than 1048576 arguments";
        if (word.kind == JSON_STRING || word.kind == JSON_NUMBER) continue;
        if (word.kind != JSON_OBJECT) {
            return "an argument must be a string, a number or {\"$bytes\":\"<base64>\"}";
        }
    }
    return count == 0 ? "a command must have a name" : NULL;
}

const char *api_take_words(const struct json_part *array, struct arena *arena, struct slice **argv,
                           size_t *argc)
{
    struct json_part word;
    size_t count = 0;
    for (struct slice rest = json_inside(array); json_next_item(&rest, &word);) count++;
    *argv = arena_alloc(arena, count * sizeof **argv);
    *argc = 0;
    for (struct slice rest = json_inside(array); json_next_item(&rest, &word);) {
        struct slice *out = &(*argv)[(*argc)++];
        *out = slice_str("");
        if (word.kind == JSON_STRING) *out = json_text(&word, arena);
        if (word.kind == JSON_NUMBER) *out = word.raw;
        if (word.kind == JSON_OBJECT && !word_bytes(arena, &word, out)) {
            return "an argument that is an object must be {\"$bytes\":\"<base64>\"}";
        }
    }
    return why_refused(*argv, *argc) == NULL ? NULL : "refused";
}

void api_fail_words(struct exchange *x, const char *wrong, const struct slice *argv, size_t argc)
{
    const char *instead = argv == NULL ? NULL : why_refused(argv, argc);
    if (instead == NULL) {
        exchange_fail(x, 400, "ERR %s", wrong);
        return;
    }
    exchange_fail(x, 400, "ERR '%.*s' needs a connection, which HTTP does not have: %s",
                  (int)(argv[0].len < 64 ? argv[0].len : 64), (const char *)argv[0].data, instead);
}

/* ---- one command ----------------------------------------------------------------------------- */

static void command_ran(struct exchange *x)
{
    struct slice error;
    struct slice reply = buf_slice(&x->reply);
    buf_clear(&x->text, SIZE_MAX);
    int status = api_put_result(x, reply) ? 200 : 400;
    if (reply_is_error(reply, &error)) status = exchange_status_of(error);
    exchange_answer_json(x, status);
}

static void run_words(struct exchange *x, struct slice *argv, size_t argc)
{
    if (why_refused(argv, argc) != NULL) {
        api_fail_words(x, "", argv, argc);
        return;
    }
    exchange_command(x, argv, argc, command_ran);
}

static void check_body(struct exchange *x)
{
    struct api_body *b = x->task;
    struct error e;
    enum err r = json_checker_go_on(&b->checker, PART_BYTES, &b->json, &e);
    exchange_spent(x);
    if (r == ERR_WAIT) return;
    x->step = b->then;
    if (r != OK) exchange_fail(x, 400, "ERR %s", e.text);
}

void api_take_body(struct exchange *x, exchange_step *then)
{
    struct api_body *b = arena_alloc(&x->arena, sizeof *b);
    json_checker_begin(&b->checker, x->message->body);
    b->then = then;
    x->task = b;
    x->step = check_body;
}

static void command_run_body(struct exchange *x)
{
    const struct api_body *b = x->task;
    struct slice *argv = NULL;
    size_t argc = 0;
    const char *wrong = api_check_words(&b->json);
    if (wrong == NULL) wrong = api_take_words(&b->json, &x->arena, &argv, &argc);
    if (wrong != NULL) {
        api_fail_words(x, wrong, argv, argc);
        return;
    }
    exchange_command(x, argv, argc, command_ran);
    exchange_spent(x);
}

void api_command_run(struct exchange *x)
{
    api_take_body(x, command_run_body);
}

/* ---- words in the path ----------------------------------------------------------------------- */

/* Only what begins with the name of a command: else there is nothing at that path. */
bool command_path_fits(const struct exchange *x)
{
    struct slice rest = x->path;
    if (rest.len < 2 || rest.data[0] != '/') return false;
    return command_find(http_path_part(&rest)) != NULL;
}

static size_t count_path_words(const struct exchange *x)
{
    struct slice name;
    struct slice value;
    size_t count = 1;
    for (struct slice rest = x->path; rest.len > 0; count++) (void)http_path_part(&rest);
    for (struct slice rest = x->message->query; http_query_next(&rest, &name, &value);) count += 2;
    return count;
}

static bool take_path_words(struct exchange *x, struct slice *argv, size_t *argc)
{
    struct slice name;
    struct slice value;
    *argc = 0;
    for (struct slice rest = x->path; rest.len > 0;) {
        if (!http_decode(http_path_part(&rest), false, &x->arena, &argv[(*argc)++])) return false;
    }
    if (x->message->body.len > 0 && x->message->method == HTTP_POST) {
        argv[(*argc)++] = x->message->body;
    }
    for (struct slice rest = x->message->query; http_query_next(&rest, &name, &value);) {
        if (!http_decode(name, true, &x->arena, &argv[(*argc)++])) return false;
        if (value.data == NULL) continue;
        if (!http_decode(value, true, &x->arena, &argv[(*argc)++])) return false;
    }
    return true;
}

/* Secrets in URLs end up in logs, and in commands as their words. */
static bool has_secret(struct slice query)
{
    struct slice name;
    struct slice value;
    while (http_query_next(&query, &name, &value)) {
        if (slice_eq(name, slice_str("_token")) || slice_eq(name, slice_str("_ticket"))) {
            return true;
        }
    }
    return false;
}

void api_path_run(struct exchange *x)
{
    size_t argc = 0;
    if (has_secret(x->message->query)) {
        exchange_fail(x, 400,
                      "ERR `_token` and `_ticket` are not accepted here: send an Authorization "
                      "header");
        return;
    }
    struct slice *argv = exchange_argv(x, count_path_words(x));
    if (!take_path_words(x, argv, &argc)) {
        exchange_fail(x, 400, "ERR the path or its parameters are not valid percent-encoded UTF-8");
        return;
    }
    run_words(x, argv, argc);
}
