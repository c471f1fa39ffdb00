/* vfs: see vfs.h. A file of SQLite wraps the file of the VFS below it. Which page was damaged is
 * noted for each thread, because SQLite hands only a code on. When the host breaks, vfs_give_back
 * closes what is open below SQLite's connections, which no call may touch any more. */
#include "backend/local/vfs.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "backend/local/page_sum.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/list.h"
#include "base/mem.h"

#define SPREAD_BYTES (4 << 20) /* that the disk gets at a time */

struct vfs {
    sqlite3_vfs base; /* first */
    char name[32];
    struct host_thing thing; /* the files */
    pthread_mutex_t lock;    /* guards the next */
    struct vfs_file *files;  /* that are open */
};

/* Of a file: pages in [begin, end), not all of them, `bytes` together. */
struct part {
    sqlite3_int64 begin, end;
    int bytes;
};

enum vfs_kind { VFS_OTHER, VFS_DATABASE, VFS_WAL };

struct vfs_file {
    sqlite3_file base; /* first: SQLite's view */
    enum vfs_kind kind;
    struct vfs *vfs;
    struct vfs_file *next, *prev; /* of its open files */
    struct vfs_file *database;    /* VFS_WAL: the file that it belongs to */
    const char *name;             /* the last part of the path; SQLite's, as long as it is open */
    unsigned allowed;             /* VFS_DATABASE: enum vfs_allowed */
    bool is_checkpointing;        /* VFS_DATABASE */
    struct file *spread;          /* VFS_DATABASE: NULL = checkpoints are not spread */
    struct part written;          /* by the checkpoint, and not yet given to the disk */
    int nowait_fd;                /* VFS_DATABASE: -1 outside of nowait */
    bool was_refused;             /* in there */
    sqlite3_file *real;           /* after this struct, in the memory SQLite gave */
};

static _Thread_local char damage[STORE_PLACE_BYTES];

static _Thread_local struct vfs_collected *collected;

void vfs_collect(struct vfs_collected *to)
{
    collected = to;
}

const char *vfs_damage(void)
{
    return damage[0] == '\0' ? NULL : damage;
}

void vfs_damage_forget(void)
{
    damage[0] = '\0';
}

struct vfs_file *vfs_file_of(sqlite3 *db)
{
    sqlite3_file *file = NULL;
    (void)sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    return (struct vfs_file *)(void *)file;
}

void vfs_nowait_begin(struct vfs_file *f, int fd)
{
    f->nowait_fd = fd;
    f->was_refused = false;
}

bool vfs_nowait_end(struct vfs_file *f)
{
    f->nowait_fd = -1;
    return f->was_refused;
}

/* Whether the file ends before offset + len: then a short read is the truth, not a cache miss. */
static bool reaches_end(int fd, sqlite3_int64 offset, int len)
{
    struct stat st;
    return fstat(fd, &st) == 0 && offset + len > st.st_size;
}

/* True when the bytes were read without waiting. A system that knows no RWF_NOWAIT on this file
 * gets the ordinary read. */
static bool read_nowait(int fd, void *out, int len, sqlite3_int64 offset, bool *is_refused)
{
    struct iovec part = {.iov_base = out, .iov_len = (size_t)len};
    *is_refused = fault_hit("vfs.nowait");
    if (*is_refused || fault_reads_wait()) return false;
    ssize_t n = preadv2(fd, &part, 1, offset, RWF_NOWAIT);
    if (n == len) return true;
    if (n < 0) {
        *is_refused = errno == EAGAIN;
        return false;
    }
    *is_refused = !reaches_end(fd, offset, len);
    return false;
}

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((struct vfs_file *)(void *)file)->real;
}

static int file_close_(sqlite3_file *file)
{
    struct vfs_file *f = (struct vfs_file *)(void *)file;
    pthread_mutex_lock(&f->vfs->lock);
    STACK_UNLINK(f->vfs->files, f, next, prev);
    pthread_mutex_unlock(&f->vfs->lock);
    return real_of(file)->pMethods->xClose(real_of(file));
}

/* ---- pages and what they must be ---- */

/* One page may be read, and found damaged, several times in a row. */
static void collect(const struct vfs_file *f, sqlite3_int64 offset)
{
    struct vfs_collected *c = collected;
    struct store_found *found = c->found;
    if (found->damaged > 0 && c->last_file == f && c->last_offset == offset) return;
    c->last_file = f;
    c->last_offset = offset;
    if (found->damaged < STORE_PLACES_MAX) {
        memcpy(found->places[found->damaged], damage, sizeof damage);
    }
    __atomic_fetch_add(&found->damaged, 1, __ATOMIC_RELEASE);
}

/* Of all codes SQLITE_NOTADB: after an I/O error SQLite rolls the transaction back, and after
 * SQLITE_CORRUPT it writes nothing more in it; but what is not damaged is to be written. */
static int damaged(const struct vfs_file *f, sqlite3_int64 offset, const char *why)
{
    snprintf(damage, sizeof damage, "%.64s at offset %lld %s", f->name, (long long)offset, why);
    if (collected != NULL) collect(f, offset);
    return SQLITE_NOTADB;
}

static int check_page(const struct vfs_file *f, const uint8_t *page, sqlite3_int64 offset)
{
    enum page_state state = page_sum_check(page, (uint32_t)(offset / PAGE_BYTES) + 1);
    if (state == PAGE_GOOD || (state == PAGE_BLANK && f->allowed & VFS_BLANK_PAGES))
        return SQLITE_OK;
    return damaged(f, offset, "is damaged: checksum mismatch in a page");
}

static bool is_frame_checked(const struct vfs_file *f)
{
    if (f->database == NULL) return false;
    return !(f->database->allowed & VFS_OWN_FRAMES) || f->database->is_checkpointing;
}

/* A good page also gets the sum that it will have in the database file: the code that copies it can
 * tell it from one that was never written. */
static int check_frame(const struct vfs_file *f, uint8_t *page, sqlite3_int64 offset)
{
    uint8_t header[WAL_HEADER_BYTES];
    uint8_t frame[WAL_FRAME_BYTES];
    uint8_t before[WAL_FRAME_BYTES];
    int (*xread)(sqlite3_file *, void *, int, sqlite3_int64) = f->real->pMethods->xRead;
    sqlite3_int64 at = offset - WAL_FRAME_BYTES;
    bool is_first = at == WAL_HEADER_BYTES;
    int rc = xread(f->real, header, sizeof header, 0);
    if (rc == SQLITE_OK) rc = xread(f->real, frame, sizeof frame, at);
    if (rc == SQLITE_OK && !is_first) {
        rc = xread(f->real, before, sizeof before, at - PAGE_BYTES - WAL_FRAME_BYTES);
    }
    if (rc != SQLITE_OK) return damaged(f, offset, "cannot be read");
    if (!wal_frame_is_good(header, is_first ? NULL : before, frame, page)) {
        return damaged(f, offset, "is damaged: checksum mismatch in a frame");
    }
    page_sum_put(page, wal_frame_page(frame));
    return SQLITE_OK;
}

static bool is_page(const struct vfs_file *f, int len, sqlite3_int64 offset)
{
    if (len != PAGE_BYTES) return false;
    if (f->kind == VFS_DATABASE) return offset % PAGE_BYTES == 0;
    sqlite3_int64 frames = offset - WAL_HEADER_BYTES - WAL_FRAME_BYTES;
    return f->kind == VFS_WAL && frames >= 0 && frames % (PAGE_BYTES + WAL_FRAME_BYTES) == 0;
}

static int check(const struct vfs_file *f, void *page, sqlite3_int64 offset)
{
    if (collected != NULL) __atomic_fetch_add(&collected->found->pages, 1, __ATOMIC_RELAXED);
    if (f->kind == VFS_DATABASE) return check_page(f, page, offset);
    return is_frame_checked(f) ? check_frame(f, page, offset) : SQLITE_OK;
}

static int file_read_(sqlite3_file *file, void *out, int len, sqlite3_int64 offset)
{
    struct vfs_file *f = (struct vfs_file *)(void *)file;
    bool is_whole = is_page(f, len, offset);
    if (host_is_broken(host_mine)) return SQLITE_INTERRUPT; /* the reader is to end */
    if (f->nowait_fd >= 0 && f->kind == VFS_DATABASE) {
        bool is_refused = false;
        if (read_nowait(f->nowait_fd, out, len, offset, &is_refused)) {
            return is_whole ? check(f, out, offset) : SQLITE_OK;
        }
        if (is_refused) {
            f->was_refused = true;
            return SQLITE_INTERRUPT;
        }
    }
    int rc = fault_hit("vfs.read") ? SQLITE_IOERR_READ
                                   : f->real->pMethods->xRead(f->real, out, len, offset);
    if (!is_whole || rc == SQLITE_IOERR_SHORT_READ) return rc;
    return rc == SQLITE_OK ? check(f, out, offset) : damaged(f, offset, "cannot be read");
}

/* Gives the disk what a checkpoint has written since the last time, when it is much. Only the sync
 * at its end says what became of it. */
static void spread(struct vfs_file *f, sqlite3_int64 offset, int len)
{
    struct part *w = &f->written;
    if (w->bytes == 0 || offset < w->begin) w->begin = offset;
    if (w->bytes == 0 || offset + len > w->end) w->end = offset + len;
    w->bytes += len;
    if (w->bytes < SPREAD_BYTES) return;
    file_flush_range(f->spread, (uint64_t)w->begin, (uint64_t)(w->end - w->begin));
    *w = (struct part){0};
}

static int file_write_(sqlite3_file *file, const void *data, int len, sqlite3_int64 offset)
{
    struct vfs_file *f = (struct vfs_file *)(void *)file;
    uint8_t page[PAGE_BYTES];
    if (fault_hit("vfs.write")) return SQLITE_FULL;
    if (f->kind == VFS_DATABASE && is_page(f, len, offset)) {
        memcpy(page, data, sizeof page);
        bool stays_blank = f->allowed & VFS_COPIED_PAGES && page_is_blank(page);
        if (!stays_blank) page_sum_put(page, (uint32_t)(offset / PAGE_BYTES) + 1);
        data = page;
    }
    int rc = f->real->pMethods->xWrite(f->real, data, len, offset);
    if (f->is_checkpointing && f->spread != NULL) spread(f, offset, len);
    return rc;
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
    struct vfs_file *f = (struct vfs_file *)(void *)file;
    if (op == VFS_CONTROL_ALLOWED) {
        f->allowed = *(const unsigned *)arg;
        return SQLITE_OK;
    }
    if (op == VFS_CONTROL_SPREAD) {
        f->spread = arg;
        return SQLITE_OK;
    }
    if (op == SQLITE_FCNTL_CKPT_START) {
        f->is_checkpointing = true;
        f->written = (struct part){0};
    }
    if (op == SQLITE_FCNTL_CKPT_DONE) f->is_checkpointing = false;
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
    const char *slash = name == NULL ? NULL : strrchr(name, '/');
    struct vfs *v = (struct vfs *)(void *)vfs;
    *f = (struct vfs_file){.name = slash == NULL ? name : slash + 1, .vfs = v, .nowait_fd = -1};
    if (flags & SQLITE_OPEN_MAIN_DB) f->kind = VFS_DATABASE;
    if (flags & SQLITE_OPEN_WAL) {
        f->kind = VFS_WAL;
        f->database = (struct vfs_file *)(void *)sqlite3_database_file_object(name);
    }
    f->real = (sqlite3_file *)(void *)(f + 1);
    f->real->pMethods = NULL;
    int rc = real_vfs(vfs)->xOpen(real_vfs(vfs), name, f->real, flags, out);
    if (f->real->pMethods == NULL) return rc;
    f->base.pMethods = &vfs_methods; /* it is to be closed, even after an error */
    pthread_mutex_lock(&v->lock);
    STACK_PUSH(v->files, f, next, prev);
    pthread_mutex_unlock(&v->lock);
    return rc;
}

/* Connections that a thread was in when its host broke are never closed: no call of SQLite may
 * touch them any more. But their files can be: what they have locked is free then, for others of
 * this process too. */
static void vfs_give_back(struct host_thing *t)
{
    struct vfs *v = (struct vfs *)(void *)((char *)t - offsetof(struct vfs, thing));
    for (struct vfs_file *f = v->files; f != NULL; f = f->next) {
        if (f->kind == VFS_DATABASE) (void)f->real->pMethods->xShmUnmap(f->real, 0);
        (void)f->real->pMethods->xClose(f->real);
    }
    (void)sqlite3_vfs_unregister(&v->base);
}

struct vfs *vfs_open(struct error *e)
{
    sqlite3_vfs *real = sqlite3_vfs_find("unix");
    if (real == NULL) {
        (void)error_set(e, ERR_IO, "SQLite has no unix VFS");
        return NULL;
    }
    struct vfs *v = mem_new(sizeof *v);
    pthread_mutex_init(&v->lock, NULL);
    snprintf(v->name, sizeof v->name, "tupled-%p", (void *)v);
    v->base = *real;
    v->base.zName = v->name;
    v->base.pNext = NULL;
    v->base.szOsFile = (int)sizeof(struct vfs_file) + real->szOsFile;
    v->base.pAppData = real;
    v->base.xOpen = vfs_open_;
    sqlite3_vfs_register(&v->base, 0);
    host_note(&v->thing, HOST_FILES, vfs_give_back);
    return v;
}

void vfs_close(struct vfs *v)
{
    if (v == NULL) return;
    INVARIANT(v->files == NULL);
    host_forget(&v->thing);
    (void)sqlite3_vfs_unregister(&v->base);
    pthread_mutex_destroy(&v->lock);
    mem_free(v);
}

const char *vfs_name(const struct vfs *v)
{
    return v->name;
}
