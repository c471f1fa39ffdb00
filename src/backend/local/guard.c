/* guard: notices when files of a running server are removed or replaced. What is acknowledged would
 * then be written to files that cannot be found again, or another server could start on the
 * directory: the server stops and says why.
 */
#include "backend/local/file_journal_int.h"
#include "base/clock.h"
#include "base/file.h"

#define EVERY_US 500000

static bool is_there(struct file_journal *j, const char *name, int fd)
{
    struct buf path;
    buf_init(&path);
    buf_printf(&path, "%s/%s", j->dir, name);
    buf_append_byte(&path, '\0');
    buf_require(&path);
    bool is_same = file_is_at((char *)path.data, fd);
    buf_fini(&path);
    return is_same;
}

static void stop(struct file_journal *j, const char *name)
{
    struct error e;
    j->is_guarded = true; /* logged once */
    (void)error_set(
        &e, ERR_IO,
        "%s/%s was removed or replaced while the server was running; data written now would be "
        "lost",
        j->dir, name);
    j->base.owner.on_fatal(&j->base, &e);
}

void guard_tick(struct file_journal *j)
{
    char name[64];
    int64_t now_us = clock_mono_us();
    if (j->is_guarded || now_us - j->guarded_us < EVERY_US) return;
    j->guarded_us = now_us;
    int journal_fd = journal_current(j, name, sizeof name);
    if (!is_there(j, "LOCK", j->options.lock_fd)) {
        stop(j, "LOCK");
    } else if (!is_there(j, "tupled.db", j->options.store_fd)) {
        stop(j, "tupled.db");
    } else if (journal_fd >= 0 && !is_there(j, name, journal_fd)) {
        stop(j, name);
    }
}
