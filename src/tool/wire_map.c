/* wire_map: a reply of names and values, looked up by name and shown as cells (output.h). */
#include "tool/wire_map.h"

#include "base/mem.h"
#include "tool/tool.h"

const redisReply *wire_map_find(const redisReply *map, const char *name)
{
    if (!wire_is_array(map, 0)) return NULL;
    for (size_t i = 0; i + 1 < map->elements; i += 2) {
        const redisReply *r = map->element[i];
        if (r->str != NULL && slice_eq(wire_slice(r), slice_str(name))) return map->element[i + 1];
    }
    return NULL;
}

int64_t wire_map_i64(const redisReply *map, const char *name)
{
    const redisReply *r = wire_map_find(map, name);
    return wire_is(r, REDIS_REPLY_INTEGER) ? r->integer : 0;
}

struct slice wire_map_text(const redisReply *map, const char *name)
{
    const redisReply *r = wire_map_find(map, name);
    return r != NULL && r->str != NULL ? wire_slice(r) : slice_of("", 0);
}

void wire_json(struct json_out *j, const redisReply *r)
{
    switch (r->type) {
    case REDIS_REPLY_INTEGER: json_out_i64(j, r->integer); break;
    case REDIS_REPLY_NIL: json_out_null(j); break;
    case REDIS_REPLY_ARRAY:
        json_out_open(j, '[');
        for (size_t i = 0; i < r->elements; i++) wire_json(j, r->element[i]);
        json_out_close(j, ']');
        break;
    default: json_out_text(j, wire_slice(r)); break;
    }
}

void wire_map_cell(struct sheet *s, const redisReply *r)
{
    struct json_out j;
    switch (r->type) {
    case REDIS_REPLY_INTEGER: sheet_i64(s, r->integer); break;
    case REDIS_REPLY_NIL: sheet_null(s); break;
    case REDIS_REPLY_ARRAY:
        json_out_init(&j);
        wire_json(&j, r);
        buf_require(&j.text);
        sheet_raw(s, buf_slice(&j.text));
        json_out_fini(&j);
        break;
    default: sheet_text(s, wire_slice(r)); break;
    }
}

void wire_map_print(const struct tool *t, const redisReply *map)
{
    size_t count = map->elements / 2;
    const char **names = mem_new((count + 1) * sizeof *names);
    struct sheet s;
    struct arena a;
    arena_init(&a, 4096);
    for (size_t i = 0; i < count; i++) {
        struct slice name = wire_slice(map->element[2 * i]);
        char *text = arena_alloc(&a, name.len + 1);
        memcpy(text, name.data, name.len);
        text[name.len] = '\0';
        for (char *p = text; *p != '\0'; p++) *p = *p == '-' ? '_' : *p;
        names[i] = text;
    }
    sheet_init(&s, names);
    for (size_t i = 0; i < count; i++) wire_map_cell(&s, map->element[2 * i + 1]);
    sheet_print_record(&s, t->is_json);
    sheet_fini(&s);
    arena_fini(&a);
    mem_free(names);
}
