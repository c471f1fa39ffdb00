/* config_set: words become the value of a setting; the life of all of them. */
#include <inttypes.h>

#include "base/mem.h"
#include "base/schedule.h"
#include "request/notify.h"
#include "server/setting.h"

static enum err refuse_size(const struct setting *s, struct error *e)
{
    const char *more = s->type == SETTING_MEMORY ? ", or a percentage such as 12.5%" : "";
    char min[32];
    char max[32];
    size_to_text(s->min, min);
    size_to_text(s->max, max);
    if (s->max == SIZE_MAX_ANY) {
        return error_set(e, ERR_SYNTAX, "%s must be a size of at least %s (b k kb m mb g gb)%s",
                         s->name, min, more);
    }
    return error_set(e, ERR_SYNTAX, "%s must be a size from %s to %s (b k kb m mb g gb)%s", s->name,
                     min, max, more);
}

static enum err refuse_text(const struct setting *s, struct error *e)
{
    return error_set(e, ERR_SYNTAX, "%s must be a string of %" PRIu64 " to %" PRIu64 " bytes",
                     s->name, s->min, s->max);
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
    if (s.len > 0 && s.data != NULL) memcpy(copy, s.data, s.len);
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
        bool is_normal = setting_is_word(w[0], "normal");
        bool is_pubsub = setting_is_word(w[0], "pubsub");
        bool is_replica = setting_is_word(w[0], "replica") || setting_is_word(w[0], "slave");
        is_good = (is_normal || is_pubsub || is_replica) && slice_to_bytes(w[1], &l.hard_bytes) &&
                  l.hard_bytes <= SIZE_MAX_ANY && slice_to_bytes(w[2], &l.soft_bytes) &&
                  l.soft_bytes <= SIZE_MAX_ANY && slice_to_u64(w[3], &l.soft_s) &&
                  l.soft_s <= NUMBER_MAX;
        if (is_normal) normal = l;
        if (is_replica) replica = l;
        if (is_pubsub) pubsub = l;
    }
    if (count == 1) {
        normal = (struct config_output_limit){0};
        is_good = slice_to_bytes(words[0], &normal.hard_bytes) && normal.hard_bytes <= SIZE_MAX_ANY;
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
    if (count == 1 && setting_is_word(words[0], "always")) {
        c->durability = CONFIG_DURABLE_ALWAYS;
    } else if (count == 1 && setting_is_word(words[0], "never")) {
        c->durability = CONFIG_DURABLE_NEVER;
    } else if (count == 2 && setting_is_word(words[0], "interval") && slice_to_u64(words[1], &ms) &&
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
/* Tenths of a percent, as a negative number. */
static bool percent_parse(struct slice word, int64_t *out)
{
    uint64_t whole = 0;
    uint64_t tenth = 0;
    if (word.len < 2 || word.len > 6 || word.data[word.len - 1] != '%') return false;
    struct slice digits = slice_of(word.data, word.len - 1);
    if (digits.len > 2 && digits.data[digits.len - 2] == '.') {
        if (!slice_to_u64(slice_of(digits.data + digits.len - 1, 1), &tenth)) return false;
        digits.len -= 2;
    }
    if (!slice_to_u64(digits, &whole) || whole > 100) return false;
    *out = -(int64_t)(whole * 10 + tenth);
    return *out < 0 && *out >= -1000;
}

static enum err set_share(void *member, const struct setting *s, struct slice word, struct error *e)
{
    uint64_t bytes = 0;
    int64_t n = 0;
    if (!percent_parse(word, &n)) {
        if (!slice_to_bytes(word, &bytes) || bytes > s->max || (bytes != 0 && bytes < s->min)) {
            return error_set(e, ERR_SYNTAX,
                             "%s must be 0, a size of at least 1mb (b k kb m mb g gb), or a "
                             "percentage such as 12.5%%",
                             s->name);
        }
        n = (int64_t)bytes;
    }
    memcpy(member, &n, sizeof n);
    return OK;
}

static enum err set_memory(void *member, const struct setting *s, struct slice word,
                           struct error *e)
{
    uint64_t bytes = 0;
    int64_t n = 0;
    if (!percent_parse(word, &n)) {
        if (!slice_to_bytes(word, &bytes) || bytes < s->min || bytes > s->max) {
            return refuse_size(s, e);
        }
        n = (int64_t)bytes;
    }
    memcpy(member, &n, sizeof n);
    return OK;
}

static void set_text(void *member, struct slice word)
{
    char *copy = text_copy(word);
    char *old = NULL;
    memcpy(&old, member, sizeof old);
    mem_free(old);
    memcpy(member, &copy, sizeof copy);
}

static enum err set_schedule(void *member, const struct setting *s, struct slice word,
                             struct error *e)
{
    struct schedule schedule;
    struct error inner = {.text = ""};
    if (word.len > s->max || schedule_parse(word, &schedule, &inner) != OK) {
        return error_set(e, ERR_SYNTAX, "%s %s", s->name, inner.text);
    }
    set_text(member, word);
    return OK;
}

static enum err set_events(void *member, const struct setting *s, struct slice word,
                           struct error *e)
{
    uint64_t flags = 0;
    struct error inner = {.text = ""};
    if (notify_parse(word, &flags, &inner) != OK) {
        return error_set(e, ERR_SYNTAX, "%s: %s", s->name, inner.text);
    }
    memcpy(member, &flags, sizeof flags);
    return OK;
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
    case SETTING_MEMORY: return set_memory(member, s, word, e);
    case SETTING_SIZE:
        if (!slice_to_bytes(word, &n) || n < s->min || n > s->max) return refuse_size(s, e);
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
            if (!setting_is_word(word, s->words[i])) continue;
            memcpy(member, &i, sizeof i); /* an enum of few values is an int */
            return OK;
        }
        return refuse_words(s, e);
    case SETTING_SCHEDULE: return set_schedule(member, s, word, e);
    case SETTING_EVENTS: return set_events(member, s, word, e);
    case SETTING_TEXT:
    case SETTING_SECRET:
        if (word.len < s->min || word.len > s->max || has_nul(word)) return refuse_text(s, e);
        set_text(member, word);
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

void config_add_user(struct config *c, const struct slice *words, size_t count)
{
    struct buf text;
    buf_init(&text);
    if (c->users != NULL) buf_append_str(&text, c->users);
    buf_append_str(&text, "user");
    for (size_t i = 0; i < count; i++) {
        buf_append_byte(&text, ' ');
        buf_append(&text, words[i].data, words[i].len);
    }
    buf_append_byte(&text, '\n');
    buf_require(&text);
    config_set_users(c, buf_slice(&text));
    buf_fini(&text);
}

void config_set_users(struct config *c, struct slice lines)
{
    char *text = lines.len > 0 ? text_copy(lines) : NULL;
    mem_free(c->users);
    c->users = text;
}

/* ---- life ------------------------------------------------------------------------------------ */

void config_init(struct config *c)
{
    *c = (struct config){.action = CONFIG_RUN};
    for (size_t i = 0; i < config_count(); i++) {
        struct slice text = slice_str(setting_at(i)->default_text);
        struct error e = {.text = ""};
        if (config_set(c, i, &text, 1, &e) != OK) {
            die("default of %s: %s", setting_at(i)->name, e.text);
        }
    }
}

void config_copy(struct config *to, const struct config *from)
{
    *to = *from;
    for (size_t i = 0; i < config_count(); i++) {
        const char *text = NULL;
        if (!setting_is_text(setting_at(i))) continue;
        memcpy(&text, (const char *)from + setting_at(i)->offset, sizeof text);
        char *copy = text_copy(slice_str(text));
        memcpy((char *)to + setting_at(i)->offset, &copy, sizeof copy);
    }
    to->bind = mem_new(from->bind_count * sizeof to->bind[0]);
    for (size_t i = 0; i < from->bind_count; i++) to->bind[i] = text_copy(slice_str(from->bind[i]));
    if (from->file != NULL) to->file = text_copy(slice_str(from->file));
    if (from->users != NULL) to->users = text_copy(slice_str(from->users));
    if (from->passed_over != NULL) to->passed_over = text_copy(slice_str(from->passed_over));
}

void config_fini(struct config *c)
{
    for (size_t i = 0; i < config_count(); i++) {
        char *text = NULL;
        if (!setting_is_text(setting_at(i))) continue;
        memcpy(&text, (char *)c + setting_at(i)->offset, sizeof text);
        mem_free(text);
    }
    bind_free(c);
    mem_free(c->file);
    mem_free(c->users);
    mem_free(c->passed_over);
    *c = (struct config){.action = CONFIG_RUN};
}
