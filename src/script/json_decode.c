/* json_decode: cjson.decode. It reads what lua-cjson 2.1 reads, to the same values, and fails with
 * the same errors. It is not that library's own function: that one makes all the strings and tables
 * of a text without asking whether the script goes on, and strings whose hashes in Lua are equal,
 * which are easily made, take it minutes (step.c).
 *
 * A text ends at its end or at a byte 0. Numbers are read by strtod: also what are none in JSON
 * (inf, nan, 0x10, 010), unless decode_invalid_numbers(false) was called.
 */
#include <stdlib.h>
#include <strings.h>

#include "codec/utf8.h"
#include "script/sandbox_int.h"

/* The stack: the text, then the buffer for strings with escapes, nil before the first one. */
#define SCRATCH_INDEX 2

enum token {
    TOKEN_OBJECT_BEGIN,
    TOKEN_OBJECT_END,
    TOKEN_ARRAY_BEGIN,
    TOKEN_ARRAY_END,
    TOKEN_STRING,
    TOKEN_NUMBER,
    TOKEN_TRUE,
    TOKEN_FALSE,
    TOKEN_NULL,
    TOKEN_COLON,
    TOKEN_COMMA,
    TOKEN_END,
    TOKEN_ERROR,
};

/* In errors. */
static const char *const token_names[] = {
    "T_OBJ_BEGIN", "T_OBJ_END", "T_ARR_BEGIN", "T_ARR_END", "T_STRING", "T_NUMBER", "T_BOOLEAN",
    "T_BOOLEAN",   "T_NULL",    "T_COLON",     "T_COMMA",   "T_END",    "",
};

struct decoder {
    lua_State *lua;
    struct sandbox *sandbox;
    const char *text; /* ends with a byte 0, as Lua's strings do */
    const char *at;
    size_t len;
    bool takes_all_numbers;
    int depth;
    int depth_max;
    /* of the token read last */
    enum token token;
    size_t token_at;
    const char *fault;   /* of TOKEN_ERROR */
    struct slice string; /* of TOKEN_STRING: in the text or in the buffer */
    double number;
};

/* ---- tokens ---- */

static void set(struct decoder *d, enum token token, size_t chars)
{
    d->token = token;
    d->at += chars;
}

static void set_fault(struct decoder *d, const char *fault)
{
    d->token = TOKEN_ERROR;
    d->token_at = (size_t)(d->at - d->text);
    d->fault = fault;
}

/* -1: these are no four hex digits. */
static int hex4(const char *p)
{
    int code = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        char letter = (char)(c | 0x20);
        if (c >= '0' && c <= '9') {
            code = code * 16 + c - '0';
        } else if (letter >= 'a' && letter <= 'f') {
            code = code * 16 + letter - 'a' + 10;
        } else {
            return -1;
        }
    }
    return code;
}

/* At \u, of a pair of surrogates both: moves past it and writes it. NULL: it is none. */
static uint8_t *take_code_point(struct decoder *d, uint8_t *to)
{
    const char *p = d->at;
    int code = hex4(p + 2);
    if (code < 0) return NULL;
    p += 6;
    if ((code & 0xf800) == 0xd800) {
        int low = code < 0xdc00 && p[0] == '\\' && p[1] == 'u' ? hex4(p + 2) : -1;
        if (low < 0xdc00 || low > 0xdfff) return NULL;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        p += 6;
    }
    d->at = p;
    return to + utf8_encode((uint32_t)code, to);
}

/* 0: there is no such escape. */
static char escaped(char c)
{
    switch (c) {
    case '"':
    case '\\':
    case '/': return c;
    case 'b': return '\b';
    case 't': return '\t';
    case 'n': return '\n';
    case 'f': return '\f';
    case 'r': return '\r';
    default: return 0;
    }
}

/* As long as the text: no string of it is longer. */
static uint8_t *scratch(struct decoder *d)
{
    if (!lua_isnil(d->lua, SCRATCH_INDEX)) return lua_touserdata(d->lua, SCRATCH_INDEX);
    uint8_t *bytes = lua_newuserdata(d->lua, d->len);
    lua_replace(d->lua, SCRATCH_INDEX);
    return bytes;
}

/* From the first escape on; the token is what was before. */
static void read_escapes(struct decoder *d)
{
    uint8_t *begin = scratch(d);
    uint8_t *to = begin;
    bytes_copy(begin, d->string.data, d->string.len);
    to += d->string.len;
    while (*d->at != '"' && *d->at != '\0') {
        if (*d->at != '\\') {
            *to++ = (uint8_t)*d->at++;
        } else if (d->at[1] == 'u') {
            uint8_t *end = take_code_point(d, to);
            if (end == NULL) {
                set_fault(d, "invalid unicode escape code");
                return;
            }
            to = end;
        } else {
            char c = escaped(d->at[1]);
            if (c == '\0') {
                set_fault(d, "invalid escape code");
                return;
            }
            *to++ = (uint8_t)c;
            d->at += 2;
        }
    }
    d->string = slice_of(begin, (size_t)(to - begin));
}

static void read_string(struct decoder *d)
{
    const char *begin = ++d->at;
    d->token = TOKEN_STRING;
    while (*d->at != '"' && *d->at != '\\' && *d->at != '\0') d->at++;
    d->string = slice_of(begin, (size_t)(d->at - begin));
    if (*d->at == '\\') read_escapes(d);
    if (d->token == TOKEN_ERROR) return;
    if (*d->at == '\0') {
        set_fault(d, "unexpected end of string");
        return;
    }
    d->at++;
}

/* Does strtod read here what JSON does not call a number? */
static bool is_odd_number(const char *p)
{
    if (*p == '+') return true;
    if (*p == '-') p++;
    if (*p == '0') return (p[1] | 0x20) == 'x' || (p[1] >= '0' && p[1] <= '9');
    if (*p <= '9') return false;
    return strncasecmp(p, "inf", 3) == 0 || strncasecmp(p, "nan", 3) == 0;
}

static void read_number(struct decoder *d)
{
    char *end = NULL;
    d->number = strtod(d->at, &end);
    if (end == d->at) {
        set_fault(d, "invalid number");
    } else {
        set(d, TOKEN_NUMBER, (size_t)(end - d->at));
    }
}

static void read_word(struct decoder *d)
{
    const char *p = d->at;
    bool is_number = *p == '-' || (*p >= '0' && *p <= '9');
    if (is_number && !d->takes_all_numbers && is_odd_number(p)) {
        set_fault(d, "invalid number");
    } else if (is_number || (d->takes_all_numbers && is_odd_number(p))) {
        read_number(d);
    } else if (strncmp(p, "true", 4) == 0) {
        set(d, TOKEN_TRUE, 4);
    } else if (strncmp(p, "false", 5) == 0) {
        set(d, TOKEN_FALSE, 5);
    } else if (strncmp(p, "null", 4) == 0) {
        set(d, TOKEN_NULL, 4);
    } else {
        set_fault(d, "invalid token");
    }
}

static void next_token(struct decoder *d)
{
    while (*d->at == ' ' || *d->at == '\t' || *d->at == '\n' || *d->at == '\r') d->at++;
    d->token_at = (size_t)(d->at - d->text);
    switch (*d->at) {
    case '{': set(d, TOKEN_OBJECT_BEGIN, 1); return;
    case '}': set(d, TOKEN_OBJECT_END, 1); return;
    case '[': set(d, TOKEN_ARRAY_BEGIN, 1); return;
    case ']': set(d, TOKEN_ARRAY_END, 1); return;
    case ',': set(d, TOKEN_COMMA, 1); return;
    case ':': set(d, TOKEN_COLON, 1); return;
    case '\0': set(d, TOKEN_END, 0); return;
    case '"': read_string(d); return;
    default: read_word(d); return;
    }
}

/* ---- values ---- */

static void fail(const struct decoder *d, const char *wanted)
{
    luaL_error(d->lua, "Expected %s but found %s at character %d", wanted,
               d->token == TOKEN_ERROR ? d->fault : token_names[d->token], (int)d->token_at + 1);
}

/* Behind the bracket. */
static void go_down(struct decoder *d)
{
    if (++d->depth > d->depth_max || !lua_checkstack(d->lua, 4)) {
        luaL_error(d->lua, "Found too many nested data structures (%d) at character %d", d->depth,
                   (int)(d->at - d->text));
    }
    lua_newtable(d->lua);
    next_token(d);
}

/* After an element. False: that was the last one. */
static bool goes_on(struct decoder *d, enum token end, const char *wanted)
{
    next_token(d);
    if (d->token == end) return false;
    if (d->token != TOKEN_COMMA) fail(d, wanted);
    next_token(d);
    return true;
}

static void push_value(struct decoder *d);

static void push_object(struct decoder *d)
{
    go_down(d);
    bool has_more = d->token != TOKEN_OBJECT_END;
    while (has_more) {
        if (d->token != TOKEN_STRING) fail(d, "object key string");
        sandbox_push(d->lua, d->string);
        next_token(d);
        if (d->token != TOKEN_COLON) fail(d, "colon");
        next_token(d);
        push_value(d);
        lua_rawset(d->lua, -3);
        has_more = goes_on(d, TOKEN_OBJECT_END, "comma or object end");
    }
    d->depth--;
}

static void push_array(struct decoder *d)
{
    go_down(d);
    bool has_more = d->token != TOKEN_ARRAY_END;
    for (int i = 1; has_more; i++) {
        push_value(d);
        lua_rawseti(d->lua, -2, i);
        has_more = goes_on(d, TOKEN_ARRAY_END, "comma or array end");
    }
    d->depth--;
}

/* The one that begins with the token. */
static void push_value(struct decoder *d)
{
    sandbox_step(d->lua, d->sandbox);
    switch (d->token) {
    case TOKEN_STRING: sandbox_push(d->lua, d->string); return;
    case TOKEN_NUMBER: lua_pushnumber(d->lua, d->number); return;
    case TOKEN_TRUE: lua_pushboolean(d->lua, 1); return;
    case TOKEN_FALSE: lua_pushboolean(d->lua, 0); return;
    case TOKEN_NULL: lua_pushlightuserdata(d->lua, NULL); return;
    case TOKEN_OBJECT_BEGIN: push_object(d); return;
    case TOKEN_ARRAY_BEGIN: push_array(d); return;
    case TOKEN_OBJECT_END:
    case TOKEN_ARRAY_END:
    case TOKEN_COLON:
    case TOKEN_COMMA:
    case TOKEN_END:
    case TOKEN_ERROR: fail(d, "value"); return;
    }
}

int json_decode(lua_State *lua)
{
    luaL_argcheck(lua, lua_gettop(lua) == 1, 1, "expected 1 argument");
    struct slice text = sandbox_string(lua, 1);
    struct decoder d = {.lua = lua,
                        .sandbox = sandbox_of(lua),
                        .text = (const char *)text.data,
                        .at = (const char *)text.data,
                        .len = text.len};
    if (text.len >= 2 && (text.data[0] == '\0' || text.data[1] == '\0')) {
        luaL_error(lua, "JSON parser does not support UTF-16 or UTF-32");
    }
    sandbox_walk(lua, text.len * 4);
    sandbox_need(lua, text.len);
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_call(lua, 0, 1);
    d.takes_all_numbers = lua_toboolean(lua, -1);
    lua_pushvalue(lua, lua_upvalueindex(2));
    lua_call(lua, 0, 1);
    d.depth_max = (int)lua_tointeger(lua, -1);
    lua_settop(lua, 1);
    lua_pushnil(lua);
    next_token(&d);
    push_value(&d);
    next_token(&d);
    if (d.token != TOKEN_END) fail(&d, "the end");
    return 1;
}
