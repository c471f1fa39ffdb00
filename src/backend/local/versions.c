/* versions: no version is given twice, even if the journal's tail is lost under a weaker
 * durability: a block of versions is reserved in the file `versions` before any of it is given, and
 * every start continues at the end of the block. A clean stop gives the rest of the block back.
 *
 *   tupled-versions 1 <database id, hex> <first version not reserved> <xxh3 of all before, hex>\n
 */
#include <stdio.h>

#include "backend/local/file_journal_int.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"

#define FORMAT 1
#define BLOCK (1ULL << 24)
#define RESTORED_STEP (1ULL << 40) /* for a backup that is started as a database of its own */
#define FILE_BYTES_MAX 256
#define RETRY_US 1000000

static void versions_path(const char *dir, struct buf *out)
{
    buf_printf(out, "%s/versions", dir);
    buf_append_byte(out, '\0');
    buf_require(out);
}

enum err versions_file_write(const char *dir, const uint8_t *database_id, uint64_t end,
                             struct error *e)
{
    struct buf path;
    struct buf text;
    char id[DATABASE_ID_TEXT];
    buf_init(&path);
    buf_init(&text);
    versions_path(dir, &path);
    database_id_format(database_id, id);
    buf_printf(&text, "tupled-versions 1 %s %llu ", id, (unsigned long long)end);
    uint64_t sum = checksum_bytes(buf_slice(&text));
    buf_printf(&text, "%016llx\n", (unsigned long long)sum);
    buf_require(&text);
    enum err r = file_write_all((char *)path.data, buf_slice(&text), e);
    buf_fini(&path);
    buf_fini(&text);
    return r;
}

static enum err versions_write(struct file_journal *j, uint64_t end, struct error *e)
{
    return versions_file_write(j->dir, j->options.database_id, end, e);
}

static enum err versions_parse(struct file_journal *j, struct slice text, uint64_t *end,
                               struct error *e)
{
    struct slice rest = text;
    char own_id[DATABASE_ID_TEXT];
    char sum[20];
    uint64_t format = 0;
    bool is_good = slice_eq(slice_take(&rest, ' '), slice_str("tupled-versions"));
    is_good = slice_to_u64(slice_take(&rest, ' '), &format) && is_good;
    struct slice id = slice_take(&rest, ' ');
    is_good = slice_to_u64(slice_take(&rest, ' '), end) && is_good;
    uint64_t hash = checksum_bytes(slice_of(text.data, text.len - rest.len));
    snprintf(sum, sizeof sum, "%016llx\n", (unsigned long long)hash);
    if (!is_good || !slice_eq(rest, slice_str(sum))) {
        return error_set(e, ERR_CORRUPT, "%s/versions is damaged", j->dir);
    }
    if (format > FORMAT) {
        return error_set(e, ERR_FORMAT,
                         "%s/versions has format %llu, but this program supports formats up to "
                         "%d; use a newer version of tupled",
                         j->dir, (unsigned long long)format, FORMAT);
    }
    database_id_format(j->options.database_id, own_id);
    if (!slice_eq(id, slice_str(own_id))) {
        return error_set(e, ERR_CORRUPT, "%s/versions belongs to another database than tupled.db",
                         j->dir);
    }
    return OK;
}

static enum err versions_read(struct file_journal *j, uint64_t *end, struct error *e)
{
    struct buf path;
    struct buf text;
    buf_init(&path);
    buf_init(&text);
    versions_path(j->dir, &path);
    *end = 0;
    enum err r = OK;
    if (file_exists((char *)path.data)) {
        r = file_read_all((char *)path.data, &text, FILE_BYTES_MAX, e);
        if (r == OK) r = versions_parse(j, buf_slice(&text), end, e);
    }
    buf_fini(&path);
    buf_fini(&text);
    return r;
}

static void set_reserved(struct file_journal *j, uint64_t end)
{
    j->version_reserved = end;
    j->base.versions_low = end > BLOCK / 2 ? end - BLOCK / 2 : 0;
}

enum err versions_open(struct file_journal *j, uint64_t last_version, uint64_t *version_next,
                       struct error *e)
{
    uint64_t next = 0;
    enum err r = versions_read(j, &next, e);
    if (r != OK) return r;
    if (next == 0) {
        next = last_version == 0 ? 1 : last_version + RESTORED_STEP;
        if (last_version != 0) {
            log_notice("restored from a backup: versions continue at %llu",
                       (unsigned long long)next);
        }
    }
    if (next <= last_version) next = last_version + 1;
    r = versions_write(j, next + BLOCK, e);
    if (r != OK && r != ERR_DISK_FULL) return r;
    *version_next = next;
    set_reserved(j, r == OK ? next + BLOCK : next); /* none yet; reads need none */
    return OK;
}

static void reserve_run(struct job *job)
{
    struct versions_job *v = (struct versions_job *)job;
    v->result = versions_write(v->journal, v->reserve, &v->error);
}

static void reserve_done(struct job *job)
{
    struct versions_job *v = (struct versions_job *)job;
    struct file_journal *j = v->journal;
    j->is_reserving = false;
    if (v->result == OK) {
        set_reserved(j, v->reserve);
        j->versions_failed_us = 0;
    } else {
        if (j->versions_failed_us == 0) log_warning("versions: %s", v->error.text);
        j->versions_failed_us = clock_mono_us();
    }
    j->base.owner.on_room(&j->base);
}

static void reserve_block(struct file_journal *j, uint64_t next)
{
    bool failed = j->versions_failed_us != 0;
    if (j->is_reserving || j->is_closing) return;
    if (failed && clock_mono_us() - j->versions_failed_us < RETRY_US) return;
    j->is_reserving = true;
    j->versions.job.run = reserve_run;
    j->versions.job.done = reserve_done;
    j->versions.journal = j;
    j->versions.reserve = next + BLOCK;
    worker_post(j->background, &j->versions.job);
}

/* Reserves ahead when half of the block is used. */
enum err versions_reserve(struct journal *journal, uint64_t next, struct error *e)
{
    struct file_journal *j = file_journal_of(journal);
    reserve_block(j, next);
    if (next < j->version_reserved) return OK;
    if (j->is_reserving) return error_set(e, ERR_WAIT, "versions are being reserved");
    bool is_full = j->versions.result == ERR_DISK_FULL;
    return error_set(e, is_full ? ERR_DISK_FULL : ERR_IO, "%scannot reserve a version (%s)",
                     is_full ? "disk full: " : "", j->versions.error.text);
}

enum err versions_close(struct file_journal *j, uint64_t next, struct error *e)
{
    return versions_write(j, next, e);
}
