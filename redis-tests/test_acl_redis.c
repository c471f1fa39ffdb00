/* The rules of permissions beside a real Redis: random rules for the same user on both, step by
 * step. Both must take or refuse them alike, tell the user alike (ACL GETUSER), and let it run the
 * same commands (ACL DRYRUN). Skipped when there is no redis-server.
 *
 * Left out, as docs/users.md has them:
 * - Commands that show or change keys they do not name need ~* here: SCAN, KEYS, RANDOMKEY, DBSIZE,
 *   MONITOR, SLOWLOG, DEBUG, FLUSHDB, FLUSHALL.
 * - Keys are matched in path form: those here are of letters and digits.
 * - A pattern of channels may be narrower than the allowed one here.
 * - A selector that is not closed is refused here; Redis forgets it where another one begins.
 * - %RW~* is told as that here, and as ~* by Redis, which then does not mean the same.
 * - Commands that only one of them has.
 *
 * Environment: TUPLED_SEED repeats a run; TUPLED_LONG=1 makes it 20 times as long.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "load_help.h"
#include "real_redis.h"

#define STEPS 700
#define ASKED_PER_STEP 4
#define NAMES_MAX 400
#define WORDS_MAX 40
#define TEXT_BYTES 200
#define TOLD_MAX 20 /* disagreements that are printed */

static redisContext *c, *redis;
static struct real_redis *real;

static int start(void **state)
{
    group_opens(&c, NULL);
    server = testserver_start_with("--databases", "16", NULL);
    return 0;
}

static int enter(void **state)
{
    real = real_redis_start(&redis);
    return group_enter(state);
}

static int leave(void **state)
{
    if (real == NULL) return 0; /* skipped */
    redisFree(redis);
    real_redis_stop(real);
    real = NULL;
    return group_leave(state);
}

/* ---- the commands that both have ------------------------------------------------------------- */

static char names[NAMES_MAX][32]; /* "get", "config|get" */
static size_t name_count;
static char *categories[64]; /* those of Redis */
static size_t category_count;

static redisReply *cat(redisContext *by, const char *category)
{
    redisReply *r = redisCommand(by, "ACL CAT %s", category);
    assert_non_null(r);
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    return r;
}

static bool has(const redisReply *list, const char *name)
{
    for (size_t i = 0; i < list->elements; i++) {
        if (strcmp(list->element[i]->str, name) == 0) return true;
    }
    return false;
}

/* Every command is in one of two categories. */
static void find_names(void)
{
    static const char *const all[] = {"fast", "slow"};
    name_count = 0;
    for (size_t i = 0; i < 4; i++) {
        redisReply *theirs = cat(redis, all[i / 2]);
        redisReply *ours = cat(c, all[i % 2]);
        for (size_t k = 0; k < theirs->elements; k++) {
            const char *name = theirs->element[k]->str;
            if (!has(ours, name)) continue;
            assert_true(name_count < NAMES_MAX);
            snprintf(names[name_count++], sizeof names[0], "%s", name);
        }
        freeReplyObject(theirs);
        freeReplyObject(ours);
    }
    assert_true(name_count > 100);
}

static void find_categories(void)
{
    redisReply *r = redisCommand(redis, "ACL CAT");
    assert_non_null(r);
    for (category_count = 0; category_count < r->elements; category_count++) {
        assert_true(category_count < 64);
        categories[category_count] = strdup(r->element[category_count]->str);
    }
    freeReplyObject(r);
}

static void forget_categories(void)
{
    while (category_count > 0) free(categories[--category_count]);
}

static void commands_are_in_the_categories_of_redis(void **state)
{
    size_t different = 0;
    find_names();
    find_categories();
    for (size_t i = 0; i < category_count; i++) {
        redisReply *theirs = cat(redis, categories[i]);
        redisReply *ours = cat(c, categories[i]);
        for (size_t k = 0; k < name_count; k++) {
            if (has(theirs, names[k]) == has(ours, names[k])) continue;
            fprintf(stderr, "%s: %sin @%s of Redis\n", names[k],
                    has(theirs, names[k]) ? "" : "not ", categories[i]);
            different++;
        }
        freeReplyObject(theirs);
        freeReplyObject(ours);
    }
    forget_categories();
    assert_int_equal(different, 0);
}

/* ---- random rules ---------------------------------------------------------------------------- */

struct words {
    char items[WORDS_MAX][TEXT_BYTES];
    size_t count;
};

static uint64_t below(uint64_t n)
{
    return load_random() % n;
}

#define PICK(list) ((list)[below(sizeof(list) / sizeof((list)[0]))])

static const char *const globs[] = {"a*",  "*b",    "??",   "[ab]*", "key1", "\\a*", "[^a]*",
                                    "foo", "key?x", "key*", "*",     "",     "a",    "1*"};
static const char *const channel_globs[] = {"news*", "news", "n?ws", "c", "*", "[cd]", "chan.*"};
static const char *const plain[] = {
    "on",
    "off",
    "nopass",
    "resetpass",
    "allkeys",
    "resetkeys",
    "allchannels",
    "resetchannels",
    "nocommands",
    "allcommands",
    "+@all",
    "-@all",
    "ALLKEYS",
    "~*",
    "&*",
    "reset",
    ">secret",
    "clearselectors",
    "<secret",
    "sanitize-payload",
    "skip-sanitize-payload",
};
static const char *const wrong[] = {
    "+nosuch",
    "-nosuch",
    "+@nosuch",
    "nonsense",
    "",
    "+",
    "-",
    "+@",
    "%~x",
    "%RR~x",
    "%R",
    "%",
    "%X~a",
    "%r~a*",
    "~a b",
    "&a b",
    "#abc",
    "+get|",
    "+get|x|y",
    "()",
    "(on)",
    "( )",
    "on)",
    ">",
    "+config|nosuch",
    "-config|get|x",
    "-select|0",
    "%W",
    "%RW",
    "!abc",
    "<nosuch",
    "allkeysx",
    "+|get",
    "-get|x",
    "~",
    "&",
    "(+nosuch)",
    "+get ~a",
};
static const char *const firsts[] = {"+select|0", "+select|1", "+get|key1", "+SELECT|0", "+ping|x"};

static const char *const key_heads[] = {"~", "~", "%R~", "%W~", "%RW~", "%WR~", "%r~"};

static void random_command_rule(char *out)
{
    const char *sign = below(2) == 0 ? "+" : "-";
    if (below(2) == 0) {
        snprintf(out, TEXT_BYTES, "%s@%s", sign, categories[below(category_count)]);
    } else {
        snprintf(out, TEXT_BYTES, "%s%s", sign, names[below(name_count)]);
    }
}

/* A rule that may stand in a selector too. */
static void random_rule(char *out)
{
    switch (below(8)) {
    case 0:
    case 1:
    case 2: random_command_rule(out); return;
    case 3:
    case 4: snprintf(out, TEXT_BYTES, "%s%s", PICK(key_heads), PICK(globs)); return;
    case 5: snprintf(out, TEXT_BYTES, "&%s", PICK(channel_globs)); return;
    case 6: snprintf(out, TEXT_BYTES, "%s", PICK(firsts)); return;
    default: snprintf(out, TEXT_BYTES, "%s", below(3) == 0 ? "+@all" : "resetkeys"); return;
    }
}

static void add_selector(struct words *w)
{
    size_t count = 1 + below(4);
    bool is_one_word = below(2) == 0;
    for (size_t i = 0; i < count; i++) {
        char text[TEXT_BYTES];
        char rule[TEXT_BYTES];
        random_rule(rule);
        snprintf(text, sizeof text, "%s%.150s%s", i == 0 ? "(" : "", rule,
                 i + 1 == count ? ")" : "");
        if (is_one_word && i > 0) {
            char *last = w->items[w->count - 1];
            size_t len = strlen(last);
            snprintf(last + len, TEXT_BYTES - len, " %s", text);
        } else {
            snprintf(w->items[w->count++], TEXT_BYTES, "%s", text);
        }
    }
}

static void random_rules(struct words *w)
{
    size_t count = 1 + below(8);
    snprintf(w->items[0], TEXT_BYTES, "ACL");
    snprintf(w->items[1], TEXT_BYTES, "SETUSER");
    snprintf(w->items[2], TEXT_BYTES, "bob");
    w->count = 3;
    for (size_t i = 0; i < count; i++) {
        uint64_t kind = below(40);
        if (kind == 0) {
            snprintf(w->items[w->count++], TEXT_BYTES, "%s", PICK(wrong));
        } else if (kind < 6) {
            snprintf(w->items[w->count++], TEXT_BYTES, "%s", PICK(plain));
        } else if (kind < 9) {
            add_selector(w);
        } else {
            random_rule(w->items[w->count++]);
        }
    }
    if (below(60) == 0) snprintf(w->items[w->count++], TEXT_BYTES, "(~a* +get");
}

/* ---- random commands ------------------------------------------------------------------------- */

/* K a key, C a channel, P a pattern of them, V a value, N 0 or 1. A command that is not here is
 * given as many values as it wants at least. */
static const char *const forms[] = {
    "append K V",
    "auth V V",
    "bitcount K",
    "bitfield K",
    "bitfield_ro K",
    "bitop OR K K K",
    "bitpos K N",
    "copy K K",
    "decr K",
    "decrby K N",
    "del K K K",
    "dump K",
    "exists K K",
    "expire K N",
    "expireat K N",
    "geoadd K N N V",
    "geodist K V V",
    "georadius K N N N m",
    "georadius K N N N m STORE K",
    "georadiusbymember_ro K V N m",
    "geosearch K FROMLONLAT N N BYRADIUS N m",
    "geosearchstore K K FROMLONLAT N N BYRADIUS N m",
    "get K",
    "getbit K N",
    "getdel K",
    "getex K",
    "getrange K N N",
    "getset K V",
    "incr K",
    "incrby K N",
    "incrbyfloat K N",
    "lcs K K",
    "memory|usage K",
    "object|encoding K",
    "mget K K K",
    "move K N",
    "mset K V K V",
    "msetnx K V K V",
    "persist K",
    "pexpire K N",
    "pexpireat K N",
    "pfadd K V",
    "pfcount K K",
    "pfmerge K K",
    "psetex K N V",
    "psubscribe P P",
    "pttl K",
    "publish C V",
    "pubsub|channels P",
    "pubsub|numsub C",
    "punsubscribe P",
    "rename K K",
    "renamenx K K",
    "restore K N V",
    "select N",
    "set K V",
    "set K V GET",
    "set K V NX",
    "setbit K N N",
    "setex K N V",
    "setnx K V",
    "setrange K N V",
    "sort K",
    "sort K STORE K",
    "sort_ro K",
    "spublish C V",
    "ssubscribe C C",
    "strlen K",
    "substr K N N",
    "subscribe C C",
    "sunsubscribe C",
    "touch K K",
    "expiretime K",
    "pexpiretime K",
    "ttl K",
    "type K",
    "unlink K K",
    "unsubscribe C",
    "watch K K",
    "command|getkeys get K",
    "command|getkeysandflags get K",
    "client|kill ID N",
    "mset K V",
    "del K",
    "exists K",
    "config|set V V",
    "ping V",
};

static const char *const unasked[] = {"scan",    "keys",  "randomkey", "dbsize",  "monitor",
                                      "slowlog", "debug", "flushdb",   "flushall"};

static bool is_unasked(const char *name)
{
    for (size_t i = 0; i < sizeof unasked / sizeof unasked[0]; i++) {
        size_t len = strlen(unasked[i]);
        if (strncmp(name, unasked[i], len) == 0 && (name[len] == '\0' || name[len] == '|')) {
            return true;
        }
    }
    return false;
}

static const char *argument(const char *form)
{
    static const char *const keys[] = {"a",     "b",   "ab", "aa", "key1",
                                       "keyzx", "foo", "x",  "1",  "12"};
    static const char *const channels[] = {"news", "news1", "c", "d", "chan.x", "other"};
    static const char *const values[] = {"v", "x", "0", "10"};
    if (strcmp(form, "K") == 0) return PICK(keys);
    if (strcmp(form, "C") == 0) return PICK(channels);
    if (strcmp(form, "P") == 0) return PICK(channel_globs);
    if (strcmp(form, "V") == 0) return PICK(values);
    if (strcmp(form, "N") == 0) return below(2) == 0 ? "0" : "1";
    return form;
}

/* "config|get" is two words. */
static void add_name(struct words *w, const char *name, size_t len)
{
    const char *bar = memchr(name, '|', len);
    size_t first = bar == NULL ? len : (size_t)(bar - name);
    snprintf(w->items[w->count++], TEXT_BYTES, "%.*s", (int)first, name);
    if (bar != NULL) {
        snprintf(w->items[w->count++], TEXT_BYTES, "%.*s", (int)(len - first - 1), bar + 1);
    }
}

static bool has_form(const char *name)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        size_t len = strcspn(forms[i], " ");
        if (strlen(name) == len && strncmp(name, forms[i], len) == 0) return true;
    }
    return false;
}

static void random_dryrun(struct words *w)
{
    snprintf(w->items[0], TEXT_BYTES, "ACL");
    snprintf(w->items[1], TEXT_BYTES, "DRYRUN");
    snprintf(w->items[2], TEXT_BYTES, "bob");
    w->count = 3;
    const char *name = names[below(name_count)];
    while (is_unasked(name)) name = names[below(name_count)];
    const char *form = below(2) == 0 || has_form(name) ? PICK(forms) : name;
    size_t len = strcspn(form, " ");
    add_name(w, form, len);
    for (const char *at = form + len; *at == ' ';) {
        char word[20];
        size_t n = strcspn(++at, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, at);
        snprintf(w->items[w->count++], TEXT_BYTES, "%s", argument(word));
        at += n;
    }
}

/* ---- asking both ----------------------------------------------------------------------------- */

static redisReply *say_words(redisContext *by, const struct words *w)
{
    const char *argv[WORDS_MAX];
    for (size_t i = 0; i < w->count; i++) argv[i] = w->items[i];
    redisReply *r = redisCommandArgv(by, (int)w->count, argv, NULL);
    assert_non_null(r);
    return r;
}

static void print_words(const struct words *w)
{
    for (size_t i = 0; i < w->count; i++) fprintf(stderr, " '%s'", w->items[i]);
    fputc('\n', stderr);
}

static struct words history[20]; /* the last rules that were taken */
static size_t taken, disagreements;

static void disagree(const struct words *w, const char *theirs, const char *ours)
{
    if (++disagreements > TOLD_MAX) return;
    size_t from = taken < 4 ? 0 : taken - 4;
    for (size_t i = from; i < taken; i++) print_words(&history[i % 20]);
    print_words(w);
    fprintf(stderr, "  redis: %s\n   ours: %s\n", theirs, ours);
}

/* A value of the map by its key. */
static const redisReply *part(const redisReply *map, const char *name)
{
    for (size_t i = 0; i + 1 < map->elements; i += 2) {
        if (strcmp(map->element[i]->str, name) == 0) return map->element[i + 1];
    }
    fail_msg("no %s in what ACL GETUSER replied", name);
    return NULL;
}

static void write_text(FILE *f, const redisReply *r)
{
    for (const char *at = r->str; *at != '\0';) {
        bool is_both = strncmp(at, "%RW~* ", 6) == 0 || strcmp(at, "%RW~*") == 0;
        if (is_both) at += 3;
        fputc(*at++, f);
    }
}

static void write_selector(FILE *f, const redisReply *r)
{
    fputs(" keys=", f);
    write_text(f, part(r, "keys"));
    fputs(" channels=", f);
    write_text(f, part(r, "channels"));
}

/* ACL GETUSER without the commands, which are told in other words. Free it. */
static char *told(redisContext *by)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    redisReply *r = redisCommand(by, "ACL GETUSER bob");
    assert_non_null(r);
    if (r->type == REDIS_REPLY_ARRAY) {
        static const char *const lists[] = {"flags", "passwords"};
        for (size_t i = 0; i < 2; i++) {
            const redisReply *list = part(r, lists[i]);
            fprintf(f, " %s=", lists[i]);
            for (size_t k = 0; k < list->elements; k++) fprintf(f, "%s,", list->element[k]->str);
        }
        write_selector(f, r);
        const redisReply *selectors = part(r, "selectors");
        for (size_t i = 0; i < selectors->elements; i++) write_selector(f, selectors->element[i]);
    }
    freeReplyObject(r);
    fclose(f);
    return text;
}

static void compare_users(const struct words *w)
{
    char *theirs = told(redis);
    char *ours = told(c);
    if (strcmp(theirs, ours) != 0) disagree(w, theirs, ours);
    free(theirs);
    free(ours);
}

/* True when both took the rules. */
static bool compare_rules(const struct words *w)
{
    redisReply *theirs = say_words(redis, w);
    redisReply *ours = say_words(c, w);
    bool is_taken = theirs->type != REDIS_REPLY_ERROR;
    bool is_same = is_taken == (ours->type != REDIS_REPLY_ERROR);
    if (!is_same) disagree(w, theirs->str, ours->str);
    if (is_taken) history[taken++ % 20] = *w;
    freeReplyObject(theirs);
    freeReplyObject(ours);
    if (is_taken && !is_same) { /* so that they go on from the same */
        expect(c, "*", "ACL DELUSER bob");
        expect(redis, "*", "ACL DELUSER bob");
    }
    return is_same;
}

/* A pattern that is in an allowed one's is allowed here, and not by Redis; if another
 * one is not, then that is the one told. */
static bool is_narrower(const struct words *w, const redisReply *theirs, const redisReply *ours)
{
    bool may_be = strcmp(ours->str, "OK") == 0 || strstr(ours->str, "channel") != NULL;
    return strcmp(w->items[3], "psubscribe") == 0 && may_be &&
           strstr(theirs->str, "channel") != NULL;
}

static void compare_dryrun(const struct words *w, size_t *denied)
{
    redisReply *theirs = say_words(redis, w);
    redisReply *ours = say_words(c, w);
    bool is_same = theirs->type == REDIS_REPLY_ERROR ? ours->type == REDIS_REPLY_ERROR
                                                     : strcmp(theirs->str, ours->str) == 0;
    if (!is_same && !is_narrower(w, theirs, ours)) disagree(w, theirs->str, ours->str);
    *denied += strcmp(theirs->str, "OK") != 0;
    freeReplyObject(theirs);
    freeReplyObject(ours);
}

static void the_same_rules_allow_the_same(void **state)
{
    size_t steps = load_is_long() ? 20 * STEPS : STEPS;
    size_t asked = 0;
    size_t denied = 0;
    struct words w;
    setenv("TUPLED_SEED", "7", 0); /* the same each time */
    load_seed();
    find_names();
    find_categories();
    taken = disagreements = 0;
    for (size_t i = 0; i < steps; i++) {
        random_rules(&w);
        if (compare_rules(&w)) compare_users(&w);
        redisReply *r = redisCommand(redis, "ACL GETUSER bob");
        bool is_there = r->type == REDIS_REPLY_ARRAY;
        freeReplyObject(r);
        for (size_t k = 0; k < ASKED_PER_STEP && is_there; k++) {
            random_dryrun(&w);
            compare_dryrun(&w, &denied);
            asked++;
        }
    }
    printf("# %zu lists of rules, %zu taken; %zu commands, %zu denied\n", steps, taken, asked,
           denied);
    forget_categories();
    assert_true(asked >= 2000);
    assert_true(denied > asked / 10 && denied < asked - asked / 10);
    assert_int_equal(disagreements, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)
    const struct CMUnitTest tests[] = {
        TEST(commands_are_in_the_categories_of_redis),
        TEST(the_same_rules_allow_the_same),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
