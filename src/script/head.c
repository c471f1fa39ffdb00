/* head: the first line of a script or a library, "#!lua name=mylib flags=no-writes,allow-oom". */
#include "script/sandbox.h"

const char *const script_flag_names[SCRIPT_FLAGS + 1] = {
    "no-writes", "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys", NULL};

/* Flags that mean nothing here, as a script may run any command over any key of its user's, alone
 * or beside others: of Upstash, Dragonfly and Valkey. */
static const char *const without_effect[] = {
    "allow-key-locking",     /* Upstash: locks the keys of EVAL, not the whole database */
    "allow-undeclared-keys", /* Dragonfly: keys that EVAL does not name */
    "disable-atomicity",     /* Dragonfly: others may run between its commands */
    NULL};

bool script_flag_add(struct slice name, unsigned *flags)
{
    for (unsigned i = 0; i < SCRIPT_FLAGS; i++) {
        if (slice_eq(name, slice_str(script_flag_names[i]))) {
            *flags |= 1u << i;
            return true;
        }
    }
    for (const char *const *known = without_effect; *known != NULL; known++) {
        if (slice_eq(name, slice_str(*known))) return true;
    }
    return false;
}

/* Takes what is before the next `end` off *text. */
static struct slice take_until(struct slice *text, char end)
{
    const uint8_t *at = text->len > 0 ? memchr(text->data, end, text->len) : NULL;
    size_t len = at != NULL ? (size_t)(at - text->data) : text->len;
    struct slice part = slice_of(text->data, len);
    size_t taken = at != NULL ? len + 1 : len;
    *text = slice_of(text->data + taken, text->len - taken);
    return part;
}

/* As Redis it may be in quotes. */
static enum err read_name(struct slice word, struct script_head *out, struct error *e)
{
    bool is_quoted = word.len > 1 && (word.data[0] == '"' || word.data[0] == '\'') &&
                     word.data[word.len - 1] == word.data[0];
    if (out->name.data != NULL) {
        return error_set(e, ERR_SYNTAX,
                         "Invalid metadata value, name argument was given multiple times");
    }
    out->name = is_quoted ? slice_of(word.data + 1, word.len - 2) : word;
    return OK;
}

static enum err read_flags(struct slice words, unsigned *flags, struct error *e)
{
    while (words.len > 0) {
        struct slice word = take_until(&words, ',');
        if (!script_flag_add(word, flags)) {
            return error_set(e, ERR_SYNTAX, "Unexpected flag in script shebang: %.*s",
                             (int)(word.len < 64 ? word.len : 64), (const char *)word.data);
        }
    }
    return OK;
}

enum err script_head_read(struct slice code, bool takes_name, struct script_head *out,
                          struct error *e)
{
    *out = (struct script_head){0};
    if (!slice_has_prefix(code, slice_str("#!"))) return OK;
    const uint8_t *end = memchr(code.data, '\n', code.len);
    if (end == NULL) return error_set(e, ERR_SYNTAX, "Invalid script shebang");
    struct slice line = slice_of(code.data, (size_t)(end - code.data));
    out->code_at = line.len;
    if (line.len > 0 && line.data[line.len - 1] == '\r') line.len--;
    struct slice engine = take_until(&line, ' ');
    /* As in Redis a library's may be in any case. */
    bool is_known = takes_name ? slice_is_word(engine, "#!LUA")
                               : slice_eq(engine, slice_str("#!lua"));
    if (!is_known) {
        if (takes_name) {
            return error_set(e, ERR_SYNTAX, "Engine '%.*s' not found",
                             (int)(engine.len < 66 ? engine.len - 2 : 64),
                             (const char *)engine.data + 2);
        }
        return error_set(e, ERR_SYNTAX, "Unexpected engine in script shebang: %.*s",
                         (int)(engine.len < 64 ? engine.len : 64), (const char *)engine.data);
    }
    while (line.len > 0) {
        struct slice word = take_until(&line, ' ');
        enum err r = OK;
        if (word.len == 0) continue;
        if (slice_has_prefix(word, slice_str("flags="))) {
            r = read_flags(slice_of(word.data + 6, word.len - 6), &out->flags, e);
        } else if (takes_name && slice_has_prefix(word, slice_str("name="))) {
            r = read_name(slice_of(word.data + 5, word.len - 5), out, e);
        } else {
            r = error_set(e, ERR_SYNTAX,
                          takes_name ? "Invalid metadata value given: %.*s"
                                     : "Unknown lua shebang option: %.*s",
                          (int)(word.len < 64 ? word.len : 64), (const char *)word.data);
        }
        if (r != OK) return r;
    }
    return OK;
}
