/* input: a buffer that grows until a record is whole, by as much as is in it, so that a long one is
 * looked at few times. Files are read by offset, standard input as it comes. */
#include "tool/input.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/hash.h"

#define INPUT_STEP (1u << 20)
#define INPUT_HEAD 4096             /* bytes by which an input is known */
#define INPUT_RECORD_MAX (1u << 30) /* longer is none */

static enum tool_status input_open_file(struct input *in, const char *path)
{
    struct error e;
    struct stat st;
    enum err r = file_open(&in->file, path, FILE_READ, &e);
    if (r == OK) r = file_size(&in->file, &in->size, &e);
    if (r != OK) return tool_fail(TOOL_NO, "%s", e.text);
    in->is_file = fstat(in->file.fd, &st) == 0 && S_ISREG(st.st_mode);
    if (in->is_file) return TOOL_DONE;
    return tool_fail(TOOL_NO, "%s is not a regular file; use - to read from a pipe", path);
}

enum tool_status input_open(struct input *in, const char *path)
{
    bool is_stdin = strcmp(path, "-") == 0;
    *in = (struct input){.file = {.fd = -1}, .path = is_stdin ? "standard input" : path};
    buf_init(&in->bytes);
    in->digest = XXH3_createState();
    if (in->digest == NULL) die("no memory");
    XXH3_128bits_reset(in->digest);
    enum tool_status s = is_stdin ? TOOL_DONE : input_open_file(in, path);
    while (s == TOOL_DONE && !in->is_end && in->bytes.len < INPUT_HEAD) s = input_more(in);
    size_t head = in->bytes.len < INPUT_HEAD ? in->bytes.len : INPUT_HEAD;
    in->head = checksum_bytes(slice_of(in->bytes.data, head));
    return s;
}

void input_close(struct input *in)
{
    file_close(&in->file);
    XXH3_freeState(in->digest);
    buf_fini(&in->bytes);
}

struct slice input_rest(const struct input *in)
{
    return slice_of(in->bytes.data + in->at, in->bytes.len - in->at);
}

/* As much as is there already, so that a long record is not looked at too often. */
enum tool_status input_more(struct input *in)
{
    size_t left = in->bytes.len - in->at;
    if (left > INPUT_RECORD_MAX) {
        return tool_fail(TOOL_NO, "%s: a record exceeds %u bytes", in->path, INPUT_RECORD_MAX);
    }
    if (in->at > 0) buf_shift(&in->bytes, in->at);
    in->at = 0;
    size_t want = left > INPUT_STEP ? left : INPUT_STEP;
    uint8_t *room = buf_reserve(&in->bytes, want);
    if (room == NULL) return tool_fail(TOOL_NO, "%s: out of memory for a record", in->path);
    size_t n = 0;
    if (in->is_file) {
        struct error e;
        uint64_t from = in->offset + left;
        n = in->size - from < want ? (size_t)(in->size - from) : want;
        if (n > 0 && file_read_at(&in->file, from, room, n, &e) != OK) {
            return tool_fail(TOOL_NO, "%s", e.text);
        }
    } else {
        n = fread(room, 1, want, stdin);
        if (ferror(stdin) != 0) return tool_fail(TOOL_NO, "cannot read standard input");
    }
    in->bytes.len += n;
    in->is_end = n == 0;
    return TOOL_DONE;
}

void input_take(struct input *in, size_t n)
{
    XXH3_128bits_update(in->digest, in->bytes.data + in->at, n);
    in->at += n;
    in->offset += n;
    in->searched = 0;
}

enum tool_status input_line(struct input *in, struct slice *line, size_t *taken)
{
    *line = slice_of(NULL, 0);
    for (;;) {
        struct slice rest = input_rest(in);
        const uint8_t *end = rest.len == in->searched
                                 ? NULL
                                 : memchr(rest.data + in->searched, '\n', rest.len - in->searched);
        if (end != NULL) {
            *line = slice_of(rest.data, (size_t)(end - rest.data));
            *taken = line->len + 1;
            return TOOL_DONE;
        }
        if (in->is_end) {
            if (rest.len > 0) *line = rest;
            *taken = rest.len;
            return TOOL_DONE;
        }
        in->searched = rest.len;
        enum tool_status s = input_more(in);
        if (s != TOOL_DONE) return s;
    }
}

enum tool_status input_pass(struct input *in, uint64_t offset)
{
    while (in->offset < offset) {
        uint64_t left = offset - in->offset;
        size_t there = input_rest(in).len;
        input_take(in, there < left ? there : (size_t)left);
        if (in->offset == offset) break;
        enum tool_status s = input_more(in);
        if (s != TOOL_DONE) return s;
        if (in->is_end) return tool_fail(TOOL_NO, "%s has become shorter", in->path);
    }
    return TOOL_DONE;
}

size_t input_tail(struct input *in, uint8_t *out, size_t len)
{
    size_t want = in->size < len ? (size_t)in->size : len;
    if (!in->is_file || want == 0) return 0;
    struct error e;
    return file_read_at(&in->file, in->size - want, out, want, &e) == OK ? want : 0;
}

void input_identity(const struct input *in, char out[SOURCE_PLACE_BYTES])
{
    snprintf(out, SOURCE_PLACE_BYTES, "size=%llu,head=%016llx", (unsigned long long)in->size,
             (unsigned long long)in->head);
}
