/* config_table: the table of settings, and a value's way from words to its member and back.
 *
 * Most settings are a number, a size, a word of a list or a text, stored at an offset of struct
 * config. The three with a grammar of their own (bind, client-output-buffer-limit, durability) have
 * a type each.
 */
#include "server/config.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"

#define KB (UINT64_C(1) << 10)
#define MB (UINT64_C(1) << 20)
#define GB (UINT64_C(1) << 30)
#define NUMBER_MAX UINT64_C(2147483647) /* of settings that Redis keeps in an int */
#define SIZE_MAX_ANY ((uint64_t)INT64_MAX)
#define MINUS_1 ((uint64_t)INT64_C(-1)) /* of a signed setting */

enum setting_type {
    SETTING_NUMBER,
    SETTING_SIGNED,
    SETTING_SIZE,
    SETTING_SHARE, /* a size, or a percentage: tenths of a percent as a negative number */
    SETTING_OCTAL,
    SETTING_WORD,
    SETTING_TEXT,
    SETTING_BIND,
    SETTING_OUTPUT_LIMIT,
    SETTING_DURABILITY,
    SETTING_PERCENTILES
};

struct setting {
    const char *name;
    enum setting_type type;
    size_t offset; /* of its member; of the first, when there are several */
    const char *default_text;
    uint64_t min, max; /* number, size, octal, signed (as int64): the value; text: its bytes; bind:
                        * addresses; durability: the interval's ms */
    const char *const *words; /* SETTING_WORD: NULL-ended, in the order of the member's enum */
    bool is_mutable;
    const char *help;
};

/* A yes|no setting is a word setting too: {"no", "yes", NULL}. */
static const char *const log_words[] = {"debug", "verbose", "notice", "warning", "nothing", NULL};
static const char *const format_words[] = {"json", "msgpack", NULL};
static const char *const switch_words[] = {"no", "yes", NULL};
static const char *const debug_words[] = {"no", "yes", "local", NULL};

#define AT(member) offsetof(struct config, member)
_Static_assert(sizeof(enum log_level) == sizeof(int), "word settings are stored as int");

#define FIXED false
#define MUTABLE true

/* clang-format off */
static const struct setting settings[] = {
    {"bind", SETTING_BIND, AT(bind), "127.0.0.1", 1, 16, NULL, FIXED,
     "addresses to listen on; with a leading - one that may be missing"},
    {"port", SETTING_NUMBER, AT(port), "6379", 0, 65535, NULL, FIXED,
     "TCP port; 0 listens on none"},
    {"tcp-backlog", SETTING_NUMBER, AT(tcp_backlog), "511", 1, NUMBER_MAX, NULL, FIXED,
     "connections that may wait to be accepted"},
    {"unixsocket", SETTING_TEXT, AT(unixsocket), "", 0, 107, NULL, FIXED,
     "path of a Unix socket to listen on; empty = none"},
    {"unixsocketperm", SETTING_OCTAL, AT(unixsocketperm), "0", 0, 0777, NULL, FIXED,
     "permissions of the Unix socket, octal; 0 = what the umask leaves"},
    {"protected-mode", SETTING_WORD, AT(protected_mode), "yes", 0, 0, switch_words, MUTABLE,
     "refuse connections from other machines while there is no password"},
    {"timeout", SETTING_NUMBER, AT(timeout_s), "0", 0, NUMBER_MAX, NULL, MUTABLE,
     "seconds after which an idle client is disconnected; 0 = never"},
    {"tcp-keepalive", SETTING_NUMBER, AT(tcp_keepalive_s), "300", 0, NUMBER_MAX, NULL, MUTABLE,
     "seconds between TCP keepalive probes; 0 = none"},
    {"maxclients", SETTING_NUMBER, AT(maxclients), "10000", 1, 1000000, NULL, MUTABLE,
     "connections served at a time"},
    {"proto-max-bulk-len", SETTING_SIZE, AT(proto_max_bulk_bytes), "512mb", MB, SIZE_MAX_ANY, NULL,
     MUTABLE, "largest single argument of a command"},
    {"client-query-buffer-limit", SETTING_SIZE, AT(query_buffer_bytes), "1gb", MB, SIZE_MAX_ANY,
     NULL, MUTABLE, "unread input at which a client is disconnected"},
    {"client-output-buffer-limit", SETTING_OUTPUT_LIMIT, AT(output_normal),
     "normal 1gb 0 0 replica 256mb 64mb 60 pubsub 32mb 8mb 60", 0, SIZE_MAX_ANY, NULL, MUTABLE,
     "unsent output at which a client is disconnected"},
    {"maxmemory-clients", SETTING_SHARE, AT(maxmemory_clients), "12.5%", MB, SIZE_MAX_ANY, NULL,
     MUTABLE, "memory of all clients together, above which those that hold most are closed"},
    {"block-max", SETTING_NUMBER, AT(block_max_ms), "0", 0, NUMBER_MAX, NULL, MUTABLE,
     "milliseconds that BLOCK waits at most; 0 = as long as it says"},
    {"default-format", SETTING_WORD, AT(default_format), "json", 0, 0, format_words, MUTABLE,
     "how values travel on a new connection"},
    {"bare-bigints", SETTING_WORD, AT(bare_bigints), "no", 0, 0, switch_words, MUTABLE,
     "in JSON, integers beyond +-(2^53-1) travel as plain literals"},

    {"loglevel", SETTING_WORD, AT(loglevel), "notice", 0, 0, log_words, MUTABLE,
     "least important lines that are logged"},
    {"logfile", SETTING_TEXT, AT(logfile), "", 0, 4095, NULL, FIXED,
     "file that log lines are appended to; empty = standard output"},

    {"dir", SETTING_TEXT, AT(dir), "./tupled-data", 1, 4095, NULL, FIXED,
     "directory of the data; made when it is missing"},
    {"data-group-access", SETTING_WORD, AT(data_group_access), "no", 0, 0, switch_words, FIXED,
     "the group of the server's user may read its files"},
    {"backup-dir", SETTING_TEXT, AT(backup_dir), "", 0, 4000, NULL, FIXED,
     "directory of the files that BGSAVE makes; empty = `backups` in dir"},
    {"databases", SETTING_NUMBER, AT(databases), "16", 1, 16, NULL, FIXED,
     "databases that are there from the start"},
    {"durability", SETTING_DURABILITY, AT(durability), "always", 1, 60000, NULL, MUTABLE,
     "what a reply to a write means"},
    {"max-value-size", SETTING_SIZE, AT(max_value_bytes), "16mb", KB, 256 * MB, NULL, MUTABLE,
     "largest stored value"},
    {"max-transaction-ops", SETTING_NUMBER, AT(max_transaction_ops), "20000", 1, 1000000, NULL,
     MUTABLE, "checks and mutations of one transaction"},
    {"max-transaction-size", SETTING_SIZE, AT(max_transaction_bytes), "64mb", 64 * KB, GB, NULL,
     MUTABLE, "bytes of one transaction"},
    {"memtable-size", SETTING_SIZE, AT(memtable_bytes), "64mb", MB, 4 * GB, NULL, MUTABLE,
     "newest data kept in memory before it is applied to the store"},
    {"memtable-age", SETTING_NUMBER, AT(memtable_age_ms), "5000", 1, NUMBER_MAX, NULL, MUTABLE,
     "milliseconds after which newest data is applied even if it is little"},
    {"write-buffer-limit", SETTING_SIZE, AT(write_buffer_bytes), "256mb", MB, SIZE_MAX_ANY, NULL,
     MUTABLE, "unapplied data at which writers are stopped"},
    {"cache-size", SETTING_SIZE, AT(cache_bytes), "256mb", 0, SIZE_MAX_ANY, NULL, MUTABLE,
     "memory for entries read from the store; 0 = no cache"},
    {"store-cache-size", SETTING_SIZE, AT(store_cache_bytes), "64mb", MB, SIZE_MAX_ANY, NULL, FIXED,
     "memory for the pages of the store, over all its connections"},
    {"journal-segment-size", SETTING_SIZE, AT(journal_segment_bytes), "96mb", 4 * MB, 4 * GB, NULL,
     FIXED, "largest size of a journal file, reserved on the disk before it is used"},
    {"changes-retention-age", SETTING_NUMBER, AT(changes_retention_age_s), "86400", 0, NUMBER_MAX,
     NULL, MUTABLE, "seconds that the change feed reaches back"},
    {"changes-retention-size", SETTING_SIZE, AT(changes_retention_bytes), "1gb", 0, SIZE_MAX_ANY,
     NULL, MUTABLE, "bytes of applied journal kept for the change feed"},

    {"query-threads", SETTING_NUMBER, AT(query_threads), "2", 1, 64, NULL, FIXED,
     "threads for searches, long scans and backups"},
    {"scan-timeout", SETTING_NUMBER, AT(scan_timeout_ms), "60000", 1, NUMBER_MAX, NULL, MUTABLE,
     "milliseconds that one scan may hold its view of the data"},
    {"idem-window", SETTING_NUMBER, AT(idem_window_s), "600", 1, NUMBER_MAX, NULL, MUTABLE,
     "seconds for which a request id (IDEM) is remembered"},
    {"idem-max-entries", SETTING_NUMBER, AT(idem_entries_max), "1000000", 1, NUMBER_MAX, NULL,
     MUTABLE, "request ids remembered; about 150 bytes of memory each"},
    {"queue-lease", SETTING_NUMBER, AT(queue_lease_ms), "30000", 1, NUMBER_MAX, NULL, MUTABLE,
     "milliseconds that KV.DEQUEUE leases a message for when it does not say"},
        {"queue-prefetch", SETTING_NUMBER, AT(queue_prefetch), "16", 1, 1000, NULL, MUTABLE,
     "unacknowledged messages that a subscriber of queues may have"},
    {"dedup-window", SETTING_NUMBER, AT(dedup_window_s), "300", 1, NUMBER_MAX, NULL, MUTABLE,
     "seconds for which the id given with DEDUP is remembered"},
    {"dedup-max-entries", SETTING_NUMBER, AT(dedup_entries_max), "1000000", 1, NUMBER_MAX, NULL,
     MUTABLE, "dedup ids remembered; about 150 bytes of memory each"},
    {"dlq-max-age", SETTING_NUMBER, AT(dlq_max_age_s), "1209600", 1, NUMBER_MAX, NULL, MUTABLE,
     "seconds that a dead letter is kept"},
    {"dlq-max-length", SETTING_NUMBER, AT(dlq_max_length), "10000", 1, NUMBER_MAX, NULL, MUTABLE,
     "dead letters kept of one queue; the oldest go first"},
    {"expire-batch", SETTING_NUMBER, AT(expire_batch), "1000", 1, 100000, NULL, MUTABLE,
     "expired keys removed in one go"},
    {"slowlog-log-slower-than", SETTING_SIGNED, AT(slowlog_slower_than_us), "10000", MINUS_1,
     (uint64_t)INT64_MAX, NULL, MUTABLE,
     "microseconds from which on a command is in the slow log; 0 = every one, -1 = none"},
    {"slowlog-max-len", SETTING_NUMBER, AT(slowlog_max), "128", 0, NUMBER_MAX, NULL, MUTABLE,
     "commands that the slow log keeps"},
    {"latency-monitor-threshold", SETTING_NUMBER, AT(latency_threshold_ms), "0", 0, NUMBER_MAX,
     NULL, MUTABLE, "milliseconds from which on LATENCY keeps an event; 0 = never"},
    {"latency-tracking", SETTING_WORD, AT(latency_tracking), "yes", 0, 0, switch_words, MUTABLE,
     "keep a histogram of the durations of every command"},
    {"latency-tracking-info-percentiles", SETTING_PERCENTILES, AT(percentiles), "50 99 99.9", 0,
     PERCENTILES_MAX, NULL, MUTABLE, "percentiles that INFO latencystats shows"},
    {"enable-debug-command", SETTING_WORD, AT(enable_debug_command), "no", 0, 0, debug_words, FIXED,
     "who may use DEBUG: nobody, everybody, or local connections"},
};
/* clang-format on */

#define SETTINGS (sizeof settings / sizeof settings[0])

static const struct setting *setting_at(size_t i)
{
    INVARIANT(i < SETTINGS);
    return &settings[i];
}

size_t config_count(void)
{
    return SETTINGS;
}

const char *config_name(size_t i)
{
    return setting_at(i)->name;
}

const char *config_default(size_t i)
{
    return setting_at(i)->default_text;
}

const char *config_help(size_t i)
{
    return setting_at(i)->help;
}

bool config_is_mutable(size_t i)
{
    return setting_at(i)->is_mutable;
}

static uint8_t lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c + ('a' - 'A')) : c;
}

/* Is s the lower-case ASCII word, in any case? */
static bool is_word(struct slice s, const char *word)
{
    if (s.len != strlen(word)) return false;
    for (size_t i = 0; i < s.len; i++) {
        if (lower(s.data[i]) != (uint8_t)word[i]) return false;
    }
    return true;
}

size_t config_find(struct slice name)
{
    for (size_t i = 0; i < SETTINGS; i++) {
        if (is_word(name, settings[i].name)) return i;
    }
    return SETTINGS;
}

/* ---- words to values ------------------------------------------------------------------------- */

/* Digits and a unit: 1k is 1000, 1kb is 1024. */
static bool size_parse(struct slice s, uint64_t *bytes)
{
    static const struct {
        const char *name;
        uint64_t factor;
    } units[] = {
        {"", 1},        {"b", 1},   {"k", 1000},       {"kb", KB},
        {"m", 1000000}, {"mb", MB}, {"g", 1000000000}, {"gb", GB},
    };
    size_t digits = 0;
    while (digits < s.len && s.data[digits] >= '0' && s.data[digits] <= '9') digits++;
    uint64_t n = 0;
    if (!slice_to_u64(slice_of(s.data, digits), &n)) return false;
    struct slice unit = slice_of(s.data + digits, s.len - digits);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (is_word(unit, units[i].name)) {
            return !__builtin_mul_overflow(n, units[i].factor, bytes);
        }
    }
    return false;
}

/* As a person would write it: 16mb, 1kb, 1000. */
static void size_to_text(uint64_t bytes, char *out, size_t out_bytes)
{
    static const char *const units[] = {"", "kb", "mb", "gb"};
    size_t unit = 0;
    while (unit < 3 && bytes > 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    snprintf(out, out_bytes, "%" PRIu64 "%s", bytes, units[unit]);
}

static enum err refuse_size(const struct setting *s, struct error *e)
{
    char min[32];
    char max[32];
    size_to_text(s->min, min, sizeof min);
    size_to_text(s->max, max, sizeof max);
    if (s->max == SIZE_MAX_ANY) {
        return error_set(e, ERR_SYNTAX, "%s must be a size of at least %s (b k kb m mb g gb)",
                         s->name, min);
    }
    return error_set(e, ERR_SYNTAX, "%s must be a size from %s to %s (b k kb m mb g gb)", s->name,
                     min, max);
}

static bool octal_parse(struct slice s, uint64_t max, uint64_t *out)
{
    uint64_t n = 0;
    if (s.len == 0 || s.len > 4) return false;
    for (size_t i = 0; i < s.len; i++) {
        if (s.data[i] < '0' || s.data[i] > '7') return false;
        n = n * 8 + (uint64_t)(s.data[i] - '0');
    }
    *out = n;
    return n <= max;
}

static enum err refuse_words(const struct setting *s, struct error *e)
{
    struct buf list;
    buf_init(&list);
    for (size_t i = 0; s->words[i] != NULL; i++) {
        if (i > 0) buf_append_str(&list, ", ");
        buf_append_str(&list, s->words[i]);
    }
    enum err r = error_set(e, ERR_SYNTAX, "%s must be one of %.*s", s->name, (int)list.len,
                           (const char *)list.data);
    buf_fini(&list);
    return r;
}

static char *text_copy(struct slice s)
{
    char *copy = mem_alloc(s.len + 1);
    if (s.len > 0) memcpy(copy, s.data, s.len);
    copy[s.len] = '\0';
    return copy;
}

static bool has_nul(struct slice s)
{
    return s.len > 0 && memchr(s.data, 0, s.len) != NULL;
}

static void bind_free(struct config *c)
{
    for (size_t i = 0; i < c->bind_count; i++) mem_free(c->bind[i]);
    mem_free(c->bind);
    c->bind = NULL;
    c->bind_count = 0;
}

static enum err set_bind(struct config *c, const struct setting *s, const struct slice *words,
                         size_t count, struct error *e)
{
    bool is_good = count >= s->min && count <= s->max;
    for (size_t i = 0; is_good && i < count; i++) is_good = words[i].len > 0 && !has_nul(words[i]);
    if (!is_good) {
        return error_set(e, ERR_SYNTAX, "bind must be %" PRIu64 " to %" PRIu64 " addresses", s->min,
                         s->max);
    }
    bind_free(c);
    c->bind = mem_new(count * sizeof c->bind[0]);
    c->bind_count = count;
    for (size_t i = 0; i < count; i++) c->bind[i] = text_copy(words[i]);
    return OK;
}

/* `1gb` for all classes, or Redis's groups `class hard soft soft-seconds`; its class of replicas is
 * kept and shown, and means nothing here. */
static enum err set_output_limit(struct config *c, const struct slice *words, size_t count,
                                 struct error *e)
{
    struct config_output_limit normal = c->output_normal;
    struct config_output_limit replica = c->output_replica;
    struct config_output_limit pubsub = c->output_pubsub;
    bool is_good = count > 0 && count % 4 == 0;
    for (size_t i = 0; is_good && i < count; i += 4) {
        const struct slice *w = words + i;
        struct config_output_limit l = {0};
        bool is_normal = is_word(w[0], "normal");
        bool is_pubsub = is_word(w[0], "pubsub");
        bool is_replica = is_word(w[0], "replica") || is_word(w[0], "slave");
        is_good = (is_normal || is_pubsub || is_replica) && size_parse(w[1], &l.hard_bytes) &&
                  l.hard_bytes <= SIZE_MAX_ANY && size_parse(w[2], &l.soft_bytes) &&
                  l.soft_bytes <= SIZE_MAX_ANY && slice_to_u64(w[3], &l.soft_s) &&
                  l.soft_s <= NUMBER_MAX;
        if (is_normal) normal = l;
        if (is_replica) replica = l;
        if (is_pubsub) pubsub = l;
    }
    if (count == 1) {
        normal = (struct config_output_limit){0};
        is_good = size_parse(words[0], &normal.hard_bytes) && normal.hard_bytes <= SIZE_MAX_ANY;
        replica = pubsub = normal;
    }
    if (!is_good) {
        return error_set(e, ERR_SYNTAX,
                         "client-output-buffer-limit must be a size, or groups of "
                         "<normal|replica|pubsub> <hard size> <soft size> <seconds>; 0 = no limit");
    }
    c->output_normal = normal;
    c->output_replica = replica;
    c->output_pubsub = pubsub;
    return OK;
}

static enum err set_durability(struct config *c, const struct setting *s, const struct slice *words,
                               size_t count, struct error *e)
{
    uint64_t ms = 0;
    if (count == 1 && is_word(words[0], "always")) {
        c->durability = CONFIG_DURABLE_ALWAYS;
    } else if (count == 1 && is_word(words[0], "never")) {
        c->durability = CONFIG_DURABLE_NEVER;
    } else if (count == 2 && is_word(words[0], "interval") && slice_to_u64(words[1], &ms) &&
               ms >= s->min && ms <= s->max) {
        c->durability = CONFIG_DURABLE_INTERVAL;
    } else {
        return error_set(e, ERR_SYNTAX,
                         "durability must be always, never, or interval <ms> with ms from %" PRIu64
                         " to %" PRIu64,
                         s->min, s->max);
    }
    c->durability_interval_ms = ms;
    return OK;
}

static enum err set_percentiles(struct config *c, const struct setting *s,
                                const struct slice *words, size_t count, struct error *e)
{
    struct error inner = {.text = ""};
    if (percentiles_parse(&c->percentiles, words, count, &inner) == OK) return OK;
    return error_set(e, ERR_SYNTAX, "%s %s", s->name, inner.text);
}

static enum err set_signed(void *member, const struct setting *s, struct slice word,
                           struct error *e)
{
    int64_t n = 0;
    if (!slice_to_i64(word, &n) || n < (int64_t)s->min || n > (int64_t)s->max) {
        return error_set(e, ERR_SYNTAX, "%s must be a number from %" PRId64 " to %" PRId64, s->name,
                         (int64_t)s->min, (int64_t)s->max);
    }
    memcpy(member, &n, sizeof n);
    return OK;
}

/* 0, a size, or "12.5%". */
static enum err set_share(void *member, const struct setting *s, struct slice word, struct error *e)
{
    uint64_t bytes = 0;
    int64_t n = 0;
    bool is_percent = word.len > 1 && word.len < 7 && word.data[word.len - 1] == '%';
    if (is_percent) {
        struct slice digits = slice_of(word.data, word.len - 1);
        bool has_tenth = digits.len > 2 && digits.data[digits.len - 2] == '.';
        uint64_t tenth = 0;
        if (has_tenth && !slice_to_u64(slice_of(digits.data + digits.len - 1, 1), &tenth)) {
            tenth = UINT16_MAX;
        }
        if (has_tenth) digits.len -= 2;
        is_percent = slice_to_u64(digits, &bytes) && bytes <= 100 && bytes * 10 + tenth <= 1000 &&
                     bytes * 10 + tenth > 0;
        n = -(int64_t)(bytes * 10 + tenth);
    }
    bool is_size = !is_percent && size_parse(word, &bytes) && bytes <= s->max &&
                   (bytes == 0 || bytes >= s->min);
    if (!is_percent && !is_size) {
        return error_set(e, ERR_SYNTAX,
                         "%s must be 0, a size of at least 1mb (b k kb m mb g gb), or a percentage "
                         "such as 12.5%%",
                         s->name);
    }
    if (is_size) n = (int64_t)bytes;
    memcpy(member, &n, sizeof n);
    return OK;
}

static void get_share(const void *member, struct buf *out)
{
    int64_t n = 0;
    memcpy(&n, member, sizeof n);
    if (n >= 0) {
        buf_append_i64(out, n);
    } else if (-n % 10 == 0) {
        buf_printf(out, "%" PRId64 "%%", -n / 10);
    } else {
        buf_printf(out, "%" PRId64 ".%" PRId64 "%%", -n / 10, -n % 10);
    }
}

/* The settings of one word. */
static enum err set_one(struct config *c, const struct setting *s, struct slice word,
                        struct error *e)
{
    void *member = (char *)c + s->offset;
    uint64_t n = 0;
    switch (s->type) {
    case SETTING_NUMBER:
        if (!slice_to_u64(word, &n) || n < s->min || n > s->max) {
            return error_set(e, ERR_SYNTAX, "%s must be a number from %" PRIu64 " to %" PRIu64,
                             s->name, s->min, s->max);
        }
        memcpy(member, &n, sizeof n);
        return OK;
    case SETTING_SIGNED: return set_signed(member, s, word, e);
    case SETTING_SHARE: return set_share(member, s, word, e);
    case SETTING_SIZE:
        if (!size_parse(word, &n) || n < s->min || n > s->max) return refuse_size(s, e);
        memcpy(member, &n, sizeof n);
        return OK;
    case SETTING_OCTAL:
        if (!octal_parse(word, s->max, &n)) {
            return error_set(e, ERR_SYNTAX, "%s must be an octal number from 0 to %" PRIo64,
                             s->name, s->max);
        }
        memcpy(member, &n, sizeof n);
        return OK;
    case SETTING_WORD:
        for (int i = 0; s->words[i] != NULL; i++) {
            if (!is_word(word, s->words[i])) continue;
            memcpy(member, &i, sizeof i); /* an enum of few values is an int */
            return OK;
        }
        return refuse_words(s, e);
    case SETTING_TEXT:
        if (word.len < s->min || word.len > s->max || has_nul(word)) {
            return error_set(e, ERR_SYNTAX, "%s must be a text of %" PRIu64 " to %" PRIu64 " bytes",
                             s->name, s->min, s->max);
        }
        char *copy = text_copy(word);
        char *old = NULL;
        memcpy(&old, member, sizeof old);
        mem_free(old);
        memcpy(member, &copy, sizeof copy);
        return OK;
    case SETTING_BIND:
    case SETTING_OUTPUT_LIMIT:
    case SETTING_DURABILITY:
    case SETTING_PERCENTILES: break;
    }
    die("setting %s has no type of one word", s->name);
}

enum err config_set(struct config *c, size_t i, const struct slice *words, size_t count,
                    struct error *e)
{
    const struct setting *s = setting_at(i);
    bool is_one = s->type != SETTING_BIND && s->type != SETTING_OUTPUT_LIMIT &&
                  s->type != SETTING_DURABILITY && s->type != SETTING_PERCENTILES;
    if (is_one) {
        if (count == 1) return set_one(c, s, words[0], e);
        return error_set(e, ERR_SYNTAX, "%s takes one value, not %zu", s->name, count);
    }
    /* `--durability "interval 100"` and CONFIG SET bring the words in one. */
    struct buf text;
    struct slice split[CONFIG_WORDS_MAX];
    buf_init(&text);
    enum err r = OK;
    if (count == 1) {
        r = config_split(words[0], &text, split, CONFIG_WORDS_MAX, &count, e);
        words = split;
    }
    if (r == OK && s->type == SETTING_BIND) r = set_bind(c, s, words, count, e);
    if (r == OK && s->type == SETTING_OUTPUT_LIMIT) r = set_output_limit(c, words, count, e);
    if (r == OK && s->type == SETTING_DURABILITY) r = set_durability(c, s, words, count, e);
    if (r == OK && s->type == SETTING_PERCENTILES) r = set_percentiles(c, s, words, count, e);
    buf_fini(&text);
    return r;
}

/* ---- values to text -------------------------------------------------------------------------- */

static void get_durability(const struct config *c, struct buf *out)
{
    switch (c->durability) {
    case CONFIG_DURABLE_ALWAYS: buf_append_str(out, "always"); return;
    case CONFIG_DURABLE_INTERVAL:
        buf_printf(out, "interval %" PRIu64, c->durability_interval_ms);
        return;
    case CONFIG_DURABLE_NEVER: buf_append_str(out, "never"); return;
    }
    die("unknown durability %d", (int)c->durability);
}

static void get_output_limit(const char *class, const struct config_output_limit *l,
                             struct buf *out)
{
    buf_printf(out, "%s %" PRIu64 " %" PRIu64 " %" PRIu64, class, l->hard_bytes, l->soft_bytes,
               l->soft_s);
}

void config_get(const struct config *c, size_t i, struct buf *out)
{
    const struct setting *s = setting_at(i);
    const void *member = (const char *)c + s->offset;
    uint64_t n = 0;
    int word = 0;
    const char *text = NULL;
    switch (s->type) {
    case SETTING_NUMBER:
    case SETTING_SIZE:
        memcpy(&n, member, sizeof n);
        buf_append_u64(out, n);
        return;
    case SETTING_SIGNED:
        memcpy(&n, member, sizeof n);
        buf_append_i64(out, (int64_t)n);
        return;
    case SETTING_SHARE: get_share(member, out); return;
    case SETTING_OCTAL:
        memcpy(&n, member, sizeof n);
        buf_printf(out, "%" PRIo64, n);
        return;
    case SETTING_WORD:
        memcpy(&word, member, sizeof word);
        buf_append_str(out, s->words[word]);
        return;
    case SETTING_TEXT:
        memcpy(&text, member, sizeof text);
        buf_append_str(out, text);
        return;
    case SETTING_BIND:
        for (size_t at = 0; at < c->bind_count; at++) {
            if (at > 0) buf_append_byte(out, ' ');
            buf_append_str(out, c->bind[at]);
        }
        return;
    case SETTING_OUTPUT_LIMIT:
        get_output_limit("normal", &c->output_normal, out);
        buf_append_byte(out, ' ');
        get_output_limit("slave", &c->output_replica, out); /* its name in Redis 7.0's reply */
        buf_append_byte(out, ' ');
        get_output_limit("pubsub", &c->output_pubsub, out);
        return;
    case SETTING_DURABILITY: get_durability(c, out); return;
    case SETTING_PERCENTILES:
        for (size_t at = 0; at < c->percentiles.count; at++) {
            if (at > 0) buf_append_byte(out, ' ');
            percentile_format(c->percentiles.values[at], out);
        }
        return;
    }
    die("setting %s has no type", s->name);
}

/* ---- values to lines of a file --------------------------------------------------------------- */

/* In quotes when config_split would otherwise not give it back. */
static void append_word(struct buf *out, struct slice word)
{
    bool is_plain = word.len > 0;
    for (size_t i = 0; i < word.len; i++) {
        uint8_t c = word.data[i];
        is_plain = is_plain && c > ' ' && c != 0x7f && c != '"' && c != '\'';
    }
    buf_append_byte(out, ' ');
    if (is_plain) {
        buf_append(out, word.data, word.len);
        return;
    }
    buf_append_byte(out, '"');
    for (size_t i = 0; i < word.len; i++) {
        uint8_t c = word.data[i];
        if (c == '"' || c == '\\') buf_append_byte(out, '\\');
        if (c < ' ' || c == 0x7f) {
            buf_printf(out, "\\x%02x", c);
        } else {
            buf_append_byte(out, c);
        }
    }
    buf_append_byte(out, '"');
}

static void append_size(struct buf *out, uint64_t bytes)
{
    char text[32];
    size_to_text(bytes, text, sizeof text);
    append_word(out, slice_str(text));
}

static void append_output_limit(struct buf *out, const char *class,
                                const struct config_output_limit *l)
{
    append_word(out, slice_str(class));
    append_size(out, l->hard_bytes);
    append_size(out, l->soft_bytes);
    buf_printf(out, " %" PRIu64, l->soft_s);
}

void config_line(const struct config *c, size_t i, struct buf *out)
{
    const struct setting *s = setting_at(i);
    const void *member = (const char *)c + s->offset;
    uint64_t n = 0;
    const char *text = NULL;
    buf_append_str(out, s->name);
    switch (s->type) {
    case SETTING_SIZE:
        memcpy(&n, member, sizeof n);
        append_size(out, n);
        return;
    case SETTING_TEXT:
        memcpy(&text, member, sizeof text);
        append_word(out, slice_str(text));
        return;
    case SETTING_BIND:
        for (size_t at = 0; at < c->bind_count; at++) append_word(out, slice_str(c->bind[at]));
        return;
    case SETTING_OUTPUT_LIMIT:
        append_output_limit(out, "normal", &c->output_normal);
        append_output_limit(out, "replica", &c->output_replica);
        append_output_limit(out, "pubsub", &c->output_pubsub);
        return;
    case SETTING_SHARE:
        memcpy(&n, member, sizeof n);
        if ((int64_t)n >= 0) {
            append_size(out, n);
            return;
        }
        buf_append_byte(out, ' ');
        get_share(member, out);
        return;
    case SETTING_NUMBER:
    case SETTING_SIGNED:
    case SETTING_OCTAL:
    case SETTING_WORD:
    case SETTING_DURABILITY:
    case SETTING_PERCENTILES:
        buf_append_byte(out, ' ');
        if (s->type == SETTING_PERCENTILES && c->percentiles.count == 0)
            buf_append_str(out, "\"\"");
        config_get(c, i, out);
        return;
    }
    die("setting %s has no type", s->name);
}

/* ---- life ------------------------------------------------------------------------------------ */

void config_init(struct config *c)
{
    *c = (struct config){.action = CONFIG_RUN};
    for (size_t i = 0; i < SETTINGS; i++) {
        struct slice text = slice_str(settings[i].default_text);
        struct error e = {.text = ""};
        if (config_set(c, i, &text, 1, &e) != OK) {
            die("default of %s: %s", settings[i].name, e.text);
        }
    }
}

void config_copy(struct config *to, const struct config *from)
{
    *to = *from;
    for (size_t i = 0; i < SETTINGS; i++) {
        const char *text = NULL;
        if (settings[i].type != SETTING_TEXT) continue;
        memcpy(&text, (const char *)from + settings[i].offset, sizeof text);
        char *copy = text_copy(slice_str(text));
        memcpy((char *)to + settings[i].offset, &copy, sizeof copy);
    }
    to->bind = mem_new(from->bind_count * sizeof to->bind[0]);
    for (size_t i = 0; i < from->bind_count; i++) to->bind[i] = text_copy(slice_str(from->bind[i]));
    if (from->file != NULL) to->file = text_copy(slice_str(from->file));
}

void config_fini(struct config *c)
{
    for (size_t i = 0; i < SETTINGS; i++) {
        char *text = NULL;
        if (settings[i].type != SETTING_TEXT) continue;
        memcpy(&text, (char *)c + settings[i].offset, sizeof text);
        mem_free(text);
    }
    bind_free(c);
    mem_free(c->file);
    *c = (struct config){.action = CONFIG_RUN};
}
