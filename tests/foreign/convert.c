/* convert: what src/foreign makes of values of V8, and msgpackr.h of msgpackr's, for tests in other
 * languages. Lines on standard input:
 *
 *   <from> <to> <hex>      from: v8, records, maps, json (hex of its text); to: those, or value
 *
 * and one line for each: the result in hex, or "ERR <text>". Ends at the end of input. Each value is
 * checked on its way (value_check); "BROKEN <text>" when it does not pass. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/value.h"
#include "foreign/msgpackr.h"
#include "foreign/v8.h"

#define BYTES_MAX ((size_t)64 << 20)

static int digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c != '\0' ? strchr(digits, c) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

static bool hex_read(const char *hex, struct buf *out)
{
    out->len = 0;
    for (; hex[0] != '\0' && hex[0] != '\n'; hex += 2) {
        int high = digit(hex[0]), low = high >= 0 ? digit(hex[1]) : -1;
        if (low < 0) return false;
        buf_append_byte(out, (uint8_t)(high * 16 + low));
    }
    return true;
}

static enum err take(const char *form, struct slice in, struct buf *value, struct error *e)
{
    if (strcmp(form, "v8") == 0) return v8_to_value(in, value, e);
    if (strcmp(form, "json") == 0) return value_from_json(in, NULL, value, e);
    bool is_maps = strcmp(form, "maps") == 0;
    return msgpackr_to_value(in, is_maps ? MSGPACKR_MAPS : MSGPACKR_RECORDS, BYTES_MAX, value, e);
}

static enum err give(const char *form, struct slice value, struct buf *out, struct error *e)
{
    if (strcmp(form, "v8") == 0) return value_to_v8(value, out, e);
    if (strcmp(form, "json") == 0) {
        value_to_json(value, out);
    } else if (strcmp(form, "value") == 0) {
        buf_append(out, value.data, value.len);
    } else {
        bool is_maps = strcmp(form, "maps") == 0;
        value_to_msgpackr(value, is_maps ? MSGPACKR_MAPS : MSGPACKR_RECORDS, out);
    }
    return OK;
}

static void convert(const char *from, const char *to, struct slice in)
{
    struct buf value, out;
    struct error e = {0};
    buf_init(&value);
    buf_init(&out);
    enum err err = take(from, in, &value, &e);
    if (err == OK && value_check(buf_slice(&value), &e) != OK) {
        printf("BROKEN %s\n", e.text);
    } else if (err != OK || give(to, buf_slice(&value), &out, &e) != OK) {
        printf("ERR %s\n", e.text);
    } else {
        for (size_t i = 0; i < out.len; i++) printf("%02x", out.data[i]);
        printf("\n");
    }
    buf_fini(&value);
    buf_fini(&out);
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    struct buf in;
    buf_init(&in);
    while (getline(&line, &room, stdin) > 0) {
        char from[16], to[16];
        int used = 0;
        if (sscanf(line, "%15s %15s %n", from, to, &used) != 2 || !hex_read(line + used, &in)) {
            fprintf(stderr, "convert: not a line: %s", line);
            return 2;
        }
        convert(from, to, buf_slice(&in));
    }
    free(line);
    buf_fini(&in);
    return 0;
}
