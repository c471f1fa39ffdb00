#include "unit/http/metrics_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/start.h"
#include "request/login.h"
#include "request/observe.h"
#include "unit/db/db_help.h"

#define WORDS_MAX 32
#define TURNS_MAX 2000

/* ---- an env ---- */

static void on_write(struct client *c, struct slice bytes, uint64_t version)
{
    (void)c;
    (void)bytes;
    (void)version;
}

static void on_close(struct client *c)
{
    (void)c;
}

static void on_buffers(const struct client *c, size_t *input, size_t *output)
{
    (void)c;
    *input = *output = 0;
}

static const struct client_ops client_ops = {
    .write = on_write, .close = on_close, .buffers = on_buffers};

static void ignore_ready(struct waiter *w)
{
    (void)w;
}

static bool is_reading(struct mbench *t)
{
    return !engine_is_started(t->env.db->engine);
}

static void turn(struct mbench *t)
{
    command_turn(&t->env);
    (void)db_turn_end(t->env.db);
    db_poll(t->env.db);
    db_tick(t->env.db);
    command_tick(&t->env);
}

void mbench_turns(struct mbench *t)
{
    for (int i = 0; i < 50; i++) turn(t);
}

static void start(struct mbench *t)
{
    struct error e;
    struct db *db = NULL;
    struct db_options options = small_db(t->dir);
    options.pipeline.cache_bytes = 64 << 10;
    options.local.segment_bytes = 1 << 20;
    options.engine.txn_bytes_max = 100000;
    if (db_open(&options, &db, &e) != OK) fail_msg("%s", e.text);
    t->env = (struct env){.db = db,
                          .server.about = {.version = "1.2.3", .config_file = "", .executable = ""},
                          .settings = {.queue_prefetch = 16,
                                       .databases = 16,
                                       .clients_max = 100,
                                       .tracks_latency = true,
                                       .backup_dir = "/proc/nowhere"}};
    t->env.clients.list.next = t->env.clients.list.prev = &t->env.clients.list;
    t->env.server.about.started_ms = 1700000000123;
    command_init(&t->env);
    t->link = (struct link){.fd = -1};
    client_init(&t->client, &t->env, &t->link, &client_ops);
    client_init(&t->other, &t->env, &t->link, &client_ops);
    for (int i = 0; is_reading(t); i++) {
        if (i > TURNS_MAX) fail_msg("it is never read");
        turn(t);
    }
}

static void stop(struct mbench *t)
{
    struct error e;
    client_fini(&t->client, &t->env);
    client_fini(&t->other, &t->env);
    if (db_close(t->env.db, &e) != OK) fail_msg("%s", e.text);
    command_fini(&t->env);
}

void mbench_open(struct mbench *t)
{
    *t = (struct mbench){.options = {.names_max = 100}};
    snprintf(t->dir, sizeof t->dir, "/tmp/test_metrics.XXXXXX");
    assert_non_null(mkdtemp(t->dir));
    arena_init(&t->arena, 4096);
    buf_init(&t->scratch);
    buf_init(&t->reply);
    buf_init(&t->text);
    start(t);
}

void mbench_restart(struct mbench *t)
{
    mbench_turns(t);
    stop(t);
    start(t);
}

void mbench_close(struct mbench *t)
{
    char command[96];
    stop(t);
    arena_fini(&t->arena);
    buf_fini(&t->scratch);
    buf_fini(&t->reply);
    buf_fini(&t->text);
    snprintf(command, sizeof command, "rm -rf '%s'", t->dir);
    assert_int_equal(system(command), 0);
}

/* ---- commands ---- */

void mbench_only(struct mbench *t, struct slice *argv, size_t argc)
{
    struct waiter waiter = {.ready = ignore_ready};
    enum err r = ERR_WAIT;
    for (int i = 0; r == ERR_WAIT; i++) {
        if (i > TURNS_MAX) fail_msg("%.*s waits for ever", (int)argv[0].len, argv[0].data);
        if (i > 0) turn(t);
        buf_clear(&t->reply, SIZE_MAX);
        struct resp_writer w = {.out = &t->reply, .proto = 2};
        struct request rq = {.env = &t->env,
                             .client = &t->client,
                             .argv = argv,
                             .argc = argc,
                             .arena = &t->arena,
                             .scratch = &t->scratch,
                             .w = &w,
                             .waiter = &waiter};
        r = command_run(&rq);
    }
    assert_int_equal(r, OK);
    arena_reset(&t->arena);
    buf_append_byte(&t->reply, '\0');
}

const char *mbench_words(struct mbench *t, struct slice *argv, size_t argc)
{
    mbench_only(t, argv, argc);
    mbench_turns(t);
    return (const char *)t->reply.data;
}

const char *mbench_say(struct mbench *t, ...)
{
    struct slice argv[WORDS_MAX];
    size_t argc = 0;
    va_list words;
    va_start(words, t);
    for (const char *word; (word = va_arg(words, const char *)) != NULL;) {
        assert_true(argc < WORDS_MAX);
        argv[argc++] = slice_str(word);
    }
    va_end(words);
    return mbench_words(t, argv, argc);
}

void mbench_user(struct mbench *t, const char *rules)
{
    struct slice words[WORDS_MAX];
    struct slice name = slice_str("other");
    struct error e;
    char text[256];
    char *next = NULL;
    size_t count = 0;
    words[count++] = slice_str("reset");
    words[count++] = slice_str("on");
    words[count++] = slice_str("nopass");
    snprintf(text, sizeof text, "%s", rules);
    for (char *word = strtok_r(text, " ", &next); word != NULL; word = strtok_r(NULL, " ", &next)) {
        assert_true(count < WORDS_MAX);
        words[count++] = slice_str(word);
    }
    if (users_set(t->env.users.all, name, words, count, &e) != OK) fail_msg("%s", e.text);
    client_become(&t->other, users_find(t->env.users.all, name));
}

/* ---- what is told ---- */

static struct parsed write_form(struct mbench *t, struct client *c, bool is_openmetrics)
{
    t->options.is_openmetrics = is_openmetrics;
    buf_clear(&t->text, SIZE_MAX);
    metrics_write(&t->env, c, &t->options, &t->text);
    assert_false(t->text.is_failed);
    return parse_metrics(buf_slice(&t->text), is_openmetrics);
}

/* Time passes between the two. */
static bool moves_by_itself(const char *key)
{
    static const char *const names[] = {"tupled_cpu_seconds", "tupled_memory_resident",
                                        "tupled_queue_oldest_age_seconds"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strncmp(key, names[i], strlen(names[i])) == 0) return true;
    }
    return false;
}

struct parsed mbench_told_to(struct mbench *t, struct client *c)
{
    struct parsed other = write_form(t, c, true);
    struct parsed p = write_form(t, c, false);
    assert_int_equal(p.count, other.count);
    assert_int_equal(p.family_count, other.family_count);
    for (size_t i = 0; i < p.count; i++) {
        assert_string_equal(p.samples[i].key, other.samples[i].key);
        if (moves_by_itself(p.samples[i].key)) continue;
        if (p.samples[i].value != other.samples[i].value) fail_msg("%s", p.samples[i].key);
    }
    parsed_free(&other);
    return p;
}

struct parsed mbench_told(struct mbench *t)
{
    return mbench_told_to(t, &t->client);
}
