/* wire_map: replies that name what they hold, [name, value, name, value, ...], and how they are
 * shown.
 */
#ifndef TOOL_WIRE_MAP_H
#define TOOL_WIRE_MAP_H

#include "tool/output.h"
#include "tool/wire.h"

struct tool;

/* The value of the name; NULL when it is not there. */
const redisReply *wire_map_find(const redisReply *map, const char *name);
/* 0 when it is not there, or no number. */
int64_t wire_map_i64(const redisReply *map, const char *name);
/* "" when it is not there, or no text. */
struct slice wire_map_text(const redisReply *map, const char *name);
/* A cell with what it is: text, number, JSON of a list, nothing. */
void wire_map_cell(struct sheet *s, const redisReply *r);
/* Prints all of it, one name a line, or as one object. Names get _ for -. */
void wire_map_print(const struct tool *t, const redisReply *map);
/* As JSON. */
void wire_json(struct json_out *j, const redisReply *r);

#endif
