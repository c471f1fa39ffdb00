#include "unit/embedded/embedded.h"

#include <time.h>

#include "base/fault.h"
#include "embedded/embedded_int.h"

static void open_it(struct program *t)
{
    struct tupled_error e;
    if (tupled_open(t->dir, &t->options, &t->db, &e) < 0) fail_msg("%s", e.text);
}

void program_init(struct program *t, const struct tupled_options *o)
{
    *t = (struct program){.dir = "/tmp/test_embedded.XXXXXX"};
    assert_non_null(mkdtemp(t->dir));
    tupled_options_init(&t->options);
    if (o != NULL) t->options = *o;
    t->options.journal_segment_bytes = 4 << 20;
    t->options.store_cache_bytes = 1 << 20;
    t->options.memtable_bytes = 1 << 20;
    open_it(t);
}

void program_reopen(struct program *t)
{
    struct tupled_error e;
    if (tupled_close(t->db, &e) < 0) fail_msg("%s", e.text);
    open_it(t);
}

void program_fini(struct program *t)
{
    char command[96];
    struct tupled_error e;
    if (tupled_close(t->db, &e) < 0) fail_msg("%s", e.text);
    snprintf(command, sizeof command, "rm -rf '%s'", t->dir);
    assert_int_equal(system(command), 0);
}

void program_arm(struct program *t, const char *prefix, uint64_t nth, bool is_sticky)
{
    struct host *before = host_use(&t->db->host);
    fault_arm(prefix, nth, is_sticky);
    (void)host_use(before);
}

void program_delay_syncs(struct program *t, unsigned delay_ms)
{
    struct host *before = host_use(&t->db->host);
    fault_set_sync_delay_ms(delay_ms);
    (void)host_use(before);
}

size_t program_split(char *text, struct tupled_bytes *words)
{
    size_t count = 0;
    for (char *p = text; *p != '\0';) {
        char *end = strchr(p, ' ');
        size_t len = end == NULL ? strlen(p) : (size_t)(end - p);
        assert_true(count < WORDS_MAX_OF_A_LINE);
        words[count++] = (struct tupled_bytes){p, len};
        p += len + (end != NULL);
    }
    return count;
}

static int run(struct tupled_db *db, struct tupled_session *s, const char *line,
               struct tupled_reply **out, struct tupled_error *e)
{
    char text[512];
    struct tupled_bytes words[WORDS_MAX_OF_A_LINE];
    snprintf(text, sizeof text, "%s", line);
    size_t count = program_split(text, words);
    if (s != NULL) return tupled_session_command(s, words, count, out, e);
    return tupled_command(db, words, count, out, e);
}

struct tupled_reply *program_ask(struct program *t, const char *line)
{
    struct tupled_reply *r = NULL;
    struct tupled_error e;
    if (run(t->db, NULL, line, &r, &e) < 0) fail_msg("%s: %s %s", line, e.code, e.text);
    return r;
}

void program_say(struct program *t, const char *line)
{
    tupled_free(program_ask(t, line));
}

struct tupled_reply *program_ask_in(struct tupled_session *s, const char *line)
{
    struct tupled_reply *r = NULL;
    struct tupled_error e;
    if (run(NULL, s, line, &r, &e) < 0) fail_msg("%s: %s %s", line, e.code, e.text);
    return r;
}

struct tupled_reply *program_say_in(struct tupled_session *s, const char *line)
{
    tupled_free(program_ask_in(s, line));
    return NULL;
}

void program_refuse(struct program *t, const char *line, const char *text)
{
    struct tupled_reply *r = NULL;
    struct tupled_error e;
    assert_int_equal(run(t->db, NULL, line, &r, &e), TUPLED_FAILED);
    assert_null(r);
    assert_string_equal(e.code, "ERR");
    if (strstr(e.text, text) == NULL) fail_msg("%s: %s", line, e.text);
}

void program_has(struct program *t, struct tupled_bytes key, const char *json)
{
    struct tupled_entry *entry = NULL;
    struct tupled_error e;
    assert_int_equal(tupled_get(t->db, key, &entry, &e), TUPLED_YES);
    assert_string_equal(entry->value.data, json);
    tupled_free(entry);
}

int program_await_page(struct program *t, struct tupled_page **out,
                       const struct tupled_bytes *value)
{
    for (int i = 0; i < 20000; i++) {
        struct tupled_error e;
        struct tupled_range range = {.values = value, .value_count = 1};
        int r = value != NULL ? tupled_find(t->db, "by_name", &range, out, &e)
                              : tupled_search(t->db, "people", tupled_text("grace"), NULL, out, &e);
        if (r > 0) return r;
        if (strcmp(e.code, "INDEXING") != 0) fail_msg("%s %s", e.code, e.text);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return TUPLED_FAILED;
}
