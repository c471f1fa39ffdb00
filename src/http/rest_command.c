/* rest_command: a route that is a command: its row names the command, whose arguments say what the
 * request may have (request/members.h), and the shape of the answer.
 */
#include "http/rest.h"
#include "http/rest_members.h"
#include "request/command.h"

#define IDEM_HEADER "idempotency-key"

/* ---- words ----------------------------------------------------------------------------------- */

bool rest_command_words(struct exchange *x, struct rest_words *w)
{
    const struct route *r = x->route;
    struct rest_object body;
    bool has_body = route_has_object(r);
    struct rest_source s = {.x = x,
                            .object = has_body ? &body : NULL,
                            .where = "",
                            .without = r->without,
                            .limit_max = r->limit_max};
    const struct members *of = route_members(r);
    if (has_body && (!rest_take_body(x, &body) || !rest_check_members(&s, of, NULL))) return false;
    *w = rest_words_of(x, r->words);
    if (!rest_add_members(w, &s, of)) return false;
    if (r->given != NULL) rest_words_str(w, r->given);
    return true;
}

/* ---- the same request again ------------------------------------------------------------------ */

static bool refuse_idem(struct exchange *x)
{
    exchange_fail(x, 400,
                  "Idempotency-Key is not supported here: this is not a single transaction");
    return false;
}

bool rest_has_no_idem(struct exchange *x)
{
    return http_header(x->message, IDEM_HEADER).data == NULL || refuse_idem(x);
}

/* IDEM id, where the command has it: before all its words, or after them. */
static void add_idem(struct rest_words *w, const struct command *c, struct slice id)
{
    bool is_first = (c->flags & CMD_IDEM_FIRST) != 0;
    size_t at = is_first ? 1 : w->argc;
    rest_words_str(w, "IDEM");
    rest_words_add(w, id);
    memmove(w->argv + at + 2, w->argv + at, (w->argc - 2 - at) * sizeof w->argv[0]);
    w->argv[at] = slice_str("IDEM");
    w->argv[at + 1] = id;
}

void rest_command_go(struct rest_words *w, exchange_step *step)
{
    struct exchange *x = w->x;
    const struct command *parent;
    struct slice id = http_header(x->message, IDEM_HEADER);
    bool is_safe = (x->message->method & (HTTP_GET | HTTP_HEAD)) != 0;
    bool is_kept = (x->route->flags & ROUTE_TYPED) != 0 && !is_safe && id.data != NULL;
    if (is_kept) {
        const struct command *c = command_of_words(w->argv, w->argc, &parent);
        bool can_be = (c->flags & CMD_IDEM) != 0 && (x->route->flags & ROUTE_STEPS) == 0;
        if (!can_be) {
            (void)refuse_idem(x);
            return;
        }
        if (id.len == 0 || id.len > 255) {
            exchange_fail(x, 400, "Idempotency-Key must have 1 to 255 bytes, not %zu", id.len);
            return;
        }
        add_idem(w, c, id);
    }
    rest_words_run(w, step);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Nil, or that nothing was there to be changed. */
static bool is_absent(struct exchange *x, bool is_number)
{
    struct resp_item item;
    if (!resp_item_read(buf_slice(&x->reply), &item)) return false;
    return item.is_nil || (is_number && slice_eq(item.text, slice_str("0")));
}

void rest_command_came(struct exchange *x)
{
    const struct route *r = x->route;
    bool is_done = strcmp(r->answer, "ok") == 0;
    if (rest_fails(x)) return;
    if (r->absent != NULL && is_absent(x, is_done)) {
        exchange_fail(x, 404, "%s", r->absent);
    } else if (is_done) {
        rest_answer_ok(x, !is_absent(x, true));
    } else {
        rest_answer_shape(x, r->answer);
    }
}

void rest_command_run(struct exchange *x)
{
    struct rest_words w;
    if (rest_command_words(x, &w)) rest_command_go(&w, rest_command_came);
}
