/* restore: `tupledctl restore`: a data directory out of an archive, as it was at a commit. It needs
 * no server: what it asks is asked of files (offline/restore.h).
 */
#include "offline/restore.h"

#include <stdio.h>
#include <time.h>

#include "tool/commands.h"
#include "tool/output.h"

#define STAMP_CHARS 20

const struct tool_option restore_options[] = {
    {"--from", 0, "DIR", "the archive, which was the server's archive-dir"},
    {"--to", 0, "DIR", "the data directory to create; must not exist, or be empty"},
    {"--version", 0, "VERSIONSTAMP", "restore up to this commit, including it"},
    {"--time", 0, "TIME",
     "restore up to the last commit at this time: 2026-01-31T12:00:00Z, or Unix time"},
    {"--timeline", 0, "N", "timeline to restore (default: that of the version, or the newest)"},
    {"--freeze", 0, NULL, "a server opens it read-only, with its clock at that time"},
    {"--hold-queues", 0, NULL, "a server delivers no messages until KV.QUEUE HOLD NO"},
    {.name = NULL},
};

static bool restore_stamp(const char *text, uint64_t *version)
{
    char digits[17];
    char *end = NULL;
    if (strlen(text) != STAMP_CHARS || strcmp(text + 16, "0000") != 0) return false;
    if (strspn(text, "0123456789abcdefABCDEF") != STAMP_CHARS) return false;
    memcpy(digits, text, 16);
    digits[16] = '\0';
    *version = strtoull(digits, &end, 16);
    return true;
}

/* Digits after a point count as milliseconds: up to three. */
static bool restore_fraction(const char *text, const char **end, int64_t *ms)
{
    int64_t unit = 100;
    *ms = 0;
    *end = text;
    if (*text != '.') return true;
    for (text++; *text >= '0' && *text <= '9' && unit > 0; text++, unit /= 10) {
        *ms += (*text - '0') * unit;
    }
    bool has_digits = text > *end + 1;
    *end = text;
    return has_digits;
}

/* Unix time in seconds, or a date in UTC. */
static bool restore_time(const char *text, int64_t *ms)
{
    struct tm tm = {.tm_year = 0};
    int64_t fraction = 0;
    size_t digits = strspn(text, "0123456789");
    const char *rest = text + digits;
    if (digits > 4 && digits < 13 && restore_fraction(rest, &rest, &fraction)) {
        *ms = strtoll(text, NULL, 10) * 1000 + fraction;
        return *rest == '\0';
    }
    rest = strptime(text, "%Y-%m-%d", &tm);
    if (rest == NULL || (*rest != 'T' && *rest != ' ')) return false;
    rest = strptime(rest + 1, "%H:%M:%S", &tm);
    if (rest == NULL || !restore_fraction(rest, &rest, &fraction)) return false;
    *ms = (int64_t)timegm(&tm) * 1000 + fraction;
    return strcmp(rest, "Z") == 0 || *rest == '\0';
}

static enum tool_status restore_words(const struct tool *t, struct restore *k)
{
    const char *version = tool_text(t, "--version");
    const char *time_text = tool_text(t, "--time");
    int64_t timeline = 0;
    k->from = tool_text(t, "--from");
    k->to = tool_text(t, "--to");
    k->is_frozen = tool_has(t, "--freeze");
    k->holds_queues = tool_has(t, "--hold-queues");
    if (k->from == NULL || k->to == NULL) {
        return tool_fail(TOOL_WORDS, "usage: tupledctl restore --from ARCHIVE --to DIR");
    }
    if (version != NULL && time_text != NULL) {
        return tool_fail(TOOL_WORDS, "--version and --time exclude each other");
    }
    k->has_version = version != NULL;
    if (version != NULL && !restore_stamp(version, &k->version)) {
        return tool_fail(TOOL_WORDS, "--version: %s is not a versionstamp (20 hex digits)",
                         version);
    }
    k->has_time = time_text != NULL;
    if (time_text != NULL && !restore_time(time_text, &k->time_ms)) {
        return tool_fail(TOOL_WORDS,
                         "--time: %s is not a time such as 2026-01-31T12:00:00Z (UTC), or seconds "
                         "since 1970",
                         time_text);
    }
    enum tool_status status = tool_number(t, "--timeline", 1, UINT32_MAX, &timeline);
    k->timeline = (uint32_t)timeline;
    return status;
}

static void restore_progress(void *arg, uint64_t bytes, uint64_t total)
{
    struct progress *p = arg;
    if (!progress_is_due(p)) return;
    progress_show(p, "restore: %llu of %llu MB", (unsigned long long)(bytes >> 20),
                  (unsigned long long)(total >> 20));
}

static void sheet_stamp(struct sheet *s, uint64_t version)
{
    char text[STAMP_CHARS + 1];
    snprintf(text, sizeof text, "%016llx0000", (unsigned long long)version);
    sheet_text(s, slice_str(text));
}

/* Such as 2026-01-31T12:00:00.250Z. */
static void sheet_time(struct sheet *s, int64_t ms)
{
    char text[64];
    char day[32];
    struct tm tm;
    time_t seconds = (time_t)(ms / 1000);
    if (ms == 0 || gmtime_r(&seconds, &tm) == NULL) {
        sheet_null(s);
        return;
    }
    strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text, sizeof text, "%s.%03dZ", day, (int)(ms % 1000));
    sheet_text(s, slice_str(text));
}

static void restore_show(const struct tool *t, const struct restore *k)
{
    static const char *const names[] = {"dir",      "version",       "time",          "commits",
                                        "timeline", "from-timeline", "next-versions", NULL};
    struct sheet s;
    sheet_init(&s, names);
    sheet_text(&s, slice_str(k->to));
    sheet_stamp(&s, k->reached);
    sheet_time(&s, k->reached_ms);
    sheet_i64(&s, (int64_t)k->commits);
    sheet_i64(&s, k->timeline_new);
    sheet_i64(&s, k->timeline_from);
    sheet_stamp(&s, k->start);
    sheet_print_record(&s, t->is_json);
    sheet_fini(&s);
}

enum tool_status restore_command_run(struct tool *t)
{
    struct progress p;
    struct restore k = {.progress = restore_progress, .arg = &p};
    struct error e = {.text = ""};
    enum tool_status status = restore_words(t, &k);
    if (status != TOOL_DONE) return status;
    progress_init(&p, t);
    enum err r = restore_run(&k, &e);
    progress_end(&p);
    if (r != OK) return tool_fail(TOOL_NO, "%s", e.text);
    if (k.is_short) {
        tool_warn(t, "the archive ends before that time; later commits are not in it");
    }
    restore_show(t, &k);
    return TOOL_DONE;
}
