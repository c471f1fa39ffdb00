/* reply: a reply in RESP3, as the commands write it, becomes a tree in one piece of memory: the
 * nodes, the items of each together, then all texts.
 *
 *   *2 $1 a :7   ->   [ARRAY 2 items] [STRING "a"] [INTEGER 7] a\0
 */
#include <stdlib.h>

#include "base/mem.h"
#include "embedded/embedded_int.h"
#include "resp/item.h"

#define DEPTH_MAX 32 /* no command nests deeper */

static bool has_text(const struct resp_item *it)
{
    return !it->is_nil && strchr("+-$=(", it->type) != NULL;
}

struct sizes {
    size_t nodes, text_bytes, used;
};

/* A walk without recursion: `left` counts the values that are still to come. */
static bool measure(struct slice s, struct sizes *z)
{
    struct resp_item it;
    *z = (struct sizes){0};
    for (size_t left = 1; left > 0; left--) {
        if (!resp_item_read(slice_of(s.data + z->used, s.len - z->used), &it)) return false;
        z->used += it.used;
        z->nodes++;
        if (has_text(&it)) z->text_bytes += it.text.len + 1;
        left += it.children;
    }
    return true;
}

struct filling {
    struct slice rest;
    struct tupled_reply *free_nodes;
    char *text;
};

static void fill_scalar(struct filling *f, const struct resp_item *it, struct tupled_reply *r)
{
    char number[64];
    if (it->is_nil) return;
    switch (it->type) {
    case ':':
        r->type = TUPLED_REPLY_INTEGER;
        (void)slice_to_i64(it->text, &r->integer);
        return;
    case '#':
        r->type = TUPLED_REPLY_BOOLEAN;
        r->integer = it->text.len > 0 && it->text.data[0] == 't';
        return;
    case ',':
        if (it->text.len >= sizeof number) return;
        memcpy(number, it->text.data, it->text.len);
        number[it->text.len] = '\0';
        r->type = TUPLED_REPLY_DOUBLE;
        r->number = strtod(number, NULL);
        return;
    default: break;
    }
    r->type = it->type == '-' ? TUPLED_REPLY_ERROR : TUPLED_REPLY_STRING;
    r->text = f->text;
    r->len = it->text.len;
    bytes_copy(f->text, it->text.data, it->text.len);
    f->text[it->text.len] = '\0';
    f->text += it->text.len + 1;
}

static enum tupled_reply_type type_of(char c)
{
    if (c == '%') return TUPLED_REPLY_MAP;
    return c == '~' ? TUPLED_REPLY_SET : TUPLED_REPLY_ARRAY;
}

/* Depth first, as the bytes are; the stack has the items that are still to be filled. False: it is
 * too deep. */
static bool fill(struct filling *f, struct tupled_reply *root)
{
    struct {
        struct tupled_reply *next;
        size_t left;
    } stack[DEPTH_MAX] = {{root, 1}};
    size_t depth = 1;
    while (depth > 0) {
        struct resp_item it;
        if (stack[depth - 1].left == 0) {
            depth--;
            continue;
        }
        struct tupled_reply *r = stack[depth - 1].next++;
        stack[depth - 1].left--;
        if (depth == DEPTH_MAX || !resp_item_read(f->rest, &it)) return false;
        f->rest = slice_of(f->rest.data + it.used, f->rest.len - it.used);
        *r = (struct tupled_reply){.type = TUPLED_REPLY_NIL};
        if (it.is_nil || strchr("*~>%", it.type) == NULL) {
            fill_scalar(f, &it, r);
            continue;
        }
        r->type = type_of(it.type);
        r->count = it.children;
        r->items = f->free_nodes;
        stack[depth].next = f->free_nodes;
        stack[depth].left = it.children;
        depth++;
        f->free_nodes += it.children;
    }
    return true;
}

struct tupled_reply *reply_parse(struct slice bytes, size_t *used)
{
    struct sizes z;
    if (!measure(bytes, &z)) return NULL;
    struct tupled_reply *root = mem_alloc_try(z.nodes * sizeof *root + z.text_bytes);
    if (root == NULL) return NULL;
    struct filling f = {.rest = bytes, .free_nodes = root + 1, .text = (char *)(root + z.nodes)};
    if (!fill(&f, root)) {
        mem_free(root);
        return NULL;
    }
    if (used != NULL) *used = z.used;
    return root;
}

/* ---- errors ---- */

static void give(struct tupled_error *e, struct slice code, struct slice text)
{
    size_t n = code.len < sizeof e->code ? code.len : sizeof e->code - 1;
    memcpy(e->code, code.data, n);
    e->code[n] = '\0';
    n = text.len < sizeof e->text ? text.len : sizeof e->text - 1;
    memcpy(e->text, text.data, n);
    e->text[n] = '\0';
}

void error_none(struct tupled_error *e)
{
    if (e != NULL) e->code[0] = e->text[0] = '\0';
}

int error_give(struct tupled_error *e, enum err code, const char *text)
{
    if (e != NULL) give(e, slice_str(err_prefix(code)), slice_str(text));
    return TUPLED_FAILED;
}

int reply_outcome(struct slice bytes, struct tupled_error *e)
{
    struct resp_item it;
    error_none(e);
    if (bytes.len == 0 || bytes.data[0] != '-') return TUPLED_YES;
    if (e == NULL || !resp_item_read(bytes, &it)) return TUPLED_FAILED;
    const uint8_t *blank = memchr(it.text.data, ' ', it.text.len);
    size_t n = blank == NULL ? it.text.len : (size_t)(blank - it.text.data);
    size_t skip = blank == NULL ? n : n + 1;
    give(e, slice_of(it.text.data, n), slice_of(it.text.data + skip, it.text.len - skip));
    return TUPLED_FAILED;
}
