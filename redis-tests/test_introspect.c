/* COMMAND and its subcommands: every command of the table is told in exactly the shape that Redis
 * 7.0 has, in RESP2 and RESP3, because redis-cli ends its life over any other. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"

static redisContext *c; /* RESP2, fresh for each test */
static int fd;          /* likewise: what hiredis cannot read, RESP3 and replies that are deep */

static int start(void **state)
{
    group_opens(&c, NULL);
    group_opens_raw(&fd);
    server = testserver_start_with("--enable-debug-command", "yes", NULL);
    return 0;
}

/* ---- replies of any depth, in both protocols ------------------------------------------------- */

struct node {
    char type;        /* the first byte */
    long long number; /* of : */
    char *text;       /* of + - $ and the null of RESP3 */
    size_t count;     /* of * ~ %, names and values of a map counted apart */
    struct node *elements;
};

/* No bulk string in a reply of COMMAND has a line end in it. */
static void node_read(struct node *n)
{
    const char *line = raw_line(fd);
    *n = (struct node){.type = line[0], .text = strdup(line + 1)};
    if (strcmp(line, "$-1") == 0) {
        free(n->text);
        n->text = strdup("(nil)");
    } else if (n->type == '$') {
        size_t len = strtoul(line + 1, NULL, 10);
        free(n->text);
        n->text = strdup(raw_line(fd));
        assert_int_equal(strlen(n->text), len);
    } else if (n->type == ':') {
        n->number = strtoll(line + 1, NULL, 10);
    } else if (strchr("*~%", n->type) != NULL) {
        n->count = strtoul(line + 1, NULL, 10) * (n->type == '%' ? 2 : 1);
        n->elements = calloc(n->count + 1, sizeof *n->elements);
        for (size_t i = 0; i < n->count; i++) node_read(&n->elements[i]);
    }
}

static void node_free(struct node *n)
{
    for (size_t i = 0; i < n->count; i++) node_free(&n->elements[i]);
    free(n->elements);
    free(n->text);
}

static void node_ask(struct node *n, const char *command)
{
    raw_say(fd, command);
    raw_send(fd, "\r\n", 2);
    node_read(n);
}

static void use_resp3(void)
{
    struct node n;
    node_ask(&n, "HELLO 3");
    assert_int_equal(n.type, '%');
    node_free(&n);
}

/* As expect of client.h shows a reply; @ as %, for it stands for a versionstamp there. */
static void node_show(const struct node *n, FILE *out)
{
    if (n->elements == NULL) {
        bool is_category = n->type == '+' && n->text[0] == '@';
        if (n->type == ':' || n->type == '+') fputc(n->type, out);
        fprintf(out, "%s%s", is_category ? "%" : "", n->text + is_category);
        return;
    }
    fputc('[', out);
    for (size_t i = 0; i < n->count; i++) {
        if (i > 0) fputc(' ', out);
        node_show(&n->elements[i], out);
    }
    fputc(']', out);
}

static void expect_deep(const char *wanted, const char *command)
{
    char text[4096] = "";
    struct node n;
    node_ask(&n, command);
    FILE *out = fmemopen(text, sizeof text - 1, "w");
    node_show(&n, out);
    fclose(out);
    node_free(&n);
    if (!text_fits(text, wanted)) fail_msg("%s: %s, not %s", command, text, wanted);
}

/* ---- a strict reader of Redis's shapes --------------------------------------------------------
 */

/* Which type a map and a set have in the protocol. */
struct shape {
    char map, set;
};
static const struct shape resp2 = {'*', '*'};
static const struct shape resp3 = {'%', '~'};

static const char *text_of(const struct node *r)
{
    assert_int_equal(r->type, '$');
    assert_true(r->text[0] != '\0');
    return r->text;
}

/* The value of `name` in a map whose names are bulk strings; NULL when it does not exist. */
static const struct node *field(const struct shape *s, const struct node *map, const char *name)
{
    const struct node *found = NULL;
    assert_int_equal(map->type, s->map);
    assert_int_equal(map->count % 2, 0);
    for (size_t i = 0; i < map->count; i += 2) {
        if (strcmp(text_of(&map->elements[i]), name) != 0) continue;
        assert_null(found);
        found = &map->elements[i + 1];
    }
    return found;
}

/* The names are some of these, in this order. */
static void expect_names(const struct node *map, const char *const *names)
{
    for (size_t i = 0; i < map->count; i += 2) {
        while (*names != NULL && strcmp(*names, map->elements[i].text) != 0) names++;
        if (*names == NULL) fail_msg("%s is unknown or out of order", map->elements[i].text);
    }
}

/* A set of statuses, each of them one of the words. */
static void expect_statuses(const struct shape *s, const struct node *set, const char *words)
{
    assert_int_equal(set->type, s->set);
    for (size_t i = 0; i < set->count; i++) {
        char word[40];
        assert_int_equal(set->elements[i].type, '+');
        snprintf(word, sizeof word, " %s ", set->elements[i].text);
        if (strstr(words, word) == NULL) fail_msg("flag%sis none of%s", word, words);
    }
}

static long long number_of(const struct shape *s, const struct node *map, const char *name)
{
    const struct node *r = field(s, map, name);
    assert_non_null(r);
    assert_int_equal(r->type, ':');
    return r->number;
}

static void check_arguments(const struct shape *s, const struct node *args, size_t specs);

static void check_argument(const struct shape *s, const struct node *arg, size_t specs)
{
    static const char *const names[] = {"name",      "type", "key_spec_index", "token", "flags",
                                        "arguments", NULL};
    static const char types[] =
        " string integer double key pattern unix-time pure-token oneof block ";
    char type[40];
    assert_non_null(field(s, arg, "name"));
    assert_non_null(field(s, arg, "type"));
    expect_names(arg, names);
    text_of(field(s, arg, "name"));
    snprintf(type, sizeof type, " %s ", text_of(field(s, arg, "type")));
    if (strstr(types, type) == NULL) fail_msg("type%s", type);
    bool is_group = strcmp(type, " oneof ") == 0 || strcmp(type, " block ") == 0;
    assert_int_equal(field(s, arg, "arguments") != NULL, is_group);
    assert_int_equal(field(s, arg, "key_spec_index") != NULL, strcmp(type, " key ") == 0);
    if (strcmp(type, " key ") == 0) {
        assert_in_range(number_of(s, arg, "key_spec_index"), 0, specs - 1);
    }
    const struct node *token = field(s, arg, "token");
    if (strcmp(type, " pure-token ") == 0) assert_non_null(token);
    for (const char *p = token == NULL ? "" : text_of(token); *p != '\0'; p++) {
        assert_false(islower((unsigned char)*p));
    }
    const struct node *flags = field(s, arg, "flags");
    if (flags != NULL) {
        assert_true(flags->count > 0);
        expect_statuses(s, flags, " optional multiple multiple_token ");
    }
    if (is_group) check_arguments(s, field(s, arg, "arguments"), specs);
}

static void check_arguments(const struct shape *s, const struct node *args, size_t specs)
{
    assert_int_equal(args->type, '*');
    assert_true(args->count > 0);
    for (size_t i = 0; i < args->count; i++) check_argument(s, &args->elements[i], specs);
}

static void check_part(const struct shape *s, const struct node *spec, const char *part,
                       const char *const *types, size_t *which)
{
    const struct node *map = field(s, spec, part);
    assert_non_null(map);
    const char *type = text_of(field(s, map, "type"));
    assert_non_null(field(s, map, "spec"));
    for (*which = 0; types[*which] != NULL && strcmp(types[*which], type) != 0; (*which)++) {
    }
    assert_non_null(types[*which]);
}

static void check_key_spec(const struct shape *s, const struct node *spec)
{
    static const char *const begins[] = {"index", "keyword", "unknown", NULL};
    static const char *const finds[] = {"range", "keynum", "unknown", NULL};
    size_t which = 0;
    assert_int_equal(spec->count, 2 * 3);
    expect_statuses(s, field(s, spec, "flags"),
                    " RO RW OW RM access update insert delete incomplete variable_flags ");
    check_part(s, spec, "begin_search", begins, &which);
    const struct node *inner = field(s, field(s, spec, "begin_search"), "spec");
    if (which == 0) assert_true(number_of(s, inner, "index") > 0);
    if (which == 1) {
        text_of(field(s, inner, "keyword"));
        assert_true(number_of(s, inner, "startfrom") > 0);
    }
    check_part(s, spec, "find_keys", finds, &which);
    inner = field(s, field(s, spec, "find_keys"), "spec");
    if (which == 0) {
        number_of(s, inner, "lastkey");
        assert_true(number_of(s, inner, "keystep") > 0);
        number_of(s, inner, "limit");
    }
    if (which == 1) {
        assert_int_equal(number_of(s, inner, "keynumidx"), 0);
        assert_int_equal(number_of(s, inner, "firstkey"), 1);
        assert_true(number_of(s, inner, "keystep") > 0);
    }
}

static void check_info(const struct shape *s, const struct node *info, const char *name)
{
    assert_int_equal(info->type, '*');
    assert_int_equal(info->count, 10);
    assert_string_equal(text_of(&info->elements[0]), name);
    assert_int_equal(info->elements[1].type, ':');
    assert_true(info->elements[1].number != 0);
    expect_statuses(s, &info->elements[2],
                    " write readonly admin pubsub blocking fast no_auth no_multi module "
                    "no_mandatory_keys movablekeys ");
    for (size_t i = 3; i < 6; i++) assert_int_equal(info->elements[i].type, ':');
    const struct node *categories = &info->elements[6];
    expect_statuses(s, categories,
                    " @read @write @keyspace @string @admin @dangerous @pubsub @blocking "
                    "@connection @transaction @fast @slow @kv @queue @index @watch @bitmap @json "
                    "@scripting @hash @list @set @sortedset @stream @hyperloglog @geo ");
    assert_true(categories->count > 0);
    for (size_t i = 7; i < 10; i++) assert_int_equal(info->elements[i].type, '*');
    for (size_t i = 0; i < info->elements[8].count; i++) {
        check_key_spec(s, &info->elements[8].elements[i]);
    }
    for (size_t i = 0; i < info->elements[9].count; i++) {
        const struct node *sub = &info->elements[9].elements[i];
        const char *sub_name = text_of(&sub->elements[0]);
        assert_int_equal(strncmp(sub_name, name, strlen(name)), 0);
        assert_int_equal(sub_name[strlen(name)], '|');
        check_info(s, sub, sub_name);
    }
}

static void check_docs(const struct shape *s, const struct node *docs, const struct node *info)
{
    static const char *const names[] = {"summary",   "since",       "group", "module",
                                        "arguments", "subcommands", NULL};
    const struct node *subs = field(s, docs, "subcommands");
    assert_non_null(field(s, docs, "summary"));
    assert_non_null(field(s, docs, "since"));
    assert_non_null(field(s, docs, "group"));
    expect_names(docs, names);
    for (size_t i = 0; i < docs->count; i += 2) {
        const struct node *value = &docs->elements[i + 1];
        if (strcmp(docs->elements[i].text, "arguments") == 0) {
            check_arguments(s, value, info->elements[8].count);
        } else if (value != subs) {
            text_of(value);
        }
    }
    const struct node *sub_infos = &info->elements[9];
    assert_int_equal(subs != NULL, sub_infos->count > 0);
    if (subs == NULL) return;
    assert_int_equal(subs->type, s->map);
    assert_int_equal(subs->count, 2 * sub_infos->count);
    for (size_t i = 0; i < sub_infos->count; i++) {
        const struct node *sub = &sub_infos->elements[i];
        assert_string_equal(text_of(&subs->elements[2 * i]), sub->elements[0].text);
        check_docs(s, &subs->elements[2 * i + 1], sub);
    }
}

static void check_all(const struct shape *s)
{
    struct node infos;
    struct node docs;
    node_ask(&infos, "COMMAND");
    node_ask(&docs, "COMMAND DOCS");
    assert_int_equal(infos.type, '*');
    assert_int_equal(docs.type, s->map);
    assert_true(infos.count > 80);
    assert_int_equal(docs.count, 2 * infos.count);
    for (size_t i = 0; i < infos.count; i++) {
        const char *name = text_of(&docs.elements[2 * i]);
        check_info(s, &infos.elements[i], name);
        check_docs(s, &docs.elements[2 * i + 1], &infos.elements[i]);
    }
    node_free(&docs);
    node_free(&infos);
}

static void every_command_has_redis_shape_in_resp2(void **state)
{
    check_all(&resp2);
}

static void every_command_has_redis_shape_in_resp3(void **state)
{
    use_resp3();
    check_all(&resp3);
}

/* ---- some of them, word for word --------------------------------------------------------------
 */

static void docs_tell_arguments(void **state)
{
    expect_deep("[get [summary * since * group string arguments "
                "[[name key type key key_spec_index :0]]]]",
                "COMMAND DOCS get");
    expect_deep(
        "[kv.sum [summary * since * group kv module kv arguments "
        "[[name key type key key_spec_index :0] [name value type string] "
        "[name clamp_range type oneof flags [+optional] arguments "
        "[[name clamp type block token CLAMP arguments [[name lo type string] [name hi type "
        "string]]] "
        "[name range type block token RANGE arguments [[name lo type string] [name hi type "
        "string]]]]] "
        "[name format type oneof token FORMAT flags [+optional] arguments "
        "[[name json type pure-token token JSON] [name msgpack type pure-token token MSGPACK]]] "
        "[name id type string token IDEM flags [+optional]]]]]",
        "COMMAND DOCS KV.SUM");
    expect_deep("[mset [summary * since * group string arguments [[name key_value type block flags "
                "[+multiple] arguments [[name key type key key_spec_index :0] [name value type "
                "string]]]]]]",
                "COMMAND DOCS mset");
    expect_deep(
        "[command|list [summary * since * group server arguments [[name filterby type oneof "
        "token FILTERBY flags [+optional] arguments [[name module-name type string token "
        "MODULE] [name category type string token ACLCAT] [name pattern type pattern token "
        "PATTERN]]]]]]",
        "COMMAND DOCS command|list");
    expect_deep("[]", "COMMAND DOCS nosuch config|nosuch");
    raw_send(fd, "COMMAND INFO nosuch\r\n", 21);
    raw_expect(fd, "*1\r\n$-1\r\n");
    use_resp3();
    raw_send(fd, "COMMAND DOCS nosuch\r\n", 21);
    raw_expect(fd, "%0\r\n");
    raw_send(fd, "COMMAND INFO nosuch\r\n", 21);
    raw_expect(fd, "*1\r\n_\r\n");
    raw_send(fd, "COMMAND INFO get\r\n", 18);
    raw_expect(fd, "*1\r\n*10\r\n$3\r\nget\r\n:2\r\n~2\r\n+readonly\r\n+fast\r\n:1\r\n:1\r\n:1\r\n"
                   "~3\r\n+@read\r\n+@string\r\n+@fast\r\n*0\r\n*1\r\n%3\r\n$5\r\nflags\r\n"
                   "~2\r\n+RO\r\n+access\r\n$12\r\nbegin_search\r\n%2\r\n$4\r\ntype\r\n"
                   "$5\r\nindex\r\n$4\r\nspec\r\n%1\r\n$5\r\nindex\r\n:1\r\n$9\r\nfind_keys\r\n"
                   "%2\r\n$4\r\ntype\r\n$5\r\nrange\r\n$4\r\nspec\r\n%3\r\n$7\r\nlastkey\r\n:0\r\n"
                   "$7\r\nkeystep\r\n:1\r\n$5\r\nlimit\r\n:0\r\n*0\r\n");
}

static void info_tells_flags_categories_and_key_places(void **state)
{
    expect_deep("[[mset :-3 [+write] :1 :-1 :2 [+%write +%string +%slow] [] [[flags [+OW +update] "
                "begin_search [type index spec [index :1]] find_keys [type range spec [lastkey :-1 "
                "keystep :2 limit :0]]]] []]]",
                "COMMAND INFO MSET");
    expect_deep(
        "[[kv.delrange :-2 [+write +module +no_mandatory_keys +movablekeys] :0 :0 :0 [+%write "
        "+%keyspace +%slow +%kv] [] [[flags [+RM +delete] begin_search [type keyword spec "
        "[keyword PREFIX startfrom :1]] find_keys [type range spec [lastkey :0 keystep :1 "
        "limit :0]]] * *] []]]",
        "COMMAND INFO kv.delrange");
    expect_deep("[[kv.atomic :-1 [+write +module +no_mandatory_keys +movablekeys] :0 :0 :0 [*] [] "
                "[[flags [+RW +access +update +incomplete] begin_search [type unknown spec []] "
                "find_keys [type unknown spec []]]] []]]",
                "COMMAND INFO KV.ATOMIC");
    expect_deep(
        "[[georadiusbymember :-5 [+write +movablekeys] :1 :1 :1 [+%geo +%write +%slow] [] [[flags "
        "[+RO +access] begin_search [type index spec [index :1]] *] [flags [+OW +update] "
        "begin_search [type keyword spec [keyword STORE startfrom :5]] *] [flags [+OW +update] "
        "begin_search [type keyword spec [keyword STOREDIST startfrom :5]] *]] []]]",
        "COMMAND INFO GEORADIUSBYMEMBER");
    expect_deep("[[kv.min :-3 *] [kv.del :-2 [*+movablekeys] :1 :-1 :1 *]]",
                "COMMAND INFO KV.MIN kv.del");
    expect_deep("[[del * [+%write +%keyspace +%slow] *] [set * [+%write +%string +%slow] *]]",
                "COMMAND INFO del set");
    expect_deep(
        "[[config|set :-4 [+admin +no_multi] :0 :0 :0 [+%admin +%dangerous +%slow] [] [] []]]",
        "COMMAND INFO config|set");
    expect_deep("[[multi :1 [+fast] * [+%transaction +%fast] *] [wait * [] *]]",
                "COMMAND INFO multi wait");
    expect_deep("[(nil) (nil) (nil)]", "COMMAND INFO nosuch config|nosuch nosuch|get");
}

static bool has_name(const redisReply *names, const char *name)
{
    for (size_t i = 0; i < names->elements; i++) {
        if (strcmp(names->element[i]->str, name) == 0) return true;
    }
    return false;
}

static void list_filters(void **state)
{
    redisReply *all = ask_reply(c, "COMMAND LIST");
    assert_true(all->elements > (size_t)ask_integer(c, "COMMAND COUNT"));
    assert_true(has_name(all, "kv.get") && has_name(all, "client|kill") && has_name(all, "client"));
    freeReplyObject(all);
    redisReply *kv = ask_reply(c, "COMMAND LIST filterby module kv");
    assert_true(kv->elements >= 23);
    for (size_t i = 0; i < kv->elements; i++) {
        assert_int_equal(strncmp(kv->element[i]->str, "kv.", 3), 0);
    }
    freeReplyObject(kv);
    redisReply *writes = ask_reply(c, "COMMAND LIST FILTERBY ACLCAT Write");
    assert_true(has_name(writes, "kv.set") && has_name(writes, "flushall"));
    assert_false(has_name(writes, "kv.get") || has_name(writes, "ping"));
    freeReplyObject(writes);
    expect(c, "[setex setnx]", "COMMAND LIST FILTERBY PATTERN S*X");
    expect(c, "[config|get]", "COMMAND LIST FILTERBY PATTERN config|g*");
    expect(c, "[]", "COMMAND LIST FILTERBY MODULE foo");
    expect(c, "[]", "COMMAND LIST FILTERBY ACLCAT nosuch");
    expect(c, "[]", "COMMAND LIST FILTERBY ACLCAT wr*");
    expect(c, "-ERR syntax error", "COMMAND LIST FILTERBY NOSUCH x");
    expect(c, "-ERR syntax error", "COMMAND LIST x");
    expect(c, "-ERR syntax error", "COMMAND LIST FILTERBY MODULE");
    expect(c, "-ERR syntax error", "COMMAND LIST FILTERBY MODULE a b");
}

static void getkeys_finds_keys(void **state)
{
    expect(c, "[a]", "COMMAND GETKEYS SET a b");
    expect(c, "[a c]", "COMMAND GETKEYS mset a b c d");
    expect(c, "[['a',1] ['b']]", "COMMAND GETKEYS KV.DEL ['a',1] ['b']");
    expect(c, "[a b]", "COMMAND GETKEYS KV.DEL a b IDEM x");
    expect(c, "[a b]", "COMMAND GETKEYS KV.ATOMIC IDEM x DETAILS CHECK a NONE SUM b 1 RANGE 0 9");
    expect(c, "[]", "COMMAND GETKEYS KV.ATOMIC IDEM x");
    expect(c, "[a b]", "COMMAND GETKEYS KV.LIST START a LIMIT 3 END b");
    expect(c, "[]", "COMMAND GETKEYS KV.LIST LIMIT 3");
    expect(c, "[k]", "COMMAND GETKEYS MEMORY USAGE k");
    expect(c, "[a b]", "COMMAND GETKEYS WATCH a b");
    expect(c, "[[a [+OW +update]]]", "COMMAND GETKEYSANDFLAGS SETEX a 1 b");
    expect(c, "[[a [+OW +update]]]", "COMMAND GETKEYSANDFLAGS SET a b");
    expect(c, "[[a [+OW +update]]]", "COMMAND GETKEYSANDFLAGS SET a b NX EX 10");
    expect(c, "[[a [+RW +access +update]]]", "COMMAND GETKEYSANDFLAGS SET a b EX 10 get");
    expect(c, "[[a [+OW +update]]]", "COMMAND GETKEYSANDFLAGS SET a get");
    expect(c, "*[[flags [+RW +access +update +variable_flags]*", "COMMAND INFO SET");
    expect(c, "[[a [+RO +access]] [b [+OW +update]] [c [+RM +delete]]]",
           "COMMAND GETKEYSANDFLAGS KV.ATOMIC CHECK a NONE SET b 1 KEEPTTL DEL c");
    expect(c, "[[a [+RM +delete]]]", "COMMAND GETKEYSANDFLAGS KV.DELRANGE PREFIX a");
    use_resp3();
    raw_send(fd, "COMMAND GETKEYSANDFLAGS APPEND a b\r\n", 36);
    raw_expect(fd, "*1\r\n*2\r\n$1\r\na\r\n~2\r\n+RW\r\n+insert\r\n");
}

static void getkeys_refuses_as_redis_does(void **state)
{
    static const char *const subs[] = {"GETKEYS", "GETKEYSANDFLAGS"};
    for (size_t i = 0; i < 2; i++) {
        expect(c, "-ERR Invalid command specified", "COMMAND %s NOSUCH x", subs[i]);
        expect(c, "-ERR Invalid command specified", "COMMAND %s CONFIG NOSUCH", subs[i]);
        expect(c, "-ERR The command has no key arguments", "COMMAND %s PING x", subs[i]);
        expect(c, "-ERR The command has no key arguments", "COMMAND %s CONFIG GET x", subs[i]);
        expect(c, "-ERR Invalid number of arguments specified for command", "COMMAND %s GET a b",
               subs[i]);
        expect(c, "-ERR Invalid number of arguments specified for command",
               "COMMAND %s KV.MIN a 1 2", subs[i]);
        expect(c, "-ERR Invalid arguments specified for command", "COMMAND %s KV.ATOMIC SET a",
               subs[i]);
        expect(c, "-ERR Invalid arguments specified for command", "COMMAND %s KV.LIST FOO",
               subs[i]);
        expect(c, "-ERR Invalid arguments specified for command", "COMMAND %s KV.ATOMIC IDEM",
               subs[i]);
    }
    expect(c, "-ERR wrong number of arguments for 'command|getkeys' command",
           "COMMAND GETKEYS PING");
    expect(c, "-ERR wrong number of arguments for 'command|getkeysandflags' command",
           "COMMAND GETKEYSANDFLAGS");
}

/* ---- what may not be in a transaction ---------------------------------------------------------
 */

static void a_transaction_takes_only_what_a_rollback_takes_back(void **state)
{
    static const char *const refused[] = {
        "HELLO 3",
        "AUTH x",
        "MONITOR",
        "SHUTDOWN",
        "BGSAVE",
        "SAVE",
        "CONFIG SET port 1",
        "CONFIG REWRITE",
        "CONFIG RESETSTAT",
        "CLIENT KILL ID 9",
        "CLIENT PAUSE 1",
        "CLIENT UNPAUSE",
        "CLIENT UNBLOCK 9",
        "CLIENT REPLY OFF",
        "CLIENT SETNAME x",
        "CLIENT SETINFO LIB-NAME x",
        "CLIENT NO-EVICT ON",
        "CLIENT TRACKING ON",
        "CLIENT CACHING YES",
        "SLOWLOG RESET",
        "LATENCY RESET",
        "MEMORY PURGE",
        "DEBUG DIGEST",
    };
    static const char *const taken[] = {
        "KV.GET ['a']",
        "KV.SET ['a'] 1",
        "KV.DELRANGE ALL",
        "KV.FORMAT JSON",
        "GET a",
        "SET a b",
        "PING",
        "ECHO x",
        "SELECT 1",
        "TIME",
        "INFO",
        "DBSIZE",
        "FLUSHDB",
        "FLUSHALL",
        "COMMAND COUNT",
        "COMMAND DOCS get",
        "CLIENT ID",
        "CLIENT LIST",
        "CLIENT TRACKINGINFO",
        "CLIENT GETREDIR",
        "CONFIG GET port",
        "SLOWLOG LEN",
        "WAIT 0 0",
        "COMMAND GETKEYS GET a",
        "LASTSAVE",
        "MEMORY USAGE a",
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        expect(c, "+OK", "MULTI");
        expect(c, "-ERR Command not allowed inside a transaction", refused[i]);
        expect(c, "-EXECABORT *", "EXEC");
    }
    expect(c, "+OK", "MULTI");
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) expect(c, "+QUEUED", taken[i]);
    expect(c, "+OK", "DISCARD");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(every_command_has_redis_shape_in_resp2),
        TEST(every_command_has_redis_shape_in_resp3),
        TEST(docs_tell_arguments),
        TEST(info_tells_flags_categories_and_key_places),
        TEST(list_filters),
        TEST(getkeys_finds_keys),
        TEST(getkeys_refuses_as_redis_does),
        TEST(a_transaction_takes_only_what_a_rollback_takes_back),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
