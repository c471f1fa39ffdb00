/* rest_atomic: POST /atomic: checks and mutations as one transaction. */
#include "http/rest.h"

#include <stdio.h>

struct change_kind {
    const char *type;
    const char *word;
    enum { VALUE_ANY, VALUE_NUMBER, VALUE_ARRAY, VALUE_NONE } value;
};

static const struct change_kind kinds[] = {
    {"set", "SET", VALUE_ANY},           {"delete", "DEL", VALUE_NONE},
    {"sum", "SUM", VALUE_NUMBER},        {"max", "MAX", VALUE_NUMBER},
    {"min", "MIN", VALUE_NUMBER},        {"append", "APPEND", VALUE_ARRAY},
    {"prepend", "PREPEND", VALUE_ARRAY},
};

static const struct change_kind *kind_of(struct slice type)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (slice_eq(type, slice_str(kinds[i].type))) return &kinds[i];
    }
    return NULL;
}

/* A number, "7", or {"__type":"bigint","value":"7"}, which is a bigint as {"$bigint":"7"} is. */
static bool take_number(struct exchange *x, const struct json_part *value, const char *where,
                        struct slice *out)
{
    static const char *const names[] = {"__type", "value", NULL};
    static const char head[] = "{\"$bigint\":";
    struct json_part parts[2];
    struct error e;
    *out = value->raw;
    if (value->kind == JSON_NUMBER) return true;
    if (value->kind == JSON_STRING) {
        struct json_part number;
        *out = json_text(value, &x->arena);
        if (json_check(*out, &number, &e) == OK && number.kind == JSON_NUMBER) return true;
    } else if (value->kind == JSON_OBJECT) {
        bool is_tagged = json_members(value, names, parts, true, where, &e) == OK;
        if (!is_tagged) return true; /* one of this server's own tags, or refused by the command */
        if (rest_is_there(&parts[0]) && rest_is_there(&parts[1]) && parts[1].kind == JSON_STRING &&
            slice_eq(parts[0].raw, slice_str("\"bigint\""))) {
            size_t len = sizeof head - 1 + parts[1].raw.len + 1;
            uint8_t *text = arena_alloc(&x->arena, len);
            memcpy(text, head, sizeof head - 1);
            memcpy(text + sizeof head - 1, parts[1].raw.data, parts[1].raw.len);
            text[len - 1] = '}';
            *out = slice_of(text, len);
            return true;
        }
    }
    exchange_fail(x, 400, "%s: value must be a number, bigint, or numeric string", where);
    return false;
}

static bool add_value(struct exchange *x, struct rest_words *w, const struct change_kind *kind,
                      const struct json_part *value, const char *where)
{
    struct slice text = value->raw;
    if (kind->value == VALUE_NONE) return true;
    if (!rest_is_there(value)) {
        exchange_fail(x, 400, "%s: %s needs a value", where, kind->type);
        return false;
    }
    if (kind->value == VALUE_ARRAY && value->kind != JSON_ARRAY) {
        exchange_fail(x, 400, "%s: %s value must be an array", where, kind->type);
        return false;
    }
    if (kind->value == VALUE_NUMBER && !take_number(x, value, where, &text)) return false;
    rest_words_add(w, text);
    return true;
}

static bool add_mutation(struct exchange *x, struct rest_words *w, const struct json_part *part,
                         const char *where)
{
    static const char *const names[] = {"type", "key", "value", "expiresIn", NULL};
    struct json_part parts[4];
    struct error e;
    struct slice key;
    struct slice type;
    int64_t expires_ms = 0;
    char name[64];
    if (json_members(part, names, parts, true, where, &e) != OK) {
        exchange_fail(x, 400, "%s", e.text);
        return false;
    }
    snprintf(name, sizeof name, "%s.type", where);
    if (!rest_body_text(x, &parts[0], name, &type)) return false;
    const struct change_kind *kind = kind_of(type);
    if (kind == NULL) {
        exchange_fail(x, 400, "%s must be set, delete, sum, max, min, append or prepend", name);
        return false;
    }
    snprintf(name, sizeof name, "%s.key", where);
    if (!rest_body_key(x, &parts[1], name, &key)) return false;
    rest_words_str(w, kind->word);
    rest_words_add(w, key);
    if (!add_value(x, w, kind, &parts[2], where)) return false;
    snprintf(name, sizeof name, "%s.expiresIn", where);
    if (!rest_body_integer(x, &parts[3], name, 1, REST_EXPIRY_MS_MAX, &expires_ms)) return false;
    if (expires_ms > 0 && kind->value != VALUE_ANY) {
        exchange_fail(x, 400, "%s is for set", name);
        return false;
    }
    if (expires_ms > 0) {
        rest_words_str(w, "PX");
        rest_words_number(w, expires_ms);
    }
    return true;
}

bool rest_add_check(struct exchange *x, struct rest_words *w, const struct json_part *part,
                    const char *where, rest_read_key *read_key)
{
    static const char *const names[] = {"key", "versionstamp", NULL};
    struct json_part parts[2];
    struct error e;
    struct slice key;
    char name[64];
    if (json_members(part, names, parts, true, where, &e) != OK) {
        exchange_fail(x, 400, "%s", e.text);
        return false;
    }
    snprintf(name, sizeof name, "%s.key", where);
    if (!read_key(x, &parts[0], name, &key)) return false;
    if (!rest_is_there(&parts[1]) || (parts[1].kind != JSON_STRING && parts[1].kind != JSON_NULL)) {
        exchange_fail(x, 400, "%s.versionstamp must be a string, or null: the key is absent",
                      where);
        return false;
    }
    rest_words_str(w, "CHECK");
    rest_words_add(w, key);
    if (parts[1].kind == JSON_NULL) {
        rest_words_str(w, "NONE");
    } else {
        rest_words_add(w, json_text(&parts[1], &x->arena));
    }
    return true;
}

static bool add_check(struct exchange *x, struct rest_words *w, const struct json_part *part,
                      const char *where)
{
    return rest_add_check(x, w, part, where, rest_body_key);
}

bool rest_add_all(struct exchange *x, struct rest_words *w, const struct json_part *list,
                  const char *name, rest_add *add)
{
    struct json_part item;
    char where[48];
    size_t i = 0;
    if (list->kind != JSON_ARRAY) {
        exchange_fail(x, 400, "%s must be an array", name);
        return false;
    }
    for (struct slice rest = json_inside(list); json_next_item(&rest, &item); i++) {
        snprintf(where, sizeof where, "%s[%zu]", name, i);
        if (!add(x, w, &item, where)) return false;
    }
    return true;
}

void rest_atomic_run(struct exchange *x)
{
    static const char *const names[] = {"checks", "mutations", NULL};
    struct json_part parts[2];
    if (!rest_body(x, names, parts)) return;
    if (!rest_is_there(&parts[1])) {
        exchange_fail(x, 400, "mutations must be an array; it may be empty");
        return;
    }
    struct rest_words w = rest_words_of(x, "KV.ATOMIC");
    if (rest_is_there(&parts[0]) && !rest_add_all(x, &w, &parts[0], "checks", add_check)) return;
    if (!rest_add_all(x, &w, &parts[1], "mutations", add_mutation)) return;
    rest_words_run(&w, rest_answer_written);
}
