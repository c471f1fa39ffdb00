/* library: rows, and what code registers, which is found by running it in a sandbox of its own.
 * Compiled functions are references into the sandbox of the loop: they are good for one version of
 * the row and one sandbox, and are made again when either is another. */
#include "command/script/library.h"

#include <ctype.h>
#include <strings.h>

#include "base/mem.h"
#include "codec/key.h"
#include "codec/pack.h"
#include "database/database.h"

#define READ_MEMORY_BYTES (16u << 20)

/* A library in the sandbox of the loop. */
struct compiled {
    struct slice key; /* first: the table looks here; the library's name, which lies after this */
    uint64_t version; /* of its row */
    uint64_t sandbox; /* the number of it */
    struct sandbox_function *functions; /* owned */
    size_t count, cap;
    struct arena names; /* of the functions */
};

struct libraries {
    struct htab by_name; /* of compiled */
};

/* ---- rows ---- */

static struct slice make_key(struct arena *arena, const char *kind, struct slice name)
{
    struct buf out;
    buf_init(&out);
    uint8_t *head = buf_reserve(&out, KEY_HEAD_BYTES);
    if (head != NULL) {
        key_head_write(head, DATABASE_CATALOG, SPACE_DATA);
        out.len = KEY_HEAD_BYTES;
    }
    key_add_string(&out, slice_str(kind));
    if (name.data != NULL) key_add_string(&out, name);
    buf_require(&out);
    struct slice key = arena_copy(arena, buf_slice(&out));
    buf_fini(&out);
    return key;
}

struct slice library_key(struct arena *arena, struct slice name)
{
    return make_key(arena, "library", name);
}

static struct slice lower_of(struct arena *arena, struct slice name)
{
    uint8_t *lower = arena_alloc(arena, name.len + 1);
    for (size_t i = 0; i < name.len; i++) lower[i] = (uint8_t)tolower(name.data[i]);
    return slice_of(lower, name.len);
}

struct slice function_key(struct arena *arena, struct slice name)
{
    return make_key(arena, "function", lower_of(arena, name));
}

void library_range(struct arena *arena, bool is_function, struct slice *start, struct slice *end)
{
    *start = make_key(arena, is_function ? "function" : "library", slice_of(NULL, 0));
    uint8_t *after = arena_alloc(arena, start->len + 1);
    memcpy(after, start->data, start->len);
    after[start->len] = 0xff;
    *end = slice_of(after, start->len + 1);
}

static struct slice take_copy(struct arena *arena, struct buf *out)
{
    buf_require(out);
    struct slice row = arena_copy(arena, buf_slice(out));
    buf_fini(out);
    return row;
}

struct slice library_row_write(struct arena *arena, struct slice code)
{
    struct buf out;
    buf_init(&out);
    pack_str(&out, code);
    return take_copy(arena, &out);
}

struct slice function_row_write(struct arena *arena, const struct function_row *f)
{
    uint8_t head[PACK_HEAD_BYTES];
    struct buf out;
    buf_init(&out);
    buf_append(&out, head, pack_head(PACK_ARRAY, 0, f->name.data != NULL ? 4 : 3, head));
    pack_str(&out, f->library);
    pack_uint(&out, f->flags);
    if (f->description.data != NULL) {
        pack_str(&out, f->description);
    } else {
        buf_append_byte(&out, 0xc0);
    }
    if (f->name.data != NULL) pack_str(&out, f->name);
    return take_copy(arena, &out);
}

bool library_row(struct slice value, struct slice *code)
{
    const uint8_t *at = value.data;
    struct pack_item item;
    if (pack_read(&at, value.data + value.len, &item) != PACK_OK || item.type != PACK_STR)
        return false;
    *code = item.body;
    return true;
}

bool function_row(struct slice value, struct function_row *out)
{
    const uint8_t *at = value.data;
    const uint8_t *end = value.data + value.len;
    struct pack_item item;
    *out = (struct function_row){0};
    if (pack_read(&at, end, &item) != PACK_OK || item.type != PACK_ARRAY) return false;
    uint32_t count = item.count;
    if (count != 3 && count != 4) return false;
    if (pack_read(&at, end, &item) != PACK_OK || item.type != PACK_STR) return false;
    out->library = item.body;
    if (pack_read(&at, end, &item) != PACK_OK || item.type != PACK_UINT) return false;
    out->flags = (unsigned)item.u;
    if (pack_read(&at, end, &item) != PACK_OK) return false;
    if (item.type == PACK_STR) out->description = item.body;
    if (count == 3) return true;
    if (pack_read(&at, end, &item) != PACK_OK || item.type != PACK_STR) return false;
    out->name = item.body;
    return true;
}

/* ---- what the code says ---- */

static bool is_name(struct slice name)
{
    if (name.len == 0 || name.len > LIBRARY_NAME_MAX) return false;
    for (size_t i = 0; i < name.len; i++) {
        if (!isalnum(name.data[i]) && name.data[i] != '_') return false;
    }
    return true;
}

bool function_is_named(struct slice a, struct slice b)
{
    return a.len == b.len && strncasecmp((const char *)a.data, (const char *)b.data, a.len) == 0;
}

struct reading {
    struct library *library;
    struct arena *arena;
};

static enum err found(void *arg, const struct sandbox_function *f, struct error *e)
{
    struct reading *r = arg;
    struct library *l = r->library;
    if (!is_name(f->name)) {
        return error_set(e, ERR_SYNTAX,
                         "ERR Library names can only contain letters, numbers, or underscores(_) "
                         "and must be at least one character long");
    }
    for (size_t i = 0; i < l->count; i++) {
        if (!function_is_named(l->functions[i].name, f->name)) continue;
        return error_set(e, ERR_SYNTAX, "ERR Function already exists in the library");
    }
    l->functions = arena_grow(r->arena, l->functions, l->count, &l->cap, sizeof *l->functions);
    struct sandbox_function *copy = &l->functions[l->count++];
    *copy = *f;
    copy->name = arena_copy(r->arena, f->name);
    if (f->description.data != NULL) copy->description = arena_copy(r->arena, f->description);
    return OK;
}

static enum err read_head(struct slice code, struct library *out, struct error *e)
{
    struct script_head head;
    enum err r = script_head_read(code, true, &head, e);
    if (r != OK) return r;
    if (head.code_at == 0) return error_set(e, ERR_SYNTAX, "Missing library metadata");
    if (head.name.data == NULL) return error_set(e, ERR_SYNTAX, "Library name was not given");
    if (!is_name(head.name)) {
        return error_set(e, ERR_SYNTAX,
                         "Library names can only contain letters, numbers, or underscores(_) and "
                         "must be at least one character long");
    }
    out->name = head.name;
    out->code = code;
    out->code_at = head.code_at;
    return OK;
}

enum err library_read(struct slice code, struct arena *arena, struct library *out, struct error *e)
{
    struct reading reading = {.library = out, .arena = arena};
    *out = (struct library){0};
    if (code.len > SANDBOX_CODE_BYTES_MAX) {
        return error_set(e, ERR_LIMIT, "a library of %zu bytes exceeds %u", code.len,
                         SANDBOX_CODE_BYTES_MAX);
    }
    enum err r = read_head(code, out, e);
    if (r != OK) return r;
    struct sandbox *s = sandbox_new(READ_MEMORY_BYTES);
    if (s == NULL) return error_set(e, ERR_NOMEM, "out of memory for a library");
    struct slice body = slice_of(code.data + out->code_at, code.len - out->code_at);
    r = sandbox_load(s, body, found, &reading, e);
    sandbox_free(s);
    if (r == OK && out->count == 0) return error_set(e, ERR_SYNTAX, "No functions registered");
    return r;
}

/* ---- one function, in a sandbox ---- */

struct looking {
    struct sandbox *sandbox;
    struct slice name;
    int ref;
    bool is_found;
};

static enum err look(void *arg, const struct sandbox_function *f, struct error *e)
{
    struct looking *l = arg;
    (void)e;
    if (!slice_eq(f->name, l->name)) return OK;
    l->ref = f->ref;
    l->is_found = true;
    return OK;
}

enum err library_function(struct sandbox *s, const struct program *p, int *ref, struct error *e)
{
    struct looking l = {.sandbox = s, .name = p->function};
    enum err r = sandbox_load(s, p->code, look, &l, e);
    if (r != OK) return r;
    *ref = l.ref;
    return l.is_found ? OK : error_set(e, ERR_SYNTAX, "Function not found");
}

/* ---- in the sandbox of the loop ---- */

void libraries_open(struct scripts *x)
{
    x->libraries = mem_new(sizeof *x->libraries);
    htab_init(&x->libraries->by_name);
}

/* Forgets what was compiled; the sandbox keeps its references only as long as it is the same. */
static void compiled_clear(struct scripts *x, struct compiled *c)
{
    for (size_t i = 0; i < c->count; i++) {
        if (c->sandbox == x->sandbox_number && x->sandbox != NULL) {
            sandbox_release(x->sandbox, c->functions[i].ref);
        }
    }
    c->count = 0;
    arena_reset(&c->names);
}

static void compiled_free(struct scripts *x, struct compiled *c)
{
    compiled_clear(x, c);
    htab_remove(&x->libraries->by_name, hash_bytes(c->key), &c->key);
    mem_free(c->functions);
    arena_fini(&c->names);
    mem_free(c);
}

void libraries_close(struct scripts *x)
{
    struct htab *h = &x->libraries->by_name;
    struct compiled *c = NULL;
    for (size_t at = 0; (c = htab_next(h, &at)) != NULL; at = 0) compiled_free(x, c);
    htab_fini(h);
    mem_free(x->libraries);
}

static enum err keep(void *arg, const struct sandbox_function *f, struct error *e)
{
    struct compiled *c = arg;
    (void)e;
    if (c->count == c->cap) {
        c->cap = c->cap == 0 ? 8 : 2 * c->cap;
        c->functions = mem_resize(c->functions, c->cap * sizeof *c->functions);
    }
    c->functions[c->count++] = (struct sandbox_function){.name = arena_copy(&c->names, f->name),
                                                         .ref = f->ref};
    return OK;
}

static struct compiled *compiled_of(struct scripts *x, struct slice name)
{
    struct htab *h = &x->libraries->by_name;
    struct compiled *c = htab_find(h, hash_bytes(name), name);
    if (c != NULL) return c;
    uint8_t *bytes = mem_alloc(sizeof *c + name.len);
    c = (struct compiled *)(void *)bytes;
    *c = (struct compiled){.key = slice_of(bytes + sizeof *c, name.len)};
    if (name.len > 0) memcpy(bytes + sizeof *c, name.data, name.len);
    arena_init(&c->names, 256);
    htab_insert(h, hash_bytes(c->key), &c->key);
    return c;
}

enum err library_compile(struct scripts *x, const struct program *p, int *ref, struct error *e)
{
    struct compiled *c = compiled_of(x, p->library);
    if (c->version != p->version || c->sandbox != x->sandbox_number) {
        compiled_clear(x, c);
        c->sandbox = x->sandbox_number;
        c->version = 0;
        enum err r = sandbox_load(x->sandbox, p->code, keep, c, e);
        if (r != OK) return r;
        c->version = p->version;
    }
    for (size_t i = 0; i < c->count; i++) {
        if (!slice_eq(c->functions[i].name, p->function)) continue;
        *ref = c->functions[i].ref;
        return OK;
    }
    return error_set(e, ERR_SYNTAX, "Function not found");
}

/* The row of a function; *f has its name as it was registered. */
static enum err registered(struct request *rq, struct slice name, struct function_row *f)
{
    struct entry row;
    struct slice found_as = lower_of(rq->arena, name);
    enum err r = request_get(rq, function_key(rq->arena, name), &row);
    if (r == OK && !row.exists) {
        found_as = name;
        r = request_get(rq, make_key(rq->arena, "function", name), &row);
    }
    if (r != OK) return r;
    if (!row.exists || !function_row(row.value, f)) {
        return error_set(&rq->error, ERR_SYNTAX, "Function not found");
    }
    if (f->name.data == NULL) f->name = found_as;
    return OK;
}

enum err function_find(struct request *rq, struct slice name, struct program *p)
{
    struct entry code;
    struct slice text;
    struct script_head head;
    struct function_row f;
    if (!is_name(name)) return error_set(&rq->error, ERR_SYNTAX, "Function not found");
    enum err r = registered(rq, name, &f);
    if (r != OK) return r;
    p->library = f.library;
    p->flags = f.flags;
    r = request_get(rq, library_key(rq->arena, p->library), &code);
    if (r != OK) return r;
    if (!code.exists || !library_row(code.value, &text) ||
        script_head_read(text, true, &head, &rq->error) != OK) {
        return error_set(&rq->error, ERR_SYNTAX, "Function not found");
    }
    p->version = code.version;
    p->code = slice_of(text.data + head.code_at, text.len - head.code_at);
    p->function = f.name;
    char *shown = arena_alloc(rq->arena, name.len + 1);
    memcpy(shown, f.name.data, name.len);
    shown[name.len] = '\0';
    p->name = shown;
    return OK;
}
