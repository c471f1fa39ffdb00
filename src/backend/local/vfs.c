#include "backend/local/vfs.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/fault.h"

struct vfs_file {
    sqlite3_file base; /* first: SQLite's view */
    bool is_database;
    sqlite3_file *real; /* behind this struct, in the memory SQLite gave */
};

static _Thread_local struct {
    int fd; /* -1 outside of nowait */
    bool was_refused;
} nowait = {.fd = -1};

void vfs_nowait_begin(int fd)
{
    nowait.fd = fd;
    nowait.was_refused = false;
}

bool vfs_nowait_end(void)
{
    nowait.fd = -1;
    return nowait.was_refused;
}

/* Whether the file ends before offset + len: then a short read is the truth, not a cache miss. */
static bool reaches_end(int fd, sqlite3_int64 offset, int len)
{
    struct stat st;
    return fstat(fd, &st) == 0 && offset + len > st.st_size;
}

/* True when the bytes were read without waiting. A system that knows no RWF_NOWAIT on this file
 * gets the ordinary read. */
static bool read_nowait(void *out, int len, sqlite3_int64 offset, bool *is_refused)
{
    struct iovec part = {.iov_base = out, .iov_len = (size_t)len};
    *is_refused = fault_hit("vfs.nowait");
    if (*is_refused) return false;
    ssize_t n = preadv2(nowait.fd, &part, 1, offset, RWF_NOWAIT);
    if (n == len) return true;
    if (n < 0) {
        *is_refused = errno == EAGAIN;
        return false;
    }
    *is_refused = !reaches_end(nowait.fd, offset, len);
    return false;
}

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((struct vfs_file *)(void *)file)->real;
}

static int file_close_(sqlite3_file *file)
{
    return real_of(file)->pMethods->xClose(real_of(file));
}

static int file_read_(sqlite3_file *file, void *out, int len, sqlite3_int64 offset)
{
    const struct vfs_file *f = (const struct vfs_file *)(const void *)file;
    if (nowait.fd >= 0 && f->is_database) {
        bool is_refused = false;
        if (read_nowait(out, len, offset, &is_refused)) return SQLITE_OK;
        if (is_refused) {
            nowait.was_refused = true;
            return SQLITE_INTERRUPT;
        }
    }
    if (fault_hit("vfs.read")) return SQLITE_IOERR_READ;
    return f->real->pMethods->xRead(f->real, out, len, offset);
}

static int file_write_(sqlite3_file *file, const void *data, int len, sqlite3_int64 offset)
{
    if (fault_hit("vfs.write")) return SQLITE_FULL;
    return real_of(file)->pMethods->xWrite(real_of(file), data, len, offset);
}

static int file_truncate_(sqlite3_file *file, sqlite3_int64 size)
{
    return real_of(file)->pMethods->xTruncate(real_of(file), size);
}

static int file_sync_(sqlite3_file *file, int flags)
{
    if (fault_hit("vfs.sync")) return SQLITE_IOERR_FSYNC;
    return real_of(file)->pMethods->xSync(real_of(file), flags);
}

static int file_size_(sqlite3_file *file, sqlite3_int64 *size)
{
    return real_of(file)->pMethods->xFileSize(real_of(file), size);
}

static int file_lock_(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int file_unlock_(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int file_check_lock_(sqlite3_file *file, int *out)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), out);
}

static int file_control_(sqlite3_file *file, int op, void *arg)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), op, arg);
}

static int file_sector_size_(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int file_characteristics_(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int file_shm_map_(sqlite3_file *file, int page, int size, int extend, void volatile **out)
{
    return real_of(file)->pMethods->xShmMap(real_of(file), page, size, extend, out);
}

static int file_shm_lock_(sqlite3_file *file, int offset, int n, int flags)
{
    return real_of(file)->pMethods->xShmLock(real_of(file), offset, n, flags);
}

static void file_shm_barrier_(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int file_shm_unmap_(sqlite3_file *file, int delete)
{
    return real_of(file)->pMethods->xShmUnmap(real_of(file), delete);
}

static const sqlite3_io_methods vfs_methods = {
    .iVersion = 2,
    .xClose = file_close_,
    .xRead = file_read_,
    .xWrite = file_write_,
    .xTruncate = file_truncate_,
    .xSync = file_sync_,
    .xFileSize = file_size_,
    .xLock = file_lock_,
    .xUnlock = file_unlock_,
    .xCheckReservedLock = file_check_lock_,
    .xFileControl = file_control_,
    .xSectorSize = file_sector_size_,
    .xDeviceCharacteristics = file_characteristics_,
    .xShmMap = file_shm_map_,
    .xShmLock = file_shm_lock_,
    .xShmBarrier = file_shm_barrier_,
    .xShmUnmap = file_shm_unmap_,
};

static sqlite3_vfs *real_vfs(sqlite3_vfs *vfs)
{
    return vfs->pAppData;
}

static int vfs_open_(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    struct vfs_file *f = (struct vfs_file *)(void *)file;
    f->is_database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
    f->real = (sqlite3_file *)(void *)(f + 1);
    f->base.pMethods = NULL;
    f->real->pMethods = NULL;
    int rc = real_vfs(vfs)->xOpen(real_vfs(vfs), name, f->real, flags, out);
    if (f->real->pMethods != NULL) f->base.pMethods = &vfs_methods;
    return rc;
}

static sqlite3_vfs tupled_vfs;

static void register_once(void)
{
    sqlite3_vfs *real = sqlite3_vfs_find("unix");
    if (real == NULL) return;
    tupled_vfs = *real;
    tupled_vfs.zName = VFS_NAME;
    tupled_vfs.pNext = NULL;
    tupled_vfs.szOsFile = (int)sizeof(struct vfs_file) + real->szOsFile;
    tupled_vfs.pAppData = real;
    tupled_vfs.xOpen = vfs_open_;
    sqlite3_vfs_register(&tupled_vfs, 0);
}

enum err vfs_register(struct error *e)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_once);
    if (sqlite3_vfs_find(VFS_NAME) == NULL) {
        return error_set(e, ERR_IO, "SQLite has no unix VFS to build on");
    }
    return OK;
}
