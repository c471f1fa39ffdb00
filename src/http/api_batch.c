/* api_batch: several commands in one request, in the forms of Upstash's REST API:
 *
 *   POST /pipeline    [[..],[..]]   [{"result":..},{"error":".."}]
 *   POST /multi-exec  [[..],[..]]   [{"result":..},..] or {"error":".."}: all or none
 *
 * Nothing is run unless all of it is well formed. There may be millions of commands: they are
 * looked at, run and answered in as many turns as that takes, and of their words no more than one
 * command's are kept.
 */
#include "http/api.h"
#include "http/route.h"
#include "resp/item.h"

#define TEXT_BYTES_MAX ((size_t)64 << 20) /* of an answer to a pipeline, but for its last reply */
#define PART 1000                         /* commands between two looks at the clock */

struct api_batch {
    struct json_part body;
    struct slice rest;    /* of the array */
    struct slice replies; /* of EXEC, that are not in the answer yet */
    exchange_step *begin; /* when all of them are good */
    size_t left;          /* replies */
    bool is_first;
};

/* Some of the commands. */
static void check_commands(struct exchange *x)
{
    struct api_batch *b = x->task;
    struct json_part item;
    for (int i = 0; i < PART; i++) {
        struct slice *argv = NULL;
        size_t argc = 0;
        if (!json_next_item(&b->rest, &item)) {
            b->rest = json_inside(&b->body);
            x->step = b->begin;
            break;
        }
        arena_reset(&x->words);
        const char *wrong = api_check_words(&item);
        if (wrong == NULL) wrong = api_take_words(&item, &x->words, &argv, &argc);
        if (wrong == NULL) continue;
        api_fail_words(x, wrong, argv, argc);
        return;
    }
    exchange_spent(x);
}

static void take_batch(struct exchange *x, exchange_step *begin)
{
    const struct api_body *body = x->task;
    if (body->json.kind != JSON_ARRAY) {
        exchange_fail(x, 400, "ERR the body must be an array of commands: [[\"GET\",\"a\"]]");
        return;
    }
    struct api_batch *b = arena_alloc(&x->arena, sizeof *b);
    *b = (struct api_batch){
        .body = body->json, .rest = json_inside(&body->json), .begin = begin, .is_first = true};
    x->task = b;
    x->step = check_commands;
    buf_clear(&x->text, SIZE_MAX);
}

static bool next_command(struct exchange *x, exchange_step *step)
{
    struct api_batch *b = x->task;
    struct json_part item;
    struct slice *argv;
    size_t argc;
    if (!json_next_item(&b->rest, &item)) return false;
    arena_reset(&x->words);
    (void)api_take_words(&item, &x->words, &argv, &argc);
    exchange_command(x, argv, argc, step);
    return true;
}

/* ---- /pipeline ------------------------------------------------------------------------------- */

/* What is not run, when the answer is too long already. */
static void pipeline_rest(struct exchange *x)
{
    struct api_batch *b = x->task;
    struct json_part item;
    for (int i = 0; i < PART; i++) {
        if (!json_next_item(&b->rest, &item)) {
            buf_append_byte(&x->text, ']');
            exchange_answer_json(x, 200);
            return;
        }
        buf_append_str(&x->text, ",{\"error\":\"ERR not run: the replies before it exceed 64 "
                                 "MB\"}");
    }
    exchange_spent(x);
}

static void pipeline_step(struct exchange *x)
{
    struct api_batch *b = x->task;
    if (!b->is_first) {
        if (x->text.len > 1) buf_append_byte(&x->text, ',');
        (void)api_put_result(x, buf_slice(&x->reply));
    }
    b->is_first = false;
    if (x->text.len <= TEXT_BYTES_MAX && next_command(x, pipeline_step)) return;
    x->step = pipeline_rest;
}

static void pipeline_begin(struct exchange *x)
{
    buf_append_byte(&x->text, '[');
    x->step = pipeline_step;
}

static void pipeline_take(struct exchange *x)
{
    take_batch(x, pipeline_begin);
}

void api_pipeline_run(struct exchange *x)
{
    api_take_body(x, pipeline_take);
}

/* ---- /multi-exec ----------------------------------------------------------------------------- */

static void put_replies(struct exchange *x)
{
    struct api_batch *b = x->task;
    for (int i = 0; i < PART; i++) {
        if (b->left == 0) {
            buf_append_byte(&x->text, ']');
            exchange_answer_json(x, 200);
            return;
        }
        struct slice one = slice_of(b->replies.data, resp_reply_length(b->replies));
        if (x->text.len > 1) buf_append_byte(&x->text, ',');
        (void)api_put_result(x, one);
        b->replies = slice_of(b->replies.data + one.len, b->replies.len - one.len);
        b->left--;
    }
    exchange_spent(x);
}

static void exec_ran(struct exchange *x)
{
    struct api_batch *b = x->task;
    struct resp_item item;
    struct slice reply = buf_slice(&x->reply);
    if (exchange_fails(x)) return;
    if (!resp_item_read(reply, &item) || item.is_nil) {
        exchange_fail(x, 400, "EXECABORT a watched key has changed");
        return;
    }
    buf_append_byte(&x->text, '[');
    b->replies = slice_of(reply.data + item.used, reply.len - item.used);
    b->left = item.children;
    x->step = put_replies;
}

static void transaction_step(struct exchange *x)
{
    if (next_command(x, transaction_step)) return;
    exchange_words(x, exec_ran, WORDS("EXEC"));
}

static void transaction_begin(struct exchange *x)
{
    exchange_words(x, transaction_step, WORDS("MULTI"));
}

static void transaction_take(struct exchange *x)
{
    take_batch(x, transaction_begin);
}

void api_transaction_run(struct exchange *x)
{
    api_take_body(x, transaction_take);
}
