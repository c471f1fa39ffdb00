/* vfs: SQLite's file access, with one thing added: a read of the main database file that would have
 * to wait for the disk can be refused instead (preadv2 with RWF_NOWAIT), so that the loop thread
 * reads what is in the page cache and leaves the rest to a query thread.
 *
 * A refused read makes the statement end with SQLITE_INTERRUPT: of all codes it is the one after
 * which SQLite keeps a read transaction (sqlite3VdbeHalt: a read-only statement that was
 * interrupted).
 */
#ifndef BACKEND_LOCAL_VFS_H
#define BACKEND_LOCAL_VFS_H

#include "base/err.h"

#define VFS_NAME "tupled"

/* Registers the VFS once a process; harmless when repeated. */
ERR_MUST_USE enum err vfs_register(struct error *e);

/* From here to vfs_nowait_end, reads of main database files by this thread do not wait. `fd` is an
 * open descriptor of that file; it must stay open as long as any SQLite connection is on the file
 * (closing it would drop SQLite's POSIX locks). */
void vfs_nowait_begin(int fd);
/* True when a read was refused in between. */
bool vfs_nowait_end(void);

#endif
