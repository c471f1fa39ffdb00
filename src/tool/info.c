/* info: a search through the lines of INFO each time: the text is short, and asked of seldom. */
#include "tool/info.h"

#include <stdlib.h>

bool info_line(struct slice *rest, struct slice *line)
{
    if (rest->len == 0) return false;
    const uint8_t *end = memchr(rest->data, '\n', rest->len);
    size_t len = end == NULL ? rest->len : (size_t)(end - rest->data);
    *line = slice_of(rest->data, len > 0 && rest->data[len - 1] == '\r' ? len - 1 : len);
    size_t used = end == NULL ? len : len + 1;
    *rest = slice_of(rest->data + used, rest->len - used);
    return true;
}

bool info_text(struct slice info, const char *name, struct slice *out)
{
    struct slice line;
    size_t len = strlen(name);
    while (info_line(&info, &line)) {
        if (line.len > len && line.data[len] == ':' && memcmp(line.data, name, len) == 0) {
            *out = slice_of(line.data + len + 1, line.len - len - 1);
            return true;
        }
    }
    return false;
}

int64_t info_i64(struct slice info, const char *name)
{
    struct slice text;
    int64_t value = 0;
    return info_text(info, name, &text) && slice_to_i64(text, &value) ? value : 0;
}

bool info_field(struct slice value, const char *field, double *out)
{
    size_t len = strlen(field);
    while (value.len > 0) {
        const uint8_t *comma = memchr(value.data, ',', value.len);
        size_t part = comma == NULL ? value.len : (size_t)(comma - value.data);
        if (part > len + 1 && value.data[len] == '=' && memcmp(value.data, field, len) == 0) {
            char text[64];
            size_t digits = part - len - 1 < sizeof text - 1 ? part - len - 1 : sizeof text - 1;
            memcpy(text, value.data + len + 1, digits);
            text[digits] = '\0';
            char *end = NULL;
            *out = strtod(text, &end);
            return end != text && *end == '\0';
        }
        size_t used = comma == NULL ? part : part + 1;
        value = slice_of(value.data + used, value.len - used);
    }
    return false;
}
