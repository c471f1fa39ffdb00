/* questions: what one asks of a package catalogue, in KV.SEARCH, KV.FIND and KV.COUNT, and the same
 * answered by looking at every package. Keys are compared, values byte for byte, the order where it
 * is one by size; not the ranking of a search.
 *
 * Words are those of ASCII letters and digits. Of all other characters this file knows only that
 * most are part of a word and that Latin-1 signs and punctuation are not; none of its questions has
 * a word that differs from another by accents.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "catalogue.h"

#define WORDS_MAX 16
#define SHOWN 6 /* names of an answer */
#define SEARCH_PAGE 10000
#define FIND_PAGE 1000

/* A package as words: in lower case, one blank before each and after the last. */
struct item {
    const struct package *package;
    char *name;
    char *description;
};

struct answers {
    const struct item **items;
    size_t count;
};

struct catalogue {
    redisContext *c;
    struct item *items; /* by name */
    size_t count;
    struct answers wanted, got;
    const struct item *first[SHOWN]; /* of the answer, as it came */
    bool is_quiet;
};

enum order { BY_NAME, BY_SIZE, BY_SIZE_DOWN };

struct question {
    const char *asks;
    const char *words[WORDS_MAX]; /* NULL-ended */
    bool (*is_answer)(const struct item *x);
    enum order order;
    size_t limit; /* the command has a LIMIT; 0 = none, and pages are read */
};

/* ---- the answers, without a server ---- */

static bool in(const char *words, const char *some)
{
    return strstr(words, some) != NULL;
}

/* " word ", " two words ", or " beginning", of the name or of the description. */
static bool has(const struct item *x, const char *some)
{
    return in(x->name, some) || in(x->description, some);
}

static bool is_in(const struct item *x, const char *section)
{
    return slice_eq(x->package->section, slice_str(section));
}

static bool contains_i(struct slice text, const char *lower)
{
    size_t len = strlen(lower);
    for (size_t i = 0; i + len <= text.len; i++) {
        size_t k = 0;
        while (k < len && (text.data[i + k] |
                           (text.data[i + k] >= 'A' && text.data[i + k] <= 'Z' ? 0x20 : 0)) ==
                              (uint8_t)lower[k]) {
            k++;
        }
        if (k == len) return true;
    }
    return false;
}

/* Both words, with at most so many others between them. */
static bool are_near(const char *words, const char *a, const char *b, int others)
{
    for (const char *at = strstr(words, a); at != NULL; at = strstr(at + 1, a)) {
        int between = 0;
        const char *p = strchr(at + 1, ' ');
        while (between <= others && p[1] != '\0' && strncmp(p, b, strlen(b)) != 0) {
            between++;
            p = strchr(p + 1, ' ');
        }
        if (between <= others && p[1] != '\0') return true;
    }
    return false;
}

static bool chess_engines(const struct item *x)
{
    return is_in(x, "games") && has(x, " chess ") && has(x, " engine ");
}

static bool web_browsers(const struct item *x)
{
    return has(x, " web browser ");
}

static bool postgres_names(const struct item *x)
{
    return in(x->name, " postgres");
}

static bool async_python(const struct item *x)
{
    return in(x->name, " python3 ") && in(x->description, " asyncio ");
}

static bool other_editors(const struct item *x)
{
    return has(x, " editor ") && !has(x, " emacs ") && !has(x, " vim ");
}

static bool haskell_formats(const struct item *x)
{
    return has(x, " haskell ") && (has(x, " json ") || has(x, " yaml "));
}

static bool image_viewers(const struct item *x)
{
    return are_near(x->name, " image ", " viewer ", 1) ||
           are_near(x->name, " viewer ", " image ", 1) ||
           are_near(x->description, " image ", " viewer ", 1) ||
           are_near(x->description, " viewer ", " image ", 1);
}

static bool small_games(const struct item *x)
{
    return has(x, " game") && x->package->size >= 0 && x->package->size < 30000;
}

static bool libraries(const struct item *x)
{
    return has(x, " library ");
}

static bool about_chess(const struct item *x)
{
    return contains_i(x->package->description, "chess");
}

static bool kernels(const struct item *x)
{
    return is_in(x, "kernel");
}

static bool of_ten_kilobytes(const struct item *x)
{
    return x->package->size >= 10000 && x->package->size < 10240;
}

static bool large_games(const struct item *x)
{
    return is_in(x, "games") && x->package->size >= 100000000;
}

static bool small_python(const struct item *x)
{
    return is_in(x, "python") && x->package->size >= 0 && x->package->size < 100000;
}

static bool homeless_or_huge(const struct item *x)
{
    return !x->package->has_homepage || x->package->size > 200000000;
}

static bool not_in_three_sections(const struct item *x)
{
    return !is_in(x, "libs") && !is_in(x, "libdevel") && !is_in(x, "debug") &&
           x->package->size >= 1000000 && x->package->size <= 1100000;
}

static const struct question questions[] = {
    {.asks = "Which games mention both \"chess\" and \"engine\"?",
     .words = {"KV.SEARCH", "words", "chess engine", "WHERE", "{\"Section\":\"games\"}"},
     .is_answer = chess_engines},
    {.asks = "Which packages are about a web browser?",
     .words = {"KV.SEARCH", "words", "\"web browser\""},
     .is_answer = web_browsers},
    {.asks = "Whose name has a word that begins with \"postgres\"?",
     .words = {"KV.SEARCH", "words", "Package:postgres*"},
     .is_answer = postgres_names},
    {.asks = "Which packages for Python 3 speak of asyncio?",
     .words = {"KV.SEARCH", "words", "Package:python3 Description:asyncio"},
     .is_answer = async_python},
    {.asks = "Which editors are neither Emacs nor Vim?",
     .words = {"KV.SEARCH", "words", "editor NOT emacs NOT vim"},
     .is_answer = other_editors},
    {.asks = "What is there in Haskell for JSON or YAML?",
     .words = {"KV.SEARCH", "words", "haskell (json OR yaml)"},
     .is_answer = haskell_formats},
    {.asks = "Where are \"image\" and \"viewer\" at most a word apart?",
     .words = {"KV.SEARCH", "words", "NEAR(image viewer, 1)"},
     .is_answer = image_viewers},
    {.asks = "Which packages with \"game...\" are below 30 kB?",
     .words = {"KV.SEARCH", "words", "game*", "WHERE", "{\"Size\":{\"$lt\":30000}}"},
     .is_answer = small_games},
    {.asks = "Which packages mention a library? (all of them, a page after the other)",
     .words = {"KV.SEARCH", "words", "library"},
     .is_answer = libraries},
    {.asks = "Which ten packages about chess are smallest?",
     .words = {"KV.FIND", "size", "LIMIT", "10", "WHERE",
               "{\"Description\":{\"$containsi\":\"chess\"}}"},
     .is_answer = about_chess,
     .order = BY_SIZE,
     .limit = 10},
    {.asks = "What is in section kernel, by size?",
     .words = {"KV.FIND", "section", "\"kernel\""},
     .is_answer = kernels,
     .order = BY_SIZE},
    {.asks = "Which packages have 10000 to 10240 bytes?",
     .words = {"KV.FIND", "size", "FROM", "10000", "TO", "10240"},
     .is_answer = of_ten_kilobytes,
     .order = BY_SIZE},
    {.asks = "Which games have 100 MB or more, the largest first?",
     .words = {"KV.FIND", "section", "\"games\"", "FROM", "100000000", "REVERSE"},
     .is_answer = large_games,
     .order = BY_SIZE_DOWN},
    {.asks = "How many packages in section python are below 100 kB?",
     .words = {"KV.COUNT", "PREFIX", "[\"packages\"]", "WHERE",
               "{\"Section\":\"python\",\"Size\":{\"$lt\":100000}}"},
     .is_answer = small_python},
    {.asks = "How many have no homepage, or more than 200 MB?",
     .words = {"KV.COUNT", "PREFIX", "[\"packages\"]", "WHERE",
               "{\"$or\":[{\"Homepage\":{\"$exists\":false}},{\"Size\":{\"$gt\":200000000}}]}"},
     .is_answer = homeless_or_huge},
    {.asks = "How many of 1 to 1.1 MB are in none of libs, libdevel, debug?",
     .words = {"KV.COUNT", "PREFIX", "[\"packages\"]", "WHERE",
               "{\"Section\":{\"$nin\":[\"libs\",\"libdevel\",\"debug\"]},"
               "\"Size\":{\"$between\":[1000000,1100000]}}"},
     .is_answer = not_in_three_sections},
};

/* ---- words ---- */

static bool is_ascii_word(uint8_t c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* Bytes of the character that begins here; *is_word: it is part of a word. */
static size_t character(const uint8_t *p, size_t left, bool *is_word)
{
    size_t len = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (len > left) len = left;
    bool is_latin_sign = p[0] == 0xc2;
    bool is_punctuation = p[0] == 0xe2 && len == 3 && p[1] < 0xb0;
    bool is_picture = p[0] == 0xf0;
    *is_word = len == 1 ? is_ascii_word(p[0]) : !is_latin_sign && !is_punctuation && !is_picture;
    return len;
}

static char *words_of(struct slice text)
{
    char *words = mem_alloc(text.len + 3);
    size_t len = 0;
    bool is_in_word = false;
    words[len++] = ' ';
    for (size_t i = 0; i < text.len;) {
        bool is_word = false;
        size_t n = character(text.data + i, text.len - i, &is_word);
        if (!is_word && is_in_word) words[len++] = ' ';
        for (size_t k = 0; k < n && is_word; k++) {
            uint8_t c = text.data[i + k];
            words[len++] = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
        }
        is_in_word = is_word;
        i += n;
    }
    if (is_in_word) words[len++] = ' ';
    words[len] = '\0';
    return words;
}

/* ---- order ---- */

static int compare_names(const struct item *a, const struct item *b)
{
    return slice_cmp(a->package->name, b->package->name);
}

static int by_name(const void *a, const void *b)
{
    return compare_names(a, b);
}

static int by_name_of(const void *a, const void *b)
{
    return compare_names(*(const struct item *const *)a, *(const struct item *const *)b);
}

/* As an index has it: of one size by key. */
static int by_size_of(const void *a, const void *b)
{
    const struct item *x = *(const struct item *const *)a;
    const struct item *y = *(const struct item *const *)b;
    if (x->package->size != y->package->size) return x->package->size < y->package->size ? -1 : 1;
    return compare_names(x, y);
}

static int by_size_down_of(const void *a, const void *b)
{
    return by_size_of(b, a);
}

static void answers_sort(struct answers *a, enum order order)
{
    static int (*const orders[])(const void *, const void *) = {by_name_of, by_size_of,
                                                                by_size_down_of};
    if (a->count > 0) qsort(a->items, a->count, sizeof *a->items, orders[order]);
}

/* ---- asking ---- */

static redisReply *send_words(redisContext *c, const char **words, int count)
{
    redisReply *r = redisCommandArgv(c, count, words, NULL);
    if (r == NULL) demo_fail("connection: %s", c->errstr);
    if (r->type == REDIS_REPLY_ERROR) demo_fail("%s %s: %s", words[0], words[1], r->str);
    return r;
}

/* The package of a key ["packages",name]; names have nothing that JSON escapes. */
static const struct item *find_item(const struct catalogue *k, const redisReply *key)
{
    static const char before[] = "[\"packages\",\"";
    size_t start = sizeof before - 1;
    if (key->len < start + 2 || memcmp(key->str, before, start) != 0) {
        demo_fail("an answer with the key %s", key->str);
    }
    struct package named = {.name = slice_of(key->str + start, key->len - start - 2)};
    struct item wanted = {.package = &named};
    return bsearch(&wanted, k->items, k->count, sizeof wanted, by_name);
}

static void take_page(struct catalogue *k, const redisReply *entries)
{
    for (size_t i = 0; i < entries->elements; i++) {
        const redisReply *key = entries->element[i]->element[0];
        const redisReply *value = entries->element[i]->element[1];
        const struct item *x = find_item(k, key);
        if (x == NULL) demo_fail("there is no package %s", key->str);
        if (k->got.count == k->count) demo_fail("more answers than packages");
        if (!slice_eq(slice_of(value->str, value->len), x->package->json)) {
            demo_fail("%s is not what was sent", key->str);
        }
        k->got.items[k->got.count++] = x;
    }
}

/* All pages, unless the question has a limit. */
static void ask_pages(struct catalogue *k, const struct question *q)
{
    const char *words[WORDS_MAX + 4];
    char position[8192] = "0";
    char page[16];
    int count = 0;
    bool is_search = strcmp(q->words[0], "KV.SEARCH") == 0;
    for (; q->words[count] != NULL; count++) words[count] = q->words[count];
    if (q->limit == 0) {
        snprintf(page, sizeof page, "%d", is_search ? SEARCH_PAGE : FIND_PAGE);
        words[count++] = "LIMIT";
        words[count++] = page;
        words[count++] = is_search ? "OFFSET" : "CURSOR";
        words[count++] = position;
    }
    for (bool is_last = false; !is_last;) {
        redisReply *r = send_words(k->c, words, count);
        const redisReply *entries = is_search ? r : r->element[1];
        take_page(k, entries);
        if (is_search) {
            is_last = entries->elements < SEARCH_PAGE;
            snprintf(position, sizeof position, "%zu", k->got.count);
        } else {
            is_last = q->limit > 0 || strcmp(r->element[0]->str, "0") == 0;
            snprintf(position, sizeof position, "%s", r->element[0]->str);
        }
        freeReplyObject(r);
    }
    for (size_t i = 0; i < k->got.count && i < SHOWN; i++) k->first[i] = k->got.items[i];
    if (q->order == BY_NAME) answers_sort(&k->got, BY_NAME);
}

static void compute(struct catalogue *k, const struct question *q)
{
    k->wanted.count = 0;
    for (size_t i = 0; i < k->count; i++) {
        if (q->is_answer(&k->items[i])) k->wanted.items[k->wanted.count++] = &k->items[i];
    }
    answers_sort(&k->wanted, q->order);
    if (q->limit > 0 && k->wanted.count > q->limit) k->wanted.count = q->limit;
}

static void show_command(const struct question *q)
{
    printf("        ");
    for (int i = 0; q->words[i] != NULL; i++) {
        const char *word = q->words[i];
        bool is_plain = strpbrk(word, " \"*({") == NULL;
        printf(is_plain ? " %s" : " '%s'", word);
    }
    printf("\n");
}

static void show_answers(const struct catalogue *k, double spent)
{
    size_t count = k->got.count;
    printf("         %zu package%s", count, count == 1 ? "" : "s");
    for (size_t i = 0; i < count && i < SHOWN; i++) {
        const struct slice name = k->first[i]->package->name;
        printf("%s %.*s", i == 0 ? ":" : ",", (int)name.len, (const char *)name.data);
    }
    printf("%s; %.1f ms, as computed from the catalogue\n", count > SHOWN ? ", ..." : "",
           spent * 1e3);
}

static void expect_same(const struct catalogue *k, const struct question *q)
{
    for (size_t i = 0; i < k->wanted.count || i < k->got.count; i++) {
        const struct item *wanted = i < k->wanted.count ? k->wanted.items[i] : NULL;
        const struct item *got = i < k->got.count ? k->got.items[i] : NULL;
        struct slice nobody = slice_str("(no more)");
        if (wanted == got) continue;
        struct slice a = wanted != NULL ? wanted->package->name : nobody;
        struct slice b = got != NULL ? got->package->name : nobody;
        demo_fail("%s\nanswer %zu is %.*s; computed from the catalogue is %.*s (%zu and %zu)",
                  q->asks, i, (int)b.len, (const char *)b.data, (int)a.len, (const char *)a.data,
                  k->got.count, k->wanted.count);
    }
}

static void ask_count(struct catalogue *k, const struct question *q)
{
    const char *words[WORDS_MAX];
    int count = 0;
    double begin = demo_now_s();
    for (; q->words[count] != NULL; count++) words[count] = q->words[count];
    redisReply *r = send_words(k->c, words, count);
    double spent = demo_now_s() - begin;
    if (r->type != REDIS_REPLY_INTEGER || (size_t)r->integer != k->wanted.count) {
        demo_fail("%s\nanswered %lld; computed from the catalogue %zu", q->asks, r->integer,
                  k->wanted.count);
    }
    if (!k->is_quiet) {
        printf("         %lld; %.1f ms, as computed from the catalogue\n", r->integer, spent * 1e3);
    }
    freeReplyObject(r);
}

static void ask_one(struct catalogue *k, const struct question *q)
{
    k->got.count = 0;
    compute(k, q);
    if (!k->is_quiet) {
        printf("asked    %s\n", q->asks);
        show_command(q);
        fflush(stdout);
    }
    if (strcmp(q->words[0], "KV.COUNT") == 0) {
        ask_count(k, q);
        return;
    }
    double begin = demo_now_s();
    ask_pages(k, q);
    double spent = demo_now_s() - begin;
    expect_same(k, q);
    if (!k->is_quiet) show_answers(k, spent);
}

void questions_ask(redisContext *c, const struct package *packages, size_t count, bool is_quiet)
{
    struct catalogue k = {.c = c, .is_quiet = is_quiet};
    double begin = demo_now_s();
    k.items = mem_alloc((count + 1) * sizeof *k.items);
    k.wanted.items = mem_alloc((count + 1) * sizeof(const struct item *));
    k.got.items = mem_alloc((count + 1) * sizeof(const struct item *));
    for (size_t i = 0; i < count; i++) {
        const struct package *p = &packages[i];
        if (!p->is_stored) continue;
        k.items[k.count++] = (struct item){
            .package = p, .name = words_of(p->name), .description = words_of(p->description)};
    }
    qsort(k.items, k.count, sizeof *k.items, by_name);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) ask_one(&k, &questions[i]);
    if (is_quiet) {
        printf(
            "asked    the same %zu questions, each answer as computed from the catalogue: %.2f s\n",
            sizeof questions / sizeof *questions, demo_now_s() - begin);
    }
    for (size_t i = 0; i < k.count; i++) {
        mem_free(k.items[i].name);
        mem_free(k.items[i].description);
    }
    mem_free(k.items);
    mem_free(k.wanted.items);
    mem_free(k.got.items);
}

/* ---- indexes ---- */

static bool is_there(redisContext *c, const char *name)
{
    const char *words[] = {"KV.INDEX", "LIST"};
    bool found = false;
    redisReply *r = send_words(c, words, 2);
    for (size_t i = 0; i < r->elements; i++) {
        found = found || strcmp(r->element[i]->str, name) == 0;
    }
    freeReplyObject(r);
    return found;
}

static bool is_complete(redisContext *c, const char *name)
{
    const char *words[] = {"KV.INDEX", "INFO", name};
    bool complete = false;
    redisReply *r = send_words(c, words, 3);
    for (size_t i = 0; i + 1 < r->elements; i += 2) {
        if (strcmp(r->element[i]->str, "state") != 0) continue;
        if (strcmp(r->element[i + 1]->str, "failed") == 0) demo_fail("index %s failed", name);
        complete = strcmp(r->element[i + 1]->str, "ready") == 0;
    }
    freeReplyObject(r);
    return complete;
}

bool questions_index(redisContext *c)
{
    bool were_there = true;
    static const char *const indexes[][9] = {
        {"KV.INDEX", "CREATE", "words", "PREFIX", "[\"packages\"]", "TEXT", "2", "Package",
         "Description"},
        {"KV.INDEX", "CREATE", "section", "PREFIX", "[\"packages\"]", "ON", "2", "Section", "Size"},
        {"KV.INDEX", "CREATE", "size", "PREFIX", "[\"packages\"]", "ON", "1", "Size"},
    };
    for (size_t i = 0; i < sizeof indexes / sizeof *indexes; i++) {
        const char *words[9];
        int count = 0;
        double begin = demo_now_s();
        bool was_there = is_there(c, indexes[i][2]);
        for (; count < 9 && indexes[i][count] != NULL; count++) words[count] = indexes[i][count];
        if (!was_there) freeReplyObject(send_words(c, words, count));
        were_there = were_there && was_there;
        while (!is_complete(c, words[2])) {
            nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        }
        printf("indexed ");
        for (int k = 2; k < count; k++) printf(" %s", words[k]);
        printf(": %s, %.2f s\n", was_there ? "was there" : "complete", demo_now_s() - begin);
    }
    return were_there;
}
