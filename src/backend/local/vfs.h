/* vfs: SQLite's file access, with three things added.
 *
 * A read of the main database file that would have to wait for the disk can be refused instead
 * (preadv2 with RWF_NOWAIT), so that the loop thread reads what is in the page cache and leaves the
 * rest to a query thread.
 *
 * A refused read makes the statement end with SQLITE_INTERRUPT: of all codes it is the one after
 * which SQLite keeps a read transaction (sqlite3VdbeHalt: a read-only statement that was
 * interrupted).
 *
 * Every page is checked when it is read, and gets its checksum when it is written: page_sum.h. A
 * page that is not what was written, or cannot be read, makes the statement end with
 * SQLITE_NOTADB; vfs_damage says where.
 *
 * What a checkpoint writes goes to the disk bit by bit, while it writes: a gigabyte that the disk
 * gets at the end keeps the journal's syncs waiting for a quarter of a second.
 *
 * Each store has a VFS of its own, which knows its open files: when the store's host (base/host.h)
 * breaks, it closes them under SQLite's connections, and reads that are still under way end.
 */
#ifndef BACKEND_LOCAL_VFS_H
#define BACKEND_LOCAL_VFS_H

#include "backend/store.h"

struct sqlite3;
struct vfs;
struct vfs_file;

/* A VFS for the files of one store, known to SQLite by a name that no other one has. It is never
 * SQLite's default. NULL: there is none to build on. */
struct vfs *vfs_open(struct error *e);
/* Its connections are closed. v may be NULL. */
void vfs_close(struct vfs *v);
const char *vfs_name(const struct vfs *v);

/* The main database file of a connection, as long as that is open. */
struct vfs_file *vfs_file_of(struct sqlite3 *db);
/* From here to vfs_nowait_end, reads of this file do not wait. `fd` is an open descriptor of it;
 * it must stay open as long as any SQLite connection is on the file (closing it would drop SQLite's
 * POSIX locks). */
void vfs_nowait_begin(struct vfs_file *f, int fd);
/* True when a read was refused in between. */
bool vfs_nowait_end(struct vfs_file *f);

/* Where the last page that this thread could not read lies, and what is wrong with it; NULL =
 * nothing since vfs_damage_forget. */
const char *vfs_damage(void);
void vfs_damage_forget(void);

/* From here until it is called with NULL, every page that this thread reads is counted, and where
 * those that are damaged lie is noted. */
struct vfs_collected {
    struct store_found *found;
    const void *last_file; /* where the last one lies */
    int64_t last_offset;
};
void vfs_collect(struct vfs_collected *to);

/* What a connection may see and write, set by sqlite3_file_control on "main" with an unsigned.
 * VFS_BLANK_PAGES: pages that were never written; they are free. For the writer, and for code that
 * copies all pages. VFS_OWN_FRAMES: frames of the write-ahead log that are unchecked, because those
 * of an open transaction are not final; for the writer. A checkpoint checks all. VFS_COPIED_PAGES:
 * a page that was blank where it came from stays so. */
#define VFS_CONTROL_ALLOWED 0x7475
/* Set likewise, before checkpoints are made: the database file once more, a struct file that stays
 * open as vfs_nowait_begin's does, through which the disk gets what they write. */
#define VFS_CONTROL_SPREAD 0x7476
enum vfs_allowed { VFS_BLANK_PAGES = 1, VFS_OWN_FRAMES = 2, VFS_COPIED_PAGES = 4 };

#endif
