#include "campaign/history.h"

#include <stdlib.h>
#include <string.h>

#define CONNECTIONS_MAX (1 << 20) /* each takes memory of the judge */

/* ---- lists ---- */

static void *must(void *p)
{
    if (p == NULL) abort();
    return p;
}

void *history_add(struct history_list *l)
{
    if (l->count == l->room) {
        l->room = l->room == 0 ? 256 : l->room * 2;
        l->items = must(realloc(l->items, l->room * l->item_bytes));
    }
    void *item = (char *)l->items + l->count++ * l->item_bytes;
    return memset(item, 0, l->item_bytes);
}

void history_init(struct history *h)
{
    *h = (struct history){.ops = {.item_bytes = sizeof(struct history_op)},
                          .effects = {.item_bytes = sizeof(struct history_effect)},
                          .feed = {.item_bytes = sizeof(struct history_row)},
                          .finals = {.item_bytes = sizeof(struct history_row)},
                          .keys = {.item_bytes = sizeof(char *)},
                          .stop_us = INT64_MAX};
}

void history_fini(struct history *h)
{
    for (size_t i = 0; i < h->keys.count; i++) free(((char **)h->keys.items)[i]);
    free(h->ops.items);
    free(h->effects.items);
    free(h->feed.items);
    free(h->finals.items);
    free(h->keys.items);
    free(h->slots);
}

struct history_op *history_ops(const struct history *h)
{
    return h->ops.items;
}

struct history_effect *history_effects(const struct history *h, const struct history_op *op)
{
    return (struct history_effect *)h->effects.items + op->first;
}

const char *history_key(const struct history *h, size_t key)
{
    return ((char **)h->keys.items)[key];
}

/* ---- keys by their text ---- */

static size_t *slot_of(const struct history *h, const char *text)
{
    uint64_t hash = 14695981039346656037u;
    for (const char *p = text; *p != '\0'; p++) hash = (hash ^ (uint8_t)*p) * 1099511628211u;
    size_t i = (size_t)(hash ^ hash >> 29) & (h->slot_count - 1);
    while (h->slots[i] != 0 && strcmp(history_key(h, h->slots[i] - 1), text) != 0) {
        i = (i + 1) & (h->slot_count - 1);
    }
    return &h->slots[i];
}

static void grow_slots(struct history *h)
{
    free(h->slots);
    h->slot_count = h->slot_count == 0 ? 1024 : h->slot_count * 2;
    h->slots = must(calloc(h->slot_count, sizeof *h->slots));
    for (size_t i = 0; i < h->keys.count; i++) *slot_of(h, history_key(h, i)) = i + 1;
}

static size_t key_of(struct history *h, const char *text)
{
    if (h->keys.count * 2 >= h->slot_count) grow_slots(h);
    size_t *slot = slot_of(h, text);
    if (*slot == 0) {
        *(char **)history_add(&h->keys) = must(strdup(text));
        *slot = h->keys.count;
    }
    return *slot - 1;
}

/* ---- words ---- */

struct words {
    char *rest;
    bool is_bad;
};

/* The next word, or NULL at the end. */
static char *next_word(struct words *w)
{
    char *word = NULL;
    while (word == NULL || *word == '\0') {
        if (w->rest == NULL) return NULL;
        word = strsep(&w->rest, " \n");
    }
    return word;
}

static const char *need(struct words *w)
{
    const char *word = next_word(w);
    if (word == NULL) w->is_bad = true;
    return word != NULL ? word : "";
}

static int64_t need_number(struct words *w)
{
    char *end = NULL;
    const char *word = need(w);
    if (strcmp(word, "nil") == 0) return HISTORY_NIL;
    if (strcmp(word, "*") == 0 || strcmp(word, "?") == 0) return HISTORY_ANY;
    int64_t n = strtoll(word, &end, 10);
    if (*word == '\0' || *end != '\0') w->is_bad = true;
    return n;
}

/* A versionstamp is 20 digits; the last four are the same for a whole commit. A short one is a
 * number, for histories that are made by hand. */
static uint64_t version_of(struct words *w, const char *word)
{
    char digits[17] = "";
    char *end = NULL;
    size_t len = strlen(word);
    snprintf(digits, sizeof digits, "%.16s", word);
    uint64_t v = strtoull(digits, &end, 16);
    if (len == 0 || *end != '\0' || (len > 16 && len != 20)) w->is_bad = true;
    return v;
}

/* ---- lines ---- */

static const struct {
    const char *word;
    enum history_effect_kind kind;
} effect_words[] = {{"mark", HISTORY_MARK},      {"set", HISTORY_SET},     {"del", HISTORY_DEL},
                    {"add", HISTORY_ADD},        {"check", HISTORY_CHECK}, {"ack", HISTORY_ACK},
                    {"enqueue", HISTORY_ENQUEUE}};

static void take_effect(struct history *h, struct words *w, const char *word)
{
    struct history_effect e = {0};
    size_t i = 0;
    while (i < sizeof effect_words / sizeof *effect_words &&
           strcmp(word, effect_words[i].word) != 0) {
        i++;
    }
    if (i == sizeof effect_words / sizeof *effect_words) {
        w->is_bad = true;
        return;
    }
    e.kind = effect_words[i].kind;
    if (e.kind == HISTORY_ENQUEUE || e.kind == HISTORY_ACK) {
        e.n = need_number(w);
    } else {
        e.key = key_of(h, need(w));
        if (e.kind == HISTORY_MARK) e.n = 1;
        if (e.kind == HISTORY_SET || e.kind == HISTORY_ADD) e.n = need_number(w);
        if (e.kind == HISTORY_ADD) e.sum = need_number(w);
        if (e.kind == HISTORY_CHECK) e.version = version_of(w, need(w));
    }
    *(struct history_effect *)history_add(&h->effects) = e;
}

static void take_outcome(struct history_op *op, struct words *w)
{
    const char *word = need(w);
    if (strcmp(word, "?") == 0) {
        op->outcome = HISTORY_UNKNOWN;
        op->ended_us = INT64_MAX;
    } else if (strcmp(word, "!") == 0) {
        op->outcome = HISTORY_REFUSED;
    } else {
        op->version = version_of(w, word);
    }
}

static void take_op(struct history *h, struct words *w, enum history_kind kind)
{
    struct history_op op = {.kind = kind, .first = h->effects.count};
    char *word;
    snprintf(op.name, sizeof op.name, "%s", need(w));
    op.begun_us = need_number(w);
    op.ended_us = need_number(w);
    if (op.ended_us < op.begun_us) w->is_bad = true;
    if (kind == HISTORY_WRITE) take_outcome(&op, w);
    if (kind == HISTORY_LOOK) op.connection = need_number(w);
    if (op.connection < 0 || op.connection > CONNECTIONS_MAX) w->is_bad = true;
    if (kind == HISTORY_TAKE) {
        op.message = need_number(w);
        op.attempt = need_number(w);
    }
    while (!w->is_bad && (word = next_word(w)) != NULL) {
        if (kind == HISTORY_WRITE) {
            take_effect(h, w, word);
            continue;
        }
        if (kind == HISTORY_TAKE) w->is_bad = true;
        struct history_effect *e = history_add(&h->effects);
        e->kind = HISTORY_SEEN;
        e->key = key_of(h, word);
        e->n = need_number(w);
        e->version = version_of(w, need(w));
    }
    op.count = h->effects.count - op.first;
    *(struct history_op *)history_add(&h->ops) = op;
}

static void take_row(struct history *h, struct words *w, bool is_final)
{
    struct history_row row = {0};
    if (!is_final) row.version = version_of(w, need(w));
    row.key = key_of(h, need(w));
    row.n = need_number(w);
    if (is_final) row.version = version_of(w, need(w));
    *(struct history_row *)history_add(is_final ? &h->finals : &h->feed) = row;
}

static void take_queue(struct history *h, struct words *w)
{
    h->has_queue = true;
    h->enqueued = need_number(w);
    h->acked = need_number(w);
    h->left = need_number(w);
    h->dead = need_number(w);
}

bool history_take_line(struct history *h, const char *line)
{
    char *text = must(strdup(line));
    struct words w = {.rest = text};
    const char *word = next_word(&w);
    if (word == NULL || word[0] == '#') {
        free(text);
        return true;
    }
    if (strcmp(word, "write") == 0) {
        take_op(h, &w, HISTORY_WRITE);
    } else if (strcmp(word, "read") == 0) {
        take_op(h, &w, HISTORY_READ);
    } else if (strcmp(word, "look") == 0) {
        take_op(h, &w, HISTORY_LOOK);
    } else if (strcmp(word, "take") == 0) {
        take_op(h, &w, HISTORY_TAKE);
    } else if (strcmp(word, "feed") == 0) {
        take_row(h, &w, false);
    } else if (strcmp(word, "final") == 0) {
        take_row(h, &w, true);
    } else if (strcmp(word, "queue") == 0) {
        take_queue(h, &w);
    } else if (strcmp(word, "stop") == 0) {
        h->stop_us = need_number(&w);
    } else {
        w.is_bad = true;
    }
    if (next_word(&w) != NULL) w.is_bad = true;
    free(text);
    return !w.is_bad;
}

size_t history_take_file(struct history *h, FILE *f)
{
    char *line = NULL;
    size_t room = 0;
    size_t number = 1;
    while (getline(&line, &room, f) >= 0 && history_take_line(h, line)) number++;
    bool is_all = feof(f) != 0;
    free(line);
    return is_all ? 0 : number;
}
