/* file: the program's access to files. Opening, reading, writing, syncing, renaming and removing
 * are fault points ("file.write", "file.sync", ...), so that a test can fail the nth. Every error
 * says which file and why. Any thread; a file is used by one thread at a time.
 *
 * An observer (tests only) of the thread's host is told of every write and sync: the simulation
 * keeps from it what a power failure may take back.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/buf.h"
#include "base/err.h"

struct file {
    int fd;     /* -1 = closed */
    char *path; /* owned */
};

enum file_mode { FILE_READ, FILE_WRITE_NEW, FILE_WRITE_OLD };

/* FILE_WRITE_NEW truncates or creates; FILE_WRITE_OLD opens for reading and writing, must exist. */
ERR_MUST_USE enum err file_open(struct file *f, const char *path, enum file_mode mode,
                                struct error *e);
void file_close(struct file *f);
ERR_MUST_USE enum err file_write_at(struct file *f, uint64_t offset, struct slice bytes,
                                    struct error *e);
/* Reads exactly `len` bytes; less is ERR_IO. */
ERR_MUST_USE enum err file_read_at(struct file *f, uint64_t offset, void *out, size_t len,
                                   struct error *e);
ERR_MUST_USE enum err file_size(struct file *f, uint64_t *bytes, struct error *e);
/* Blocks of [0, bytes) are allocated and the size is set; ERR_DISK_FULL when there is no space. */
ERR_MUST_USE enum err file_reserve(struct file *f, uint64_t bytes, struct error *e);
/* Starts writing the range to the disk and waits for it: spreads the work that a later sync would
 * have; promises nothing by itself. */
void file_flush_range(struct file *f, uint64_t offset, uint64_t bytes);
/* fdatasync. */
ERR_MUST_USE enum err file_sync(struct file *f, struct error *e);

/* Offset, length and address of what file_write_direct gets are multiples of it. */
#define FILE_BLOCK_BYTES 4096
/* A file that exists, once more, for file_write_direct. False: the file system takes no writes past
 * the page cache (O_DIRECT), or it cannot be opened. */
bool file_open_direct(struct file *f, const char *path);
/* Writes blocks that were written before, past the page cache: they are durable when it returns
 * (RWF_DSYNC). Nothing of the file may be written and unsynced. *is_refused: the file system takes
 * none, and what was written of them is not known: they are to be written and synced again. */
ERR_MUST_USE enum err file_write_direct(struct file *f, uint64_t offset, struct slice blocks,
                                        bool *is_refused, struct error *e);
ERR_MUST_USE enum err file_truncate(struct file *f, uint64_t bytes, struct error *e);

/* A file that is in memory only and has these bytes; programs that this process becomes inherit it,
 * and find it as /proc/self/fd/<result>. -1: there is no memory for it. The caller closes it. */
int file_in_memory(const char *name, struct slice bytes);
/* Whole small files. write_all replaces atomically: temporary file, sync, rename, directory sync.
 */
ERR_MUST_USE enum err file_read_all(const char *path, struct buf *out, size_t bytes_max,
                                    struct error *e);
ERR_MUST_USE enum err file_write_all(const char *path, struct slice bytes, struct error *e);
/* As write_all for a file that is there: symbolic links are followed, and its permissions
 * are kept. Refuses a file without any write permission, or that the caller may not write. */
ERR_MUST_USE enum err file_rewrite_all(const char *path, struct slice bytes, struct error *e);
bool file_exists(const char *path);

enum file_kind { FILE_KIND_NONE, FILE_KIND_SOCKET, FILE_KIND_OTHER };
/* What is at the path; *inode (may be NULL) differs between a file and its successor. */
enum file_kind file_kind_of(const char *path, uint64_t *inode);
/* A number that changes when what is at the path (links are followed) is written or replaced; 0 =
 * nothing is there. */
uint64_t file_stamp(const char *path);
/* Is what is at the path the file that `fd` has open? False too when that cannot be told. */
bool file_is_at(const char *path, int fd);
/* May others than the owner (and the group, when `with_group`) read or enter it? */
bool file_is_open_to_others(const char *path, bool with_group);
ERR_MUST_USE enum err file_chmod(const char *path, unsigned mode, struct error *e);

ERR_MUST_USE enum err file_rename(const char *from, const char *to, struct error *e);
/* The same, and the directory of `to` is synced: a power failure does not undo it. */
ERR_MUST_USE enum err file_rename_synced(const char *from, const char *to, struct error *e);
ERR_MUST_USE enum err file_remove(const char *path, struct error *e);
ERR_MUST_USE enum err dir_make(const char *path, struct error *e);
/* A new directory that only the owner may enter: `path` ends with XXXXXX, which become letters. */
ERR_MUST_USE enum err dir_make_unique(char *path, struct error *e);
/* It, and the files in it; not directories in it. One that is not there is removed. */
ERR_MUST_USE enum err dir_remove(const char *path, struct error *e);
ERR_MUST_USE enum err dir_sync(const char *path, struct error *e);
/* Calls `each` with the name of every file in the directory, in no order. */
ERR_MUST_USE enum err dir_list(const char *path, void (*each)(void *arg, const char *name),
                               void *arg, struct error *e);

/* An exclusive lock that ends with the process; ERR_LOCKED when it is held. *fd is to be closed
 * with file_unlock. */
ERR_MUST_USE enum err file_lock(const char *path, int *fd, struct error *e);
/* The same, waiting for it so long. */
ERR_MUST_USE enum err file_lock_within(const char *path, int64_t us, int *fd, struct error *e);
void file_unlock(int fd);

struct file_observer {
    void (*before_write)(void *arg, const char *path, uint64_t offset, struct slice bytes);
    void (*after_sync)(void *arg, const char *path);
    void *arg;
};

void file_set_observer(const struct file_observer *observer);

#endif
