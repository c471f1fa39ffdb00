/* docs/redis-commands.md beside a real Redis: what its rows say of each command is so.
 *
 * redis-tests/redis_commands.txt has the commands. Each is sent to a server of ours and to Redis 7:
 *
 *   ## title          fresh connections, to an empty database of each
 *   GET a             both answer the same, errors too
 *       both :*       both answer what fits the pattern, where that need not be the same
 *       here raw      ours answers what fits, and Redis does not
 *   2> PUBLISH a b    sent by a second connection
 *   next              the first one's next reply, without a command: a message
 *   & EVAL ...        sent by the first one; its reply is not read yet. A KILL that follows is sent
 *                     again until there is something to kill
 *
 * Words are separated by blanks. One in "..." may have blanks in it, and \n, \", \\ and \xff.
 * Patterns are those of client.h. The elements of what KEYS, SCAN and PUBSUB CHANNELS answer are
 * sorted.
 *
 * A row that says "same" must have a command in the file and no `here`; one that says "differs"
 * must have a `here` for each of its commands. So a difference that is gone, or is new, fails.
 * What Redis has and we have not stands in the page's last table.
 */
#include <ctype.h>
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/time.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "real_redis.h"

#define DOC "docs/redis-commands.md"
#define DATA "redis-tests/redis_commands.txt"
#define NAMES_MAX 400
#define WORDS_MAX 64
#define LINE_BYTES 8192
#define WAIT_S 60
#define CLOSED "(closed)" /* in place of a reply */

/* ---- the commands ---- */

struct name {
    char text[40]; /* "get", "config|get" */
    bool has_row, differs;
    bool has_test, has_here;
};
static struct name names[NAMES_MAX];
static size_t name_count;
static char *missing[NAMES_MAX]; /* patterns: "HSET", "CLUSTER|*" */
static size_t missing_count;

static struct name *name_find(const char *text)
{
    for (size_t i = 0; i < name_count; i++) {
        if (strcasecmp(names[i].text, text) == 0) return &names[i];
    }
    return NULL;
}

static bool has_subcommands(const redisReply *list, const char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < list->elements; i++) {
        const char *other = list->element[i]->str;
        if (strncasecmp(other, text, len) == 0 && other[len] == '|') return true;
    }
    return false;
}

/* All of ours but those of no Redis; a command with subcommands is its subcommands. */
static void names_load(redisContext *c)
{
    redisReply *list = redisCommand(c, "COMMAND LIST");
    assert_non_null(list);
    for (size_t i = 0; i < list->elements; i++) {
        const char *text = list->element[i]->str;
        if (strncasecmp(text, "kv.", 3) == 0 || has_subcommands(list, text)) continue;
        assert_true(name_count < NAMES_MAX);
        snprintf(names[name_count++].text, sizeof names[0].text, "%s", text);
    }
    freeReplyObject(list);
    assert_true(name_count > 150);
}

/* ---- the page ---- */

enum verdict { ROW_SAME, ROW_DIFFERS, ROW_MISSING };

static void row_names(const char *command, enum verdict verdict)
{
    struct name *n = name_find(command);
    if (verdict == ROW_MISSING) {
        if (n != NULL) fail_msg(DOC ": %s is there", command);
        assert_true(missing_count < NAMES_MAX);
        missing[missing_count++] = strdup(command);
        return;
    }
    if (n == NULL) fail_msg(DOC ": there is no command %s", command);
    if (n->has_row) fail_msg(DOC ": %s has two rows", command);
    n->has_row = true;
    n->differs = verdict == ROW_DIFFERS;
}

/* `GET`, `CONFIG GET SET`: the words after the first are subcommands. */
static void row_load(char *commands, enum verdict verdict)
{
    char *rest, *mark;
    for (char *part = strtok_r(commands, "`", &mark); part; part = strtok_r(NULL, "`", &mark)) {
        if (!isupper((unsigned char)part[0])) continue;
        char *word = strtok_r(part, " ", &rest);
        char *sub = strtok_r(NULL, " ", &rest);
        if (sub == NULL) row_names(word, verdict);
        for (; sub != NULL; sub = strtok_r(NULL, " ", &rest)) {
            char full[80];
            snprintf(full, sizeof full, "%s|%s", word, sub);
            row_names(full, verdict);
        }
    }
}

static void page_load(void)
{
    char line[LINE_BYTES];
    bool is_missing = false;
    FILE *f = fopen(DOC, "r");
    if (f == NULL) fail_msg("cannot read " DOC);
    while (fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, "## Not there", 12) == 0) is_missing = true;
        char *end = strstr(line + 1, " | ");
        if (strncmp(line, "| `", 3) != 0 || end == NULL) continue;
        enum verdict verdict = is_missing                               ? ROW_MISSING
                               : strncmp(end, " | same |", 9) == 0      ? ROW_SAME
                               : strncmp(end, " | differs | ", 13) == 0 ? ROW_DIFFERS
                                                                        : ROW_MISSING;
        if (verdict == ROW_MISSING && !is_missing) fail_msg(DOC ": same or differs? %s", line);
        *end = '\0';
        row_load(line, verdict);
    }
    fclose(f);
}

/* ---- the commands of the file ---- */

enum rule { SAME, BOTH, HERE };

struct line {
    char title[120];
    char text[LINE_BYTES]; /* as it is written */
    bool by_second, is_next, is_sent;
    char bytes[LINE_BYTES]; /* of the words */
    const char *words[WORDS_MAX];
    size_t lens[WORDS_MAX];
    int word_count;
    enum rule rule;
    char pattern[LINE_BYTES];
};

static char escaped(const char **at)
{
    char hex[3] = "";
    (*at)++;
    if (**at == 'n') return '\n';
    if (**at == 'r') return '\r';
    if (**at != 'x') return **at;
    memcpy(hex, *at + 1, 2);
    *at += 2;
    return (char)strtol(hex, NULL, 16);
}

static void line_split(struct line *l, const char *at)
{
    char *to = l->bytes;
    l->word_count = 0;
    for (;;) {
        while (*at == ' ') at++;
        if (*at == '\0') return;
        assert_true(l->word_count < WORDS_MAX);
        const char *begin = to;
        bool is_quoted = *at == '"';
        if (is_quoted) at++;
        for (; *at != '\0' && *at != (is_quoted ? '"' : ' '); at++) {
            *to++ = is_quoted && *at == '\\' ? escaped(&at) : *at;
        }
        if (is_quoted && *at++ == '\0') fail_msg(DATA ": no end of a word: %s", l->text);
        l->words[l->word_count] = begin;
        l->lens[l->word_count++] = (size_t)(to - begin);
        *to++ = '\0';
    }
}

static struct name *line_command(const struct line *l)
{
    char full[120];
    if (l->word_count > 1) {
        snprintf(full, sizeof full, "%.50s|%.50s", l->words[0], l->words[1]);
        struct name *n = name_find(full);
        if (n != NULL) return n;
    }
    return name_find(l->words[0]);
}

/* The next command, with its pattern; false at the end. A title is kept until the next one. */
static bool line_read(FILE *f, struct line *l)
{
    char text[LINE_BYTES];
    do {
        if (fgets(text, sizeof text, f) == NULL) return false;
        text[strcspn(text, "\n")] = '\0';
        if (strncmp(text, "## ", 3) == 0) snprintf(l->title, sizeof l->title, "%.100s", text + 3);
    } while (text[0] == '#' || text[0] == '\0');
    if (text[0] == ' ') fail_msg(DATA ": a pattern of nothing: %s", text);
    memcpy(l->text, text, sizeof text);
    l->by_second = strncmp(text, "2> ", 3) == 0;
    l->is_next = strcmp(text, "next") == 0;
    l->is_sent = strncmp(text, "& ", 2) == 0;
    line_split(l, text + (l->by_second ? 3 : l->is_sent ? 2 : 0));
    l->rule = SAME;
    long place = ftell(f);
    if (fgets(text, sizeof text, f) == NULL) return true;
    text[strcspn(text, "\n")] = '\0';
    if (strncmp(text, "    both ", 9) == 0) {
        l->rule = BOTH;
    } else if (strncmp(text, "    here ", 9) == 0) {
        l->rule = HERE;
    } else {
        fseek(f, place, SEEK_SET);
        return true;
    }
    snprintf(l->pattern, sizeof l->pattern, "%s", text + 9);
    return true;
}

static FILE *data_open(void)
{
    FILE *f = fopen(DATA, "r");
    if (f == NULL) fail_msg("cannot read " DATA);
    return f;
}

static void data_load(void)
{
    static struct line l;
    FILE *f = data_open();
    while (line_read(f, &l)) {
        struct name *n = l.is_next ? NULL : line_command(&l);
        if (n == NULL) continue;
        n->has_test = true;
        n->has_here |= l.rule == HERE;
    }
    fclose(f);
}

/* ---- replies ---- */

static char *reply_flat(redisReply *r, bool is_sorted);

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void write_elements(FILE *f, redisReply *r, bool is_sorted)
{
    char **texts = calloc(r->elements + 1, sizeof *texts);
    assert_non_null(texts);
    for (size_t i = 0; i < r->elements; i++) texts[i] = reply_flat(r->element[i], is_sorted);
    if (is_sorted) qsort(texts, r->elements, sizeof *texts, by_text);
    fputc('[', f);
    for (size_t i = 0; i < r->elements; i++) {
        fprintf(f, "%s%s", i > 0 ? " " : "", texts[i]);
        free(texts[i]);
    }
    fputc(']', f);
    free(texts);
}

static void write_text(FILE *f, const redisReply *r)
{
    for (size_t i = 0; i < r->len; i++) {
        unsigned char c = (unsigned char)r->str[i];
        if (isprint(c))
            fputc(c, f);
        else
            fprintf(f, "\\x%02x", c);
    }
}

/* As client.h shows it. Free it. */
static char *reply_flat(redisReply *r, bool is_sorted)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    assert_non_null(f);
    if (r == NULL) {
        fputs(CLOSED, f);
    } else if (r->type == REDIS_REPLY_INTEGER) {
        fprintf(f, ":%lld", r->integer);
    } else if (r->type == REDIS_REPLY_NIL) {
        fputs("(nil)", f);
    } else if (r->str == NULL) {
        write_elements(f, r, is_sorted);
    } else {
        if (r->type == REDIS_REPLY_STATUS) fputc('+', f);
        if (r->type == REDIS_REPLY_ERROR) fputc('-', f);
        write_text(f, r);
    }
    fclose(f);
    return text;
}

static void *reply_to(redisContext *by, const struct line *l)
{
    void *r = NULL;
    int is_done = 0;
    const char **words = (const char **)l->words;
    if (l->is_sent) {
        redisAppendCommandArgv(by, l->word_count, words, l->lens);
        while (!is_done && redisBufferWrite(by, &is_done) == REDIS_OK) {
        }
    } else if (!l->is_next) {
        r = redisCommandArgv(by, l->word_count, words, l->lens);
    } else if (redisGetReply(by, &r) != REDIS_OK) {
        r = NULL;
    }
    return r;
}

/* The reply to a line as text. A kill is tried again while there is nothing to kill yet. */
static char *told(redisContext *by, const struct line *l, bool is_kill)
{
    bool is_sorted = strcmp(l->words[0], "KEYS") == 0 || strcmp(l->words[0], "SCAN") == 0 ||
                     strncmp(l->text, "PUBSUB CHANNELS", 15) == 0;
    long until = testserver_now_ms() + WAIT_S * 1000;
    for (;;) {
        redisReply *r = reply_to(by, l);
        char *text = l->is_sent ? strdup("(sent)") : reply_flat(r, is_sorted);
        freeReplyObject(r);
        bool is_early = is_kill && strncmp(text, "-NOTBUSY", 8) == 0;
        if (!is_early || testserver_now_ms() > until) return text;
        free(text);
        testserver_pause();
    }
}

/* ---- both servers ---- */

static redisContext *ours[2], *theirs[2];
static char socket_path[120];

static void disconnect(void)
{
    for (int i = 0; i < 2; i++) {
        redisFree(ours[i]);
        redisFree(theirs[i]);
        ours[i] = theirs[i] = NULL;
    }
}

static void connect_both(void)
{
    struct timeval wait = {.tv_sec = WAIT_S};
    disconnect();
    for (int i = 0; i < 2; i++) {
        ours[i] = testserver_connect(server);
        theirs[i] = redisConnectUnix(socket_path);
        assert_int_equal(theirs[i]->err, 0);
        redisSetTimeout(ours[i], wait);
        redisSetTimeout(theirs[i], wait);
    }
    freeReplyObject(redisCommand(ours[1], "FLUSHALL"));
    freeReplyObject(redisCommand(theirs[1], "FLUSHALL"));
}

static bool is_as_said(const struct line *l, const char *got, const char *redis)
{
    switch (l->rule) {
    case SAME: return real_redis_is_same(l->words[0], got, redis) && strcmp(got, CLOSED) != 0;
    case BOTH: return text_fits(got, l->pattern) && text_fits(redis, l->pattern);
    case HERE: return text_fits(got, l->pattern) && !text_fits(redis, l->pattern);
    }
    return false;
}

static void commands_answer_as_the_page_says(void **state)
{
    static struct line l;
    char title[sizeof l.title] = "";
    size_t wrong = 0;
    bool was_sent = false;
    redisContext *redis = NULL;
    struct real_redis *real = real_redis_start(&redis);
    snprintf(socket_path, sizeof socket_path, "%s", redis->unix_sock.path);
    FILE *f = data_open();
    while (line_read(f, &l)) {
        if (strcmp(title, l.title) != 0) connect_both();
        memcpy(title, l.title, sizeof title);
        bool is_kill = was_sent && l.by_second;
        char *got = told(ours[l.by_second], &l, is_kill);
        char *wanted = told(theirs[l.by_second], &l, is_kill);
        was_sent = l.is_sent;
        if (!is_as_said(&l, got, wanted)) {
            fprintf(stderr, "%s: %s\n  wanted: %s\n   redis: %s\n    ours: %s\n", l.title, l.text,
                    l.rule == SAME ? "the same" : l.pattern, wanted, got);
            wrong++;
        }
        free(got);
        free(wanted);
    }
    fclose(f);
    disconnect();
    redisFree(redis);
    real_redis_stop(real);
    testserver_ends(server, 0); /* SHUTDOWN is the last one */
    assert_int_equal(wrong, 0);
}

static void every_command_of_redis_has_a_row(void **state)
{
    size_t wrong = 0;
    for (size_t i = 0; i < name_count; i++) {
        if (names[i].has_row) continue;
        fprintf(stderr, "%s has no row\n", names[i].text);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

/* One that has subcommands here is there, though Redis names none of them (DEBUG). */
static bool is_missing(const char *command)
{
    size_t len = strlen(command);
    for (size_t i = 0; i < name_count; i++) {
        if (strncasecmp(names[i].text, command, len) == 0 && names[i].text[len] == '|')
            return false;
    }
    return name_find(command) == NULL;
}

static bool is_named_as_missing(const char *command)
{
    for (size_t i = 0; i < missing_count; i++) {
        if (fnmatch(missing[i], command, FNM_CASEFOLD) == 0) return true;
    }
    return false;
}

/* The answer to a command that only Redis has says where to look; subcommands have HELP. */
static bool says_where_to_look(redisContext *here, const char *command)
{
    if (strchr(command, '|') != NULL) return true;
    redisReply *r = redisCommand(here, command);
    assert_non_null(r);
    bool is_said = r->type == REDIS_REPLY_ERROR && strstr(r->str, DOC) != NULL;
    freeReplyObject(r);
    return is_said;
}

static void every_command_that_only_redis_has_is_named(void **state)
{
    size_t wrong = 0;
    redisContext *here = testserver_connect(server);
    redisContext *redis = NULL;
    struct real_redis *real = real_redis_start(&redis);
    redisReply *list = redisCommand(redis, "COMMAND LIST");
    assert_non_null(list);
    for (size_t i = 0; i < list->elements; i++) {
        const char *text = list->element[i]->str;
        if (has_subcommands(list, text)) continue;
        if (is_missing(text) && is_named_as_missing(text) && !says_where_to_look(here, text)) {
            fprintf(stderr, "%s: the error does not say where to look\n", text);
            wrong++;
        }
        if (is_missing(text) == is_named_as_missing(text)) continue;
        fprintf(stderr, "%s is %s\n", text,
                is_missing(text) ? "not there, and not named" : "there");
        wrong++;
    }
    freeReplyObject(list);
    redisFree(redis);
    redisFree(here);
    real_redis_stop(real);
    assert_int_equal(wrong, 0);
}

static void every_row_has_a_test(void **state)
{
    size_t wrong = 0;
    for (size_t i = 0; i < name_count; i++) {
        const struct name *n = &names[i];
        const char *why = !n->has_test                               ? "has no test"
                          : n->has_row && n->differs && !n->has_here ? "differs: where?"
                          : n->has_row && !n->differs && n->has_here ? "is the same, but differs"
                                                                     : NULL;
        if (why == NULL) continue;
        fprintf(stderr, "%s %s\n", n->text, why);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

static int start(void **state)
{
    server = testserver_start_with("--databases", "16", NULL);
    redisContext *c = testserver_connect(server);
    names_load(c);
    redisFree(c);
    page_load();
    data_load();
    return 0;
}

static int stop(void **state)
{
    while (missing_count > 0) free(missing[--missing_count]);
    return group_stop(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_of_redis_has_a_row),
        cmocka_unit_test(every_command_that_only_redis_has_is_named),
        cmocka_unit_test(every_row_has_a_test),
        cmocka_unit_test(commands_answer_as_the_page_says),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
