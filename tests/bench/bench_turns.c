/* bench_turns: every command at its limits, with the longest turn of the server's event loop and
 * the time until its reply (docs/turns.md).
 *
 *   bench_turns port rounds [word]
 *
 * The server's databases are emptied! Prints a table of Markdown for each group of turns_rows.c, or
 * for those rows that have `word` in their command. A figure is the median of so many rounds. The
 * longest turn is INFO's loop_turn_max_usec, processor time of the loop's thread, after a CONFIG
 * RESETSTAT. Ends with 1 when a command of COMMAND LIST has no row and is not among turns_small, or
 * when a row is answered with an error where it says none, or without one where it says one.
 */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "bench/help.h"
#include "bench/light.h"
#include "bench/turns.h"

#define ROUNDS_MAX 21
#define SETTLE_MS 10
#define CLIENTS_MAX 50
#define CROWD_READ_BYTES (1 << 20)

struct bench {
    const char *port;
    const char *only;   /* NULL = all rows */
    redisContext *side; /* prepares, asks for figures */
    int rounds;
    bool has_failed;
};

static void fail(const char *what, const char *text)
{
    fprintf(stderr, "bench_turns: %s: %.200s\n", what, text);
    exit(1);
}

static void pause_ms(long ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* ---- saying ---- */

/* What is not measured, on a connection of its own. */
static void prepare(struct bench *b, const char *text)
{
    if (text == NULL) return;
    struct buf out;
    buf_init(&out);
    struct light *l = light_open(b->port);
    long count = turns_render(&out, text, b->side);
    light_send(l, &out);
    light_take(l, count);
    if (light_error(l)[0] != '\0') {
        fprintf(stderr, "bench_turns: %.100s: %s\n", text, light_error(l));
        b->has_failed = true;
    }
    light_close(l);
    buf_fini(&out);
}

static void say(struct bench *b, const char *command)
{
    redisReply *r = redisCommand(b->side, command);
    if (r == NULL) fail(b->side->errstr, command);
    if (r->type == REDIS_REPLY_ERROR) fail(r->str, command);
    freeReplyObject(r);
}

static int64_t info(struct bench *b, const char *field)
{
    redisReply *r = redisCommand(b->side, "INFO");
    if (r == NULL || r->type != REDIS_REPLY_STRING) fail("INFO", field);
    char *at = strstr(r->str, field);
    if (at == NULL) fail("INFO has no", field);
    int64_t value = strtoll(at + strlen(field) + 1, NULL, 10);
    freeReplyObject(r);
    return value;
}

/* ---- a crowd: a process whose connections say something and read what comes ---- */

static void crowd_run(const struct bench *b, const struct turns_row *row, int ready)
{
    int count = row->crowd_clients;
    struct pollfd *polls = mem_new((size_t)count * sizeof *polls);
    char *bytes = mem_alloc(CROWD_READ_BYTES);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < count; i++) {
        struct buf out;
        buf_init(&out);
        struct light *l = light_open(b->port);
        long replies = turns_render(&out, row->crowd, NULL);
        if (row->crowd_replies != 0) replies = row->crowd_replies > 0 ? row->crowd_replies : 0;
        light_send(l, &out);
        light_take(l, replies);
        buf_fini(&out);
        polls[i] = (struct pollfd){.fd = light_fd(l), .events = POLLIN};
    }
    if (write(ready, "r", 1) != 1) exit(1);
    for (;;) {
        if (poll(polls, (nfds_t)count, -1) < 0) exit(1);
        for (int i = 0; i < count; i++) {
            if (polls[i].revents == 0) continue;
            if (read(polls[i].fd, bytes, CROWD_READ_BYTES) <= 0) polls[i].fd = -1;
        }
    }
}

/* 0 when the row has none. */
static pid_t crowd_start(const struct bench *b, const struct turns_row *row)
{
    int ends[2];
    char byte;
    if (row->crowd == NULL) return 0;
    fflush(stdout);
    if (pipe(ends) != 0) fail("pipe", strerror(errno));
    pid_t pid = fork();
    if (pid < 0) fail("fork", strerror(errno));
    if (pid == 0) {
        close(ends[0]);
        crowd_run(b, row, ends[1]);
    }
    close(ends[1]);
    if (read(ends[0], &byte, 1) != 1) fail("no crowd", row->crowd);
    close(ends[0]);
    return pid;
}

static void crowd_end(struct bench *b, pid_t pid)
{
    if (pid == 0) return;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    while (info(b, "connected_clients") > 1) pause_ms(10);
}

/* ---- measuring ---- */

/* Waits until the index is filled. */
static void wait_for_index(struct bench *b, const char *name)
{
    for (bool is_ready = false; !is_ready;) {
        redisReply *r = redisCommand(b->side, "KV.INDEX INFO %s", name);
        if (r == NULL || r->type != REDIS_REPLY_ARRAY) fail("KV.INDEX INFO", name);
        for (size_t i = 0; i < r->elements; i++) {
            const redisReply *x = r->element[i];
            if (x->type == REDIS_REPLY_STRING && strcmp(x->str, "ready") == 0) is_ready = true;
        }
        freeReplyObject(r);
        pause_ms(SETTLE_MS);
    }
}

/* The time until the last reply, in us. */
static int64_t send_row(struct bench *b, const struct turns_row *row, struct light **all)
{
    int clients = row->clients > 0 ? row->clients : 1;
    struct buf out;
    buf_init(&out);
    long count = turns_render(&out, row->text, b->side);
    if (row->replies > 0) count = row->replies;
    for (int i = 0; i < clients; i++) all[i] = light_open(b->port);
    pause_ms(SETTLE_MS);
    say(b, "CONFIG RESETSTAT");
    int64_t begun_us = bench_now_us();
    for (int i = 0; i < clients; i++) light_send(all[i], &out);
    for (int i = 0; i < clients; i++) light_take(all[i], count);
    int64_t took_us = bench_now_us() - begun_us;
    buf_fini(&out);
    return took_us;
}

static void measure(struct bench *b, const struct turns_row *row, int64_t *turn_us,
                    int64_t *reply_us)
{
    struct light *all[CLIENTS_MAX];
    prepare(b, row->before);
    pid_t crowd = crowd_start(b, row);
    *reply_us = send_row(b, row, all);
    pause_ms(row->settle_ms > 0 ? row->settle_ms : SETTLE_MS);
    if (row->fills != NULL) wait_for_index(b, row->fills);
    *turn_us = info(b, "loop_turn_max_usec");
    const char *error = light_error(all[0]);
    if (row->is_error != (error[0] != '\0')) {
        fprintf(stderr, "bench_turns: %.100s: %s\n", row->text, row->is_error ? "no error" : error);
        b->has_failed = true;
    }
    for (int i = 0; i < row->clients || i < 1; i++) light_close(all[i]);
    crowd_end(b, crowd);
}

/* As it is typed: "kv.queue|list exec" is KV.QUEUE LIST, EXEC. */
static void print_names(const char *names)
{
    for (const char *p = names; *p != '\0'; p++) {
        if (*p == ' ')
            printf(", ");
        else
            putchar(*p == '|' ? ' ' : toupper((unsigned char)*p));
    }
}

static double median_ms(int64_t *us, int count)
{
    qsort(us, (size_t)count, sizeof *us, bench_by_value);
    return (double)us[count / 2] / 1000;
}

static void measure_row(struct bench *b, const struct turns_row *row)
{
    int64_t turns[ROUNDS_MAX];
    int64_t replies[ROUNDS_MAX];
    int rounds = row->is_once ? 1 : b->rounds;
    for (int i = 0; i < rounds; i++) measure(b, row, &turns[i], &replies[i]);
    printf("| ");
    print_names(row->command);
    printf(" | %s%s%s | %.1f | %.1f |\n", row->given, row->is_error ? " (an error)" : "",
           row->is_once ? " (once)" : "", median_ms(turns, rounds), median_ms(replies, rounds));
    fflush(stdout);
}

static bool is_wanted(const struct bench *b, const struct turns_row *row)
{
    return b->only == NULL || strcasestr(row->command, b->only) != NULL;
}

static void measure_group(struct bench *b, const struct turns_group *g)
{
    size_t wanted = 0;
    for (size_t i = 0; i < g->row_count; i++) wanted += is_wanted(b, &g->rows[i]);
    if (wanted == 0) return;
    say(b, "FLUSHALL");
    prepare(b, g->before);
    pause_ms(200);
    printf("## %s\n\n| command | given | longest turn, ms | reply after, ms |\n"
           "| --- | --- | --: | --: |\n",
           g->title);
    for (size_t i = 0; i < g->row_count; i++) {
        if (is_wanted(b, &g->rows[i])) measure_row(b, &g->rows[i]);
    }
    printf("\n");
}

/* ---- is every command there? ---- */

/* Is the name one of the words of the list? */
static bool is_among(const char *name, const char *list)
{
    size_t len = strlen(name);
    for (const char *p = list; *p != '\0';) {
        size_t n = strcspn(p, " ");
        if (n == len && strncasecmp(p, name, len) == 0) return true;
        p += n + (p[n] == ' ');
    }
    return false;
}

static bool is_of_groups(const char *name, const struct turns_group *groups, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < groups[i].row_count; j++) {
            if (is_among(name, groups[i].rows[j].command)) return true;
        }
    }
    return false;
}

static bool is_known(const char *name)
{
    if (is_of_groups(name, turns_groups, turns_group_count)) return true;
    if (is_of_groups(name, turns_types, turns_type_count)) return true;
    for (size_t i = 0; i < turns_small_count; i++) {
        if (is_among(name, turns_small[i].commands)) return true;
    }
    return false;
}

static void look_for_commands(struct bench *b)
{
    redisReply *r = redisCommand(b->side, "COMMAND LIST");
    if (r == NULL || r->type != REDIS_REPLY_ARRAY) fail("COMMAND LIST", "no array");
    for (size_t i = 0; i < r->elements; i++) {
        const char *name = r->element[i]->str;
        if (is_known(name)) continue;
        fprintf(stderr, "bench_turns: %s has no row\n", name);
        b->has_failed = true;
    }
    freeReplyObject(r);
}

static void print_small(void)
{
    printf("## Without a row\n\n| commands | why |\n| --- | --- |\n");
    for (size_t i = 0; i < turns_small_count; i++) {
        printf("| ");
        print_names(turns_small[i].commands);
        printf(" | %s |\n", turns_small[i].why);
    }
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: bench_turns port rounds [word]\n");
        return 2;
    }
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    struct bench b = {.port = argv[1], .only = argc == 4 ? argv[3] : NULL};
    b.rounds = (int)strtol(argv[2], NULL, 10);
    if (b.rounds < 1 || b.rounds > ROUNDS_MAX) fail("rounds must be from 1 to 21, not", argv[2]);
    b.side = bench_connect(b.port);
    look_for_commands(&b);
    for (size_t i = 0; i < turns_group_count; i++) measure_group(&b, &turns_groups[i]);
    for (size_t i = 0; i < turns_type_count; i++) measure_group(&b, &turns_types[i]);
    if (b.only == NULL) print_small();
    redisFree(b.side);
    return b.has_failed ? 1 : 0;
}
