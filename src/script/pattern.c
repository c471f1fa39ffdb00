/* pattern: string.find, match, gmatch and gsub, as the manual of Lua 5.1 (5.4.1, "Patterns") has
 * them. In place of Lua's own, which may take for ever between two instructions of a script: here
 * every step is counted (sandbox_step), and what is nested has a bound.
 *
 * A pattern is a list of items. One that matches a single character (a class) may be followed by *
 * + - or ?; the others are ( ) %b %f %1 to %9 and $ at the end. `match_here` matches the items from
 * p on at the place s of the subject, item by item; where there is a choice it calls itself for the
 * rest:
 *
 *   a*  as many as fit, then the rest; one fewer each time the rest does not match
 *   a-  the rest; one more each time it does not match
 */
#include <ctype.h>

#include "script/sandbox_int.h"

#define CAPTURES_MAX 32
#define DEPTH_MAX 1000
#define NO_MATCH (-1)
#define IS_OPEN (-1)     /* the length of a capture whose end was not found yet ... */
#define IS_POSITION (-2) /* ... and of one that is a place: () */

struct capture {
    ptrdiff_t at, len;
};

struct matching {
    lua_State *lua;
    struct sandbox *sandbox;
    struct slice subject, pattern;
    int count;
    int depth;
    struct capture captures[CAPTURES_MAX];
};

/* ---- one character ---- */

/* The place after the class that begins at p. */
static size_t class_end(struct matching *m, size_t p)
{
    struct slice pat = m->pattern;
    uint8_t c = pat.data[p++];
    if (c == '%') {
        if (p == pat.len) luaL_error(m->lua, "malformed pattern (ends with '%%')");
        return p + 1;
    }
    if (c != '[') return p;
    if (p < pat.len && pat.data[p] == '^') p++;
    bool is_first = true; /* a ] that comes first is one of the set */
    for (;; is_first = false) {
        sandbox_step(m->lua, m->sandbox);
        if (p >= pat.len) luaL_error(m->lua, "malformed pattern (missing ']')");
        if (pat.data[p] == ']' && !is_first) return p + 1;
        p += pat.data[p] == '%' ? 2 : 1;
    }
}

/* %a, %D ...: upper case is what is not in the class; any other letter stands for itself. */
static bool in_named_class(uint8_t c, uint8_t name)
{
    int is_in = 0;
    switch (tolower(name)) {
    case 'a': is_in = isalpha(c); break;
    case 'c': is_in = iscntrl(c); break;
    case 'd': is_in = isdigit(c); break;
    case 'l': is_in = islower(c); break;
    case 'p': is_in = ispunct(c); break;
    case 's': is_in = isspace(c); break;
    case 'u': is_in = isupper(c); break;
    case 'w': is_in = isalnum(c); break;
    case 'x': is_in = isxdigit(c); break;
    case 'z': is_in = c == 0; break;
    default: return name == c;
    }
    return (is_in != 0) != (isupper(name) != 0);
}

/* The set from p (its [) up to `end` (after its ]). */
static bool in_set(struct matching *m, uint8_t c, size_t p, size_t end)
{
    const uint8_t *pat = m->pattern.data;
    bool is_negated = pat[p + 1] == '^';
    size_t last = end - 1;
    for (p += is_negated ? 2 : 1; p < last;) {
        sandbox_step(m->lua, m->sandbox);
        if (pat[p] == '%') {
            if (in_named_class(c, pat[p + 1])) return !is_negated;
            p += 2;
        } else if (p + 2 < last && pat[p + 1] == '-') {
            if (pat[p] <= c && c <= pat[p + 2]) return !is_negated;
            p += 3;
        } else {
            if (pat[p] == c) return !is_negated;
            p++;
        }
    }
    return is_negated;
}

/* Does the class from p up to `end` match the character at s? */
static bool matches_one(struct matching *m, size_t s, size_t p, size_t end)
{
    sandbox_step(m->lua, m->sandbox); /* one character */
    if (s >= m->subject.len) return false;
    uint8_t c = m->subject.data[s];
    switch (m->pattern.data[p]) {
    case '.': return true;
    case '%': return in_named_class(c, m->pattern.data[p + 1]);
    case '[': return in_set(m, c, p, end);
    default: return m->pattern.data[p] == c;
    }
}

/* ---- items; each returns where its match, and that of all items after it, ends ---- */

static ptrdiff_t match_here(struct matching *m, size_t s, size_t p);

static ptrdiff_t match_most(struct matching *m, size_t s, size_t p, size_t end)
{
    size_t n = 0;
    while (matches_one(m, s + n, p, end)) n++;
    for (;; n--) {
        ptrdiff_t r = match_here(m, s + n, end + 1);
        if (r != NO_MATCH || n == 0) return r;
    }
}

static ptrdiff_t match_least(struct matching *m, size_t s, size_t p, size_t end)
{
    for (;; s++) {
        ptrdiff_t r = match_here(m, s, end + 1);
        if (r != NO_MATCH) return r;
        if (!matches_one(m, s, p, end)) return NO_MATCH;
    }
}

static ptrdiff_t match_capture(struct matching *m, size_t s, size_t p)
{
    bool is_position = p + 1 < m->pattern.len && m->pattern.data[p + 1] == ')';
    if (m->count == CAPTURES_MAX) luaL_error(m->lua, "too many captures");
    m->captures[m->count++] = (struct capture){(ptrdiff_t)s, is_position ? IS_POSITION : IS_OPEN};
    ptrdiff_t r = match_here(m, s, p + (is_position ? 2 : 1));
    if (r == NO_MATCH) m->count--;
    return r;
}

static ptrdiff_t match_capture_end(struct matching *m, size_t s, size_t p)
{
    int i = m->count - 1;
    while (i >= 0 && m->captures[i].len != IS_OPEN) i--;
    if (i < 0) luaL_error(m->lua, "invalid pattern capture");
    m->captures[i].len = (ptrdiff_t)s - m->captures[i].at;
    ptrdiff_t r = match_here(m, s, p + 1);
    if (r == NO_MATCH) m->captures[i].len = IS_OPEN;
    return r;
}

/* %bxy: from an x to the y that belongs to it. Where it ends. */
static ptrdiff_t match_balance(struct matching *m, size_t s, size_t p)
{
    if (p + 3 >= m->pattern.len) luaL_error(m->lua, "unbalanced pattern");
    uint8_t begin = m->pattern.data[p + 2];
    uint8_t end = m->pattern.data[p + 3];
    if (s >= m->subject.len || m->subject.data[s] != begin) return NO_MATCH;
    size_t open = 1;
    while (++s < m->subject.len) {
        uint8_t c = m->subject.data[s];
        sandbox_step(m->lua, m->sandbox);
        if (c == end) {
            if (--open == 0) return (ptrdiff_t)s + 1;
        } else if (c == begin) {
            open++;
        }
    }
    return NO_MATCH;
}

/* %f[set]: between a character that is not in the set and one that is; both ends of the subject
 * count as a zero byte. *end: after the item. */
static bool match_frontier(struct matching *m, size_t s, size_t p, size_t *end)
{
    p += 2;
    if (p >= m->pattern.len || m->pattern.data[p] != '[') {
        luaL_error(m->lua, "missing '[' after '%%f' in pattern");
    }
    *end = class_end(m, p);
    uint8_t before = s == 0 ? 0 : m->subject.data[s - 1];
    uint8_t after = s < m->subject.len ? m->subject.data[s] : 0;
    return !in_set(m, before, p, *end) && in_set(m, after, p, *end);
}

/* %1: what the capture has. Where it ends. */
static ptrdiff_t match_reference(struct matching *m, size_t s, uint8_t digit)
{
    int i = digit - '1';
    if (i < 0 || i >= m->count || m->captures[i].len == IS_OPEN) {
        luaL_error(m->lua, "invalid capture index");
    }
    if (m->captures[i].len == IS_POSITION) return NO_MATCH;
    size_t len = (size_t)m->captures[i].len;
    m->sandbox->steps += len / 64;
    sandbox_step(m->lua, m->sandbox);
    if (m->subject.len - s < len) return NO_MATCH;
    bool is_same = len == 0 ||
                   memcmp(m->subject.data + m->captures[i].at, m->subject.data + s, len) == 0;
    return is_same ? (ptrdiff_t)(s + len) : NO_MATCH;
}

/* What begins with % and is no class: *s and *p are moved past it. False: it does not match.
 * *is_class: it was one after all. */
static bool match_special(struct matching *m, size_t *s, size_t *p, bool *is_class)
{
    uint8_t c = *p + 1 < m->pattern.len ? m->pattern.data[*p + 1] : 0;
    ptrdiff_t r = NO_MATCH;
    *is_class = false;
    if (c == 'b') {
        r = match_balance(m, *s, *p);
        *p += 4;
    } else if (c == 'f') {
        return match_frontier(m, *s, *p, p);
    } else if (isdigit(c)) {
        r = match_reference(m, *s, c);
        *p += 2;
    } else {
        *is_class = true;
        return true;
    }
    if (r != NO_MATCH) *s = (size_t)r;
    return r != NO_MATCH;
}

/* A class with what follows it. *is_over: *r is the result; else *s and *p were moved past it. */
static void match_class(struct matching *m, size_t *s, size_t *p, bool *is_over, ptrdiff_t *r)
{
    size_t end = class_end(m, *p);
    uint8_t c = end < m->pattern.len ? m->pattern.data[end] : 0;
    *is_over = true;
    *r = NO_MATCH;
    switch (c) {
    case '*': *r = match_most(m, *s, *p, end); return;
    case '-': *r = match_least(m, *s, *p, end); return;
    case '+':
        if (matches_one(m, *s, *p, end)) *r = match_most(m, *s + 1, *p, end);
        return;
    case '?':
        if (matches_one(m, *s, *p, end)) *r = match_here(m, *s + 1, end + 1);
        if (*r != NO_MATCH) return;
        *p = end + 1;
        break;
    default:
        if (!matches_one(m, *s, *p, end)) return;
        ++*s;
        *p = end;
        break;
    }
    *is_over = false;
}

static ptrdiff_t match_items(struct matching *m, size_t s, size_t p)
{
    bool is_over = false;
    bool is_class = true;
    ptrdiff_t r = NO_MATCH;
    while (p < m->pattern.len) {
        uint8_t c = m->pattern.data[p];
        sandbox_step(m->lua, m->sandbox);
        if (c == '(') return match_capture(m, s, p);
        if (c == ')') return match_capture_end(m, s, p);
        if (c == '$' && p + 1 == m->pattern.len)
            return s == m->subject.len ? (ptrdiff_t)s : NO_MATCH;
        if (c == '%') {
            if (!match_special(m, &s, &p, &is_class)) return NO_MATCH;
            if (!is_class) continue;
        }
        match_class(m, &s, &p, &is_over, &r);
        if (is_over) return r;
    }
    return (ptrdiff_t)s;
}

static ptrdiff_t match_here(struct matching *m, size_t s, size_t p)
{
    if (++m->depth > DEPTH_MAX) luaL_error(m->lua, "pattern too complex");
    ptrdiff_t r = match_items(m, s, p);
    m->depth--;
    return r;
}

/* From the place s on, or, when the pattern is anchored, only there. Where a match begins; *end. */
static ptrdiff_t match_from(struct matching *m, size_t s, bool is_anchored, size_t *end)
{
    for (;; s++) {
        m->count = 0;
        m->depth = 0;
        ptrdiff_t r = match_here(m, s, 0);
        if (r != NO_MATCH) {
            *end = (size_t)r;
            return (ptrdiff_t)s;
        }
        if (is_anchored || s >= m->subject.len) return NO_MATCH;
    }
}

/* ---- captures ---- */

/* The i-th, or, when there is none, the whole match for i = 0. */
static void push_capture(struct matching *m, int i, size_t s, size_t end)
{
    if (i >= m->count) {
        if (i != 0) luaL_error(m->lua, "invalid capture index");
        lua_pushlstring(m->lua, (const char *)m->subject.data + s, end - s);
        return;
    }
    struct capture c = m->captures[i];
    if (c.len == IS_OPEN) luaL_error(m->lua, "unfinished capture");
    if (c.len == IS_POSITION) {
        lua_pushinteger(m->lua, c.at + 1);
    } else {
        lua_pushlstring(m->lua, (const char *)m->subject.data + c.at, (size_t)c.len);
    }
}

/* All of them; the whole match when there is none and is_whole. */
static int push_captures(struct matching *m, size_t s, size_t end, bool is_whole)
{
    int count = m->count == 0 && is_whole ? 1 : m->count;
    luaL_checkstack(m->lua, count, "too many captures");
    for (int i = 0; i < count; i++) push_capture(m, i, s, end);
    return count;
}

/* ---- find, match ---- */

static void matching_init(struct matching *m, lua_State *lua, struct slice subject,
                          struct slice pattern, bool *is_anchored)
{
    *m = (struct matching){
        .lua = lua, .sandbox = sandbox_of(lua), .subject = subject, .pattern = pattern};
    *is_anchored = pattern.len > 0 && pattern.data[0] == '^';
    if (*is_anchored) m->pattern = slice_of(pattern.data + 1, pattern.len - 1);
}

static bool is_plain(struct slice pattern)
{
    for (size_t i = 0; i < pattern.len; i++) {
        if (strchr("^$*+?.([%-", pattern.data[i]) != NULL && pattern.data[i] != 0) return false;
    }
    return true;
}

/* Where the subject is looked at from: the third argument, from 1 on, from the end when negative.
 */
static size_t first_place(lua_State *lua, size_t len)
{
    lua_Integer at = luaL_optinteger(lua, 3, 1);
    if (at < 0) at += (lua_Integer)len + 1;
    if (at < 1) at = 1;
    return (size_t)at - 1 > len ? len : (size_t)at - 1;
}

static int find_plain(lua_State *lua, struct slice subject, struct slice what, size_t from)
{
    sandbox_charge(lua, subject.len - from);
    const uint8_t *at = memmem(subject.data + from, subject.len - from, what.data, what.len);
    if (at == NULL) {
        lua_pushnil(lua);
        return 1;
    }
    lua_pushinteger(lua, at - subject.data + 1);
    lua_pushinteger(lua, at - subject.data + (ptrdiff_t)what.len);
    return 2;
}

static int find(lua_State *lua, bool is_find)
{
    struct slice subject = sandbox_string(lua, 1);
    struct slice pattern = sandbox_string(lua, 2);
    size_t from = first_place(lua, subject.len);
    size_t end = 0;
    bool is_anchored = false;
    struct matching m;
    sandbox_walk(lua, pattern.len);
    if (is_find && (lua_toboolean(lua, 4) || is_plain(pattern))) {
        return find_plain(lua, subject, pattern, from);
    }
    matching_init(&m, lua, subject, pattern, &is_anchored);
    ptrdiff_t at = match_from(&m, from, is_anchored, &end);
    if (at == NO_MATCH) {
        lua_pushnil(lua);
        return 1;
    }
    if (!is_find) return push_captures(&m, (size_t)at, end, true);
    lua_pushinteger(lua, at + 1);
    lua_pushinteger(lua, (lua_Integer)end);
    return push_captures(&m, (size_t)at, end, false) + 2;
}

static int pattern_find(lua_State *lua)
{
    return find(lua, true);
}

static int pattern_match(lua_State *lua)
{
    return find(lua, false);
}

/* ---- gmatch ---- */

/* Upvalues: subject, pattern, where to go on. */
static int gmatch_next(lua_State *lua)
{
    size_t end = 0;
    struct matching m = {.lua = lua,
                         .sandbox = sandbox_of(lua),
                         .subject = sandbox_string(lua, lua_upvalueindex(1)),
                         .pattern = sandbox_string(lua, lua_upvalueindex(2))};
    size_t from = (size_t)lua_tointeger(lua, lua_upvalueindex(3));
    if (from > m.subject.len) return 0;
    ptrdiff_t at = match_from(&m, from, false, &end);
    if (at == NO_MATCH) return 0;
    /* An empty match: the next one begins a character later. */
    lua_pushinteger(lua, (lua_Integer)(end == (size_t)at ? end + 1 : end));
    lua_replace(lua, lua_upvalueindex(3));
    return push_captures(&m, (size_t)at, end, true);
}

static int pattern_gmatch(lua_State *lua)
{
    luaL_checkstring(lua, 1);
    luaL_checkstring(lua, 2);
    lua_settop(lua, 2);
    lua_pushinteger(lua, 0);
    lua_pushcclosure(lua, gmatch_next, 3);
    return 1;
}

/* ---- gsub ---- */

static void add_text(struct matching *m, luaL_Buffer *b, size_t s, size_t end)
{
    struct slice text = sandbox_string(m->lua, 3);
    for (size_t i = 0; i < text.len; i++) {
        sandbox_step(m->lua, m->sandbox);
        if (text.data[i] != '%') {
            luaL_addchar(b, (char)text.data[i]);
            continue;
        }
        uint8_t c = ++i < text.len ? text.data[i] : 0;
        if (!isdigit(c)) {
            luaL_addchar(b, (char)c);
        } else if (c == '0') {
            luaL_addlstring(b, (const char *)m->subject.data + s, end - s);
        } else {
            push_capture(m, c - '1', s, end);
            luaL_addvalue(b);
        }
    }
}

static void add_value(struct matching *m, luaL_Buffer *b, size_t s, size_t end)
{
    lua_State *lua = m->lua;
    int count = 0;
    switch (lua_type(lua, 3)) {
    case LUA_TFUNCTION:
        lua_pushvalue(lua, 3);
        count = push_captures(m, s, end, true);
        lua_call(lua, count, 1);
        break;
    case LUA_TTABLE:
        push_capture(m, 0, s, end);
        lua_gettable(lua, 3);
        break;
    default: add_text(m, b, s, end); return;
    }
    if (!lua_toboolean(lua, -1)) {
        lua_pop(lua, 1);
        lua_pushlstring(lua, (const char *)m->subject.data + s, end - s);
    } else if (!lua_isstring(lua, -1)) {
        luaL_error(lua, "invalid replacement value (a %s)", luaL_typename(lua, -1));
    }
    luaL_addvalue(b);
}

static int pattern_gsub(lua_State *lua)
{
    struct slice subject = sandbox_string(lua, 1);
    struct slice pattern = sandbox_string(lua, 2);
    int type = lua_type(lua, 3);
    bool is_anchored = false;
    struct matching m;
    luaL_Buffer b;
    luaL_argcheck(lua,
                  type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TFUNCTION ||
                      type == LUA_TTABLE,
                  3, "string/function/table expected");
    lua_Integer max = luaL_optinteger(lua, 4, (lua_Integer)subject.len + 1);
    lua_Integer count = 0;
    matching_init(&m, lua, subject, pattern, &is_anchored);
    luaL_buffinit(lua, &b);
    for (size_t s = 0; s <= subject.len;) {
        m.count = m.depth = 0;
        ptrdiff_t end = count < max ? match_here(&m, s, 0) : NO_MATCH;
        if (end != NO_MATCH) {
            count++;
            add_value(&m, &b, s, (size_t)end);
        }
        if (end != NO_MATCH && (size_t)end > s) {
            s = (size_t)end;
        } else if (s < subject.len && count < max && !is_anchored) {
            luaL_addchar(&b, (char)subject.data[s++]);
        } else {
            luaL_addlstring(&b, (const char *)subject.data + s, subject.len - s);
            break;
        }
        if (is_anchored) {
            luaL_addlstring(&b, (const char *)subject.data + s, subject.len - s);
            break;
        }
    }
    luaL_pushresult(&b);
    lua_pushinteger(lua, count);
    return 2;
}

void pattern_functions(lua_State *lua)
{
    static const luaL_Reg functions[] = {{"find", pattern_find},     {"match", pattern_match},
                                         {"gmatch", pattern_gmatch}, {"gfind", pattern_gmatch},
                                         {"gsub", pattern_gsub},     {NULL, NULL}};
    luaL_register(lua, NULL, functions);
}
