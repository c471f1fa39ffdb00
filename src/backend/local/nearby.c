/* nearby: a store in a file that is filled by somebody whose data is elsewhere (backend/nearby.h).
 * A copy is written under the name of a backup that is not complete (store_backup.c).
 */
#include "backend/nearby.h"

#include "backend/local/local.h"
#include "backend/local/store_int.h"
#include "base/random.h"

#define CACHE_BYTES (8u << 20)
#define READER_CACHE_BYTES (1u << 20)

static enum err nearby_copy_begin(const char *path, const struct text_ops *text_ops,
                                  struct store **out, struct error *e)
{
    struct buf part;
    buf_init(&part);
    *out = NULL;
    enum err r = store_backup_begin(path, &part, e);
    struct sqlite_options o = {.path = (const char *)part.data,
                               .cache_bytes = CACHE_BYTES,
                               .reader_cache_bytes = READER_CACHE_BYTES,
                               .text_ops = text_ops};
    if (r == OK) r = sqlite_open(&o, out, e);
    if (r != OK) (void)!store_backup_end((const char *)part.data, path, r, e);
    buf_fini(&part);
    return r;
}

static enum err nearby_copy_end(struct store *copy, const char *path, bool is_whole,
                                struct error *e)
{
    uint8_t id[DATABASE_ID_BYTES];
    struct buf part;
    buf_init(&part);
    store_backup_part(path, &part);
    store_close(copy);
    random_system(id, sizeof id);
    /* It leaves one file, without a write-ahead log. */
    enum err r = is_whole ? sqlite_own((const char *)part.data, id, NULL, e) : ERR_IO;
    r = store_backup_end((const char *)part.data, path, r, e);
    buf_fini(&part);
    return is_whole ? r : OK;
}

const struct nearby local_nearby = {
    .copy_begin = nearby_copy_begin,
    .copy_end = nearby_copy_end,
};
