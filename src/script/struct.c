/* struct: the library `struct` that Redis's scripts have: numbers and strings as bytes, by a
 * format.
 *
 *   > <        big, little endian; at first little
 *   !n         alignment to at most n; ! alone 8; at first 1
 *   blank      nothing
 *   x          a byte of padding
 *   b B h H    one byte, two bytes; signed, unsigned, as those that follow
 *   l L T      eight bytes
 *   i I in In  n bytes, 4 without n
 *   f d        float, double
 *   s          a string up to its zero byte
 *   cn         n bytes; c0 as many as the number read before (unpack), all of the string (pack)
 */
#include <ctype.h>
#include <limits.h>

#include "script/sandbox_int.h"

#define INTEGER_BYTES_MAX 8
#define ALIGN_MAX 16

struct format {
    lua_State *lua;
    const char *at; /* the next option; NUL-ended */
    size_t align_max;
    bool is_big;
};

/* One option, read. */
struct option {
    char kind;
    size_t bytes;
};

static void format_begin(struct format *f, lua_State *lua)
{
    *f = (struct format){.lua = lua, .at = luaL_checkstring(lua, 1), .align_max = 1};
}

static size_t take_number(struct format *f, size_t otherwise)
{
    if (!isdigit((unsigned char)*f->at)) return otherwise;
    size_t n = 0;
    while (isdigit((unsigned char)*f->at)) {
        if (n > INT_MAX / 10 - 1) luaL_error(f->lua, "integral size overflow");
        n = n * 10 + (size_t)(*f->at++ - '0');
    }
    return n;
}

static size_t integer_bytes(struct format *f)
{
    size_t n = take_number(f, sizeof(int));
    if (n == 0 || n > INTEGER_BYTES_MAX) {
        luaL_error(f->lua, "integral size %d is larger than limit of %d", (int)n,
                   INTEGER_BYTES_MAX);
    }
    return n;
}

/* The next option that has bytes, 'x' too; false at the end. What it means for alignment comes
 * first. */
static bool format_next(struct format *f, struct option *o)
{
    while (*f->at != '\0') {
        char c = *f->at++;
        sandbox_step(f->lua, sandbox_of(f->lua));
        *o = (struct option){.kind = c};
        switch (c) {
        case ' ': continue;
        case '>': f->is_big = true; continue;
        case '<': f->is_big = false; continue;
        case '!':
            f->align_max = take_number(f, 8);
            if (f->align_max == 0 || f->align_max > ALIGN_MAX ||
                (f->align_max & (f->align_max - 1)) != 0) {
                luaL_error(f->lua, "alignment is not a power of 2");
            }
            continue;
        case 'x':
        case 'b':
        case 'B': o->bytes = 1; return true;
        case 'h':
        case 'H': o->bytes = sizeof(short); return true;
        case 'l':
        case 'L':
        case 'T': o->bytes = sizeof(long); return true;
        case 'f': o->bytes = sizeof(float); return true;
        case 'd': o->bytes = sizeof(double); return true;
        case 'i':
        case 'I': o->bytes = integer_bytes(f); return true;
        case 'c': o->bytes = take_number(f, 1); return true;
        case 's': return true;
        default: luaL_error(f->lua, "invalid format option '%c'", c);
        }
    }
    return false;
}

/* Bytes of padding before an option at `at`. */
static size_t padding(const struct format *f, const struct option *o, size_t at)
{
    size_t align = o->bytes < f->align_max ? o->bytes : f->align_max;
    if (align < 2 || strchr("cxs", o->kind) != NULL) return 0;
    if ((align & (align - 1)) != 0) return 0;
    return (align - (at & (align - 1))) & (align - 1);
}

/* ---- pack ---- */

static void put_integer(luaL_Buffer *b, uint64_t v, size_t bytes, bool is_big)
{
    for (size_t i = 0; i < bytes; i++) {
        size_t shift = 8 * (is_big ? bytes - 1 - i : i);
        luaL_addchar(b, (char)(v >> shift & 0xff));
    }
}

/* As in C, but that no number is undefined. */
static uint64_t integer_of(lua_Number n)
{
    if (n >= 9223372036854775808.0 && n < 18446744073709551616.0) return (uint64_t)n;
    if (n >= -9223372036854775808.0 && n < 9223372036854775808.0) return (uint64_t)(int64_t)n;
    return 0;
}

static void put_float(luaL_Buffer *b, lua_Number n, const struct option *o, bool is_big)
{
    uint64_t bits = 0;
    if (o->kind == 'f') {
        float f = (float)n;
        uint32_t word = 0;
        memcpy(&word, &f, sizeof word);
        bits = word;
    } else {
        memcpy(&bits, &n, sizeof bits);
    }
    put_integer(b, bits, o->bytes, is_big);
}

static size_t put_string(lua_State *lua, luaL_Buffer *b, int arg, const struct option *o)
{
    struct slice text = sandbox_string(lua, arg);
    size_t len = o->kind == 'c' && o->bytes > 0 ? o->bytes : text.len;
    luaL_argcheck(lua, text.len >= len, arg, "string too short");
    sandbox_walk(lua, len);
    luaL_addlstring(b, (const char *)text.data, len);
    if (o->kind == 's') {
        luaL_addchar(b, '\0');
        len++;
    }
    return len;
}

static int struct_pack(lua_State *lua)
{
    struct format f;
    struct option o;
    luaL_Buffer b;
    size_t total = 0;
    int arg = 2;
    format_begin(&f, lua);
    /* Arguments are read below what the buffer has on the stack. */
    luaL_buffinit(lua, &b);
    while (format_next(&f, &o)) {
        for (size_t pad = padding(&f, &o, total); pad > 0; pad--, total++) luaL_addchar(&b, '\0');
        switch (o.kind) {
        case 'x': luaL_addchar(&b, '\0'); break;
        case 'c':
        case 's': total += put_string(lua, &b, arg++, &o); continue;
        case 'f':
        case 'd': put_float(&b, luaL_checknumber(lua, arg++), &o, f.is_big); break;
        default:
            put_integer(&b, integer_of(luaL_checknumber(lua, arg++)), o.bytes, f.is_big);
            break;
        }
        total += o.bytes;
    }
    luaL_pushresult(&b);
    return 1;
}

/* ---- unpack ---- */

static uint64_t get_integer(const uint8_t *p, size_t bytes, bool is_big)
{
    uint64_t v = 0;
    for (size_t i = 0; i < bytes; i++) v = v << 8 | p[is_big ? i : bytes - 1 - i];
    return v;
}

static void push_integer(lua_State *lua, uint64_t v, const struct option *o)
{
    if (isupper((unsigned char)o->kind)) {
        lua_pushnumber(lua, (lua_Number)v);
        return;
    }
    unsigned spare = 64 - 8 * (unsigned)o->bytes;
    lua_pushnumber(lua, (lua_Number)((int64_t)(v << spare) >> spare));
}

static void push_float(lua_State *lua, uint64_t bits, const struct option *o)
{
    if (o->kind == 'f') {
        uint32_t word = (uint32_t)bits;
        float f = 0;
        memcpy(&f, &word, sizeof f);
        lua_pushnumber(lua, (lua_Number)f);
    } else {
        double d = 0;
        memcpy(&d, &bits, sizeof d);
        lua_pushnumber(lua, d);
    }
}

static void need(lua_State *lua, size_t at, size_t bytes, size_t len)
{
    luaL_argcheck(lua, at <= len && bytes <= len - at, 2, "data string too short");
}

/* The size of c0 is the number that was read before it. */
static size_t take_size(lua_State *lua, int *pushed)
{
    if (*pushed == 0 || lua_type(lua, -1) != LUA_TNUMBER) {
        luaL_error(lua, "format 'c0' needs a previous size");
    }
    lua_Number n = lua_tonumber(lua, -1);
    if (!(n >= 0) || n > (lua_Number)INT_MAX) luaL_error(lua, "invalid size of 'c0'");
    lua_pop(lua, 1);
    --*pushed;
    return (size_t)n;
}

/* Pushes what the option says, which begins at `at`. How many bytes it had. */
static size_t get_option(lua_State *lua, const struct format *f, struct option *o,
                         struct slice data, size_t at, int *pushed)
{
    const uint8_t *p = data.data + at;
    const uint8_t *end = NULL;
    if (o->kind == 'c' && o->bytes == 0) o->bytes = take_size(lua, pushed);
    need(lua, at, o->bytes, data.len);
    switch (o->kind) {
    case 'x': return o->bytes;
    case 's':
        end = memchr(p, '\0', data.len - at);
        if (end == NULL) luaL_error(lua, "unfinished string in data");
        sandbox_walk(lua, (size_t)(end - p));
        sandbox_push(lua, slice_of(p, (size_t)(end - p)));
        o->bytes = (size_t)(end - p) + 1;
        break;
    case 'c': sandbox_push(lua, slice_of(p, o->bytes)); break;
    case 'f':
    case 'd': push_float(lua, get_integer(p, o->bytes, f->is_big), o); break;
    default: push_integer(lua, get_integer(p, o->bytes, f->is_big), o); break;
    }
    ++*pushed;
    return o->bytes;
}

static int struct_unpack(lua_State *lua)
{
    struct format f;
    struct option o;
    struct slice data = sandbox_string(lua, 2);
    lua_Number from = luaL_optnumber(lua, 3, 1);
    int pushed = 0;
    luaL_argcheck(lua, from >= 1 && from <= (lua_Number)data.len + 1, 3,
                  "offset must be 1 or greater");
    size_t at = (size_t)from - 1;
    format_begin(&f, lua);
    while (format_next(&f, &o)) {
        at += padding(&f, &o, at);
        need(lua, at, 0, data.len);
        luaL_checkstack(lua, 2, "too many results");
        at += get_option(lua, &f, &o, data, at, &pushed);
    }
    lua_pushinteger(lua, (lua_Integer)at + 1);
    return pushed + 1;
}

static int struct_size(lua_State *lua)
{
    struct format f;
    struct option o;
    size_t total = 0;
    format_begin(&f, lua);
    while (format_next(&f, &o)) {
        bool is_open = o.kind == 's' || (o.kind == 'c' && o.bytes == 0);
        if (is_open)
            luaL_argerror(lua, 1,
                          o.kind == 's' ? "variable-size format in call to 'size'"
                                        : "variable-length format in call to 'size'");
        total += padding(&f, &o, total) + o.bytes;
    }
    lua_pushinteger(lua, (lua_Integer)total);
    return 1;
}

void struct_library(lua_State *lua)
{
    static const luaL_Reg functions[] = {
        {"pack", struct_pack}, {"unpack", struct_unpack}, {"size", struct_size}, {NULL, NULL}};
    lua_newtable(lua);
    luaL_register(lua, NULL, functions);
}
