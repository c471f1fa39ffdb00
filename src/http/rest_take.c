/* rest_take: what a request says: parameters of its URL, parts of its path, members of its body. */
#include "codec/json_lex.h"
#include "http/rest.h"
#include "http/route.h"
#include "queue/rows.h"

/* ---- parameters, the path -------------------------------------------------------------------- */

bool rest_query_text(struct exchange *x, const char *name, struct slice *out)
{
    if (http_query_value(x->message->query, name, &x->arena, out) >= 0) return true;
    exchange_fail(x, 400, "the parameter '%s' is not valid percent-encoded UTF-8", name);
    return false;
}

bool rest_refuse_number(struct exchange *x, const char *name, int64_t min, int64_t max,
                        struct slice got)
{
    exchange_fail(x, 400, "%s must be a number from %lld to %lld, received %.*s", name,
                  (long long)min, (long long)max, (int)(got.len < 50 ? got.len : 50),
                  (const char *)got.data);
    return false;
}

bool rest_query_integer(struct exchange *x, const char *name, int64_t min, int64_t max,
                        int64_t *out)
{
    struct slice text = slice_of(NULL, 0);
    int64_t n;
    if (!rest_query_text(x, name, &text)) return false;
    if (text.data == NULL) return true;
    if (!slice_to_i64(text, &n) || n < min || n > max)
        return rest_refuse_number(x, name, min, max, text);
    *out = n;
    return true;
}

bool rest_query_switch(struct exchange *x, const char *name, bool *out)
{
    struct slice text = slice_of(NULL, 0);
    if (!rest_query_text(x, name, &text)) return false;
    if (text.data == NULL) return true;
    *out = slice_is_word(text, "TRUE");
    if (*out || slice_is_word(text, "FALSE")) return true;
    exchange_fail(x, 400, "%s must be true or false", name);
    return false;
}

bool rest_limit(struct exchange *x, const struct json_part *part, int64_t *out)
{
    struct slice text = slice_of(NULL, 0);
    *out = REST_LIMIT_DEFAULT;
    if (part != NULL) {
        if (rest_is_there(part)) text = part->raw;
    } else if (!rest_query_text(x, "limit", &text)) {
        return false;
    }
    if (text.data == NULL) return true;
    if (!slice_to_i64(text, out) || *out < 1) {
        exchange_fail(x, 400, "limit must be a positive number, received %.*s",
                      (int)(text.len < 50 ? text.len : 50), (const char *)text.data);
        return false;
    }
    if (*out > REST_LIMIT_MAX) *out = REST_LIMIT_MAX;
    return true;
}

bool rest_path_text(struct exchange *x, const char *name, struct slice *out)
{
    if (route_part(x, name, out) > 0) return true;
    exchange_fail(x, 400, "'%s' in the path is not valid percent-encoded UTF-8", name);
    return false;
}

bool rest_is_json(struct exchange *x, const char *name, struct slice text)
{
    struct json_part part;
    struct error e;
    if (json_check(text, &part, &e) == OK) return true;
    exchange_fail(x, 400, "%s must be a JSON value, with strings in quotes: %s", name, e.text);
    return false;
}

bool rest_is_message_id(struct exchange *x, struct slice text)
{
    struct message_id id;
    if (id_parse(text, &id)) return true;
    exchange_fail(x, 400, "ERR invalid message id '%.*s'", (int)(text.len < 64 ? text.len : 64),
                  (const char *)text.data);
    return false;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

bool rest_is_there(const struct json_part *part)
{
    return part->raw.data != NULL;
}

bool rest_body(struct exchange *x, const char *const *names, struct json_part *parts)
{
    struct json_part body;
    struct error e;
    if (json_check(x->message->body, &body, &e) == OK &&
        json_members(&body, names, parts, true, "the body", &e) == OK) {
        return true;
    }
    exchange_fail(x, 400, "%s", e.text);
    return false;
}

bool rest_body_text(struct exchange *x, const struct json_part *part, const char *name,
                    struct slice *out)
{
    if (rest_is_there(part) && part->kind == JSON_STRING) {
        *out = json_text(part, &x->arena);
        if (out->len > 0) return true;
    }
    exchange_fail(x, 400, "%s must be a non-empty string", name);
    return false;
}

bool rest_body_integer(struct exchange *x, const struct json_part *part, const char *name,
                       int64_t min, int64_t max, int64_t *out)
{
    if (!rest_is_there(part)) return true;
    if (json_part_integer(part, out) && *out >= min && *out <= max) return true;
    return rest_refuse_number(x, name, min, max, part->raw);
}

bool rest_body_switch(struct exchange *x, const struct json_part *part, const char *name, bool *out)
{
    if (!rest_is_there(part)) return true;
    *out = json_is_true(part);
    if (part->kind == JSON_BOOL) return true;
    exchange_fail(x, 400, "%s must be true or false", name);
    return false;
}
