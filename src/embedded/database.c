/* database: opening and closing. The engine is put together as the server does it, with options in
 * place of settings; its threads, and ours, have all signals blocked from their first moment.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/random.h"
#include "embedded/embedded_int.h"
#include "request/backup.h"
#include "tupled.h"

#define KB (UINT64_C(1) << 10)
#define MB (UINT64_C(1) << 20)
#define GB (UINT64_C(1) << 30)
#define ARENA_CHUNK_BYTES (64 * 1024)

/* ---- options ---- */

static const struct tupled_options defaults = {
    .struct_bytes = sizeof defaults,
    .durability_interval_ms = 1000,
    .cache_bytes = 256 * MB,
    .store_cache_bytes = 64 * MB,
    .memtable_bytes = 64 * MB,
    .memtable_age_ms = 5000,
    .write_buffer_bytes = 256 * MB,
    .journal_segment_bytes = 96 * MB,
    .changes_retention_ms = 86400000,
    .changes_retention_bytes = GB,
    .value_bytes_max = 16 * MB,
    .transaction_bytes_max = 64 * MB,
    .transaction_ops_max = 20000,
    .queue_lease_ms = 30000,
    .query_threads = 2,
    .databases = 16,
    .log_level = TUPLED_LOG_NOTICE,
};

void tupled_options_init_sized(struct tupled_options *o, size_t struct_bytes)
{
    size_t n = struct_bytes < sizeof defaults ? struct_bytes : sizeof defaults;
    memset(o, 0, struct_bytes);
    memcpy(o, &defaults, n);
    o->struct_bytes = struct_bytes;
}

static enum err check_number(const char *name, uint64_t value, uint64_t lo, uint64_t hi,
                             struct error *e)
{
    if (value >= lo && value <= hi) return OK;
    return error_set(e, ERR_SYNTAX, "option %s must be between %llu and %llu, not %llu", name,
                     (unsigned long long)lo, (unsigned long long)hi, (unsigned long long)value);
}

static enum err check_options(const struct tupled_options *o, struct error *e)
{
    const uint64_t any = INT64_MAX / 2;
    const struct {
        const char *name;
        uint64_t value, lo, hi;
    } rows[] = {
        {"durability", o->durability, TUPLED_ALWAYS, TUPLED_NEVER},
        {"format", o->format, TUPLED_JSON, TUPLED_MSGPACK},
        {"durability_interval_ms", o->durability_interval_ms, 1, 60000},
        {"cache_bytes", o->cache_bytes, 0, any},
        {"store_cache_bytes", o->store_cache_bytes, MB, any},
        {"memtable_bytes", o->memtable_bytes, MB, 4 * GB},
        {"memtable_age_ms", o->memtable_age_ms, 1, any},
        {"write_buffer_bytes", o->write_buffer_bytes, MB, any},
        {"journal_segment_bytes", o->journal_segment_bytes, 4 * MB, 4 * GB},
        {"changes_retention_ms", o->changes_retention_ms, 0, any},
        {"changes_retention_bytes", o->changes_retention_bytes, 0, any},
        {"value_bytes_max", o->value_bytes_max, KB, 256 * MB},
        {"transaction_bytes_max", o->transaction_bytes_max, 64 * KB, GB},
        {"transaction_ops_max", o->transaction_ops_max, 1, 1000000},
        {"queue_lease_ms", o->queue_lease_ms, 1, any},
        {"query_threads", o->query_threads, 1, 64},
        {"databases", o->databases, 1, 16},
        {"database", o->database, 0, o->databases - 1},
        {"log_level", o->log_level, TUPLED_LOG_DEBUG, TUPLED_LOG_WARNING},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum err r = check_number(rows[i].name, rows[i].value, rows[i].lo, rows[i].hi, e);
        if (r != OK) return r;
    }
    return OK;
}

/* What a program knows that was made with another version of the header. */
static enum err take_options(struct tupled_db *db, const struct tupled_options *given,
                             struct error *e)
{
    size_t least = offsetof(struct tupled_options, log_level);
    db->options = defaults;
    if (given == NULL) return OK;
    if (given->struct_bytes < least || given->struct_bytes > 16 * sizeof defaults) {
        return error_set(e, ERR_SYNTAX,
                         "the options were not initialized with tupled_options_init");
    }
    memcpy(&db->options, given,
           given->struct_bytes < sizeof defaults ? given->struct_bytes : sizeof defaults);
    return check_options(&db->options, e);
}

/* ---- the engine ---- */

static void on_wake(void *arg)
{
    db_wake((struct tupled_db *)arg);
}

/* From inside of the engine: what follows of it comes when that has returned. */
static void on_fatal(void *arg, const struct error *e)
{
    struct tupled_db *db = arg;
    if (db->failure.code == OK) db->failure = *e;
}

static void on_log(void *arg, enum log_level level, const char *text)
{
    const struct tupled_db *db = arg;
    db->options.log(db->options.log_arg, (enum tupled_log_level)level, text);
}

static struct db_options engine_options(struct tupled_db *db, const char *dir)
{
    const struct tupled_options *o = &db->options;
    uint64_t possible = o->journal_segment_bytes / 3 * 2;
    bool is_interval = o->durability == TUPLED_INTERVAL;
    return (struct db_options){
        .pipeline = {.memtable_bytes = o->memtable_bytes,
                     .memtable_age_ms = (int64_t)o->memtable_age_ms,
                     .write_buffer_bytes = o->write_buffer_bytes,
                     .cache_bytes = o->cache_bytes,
                     .query_threads = o->query_threads,
                     .scan_ms_max = 60000,
                     .wake = on_wake,
                     .on_fatal = on_fatal,
                     .arg = db},
        .local = {.dir = dir,
                  .durability = o->durability == TUPLED_ALWAYS ? DURABILITY_ALWAYS
                                : is_interval                  ? DURABILITY_INTERVAL
                                                               : DURABILITY_NEVER,
                  .interval_ms = is_interval ? (unsigned)o->durability_interval_ms : 0,
                  .segment_bytes = o->journal_segment_bytes,
                  .retention_ms = (int64_t)o->changes_retention_ms,
                  .retention_bytes = o->changes_retention_bytes,
                  .store_cache_bytes = o->store_cache_bytes},
        .engine = {.value_bytes_max = o->value_bytes_max,
                   .txn_bytes_max = o->transaction_bytes_max < possible ? o->transaction_bytes_max
                                                                        : possible,
                   .ops_max = o->transaction_ops_max,
                   .expire_batch = 1000,
                   .idem_window_ms = 600000,
                   .idem_entries_max = 1000000},
        .queues = {.lease_ms = (int64_t)o->queue_lease_ms,
                   .dedup_window_ms = 300000,
                   .dedup_entries_max = 1000000,
                   .dead_age_ms = INT64_C(1209600000),
                   .dead_length = 10000},
        .collections = {.pack_bytes = PACK_BYTES_DEFAULT, .counted_bytes = COUNTED_BYTES_DEFAULT},
        .databases = (unsigned)o->databases,
        .on_durable = db_on_durable_reached,
        .on_durable_arg = db};
}

static size_t no_settings(void *arg)
{
    (void)arg;
    return 0;
}

static void on_shutdown(void *arg)
{
    (void)arg; /* refused before it gets here */
}

static const struct server_ops server_ops = {
    .shutdown = on_shutdown,
    .config_count = no_settings,
};

static void fill_env(struct tupled_db *db, const char *dir)
{
    struct env *env = &db->env;
    uint8_t id[20];
    random_system(id, sizeof id);
    for (size_t i = 0; i < sizeof id; i++)
        snprintf(env->server.about.run_id + 2 * i, 3, "%02x", id[i]);
    buf_printf(&db->backup_dir, "%s/backups", dir);
    buf_append_byte(&db->backup_dir, '\0');
    buf_require(&db->backup_dir);
    env->settings.backup_dir = (const char *)db->backup_dir.data;
    env->server.wake = on_wake;
    env->server.wake_arg = db;
    command_init(env);
    env->server.about.version = TUPLED_VERSION;
    env->server.about.config_file = "";
    env->server.about.executable = "";
    env->settings.databases = (uint16_t)db->options.databases;
    env->settings.default_format = db->options.format == TUPLED_MSGPACK ? FORMAT_MSGPACK
                                                                        : FORMAT_JSON;
    env->settings.clients_max = UINT32_MAX;
    env->server.about.started_ms = clock_wall_ms();
    env->settings.slowlog_slower_than_us = 10000;
    env->settings.slowlog_max = 128;
    env->server.arg = db;
    env->server.ops = &server_ops;
    backup_remove_parts(env->settings.backup_dir);
}

/* ---- opening ---- */

static enum err open_poll(struct tupled_db *db, struct error *e)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    struct itimerspec first = {.it_value = {.tv_nsec = 1}}; /* each tick sets the next */
    db->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    db->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    db->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    bool is_good = db->poll_fd >= 0 && db->wake_fd >= 0 && db->timer_fd >= 0 &&
                   epoll_ctl(db->poll_fd, EPOLL_CTL_ADD, db->wake_fd, &event) == 0 &&
                   epoll_ctl(db->poll_fd, EPOLL_CTL_ADD, db->timer_fd, &event) == 0 &&
                   timerfd_settime(db->timer_fd, 0, &first, NULL) == 0;
    if (is_good) return OK;
    return error_set(e, ERR_IO, "cannot create an event descriptor: %s", strerror(errno));
}

/* NULL: there is no memory. */
static struct tupled_db *db_new(void)
{
    struct tupled_db *db = mem_new_try(sizeof *db);
    if (db == NULL) return NULL;
    db->poll_fd = db->wake_fd = db->timer_fd = -1;
    pthread_mutex_init(&db->lock, NULL);
    pthread_mutex_init(&db->queue_lock, NULL);
    pthread_cond_init(&db->idle, NULL);
    pthread_cond_init(&db->news, NULL);
    db->queue_last = &db->queue_first;
    db->done_last = &db->done_first;
    db->frame_last = &db->frame_first;
    RING_INIT(&db->ready, next, prev);
    RING_INIT(&db->parked, next, prev);
    RING_INIT(&db->held, next, prev);
    RING_INIT(&db->env.clients.list, next, prev);
    arena_init(&db->arena, ARENA_CHUNK_BYTES);
    host_init(&db->host);
    host_inherit(&db->host, host_used());
    db->host.log = &db->sink;
    db->host.on_broken = db_on_broken;
    db->host.arg = db;
    return db;
}

static void close_poll(struct tupled_db *db)
{
    if (db->poll_fd >= 0) (void)close(db->poll_fd);
    if (db->wake_fd >= 0) (void)close(db->wake_fd);
    if (db->timer_fd >= 0) (void)close(db->timer_fd);
}

static void db_free(struct tupled_db *db)
{
    close_poll(db);
    host_fini(&db->host);
    buf_fini(&db->backup_dir);
    buf_fini(&db->scratch);
    arena_fini(&db->arena);
    pthread_cond_destroy(&db->idle);
    pthread_cond_destroy(&db->news);
    pthread_mutex_destroy(&db->queue_lock);
    pthread_mutex_destroy(&db->lock);
    mem_free(db);
}

/* Of one that is broken, in which no thread of ours or of the program's is any more: threads,
 * files, locks. Its memory is lost, as it is not known what of it is whole. */
static void db_give_up(struct tupled_db *db)
{
    host_give_back(&db->host);
    close_poll(db);
    host_fini(&db->host);
    mem_free(db);
}

static void end_callbacks(struct tupled_db *db)
{
    pthread_mutex_lock(&db->lock);
    db->are_callbacks_over = true;
    pthread_cond_signal(&db->news);
    pthread_mutex_unlock(&db->lock);
    pthread_join(db->callback_thread, NULL);
}

static enum err start_threads(struct tupled_db *db, struct error *e)
{
    if (db->options.is_driven != 0) return OK;
    int code = pthread_create(&db->callback_thread, NULL, db_callback_thread, db);
    if (code == 0) {
        (void)pthread_setname_np(db->callback_thread, "callbacks");
        code = pthread_create(&db->thread, NULL, db_thread, db);
        if (code != 0) end_callbacks(db);
    }
    if (code == 0) (void)pthread_setname_np(db->thread, "tupled");
    if (code == 0) return OK;
    return error_set(e, ERR_IO, "cannot start a thread: %s", strerror(code));
}

struct opening {
    struct tupled_db *db;
    const char *dir;
    enum err result;
    struct error error;
};

static void open_engine(void *arg)
{
    struct opening *o = arg;
    struct tupled_db *db = o->db;
    struct db_options engine = engine_options(db, o->dir);
    o->result = db_open(&engine, &db->env.db, &o->error);
    if (o->result != OK) return;
    fill_env(db, o->dir);
    db->durable = db_durable(db->env.db);
    o->result = start_threads(db, &o->error);
    if (o->result == OK) return;
    db_abandon(db->env.db); /* nothing was written */
    command_fini(&db->env);
}

/* Its threads have all signals blocked from their first moment. False: it broke. */
static bool open_quietly(struct opening *o)
{
    struct tupled_db *db = o->db;
    sigset_t all;
    sigset_t before;
    db->sink = (struct log_sink){.line = db->options.log == NULL ? NULL : on_log,
                                 .arg = db,
                                 .least = (enum log_level)db->options.log_level};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_whole = db_guard(db, open_engine, o);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_whole;
}

int tupled_open(const char *dir, const struct tupled_options *o, struct tupled_db **out,
                struct tupled_error *e)
{
    *out = NULL;
    if (dir == NULL || dir[0] == '\0' || strlen(dir) > 4000) {
        return error_give(e, ERR_SYNTAX, "the name of the directory must have 1 to 4000 bytes");
    }
    struct tupled_db *db = db_new();
    if (db == NULL) return error_give(e, ERR_NOMEM, "out of memory for a database");
    struct opening opening = {.db = db, .dir = dir};
    opening.result = take_options(db, o, &opening.error);
    if (opening.result == OK) opening.result = open_poll(db, &opening.error);
    if (opening.result == OK && !open_quietly(&opening)) {
        (void)db_broken(db, e);
        db_give_up(db);
        return TUPLED_FAILED;
    }
    if (opening.result != OK) {
        db_free(db);
        return error_give(e, opening.result, opening.error.text);
    }
    error_none(e);
    *out = db;
    return TUPLED_YES;
}

/* ---- closing ---- */

static void begin_closing(void *arg)
{
    struct tupled_db *db = arg;
    db_enter(db);
    db->is_closing = true;
    db_leave(db);
}

static void deliver_rest(void *arg)
{
    struct tupled_db *db = arg;
    while (db->has_news) (void)db_deliver(db);
}

/* No call begins any more, those that wait end, those that were carried out get their results. */
static void end_calls(struct tupled_db *db)
{
    pthread_mutex_lock(&db->queue_lock);
    db->is_closed_to_calls = true;
    pthread_mutex_unlock(&db->queue_lock);
    (void)db_guard(db, begin_closing, db);
    if (db->options.is_driven != 0) {
        (void)db_thread(db);
        (void)db_guard(db, deliver_rest, db); /* no other thread is here any more */
    } else {
        db_wake(db);
        pthread_join(db->thread, NULL);
        end_callbacks(db);
    }
    /* They have their results, and need no more than a processor to be out of here. */
    while (__atomic_load_n(&db->users, __ATOMIC_ACQUIRE) > 0) sched_yield();
}

static void end_seats(struct tupled_db *db)
{
    while (db->watches != NULL) {
        struct tupled_watch *w = db->watches;
        STACK_UNLINK(db->watches, w, next, prev);
        frames_drop(w);
        if (w->seat != NULL) seat_free(w->seat);
        mem_free(w);
    }
    while (db->sessions != NULL) {
        struct tupled_session *s = db->sessions;
        STACK_UNLINK(db->sessions, s, next, prev);
        seat_free(s->seat);
        mem_free(s);
    }
    seats_free(db);
}

static void close_engine(void *arg)
{
    struct opening *o = arg;
    struct tupled_db *db = o->db;
    if (db_is_broken(db)) host_leave();
    db->env.server.is_stopping = true;
    end_seats(db);
    if (db->failure.code == OK) {
        (void)db_turn_end(db->env.db);
        o->result = db_close(db->env.db, &o->error);
    } else {
        db_abandon(db->env.db);
    }
    command_fini(&db->env);
}

int tupled_close(struct tupled_db *db, struct tupled_error *e)
{
    struct opening closing = {.db = db};
    error_none(e);
    if (db == NULL) return TUPLED_YES;
    pthread_mutex_lock(&db->lock);
    bool is_inside = db->delivering_depth > 0 && pthread_equal(db->deliverer, pthread_self()) != 0;
    pthread_mutex_unlock(&db->lock);
    if (is_inside) {
        return error_give(e, ERR_SYNTAX, "tupled_close was called from a callback");
    }
    end_calls(db);
    if (!db_guard(db, close_engine, &closing)) {
        (void)db_broken(db, e);
        db_give_up(db);
        return TUPLED_FAILED;
    }
    db_free(db);
    return closing.result == OK ? TUPLED_YES : error_give(e, closing.result, closing.error.text);
}

/* ---- driven by the caller ---- */

int tupled_fd(const struct tupled_db *db)
{
    return db->options.is_driven != 0 ? db->poll_fd : -1;
}

struct driven_turn {
    struct tupled_db *db;
    struct error failure;
    bool has_more;
};

static void take_turn(void *arg)
{
    struct driven_turn *t = arg;
    struct tupled_db *db = t->db;
    struct epoll_event events[2];
    (void)epoll_wait(db->poll_fd, events, 2, 0);
    __atomic_store_n(&db->is_woken, 0, __ATOMIC_RELEASE);
    db_take(db);
    db_turn(db);
    t->failure = db->failure;
    db_leave(db);
    t->has_more = db_deliver(db);
}

int tupled_turn(struct tupled_db *db, struct tupled_error *e)
{
    struct driven_turn t = {.db = db};
    if (db->options.is_driven == 0) {
        return error_give(e, ERR_SYNTAX,
                          "the database runs its own thread; it was not opened with is_driven");
    }
    error_none(e);
    if (!db_guard(db, take_turn, &t)) return db_broken(db, e);
    if (t.failure.code != OK) return error_give(e, t.failure.code, t.failure.text);
    return t.has_more ? TUPLED_YES : TUPLED_NO;
}

void tupled_free(void *p)
{
    mem_free(p);
}
