/* export_out: bytes gather in `pending` and are written a megabyte at a time; the digest is of what
 * was written. The file is called <path>.partial until export_out_finish. */
#include "tool/export_out.h"

#include <stdio.h>

#define EXPORT_OUT_PENDING (1u << 20)
#define EXPORT_OUT_KEPT (4u << 20)

static enum tool_status out_said(enum err r, const struct error *e)
{
    return r == OK ? TOOL_DONE : tool_fail(TOOL_NO, "%s", e->text);
}

enum tool_status export_out_open(struct export_out *o, const char *path)
{
    struct error e;
    *o = (struct export_out){.file = {.fd = -1}, .path = path};
    buf_init(&o->temporary);
    buf_init(&o->pending);
    o->digest = XXH3_createState();
    if (o->digest == NULL) die("no memory");
    XXH3_128bits_reset(o->digest);
    if (path == NULL) return TOOL_DONE;
    buf_printf(&o->temporary, "%s.partial", path);
    buf_append_byte(&o->temporary, '\0');
    buf_require(&o->temporary);
    return out_said(file_open(&o->file, (const char *)o->temporary.data, FILE_WRITE_NEW, &e), &e);
}

enum tool_status export_out_flush(struct export_out *o, bool is_all)
{
    struct error e;
    struct slice bytes = buf_slice(&o->pending);
    enum tool_status s = TOOL_DONE;
    if (o->pending.is_failed) return tool_fail(TOOL_NO, "out of memory for a record");
    size_t enough = is_all ? 1 : o->is_held ? EXPORT_OUT_HELD : EXPORT_OUT_PENDING;
    if (bytes.len < enough) return TOOL_DONE;
    XXH3_128bits_update(o->digest, bytes.data, bytes.len);
    if (o->path != NULL) {
        s = out_said(file_write_at(&o->file, o->bytes, bytes, &e), &e);
    } else if (fwrite(bytes.data, 1, bytes.len, stdout) != bytes.len || fflush(stdout) != 0) {
        s = tool_fail(TOOL_NO, "cannot write to standard output");
    }
    o->bytes += bytes.len;
    buf_clear(&o->pending, EXPORT_OUT_KEPT);
    return s;
}

enum tool_status export_out_again(struct export_out *o)
{
    struct error e;
    buf_clear(&o->pending, EXPORT_OUT_KEPT);
    o->bytes = 0;
    XXH3_128bits_reset(o->digest);
    return out_said(file_truncate(&o->file, 0, &e), &e);
}

void export_digest_text(const XXH3_state_t *state, char out[EXPORT_DIGEST_CHARS + 1])
{
    XXH128_hash_t h = XXH3_128bits_digest(state);
    snprintf(out, EXPORT_DIGEST_CHARS + 1, "%016llx%016llx", (unsigned long long)h.high64,
             (unsigned long long)h.low64);
}

enum tool_status export_out_digest(struct export_out *o, char out[EXPORT_DIGEST_CHARS + 1])
{
    enum tool_status s = export_out_flush(o, true);
    export_digest_text(o->digest, out);
    return s;
}

enum tool_status export_out_finish(struct export_out *o)
{
    struct error e;
    enum tool_status s = export_out_flush(o, true);
    if (s != TOOL_DONE || o->path == NULL) return s;
    enum err r = file_sync(&o->file, &e);
    if (r == OK) r = file_rename((const char *)o->temporary.data, o->path, &e);
    if (r == OK) o->path = NULL;
    return out_said(r, &e);
}

void export_out_close(struct export_out *o)
{
    struct error e;
    bool is_left = o->path != NULL && o->file.fd >= 0;
    file_close(&o->file);
    if (is_left && file_remove((const char *)o->temporary.data, &e) != OK) {
        tool_fail(TOOL_NO, "%s", e.text);
    }
    XXH3_freeState(o->digest);
    buf_fini(&o->temporary);
    buf_fini(&o->pending);
}
