/* guard: notices when files of a running server are removed or replaced. What is acknowledged would
 * then be written to files that nobody finds again, or another server could start on the directory:
 * the server stops and says why.
 */
#include "backend/local/local_int.h"
#include "base/clock.h"
#include "base/file.h"

#define EVERY_US 500000

static bool is_there(struct local *l, const char *name, int fd)
{
    struct buf path;
    buf_init(&path);
    buf_printf(&path, "%s/%s", l->dir, name);
    buf_append_byte(&path, '\0');
    buf_require(&path);
    bool is_same = file_is_at((char *)path.data, fd);
    buf_fini(&path);
    return is_same;
}

static void stop(struct local *l, const char *name)
{
    struct error e;
    l->is_guarded = true; /* logged once */
    (void)error_set(
        &e, ERR_IO,
        "%s/%s was removed or replaced while the server was running: what it writes now "
        "could not be found again",
        l->dir, name);
    l->options.on_fatal(l->options.arg, &e);
}

void local_guard_tick(struct local *l)
{
    char name[64];
    int64_t now_us = clock_mono_us();
    if (l->is_guarded || now_us - l->guarded_us < EVERY_US) return;
    l->guarded_us = now_us;
    int journal_fd = journal_current(l->journal, name, sizeof name);
    if (!is_there(l, "LOCK", l->lock_fd)) {
        stop(l, "LOCK");
    } else if (!is_there(l, "tupled.db", store_fd(l->store))) {
        stop(l, "tupled.db");
    } else if (journal_fd >= 0 && !is_there(l, name, journal_fd)) {
        stop(l, name);
    }
}
