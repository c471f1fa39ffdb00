#include "diff/make.h"

#include <stdio.h>
#include <stdlib.h>

#define WORD_BYTES 2048
#define LONG_BYTES 1100
#define MANY 40
#define TEMPLATES_MAX 64

static bool draw(struct maker *m, unsigned of_100)
{
    return rng_below(&m->rng, 100) < of_100;
}

#define ANY_OF(m, list) (list)[rng_below(&(m)->rng, sizeof(list) / sizeof((list)[0]))]

const struct family *family_find(const char *name)
{
    for (size_t i = 0; i < family_count; i++) {
        if (strcmp(families[i].name, name) == 0) return &families[i];
    }
    return NULL;
}

void maker_init(struct maker *m, uint64_t seed, const struct family *family, struct sequence *to)
{
    static const unsigned keys[] = {1, 3, 6};
    static const unsigned words[] = {6, 30, 90, 400};
    static const unsigned generic[] = {3, 10, 25};
    *m = (struct maker){.to = to, .family = family};
    rng_init(&m->rng, seed);
    m->keys = ANY_OF(m, keys);
    m->words = ANY_OF(m, words);
    m->generic = ANY_OF(m, generic);
    m->has_one_score = family == family_find("lex");
}

/* ---- words ---- */

struct slice maker_key(struct maker *m)
{
    static char key[16];
    snprintf(key, sizeof key, "k%u", (unsigned)rng_below(&m->rng, m->keys));
    return slice_str(key);
}

/* Two of them differ in their first bytes. */
static void add_long(struct maker *m)
{
    uint8_t text[LONG_BYTES];
    size_t len = draw(m, 50) ? LONG_BYTES : 200 + rng_below(&m->rng, 400);
    memset(text, 'A' + (int)rng_below(&m->rng, 6), len);
    sequence_word(m->to, slice_of(text, len));
}

static void add_data(struct maker *m)
{
    static const char *const odd[] = {"1.5",
                                      "abc",
                                      "-0",
                                      "inf",
                                      "-inf",
                                      "nan",
                                      "1e300",
                                      "9223372036854775807",
                                      "0x10",
                                      "-9223372036854775808",
                                      "9223372036854775806",
                                      " 1",
                                      "1 ",
                                      "+1",
                                      "007",
                                      "\xff\xfe",
                                      "\xc3\xa9",
                                      "a b",
                                      "\"",
                                      "\r\n",
                                      "*",
                                      "["};
    char text[32];
    unsigned kind = (unsigned)rng_below(&m->rng, 100);
    if (kind < 4) {
        add_long(m);
    } else if (kind < 6) {
        sequence_word(m->to, slice_of("", 0));
    } else if (kind < 8) {
        sequence_word(m->to, slice_of("a\0b\0", 3 + rng_below(&m->rng, 2)));
    } else if (kind < 16) {
        sequence_word(m->to, slice_str(ANY_OF(m, odd)));
    } else if (kind < 30) {
        snprintf(text, sizeof text, "%d", (int)rng_below(&m->rng, 40) - 20);
        sequence_word(m->to, slice_str(text));
    } else {
        snprintf(text, sizeof text, "f%u", (unsigned)rng_below(&m->rng, m->words));
        sequence_word(m->to, slice_str(text));
    }
}

static const char *score(struct maker *m)
{
    static const char *const odd[] = {"inf",
                                      "-inf",
                                      "+inf",
                                      "-0",
                                      "0",
                                      "1e10",
                                      "1e300",
                                      "-1e300",
                                      "1e-300",
                                      "0.1",
                                      "0.30000000000000004",
                                      "3.14159265358979",
                                      "-1.5",
                                      "9223372036854775807",
                                      "-9223372036854775808",
                                      "9007199254740993",
                                      "1e20",
                                      "1e17",
                                      "1e-307", /* less would be ERANGE, see DEVIATION_ERANGE */
                                      "123456789.125"};
    static char text[32];
    if (m->has_one_score) return "0";
    if (draw(m, 25)) return ANY_OF(m, odd);
    snprintf(text, sizeof text, "%d", (int)rng_below(&m->rng, draw(m, 50) ? 6 : 60) - 2);
    return text;
}

static void add_bound(struct maker *m, bool is_lexical)
{
    char text[WORD_BYTES];
    if (!is_lexical) {
        snprintf(text, sizeof text, "%s%s", draw(m, 30) ? "(" : "", score(m));
        sequence_word(m->to, slice_str(text));
        return;
    }
    unsigned kind = (unsigned)rng_below(&m->rng, 6);
    if (kind < 2) {
        sequence_word(m->to, slice_str(kind == 0 ? "-" : "+"));
        return;
    }
    add_data(m);
    struct call *c = &m->to->calls[m->to->count - 1];
    struct slice *w = &c->words[c->count - 1];
    text[0] = kind == 2 ? '(' : '[';
    memcpy(text + 1, w->data, w->len);
    *w = arena_copy(&m->to->arena, slice_of(text, w->len + 1));
}

/* No two are the same, and none comes while a test runs: EXPIRE GT would ask the clock. */
static void add_time(struct maker *m, uint64_t factor)
{
    char text[32];
    uint64_t seconds = 100000 + rng_below(&m->rng, 4000000);
    snprintf(text, sizeof text, "%llu", (unsigned long long)(seconds * factor));
    sequence_word(m->to, slice_str(text));
}

/* Of an entry: a new one, greater than all before, or one of those that may be there. */
static void add_id(struct maker *m, bool is_new)
{
    char text[48];
    unsigned seq = (unsigned)rng_below(&m->rng, 3);
    uint64_t ms = is_new ? ++m->ids : rng_below(&m->rng, m->ids + 2);
    bool has_seq = is_new || draw(m, 70);
    if (has_seq) {
        snprintf(text, sizeof text, "%llu-%u", (unsigned long long)ms, seq);
    } else {
        snprintf(text, sizeof text, "%llu", (unsigned long long)ms);
    }
    sequence_word(m->to, slice_str(text));
}

static void add_id_bound(struct maker *m)
{
    char text[64];
    unsigned kind = (unsigned)rng_below(&m->rng, 6);
    if (kind < 4) {
        sequence_word(m->to, slice_str(kind % 2 == 0 ? "-" : "+"));
        return;
    }
    snprintf(text, sizeof text, "%s%llu-%u", kind == 4 ? "(" : "",
             (unsigned long long)rng_below(&m->rng, m->ids + 2), (unsigned)rng_below(&m->rng, 3));
    sequence_word(m->to, slice_str(text));
}

/* ---- places ---- */

static double between(struct maker *m, double min, double max)
{
    return min + (double)rng_below(&m->rng, 1u << 30) / (double)(1u << 30) * (max - min);
}

/* So many digits that no two are as far from a third, where the order would be open; often within
 * some kilometers of others, near a pole, or where the map ends. */
static void add_place(struct maker *m)
{
    static const double places[][2] = {{13.4, 38},   {-70, -50},   {0, 0},      {179.9, 10},
                                       {-179.9, 10}, {20, 84.9},   {40, -84.9}, {-100, 66},
                                       {60, 80},     {-179.9, 84}, {179.9, -66}};
    char longitude[32];
    char latitude[32];
    const double *at = ANY_OF(m, places);
    double width = draw(m, 50) ? 0.1 : draw(m, 50) ? 2 : 60;
    double x = draw(m, 15) ? between(m, -180, 180) : at[0] + between(m, -width, width);
    double y = draw(m, 15) ? between(m, -85, 85) : at[1] + between(m, -width, width);
    x = x > 180 ? 180 - between(m, 0, 0.1) : x < -180 ? -180 + between(m, 0, 0.1) : x;
    y = y > 85.05 ? 85.05 - between(m, 0, 0.1) : y < -85.05 ? -85.05 + between(m, 0, 0.1) : y;
    snprintf(longitude, sizeof longitude, "%.9f", x);
    snprintf(latitude, sizeof latitude, "%.9f", y);
    unsigned kind = (unsigned)rng_below(&m->rng, 100);
    sequence_word(m->to, slice_str(kind == 0 ? "180" : kind == 1 ? "-180" : longitude));
    sequence_word(m->to, slice_str(kind == 2   ? "85.05112878"
                                   : kind == 3 ? "-85.05112878"
                                               : latitude));
}

/* From a millimeter to more than the earth. */
static void add_length(struct maker *m)
{
    static const char *const odd[] = {"0", "inf", "1e308", "1e-320", "20037726.37", "-0"};
    char text[64];
    double x = between(m, 1, 10);
    for (uint64_t i = rng_below(&m->rng, 11); i > 0; i--) x *= 10;
    snprintf(text, sizeof text, "%.4g", x / 1000);
    sequence_word(m->to, slice_str(draw(m, 4) ? ANY_OF(m, odd) : text));
}

static void add_unit(struct maker *m)
{
    static const char *const units[] = {"m", "km", "km", "ft", "mi", "KM", "Mi"};
    sequence_word(m->to, slice_str(ANY_OF(m, units)));
}

static void add_center(struct maker *m)
{
    bool is_member = draw(m, 35);
    sequence_word(m->to, slice_str(is_member ? "FROMMEMBER" : "FROMLONLAT"));
    if (is_member) {
        add_data(m);
    } else {
        add_place(m);
    }
}

static void add_area(struct maker *m)
{
    bool is_box = draw(m, 50);
    sequence_word(m->to, slice_str(is_box ? "BYBOX" : "BYRADIUS"));
    if (is_box) add_length(m);
    add_length(m);
    add_unit(m);
}

/* What $ and this letter stand for. */
static void add_word(struct maker *m, char letter)
{
    static const char *const indexes[] = {"0", "1",  "2",   "-1", "-2",  "3",
                                          "5", "10", "-10", "50", "-50", "1000"};
    static const char *const counts[] = {"0", "1", "1", "2", "3", "5", "20", "100"};
    static const char *const integers[] = {
        "1", "-1", "5", "100", "9223372036854775807", "-9223372036854775808",
        "0", "-7", "3", "12",  "2000000000",          "70000"};
    static const char *const floats[] = {"1",   "0.5",  "-1.25",  "1e5",
                                         "0.1", "-0.1", "3.0e-3", "1e17"};
    static const char *const weights[] = {"1", "2", "0.5", "-1", "-3.25", "1e200", "0", "inf"};
    static const char *const offsets[] = {"0", "1", "2", "-1", "5", "30"};
    static const char *const fields[] = {"k*->f1", "k*->f1", "k*->f2", "k*->f3",
                                         "k*->",   "*->f1",  "x*->f1", "k*->f1->f2"};
    static const char *const ranks[] = {"1", "-1", "2", "-2", "10"};
    switch (letter) {
    case 'k': sequence_word(m->to, maker_key(m)); return;
    case 'w':
    case 'v': add_data(m); return;
    case 'i': sequence_word(m->to, slice_str(ANY_OF(m, indexes))); return;
    case 'c': sequence_word(m->to, slice_str(ANY_OF(m, counts))); return;
    case 'p': sequence_word(m->to, slice_str(counts[1 + rng_below(&m->rng, 6)])); return;
    case 'n': sequence_word(m->to, slice_str(ANY_OF(m, integers))); return;
    case 'f': sequence_word(m->to, slice_str(ANY_OF(m, floats))); return;
    case 's': sequence_word(m->to, slice_str(score(m))); return;
    case 'g': sequence_word(m->to, slice_str(ANY_OF(m, weights))); return;
    case 'o': sequence_word(m->to, slice_str(ANY_OF(m, offsets))); return;
    case 'h': sequence_word(m->to, slice_str(ANY_OF(m, fields))); return;
    case 'r': sequence_word(m->to, slice_str(ANY_OF(m, ranks))); return;
    case 't': add_time(m, 1); return;
    case 'T': add_time(m, 1000); return;
    case 'b':
    case 'x': add_bound(m, letter == 'x'); return;
    case 'I':
    case 'e': add_id(m, letter == 'I'); return;
    case 'E': add_id_bound(m); return;
    case 'l': add_place(m); return;
    case 'd':
        add_length(m);
        add_unit(m);
        return;
    case 'C': add_center(m); return;
    case 'A': add_area(m); return;
    default: fprintf(stderr, "no template has $%c\n", letter); abort();
    }
}

/* ---- templates ---- */

static void expand(struct maker *m, const char **at, const char *ends, bool is_wanted);

static void expand_choice(struct maker *m, const char **at, bool is_wanted)
{
    uint64_t count = 1;
    for (const char *c = *at; *c != '>'; c++) count += *c == '|';
    uint64_t taken = rng_below(&m->rng, count);
    for (uint64_t i = 0; i < count; i++, (*at)++) expand(m, at, "|>", is_wanted && i == taken);
}

static void expand_many(struct maker *m, const char **at, bool is_wanted)
{
    const char *begin = *at;
    expand(m, at, "}", false);
    char how = (*at)[1];
    *at += 2;
    uint64_t times = is_wanted ? 1 + rng_below(&m->rng, how == '*' ? MANY : 4) : 0;
    for (uint64_t i = 0; i < times; i++) {
        const char *again = begin;
        expand(m, &again, "}", true);
    }
}

/* Up to one of `ends`, or the end of the text. */
static void expand(struct maker *m, const char **at, const char *ends, bool is_wanted)
{
    while (**at != '\0' && strchr(ends, **at) == NULL) {
        char c = *(*at)++;
        if (c == ' ') continue;
        if (c == '[') {
            expand(m, at, "]", is_wanted && draw(m, 35));
            (*at)++;
        } else if (c == '<') {
            expand_choice(m, at, is_wanted);
        } else if (c == '{') {
            expand_many(m, at, is_wanted);
        } else if (c == '!') {
            m->to->calls[m->to->count - 1].has_mistake = true;
        } else if (c == '$') {
            if (is_wanted) add_word(m, **at);
            (*at)++;
        } else {
            size_t len = 1 + strcspn(*at, " ]|>}");
            if (is_wanted) sequence_word(m->to, slice_of(*at - 1, len));
            *at += len - 1;
        }
    }
}

static const char *template_draw(struct maker *m, const struct family *f)
{
    uint64_t all = 0;
    bool is_there[TEMPLATES_MAX];
    for (size_t i = 0; i < f->count; i++) {
        const char *t = f->templates[i].text;
        is_there[i] = m->is_there == NULL || m->is_there(slice_of(t, strcspn(t, " ")));
        if (m->is_watching && strncmp(t, "XGROUP", 6) == 0) is_there[i] = false;
        all += is_there[i] ? f->templates[i].weight : 0;
    }
    uint64_t at = rng_below(&m->rng, all);
    for (size_t i = 0;; i++) {
        uint64_t weight = is_there[i] ? f->templates[i].weight : 0;
        if (at < weight) return f->templates[i].text;
        at -= weight;
    }
}

/* Those that take an element at random where less than all are asked for. */
static bool is_draw(const struct call *c)
{
    return call_is(c, "SPOP") || call_is(c, "SRANDMEMBER") || call_is(c, "HRANDFIELD") ||
           call_is(c, "ZRANDMEMBER");
}

/* One word more, one less, or another one. The first argument stays, and with it most keys. */
static void make_mistake(struct maker *m)
{
    static const char *const bad[] = {"x",      "",  "1.5", "nan", "-1",   "9223372036854775808",
                                      "1e5000", "(", "[",   "1x",  "LIMIT"};
    struct call *c = &m->to->calls[m->to->count - 1];
    c->has_mistake = true;
    unsigned kind = is_draw(c) ? 0 : (unsigned)rng_below(&m->rng, 4);
    if (kind == 0) {
        sequence_word(m->to, slice_str(ANY_OF(m, bad)));
    } else if (kind == 1 && c->count > 1) {
        c->count--;
    } else if (c->count > 2) {
        c->words[2 + rng_below(&m->rng, c->count - 2)] = slice_str(ANY_OF(m, bad));
    }
}

void maker_command(struct maker *m, const struct family *of, unsigned connection)
{
    const char *text = template_draw(m, of);
    const char *at = text;
    sequence_add(m->to, connection);
    expand(m, &at, "", true);
    m->to->calls[m->to->count - 1].is_whole = is_draw(&m->to->calls[m->to->count - 1]);
    /* Another score would give members another order. */
    bool is_faultless = m->is_faultless || (m->has_one_score && strncmp(text, "ZADD", 4) == 0);
    bool has_mistake = m->to->calls[m->to->count - 1].has_mistake;
    if (!is_faultless && !has_mistake && draw(m, 4)) make_mistake(m);
}
