#include "offline/check.h"

#include <stdarg.h>
#include <stdio.h>

#include "backend/local/file_journal.h"
#include "base/file.h"
#include "offline/check_int.h"

void check_path(struct buf *out, const char *dir, const char *name)
{
    buf_clear(out, SIZE_MAX);
    buf_printf(out, "%s/%s", dir, name);
    buf_append_byte(out, '\0');
    buf_require(out);
}

void check_say(struct check *k, enum check_kind kind, const char *part, const char *place,
               const char *format, ...)
{
    char text[ERROR_TEXT_BYTES];
    struct check_line line = {.kind = kind, .part = part, .place = place, .text = text};
    uint64_t *count = kind == CHECK_DAMAGE ? &k->damaged : &k->notes;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (++*count <= CHECK_LINES_MAX) k->found(k->arg, &line);
}

void check_progress(const struct check *k, const char *part, uint64_t done, uint64_t total)
{
    if (k->progress != NULL) k->progress(k->arg, part, done, total);
}

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
        check_say(k, CHECK_DAMAGE, "pages", "tupled.db", "it is missing, but its journal is there");
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
    return error_set(e, ERR_LOCKED,
                     "a server has %s open: stop it first, or let it look itself: tupledctl verify",
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
                      "%s is no data directory, which has a tupled.db, and no archive, which has a "
                      "manifest",
                      k->dir);
    } else if (r == OK) {
        r = data_lock(k, &fd, e);
        if (r == OK) r = data_check(k, (char *)path.data, e);
        if (fd >= 0) file_unlock(fd);
    }
    buf_fini(&path);
    return r;
}
