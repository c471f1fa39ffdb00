/* line_file: the file is opened to append (O_APPEND), and each line is one write(2). A reopened
 * file replaces the old one only once it is open. */
#include "base/line_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

struct line_file {
    int fd;
    char path[]; /* NUL-ended */
};

static int open_path(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

enum err line_file_open(const char *path, struct line_file **out, struct error *e)
{
    size_t bytes = strlen(path) + 1;
    int fd = open_path(path);
    if (fd < 0) return error_set(e, ERR_IO, "cannot open %s: %s", path, strerror(errno));
    struct line_file *f = mem_alloc(sizeof *f + bytes);
    f->fd = fd;
    memcpy(f->path, path, bytes);
    *out = f;
    return OK;
}

void line_file_close(struct line_file *f)
{
    if (f == NULL) return;
    close(f->fd);
    mem_free(f);
}

enum err line_file_reopen(struct line_file *f, struct error *e)
{
    int fd = open_path(f->path);
    if (fd < 0) return error_set(e, ERR_IO, "cannot open %s: %s", f->path, strerror(errno));
    close(f->fd);
    f->fd = fd;
    return OK;
}

enum err line_file_append(struct line_file *f, struct slice line, struct error *e)
{
    ssize_t written = write(f->fd, line.data, line.len);
    if (written == (ssize_t)line.len) return OK;
    return error_set(e, ERR_IO, "cannot write to %s: %s", f->path,
                     written < 0 ? strerror(errno) : "no space");
}
