/* rest_words: the words of a command, put together for a request. */
#include <stdio.h>

#include "http/rest.h"

struct rest_words rest_words_of(struct exchange *x, const char *name)
{
    struct rest_words w = {.x = x};
    rest_words_str(&w, name);
    return w;
}

void rest_words_add(struct rest_words *w, struct slice word)
{
    if (w->argc == w->cap) {
        size_t cap = w->cap == 0 ? 16 : 2 * w->cap;
        struct slice *argv = exchange_argv(w->x, cap);
        if (w->argc > 0) memcpy(argv, w->argv, w->argc * sizeof *argv);
        w->argv = argv;
        w->cap = cap;
    }
    w->argv[w->argc++] = word;
}

void rest_words_str(struct rest_words *w, const char *words)
{
    for (const char *p = words; *p != '\0'; p += strspn(p, " ")) {
        size_t len = strcspn(p, " ");
        rest_words_add(w, slice_of(p, len));
        p += len;
    }
}

void rest_words_number(struct rest_words *w, int64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%lld", (long long)n);
    rest_words_add(w, arena_copy(&w->x->arena, slice_of(digits, (size_t)len)));
}

void rest_words_pair(struct rest_words *w, const char *name, struct slice value)
{
    if (value.data == NULL) return;
    rest_words_str(w, name);
    rest_words_add(w, value);
}

void rest_words_run(struct rest_words *w, exchange_step *step)
{
    exchange_command(w->x, w->argv, w->argc, step);
}
