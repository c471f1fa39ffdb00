/* commands_json: GET /ui/commands.json: every command with its arguments by name, of which the page
 * makes its forms. It holds no data of users.
 *
 *   [{"name":"kv.lock","summary":"..","members":[{"name":"key","type":"key","required":true}, ..]}]
 *
 * An argument that is a list of operations has `variants`, each with a name, a token and members.
 */
#include "codec/json_lex.h"
#include "http/route.h"
#include "request/members.h"
#include "request/table.h"

static void put_text(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, "\"%s\":", name);
    json_string_write(slice_str(text), out);
}

static void put_members(struct buf *out, const struct members *of);

static void put_variants(struct buf *out, const struct members *variants)
{
    buf_append_str(out, ",\"variants\":[");
    for (const struct members *v = variants; v->token != NULL; v++) {
        if (v != variants) buf_append_byte(out, ',');
        buf_append_byte(out, '{');
        put_text(out, "name", v->name);
        buf_append_byte(out, ',');
        put_text(out, "token", v->token);
        put_members(out, v);
        buf_append_byte(out, '}');
    }
    buf_append_byte(out, ']');
}

static void put_member(struct buf *out, const struct member *m)
{
    static const char *const types[] = {
        [MEMBER_TEXT] = "text",       [MEMBER_KEY] = "key",         [MEMBER_VALUE] = "value",
        [MEMBER_NUMBER] = "number",   [MEMBER_ARRAY] = "array",     [MEMBER_INTEGER] = "integer",
        [MEMBER_FILTER] = "filter",   [MEMBER_VERSION] = "version", [MEMBER_FLAG] = "flag",
        [MEMBER_OBJECTS] = "objects",
    };
    buf_append_byte(out, '{');
    put_text(out, "name", m->name);
    buf_append_byte(out, ',');
    put_text(out, "type", types[m->type]);
    if (m->token != NULL) {
        buf_append_byte(out, ',');
        put_text(out, "token", m->token);
    }
    if (m->is_required) buf_append_str(out, ",\"required\":true");
    if (m->is_list) buf_append_str(out, ",\"list\":true");
    if (m->words > 1) buf_printf(out, ",\"words\":%u", m->words);
    if (m->alternative > 0) buf_printf(out, ",\"alternative\":%u", m->alternative);
    if (m->variants != NULL) put_variants(out, m->variants);
    buf_append_byte(out, '}');
}

static void put_members(struct buf *out, const struct members *of)
{
    buf_append_str(out, ",\"members\":[");
    for (size_t i = 0; i < of->count; i++) {
        if (i > 0) buf_append_byte(out, ',');
        put_member(out, &of->items[i]);
    }
    buf_append_byte(out, ']');
}

static void put_command(struct buf *out, const struct command *c, const struct command *parent)
{
    if (out->len > 1) buf_append_byte(out, ',');
    buf_printf(out, "{\"name\":\"%s%s%s\",", parent != NULL ? parent->name : "",
               parent != NULL ? " " : "", c->name);
    put_text(out, "summary", c->summary);
    put_members(out, arguments_members(c->arguments));
    buf_append_byte(out, '}');
}

void commands_json_run(struct exchange *x)
{
    struct buf *out = &x->text;
    buf_clear(out, SIZE_MAX);
    buf_append_byte(out, '[');
    for (const struct command *const *c = command_table; *c != NULL; c++) {
        const struct command *const *sub = (*c)->subcommands;
        put_command(out, *c, NULL);
        for (; sub != NULL && *sub != NULL; sub++) put_command(out, *sub, *c);
    }
    buf_append_byte(out, ']');
    exchange_header(x, "cache-control", slice_str("no-cache"));
    exchange_answer_json(x, 200);
}
