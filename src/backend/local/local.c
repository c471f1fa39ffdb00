/* local: the order of opening: the lock of the directory, the store, the archive, the journal,
 * which gets the lock and gives it back when it is closed. */
#include "backend/local/local.h"

#include "backend/local/archive.h"
#include "backend/local/lineage.h"
#include "backend/local/sqlite_store.h"
#include "base/file.h"

static enum err local_lock(const char *dir, int *fd, struct error *e)
{
    struct buf path;
    buf_init(&path);
    buf_printf(&path, "%s/LOCK", dir);
    buf_append_byte(&path, '\0');
    buf_require(&path);
    enum err r = dir_make(dir, e);
    if (r == OK) r = file_lock((char *)path.data, fd, e);
    buf_fini(&path);
    return r;
}

static enum err open_store(const struct local_options *options, struct store **out, struct error *e)
{
    struct buf path;
    buf_init(&path);
    buf_printf(&path, "%s/tupled.db", options->dir);
    buf_append_byte(&path, '\0');
    buf_require(&path);
    struct sqlite_options store = {.path = (char *)path.data,
                                   .cache_bytes = options->store_cache_bytes / 2,
                                   .reader_cache_bytes = options->store_cache_bytes / 16,
                                   .text_ops = options->text_ops,
                                   .flush_rows = options->flush_rows};
    enum err r = sqlite_open(&store, out, e);
    buf_fini(&path);
    return r;
}

static struct file_journal_options journal_options(const struct local_options *o)
{
    return (struct file_journal_options){.dir = o->dir,
                                         .segment_bytes = o->segment_bytes,
                                         .durability = o->durability,
                                         .interval_ms = o->interval_ms,
                                         .is_buffered = o->is_journal_buffered,
                                         .short_sync_us = o->short_sync_us,
                                         .long_sync_us = o->long_sync_us,
                                         .retention_ms = o->retention_ms,
                                         .retention_bytes = o->retention_bytes,
                                         .archive_ms = o->archive_ms};
}

static enum err open_archive(const struct local_options *options, const struct store *store,
                             struct archive **out, struct error *e)
{
    struct archive_options a = {.dir = options->archive_dir,
                                .database_id = sqlite_database_id(store),
                                .lineage = sqlite_lineage(store)};
    if (options->archive_dir == NULL || options->archive_dir[0] == '\0') return OK;
    return archive_open(&a, out, e);
}

enum err local_open(const struct local_options *options, struct journal **journal,
                    struct store **store, struct error *e)
{
    struct file_journal_options j = journal_options(options);
    *journal = NULL;
    *store = NULL;
    enum err r = local_lock(options->dir, &j.lock_fd, e);
    if (r != OK) return r;
    r = open_store(options, store, e);
    if (r == OK) r = open_archive(options, *store, &j.archive, e);
    if (r != OK) {
        store_close(*store);
        *store = NULL;
        file_unlock(j.lock_fd);
        return r;
    }
    j.timeline = sqlite_lineage(*store)->timeline;
    j.store_fd = sqlite_fd(*store);
    memcpy(j.database_id, sqlite_database_id(*store), DATABASE_ID_BYTES);
    *journal = file_journal_new(&j);
    return OK;
}

void local_set_options(struct journal *journal, const struct local_options *options)
{
    struct file_journal_options j = journal_options(options);
    file_journal_set_options(journal, &j);
}

struct archive *local_archive(const struct journal *journal)
{
    return file_journal_archive(journal);
}

bool local_archive_has_gap(const struct journal *journal)
{
    return file_journal_archive_gap(journal);
}

const struct lineage *local_lineage(const struct store *store)
{
    return sqlite_lineage(store);
}
