/* Tests of users, their rules, and the one question. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "access/users.h"

/* ---- a table of commands --------------------------------------------------------------------- */

enum { AUTH, CONFIG, CONFIG_GET, CONFIG_SET, GET, SELECT, SET, COMMANDS };

static const char *const names[] = {"auth", "config", "config|get", "config|set",
                                    "get",  "select", "set"};
static const char *const categories[] = {"read", "write", "admin", "fast", NULL};
/* Which categories, as bits. */
static const unsigned in[] = {8, 0, 4, 4, 1 | 8, 8, 2};

static size_t count_of(void)
{
    return COMMANDS;
}

static const char *name_of(size_t number)
{
    return names[number];
}

static size_t parts_of(size_t number)
{
    return number == CONFIG ? 2 : 0;
}

static bool is_free(size_t number)
{
    return number == AUTH;
}

static const char *category_of(size_t i)
{
    return categories[i];
}

static bool is_in(size_t number, size_t category)
{
    return (in[number] >> category & 1) != 0;
}

static const struct access_catalog catalog = {.count = count_of,
                                              .name = name_of,
                                              .parts = parts_of,
                                              .is_free = is_free,
                                              .category = category_of,
                                              .is_in = is_in};

/* ---- helpers --------------------------------------------------------------------------------- */

struct told {
    char names[200];
    unsigned count;
};

static void on_changed(void *arg, struct user *u)
{
    struct told *t = arg;
    t->count++;
    size_t used = strlen(t->names);
    snprintf(t->names + used, sizeof t->names - used, "%s%.*s ", u->is_deleted ? "-" : "",
             (int)u->name.len, (const char *)u->name.data);
}

/* "bob +get ~a*": words between blanks. The error's text, "" when there is none. */
static const char *set(struct users *x, const char *line)
{
    static struct error e;
    struct slice words[50];
    size_t count = 0;
    for (const char *at = line; *at != '\0';) {
        size_t len = strcspn(at, " ");
        words[count++] = slice_of(at, len);
        at += len + (at[len] == ' ');
    }
    e.text[0] = '\0';
    return users_set(x, words[0], words + 1, count - 1, &e) == OK ? "" : e.text;
}

static struct user *user(struct users *x, const char *name)
{
    return users_find(x, slice_str(name));
}

static const char *described(struct users *x, const char *name)
{
    static char text[2000];
    struct buf b;
    buf_init(&b);
    user_describe(user(x, name), &b);
    snprintf(text, sizeof text, "%.*s", (int)b.len, (const char *)b.data);
    buf_fini(&b);
    return text;
}

static enum access_verdict ask(struct users *x, const char *name, size_t command,
                               const struct access_subject *subjects, size_t count)
{
    struct access_question q = {.command = command, .subjects = subjects, .subject_count = count};
    size_t which;
    return access_ask(user(x, name), &catalog, &q, &which);
}

static enum access_verdict ask_key(struct users *x, const char *name, size_t command,
                                   const char *key, unsigned needs)
{
    struct access_subject s = {.kind = ACCESS_KEY, .text = slice_str(key), .needs = needs};
    return ask(x, name, command, &s, 1);
}

static enum access_verdict ask_text(struct users *x, const char *name, enum access_kind kind,
                                    const char *text)
{
    struct access_subject s = {.kind = kind, .text = slice_str(text), .needs = ACCESS_READ};
    return ask(x, name, GET, &s, 1);
}

/* ---- rules ----------------------------------------------------------------------------------- */

static void default_may_do_everything(void **state)
{
    struct users *x = users_new(&catalog, NULL, NULL);
    (void)state;
    assert_string_equal(described(x, "default"), "on nopass ~* &* +@all");
    for (size_t i = 0; i < COMMANDS; i++) {
        assert_int_equal(ask_key(x, "default", i, "any/key", ACCESS_BOTH), ACCESS_ALLOWED);
    }
    assert_ptr_equal(users_login(x, slice_str("default"), slice_str("whatever")), users_default(x));
    assert_false(users_delete(x, slice_str("default")));
    users_free(x);
}

static void a_new_user_may_do_nothing(void **state)
{
    struct users *x = users_new(&catalog, NULL, NULL);
    (void)state;
    assert_string_equal(set(x, "bob"), "");
    assert_string_equal(described(x, "bob"), "off resetchannels -@all");
    assert_int_equal(ask(x, "bob", GET, NULL, 0), ACCESS_DENIED_COMMAND);
    assert_int_equal(ask(x, "bob", AUTH, NULL, 0), ACCESS_ALLOWED);
    assert_null(users_login(x, slice_str("bob"), slice_str("")));
    assert_null(users_login(x, slice_str("nobody"), slice_str("")));
    users_free(x);
}

static void commands_are_allowed_by_name_category_part_and_first_word(void **state)
{
    struct users *x = users_new(&catalog, NULL, NULL);
    struct access_question q = {.command = SELECT, .first = slice_str("0")};
    size_t which;
    (void)state;
    assert_string_equal(set(x, "bob +GET +config|get +select|0 -@write"), "");
    assert_int_equal(ask(x, "bob", GET, NULL, 0), ACCESS_ALLOWED);
    assert_int_equal(ask(x, "bob", CONFIG, NULL, 0), ACCESS_DENIED_COMMAND);
    assert_int_equal(ask(x, "bob", CONFIG_GET, NULL, 0), ACCESS_ALLOWED);
    assert_int_equal(ask(x, "bob", CONFIG_SET, NULL, 0), ACCESS_DENIED_COMMAND);
    assert_int_equal(access_ask(user(x, "bob"), &catalog, &q, &which), ACCESS_ALLOWED);
    assert_string_equal(set(x, "eve +select|0 -select"), "");
    assert_int_equal(access_ask(user(x, "eve"), &catalog, &q, &which), ACCESS_DENIED_COMMAND);
    assert_string_equal(set(x, "eve +select|0 -@fast"), "");
    assert_int_equal(access_ask(user(x, "eve"), &catalog, &q, &which), ACCESS_DENIED_COMMAND);
    q.first = slice_str("1");
    assert_int_equal(access_ask(user(x, "bob"), &catalog, &q, &which), ACCESS_DENIED_COMMAND);
    assert_string_equal(described(x, "bob"),
                        "off resetchannels -@all +GET +config|get +select|0 -@write");
    /* What overrules is told in place of what it overrules. */
    assert_string_equal(set(x, "bob -config +@write -get"), "");
    assert_string_equal(described(x, "bob"),
                        "off resetchannels -@all +select|0 -config +@write -get");
    assert_int_equal(ask(x, "bob", SET, NULL, 0), ACCESS_ALLOWED);
    assert_int_equal(ask(x, "bob", GET, NULL, 0), ACCESS_DENIED_COMMAND);
    assert_int_equal(ask(x, "bob", CONFIG_GET, NULL, 0), ACCESS_DENIED_COMMAND);
    assert_string_equal(set(x, "bob +@all -config|set"), "");
    assert_string_equal(described(x, "bob"), "off resetchannels +@all -config|set");
    assert_int_equal(ask(x, "bob", CONFIG_GET, NULL, 0), ACCESS_ALLOWED);
    assert_int_equal(ask(x, "bob", CONFIG_SET, NULL, 0), ACCESS_DENIED_COMMAND);
    users_free(x);
}

static void keys_need_a_pattern_with_all_that_is_done(void **state)
{
    struct users *x = users_new(&catalog, NULL, NULL);
    (void)state;
    assert_string_equal(set(x, "bob +@all ~both/* %R~read/* %W~write/* %r~[xy]? %w~[xy]?"), "");
    assert_int_equal(ask_key(x, "bob", GET, "both/1", ACCESS_BOTH), ACCESS_ALLOWED);
    assert_int_equal(ask_key(x, "bob", GET, "both/", ACCESS_READ), ACCESS_ALLOWED);
    assert_int_equal(ask_key(x, "bob", GET, "both", ACCESS_READ), ACCESS_DENIED_KEY);
    assert_int_equal(ask_key(x, "bob", GET, "read/1", ACCESS_READ), ACCESS_ALLOWED);
    assert_int_equal(ask_key(x, "bob", SET, "read/1", ACCESS_WRITE), ACCESS_DENIED_KEY);
    assert_int_equal(ask_key(x, "bob", SET, "write/1", ACCESS_WRITE), ACCESS_ALLOWED);
    assert_int_equal(ask_key(x, "bob", SET, "write/1", ACCESS_BOTH), ACCESS_DENIED_KEY);
    assert_int_equal(ask_key(x, "bob", SET, "write/1", 0), ACCESS_ALLOWED);
    assert_int_equal(ask_key(x, "bob", SET, "elsewhere", 0), ACCESS_DENIED_KEY);
    assert_int_equal(ask_key(x, "bob", SET, "x1", ACCESS_BOTH), ACCESS_ALLOWED);
    assert_int_equal(ask_key(x, "bob", SET, "z1", ACCESS_BOTH), ACCESS_DENIED_KEY);
    assert_string_equal(set(x, "eve +@all %R~[xy]?"), "");
    assert_int_equal(ask_key(x, "eve", GET, "x1", ACCESS_READ), ACCESS_ALLOWED);
    assert_int_equal(ask_key(x, "eve", SET, "x1", ACCESS_WRITE), ACCESS_DENIED_KEY);
    assert_int_equal(ask_key(x, "eve", SET, "x1", ACCESS_BOTH), ACCESS_DENIED_KEY);
    assert_string_equal(described(x, "bob"),
                        "off ~both/* %R~read/* %W~write/* ~[xy]? resetchannels +@all");
    users_free(x);
}

/* Against each pattern by itself. */
static void many_patterns_are_as_each_of_them(void **state)
{
    struct users *x = users_new(&catalog, NULL, NULL);
    char texts[150][16];
    uint64_t seed = 42;
    (void)state;
    assert_string_equal(set(x, "bob +@all"), "");
    for (int i = 0; i < 150; i++) {
        char line[40];
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        snprintf(texts[i], sizeof texts[i], "%llu",
                 (unsigned long long)(seed >> 40) % (i % 3 == 0   ? 10
                                                     : i % 3 == 1 ? 100
                                                                  : 100000));
        snprintf(line, sizeof line, "bob ~k%s*", texts[i]);
        if (strlen(texts[i]) > 1) assert_string_equal(set(x, line), "");
    }
    for (int key = 0; key < 200000; key += 7) {
        char name[20];
        bool expected = false;
        snprintf(name, sizeof name, "k%d", key);
        for (int i = 0; i < 150; i++) {
            size_t len = strlen(texts[i]);
            expected = expected || (len > 1 && strncmp(name + 1, texts[i], len) == 0);
        }
        assert_int_equal(ask_key(x, "bob", GET, name, ACCESS_READ),
                         expected ? ACCESS_ALLOWED : ACCESS_DENIED_KEY);
    }
    users_free(x);
}

static void a_range_needs_a_pattern_that_covers_it(void **state)
{
    struct users *x = users_new(&catalog, NULL, NULL);
    (void)state;
    assert_string_equal(set(x, "bob +@all ~users/* ~a?/* ~[b]* ~c\\*/* ~deep/er/*"), "");
    assert_int_equal(ask_text(x, "bob", ACCESS_PREFIX, "users/"), ACCESS_ALLOWED);
    assert_int_equal(ask_text(x, "bob", ACCESS_PREFIX, "users/#42/"), ACCESS_ALLOWED);
    assert_int_equal(ask_text(x, "bob", ACCESS_PREFIX, "users2/"), ACCESS_DENIED_KEY);
    assert_int_equal(ask_text(x, "bob", ACCESS_PREFIX, ""), ACCESS_DENIED_KEY);
    assert_int_equal(ask_text(x, "bob", ACCESS_PREFIX, "ab/"), ACCESS_DENIED_KEY);
    assert_int_equal(ask_text(x, "bob", ACCESS_PREFIX, "b/"), ACCESS_DENIED_KEY);
    assert_int_equal(ask_text(x, "bob", ACCESS_PREFIX, "deep/"), ACCESS_DENIED_KEY);
    assert_int_equal(ask_text(x, "bob", ACCESS_PREFIX, "deep/er/est/"), ACCESS_ALLOWED);
    assert_string_equal(set(x, "bob allkeys"), "");
    assert_int_equal(ask_text(x, "bob", ACCESS_PREFIX, ""), ACCESS_ALLOWED);
    users_free(x);
}

static void channels_and_patterns_of_channels(void **state)
{
    struct users *x = users_new(&catalog, NULL, NULL);
    (void)state;
    assert_string_equal(set(x, "bob +@all &news.* &one &odd[12]"), "");
    assert_int_equal(ask_text(x, "bob", ACCESS_CHANNEL, "news.uk"), ACCESS_ALLOWED);
    assert_int_equal(ask_text(x, "bob", ACCESS_CHANNEL, "one"), ACCESS_ALLOWED);
    assert_int_equal(ask_text(x, "bob", ACCESS_CHANNEL, "odd2"), ACCESS_ALLOWED);
    assert_int_equal(ask_text(x, "bob", ACCESS_CHANNEL, "two"), ACCESS_DENIED_CHANNEL);
    assert_int_equal(ask_text(x, "bob", ACCESS_CHANNELS, "news.*"), ACCESS_ALLOWED);
    assert_int_equal(ask_text(x, "bob", ACCESS_CHANNELS, "news.uk.?"), ACCESS_ALLOWED);
    assert_int_equal(ask_text(x, "bob", ACCESS_CHANNELS, "odd[12]"), ACCESS_ALLOWED);
    assert_int_equal(ask_text(x, "bob", ACCESS_CHANNELS, "odd[1]"), ACCESS_DENIED_CHANNEL);
    assert_int_equal(ask_text(x, "bob", ACCESS_CHANNELS, "*"), ACCESS_DENIED_CHANNEL);
    assert_int_equal(ask_text(x, "bob", ACCESS_CHANNELS, "new*"), ACCESS_DENIED_CHANNEL);
    users_free(x);
}

static void databases_by_name_or_number(void **state)
{
    struct users *x = users_new(&catalog, NULL, NULL);
    struct access_question q = {.command = GET, .has_database = true};
    size_t which;
    (void)state;
    assert_string_equal(set(x, "bob +@all db=0,orders db=7"), "");
    assert_string_equal(described(x, "bob"), "off resetchannels db=0,orders,7 +@all");
    q.database_number = slice_str("0");
    assert_int_equal(access_ask(user(x, "bob"), &catalog, &q, &which), ACCESS_ALLOWED);
    q.database_number = slice_str("16");
    assert_int_equal(access_ask(user(x, "bob"), &catalog, &q, &which), ACCESS_DENIED_DATABASE);
    q.database = slice_str("orders");
    assert_int_equal(access_ask(user(x, "bob"), &catalog, &q, &which), ACCESS_ALLOWED);
    q.has_database = false; /* what is about no database */
    q.database = slice_of(NULL, 0);
    assert_int_equal(access_ask(user(x, "bob"), &catalog, &q, &which), ACCESS_ALLOWED);
    assert_string_equal(set(x, "bob db=1,,2"),
                        "Error in ACL SETUSER modifier 'db=1,,2': Syntax error");
    assert_string_equal(set(x, "bob alldbs"), "");
    q.has_database = true;
    assert_int_equal(access_ask(user(x, "bob"), &catalog, &q, &which), ACCESS_ALLOWED);
    users_free(x);
}

static void one_selector_must_allow_all_of_it(void **state)
{
    struct users *x = users_new(&catalog, NULL, NULL);
    const struct access_subject both[] = {
        {.kind = ACCESS_KEY, .text = slice_str("a"), .needs = ACCESS_READ},
        {.kind = ACCESS_KEY, .text = slice_str("b"), .needs = ACCESS_READ}};
    (void)state;
    assert_string_equal(set(x, "bob +get ~a (+get ~b) (+set ~*)"), "");
    assert_int_equal(ask_key(x, "bob", GET, "a", ACCESS_READ), ACCESS_ALLOWED);
    assert_int_equal(ask_key(x, "bob", GET, "b", ACCESS_READ), ACCESS_ALLOWED);
    assert_int_equal(ask(x, "bob", GET, both, 2), ACCESS_DENIED_KEY);
    assert_int_equal(ask(x, "bob", SET, both, 2), ACCESS_ALLOWED);
    assert_string_equal(described(x, "bob"),
                        "off ~a resetchannels -@all +get (~b resetchannels -@all +get) "
                        "(~* resetchannels -@all +set)");
    assert_string_equal(set(x, "bob clearselectors"), "");
    assert_int_equal(ask(x, "bob", SET, both, 2), ACCESS_DENIED_COMMAND);
    assert_string_equal(set(x, "bob (+get"),
                        "Unmatched parenthesis in acl selector starting at '(+get'.");
    users_free(x);
}

static void wrong_words_change_nothing_and_are_named(void **state)
{
    static const struct {
        const char *words, *error;
    } cases[] = {
        {"+none", "Error in ACL SETUSER modifier '+none': Unknown command or category name in ACL"},
        {"-none", "Error in ACL SETUSER modifier '-none': Unknown command or category name in ACL"},
        {"+@none",
         "Error in ACL SETUSER modifier '+@none': Unknown command or category name in ACL"},
        {"+config|none",
         "Error in ACL SETUSER modifier '+config|none': Unknown command or category name in ACL"},
        {"+get|", "Error in ACL SETUSER modifier '+get|': Syntax error"},
        {"%~a", "Error in ACL SETUSER modifier '%~a': Syntax error"},
        {"%", "Error in ACL SETUSER modifier '%': Syntax error"},
        {"%RR~a", "Error in ACL SETUSER modifier '%RR~a': Syntax error"},
        {"what", "Error in ACL SETUSER modifier 'what': Syntax error"},
        {"#12", "Error in ACL SETUSER modifier '(hash)': The password hash must be exactly 64 "
                "characters and contain only lowercase hexadecimal characters"},
        {"<secret", "Error in ACL SETUSER modifier '(password)': The password you are trying to "
                    "remove from the user does not exist"},
        {"~* ~a", "Error in ACL SETUSER modifier '~a': Adding a pattern after the * pattern (or "
                  "the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' "
                  "to start with an empty list of patterns"},
    };
    struct users *x = users_new(&catalog, NULL, NULL);
    (void)state;
    assert_string_equal(set(x, "bob on >secret2 +get ~k"), "");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char line[100];
        snprintf(line, sizeof line, "bob reset %s", cases[i].words);
        assert_string_equal(set(x, line), cases[i].error);
        assert_int_equal(ask_key(x, "bob", GET, "k", ACCESS_READ), ACCESS_ALLOWED);
        snprintf(line, sizeof line, "new %s", cases[i].words);
        assert_string_equal(set(x, line), cases[i].error);
        assert_null(user(x, "new"));
    }
    users_free(x);
}

/* ---- passwords ------------------------------------------------------------------------------- */

static void words_that_say_nothing_are_taken_as_by_redis(void **state)
{
    struct users *x = users_new(&catalog, NULL, NULL);
    (void)state;
    assert_string_equal(set(x, "bob %R"), ""); /* the empty pattern */
    assert_string_equal(described(x, "bob"), "off %R~ resetchannels -@all");
    assert_int_equal(
        users_set(x, slice_str("bob"), &(struct slice){.len = 0}, 1, &(struct error){0}), OK);
    assert_string_equal(set(x, "bob %WR~"), "");
    assert_string_equal(described(x, "bob"), "off ~ resetchannels -@all");
    users_free(x);
}

static void a_star_beside_others_can_be_said_again(void **state)
{
    struct users *x = users_new(&catalog, NULL, NULL);
    (void)state;
    assert_string_equal(set(x, "bob +@all %RW~* ~b %R~*"), "");
    assert_string_equal(described(x, "bob"), "off %RW~* ~b resetchannels +@all");
    assert_string_equal(set(x, "bob resetkeys %R~* ~b"), "");
    assert_string_equal(described(x, "bob"), "off %R~* ~b resetchannels +@all");
    users_free(x);
}

/* Users are kept as lines: what would be other words there is no rule. */
static void what_a_line_could_not_say_is_refused(void **state)
{
    static const char *const words[] = {"+select|0\nuser", "+select|0 +@all", "(~a) +get)",
                                        "(~a))",           "(+select|0) ~a)", "~a b",
                                        "&a\tb",           "db=0\r"};
    struct users *x = users_new(&catalog, NULL, NULL);
    struct error e;
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        struct slice word = slice_str(words[i]);
        assert_int_equal(users_set(x, slice_str("bob"), &word, 1, &e), ERR_SYNTAX);
    }
    assert_null(user(x, "bob"));
    assert_string_equal(set(x, "bob ~a) (~b( +get )"), ""); /* it ends nothing, it ends */
    assert_string_equal(described(x, "bob"),
                        "off ~a) resetchannels -@all (~b( resetchannels -@all +get)");
    users_free(x);
}

static void what_is_said_of_payloads_is_kept(void **state)
{
    struct users *x = users_new(&catalog, NULL, NULL);
    (void)state;
    assert_string_equal(set(x, "bob skip-sanitize-payload"), "");
    assert_string_equal(described(x, "bob"), "off skip-sanitize-payload resetchannels -@all");
    assert_string_equal(set(x, "bob Sanitize-Payload"), "");
    assert_string_equal(described(x, "bob"), "off sanitize-payload resetchannels -@all");
    assert_string_equal(set(x, "bob skip-sanitize-payload reset"), "");
    assert_string_equal(described(x, "bob"), "off sanitize-payload resetchannels -@all");
    users_free(x);
}

static void a_user_has_so_many_passwords(void **state)
{
    struct users *x = users_new(&catalog, NULL, NULL);
    char line[40];
    (void)state;
    for (int i = 0; i < 1000; i++) {
        snprintf(line, sizeof line, "bob on >p%d", i);
        assert_string_equal(set(x, line), "");
    }
    assert_non_null(strstr(set(x, "bob >more"), "more than 1000 passwords of one user"));
    assert_null(users_login(x, slice_str("bob"), slice_str("more")));
    assert_non_null(users_login(x, slice_str("bob"), slice_str("p999")));
    assert_string_equal(set(x, "bob >p0 <p0 >more"), "");
    assert_non_null(users_login(x, slice_str("bob"), slice_str("more")));
    users_free(x);
}

static void passwords_are_kept_as_hashes(void **state)
{
    static const char hash[] = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
    struct users *x = users_new(&catalog, NULL, NULL);
    char line[200];
    (void)state;
    assert_string_equal(set(x, "bob on >secret >other"), "");
    assert_ptr_equal(users_login(x, slice_str("bob"), slice_str("secret")), user(x, "bob"));
    assert_ptr_equal(users_login(x, slice_str("bob"), slice_str("other")), user(x, "bob"));
    assert_null(users_login(x, slice_str("bob"), slice_str("secre")));
    assert_null(users_login(x, slice_str("bob"), slice_str("")));
    assert_null(users_login(x, slice_str("bo"), slice_str("secret")));
    assert_non_null(strstr(described(x, "bob"), hash));
    assert_string_equal(set(x, "bob <other"), "");
    assert_null(users_login(x, slice_str("bob"), slice_str("other")));
    snprintf(line, sizeof line, "ann on #%s", hash);
    assert_string_equal(set(x, line), "");
    assert_non_null(users_login(x, slice_str("ann"), slice_str("secret")));
    snprintf(line, sizeof line, "ann !%s", hash);
    assert_string_equal(set(x, line), "");
    assert_null(users_login(x, slice_str("ann"), slice_str("secret")));
    assert_string_equal(set(x, "bob off"), "");
    assert_null(users_login(x, slice_str("bob"), slice_str("secret")));
    assert_string_equal(set(x, "bob on nopass"), "");
    assert_non_null(users_login(x, slice_str("bob"), slice_str("anything")));
    assert_string_equal(set(x, "bob >again"), "");
    assert_null(users_login(x, slice_str("bob"), slice_str("anything")));
    /* Where there is no such user, no password fits, also not that of the stand-in. */
    assert_null(users_login(x, slice_str("nobody"), slice_str("x")));
    users_free(x);
}

static void generated_passwords_have_as_many_bits(void **state)
{
    char a[1025];
    char b[1025];
    (void)state;
    secret_generate(256, a);
    secret_generate(256, b);
    assert_int_equal(strlen(a), 64);
    assert_string_not_equal(a, b);
    secret_generate(5, a);
    assert_int_equal(strlen(a), 2);
    secret_generate(4096, a);
    assert_int_equal(strlen(a), 1024);
    assert_int_equal(strspn(a, "0123456789abcdef"), 1024);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void who_holds_a_deleted_user_keeps_it(void **state)
{
    struct told told = {{0}, 0};
    struct users *x = users_new(&catalog, on_changed, &told);
    (void)state;
    assert_string_equal(set(x, "bob on +get"), "");
    struct user *held = users_hold(user(x, "bob"));
    uint64_t before = held->incarnation;
    assert_true(users_delete(x, slice_str("bob")));
    assert_true(held->is_deleted);
    assert_null(user(x, "bob"));
    assert_false(users_delete(x, slice_str("bob")));
    assert_string_equal(set(x, "bob on +get"), "");
    assert_true(user(x, "bob")->incarnation != before);
    assert_string_equal(told.names, "bob -bob bob ");
    users_release(held);
    users_free(x);
}

static const char *load(struct users *x, const char *text)
{
    static struct error e;
    return users_load(x, slice_str(text), "file", &e) == OK ? "" : e.text;
}

static void lines_of_users_are_taken_whole_or_not_at_all(void **state)
{
    struct told told = {{0}, 0};
    struct users *x = users_new(&catalog, on_changed, &told);
    struct buf text;
    (void)state;
    assert_string_equal(set(x, "bob on >pw +get ~a*"), "");
    assert_string_equal(set(x, "eve on >pw"), "");
    uint64_t bob = user(x, "bob")->incarnation;
    struct user *held = users_hold(user(x, "bob"));
    told.names[0] = '\0';
    assert_string_equal(load(x, "user ann on\nuser ann off\n"),
                        "file:2: Duplicate user 'ann' found. A user can only be defined once");
    assert_string_equal(load(x, "# users\n\nuser ann on +nothing\n"),
                        "file:3: Error in ACL SETUSER modifier '+nothing': Unknown command or "
                        "category name in ACL");
    assert_string_equal(load(x, "users ann on"), "file:1: a line must begin with `user <name>`");
    assert_int_equal(users_count(x), 3);
    assert_string_equal(told.names, "");
    assert_string_equal(load(x, "user bob off +set\r\n  user ann on nopass\n"), "");
    assert_int_equal(users_count(x), 3);
    assert_ptr_equal(user(x, "bob"), held);
    assert_int_equal(held->incarnation, bob);
    assert_string_equal(described(x, "bob"), "off resetchannels -@all +set");
    assert_string_equal(described(x, "default"), "on nopass ~* &* +@all");
    assert_null(user(x, "eve"));
    assert_non_null(strstr(told.names, "-eve"));
    /* What is told can be taken again. */
    buf_init(&text);
    users_describe(x, false, &text);
    buf_append_byte(&text, '\0');
    char *before = (char *)text.data;
    assert_string_equal(before, "user ann on nopass resetchannels -@all\n"
                                "user bob off resetchannels -@all +set\n"
                                "user default on nopass ~* &* +@all\n");
    assert_string_equal(load(x, before), "");
    buf_fini(&text);
    assert_string_equal(load(x, "user default off"), "");
    assert_int_equal(users_count(x), 1);
    assert_string_equal(described(x, "default"), "off resetchannels -@all");
    assert_true(held->is_deleted);
    users_release(held);
    users_free(x);
}

static void a_name_may_look_like_an_incarnation(void **state)
{
    struct users *x = users_new(&catalog, NULL, NULL);
    (void)state;
    assert_string_equal(load(x, "user incarnation=0123456789abcda8\n"), "");
    assert_int_equal(users_count(x), 2);
    assert_string_equal(described(x, "incarnation=0123456789abcda8"), "off resetchannels -@all");
    users_free(x);
}

static void names_have_no_blanks(void **state)
{
    struct users *x = users_new(&catalog, NULL, NULL);
    struct error e;
    (void)state;
    assert_int_equal(users_set(x, slice_str("a b"), NULL, 0, &e), ERR_SYNTAX);
    assert_string_equal(e.text, "Usernames can't contain spaces or null characters");
    assert_int_equal(users_set(x, slice_of("a\0b", 3), NULL, 0, &e), ERR_SYNTAX);
    assert_int_equal(users_set(x, slice_str(""), NULL, 0, &e), ERR_SYNTAX);
    users_free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_may_do_everything),
        cmocka_unit_test(a_new_user_may_do_nothing),
        cmocka_unit_test(commands_are_allowed_by_name_category_part_and_first_word),
        cmocka_unit_test(keys_need_a_pattern_with_all_that_is_done),
        cmocka_unit_test(many_patterns_are_as_each_of_them),
        cmocka_unit_test(a_range_needs_a_pattern_that_covers_it),
        cmocka_unit_test(channels_and_patterns_of_channels),
        cmocka_unit_test(databases_by_name_or_number),
        cmocka_unit_test(one_selector_must_allow_all_of_it),
        cmocka_unit_test(wrong_words_change_nothing_and_are_named),
        cmocka_unit_test(words_that_say_nothing_are_taken_as_by_redis),
        cmocka_unit_test(a_star_beside_others_can_be_said_again),
        cmocka_unit_test(what_a_line_could_not_say_is_refused),
        cmocka_unit_test(what_is_said_of_payloads_is_kept),
        cmocka_unit_test(a_user_has_so_many_passwords),
        cmocka_unit_test(passwords_are_kept_as_hashes),
        cmocka_unit_test(generated_passwords_have_as_many_bits),
        cmocka_unit_test(who_holds_a_deleted_user_keeps_it),
        cmocka_unit_test(lines_of_users_are_taken_whole_or_not_at_all),
        cmocka_unit_test(a_name_may_look_like_an_incarnation),
        cmocka_unit_test(names_have_no_blanks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
