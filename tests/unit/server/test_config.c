/* config: the table, the quoting, the units, the file conf/tupled.conf, and every way to be wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "server/config.h"

#define CONF "conf/tupled.conf"
#define ARGS_MAX 24

/* ---- help ------------------------------------------------------------------------------------ */

static char scratch[64];

static int scratch_make(void **state)
{
    snprintf(scratch, sizeof scratch, "/tmp/test_config.XXXXXX");
    return mkdtemp(scratch) == NULL ? -1 : 0;
}

static int scratch_remove(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", scratch);
    return system(command) == 0 ? 0 : -1;
}

/* The path of a new file in the scratch directory; good until the next call with the same name. */
static const char *scratch_file(const char *name, const char *text)
{
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", scratch, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fputs(text, f) >= 0, 1);
    assert_int_equal(fclose(f), 0);
    return path;
}

/* Load a NULL-ended list of arguments. */
static enum err load_args(struct config *c, struct error *e, const char *const *args)
{
    static char program[] = "tupled";
    char *argv[ARGS_MAX + 2] = {program};
    int argc = 1;
    for (; args[argc - 1] != NULL; argc++) {
        assert_true(argc < ARGS_MAX);
        argv[argc] = (char *)args[argc - 1];
    }
    config_init(c);
    *e = (struct error){0};
    return config_load(c, argc, argv, e);
}

#define LOAD(c, e, ...) load_args((c), (e), (const char *const[]){__VA_ARGS__, NULL})

static void assert_setting(const struct config *c, const char *name, const char *expected)
{
    struct buf out;
    buf_init(&out);
    size_t i = config_find(slice_str(name));
    assert_true(i < config_count());
    config_get(c, i, &out);
    buf_append_byte(&out, '\0');
    assert_string_equal((const char *)out.data, expected);
    buf_fini(&out);
}

/* A file with this text loads, and the setting then reads as expected. */
static void assert_file_sets(const char *text, const char *name, const char *expected)
{
    struct config c;
    struct error e;
    enum err r = LOAD(&c, &e, scratch_file("good.conf", text));
    if (r != OK) fail_msg("%s: %s", text, e.text);
    assert_setting(&c, name, expected);
    config_fini(&c);
}

/* A file with this text is refused, and the message has both parts. */
static void assert_file_refused(const char *text, const char *place, const char *reason)
{
    struct config c;
    struct error e;
    const char *path = scratch_file("bad.conf", text);
    assert_int_equal(LOAD(&c, &e, path), ERR_SYNTAX);
    config_fini(&c);
    if (strstr(e.text, place) == NULL) fail_msg("'%s' does not say '%s'", e.text, place);
    if (strstr(e.text, reason) == NULL) fail_msg("'%s' does not say '%s'", e.text, reason);
    if (strstr(e.text, path) != e.text) fail_msg("'%s' does not begin with the file", e.text);
}

#define ASSERT_ARGS_REFUSED(message, ...)                                                          \
    do {                                                                                           \
        struct config c_;                                                                          \
        struct error e_;                                                                           \
        assert_int_equal(LOAD(&c_, &e_, __VA_ARGS__), ERR_SYNTAX);                                 \
        assert_string_equal(e_.text, (message));                                                   \
        config_fini(&c_);                                                                          \
    } while (0)

/* ---- defaults and the table ------------------------------------------------------------------ */

static void defaults_are_those_of_the_contract(void **state)
{
    struct config c;
    config_init(&c);
    assert_int_equal(c.action, CONFIG_RUN);
    assert_null(c.file);
    assert_int_equal(c.bind_count, 1);
    assert_string_equal(c.bind[0], "127.0.0.1");
    assert_int_equal(c.port, 6379);
    assert_int_equal(c.tcp_backlog, 511);
    assert_int_equal(c.io_threads, 0);
    assert_int_equal(c.timeout_s, 0);
    assert_int_equal(c.tcp_keepalive_s, 300);
    assert_int_equal(c.maxclients, 10000);
    assert_int_equal(c.proto_max_bulk_bytes, 512 << 20);
    assert_int_equal(c.query_buffer_bytes, 1 << 30);
    assert_int_equal(c.output_normal.hard_bytes, 1 << 30);
    assert_int_equal(c.output_normal.soft_bytes, 0);
    assert_int_equal(c.output_normal.soft_s, 0);
    assert_int_equal(c.default_format, CONFIG_FORMAT_JSON);
    assert_int_equal(c.bare_bigints, CONFIG_NO);
    assert_int_equal(c.loglevel, LOG_LEVEL_NOTICE);
    assert_string_equal(c.logfile, "");
    assert_string_equal(c.dir, "./tupled-data");
    assert_int_equal(c.databases, 16);
    assert_int_equal(c.durability, CONFIG_DURABLE_ALWAYS);
    assert_int_equal(c.durability_interval_ms, 0);
    assert_int_equal(c.max_value_bytes, 16 << 20);
    assert_int_equal(c.max_transaction_ops, 20000);
    assert_int_equal(c.max_transaction_bytes, 64 << 20);
    assert_int_equal(c.memtable_bytes, -22);
    assert_int_equal(c.memtable_age_ms, 5000);
    assert_int_equal(c.write_buffer_bytes, -66);
    assert_int_equal(c.cache_bytes, -125);
    assert_int_equal(c.store_cache_bytes, -30);
    assert_int_equal(c.journal_segment_bytes, 96 << 20);
    assert_int_equal(c.changes_retention_age_s, 86400);
    assert_int_equal(c.changes_retention_bytes, 1 << 30);
    assert_int_equal(c.query_threads, 2);
    assert_int_equal(c.scan_timeout_ms, 60000);
    assert_int_equal(c.expire_batch, 1000);
    assert_int_equal(c.enable_debug_command, CONFIG_DEBUG_NO);
    config_fini(&c);
}

static void every_name_is_found_in_any_case_and_only_once(void **state)
{
    for (size_t i = 0; i < config_count(); i++) {
        char upper[64] = "";
        for (size_t at = 0; config_name(i)[at] != '\0'; at++) {
            char byte = config_name(i)[at];
            upper[at] = byte >= 'a' && byte <= 'z' ? (char)(byte - 'a' + 'A') : byte;
        }
        assert_int_equal(config_find(slice_str(config_name(i))), i);
        assert_int_equal(config_find(slice_str(upper)), i);
        assert_true(strlen(config_help(i)) > 0);
    }
    assert_int_equal(config_find(slice_str("por")), config_count());
    assert_int_equal(config_find(slice_str("port ")), config_count());
    assert_int_equal(config_find(slice_str("save")), config_count());
    assert_int_equal(config_find(slice_str("appendonly")), config_count());
}

static void what_config_get_says_can_be_set_again(void **state)
{
    struct config c;
    struct error e;
    config_init(&c);
    for (size_t i = 0; i < config_count(); i++) {
        struct buf before;
        struct buf after;
        buf_init(&before);
        buf_init(&after);
        config_get(&c, i, &before);
        struct slice text = buf_slice(&before);
        assert_int_equal(config_set(&c, i, &text, 1, &e), OK);
        config_get(&c, i, &after);
        assert_true(slice_eq(buf_slice(&before), buf_slice(&after)));
        buf_fini(&before);
        buf_fini(&after);
    }
    config_fini(&c);
}

/* ---- conf/tupled.conf ------------------------------------------------------------------------ */

/* Calls `each` with the lines "#name value" of the documented file, without the #. */
static void documented_settings(void (*each)(void *arg, const char *line), void *arg)
{
    FILE *f = fopen(CONF, "r");
    char line[512];
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '\0' || strcmp(line, "#") == 0 || strncmp(line, "# ", 2) == 0) continue;
        each(arg, line[0] == '#' ? line + 1 : line);
    }
    fclose(f);
}

static void count_documented(void *arg, const char *line)
{
    int *seen = arg;
    struct buf text;
    struct slice words[16];
    size_t count = 0;
    struct error e;
    buf_init(&text);
    assert_int_equal(config_split(slice_str(line), &text, words, 16, &count, &e), OK);
    size_t i = config_find(words[0]);
    if (i == config_count()) fail_msg("%s: '%s' is no setting", CONF, line);
    seen[i]++;
    struct buf value;
    buf_init(&value);
    for (size_t at = 1; at < count; at++) {
        if (at > 1) buf_append_byte(&value, ' ');
        buf_append(&value, words[at].data, words[at].len);
    }
    if (!slice_eq(buf_slice(&value), slice_str(config_default(i)))) {
        fail_msg("%s: '%s' is not the default '%s'", CONF, line, config_default(i));
    }
    buf_fini(&value);
    buf_fini(&text);
}

static void the_documented_file_has_every_setting_once_with_its_default(void **state)
{
    int seen[128] = {0};
    assert_true(config_count() <= 128);
    documented_settings(count_documented, seen);
    for (size_t i = 0; i < config_count(); i++) {
        if (seen[i] != 1) fail_msg("%s: %s is there %d times", CONF, config_name(i), seen[i]);
    }
}

static void append_line(void *arg, const char *line)
{
    buf_append_str(arg, line);
    buf_append_byte(arg, '\n');
}

static void the_documented_file_gives_the_defaults_as_it_is_and_uncommented(void **state)
{
    struct buf uncommented;
    buf_init(&uncommented);
    documented_settings(append_line, &uncommented);
    buf_append_byte(&uncommented, '\0');
    const char *files[] = {CONF, scratch_file("all.conf", (const char *)uncommented.data)};
    for (size_t f = 0; f < 2; f++) {
        struct config defaults;
        struct config loaded;
        struct error e;
        config_init(&defaults);
        if (LOAD(&loaded, &e, files[f]) != OK) fail_msg("%s", e.text);
        for (size_t i = 0; i < config_count(); i++) {
            struct buf expected;
            buf_init(&expected);
            config_get(&defaults, i, &expected);
            buf_append_byte(&expected, '\0');
            assert_setting(&loaded, config_name(i), (const char *)expected.data);
            buf_fini(&expected);
        }
        config_fini(&defaults);
        config_fini(&loaded);
    }
    buf_fini(&uncommented);
}

/* A comment block with [restart] is followed by settings that are fixed; others can be changed. */
static void the_documented_file_marks_what_needs_a_restart(void **state)
{
    FILE *f = fopen(CONF, "r");
    char line[512];
    bool is_marked = false;
    size_t compared = 0;
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL) {
        if (line[0] == '\n') is_marked = false;
        if (strncmp(line, "# [restart]", 11) == 0) is_marked = true;
        if (line[0] != '#' || line[1] == ' ' || line[1] == '\n') continue;
        size_t i = config_find(slice_of(line + 1, strcspn(line + 1, " \n")));
        assert_true(i < config_count());
        if (config_is_mutable(i) == is_marked) fail_msg("%s: mark of %s", CONF, config_name(i));
        compared++;
    }
    fclose(f);
    assert_int_equal(compared, config_count());
}

/* ---- files ----------------------------------------------------------------------------------- */

static void names_and_words_are_read_in_any_case(void **state)
{
    assert_file_sets("PORT 7000\n", "port", "7000");
    assert_file_sets("LogLevel DEBUG\n", "loglevel", "debug");
    assert_file_sets("durability Interval 250\n", "durability", "interval 250");
    assert_file_sets("durability \"interval 250\"\n", "durability", "interval 250");
    assert_file_sets("durability never", "durability", "never");
    assert_file_sets("default-format msgpack\n", "default-format", "msgpack");
    assert_file_sets("bare-bigints yes\n", "bare-bigints", "yes");
    assert_file_sets("enable-debug-command local\n", "enable-debug-command", "local");
}

static void comments_blanks_and_crlf_mean_nothing(void **state)
{
    assert_file_sets("# port 1\n\n   \t\n  # port 2\n\tport   7000  \r\n", "port", "7000");
    assert_file_sets("", "port", "6379");
}

static void the_last_line_wins_and_options_win_over_the_file(void **state)
{
    struct config c;
    struct error e;
    assert_file_sets("port 1\nport 2\n", "port", "2");
    assert_file_sets("bind 10.0.0.1\nbind ::1 -10.0.0.2\n", "bind", "::1 -10.0.0.2");
    const char *path = scratch_file("p.conf", "port 1\ndir /a\n");
    assert_int_equal(LOAD(&c, &e, path, "--port", "2", "--PORT", "3"), OK);
    assert_int_equal(c.port, 3);
    assert_string_equal(c.dir, "/a");
    assert_string_equal(c.file, path);
    config_fini(&c);
}

static void units_are_those_of_redis(void **state)
{
    static const char *const sizes[][2] = {
        {"2000000", "2000000"}, {"2000000b", "2000000"}, {"2000k", "2000000"},
        {"2000kb", "2048000"},  {"2000KB", "2048000"},   {"3m", "3000000"},
        {"3mb", "3145728"},     {"3Mb", "3145728"},      {"1g", "1000000000"},
        {"1gb", "1073741824"},  {"4GB", "4294967296"},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char line[64];
        snprintf(line, sizeof line, "memtable-size %s\n", sizes[i][0]);
        assert_file_sets(line, "memtable-size", sizes[i][1]);
    }
}

static void quotes_follow_redis(void **state)
{
    assert_file_sets("logfile \"\"", "logfile", "");
    assert_file_sets("logfile ''", "logfile", "");
    assert_file_sets("logfile \"a b\"", "logfile", "a b");
    assert_file_sets("logfile \"\\n\\r\\t\\b\\a\\x41\\\"\\\\\\q\"", "logfile", "\n\r\t\b\aA\"\\q");
    assert_file_sets("logfile \"\\xZ1\"", "logfile", "xZ1");
    assert_file_sets("logfile 'it\\'s \\n'", "logfile", "it's \\n");
    assert_file_sets("logfile a\"b c\"", "logfile", "ab c");
    assert_file_sets("\"port\" \"7000\"", "port", "7000");
}

static void output_limits_are_one_size_or_groups(void **state)
{
    assert_file_sets("client-output-buffer-limit 2mb", "client-output-buffer-limit",
                     "normal 2097152 0 0 slave 2097152 0 0 pubsub 2097152 0 0");
    assert_file_sets(
        "client-output-buffer-limit normal 2mb 1mb 60", "client-output-buffer-limit",
        "normal 2097152 1048576 60 slave 268435456 67108864 60 pubsub 33554432 8388608 60");
    assert_file_sets("client-output-buffer-limit \"replica 1 2 3 NORMAL 4 5 6 pubsub 7 8 9\"",
                     "client-output-buffer-limit", "normal 4 5 6 slave 1 2 3 pubsub 7 8 9");
    assert_file_sets("client-output-buffer-limit pubsub 1 1 1", "client-output-buffer-limit",
                     "normal 1073741824 0 0 slave 268435456 67108864 60 pubsub 1 1 1");
    assert_file_refused("client-output-buffer-limit other 1 1 1", "line 1",
                        "normal|replica|pubsub");
    assert_file_refused("client-output-buffer-limit normal 1 1", "line 1", "normal|replica|pubsub");
    assert_file_refused("client-output-buffer-limit normal 1 1 x", "line 1", "<seconds>");
    assert_file_refused("client-output-buffer-limit 1xb", "line 1", "must be a size");
    assert_file_refused("client-output-buffer-limit", "line 1", "must be a size");
}

static void include_reads_files_and_patterns_in_place(void **state)
{
    char text[512];
    const char *one = scratch_file("one.inc", "port 1\ndatabases 4\n");
    snprintf(text, sizeof text, "port 9\ninclude %s\ndatabases 5\n", one);
    assert_file_sets(text, "port", "1");
    assert_file_sets(text, "databases", "5");
    snprintf(text, sizeof text, "include %s/*.inc\n", scratch);
    assert_file_sets(text, "databases", "4");
    snprintf(text, sizeof text, "include %s/*.none\nport 8\n", scratch);
    assert_file_sets(text, "port", "8");
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void a_file_error_names_file_line_text_and_range(void **state)
{
    struct config c;
    struct error e;
    char expected[256];
    const char *path = scratch_file("range.conf", "port 1\n\nport 65536 # no\n");
    assert_int_equal(LOAD(&c, &e, path), ERR_SYNTAX);
    config_fini(&c);
    snprintf(expected, sizeof expected,
             "%s: line 3: >>> 'port 65536 # no': port takes one value, not 3", path);
    assert_string_equal(e.text, expected);
    assert_file_refused("port 65536", "line 1: >>> 'port 65536'", "number from 0 to 65535");
}

static void a_password_is_in_no_error(void **state)
{
    static const char *const lines[] = {
        "tls-key-file-pass geheim geheim",     "TLS-Key-File-Pass \"geheim",
        "\"tls-key-file-pass\" geheim geheim", "tls-key-file-pass=geheim",
        "tls-key-file-pass\tgeheim geheim",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct config c;
        struct error e = {.text = ""};
        config_init(&c);
        assert_int_equal(config_load_text(&c, "file", slice_str(lines[i]), &e), ERR_SYNTAX);
        assert_non_null(strstr(e.text, "line 1: >>> '"));
        assert_null(strstr(e.text, "geheim"));
        config_fini(&c);
    }
}

static void bad_values_name_the_accepted_range(void **state)
{
    static const char *const cases[][2] = {
        {"port -1", "from 0 to 65535"},
        {"port abc", "from 0 to 65535"},
        {"port 080", "from 0 to 65535"},
        {"port \"\"", "from 0 to 65535"},
        {"port 99999999999999999999999", "from 0 to 65535"},
        {"databases 0", "from 1 to 16"},
        {"databases 17", "from 1 to 16"},
        {"query-threads 65", "from 1 to 64"},
        {"expire-batch 0", "from 1 to 100000"},
        {"max-value-size 1023", "from 1kb to 256mb"},
        {"max-value-size 257mb", "from 1kb to 256mb"},
        {"memtable-size 5gb", "from 1mb to 4gb"},
        {"journal-segment-size 1mb", "from 4mb to 4gb"},
        {"proto-max-bulk-len 1", "at least 1mb"},
        {"cache-size 99999999999gb", "at least 0"},
        {"cache-size 18446744073709551615", "at least 0"},
        {"cache-size mb", "at least 0"},
        {"cache-size 1 mb", "takes one value, not 2"},
        {"cache-size -1", "at least 0"},
        {"cache-size 1tb", "b k kb m mb g gb"},
        {"loglevel loud", "one of debug, verbose, notice, warning, nothing"},
        {"default-format xml", "one of json, msgpack"},
        {"enable-debug-command maybe", "one of no, yes, local"},
        {"durability sometimes", "always, never, or interval <ms>"},
        {"durability interval", "from 1 to 60000"},
        {"durability interval 0", "from 1 to 60000"},
        {"durability interval 60001", "from 1 to 60000"},
        {"durability always 5", "always, never"},
        {"bind", "1 to 16 addresses"},
        {"bind \"\"", "1 to 16 addresses"},
        {"bind 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17", "1 to 16 addresses"},
        {"bind a\"\\x00\"", "1 to 16 addresses"},
        {"dir \"\"", "1 to 4095 bytes"},
        {"logfile \"a\\x00b\"", "0 to 4095 bytes"},
        {"port", "takes one value, not 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_file_refused(cases[i][0], "line 1: >>> '", cases[i][1]);
    }
}

static void unknown_names_and_bad_quotes_are_refused(void **state)
{
    assert_file_refused("port 1\nprot 2\n", "line 2: >>> 'prot 2'", "unknown setting");
    assert_file_refused("sav 60 1\n", "line 1: >>> 'sav 60 1'", "unknown setting");
    assert_file_refused("dir \"a", "line 1: >>> 'dir \"a'", "unbalanced quotes");
    assert_file_refused("dir 'a", "line 1", "unbalanced quotes");
    assert_file_refused("dir \"a\"b", "line 1", "unbalanced quotes");
    assert_file_refused("dir \"a\\\"", "line 1", "unbalanced quotes");
}

static void a_long_line_is_shown_in_part_and_the_reason_in_full(void **state)
{
    char text[4096] = "dir ";
    memset(text + 4, 'a', 3000);
    memcpy(text + 3000, " x", 3);
    assert_file_refused(text, "aaa...': ", "dir takes one value, not 2");
}

static void errors_of_included_files_name_the_included_place(void **state)
{
    struct config c;
    struct error e;
    char text[512];
    char expected[256];
    const char *inner = scratch_file("inner.conf", "\nport x\n");
    snprintf(text, sizeof text, "include %s\n", inner);
    assert_int_equal(LOAD(&c, &e, scratch_file("outer.conf", text)), ERR_SYNTAX);
    config_fini(&c);
    snprintf(expected, sizeof expected,
             "%s: line 2: >>> 'port x': port must be a number from 0 to 65535", inner);
    assert_string_equal(e.text, expected);
    assert_file_refused("include\n", "line 1", "include takes one path");
    assert_file_refused("include a b\n", "line 1", "include takes one path");
}

/* One after the other they are not nested. */
static void many_files_may_be_included(void **state)
{
    char text[8192] = "";
    const char *one = scratch_file("seven.conf", "databases 7\n");
    for (int i = 0; i < 20; i++) {
        size_t len = strlen(text);
        snprintf(text + len, sizeof text - len, "include %s\n", one);
    }
    assert_file_sets(text, "databases", "7");
}

static void a_file_that_includes_itself_is_refused(void **state)
{
    struct config c;
    struct error e;
    char text[512];
    snprintf(text, sizeof text, "include %s/self.conf\n", scratch);
    assert_int_equal(LOAD(&c, &e, scratch_file("self.conf", text)), ERR_SYNTAX);
    config_fini(&c);
    assert_non_null(strstr(e.text, "includes are nested more than 8 deep"));
}

static void missing_files_are_refused(void **state)
{
    struct config c;
    struct error e;
    assert_int_equal(LOAD(&c, &e, "/nonexistent/tupled.conf"), ERR_IO);
    assert_non_null(strstr(e.text, "/nonexistent/tupled.conf"));
    config_fini(&c);
    const char *path = scratch_file("missing.conf", "port 1\ninclude /nonexistent/x.conf\n");
    assert_int_equal(LOAD(&c, &e, path), ERR_IO);
    assert_non_null(strstr(e.text, "line 2: >>> 'include /nonexistent/x.conf': "));
    config_fini(&c);
}

/* ---- command line ---------------------------------------------------------------------------- */

static void options_take_the_words_up_to_the_next_option(void **state)
{
    struct config c;
    struct error e;
    assert_int_equal(LOAD(&c, &e, "--bind", "127.0.0.1", "-::1", "--durability", "interval", "20",
                          "--logfile", "", "--dir", "a b"),
                     OK);
    assert_null(c.file);
    assert_int_equal(c.bind_count, 2);
    assert_string_equal(c.bind[1], "-::1");
    assert_int_equal(c.durability, CONFIG_DURABLE_INTERVAL);
    assert_int_equal(c.durability_interval_ms, 20);
    assert_string_equal(c.logfile, "");
    assert_string_equal(c.dir, "a b");
    config_fini(&c);
}

/* Settings of Redis that ask for no more than there is: what a program that starts a Redis says. */
static void harmless_settings_of_redis_are_passed_over(void **state)
{
    struct config c;
    struct error e = {.text = ""};
    assert_int_equal(LOAD(&c, &e, "--save", "", "--appendonly", "yes", "--maxmemory-policy",
                          "NOEVICTION", "--save", "60", "1", "300", "10", "--appendfsync",
                          "everysec", "--port", "1", "--hash-max-listpack-entries", "128",
                          "--masterauth", "secret"),
                     OK);
    assert_int_equal(c.port, 1);
    assert_non_null(strstr(c.passed_over, "appendonly: the journal is always written\n"));
    assert_non_null(strstr(c.passed_over, "\nmaxmemory-policy: eviction is not supported\n"));
    assert_null(strstr(c.passed_over, "secret"));
    struct config copy;
    config_copy(&copy, &c);
    assert_string_equal(copy.passed_over, c.passed_over);
    config_fini(&copy);
    config_fini(&c);
    ASSERT_ARGS_REFUSED(
        "option --maxmemory: this value of a Redis setting is not supported: eviction is not "
        "supported; cache-size and write-buffer-limit limit the memory",
        "--maxmemory", "100mb");
    ASSERT_ARGS_REFUSED(
        "option --cluster-enabled: this value of a Redis setting is not supported: Redis Cluster "
        "is not supported; several servers form a cluster over PostgreSQL",
        "--cluster-enabled", "yes");
    ASSERT_ARGS_REFUSED(
        "option --appendfsync: this value of a Redis setting is not supported: durability sets "
        "when the journal is synced",
        "--appendfsync", "sometimes");
    assert_file_refused("replicaof 127.0.0.1 1\n", "line 1: >>> 'replicaof 127.0.0.1 1'",
                        "replication is not supported");
}

static void option_errors_name_the_option(void **state)
{
    ASSERT_ARGS_REFUSED("option --port: port must be a number from 0 to 65535", "--port", "x");
    ASSERT_ARGS_REFUSED("option --port: port takes one value, not 0", "--port");
    ASSERT_ARGS_REFUSED("option --prot: unknown setting", "--prot", "1");
    ASSERT_ARGS_REFUSED("option --: unknown setting", "--");
    ASSERT_ARGS_REFUSED("option --port: port takes one value, not 2", "--port", "1", "2");
    ASSERT_ARGS_REFUSED("unknown option -p: options begin with --", "-p", "1");
    ASSERT_ARGS_REFUSED("expected an option instead of 'extra': --name value", CONF, "extra");
}

static void help_and_version_are_told_apart(void **state)
{
    static const struct {
        const char *arg;
        enum config_action action;
    } cases[] = {{"--help", CONFIG_SHOW_HELP},
                 {"-h", CONFIG_SHOW_HELP},
                 {"--version", CONFIG_SHOW_VERSION},
                 {"-v", CONFIG_SHOW_VERSION}};
    struct config c;
    struct error e;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(LOAD(&c, &e, cases[i].arg), OK);
        assert_int_equal(c.action, cases[i].action);
        config_fini(&c);
    }
    assert_int_equal(LOAD(&c, &e, "/nonexistent", "--port", "x", "--help"), OK);
    assert_int_equal(c.action, CONFIG_SHOW_HELP);
    config_fini(&c);
}

static void a_dash_reads_standard_input(void **state)
{
    struct config c;
    struct error e;
    assert_non_null(freopen(scratch_file("stdin.conf", "port 1234\nprot 1\n"), "r", stdin));
    assert_int_equal(LOAD(&c, &e, "-"), ERR_SYNTAX);
    assert_int_equal(c.port, 1234);
    assert_string_equal(e.text, "standard input: line 2: >>> 'prot 1': unknown setting");
    config_fini(&c);
}

static void a_failed_set_changes_nothing(void **state)
{
    struct config c;
    struct error e;
    config_init(&c);
    static const char *const bad[][2] = {{"bind", "\"a"},
                                         {"port", "x"},
                                         {"loglevel", "x"},
                                         {"dir", ""},
                                         {"durability", "x"},
                                         {"client-output-buffer-limit", "x"},
                                         {"client-output-buffer-limit", "normal 1 1 1 x 1 1 1"}};
    struct config defaults;
    config_init(&defaults);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        size_t setting = config_find(slice_str(bad[i][0]));
        struct slice word = slice_str(bad[i][1]);
        assert_int_equal(config_set(&c, setting, &word, 1, &e), ERR_SYNTAX);
        struct buf expected;
        buf_init(&expected);
        config_get(&defaults, setting, &expected);
        buf_append_byte(&expected, '\0');
        assert_setting(&c, bad[i][0], (const char *)expected.data);
        buf_fini(&expected);
    }
    config_fini(&defaults);
    config_fini(&c);
}

static void splitting_refuses_more_words_than_there_is_room_for(void **state)
{
    struct buf text;
    struct slice words[2];
    size_t count = 0;
    struct error e;
    buf_init(&text);
    assert_int_equal(config_split(slice_str("a b"), &text, words, 2, &count, &e), OK);
    assert_int_equal(count, 2);
    assert_int_equal(config_split(slice_str("a b c"), &text, words, 2, &count, &e), ERR_SYNTAX);
    assert_int_equal(config_split(slice_str("  "), &text, words, 2, &count, &e), OK);
    assert_int_equal(count, 0);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_contract),
        cmocka_unit_test(every_name_is_found_in_any_case_and_only_once),
        cmocka_unit_test(what_config_get_says_can_be_set_again),
        cmocka_unit_test(the_documented_file_has_every_setting_once_with_its_default),
        cmocka_unit_test(the_documented_file_gives_the_defaults_as_it_is_and_uncommented),
        cmocka_unit_test(the_documented_file_marks_what_needs_a_restart),
        cmocka_unit_test(names_and_words_are_read_in_any_case),
        cmocka_unit_test(comments_blanks_and_crlf_mean_nothing),
        cmocka_unit_test(the_last_line_wins_and_options_win_over_the_file),
        cmocka_unit_test(units_are_those_of_redis),
        cmocka_unit_test(quotes_follow_redis),
        cmocka_unit_test(output_limits_are_one_size_or_groups),
        cmocka_unit_test(include_reads_files_and_patterns_in_place),
        cmocka_unit_test(a_file_error_names_file_line_text_and_range),
        cmocka_unit_test(a_password_is_in_no_error),
        cmocka_unit_test(bad_values_name_the_accepted_range),
        cmocka_unit_test(unknown_names_and_bad_quotes_are_refused),
        cmocka_unit_test(a_long_line_is_shown_in_part_and_the_reason_in_full),
        cmocka_unit_test(errors_of_included_files_name_the_included_place),
        cmocka_unit_test(many_files_may_be_included),
        cmocka_unit_test(a_file_that_includes_itself_is_refused),
        cmocka_unit_test(missing_files_are_refused),
        cmocka_unit_test(options_take_the_words_up_to_the_next_option),
        cmocka_unit_test(harmless_settings_of_redis_are_passed_over),
        cmocka_unit_test(option_errors_name_the_option),
        cmocka_unit_test(help_and_version_are_told_apart),
        cmocka_unit_test(a_dash_reads_standard_input),
        cmocka_unit_test(a_failed_set_changes_nothing),
        cmocka_unit_test(splitting_refuses_more_words_than_there_is_room_for),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
