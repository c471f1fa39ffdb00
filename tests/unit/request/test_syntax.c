/* Tests of the notation of arguments, and of the keys among them. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/buf.h"
#include "request/describe.h"
#include "request/keys.h"
#include "request/plan.h"
#include "request/syntax.h"

static struct arena arena;

static int enter(void **state)
{
    arena_init(&arena, 1024);
    return 0;
}

static int leave(void **state)
{
    arena_fini(&arena);
    return 0;
}

/* ---- the notation ---------------------------------------------------------------------------- */

/* An argument as type:name, {token} before, ? optional, * multiple, + multiple with its token;
 * children in brackets. */
static void show(struct buf *out, const struct syntax_args *args)
{
    size_t count = 0;
    for (const struct syntax_arg *a = args->first; a != NULL; a = a->next) {
        if (count++ > 0) buf_append_byte(out, ' ');
        if (a->token != NULL) buf_printf(out, "{%s}", a->token);
        buf_printf(out, "%s:%s", syntax_type_name(a->type), a->name);
        if (a->children.count > 0) {
            buf_append_byte(out, '(');
            show(out, &a->children);
            buf_append_byte(out, ')');
        }
        if (a->is_optional) buf_append_byte(out, '?');
        if (a->is_multiple) buf_append_byte(out, a->has_multiple_token ? '+' : '*');
    }
    assert_int_equal(count, args->count);
}

static void expect(const char *text, const char *wanted)
{
    struct syntax_args args;
    struct error e = {0};
    struct buf out;
    if (syntax_parse(text, &arena, &args, &e) != OK) fail_msg("%s", e.text);
    buf_init(&out);
    show(&out, &args);
    buf_append_byte(&out, 0);
    assert_string_equal((const char *)out.data, wanted);
    buf_fini(&out);
}

static void refuse(const char *text)
{
    struct syntax_args args;
    struct error e = {0};
    if (syntax_parse(text, &arena, &args, &e) == OK) fail_msg("'%s' was taken", text);
    assert_int_equal(e.code, ERR_SYNTAX);
    assert_non_null(strstr(e.text, "offset"));
}

static void words_are_tokens_and_arguments(void **state)
{
    expect("", "");
    expect("key", "key:key");
    expect("key value", "key:key string:value");
    expect("NO-EVICT", "{NO-EVICT}pure-token:no-evict");
    expect("ip:port", "string:ip:port");
    expect("pattern duration client-id", "pattern:pattern double:duration integer:client-id");
    expect("unix-time-seconds", "unix-time:unix-time-seconds");
}

static void a_token_belongs_to_what_follows_it(void **state)
{
    expect("EX seconds", "{EX}integer:seconds");
    expect("START key END key", "{START}key:key {END}key:key");
    expect("[CLAMP lo hi]", "{CLAMP}block:clamp(string:lo string:hi)?");
    expect("NOW FORCE", "{NOW}pure-token:now {FORCE}pure-token:force");
    expect("TYPE <A | B>", "{TYPE}oneof:type({A}pure-token:a {B}pure-token:b)");
    expect("ON count path [path ...] [UNIQUE]",
           "{ON}block:on(integer:count string:path*) {UNIQUE}pure-token:unique?");
    expect("[SET key value [EX seconds]]",
           "{SET}block:set(key:key string:value {EX}integer:seconds?)?");
}

static void brackets_are_options_and_alternatives(void **state)
{
    expect("[message]", "string:message?");
    expect("[NX | XX]", "oneof:nx_xx({NX}pure-token:nx {XX}pure-token:xx)?");
    expect("<key | A b>", "oneof:key_b(key:key {A}string:b)");
    expect("[protover [AUTH username password]]",
           "block:protover_auth(integer:protover {AUTH}block:auth(string:username "
           "string:password)?)?");
    expect("<START key END key | ALL>",
           "oneof:key_key_all(block:key_key({START}key:key {END}key:key)"
           " {ALL}pure-token:all)");
}

static void what_is_repeated_is_multiple(void **state)
{
    expect("key [key ...]", "key:key*");
    expect("key value [key value ...]", "block:key_value(key:key string:value)*");
    expect("id key value [key value ...]", "string:id block:key_value(key:key string:value)*");
    expect("[section ...]", "string:section?*");
    expect("[ID client-id [client-id ...]]", "{ID}integer:client-id?*");
    expect("[MATCH pattern ...]", "{MATCH}pattern:pattern?+");
    expect("MATCH pattern [MATCH pattern ...]", "{MATCH}pattern:pattern+");
    expect("[<A x | B> ...]", "oneof:x_b({A}string:x {B}pure-token:b)?*");
    expect("key other [key ...]", "key:key string:other key:key?*");
}

static void everything_else_is_refused(void **state)
{
    static const char *const rows[] = {
        " ",         " key",      "key ",         "key  value",
        "[key",      "key]",      "<A | B",       "<A>",
        "A|B",       "A | B",     "[A|B]",        "[]",
        "[ key]",    "[key ]",    "[A | ]",       "Key",
        "key_a",     "...",       "key ...",      "[...]",
        "<key ...>", "-key",      "a,b",          "[A | B ...]",
        "(key)",     "\"x\"",     "[[x] ...]",    "[[x ...] ...]",
        "{A|B}",     "<[A | B>]", "key [key...]",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) refuse(rows[i]);
    char deep[200] = "";
    for (int i = 0; i < 40; i++) memcpy(deep + i, "[", 2);
    refuse(deep);
    char many[200] = "a";
    for (size_t i = 1; i + 2 < 120; i += 2) memcpy(many + i, " a", 3);
    refuse(many);
}

/* ---- the table ------------------------------------------------------------------------------- */

static size_t least_words(const struct syntax_args *args);

static size_t least_of(const struct syntax_arg *a)
{
    size_t own = a->token != NULL;
    size_t least = SIZE_MAX;
    if (a->is_optional) return 0;
    switch (a->type) {
    case SYNTAX_TOKEN: return 1;
    case SYNTAX_BLOCK: return own + least_words(&a->children);
    case SYNTAX_ONEOF:
        for (const struct syntax_arg *k = a->children.first; k != NULL; k = k->next) {
            if (least_of(k) < least) least = least_of(k);
        }
        return own + least;
    default: return own + 1;
    }
}

static size_t least_words(const struct syntax_args *args)
{
    size_t n = 0;
    for (const struct syntax_arg *a = args->first; a != NULL; a = a->next) n += least_of(a);
    return n;
}

static bool is_of_one_length(const struct syntax_args *args)
{
    for (const struct syntax_arg *a = args->first; a != NULL; a = a->next) {
        if (a->is_optional || a->is_multiple) return false;
    }
    return true;
}

static bool has_key(const struct syntax_args *args)
{
    for (const struct syntax_arg *a = args->first; a != NULL; a = a->next) {
        if (a->type == SYNTAX_KEY || has_key(&a->children)) return true;
    }
    return false;
}

static void check_keys(const struct command *c, struct syntax_args *args)
{
    struct key_spec specs[KEY_SPECS_MAX];
    size_t count = key_specs(c, args, specs);
    unsigned all = 0;
    assert_int_equal(count > 0, command_has_keys(c));
    if (count == 0) return;
    assert_true(has_key(args));
    for (size_t i = 0; i < count; i++) {
        unsigned kinds = specs[i].flags & (KEY_RO | KEY_RW | KEY_OW | KEY_RM);
        assert_true(kinds != 0 && (kinds & (kinds - 1)) == 0);
        all |= specs[i].flags;
    }
    bool is_script = strcmp(c->group, "scripting") == 0;
    bool writes = (all & (KEY_RW | KEY_OW | KEY_RM)) != 0;
    /* What scripts write is told by their commands. KV.INDEX CREATE writes, and only reads what is
     * below its key; XREADGROUP only reads entries, as Redis has it, and PFCOUNT, a read, may keep
     * its estimate. */
    if (strcmp(c->name, "pfcount") == 0) return;
    if (writes && !is_script) assert_true((c->flags & CMD_WRITE) != 0);
    bool only_reads = strcmp(c->name, "create") == 0 || strcmp(c->name, "xreadgroup") == 0;
    if ((c->flags & CMD_WRITE) != 0 && !only_reads) assert_true(writes);
    assert_int_equal(writes, (all & (KEY_UPDATE | KEY_INSERT | KEY_DELETE)) != 0);
}

static void check_command(const struct command *parent, const struct command *c)
{
    struct syntax_args args;
    struct error e = {0};
    size_t words = parent != NULL ? 2 : 1;
    int own = command_arity_own(c);
    size_t arity = (size_t)(own < 0 ? -own : own);
    const char *text = arguments_syntax(c->arguments, &arena);
    if (syntax_parse(text, &arena, &args, &e) != OK) fail_msg("%s: %s", c->name, e.text);
    if (c->subcommands == NULL) {
        if (words + least_words(&args) > arity) fail_msg("%s: the arity is too small", c->name);
        if (own > 0 && (words + least_words(&args) != arity || !is_of_one_length(&args))) {
            fail_msg("%s: the arity is exact, the syntax is not", c->name);
        }
    }
    command_arguments(c, &arena, &args);
    check_keys(c, &args);
    struct words flags;
    command_flag_words(parent, c, &args, &flags);
    command_categories(parent, c, &arena, &flags);
    assert_true(flags.count > 0);
    if (strncmp(c->name, "kv.", 3) == 0) {
        assert_true((c->flags & CMD_WRITE) == 0 || c->reply != NULL);
        /* But for those that read files and could only hold up an EXEC. */
        bool is_refused = strcmp(c->name, "kv.changes") == 0 || strcmp(c->name, "kv.search") == 0;
        assert_int_equal((c->flags & CMD_NO_MULTI) != 0, is_refused);
    }
    /* All that have values or keys of tuples can be told how they travel. */
    const char *full = command_full_name(parent, c, &arena);
    if (c->run != NULL && strncmp(full, "kv.", 3) == 0) {
        bool is_without = strcmp(full, "kv.format") == 0 || strcmp(c->name, "help") == 0 ||
                          strcmp(full, "kv.do") == 0 ||          /* its command says it */
                          strncmp(full, "kv.connect|", 11) == 0; /* in encodings of its own */
        assert_int_equal((c->flags & CMD_FORMAT) == 0, is_without);
    }
    for (size_t i = 0; i < subcommand_count(c); i++) check_command(c, c->subcommands[i]);
}

static const struct command *find(const char *name)
{
    const struct command *parent = NULL;
    const struct command *c = command_find_full(slice_str(name), &parent);
    if (c == NULL) fail_msg("no command %s", name);
    return c;
}

/* A prompt such as 127.0.0.1:6379> and the command's name leave some 54 columns of 80. */
static void check_brief(const struct command *c)
{
    struct syntax_args args;
    struct error e = {0};
    if (c->brief == NULL) return;
    if (syntax_parse(c->brief, &arena, &args, &e) != OK) fail_msg("%s: %s", c->name, e.text);
    if (strlen(c->brief) > 80) fail_msg("%s: the brief form is long", c->name);
    command_hint(c, &arena, &args);
    assert_true(args.count > 0);
    for (size_t i = 0; i < subcommand_count(c); i++) {
        char upper[32] = "";
        for (size_t k = 0; c->subcommands[i]->name[k] != '\0'; k++) {
            upper[k] = (char)toupper((unsigned char)c->subcommands[i]->name[k]);
        }
        bool is_told = strstr(c->brief, upper) != NULL || strcmp(upper, "HELP") == 0;
        if (!is_told) fail_msg("%s: no %s", c->name, upper);
    }
}

static void hints_of_the_longest_commands_fit_a_line(void **state)
{
    assert_non_null(find("kv.atomic")->brief);
    assert_true(strlen(find("kv.atomic")->brief) <= 54);
    assert_non_null(find("kv.queue")->brief);
    for (size_t i = 0; i < command_count(); i++) check_brief(command_table[i]);
}

static void every_syntax_of_the_table_is_in_the_notation(void **state)
{
    for (size_t i = 0; i < command_count(); i++) check_command(NULL, command_table[i]);
}

/* NULL = there is none. */
static const struct syntax_arg *argument_named(const struct syntax_args *args, const char *name)
{
    const struct syntax_arg *found = NULL;
    for (const struct syntax_arg *a = args->first; a != NULL && found == NULL; a = a->next) {
        found = strcmp(a->name, name) == 0 ? a : argument_named(&a->children, name);
    }
    return found;
}

static void expect_type(const char *command, const char *name, enum syntax_type wanted)
{
    struct syntax_args args;
    command_arguments(find(command), &arena, &args);
    const struct syntax_arg *a = argument_named(&args, name);
    if (a == NULL) fail_msg("%s has no %s", command, name);
    if (a->type != wanted) fail_msg("%s: %s is %s", command, name, syntax_type_name(a->type));
}

static void what_a_command_reads_as_an_integer_is_one(void **state)
{
    expect_type("wait", "numreplicas", SYNTAX_INTEGER);
    expect_type("waitaof", "numlocal", SYNTAX_INTEGER);
    expect_type("lpos", "num", SYNTAX_INTEGER);               /* of a token */
    expect_type("kv.search", "words", SYNTAX_INTEGER);        /* likewise */
    expect_type("xpending", "min-idle-time", SYNTAX_INTEGER); /* in a block */
    expect_type("kv.db|create", "entries", SYNTAX_INTEGER);   /* in a group of rows */
    expect_type("kv.search", "query", SYNTAX_STRING);
    expect_type("set", "value", SYNTAX_STRING);
    expect_type("set", "key", SYNTAX_KEY);
    expect_type("expireat", "unix-time-seconds", SYNTAX_UNIX_TIME);
}

static void idem_and_format_are_where_the_command_takes_them(void **state)
{
    const char *atomic = command_syntax(find("kv.atomic"), &arena);
    assert_int_equal(strncmp(atomic, "[IDEM id] [DETAILS] ", 20), 0);
    const char *format = "[FORMAT <JSON | MSGPACK>]";
    assert_string_equal(atomic + strlen(atomic) - strlen(format), format);
    assert_string_equal(command_syntax(find("kv.min"), &arena),
                        "key value [FORMAT <JSON | MSGPACK>] [IDEM id]");
    assert_string_equal(command_syntax(find("kv.version"), &arena), format);
    assert_string_equal(command_syntax(find("kv.format"), &arena), "[JSON [BARE] | MSGPACK]");
    assert_int_equal(command_arity(find("kv.pttl")), -2);
    assert_string_equal(command_syntax(find("get"), &arena), "key");
    assert_int_equal(command_arity(find("kv.min")), -3);
    assert_int_equal(command_arity(find("kv.set")), -3);
    assert_int_equal(command_arity(find("get")), 2);
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Splits `words` at blanks. */
static size_t split(const char *words, struct slice *argv, size_t max)
{
    size_t argc = 0;
    for (const char *p = words; *p != '\0';) {
        size_t len = strcspn(p, " ");
        assert_true(argc < max);
        argv[argc++] = slice_of(p, len);
        p += len + (p[len] == ' ');
    }
    return argc;
}

/* The keys of a command, as word/flags, "-" before them when it is not well-formed, "" when it
 * reaches keys it does not name. */
static void expect_keys(const char *words, const char *wanted)
{
    struct slice argv[32];
    size_t argc = split(words, argv, 32);
    const struct command *parent = NULL;
    const struct command *c = command_of_words(argv, argc, &parent);
    struct key_uses uses = {.arena = &arena};
    struct buf out;
    assert_non_null(c);
    buf_init(&out);
    if (!command_keys(c, argv, argc, &uses)) buf_append_byte(&out, '-');
    for (size_t i = 0; i < uses.count; i++) {
        unsigned flag = 0;
        buf_printf(&out, "%s%.*s/", i > 0 ? " " : "", (int)uses.items[i].word.len,
                   (const char *)uses.items[i].word.data);
        for (size_t k = 0; key_flag_name(k, &flag) != NULL; k++) {
            if ((uses.items[i].flags & flag) == 0) continue;
            buf_printf(&out, "%.2s", key_flag_name(k, &flag));
        }
        if ((uses.items[i].flags & KEY_PREFIX) != 0) buf_append_byte(&out, '<');
        if ((uses.items[i].flags & KEY_START) != 0) buf_append_byte(&out, '[');
        if ((uses.items[i].flags & KEY_END) != 0) buf_append_byte(&out, ')');
    }
    buf_append_byte(&out, 0);
    assert_string_equal((const char *)out.data, wanted);
    buf_fini(&out);
}

static void keys_in_fixed_places_are_found(void **state)
{
    expect_keys("GET a", "a/ROac");
    expect_keys("mset a 1 b 2 c 3", "a/OWup b/OWup c/OWup");
    expect_keys("KV.DEL a b", "a/RMde b/RMde");
    expect_keys("memory usage a SAMPLES 3", "a/RO");
    expect_keys("ping x", "");
}

static void keys_of_ranges_are_found(void **state)
{
    expect_keys("KV.LIST PREFIX a LIMIT 3 REVERSE", "a/ROac<");
    expect_keys("KV.LIST limit PREFIX prefix a", "a/ROac<");
    expect_keys("KV.LIST START a CURSOR END END b", "a/ROac[ b/ROac)");
    expect_keys("KV.COUNT", "");
    expect_keys("KV.COUNT START a", "a/RO[");
    expect_keys("KV.DELRANGE ALL", "");
    expect_keys("KV.DELRANGE PREFIX a", "a/RMde<");
    expect_keys("KV.LIST PREFIX a FOO", "-a/ROac<");
    expect_keys("KV.LIST PREFIX", "-");
}

static void keys_of_a_transaction_are_found(void **state)
{
    expect_keys("KV.ATOMIC", "");
    expect_keys("KV.ATOMIC DETAILS CHECK a NONE SET b 1 EX 5 DEL c", "a/ROac b/OWup c/RMde");
    expect_keys("KV.ATOMIC SUM a 1 CLAMP 0 9 MIN b 2 max c 3", "a/RWacup b/RWacup c/RWacup");
    expect_keys("KV.ATOMIC APPEND a x PREPEND DEL y DEL SET", "a/RWin DEL/RWin SET/RMde");
    expect_keys("KV.ATOMIC SET SET KEEPTTL KEEPTTL DEL a", "SET/OWup a/RMde");
    expect_keys("KV.ATOMIC SET a", "-a/OWup");
    expect_keys("KV.ATOMIC DEL a FOO b", "-a/RMde");
    expect_keys("KV.ATOMIC SET a 1 EX", "-a/OWup");
}

/* As Redis's own specifications of the same commands. */
static void expect_place(const char *name, size_t i, const struct key_spec *wanted)
{
    struct syntax_args args;
    struct key_spec specs[KEY_SPECS_MAX];
    command_arguments(find(name), &arena, &args);
    if (key_specs(find(name), &args, specs) <= i) fail_msg("%s: no specification %zu", name, i);
    const struct key_spec *got = &specs[i];
    bool is_good = got->place == wanted->place && got->first == wanted->first &&
                   got->last == wanted->last && got->step == wanted->step &&
                   got->is_multiple == wanted->is_multiple && got->is_half == wanted->is_half;
    if (!is_good) {
        fail_msg("%s: %d %d %d %d", name, (int)got->place, got->first, got->last, got->step);
    }
}

static void words_that_are_no_keys_are_left_out(void **state)
{
    static const char *const counted[] = {"lmpop", "zmpop", "zunion", "sintercard", "zintercard"};
    static const char *const before_last[] = {"blpop", "brpop", "bzpopmin", "json.mget"};
    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++) {
        expect_place(counted[i], 0,
                     &(struct key_spec){.place = KEYS_COUNTED, .first = 1, .step = 1});
        assert_true(keys_are_movable(find(counted[i])));
    }
    for (size_t i = 0; i < sizeof before_last / sizeof before_last[0]; i++) {
        expect_place(before_last[i], 0,
                     &(struct key_spec){.place = KEYS_FIXED, .first = 1, .last = -2, .step = 1});
    }
    expect_place("blmpop", 0, &(struct key_spec){.place = KEYS_COUNTED, .first = 2, .step = 1});
    expect_place("eval", 0, &(struct key_spec){.place = KEYS_COUNTED, .first = 2, .step = 1});
    expect_place("zunionstore", 0,
                 &(struct key_spec){.place = KEYS_FIXED, .first = 1, .last = 1, .step = 1});
    expect_place("zunionstore", 1,
                 &(struct key_spec){.place = KEYS_COUNTED, .first = 2, .step = 1});
    expect_place("pfmerge", 1,
                 &(struct key_spec){.place = KEYS_FIXED, .first = 2, .last = -1, .step = 1});
    expect_place("mset", 0,
                 &(struct key_spec){.place = KEYS_FIXED, .first = 1, .last = -1, .step = 2});
    expect_place("xread", 0,
                 &(struct key_spec){
                     .place = KEYS_KEYWORD, .first = 1, .is_multiple = true, .is_half = true});
    assert_false(keys_are_movable(find("pfmerge")));
    assert_false(keys_are_movable(find("blpop")));
}

static void key_specifications_say_where_keys_are(void **state)
{
    struct syntax_args args;
    struct key_spec specs[KEY_SPECS_MAX];
    command_arguments(find("kv.delrange"), &arena, &args);
    assert_int_equal(key_specs(find("kv.delrange"), &args, specs), 3);
    assert_int_equal(specs[2].place, KEYS_KEYWORD);
    assert_string_equal(specs[2].keyword, "END");
    assert_int_equal(args.first->children.first->key_spec, 0);
    assert_true(keys_are_optional(&args));
    command_arguments(find("kv.atomic"), &arena, &args);
    assert_int_equal(key_specs(find("kv.atomic"), &args, specs), 1);
    assert_int_equal(specs[0].place, KEYS_UNKNOWN);
    command_arguments(find("mset"), &arena, &args);
    assert_int_equal(key_specs(find("mset"), &args, specs), 1);
    assert_int_equal(specs[0].place, KEYS_FIXED);
    assert_int_equal(args.first->children.first->key_spec, 0);
    assert_int_equal(args.first->children.last->key_spec, -1);
    assert_false(keys_are_optional(&args));
    assert_true(keys_are_movable(find("kv.del")));
    assert_false(keys_are_movable(find("kv.set")));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)
    const struct CMUnitTest tests[] = {
        TEST(words_are_tokens_and_arguments),
        TEST(a_token_belongs_to_what_follows_it),
        TEST(brackets_are_options_and_alternatives),
        TEST(what_is_repeated_is_multiple),
        TEST(everything_else_is_refused),
        TEST(hints_of_the_longest_commands_fit_a_line),
        TEST(every_syntax_of_the_table_is_in_the_notation),
        TEST(what_a_command_reads_as_an_integer_is_one),
        TEST(idem_and_format_are_where_the_command_takes_them),
        TEST(keys_in_fixed_places_are_found),
        TEST(keys_of_ranges_are_found),
        TEST(keys_of_a_transaction_are_found),
        TEST(key_specifications_say_where_keys_are),
        TEST(words_that_are_no_keys_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
