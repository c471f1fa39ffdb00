/* check: data directory or archive, and the parts of a check in their order, each of which is
 * another file (check_*.c). */
#include "offline/check.h"

#include "backend/local/file_journal.h"
#include "base/file.h"
#include "offline/check_int.h"

struct content {
    bool has_segment;
};

static void content_add(void *arg, const char *name)
{
    struct content *c = arg;
    uint64_t number = 0;
    if (journal_number(name, &number)) c->has_segment = true;
}

static enum err data_check(struct check *k, const char *store, struct error *e)
{
    enum err r = OK;
    if (file_exists(store)) {
        r = check_pages(k, store, "tupled.db", e);
    } else {
        check_say(k, CHECK_DAMAGE, "pages", "tupled.db", "it is missing, but its journal exists");
    }
    if (r == OK) r = check_journal(k, e);
    if (r == OK && !k->files_only && file_exists(store)) r = check_contents(k, e);
    return r;
}

/* The lock is only taken where there is one: looking at a copy of a directory must not make it. */
static enum err data_lock(const struct check *k, int *fd, struct error *e)
{
    struct buf path;
    enum err r = OK;
    buf_init(&path);
    check_path(&path, k->dir, "LOCK");
    *fd = -1;
    if (file_exists((char *)path.data)) r = file_lock((char *)path.data, fd, e);
    buf_fini(&path);
    if (r != ERR_LOCKED) return r;
    return error_set(e, ERR_LOCKED, "a server has %s open: stop it first, or use tupledctl verify",
                     k->dir);
}

enum err check_run(struct check *k, struct error *e)
{
    struct buf path;
    struct content content = {.has_segment = false};
    int fd = -1;
    buf_init(&path);
    enum err r = dir_list(k->dir, content_add, &content, e);
    check_path(&path, k->dir, "manifest");
    k->is_archive = file_exists((char *)path.data);
    check_path(&path, k->dir, "tupled.db");
    bool is_data = content.has_segment || file_exists((char *)path.data);
    if (r == OK && k->is_archive) {
        r = check_archive(k, e);
    } else if (r == OK && !is_data) {
        r = error_set(e, ERR_SYNTAX,
                      "%s is neither a data directory (no tupled.db) nor an archive (no manifest)",
                      k->dir);
    } else if (r == OK) {
        r = data_lock(k, &fd, e);
        if (r == OK) r = data_check(k, (char *)path.data, e);
        if (fd >= 0) file_unlock(fd);
    }
    buf_fini(&path);
    return r;
}
