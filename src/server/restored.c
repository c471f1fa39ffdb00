/* restored: what `tupledctl restore` has left in the data directory for the server: is it a moment
 * of the past that may not be changed, are its queues held (offline/restore.h). */
#include "base/file.h"
#include "base/log.h"
#include "offline/restore.h"
#include "server/server_int.h"

#define FROZEN_BYTES_MAX 256

static void restored_path(const struct server *s, const char *name, struct buf *out)
{
    buf_printf(out, "%s/%s", s->config->dir, name);
    buf_append_byte(out, '\0');
    buf_require(out);
}

enum err restored_frozen(const struct server *s, int64_t *frozen_ms, struct error *e)
{
    struct buf path;
    struct buf text;
    uint64_t version = 0;
    enum err r = OK;
    *frozen_ms = 0;
    buf_init(&path);
    buf_init(&text);
    restored_path(s, RESTORE_FROZEN_FILE, &path);
    if (file_exists((char *)path.data)) {
        r = file_read_all((char *)path.data, &text, FROZEN_BYTES_MAX, e);
        struct slice rest = buf_slice(&text);
        struct slice line = slice_take(&rest, '\n');
        bool is_good = slice_to_u64(slice_take(&line, ' '), &version) &&
                       slice_to_i64(line, frozen_ms) && *frozen_ms > 0;
        if (r == OK && !is_good) {
            r = error_set(e, ERR_CORRUPT,
                          "%s is damaged: it must contain a version and a time in ms",
                          (char *)path.data);
        }
    }
    if (r == OK && *frozen_ms != 0) {
        log_notice("frozen: the data is as of version %016llx0000 and read-only; to open it for "
                   "writing, remove the file %s and start again",
                   (unsigned long long)version, (char *)path.data);
    }
    buf_fini(&path);
    buf_fini(&text);
    return r;
}

void restored_queues(const struct server *s)
{
    struct buf path;
    buf_init(&path);
    restored_path(s, RESTORE_HELD_FILE, &path);
    if (file_exists((char *)path.data)) {
        queues_hold(s->env.db->queues, true);
        log_notice("queues are on hold: no message is delivered until KV.QUEUE HOLD NO");
    }
    buf_fini(&path);
}

enum err restored_hold(void *server, bool is_held, struct error *e)
{
    const struct server *s = server;
    struct buf path;
    enum err r = OK;
    buf_init(&path);
    restored_path(s, RESTORE_HELD_FILE, &path);
    const char *name = (const char *)path.data;
    if (is_held) {
        r = file_write_all(name, slice_of(NULL, 0), e);
    } else if (file_exists(name)) {
        r = file_remove(name, e);
        if (r == OK) r = dir_sync(s->config->dir, e);
    }
    buf_fini(&path);
    return r;
}
