/* redis_options: the source's URL and the options --source-*, which are to it what those without
 * `source` are to the server that is loaded; and what INFO says. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "tool/redis_source.h"

#define PASSWORD_BYTES_MAX 65536
#define PASSWORD_OF "TUPLEDCTL_SOURCE_PASSWORD or --source-password-file"

static enum tool_status read_password(const struct tool *t, struct wire_options *o)
{
    const char *path = tool_text(t, "--source-password-file");
    const char *password = getenv("TUPLEDCTL_SOURCE_PASSWORD");
    if (path != NULL) {
        struct buf text = {.data = NULL};
        struct error e;
        if (file_read_all(path, &text, PASSWORD_BYTES_MAX, &e) != OK) {
            buf_fini(&text);
            return tool_fail(TOOL_WORDS, "--source-password-file: %s", e.text);
        }
        buf_append_byte(&text, '\0');
        buf_require(&text);
        size_t len = strcspn((const char *)text.data, "\r\n");
        /* The tool's arena lives as long as the program. */
        char *copy = arena_alloc(bytes_unconst(&t->arena), len + 1);
        memcpy(copy, text.data, len);
        copy[len] = '\0';
        o->password = copy;
        buf_fini(&text);
    } else if (o->password == NULL && password != NULL && password[0] != '\0') {
        o->password = password;
    }
    if (o->user == NULL || o->password != NULL) return TOOL_DONE;
    return tool_fail(TOOL_WORDS, "the source's URL has a user but no password; use " PASSWORD_OF);
}

enum tool_status redis_options_read(const struct tool *t, const char *url, struct wire_options *o,
                                    int64_t *database)
{
    struct error e = {.text = ""};
    uint64_t number = 0;
    *o = (struct wire_options){
        .stop_fd = -1, .timeout_s = t->server.timeout_s, .password_of = PASSWORD_OF};
    if (wire_url_read(url, bytes_unconst(&t->arena), o, &e) != OK) {
        return tool_fail(TOOL_WORDS, "the source: %s", e.text);
    }
    *database = -1;
    if (o->database != NULL) {
        if (!slice_to_u64(slice_str(o->database), &number) || number > UINT32_MAX) {
            return tool_fail(TOOL_WORDS, "the source's URL must name a database by number, or "
                                         "none for all");
        }
        *database = (int64_t)number;
    }
    o->cacert = tool_text(t, "--source-cacert");
    o->cert = tool_text(t, "--source-cert");
    o->key = tool_text(t, "--source-key");
    o->server_name = tool_text(t, "--source-tls-name");
    o->is_insecure = tool_has(t, "--source-insecure");
    bool has_tls = o->cacert != NULL || o->cert != NULL || o->key != NULL || o->is_insecure;
    if (has_tls && !o->is_tls) {
        return tool_fail(TOOL_WORDS, "TLS options for the source need a URL with TLS: rediss://");
    }
    return read_password(t, o);
}

/* ---- INFO ------------------------------------------------------------------------------------ */

/* Takes the next line. */
static bool info_line(struct slice *rest, struct slice *line)
{
    if (rest->len == 0) return false;
    const uint8_t *end = memchr(rest->data, '\n', rest->len);
    size_t len = end == NULL ? rest->len : (size_t)(end - rest->data);
    *line = slice_of(rest->data, len);
    *rest = slice_of(rest->data + len, rest->len - len);
    if (end != NULL) *rest = slice_of(rest->data + 1, rest->len - 1);
    if (line->len > 0 && line->data[line->len - 1] == '\r') line->len--;
    return true;
}

struct slice redis_info_get(struct slice info, const char *name)
{
    struct slice line;
    size_t len = strlen(name);
    while (info_line(&info, &line)) {
        if (line.len > len && line.data[len] == ':' && memcmp(line.data, name, len) == 0) {
            return slice_of(line.data + len + 1, line.len - len - 1);
        }
    }
    return slice_of("", 0);
}

/* Decimal digits at the start of s, taken off; false: there are none. */
static bool take_number(struct slice *s, uint64_t *out)
{
    size_t digits = 0;
    while (digits < s->len && s->data[digits] >= '0' && s->data[digits] <= '9') digits++;
    bool is_good = digits > 0 && slice_to_u64(slice_of(s->data, digits), out);
    *s = slice_of(s->data + digits, s->len - digits);
    return is_good;
}

/* Lines such as db3:keys=12,expires=0,avg_ttl=0 */
uint32_t *redis_databases(struct slice info, size_t *count, uint64_t *keys)
{
    struct slice line;
    uint32_t *all = NULL;
    *count = 0;
    *keys = 0;
    while (info_line(&info, &line)) {
        uint64_t number = 0;
        uint64_t has = 0;
        struct slice rest = slice_of(line.data + 2, line.len - 2);
        if (line.len < 3 || !slice_has_prefix(line, slice_str("db"))) continue;
        if (!take_number(&rest, &number) || !slice_has_prefix(rest, slice_str(":keys="))) continue;
        rest = slice_of(rest.data + 6, rest.len - 6);
        if (!take_number(&rest, &has) || has == 0) continue;
        all = mem_resize(all, (*count + 1) * sizeof *all);
        all[(*count)++] = (uint32_t)number;
        *keys += has;
    }
    return all;
}
