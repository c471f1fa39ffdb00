/* log_json: written into a buffer of fixed size. Before each character there is room kept for the
 * longest escape and the end of the line, so what is cut is still valid JSON. */
#include "base/log_json.h"

#include <stdio.h>

#include "base/clock.h"

#define ESCAPED_MAX 6 /* bytes that stand for one: \u001f */
#define TAIL_BYTES 4  /* "}\n and one to spare: kept free while a text is written */

struct out {
    char *at;
    char *end; /* of the room */
};

static const char *const level_names[] = {"debug", "verbose", "notice", "warning", "nothing"};

/* The bytes of the UTF-8 character at p; 0 = there is none. */
static size_t utf8_bytes(const unsigned char *p)
{
    unsigned lead = p[0];
    size_t n = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (n == 0 || lead > 0xf4) return 0;
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) return 0; /* also at the end of the text, a 0 */
    }
    if ((lead == 0xe0 && p[1] < 0xa0) || (lead == 0xed && p[1] > 0x9f)) return 0;
    if ((lead == 0xf0 && p[1] < 0x90) || (lead == 0xf4 && p[1] > 0x8f)) return 0;
    return n;
}

/* One character to at most ESCAPED_MAX bytes; returns how many of the text it took. */
static size_t out_character(struct out *o, const unsigned char *p)
{
    size_t n = utf8_bytes(p);
    if (n == 0) {
        memcpy(o->at, "\xef\xbf\xbd", 3);
        o->at += 3;
        return 1;
    }
    if (n == 1 && (*p < 0x20 || *p == 0x7f)) {
        o->at += snprintf(o->at, ESCAPED_MAX + 1, "\\u%04x", *p);
        return 1;
    }
    if (*p == '"' || *p == '\\') *o->at++ = '\\';
    memcpy(o->at, p, n);
    o->at += n;
    return n;
}

/* False: the end of the text did not fit. */
static bool out_string(struct out *o, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    *o->at++ = '"';
    while (*p != '\0' && o->end - o->at > ESCAPED_MAX + TAIL_BYTES) p += out_character(o, p);
    *o->at++ = '"';
    return *p == '\0';
}

/* A field is there whole or not at all. */
static void out_field(struct out *o, const struct log_field *f)
{
    char *before = o->at;
    size_t room = (size_t)(o->end - o->at);
    if (room < strlen(f->name) + 2 * (ESCAPED_MAX + TAIL_BYTES) + 24) return;
    o->at += snprintf(o->at, room, ",\"%s\":", f->name);
    if (f->text == NULL) {
        o->at += snprintf(o->at, (size_t)(o->end - o->at), "%lld", (long long)f->number);
    } else if (!out_string(o, f->text)) {
        o->at = before;
    }
}

size_t log_json(const struct log_json_line *line, char out[LOG_JSON_BYTES])
{
    struct out o = {.at = out, .end = out + LOG_JSON_BYTES};
    char time[CLOCK_UTC_BYTES];
    clock_format_utc(line->time_ms, time);
    o.at += snprintf(o.at, LOG_JSON_BYTES,
                     "{\"time\":\"%s\",\"level\":\"%s\",\"pid\":%d,\"message\":", time,
                     level_names[line->level], line->pid);
    (void)out_string(&o, line->text);
    for (size_t i = 0; i < line->count; i++) out_field(&o, &line->fields[i]);
    *o.at++ = '}';
    *o.at++ = '\n';
    return (size_t)(o.at - out);
}
