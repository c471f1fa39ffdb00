/* bench_layout: how the bulk of the data could lie in SQLite, measured. tests/bench/layout.sh runs it.
 *
 *   bench_layout layout file entries value-bytes seed step ...
 *
 * `file` is the database; the step `load` makes it, the others need it. value-bytes 0 is a mixture.
 * The seed chooses which keys a step takes. Each figure is printed as a line
 *
 *   layout page-bytes entries value-bytes step what figure
 *
 * Steps:
 *   load     all entries in random order, in sorted batches, each a transaction with a checkpoint
 *   fill     the same, but the first nine tenths in batches that are ten times as large, unmeasured
 *   write    overwrites random ones, 250,000 times, in sorted batches as above
 *   big      900,000 overwrites as the server does them: memtables of 300,000, sorted, each several
 *            transactions and then a checkpoint
 *   size     of the file
 *   read     look-ups of random keys, the system's page cache warm, SQLite's small
 *   disk     the same, the system's page cache empty
 *   scan     100 and 10,000 rows from random places, with their values
 *   count    10,000 rows from random places, their keys and expiries only
 *
 * The size of pages is what this program was built with (PAGE_BYTES, page_sum.h).
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/local/page_sum.h"
#include "backend/local/store_int.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/random.h"
#include "bench/help.h"
#include "codec/key.h"

#define BATCH 50000
#define FILL_BATCH 500000
#define BIG_BATCH 300000 /* as many of 100 bytes are in 64 MB: memtable-size */
#define BIG_TRANSACTION 20000
#define WRITER_CACHE_BYTES (64u << 20) /* store-cache-size */
#define READER_CACHE_BYTES (16u << 20)
#define MMAP_BYTES "2147418112" /* the most that SQLite takes */
#define VALUE_BYTES_MAX 2000
#define OVERWRITES 250000
#define READS 200000
#define READS_DISK 10000
#define PUTS_MAX 3
/* What SQLite keeps within a page of a WITHOUT ROWID table is about a quarter of it. */
#define A_INLINE_MAX (PAGE_BYTES < 4096 ? 430 : STORE_INLINE_MAX)
#define VERSION_FIRST (1u << 24)

/* ---- the layouts ------------------------------------------------------------------------------
 */

#define KV_CREATE                                                                                  \
    "CREATE TABLE kv(k BLOB PRIMARY KEY, ver INTEGER NOT NULL, exp INTEGER NOT NULL,"              \
    " v NOT NULL) WITHOUT ROWID;"                                                                  \
    "CREATE TABLE large(id INTEGER PRIMARY KEY, v BLOB NOT NULL)"
#define DATA_CREATE                                                                                \
    "CREATE TABLE data(id INTEGER PRIMARY KEY, k BLOB NOT NULL, ver INTEGER NOT NULL,"             \
    " exp INTEGER NOT NULL, v NOT NULL);"
#define UPSERT                                                                                     \
    " VALUES(?1,?2,?3,?4) ON CONFLICT(k) DO UPDATE SET ver=replacing(excluded.ver, "               \
    "CASE typeof(v) WHEN 'integer' THEN v END), exp=excluded.exp, v=excluded.v"
#define KV_PUT                                                                                     \
    {                                                                                              \
        "INSERT INTO kv" UPSERT                                                                    \
    }
#define DATA_INSERT "INSERT INTO data(k,ver,exp,v)"

struct layout {
    const char *name;
    const char *table;
    const char *create;
    const char *puts[PUTS_MAX]; /* the first that changes a row ends it */
    size_t inline_max;          /* bytes of a value; longer ones are in `large` */
    bool is_plain;              /* SQLite's own VFS, so that pages are not checked; read only */
    bool is_mapped;
};

static const struct layout layouts[] = {
    {.name = "A", .table = "kv", .create = KV_CREATE, .puts = KV_PUT, .inline_max = A_INLINE_MAX},
    {.name = "B", .table = "kv", .create = KV_CREATE, .puts = KV_PUT, .inline_max = 200},
    {.name = "C", .table = "kv", .create = KV_CREATE, .puts = KV_PUT, .inline_max = 0},
    {.name = "D",
     .table = "data",
     .create = DATA_CREATE "CREATE UNIQUE INDEX data_k ON data(k)",
     .puts = {DATA_INSERT UPSERT},
     .inline_max = SIZE_MAX},
    {.name = "D-exp",
     .table = "data",
     .create = DATA_CREATE "CREATE INDEX data_k ON data(k,exp)",
     .puts = {"UPDATE data SET ver=?2,v=?4 WHERE k=?1 AND exp=?3",
              "UPDATE data SET ver=?2,exp=?3,v=?4 WHERE k=?1", DATA_INSERT " VALUES(?1,?2,?3,?4)"},
     .inline_max = SIZE_MAX},
    {.name = "A-plain", .table = "kv", .is_plain = true},
    {.name = "A-mmap", .table = "kv", .is_plain = true, .is_mapped = true},
};

struct bench {
    struct vfs *vfs;
    const struct layout *layout;
    const char *path;
    uint64_t entries;
    size_t value_bytes; /* 0 = a mixture */
    struct rng rng;
    sqlite3 *db;
    sqlite3_stmt *puts[PUTS_MAX], *large_put, *large_del, *large_get;
    int64_t replaced_large; /* id of the large value that a put found; 0 = none */
    size_t batch;           /* entries between two checkpoints */
    size_t transaction;     /* and in a transaction, at most */
    uint64_t bytes;         /* of keys and values, written or read */
    const char *step;
};

static void fail(const struct bench *b, const char *what)
{
    fprintf(stderr, "bench_layout: %s: %s\n", what, b->db == NULL ? "" : sqlite3_errmsg(b->db));
    exit(1);
}

static void print(const struct bench *b, const char *what, double figure)
{
    printf("%s %d %" PRIu64 " %zu %s %s %.2f\n", b->layout->name, PAGE_BYTES, b->entries,
           b->value_bytes, b->step, what, figure);
    fflush(stdout);
}

/* ---- the entries ------------------------------------------------------------------------------
 */

/* A database byte, a space byte, and the tuple of a string and an integer in no order: 24 bytes. */
static void key_of(uint64_t number, struct buf *out)
{
    struct rng rng;
    rng_init(&rng, number);
    buf_clear(out, SIZE_MAX);
    buf_append_byte(out, 0);
    buf_append_byte(out, STORE_SPACE_COUNTED);
    key_add_string(out, slice_str("measurement"));
    key_add_number(out, (double)(rng_next(&rng) >> 11));
    buf_require(out);
}

/* The mixture is 40 % of 16 bytes, 40 % of 100, 15 % of 400, 5 % of 2000; in no order. */
static size_t value_bytes_of(const struct bench *b, uint64_t number)
{
    struct rng rng;
    if (b->value_bytes != 0) return b->value_bytes;
    rng_init(&rng, ~number);
    uint64_t percent = rng_below(&rng, 100);
    if (percent < 80) return percent < 40 ? 16 : 100;
    return percent < 95 ? 400 : 2000;
}

struct entry_key {
    uint64_t number;
    uint8_t bytes[40];
    size_t len;
};

static int by_key(const void *x, const void *y)
{
    const struct entry_key *a = x;
    const struct entry_key *b = y;
    return slice_cmp(slice_of(a->bytes, a->len), slice_of(b->bytes, b->len));
}

static void entry_key_set(struct entry_key *k, uint64_t number)
{
    struct buf key;
    buf_init(&key);
    key_of(number, &key);
    if (key.len > sizeof k->bytes) abort();
    k->number = number;
    k->len = key.len;
    memcpy(k->bytes, key.data, key.len);
    buf_fini(&key);
}

/* ---- the database -----------------------------------------------------------------------------
 */

static void run(struct bench *b, const char *sql)
{
    if (sqlite3_exec(b->db, sql, NULL, NULL, NULL) != SQLITE_OK) fail(b, sql);
}

static sqlite3_stmt *prepare(struct bench *b, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v3(b->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL) != SQLITE_OK) {
        fail(b, sql);
    }
    return stmt;
}

static void finish(struct bench *b, sqlite3_stmt *stmt)
{
    if (sqlite3_step(stmt) != SQLITE_DONE) fail(b, sqlite3_sql(stmt));
    sqlite3_reset(stmt);
}

/* As in store.c. */
static void replacing(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    struct bench *b = sqlite3_user_data(ctx);
    (void)argc;
    b->replaced_large = sqlite3_value_int64(argv[1]);
    sqlite3_result_value(ctx, argv[0]);
}

static void open_plain(struct bench *b)
{
    char sql[100];
    if (sqlite3_open_v2(b->path, &b->db, SQLITE_OPEN_READWRITE, "unix") != SQLITE_OK) {
        fail(b, b->path);
    }
    snprintf(sql, sizeof sql, "PRAGMA cache_size=-%u; PRAGMA mmap_size=%s",
             READER_CACHE_BYTES / 1024, b->layout->is_mapped ? MMAP_BYTES : "0");
    run(b, sql);
}

static void open_checked(struct bench *b, bool is_writer)
{
    struct error e;
    uint64_t cache_bytes = is_writer ? WRITER_CACHE_BYTES : READER_CACHE_BYTES;
    if (b->vfs == NULL) b->vfs = vfs_open(&e); /* until the program ends */
    if (b->vfs != NULL &&
        store_connect(b->vfs, b->path, cache_bytes, is_writer, &b->db, &e) == OK) {
        return;
    }
    fprintf(stderr, "bench_layout: %s: %s\n", b->path, e.text);
    exit(1);
}

static void open_reader(struct bench *b)
{
    if (b->layout->is_plain) {
        open_plain(b);
    } else {
        open_checked(b, false);
    }
    if (strcmp(b->layout->table, "kv") == 0) b->large_get = prepare(b, STORE_LARGE_SQL);
}

static void open_writer(struct bench *b, bool is_new)
{
    if (b->layout->is_plain) fail(b, "this layout is for reading");
    open_checked(b, true);
    run(b, "PRAGMA synchronous=FULL");
    if (is_new) run(b, b->layout->create);
    run(b, "PRAGMA journal_mode=WAL");
    sqlite3_create_function_v2(b->db, "replacing", 2, SQLITE_UTF8, b, replacing, NULL, NULL, NULL);
    for (int i = 0; i < PUTS_MAX && b->layout->puts[i] != NULL; i++) {
        b->puts[i] = prepare(b, b->layout->puts[i]);
    }
    if (strcmp(b->layout->table, "kv") != 0) return;
    b->large_put = prepare(b, "INSERT INTO large(v) VALUES(?1)");
    b->large_del = prepare(b, "DELETE FROM large WHERE id=?1");
}

static void close_all(struct bench *b)
{
    sqlite3_stmt **stmts[] = {&b->puts[0],   &b->puts[1],   &b->puts[2],
                              &b->large_put, &b->large_del, &b->large_get};
    for (size_t i = 0; i < sizeof stmts / sizeof stmts[0]; i++) {
        sqlite3_finalize(*stmts[i]);
        *stmts[i] = NULL;
    }
    if (sqlite3_close(b->db) != SQLITE_OK) fail(b, "closing");
    b->db = NULL;
}

/* ---- writing ----------------------------------------------------------------------------------
 */

/* What this process had written to the disk, in bytes. */
static uint64_t written(void)
{
    char line[80];
    uint64_t bytes = 0;
    FILE *f = fopen("/proc/self/io", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (sscanf(line, "write_bytes: %" SCNu64, &bytes) == 1) break;
    }
    if (f != NULL) fclose(f);
    return bytes;
}

static void put(struct bench *b, const struct entry_key *k, uint64_t version)
{
    uint8_t value[VALUE_BYTES_MAX];
    size_t len = value_bytes_of(b, k->number + version);
    int64_t id = 0;
    memset(value, (int)(version & 0xff), len);
    if (len > b->layout->inline_max) {
        sqlite3_bind_blob(b->large_put, 1, value, (int)len, SQLITE_STATIC);
        finish(b, b->large_put);
        id = sqlite3_last_insert_rowid(b->db);
    }
    b->replaced_large = 0;
    for (int i = 0; i < PUTS_MAX && b->puts[i] != NULL; i++) {
        sqlite3_stmt *stmt = b->puts[i];
        sqlite3_bind_blob(stmt, 1, k->bytes, (int)k->len, SQLITE_STATIC);
        sqlite3_bind_int64(stmt, 2, (int64_t)version << 16);
        sqlite3_bind_int64(stmt, 3, 0);
        if (id != 0) {
            sqlite3_bind_int64(stmt, 4, id);
        } else {
            sqlite3_bind_blob(stmt, 4, value, (int)len, SQLITE_STATIC);
        }
        finish(b, stmt);
        if (sqlite3_changes(b->db) > 0) break;
    }
    if (b->replaced_large != 0) {
        sqlite3_bind_int64(b->large_del, 1, b->replaced_large);
        finish(b, b->large_del);
    }
    b->bytes += k->len + len;
}

static void write_batch(struct bench *b, struct entry_key *keys, size_t count, uint64_t version)
{
    qsort(keys, count, sizeof *keys, by_key);
    for (size_t i = 0; i < count; i++) {
        if (i % b->transaction == 0) run(b, "BEGIN IMMEDIATE");
        put(b, &keys[i], version + i);
        if ((i + 1) % b->transaction == 0 || i + 1 == count) run(b, "COMMIT");
    }
    int rc = sqlite3_wal_checkpoint_v2(b->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    if (rc != SQLITE_OK) fail(b, "checkpoint");
}

/* Of as many bytes as those of the load: an overwrite leaves the row as long as it was. */
static uint64_t version_any(struct bench *b)
{
    return 2 * VERSION_FIRST + rng_below(&b->rng, VERSION_FIRST);
}

/* The entries from `first` on if they are new, and else any. */
static void write_some(struct bench *b, bool is_new, uint64_t first, uint64_t count)
{
    struct entry_key *keys = mem_alloc(b->batch * sizeof *keys);
    for (uint64_t done = 0; done < count;) {
        size_t n = count - done < b->batch ? count - done : b->batch;
        for (size_t i = 0; i < n; i++) {
            entry_key_set(&keys[i], is_new ? first + done + i : rng_below(&b->rng, b->entries));
        }
        write_batch(b, keys, n, is_new ? VERSION_FIRST + first + done : version_any(b));
        done += n;
    }
    mem_free(keys);
}

static void write_measured(struct bench *b, bool is_new, uint64_t first, uint64_t count)
{
    uint64_t written_before = written();
    int64_t from_us = bench_now_us();
    b->bytes = 0;
    write_some(b, is_new, first, count);
    print(b, "entries/s", (double)count * 1e6 / (double)(bench_now_us() - from_us));
    print(b, "written", (double)(written() - written_before) / (double)b->bytes);
    sqlite3_wal_checkpoint_v2(b->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    close_all(b);
}

static void step_load(struct bench *b)
{
    open_writer(b, true);
    b->batch = b->transaction = BATCH;
    write_measured(b, true, 0, b->entries);
}

static void step_fill(struct bench *b)
{
    uint64_t first = b->entries / 10 * 9;
    open_writer(b, true);
    b->batch = b->transaction = FILL_BATCH;
    write_some(b, true, 0, first);
    b->batch = b->transaction = BATCH;
    write_measured(b, true, first, b->entries - first);
}

static void step_write(struct bench *b)
{
    open_writer(b, false);
    b->batch = b->transaction = BATCH;
    write_measured(b, false, 0, OVERWRITES);
}

static void step_big(struct bench *b)
{
    open_writer(b, false);
    b->batch = BIG_BATCH;
    b->transaction = BIG_TRANSACTION;
    write_measured(b, false, 0, 3 * (uint64_t)BIG_BATCH);
}

static void step_size(struct bench *b)
{
    struct stat st;
    if (stat(b->path, &st) != 0) fail(b, b->path);
    print(b, "MB", (double)st.st_size / 1e6);
}

/* ---- reading ----------------------------------------------------------------------------------
 */

static void take_value(struct bench *b, sqlite3_stmt *row, int column)
{
    sqlite3_stmt *from = row;
    bool is_large = sqlite3_column_type(row, column) == SQLITE_INTEGER;
    if (is_large) {
        from = b->large_get;
        sqlite3_bind_int64(from, 1, sqlite3_column_int64(row, column));
        if (sqlite3_step(from) != SQLITE_ROW) fail(b, "a value is not there");
        column = 0;
    }
    const uint8_t *data = sqlite3_column_blob(from, column);
    size_t len = (size_t)sqlite3_column_bytes(from, column);
    if (len == 0 || data[0] != data[len - 1]) fail(b, "a value is not what was written");
    b->bytes += len;
    if (is_large) sqlite3_reset(from);
}

static void get(struct bench *b, sqlite3_stmt *stmt)
{
    struct entry_key k;
    entry_key_set(&k, rng_below(&b->rng, b->entries));
    sqlite3_bind_blob(stmt, 1, k.bytes, (int)k.len, SQLITE_STATIC);
    if (sqlite3_step(stmt) != SQLITE_ROW) fail(b, "an entry is not there");
    b->bytes += (uint64_t)sqlite3_column_int64(stmt, 0);
    take_value(b, stmt, 2);
    sqlite3_reset(stmt);
}

/* Pages that SQLite had to read since the last call. */
static int misses(struct bench *b)
{
    int now = 0;
    int highest = 0;
    sqlite3_db_status(b->db, SQLITE_DBSTATUS_CACHE_MISS, &now, &highest, 1);
    return now;
}

/* The system's page cache has all of the file, or nothing. */
static void file_warm(struct bench *b, bool is_warm)
{
    static uint8_t block[1 << 20];
    int fd = open(b->path, O_RDONLY);
    if (fd < 0) fail(b, b->path);
    if (is_warm) {
        while (read(fd, block, sizeof block) > 0) {
        }
    } else {
        fsync(fd);
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    }
    close(fd);
}

static void read_some(struct bench *b, bool is_warm)
{
    char sql[80];
    int count = is_warm ? READS : READS_DISK;
    open_reader(b);
    snprintf(sql, sizeof sql, "SELECT ver,exp,v FROM %s WHERE k=?1", b->layout->table);
    sqlite3_stmt *stmt = prepare(b, sql);
    file_warm(b, true);
    for (int i = 0; i < READS / 4; i++) get(b, stmt);
    if (!is_warm) file_warm(b, false);
    misses(b);
    int64_t from_us = bench_now_us();
    for (int i = 0; i < count; i++) get(b, stmt);
    int64_t took_us = bench_now_us() - from_us;
    print(b, "reads/s", count * 1e6 / (double)took_us);
    print(b, "pages", (double)misses(b) / count);
    sqlite3_finalize(stmt);
    close_all(b);
}

static void step_read(struct bench *b)
{
    read_some(b, true);
}

static void step_disk(struct bench *b)
{
    read_some(b, false);
}

/* `rows` from each of `places`. */
static void scan(struct bench *b, const char *columns, int rows, int places, const char *what)
{
    static const uint8_t end[] = {KEY_HEAD(0, STORE_SPACE_COUNTED + 1)};
    char sql[120];
    bool has_value = strchr(columns, 'v') != NULL;
    uint64_t seen = 0;
    int pages = 0;
    int64_t from_us = 0;
    snprintf(sql, sizeof sql, "SELECT %s FROM %s WHERE k>=?1 AND k<?2 ORDER BY k", columns,
             b->layout->table);
    sqlite3_stmt *stmt = prepare(b, sql);
    for (int i = -places / 4; i < places; i++) { /* the first ones warm the cache */
        struct entry_key k;
        if (i <= 0) {
            seen = 0;
            misses(b);
            from_us = bench_now_us();
        }
        entry_key_set(&k, rng_below(&b->rng, b->entries));
        sqlite3_bind_blob(stmt, 1, k.bytes, (int)k.len, SQLITE_STATIC);
        sqlite3_bind_blob(stmt, 2, end, sizeof end, SQLITE_STATIC);
        for (int n = 0; n < rows && sqlite3_step(stmt) == SQLITE_ROW; n++) {
            b->bytes += (uint64_t)sqlite3_column_bytes(stmt, 0);
            b->bytes += (uint64_t)sqlite3_column_int64(stmt, 1);
            if (has_value) take_value(b, stmt, 3);
            seen++;
        }
        sqlite3_reset(stmt);
    }
    int64_t took_us = bench_now_us() - from_us;
    pages = misses(b);
    print(b, what, (double)seen * 1e6 / (double)took_us);
    snprintf(sql, sizeof sql, "%s-pages/100", what);
    print(b, sql, pages * 100.0 / (double)seen);
    sqlite3_finalize(stmt);
}

static void step_scan(struct bench *b)
{
    open_reader(b);
    file_warm(b, true);
    scan(b, "k,exp,ver,v", 100, 4000, "100");
    scan(b, "k,exp,ver,v", 10000, 40, "10000");
    close_all(b);
}

static void step_count(struct bench *b)
{
    open_reader(b);
    file_warm(b, true);
    scan(b, "k,exp", 10000, 80, "10000");
    close_all(b);
}

/* ---- main -------------------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    void (*run)(struct bench *b);
} steps[] = {{"load", step_load}, {"fill", step_fill}, {"write", step_write},
             {"big", step_big},   {"size", step_size}, {"read", step_read},
             {"disk", step_disk}, {"scan", step_scan}, {"count", step_count}};

static void step_run(struct bench *b, const char *name)
{
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (strcmp(name, steps[i].name) != 0) continue;
        b->step = steps[i].name;
        steps[i].run(b);
        return;
    }
    fail(b, "no such step; they are load fill write big size read disk scan count");
}

int main(int argc, char **argv)
{
    struct bench b = {0};
    if (argc < 7) fail(&b, "layout file entries value-bytes seed step ...");
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        if (strcmp(argv[1], layouts[i].name) == 0) b.layout = &layouts[i];
    }
    if (b.layout == NULL) fail(&b, "no such layout; they are A B C D D-exp A-plain A-mmap");
    b.path = argv[2];
    b.entries = strtoull(argv[3], NULL, 10);
    b.value_bytes = strtoull(argv[4], NULL, 10);
    if (b.entries < 10 || b.value_bytes > VALUE_BYTES_MAX) fail(&b, "entries or value-bytes");
    rng_init(&b.rng, strtoull(argv[5], NULL, 10));
    for (int i = 6; i < argc; i++) step_run(&b, argv[i]);
    return 0;
}
