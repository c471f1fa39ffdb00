/* selector: each word changes bits (commands), first words or patterns at once. The rules of
 * commands are also kept as they were given, without those that later ones overrule, so that
 * describing and applying again gives the same. */
#include "access/selector.h"

#include <ctype.h>

#include "base/glob.h"
#include "base/mem.h"

/* ---- words ---- */

#define FIRSTS_MAX 1000 /* each is looked at by those after it, and when it is asked */

static char *text_copy(struct slice s)
{
    char *text = mem_alloc(s.len + 1);
    bytes_copy(text, s.data, s.len);
    text[s.len] = '\0';
    return text;
}

static void words_add(struct access_word ***last, struct slice text)
{
    struct access_word *w = mem_new(sizeof *w);
    w->text = text_copy(text);
    **last = w;
    *last = &w->next;
}

static void words_drop(struct access_word **first, struct access_word ***last)
{
    while (*first != NULL) {
        struct access_word *next = (*first)->next;
        mem_free((*first)->text);
        mem_free(*first);
        *first = next;
    }
    *last = first;
}

static void words_copy(struct access_word ***last, const struct access_word *from)
{
    for (; from != NULL; from = from->next) words_add(last, slice_str(from->text));
}

/* ---- life ---- */

void selector_init(struct selector *s)
{
    *s = (struct selector){.allows_all_databases = true};
    s->rules_last = &s->rules;
    patterns_init(&s->databases);
    patterns_init(&s->keys);
    patterns_init(&s->channels);
}

static void firsts_drop(struct selector *s, size_t number, size_t count)
{
    for (struct access_first **at = &s->firsts; *at != NULL;) {
        struct access_first *f = *at;
        if (f->number < number || f->number >= number + count) {
            at = &f->next;
            continue;
        }
        *at = f->next;
        mem_free(f->word);
        mem_free(f);
        s->first_count--;
    }
}

static void firsts_add(struct selector *s, size_t number, struct slice word)
{
    struct access_first *f = mem_new(sizeof *f);
    f->number = number;
    f->word = text_copy(word);
    for (size_t i = 0; i < word.len; i++) f->word[i] = (char)tolower(word.data[i]);
    f->next = s->firsts;
    s->firsts = f;
    s->first_count++;
}

void selector_fini(struct selector *s)
{
    firsts_drop(s, 0, SIZE_MAX);
    words_drop(&s->rules, &s->rules_last);
    patterns_fini(&s->databases);
    patterns_fini(&s->keys);
    patterns_fini(&s->channels);
}

void selector_copy(struct selector *to, const struct selector *from)
{
    selector_init(to);
    memcpy(to->allowed, from->allowed, sizeof to->allowed);
    to->allows_all_commands = from->allows_all_commands;
    for (const struct access_first *f = from->firsts; f != NULL; f = f->next) {
        firsts_add(to, f->number, slice_str(f->word));
    }
    words_copy(&to->rules_last, from->rules);
    patterns_copy(&to->databases, &from->databases);
    to->allows_all_databases = from->allows_all_databases;
    patterns_fini(&to->keys);
    patterns_fini(&to->channels);
    patterns_copy(&to->keys, &from->keys);
    patterns_copy(&to->channels, &from->channels);
}

/* ---- commands ---- */

static enum err bad(struct error *e, const char *what)
{
    return error_set(e, ERR_SYNTAX, "%s", what);
}

#define UNKNOWN "Unknown command or category name in ACL"
#define WRONG "Syntax error"

static bool bit_get(const struct selector *s, size_t number)
{
    return (s->allowed[number / 64] >> (number % 64) & 1) != 0;
}

/* The command with its subcommands. */
static void bits_set(struct selector *s, const struct access_catalog *catalog, size_t number,
                     bool is_allowed)
{
    size_t count = catalog->parts(number) + 1;
    for (size_t i = number; i < number + count; i++) {
        uint64_t bit = 1ull << (i % 64);
        if (is_allowed) s->allowed[i / 64] |= bit;
        if (!is_allowed) s->allowed[i / 64] &= ~bit;
    }
    if (!is_allowed) s->allows_all_commands = false;
    firsts_drop(s, number, count);
}

static bool name_is(const char *name, struct slice given)
{
    for (size_t i = 0; i < given.len; i++) {
        if (name[i] == '\0' || tolower(given.data[i]) != name[i]) return false;
    }
    return name[given.len] == '\0';
}

/* `name` is lower case. */
static bool find_command(const struct access_catalog *catalog, struct slice name, size_t *out)
{
    for (size_t i = 0; i < catalog->count(); i++) {
        if (!name_is(catalog->name(i), name)) continue;
        *out = i;
        return true;
    }
    return false;
}

bool access_category_find(const struct access_catalog *catalog, struct slice name, size_t *out)
{
    for (size_t i = 0; catalog->category(i) != NULL; i++) {
        if (!name_is(catalog->category(i), name)) continue;
        *out = i;
        return true;
    }
    return false;
}

/* "get" of "+get", and of "-get|x" when `is_container`. */
static bool is_about(const char *rule, struct slice name, bool is_container)
{
    if (strlen(rule) < name.len + 1) return false;
    for (size_t i = 0; i < name.len; i++) {
        if (tolower((unsigned char)rule[i + 1]) != tolower(name.data[i])) return false;
    }
    char end = rule[name.len + 1];
    return end == '\0' || (is_container && end == '|');
}

/* Rules that the new one overrules are told no more. */
static void rule_note(struct selector *s, struct slice word)
{
    struct slice name = slice_of(word.data + 1, word.len - 1);
    bool is_category = name.len > 0 && name.data[0] == '@';
    for (struct access_word **at = &s->rules; *at != NULL;) {
        struct access_word *w = *at;
        if (!is_about(w->text, name, !is_category)) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        mem_free(w->text);
        mem_free(w);
    }
    struct access_word **last = &s->rules;
    while (*last != NULL) last = &(*last)->next;
    s->rules_last = last;
    words_add(&s->rules_last, word);
}

static void commands_all(struct selector *s, bool is_allowed)
{
    memset(s->allowed, is_allowed ? 0xff : 0, sizeof s->allowed);
    s->allows_all_commands = is_allowed;
    firsts_drop(s, 0, SIZE_MAX);
    words_drop(&s->rules, &s->rules_last);
}

static enum err rule_category(struct selector *s, const struct access_catalog *catalog,
                              struct slice name, bool is_allowed, struct error *e)
{
    size_t category;
    if (!access_category_find(catalog, name, &category)) return bad(e, UNKNOWN);
    for (size_t i = 0; i < catalog->count(); i++) {
        if (catalog->is_in(i, category)) bits_set(s, catalog, i, is_allowed);
    }
    return OK;
}

/* A line of users could not say it. */
static bool has_space(struct slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (isspace(s.data[i]) || s.data[i] == '\0') return true;
    }
    return false;
}

/* +select|0: only with that first word. */
static enum err rule_first(struct selector *s, const struct access_catalog *catalog,
                           struct slice name, struct error *e)
{
    const uint8_t *bar = memchr(name.data, '|', name.len);
    size_t number;
    if (bar == NULL) return bad(e, UNKNOWN);
    size_t len = (size_t)(bar - name.data);
    struct slice word = slice_of(bar + 1, name.len - len - 1);
    struct slice command = slice_of(name.data, len);
    if (!find_command(catalog, command, &number)) return bad(e, UNKNOWN);
    if (word.len == 0 || has_space(word)) return bad(e, WRONG);
    if (catalog->parts(number) > 0) return bad(e, UNKNOWN);
    if (memchr(word.data, '|', word.len) != NULL) {
        return bad(e, "Allowing first-arg of a subcommand is not supported");
    }
    if (bit_get(s, number)) return OK;
    if (s->first_count == FIRSTS_MAX) {
        return error_set(e, ERR_LIMIT, "more than %d rules with a first argument in one selector",
                         FIRSTS_MAX);
    }
    firsts_add(s, number, word);
    return OK;
}

static enum err rule_command(struct selector *s, const struct access_catalog *catalog,
                             struct slice word, struct error *e)
{
    bool is_allowed = word.data[0] == '+';
    struct slice name = slice_of(word.data + 1, word.len - 1);
    size_t number;
    enum err r = OK;
    if (slice_is_word(name, "@ALL")) {
        commands_all(s, is_allowed);
        return OK;
    }
    if (name.len > 0 && name.data[0] == '@') {
        r = rule_category(s, catalog, slice_of(name.data + 1, name.len - 1), is_allowed, e);
    } else if (find_command(catalog, name, &number)) {
        bits_set(s, catalog, number, is_allowed);
    } else if (is_allowed) {
        r = rule_first(s, catalog, name, e);
    } else {
        r = bad(e, UNKNOWN);
    }
    if (r == OK) rule_note(s, word);
    return r;
}

bool selector_allows_command(const struct selector *s, const struct access_catalog *catalog,
                             size_t number, struct slice first)
{
    if (s->allows_all_commands || bit_get(s, number) || catalog->is_free(number)) return true;
    for (const struct access_first *f = s->firsts; f != NULL; f = f->next) {
        if (f->number == number && name_is(f->word, first)) return true;
    }
    return false;
}

/* ---- keys, channels, databases ---- */

/* ~text, %R~text, %W~text, %RW~text: what it needs, and where the text begins. As in Redis, the ~
 * may be left out when the text is empty. */
static bool key_rule(struct slice word, unsigned *needs, size_t *at)
{
    *needs = ACCESS_BOTH;
    *at = 1;
    if (word.data[0] == '~') return true;
    *needs = 0;
    for (; *at < word.len && word.data[*at] != '~'; ++*at) {
        int c = toupper(word.data[*at]);
        unsigned need = c == 'R' ? ACCESS_READ : c == 'W' ? ACCESS_WRITE : 0;
        if (need == 0 || (*needs & need) != 0) return false;
        *needs |= need;
    }
    *at += *at < word.len;
    return *needs != 0;
}

static enum err rule_key(struct selector *s, struct slice word, struct error *e)
{
    unsigned needs;
    size_t at;
    if (s->keys.allows_all) {
        return bad(e, "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid "
                      "and does not have any effect. Try 'resetkeys' to start with an empty list "
                      "of patterns");
    }
    if (!key_rule(word, &needs, &at)) return bad(e, WRONG);
    struct slice text = slice_of(word.data + at, word.len - at);
    if (has_space(text)) return bad(e, WRONG);
    if (text.len > GLOB_BYTES_MAX) return bad(e, "The pattern is longer than 1024 bytes");
    patterns_add(&s->keys, text, needs);
    return OK;
}

static enum err rule_channel(struct selector *s, struct slice word, struct error *e)
{
    struct slice text = slice_of(word.data + 1, word.len - 1);
    if (s->channels.allows_all) {
        return bad(e, "Adding a pattern after the * pattern (or the 'allchannels' flag) is not "
                      "valid and does not have any effect. Try 'resetchannels' to start with an "
                      "empty list of channels");
    }
    if (has_space(text)) return bad(e, WRONG);
    if (text.len > GLOB_BYTES_MAX) return bad(e, "The pattern is longer than 1024 bytes");
    patterns_add(&s->channels, text, ACCESS_BOTH);
    return OK;
}

/* db=0,orders: these, and no others; given again, those beside. */
static enum err rule_databases(struct selector *s, struct slice list, struct error *e)
{
    if (list.len == 0 || has_space(list)) return bad(e, WRONG);
    for (size_t at = 0; at <= list.len;) {
        const uint8_t *comma = at < list.len ? memchr(list.data + at, ',', list.len - at) : NULL;
        size_t end = comma == NULL ? list.len : (size_t)(comma - list.data);
        if (end == at) return bad(e, WRONG);
        at = end + 1;
    }
    s->allows_all_databases = false;
    for (size_t at = 0; at < list.len;) {
        const uint8_t *comma = memchr(list.data + at, ',', list.len - at);
        size_t end = comma == NULL ? list.len : (size_t)(comma - list.data);
        struct slice name = slice_of(list.data + at, end - at);
        patterns_add(&s->databases, name, ACCESS_BOTH);
        at = end + 1;
    }
    return OK;
}

bool selector_allows_database(const struct selector *s, struct slice name, struct slice number)
{
    if (s->allows_all_databases) return true;
    return patterns_have(&s->databases, number, ACCESS_BOTH) ||
           (name.len > 0 && patterns_have(&s->databases, name, ACCESS_BOTH));
}

/* ---- rules ---- */

/* The words that stand for themselves. False: it is none of them. */
static bool rule_plain(struct selector *s, struct slice word)
{
    if (slice_is_word(word, "ALLKEYS") || slice_eq(word, slice_str("~*"))) {
        patterns_reset(&s->keys);
        s->keys.allows_all = true;
    } else if (slice_is_word(word, "RESETKEYS")) {
        patterns_reset(&s->keys);
    } else if (slice_is_word(word, "ALLCHANNELS") || slice_eq(word, slice_str("&*"))) {
        patterns_reset(&s->channels);
        s->channels.allows_all = true;
    } else if (slice_is_word(word, "RESETCHANNELS")) {
        patterns_reset(&s->channels);
    } else if (slice_is_word(word, "ALLCOMMANDS")) {
        commands_all(s, true);
    } else if (slice_is_word(word, "NOCOMMANDS")) {
        commands_all(s, false);
    } else if (slice_is_word(word, "ALLDBS") || slice_is_word(word, "RESETDBS")) {
        patterns_reset(&s->databases);
        s->allows_all_databases = slice_is_word(word, "ALLDBS");
    } else {
        return false;
    }
    return true;
}

void selector_ready(struct selector *s)
{
    patterns_ready(&s->keys);
    patterns_ready(&s->channels);
}

enum err selector_rule(struct selector *s, const struct access_catalog *catalog, struct slice word,
                       struct error *e)
{
    if (word.len == 0) return bad(e, WRONG);
    if (rule_plain(s, word)) return OK;
    switch (word.data[0]) {
    case '~':
    case '%': return rule_key(s, word, e);
    case '&': return rule_channel(s, word, e);
    case '+':
    case '-': return rule_command(s, catalog, word, e);
    default: break;
    }
    if (slice_has_prefix(word, slice_str("db="))) {
        return rule_databases(s, slice_of(word.data + 3, word.len - 3), e);
    }
    return bad(e, WRONG);
}

/* ---- telling ---- */

void selector_describe_commands(const struct selector *s, struct buf *out)
{
    /* The list of rules began after the last +@all or -@all; what they left is known by a command
     * that no rule can name. */
    bool began_with_all = (s->allowed[ACCESS_COMMANDS_MAX / 64 - 1] >> 63 & 1) != 0;
    buf_append_str(out, began_with_all ? "+@all" : "-@all");
    for (const struct access_word *w = s->rules; w != NULL; w = w->next) {
        buf_append_byte(out, ' ');
        buf_append_str(out, w->text);
    }
}

void selector_describe_keys(const struct selector *s, struct buf *out)
{
    static const char *const heads[] = {"", "%R~", "%W~", "~"};
    const struct patterns *p = &s->keys;
    if (p->allows_all) buf_append_str(out, "~* ");
    for (size_t i = 0; i < p->count; i++) {
        /* ~* would be the rule after which there can be no other pattern. */
        bool is_star = slice_eq(p->items[i].text, slice_str("*"));
        bool is_both = p->items[i].needs == ACCESS_BOTH;
        buf_append_str(out, is_star && is_both ? "%RW~" : heads[p->items[i].needs]);
        buf_append(out, p->items[i].text.data, p->items[i].text.len);
        buf_append_byte(out, ' ');
    }
}

void selector_describe_channels(const struct selector *s, struct buf *out)
{
    const struct patterns *p = &s->channels;
    if (p->allows_all) buf_append_str(out, "&* ");
    for (size_t i = 0; i < p->count; i++) {
        buf_append_byte(out, '&');
        buf_append(out, p->items[i].text.data, p->items[i].text.len);
        buf_append_byte(out, ' ');
    }
}

void selector_describe_databases(const struct selector *s, struct buf *out)
{
    if (s->allows_all_databases) {
        buf_append_str(out, "alldbs ");
        return;
    }
    const struct patterns *names = &s->databases;
    buf_append_str(out, names->count == 0 ? "resetdbs " : "db=");
    for (size_t i = 0; i < names->count; i++) {
        buf_append(out, names->items[i].text.data, names->items[i].text.len);
        buf_append_byte(out, i + 1 < names->count ? ',' : ' ');
    }
}

void selector_describe(const struct selector *s, struct buf *out)
{
    selector_describe_keys(s, out);
    if (!s->channels.allows_all) buf_append_str(out, "resetchannels ");
    selector_describe_channels(s, out);
    if (!s->allows_all_databases) selector_describe_databases(s, out);
    selector_describe_commands(s, out);
}
