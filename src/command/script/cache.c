/* cache: scripts by their SHA1, in memory only, as in Redis: EVALSHA of one that is not known is
 * NOSCRIPT, and the client sends it by EVAL. There may be SCRIPTS_MAX; the one that was not used
 * for longest goes.
 */
#include <ctype.h>

#include "base/mem.h"
#include "command/script/library.h"

static void unlink_script(struct script *s)
{
    s->next->prev = s->prev;
    s->prev->next = s->next;
}

static void make_newest(struct scripts *x, struct script *s)
{
    s->next = x->newest.next;
    s->prev = &x->newest;
    s->next->prev = s;
    x->newest.next = s;
}

void script_forget(struct scripts *x, struct script *s)
{
    if (s->compiled == x->sandbox_number && x->sandbox != NULL) {
        sandbox_release(x->sandbox, s->ref);
    }
    htab_remove(&x->by_sha, hash_bytes(s->key), &s->key);
    htab_remove(&x->by_text, hash_bytes(s->text), &s->text);
    unlink_script(s);
    x->counts.cached--;
    x->counts.code_bytes -= s->text.len;
    mem_free(s->code);
    mem_free(s);
}

static void use(struct scripts *x, struct script *s)
{
    unlink_script(s);
    make_newest(x, s);
}

struct script *script_find(struct scripts *x, struct slice sha)
{
    char lower[SANDBOX_SHA_CHARS];
    if (sha.len != sizeof lower) return NULL;
    for (size_t i = 0; i < sizeof lower; i++) lower[i] = (char)tolower(sha.data[i]);
    struct slice key = slice_of(lower, sizeof lower);
    struct script *s = htab_find(&x->by_sha, hash_bytes(key), key);
    if (s != NULL) use(x, s);
    return s;
}

static struct script *find_text(struct scripts *x, struct slice code)
{
    char *text = htab_find(&x->by_text, hash_bytes(code), code);
    if (text == NULL) return NULL;
    struct script *s = (struct script *)(void *)(text - offsetof(struct script, text));
    use(x, s);
    return s;
}

enum err script_add(struct scripts *x, struct slice code, struct script **out, struct error *e)
{
    char sha[SANDBOX_SHA_CHARS];
    struct script_head head;
    *out = find_text(x, code);
    if (*out != NULL) return OK;
    if (code.len > SANDBOX_CODE_BYTES_MAX) {
        return error_set(e, ERR_LIMIT, "a script of %zu bytes exceeds %u", code.len,
                         SANDBOX_CODE_BYTES_MAX);
    }
    enum err r = script_head_read(code, false, &head, e);
    if (r != OK) return r;
    while (x->by_sha.count >= SCRIPTS_MAX ||
           (x->counts.code_bytes + code.len > SCRIPTS_BYTES_MAX && x->by_sha.count > 0)) {
        script_forget(x, x->newest.prev);
    }
    struct script *s = mem_new(sizeof *s);
    script_sha(code, sha);
    memcpy(s->sha, sha, sizeof sha);
    s->key = slice_of(s->sha, SANDBOX_SHA_CHARS);
    s->code = mem_alloc(code.len + 1);
    if (code.len > 0) memcpy(s->code, code.data, code.len);
    s->text = slice_of(s->code, code.len);
    s->body = slice_of(s->code + head.code_at, code.len - head.code_at);
    s->head = head;
    htab_insert(&x->by_sha, hash_bytes(s->key), &s->key);
    htab_insert(&x->by_text, hash_bytes(s->text), &s->text);
    make_newest(x, s);
    x->counts.cached++;
    x->counts.code_bytes += code.len;
    *out = s;
    return OK;
}

void scripts_forget(struct scripts *x)
{
    while (x->newest.next != &x->newest) script_forget(x, x->newest.next);
}

/* Compiled scripts stay there. Is enough left for another one to be compiled and run? */
static bool has_room(struct sandbox *s)
{
    if (sandbox_bytes(s) <= COMPILED_BYTES_MAX) return true;
    sandbox_collect(s); /* most of it may be what the last one left */
    return sandbox_bytes(s) <= COMPILED_BYTES_MAX;
}

enum err scripts_sandbox(struct scripts *x, struct error *e)
{
    if (x->sandbox != NULL && !sandbox_is_spent(x->sandbox) && has_room(x->sandbox)) return OK;
    sandbox_free(x->sandbox);
    x->sandbox_number++;
    x->sandbox = sandbox_new(SHORT_MEMORY_BYTES);
    if (x->sandbox != NULL) return OK;
    return error_set(e, ERR_NOMEM, "out of memory for scripts");
}

enum err program_compile(struct scripts *x, const struct program *p, int *ref, struct error *e)
{
    struct script *s = p->script;
    if (s == NULL) return library_compile(x, p, ref, e);
    if (s->compiled != x->sandbox_number) {
        enum err r = sandbox_compile(x->sandbox, p->code, NULL, NULL, &s->ref, e);
        if (r != OK) return r;
        s->compiled = x->sandbox_number;
    }
    *ref = s->ref;
    return OK;
}
