/* message: methods and reasons, names and lists of headers, targets and their parameters. Slices
 * point into the request; only what is percent-decoded is copied. */
#include "http/message.h"

#include <strings.h>

#include "codec/utf8.h"

enum http_method http_method_of(struct slice text)
{
    static const struct {
        const char *name;
        enum http_method method;
    } known[] = {{"GET", HTTP_GET}, {"HEAD", HTTP_HEAD},     {"POST", HTTP_POST},
                 {"PUT", HTTP_PUT}, {"DELETE", HTTP_DELETE}, {"OPTIONS", HTTP_OPTIONS}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (slice_eq(text, slice_str(known[i].name))) return known[i].method;
    }
    return HTTP_OTHER;
}

static bool is_named(struct slice name, const char *wanted)
{
    return name.len == strlen(wanted) &&
           strncasecmp((const char *)name.data, wanted, name.len) == 0;
}

struct slice http_header(const struct http_message *m, const char *name)
{
    for (size_t i = 0; i < m->header_count; i++) {
        if (is_named(m->headers[i].name, name)) return m->headers[i].value;
    }
    return slice_of(NULL, 0);
}

struct slice http_header_before(const struct http_message *m, const char *name, size_t *at)
{
    while (*at > 0) {
        --*at;
        if (is_named(m->headers[*at].name, name)) return m->headers[*at].value;
    }
    return slice_of(NULL, 0);
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}

struct slice http_trim(struct slice text)
{
    while (text.len > 0 && is_blank(text.data[0])) text = slice_of(text.data + 1, text.len - 1);
    while (text.len > 0 && is_blank(text.data[text.len - 1])) text.len--;
    return text;
}

/* "0.25" in thousandths; what is no number is 1, as if it were not there. */
static int weight_read(struct slice text)
{
    int unit = 100;
    int weight = 0;
    if (text.len == 0 || text.data[0] != '0') return 1000;
    for (size_t i = 1; i < text.len; i++) {
        bool is_point = i == 1 && text.data[i] == '.';
        if (!is_point && (text.data[i] < '0' || text.data[i] > '9')) return 1000;
        if (is_point) continue;
        weight += (text.data[i] - '0') * unit;
        unit /= 10;
    }
    return weight;
}

/* What is before the next `mark`, without blanks around; *rest is what follows it. */
static struct slice list_item(struct slice *rest, char mark)
{
    const uint8_t *end = memchr(rest->data, mark, rest->len);
    size_t len = end == NULL ? rest->len : (size_t)(end - rest->data);
    struct slice item = http_trim(slice_of(rest->data, len));
    size_t used = len + (end != NULL);
    *rest = slice_of(rest->data + used, rest->len - used);
    return item;
}

int http_list_weight(struct slice list, const char *word)
{
    int best = -1;
    while (list.len > 0) {
        struct slice item = list_item(&list, ',');
        struct slice name = item.len > 0 ? list_item(&item, ';') : item;
        int weight = 1000;
        if (!is_named(name, word)) continue;
        while (item.len > 0) {
            struct slice p = list_item(&item, ';');
            if (p.len < 3 || (p.data[0] | 0x20) != 'q' || p.data[1] != '=') continue;
            weight = weight_read(slice_of(p.data + 2, p.len - 2));
        }
        if (weight > best) best = weight;
    }
    return best;
}

bool http_list_has(struct slice list, const char *word)
{
    return http_list_weight(list, word) > 0;
}

bool http_is_token(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        bool is_alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_alnum && (c == 0 || strchr("!#$%&'*+-.^_`|~", c) == NULL)) return false;
    }
    return text.len > 0;
}

bool http_is_value(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f) return false;
    }
    return true;
}

bool http_split_target(struct slice target, struct http_message *out)
{
    if (target.len == 0 || target.data[0] != '/') return false;
    for (size_t i = 0; i < target.len; i++) {
        if (target.data[i] <= 0x20 || target.data[i] >= 0x7f || target.data[i] == '#') return false;
    }
    const uint8_t *mark = memchr(target.data, '?', target.len);
    out->path = target;
    out->query = slice_of(NULL, 0);
    if (mark == NULL) return true;
    out->path.len = (size_t)(mark - target.data);
    out->query = slice_of(mark + 1, target.len - out->path.len - 1);
    return true;
}

static int hex(uint8_t c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool http_decode(struct slice raw, bool is_form, struct arena *arena, struct slice *out)
{
    uint8_t *to = arena_alloc(arena, raw.len);
    size_t len = 0;
    for (size_t i = 0; i < raw.len; i++) {
        uint8_t c = raw.data[i];
        if (c == '%') {
            if (raw.len - i < 3 || hex(raw.data[i + 1]) < 0 || hex(raw.data[i + 2]) < 0)
                return false;
            c = (uint8_t)(hex(raw.data[i + 1]) * 16 + hex(raw.data[i + 2]));
            i += 2;
        } else if (is_form && c == '+') {
            c = ' ';
        }
        if (c == 0) return false;
        to[len++] = c;
    }
    *out = slice_of(to, len);
    return utf8_valid_bytes(*out) == len;
}

struct slice http_path_part(struct slice *rest)
{
    struct slice part = slice_of(rest->data + 1, rest->len - 1);
    const uint8_t *slash = part.len == 0 ? NULL : memchr(part.data, '/', part.len);
    if (slash != NULL) part.len = (size_t)(slash - part.data);
    *rest = slice_of(rest->data + 1 + part.len, rest->len - 1 - part.len);
    return part;
}

bool http_query_next(struct slice *rest, struct slice *name, struct slice *value)
{
    while (rest->len > 0 && rest->data[0] == '&') *rest = slice_of(rest->data + 1, rest->len - 1);
    if (rest->len == 0) return false;
    const uint8_t *amp = memchr(rest->data, '&', rest->len);
    *name = *rest;
    if (amp != NULL) name->len = (size_t)(amp - rest->data);
    *rest = slice_of(rest->data + name->len, rest->len - name->len);
    const uint8_t *equals = memchr(name->data, '=', name->len);
    *value = slice_of(NULL, 0);
    if (equals == NULL) return true;
    size_t len = (size_t)(equals - name->data);
    *value = slice_of(equals + 1, name->len - len - 1);
    name->len = len;
    return true;
}

int http_query_value(struct slice query, const char *name, struct arena *arena, struct slice *out)
{
    struct slice key;
    struct slice value;
    while (http_query_next(&query, &key, &value)) {
        if (slice_eq(key, slice_str(name))) return http_decode(value, true, arena, out) ? 1 : -1;
    }
    return 0;
}

const char *http_reason(int status)
{
    static const struct {
        int status;
        const char *text;
    } reasons[] = {{200, "OK"},
                   {204, "No Content"},
                   {301, "Moved Permanently"},
                   {304, "Not Modified"},
                   {400, "Bad Request"},
                   {401, "Unauthorized"},
                   {403, "Forbidden"},
                   {404, "Not Found"},
                   {405, "Method Not Allowed"},
                   {406, "Not Acceptable"},
                   {408, "Request Timeout"},
                   {409, "Conflict"},
                   {410, "Gone"},
                   {412, "Precondition Failed"},
                   {413, "Content Too Large"},
                   {414, "URI Too Long"},
                   {415, "Unsupported Media Type"},
                   {417, "Expectation Failed"},
                   {421, "Misdirected Request"},
                   {429, "Too Many Requests"},
                   {431, "Request Header Fields Too Large"},
                   {500, "Internal Server Error"},
                   {501, "Not Implemented"},
                   {503, "Service Unavailable"},
                   {505, "HTTP Version Not Supported"},
                   {507, "Insufficient Storage"}};
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        if (reasons[i].status == status) return reasons[i].text;
    }
    return "";
}
