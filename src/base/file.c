/* file: see file.h. A file that is replaced as a whole is written beside (path.tmp), synced,
 * renamed, and then its directory is synced: this order is what makes it atomic. Descriptors that
 * stay open are noted at the host, which closes them should it break. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/host.h"
#include "base/mem.h"

#define READ_CHUNK_BYTES 4096
#define LOCK_STEP_NS 50000000

void file_set_observer(const struct file_observer *observer)
{
    struct host *h = host_used();
    INVARIANT(h != NULL);
    h->files = observer;
}

static enum err file_error(struct error *e, const char *what, const char *path, int code)
{
    enum err kind = code == ENOSPC || code == EDQUOT ? ERR_DISK_FULL : ERR_IO;
    return error_set(e, kind, "cannot %s %s: %s", what, path, strerror(code));
}

/* The host of the thread notes what is open, for the case that it breaks. */
static enum err file_note(int *fd, const char *path, struct error *e)
{
    if (host_note_fd(*fd)) return OK;
    close(*fd);
    *fd = -1;
    return error_set(e, ERR_NOMEM, "cannot open %s: out of memory", path);
}

static void file_end(int fd)
{
    host_forget_fd(fd);
    close(fd);
}

/* The descriptor becomes the file's. */
static enum err file_take(struct file *f, int fd, const char *path, struct error *e)
{
    size_t len = strlen(path) + 1;
    enum err r = file_note(&fd, path, e);
    if (r != OK) return r;
    f->fd = fd;
    f->path = memcpy(mem_alloc(len), path, len);
    return OK;
}

static int file_flags(enum file_mode mode)
{
    switch (mode) {
    case FILE_READ: return O_RDONLY;
    case FILE_WRITE_NEW: return O_RDWR | O_CREAT | O_TRUNC;
    case FILE_WRITE_OLD: return O_RDWR;
    }
    return O_RDONLY;
}

enum err file_open(struct file *f, const char *path, enum file_mode mode, struct error *e)
{
    f->fd = -1;
    f->path = NULL;
    if (fault_hit("file.open")) return file_error(e, "open", path, EIO);
    int fd = open(path, file_flags(mode) | O_CLOEXEC, 0644);
    if (fd < 0) return file_error(e, "open", path, errno);
    return file_take(f, fd, path, e);
}

void file_close(struct file *f)
{
    if (f->path == NULL) return;
    if (f->fd >= 0) file_end(f->fd);
    mem_free(f->path);
    f->fd = -1;
    f->path = NULL;
}

enum err file_write_at(struct file *f, uint64_t offset, struct slice bytes, struct error *e)
{
    if (fault_hit("file.write")) return file_error(e, "write", f->path, EIO);
    const struct file_observer *observer = host_mine->files;
    if (observer != NULL) observer->before_write(observer->arg, f->path, offset, bytes);
    while (bytes.len > 0) {
        ssize_t n = pwrite(f->fd, bytes.data, bytes.len, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return file_error(e, "write", f->path, errno);
        bytes = slice_of(bytes.data + n, bytes.len - (size_t)n);
        offset += (uint64_t)n;
    }
    return OK;
}

enum err file_read_at(struct file *f, uint64_t offset, void *out, size_t len, struct error *e)
{
    if (fault_hit("file.read")) return file_error(e, "read", f->path, EIO);
    uint8_t *p = out;
    while (len > 0) {
        ssize_t n = pread(f->fd, p, len, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return file_error(e, "read", f->path, errno);
        if (n == 0) {
            return error_set(e, ERR_IO, "cannot read %s: it ends at offset %llu", f->path,
                             (unsigned long long)offset);
        }
        p += n;
        len -= (size_t)n;
        offset += (uint64_t)n;
    }
    return OK;
}

enum err file_size(struct file *f, uint64_t *bytes, struct error *e)
{
    struct stat st;
    if (fstat(f->fd, &st) != 0) return file_error(e, "stat", f->path, errno);
    *bytes = (uint64_t)st.st_size;
    return OK;
}

enum err file_reserve(struct file *f, uint64_t bytes, struct error *e)
{
    if (fault_hit("file.reserve")) return file_error(e, "reserve space for", f->path, ENOSPC);
    int code = posix_fallocate(f->fd, 0, (off_t)bytes);
    if (code != 0) return file_error(e, "reserve space for", f->path, code);
    return OK;
}

void file_flush_range(struct file *f, uint64_t offset, uint64_t bytes)
{
    unsigned flags = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                     SYNC_FILE_RANGE_WAIT_AFTER;
    (void)sync_file_range(f->fd, (off_t)offset, (off_t)bytes, flags);
}

enum err file_sync(struct file *f, struct error *e)
{
    if (fault_hit("file.sync")) return file_error(e, "sync", f->path, EIO);
    unsigned delay_ms = fault_sync_delay_ms();
    if (delay_ms > 0) usleep(delay_ms * 1000);
    if (fdatasync(f->fd) != 0) return file_error(e, "sync", f->path, errno);
    const struct file_observer *observer = host_mine->files;
    if (observer != NULL) observer->after_sync(observer->arg, f->path);
    return OK;
}

bool file_open_direct(struct file *f, const char *path)
{
    struct error ignored;
    f->fd = -1;
    f->path = NULL;
    int fd = open(path, O_WRONLY | O_DIRECT | O_CLOEXEC);
    return fd >= 0 && file_take(f, fd, path, &ignored) == OK;
}

/* False: *code says why. */
static bool write_blocks(int fd, uint64_t offset, struct slice blocks, int *code)
{
    while (blocks.len > 0) {
        struct iovec part = {.iov_base = bytes_unconst(blocks.data), .iov_len = blocks.len};
        ssize_t n = pwritev2(fd, &part, 1, (off_t)offset, RWF_DSYNC);
        if (n < 0 && errno == EINTR) continue;
        *code = n < 0 ? errno : EINVAL;
        if (n < 0 || n % FILE_BLOCK_BYTES != 0) return false;
        blocks = slice_of(blocks.data + n, blocks.len - (size_t)n);
        offset += (uint64_t)n;
    }
    return true;
}

enum err file_write_direct(struct file *f, uint64_t offset, struct slice blocks, bool *is_refused,
                           struct error *e)
{
    const struct file_observer *observer = host_mine->files;
    unsigned delay_ms = fault_sync_delay_ms();
    int code = 0;
    *is_refused = false;
    INVARIANT(offset % FILE_BLOCK_BYTES == 0 && blocks.len % FILE_BLOCK_BYTES == 0);
    INVARIANT((uintptr_t)blocks.data % FILE_BLOCK_BYTES == 0);
    if (fault_hit("file.write")) return file_error(e, "write", f->path, EIO);
    if (observer != NULL) observer->before_write(observer->arg, f->path, offset, blocks);
    if (delay_ms > 0) usleep(delay_ms * 1000);
    if (!write_blocks(f->fd, offset, blocks, &code)) {
        *is_refused = code == EINVAL || code == EOPNOTSUPP || code == ENOSYS;
        return *is_refused ? OK : file_error(e, "write", f->path, code);
    }
    if (fault_hit("file.sync")) return file_error(e, "sync", f->path, EIO);
    if (observer != NULL) observer->after_sync(observer->arg, f->path);
    return OK;
}

enum err file_truncate(struct file *f, uint64_t bytes, struct error *e)
{
    if (fault_hit("file.truncate")) return file_error(e, "truncate", f->path, EIO);
    if (ftruncate(f->fd, (off_t)bytes) != 0) return file_error(e, "truncate", f->path, errno);
    return OK;
}

int file_in_memory(const char *name, struct slice bytes)
{
    int fd = memfd_create(name, 0);
    while (fd >= 0 && bytes.len > 0) {
        ssize_t n = write(fd, bytes.data, bytes.len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            close(fd);
            return -1;
        }
        bytes = slice_of(bytes.data + n, bytes.len - (size_t)n);
    }
    return fd;
}

/* To the end and not to the size: files of /proc and pipes have none. */
enum err file_read_all(const char *path, struct buf *out, size_t bytes_max, struct error *e)
{
    struct file f;
    size_t from = out->len;
    enum err r = file_open(&f, path, FILE_READ, e);
    if (r != OK) return r;
    for (;;) {
        uint8_t *p = buf_reserve(out, READ_CHUNK_BYTES);
        if (p == NULL) {
            r = error_set(e, ERR_NOMEM, "out of memory to read %s", path);
            break;
        }
        ssize_t n = fault_hit("file.read") ? -1 : read(f.fd, p, READ_CHUNK_BYTES);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) r = file_error(e, "read", path, errno);
        if (n <= 0) break;
        out->len += (size_t)n;
        if (out->len - from > bytes_max) {
            r = error_set(e, ERR_LIMIT, "%s is larger than %zu bytes", path, bytes_max);
            break;
        }
    }
    if (r != OK) out->len = from;
    file_close(&f);
    return r;
}

/* Of the directory that the path is in. */
static enum err sync_parent(const char *path, struct error *e)
{
    const char *slash = strrchr(path, '/');
    struct buf parent;
    if (slash == NULL) return dir_sync(".", e);
    buf_init(&parent);
    buf_append(&parent, path, slash == path ? 1 : (size_t)(slash - path));
    buf_append_byte(&parent, '\0');
    enum err r = parent.is_failed
                     ? error_set(e, ERR_NOMEM, "cannot sync the directory of %s: out of memory",
                                 path)
                     : dir_sync((char *)parent.data, e);
    buf_fini(&parent);
    return r;
}

/* By way of path.tmp, which gets these permissions; 0 = what the umask leaves. */
static enum err write_beside(const char *path, struct slice bytes, mode_t mode, struct error *e)
{
    struct buf tmp;
    struct file f = {.fd = -1};
    buf_init(&tmp);
    buf_printf(&tmp, "%s.tmp", path);
    buf_append_byte(&tmp, '\0');
    enum err r = OK;
    if (tmp.is_failed) r = error_set(e, ERR_NOMEM, "cannot write %s: out of memory", path);
    if (r == OK) r = file_open(&f, (char *)tmp.data, FILE_WRITE_NEW, e);
    bool has_tmp = r == OK;
    if (r == OK && mode != 0 && fchmod(f.fd, mode) != 0) r = file_error(e, "chmod", f.path, errno);
    if (r == OK) r = file_write_at(&f, 0, bytes, e);
    if (r == OK) r = file_sync(&f, e);
    if (r == OK) r = file_rename((char *)tmp.data, path, e);
    if (r != OK && has_tmp) unlink((char *)tmp.data);
    if (r == OK) r = sync_parent(path, e);
    file_close(&f);
    buf_fini(&tmp);
    return r;
}

enum err file_write_all(const char *path, struct slice bytes, struct error *e)
{
    return write_beside(path, bytes, 0, e);
}

enum err file_rewrite_all(const char *path, struct slice bytes, struct error *e)
{
    struct stat st;
    char real[PATH_MAX];
    if (realpath(path, real) == NULL || stat(real, &st) != 0) {
        return file_error(e, "write", path, errno);
    }
    /* The superuser may write everything; a file without any w is meant to stay as it is. */
    bool is_writable = (st.st_mode & 0222) != 0;
    if (!is_writable || access(real, W_OK) != 0) {
        return file_error(e, "write", path, is_writable ? errno : EACCES);
    }
    return write_beside(real, bytes, st.st_mode & 07777, e);
}

enum file_kind file_kind_of(const char *path, uint64_t *inode)
{
    struct stat st;
    if (lstat(path, &st) != 0) return FILE_KIND_NONE;
    if (inode != NULL) *inode = (uint64_t)st.st_ino;
    return S_ISSOCK(st.st_mode) ? FILE_KIND_SOCKET : FILE_KIND_OTHER;
}

uint64_t file_stamp(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) return 0;
    const uint64_t parts[] = {(uint64_t)st.st_dev,          (uint64_t)st.st_ino,
                              (uint64_t)st.st_size,         (uint64_t)st.st_mtim.tv_sec,
                              (uint64_t)st.st_mtim.tv_nsec, (uint64_t)st.st_ctim.tv_sec,
                              (uint64_t)st.st_ctim.tv_nsec};
    uint64_t sum = 1469598103934665603U; /* FNV-1a */
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        sum = (sum ^ parts[i]) * 1099511628211U;
        sum ^= sum >> 29;
    }
    return sum != 0 ? sum : 1;
}

bool file_is_at(const char *path, int fd)
{
    struct stat there;
    struct stat open_one;
    if (stat(path, &there) != 0 || fstat(fd, &open_one) != 0) return false;
    return there.st_dev == open_one.st_dev && there.st_ino == open_one.st_ino;
}

bool file_is_open_to_others(const char *path, bool with_group)
{
    struct stat st;
    if (stat(path, &st) != 0) return false;
    return (st.st_mode & (with_group ? 0007 : 0077)) != 0;
}

enum err file_chmod(const char *path, unsigned mode, struct error *e)
{
    if (chmod(path, (mode_t)mode) != 0) return file_error(e, "chmod", path, errno);
    return OK;
}

bool file_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

enum err file_rename(const char *from, const char *to, struct error *e)
{
    if (fault_hit("file.rename")) return file_error(e, "rename", from, EIO);
    if (rename(from, to) != 0) return file_error(e, "rename", from, errno);
    return OK;
}

enum err file_rename_synced(const char *from, const char *to, struct error *e)
{
    enum err r = file_rename(from, to, e);
    return r == OK ? sync_parent(to, e) : r;
}

enum err file_remove(const char *path, struct error *e)
{
    if (fault_hit("file.remove")) return file_error(e, "remove", path, EIO);
    if (unlink(path) != 0 && errno != ENOENT) return file_error(e, "remove", path, errno);
    return OK;
}

enum err dir_make(const char *path, struct error *e)
{
    struct stat st;
    if (mkdir(path, 0755) == 0) return OK;
    int code = errno;
    if (code == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) return OK;
    return file_error(e, "make directory", path, code);
}

enum err dir_make_unique(char *path, struct error *e)
{
    if (fault_hit("file.mkdtemp")) return file_error(e, "make directory", path, EIO);
    return mkdtemp(path) != NULL ? OK : file_error(e, "make directory", path, errno);
}

struct removing {
    const char *dir;
    enum err result;
    struct error *error;
};

static void remove_one(void *arg, const char *name)
{
    struct removing *x = arg;
    struct buf path;
    if (x->result != OK || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return;
    buf_init(&path);
    buf_printf(&path, "%s/%s", x->dir, name);
    buf_append_byte(&path, '\0');
    buf_require(&path);
    x->result = file_remove((char *)path.data, x->error);
    buf_fini(&path);
}

enum err dir_remove(const char *path, struct error *e)
{
    struct removing x = {.dir = path, .result = OK, .error = e};
    if (!file_exists(path)) return OK;
    enum err r = dir_list(path, remove_one, &x, e);
    if (r == OK) r = x.result;
    if (r == OK && rmdir(path) != 0) return file_error(e, "remove directory", path, errno);
    return r;
}

enum err dir_sync(const char *path, struct error *e)
{
    if (fault_hit("file.dirsync")) return file_error(e, "sync directory", path, EIO);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return file_error(e, "open directory", path, errno);
    int rc = fsync(fd);
    int code = errno;
    close(fd);
    return rc == 0 ? OK : file_error(e, "sync directory", path, code);
}

enum err dir_list(const char *path, void (*each)(void *arg, const char *name), void *arg,
                  struct error *e)
{
    DIR *d = opendir(path);
    if (d == NULL) return file_error(e, "open directory", path, errno);
    if (!host_note_fd(dirfd(d))) {
        closedir(d);
        return error_set(e, ERR_NOMEM, "cannot open %s: out of memory", path);
    }
    for (struct dirent *entry = readdir(d); entry != NULL; entry = readdir(d)) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        each(arg, entry->d_name);
    }
    host_forget_fd(dirfd(d));
    closedir(d);
    return OK;
}

enum err file_lock(const char *path, int *fd, struct error *e)
{
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (*fd < 0) return file_error(e, "open", path, errno);
    if (flock(*fd, LOCK_EX | LOCK_NB) == 0) return file_note(fd, path, e);
    int code = errno;
    close(*fd);
    *fd = -1;
    if (code == EWOULDBLOCK) {
        return error_set(e, ERR_LOCKED,
                         "another server is running on this directory (%s is locked)", path);
    }
    return file_error(e, "lock", path, code);
}

enum err file_lock_within(const char *path, int64_t us, int *fd, struct error *e)
{
    const struct timespec step = {.tv_nsec = LOCK_STEP_NS};
    int64_t begin_us = clock_mono_us();
    enum err r = file_lock(path, fd, e);
    while (r == ERR_LOCKED && clock_mono_us() - begin_us < us) {
        nanosleep(&step, NULL);
        r = file_lock(path, fd, e);
    }
    return r;
}

void file_unlock(int fd)
{
    if (fd >= 0) file_end(fd);
}
