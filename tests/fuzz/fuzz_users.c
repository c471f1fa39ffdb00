/* Lines of users, and rules: whatever is taken can be told, and what is told can be taken again and
 * is then told the same; what is refused changes nothing and says why. The first byte: lines as they
 * are in an aclfile, or the words of ACL SETUSER, a zero between them, so that they may have blanks.
 */
#include <stdlib.h>
#include <string.h>

#include "access/ask.h"
#include "access/users.h"
#include "request/numbers.h"

#define WORDS_MAX 100

static void check(bool holds)
{
    if (!holds) abort();
}

static struct slice told(const struct users *x, struct buf *out)
{
    buf_clear(out, SIZE_MAX);
    users_describe(x, true, out);
    buf_require(out);
    return buf_slice(out);
}

static enum err set(struct users *x, struct slice text, struct error *e)
{
    struct slice words[WORDS_MAX];
    size_t count = 0;
    for (size_t at = 0; at < text.len && count < WORDS_MAX; count++) {
        const uint8_t *end = memchr(text.data + at, 0, text.len - at);
        size_t len = end == NULL ? text.len - at : (size_t)(end - text.data) - at;
        words[count] = slice_of(text.data + at, len);
        at += len + 1;
    }
    return users_set(x, slice_str("bob"), words, count, e);
}

/* Another table of users takes what this one tells, and tells the same; so does this one. */
static void check_told(struct users *x, struct slice text)
{
    struct error e;
    struct buf again;
    struct users *y = users_new(&command_catalog, NULL, NULL);
    buf_init(&again);
    check(users_load(y, text, "told", &e) == OK);
    check(slice_eq(told(y, &again), text));
    check(users_load(x, text, "told", &e) == OK);
    check(slice_eq(told(x, &again), text));
    buf_fini(&again);
    users_free(y);
}

/* The questions only have to end. */
static void ask(struct users *x)
{
    struct access_subject subjects[] = {
        {.kind = ACCESS_KEY, .text = slice_str("users/1"), .needs = ACCESS_BOTH},
        {.kind = ACCESS_PREFIX, .text = slice_str("users/"), .needs = ACCESS_READ},
        {.kind = ACCESS_CHANNEL, .text = slice_str("news")},
        {.kind = ACCESS_CHANNELS, .text = slice_str("n*")},
    };
    for (size_t i = 0; i < users_count(x); i++) {
        struct access_question q = {.command = i % command_catalog.count(),
                                    .first = slice_str("0"),
                                    .subjects = subjects,
                                    .subject_count = sizeof subjects / sizeof subjects[0]};
        size_t which = 0;
        (void)access_ask(users_at(x, i), &command_catalog, &q, &which);
        check(which == SIZE_MAX || which < q.subject_count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error e = {0};
    struct buf before;
    struct buf after;
    if (size == 0) return 0;
    struct users *x = users_new(&command_catalog, NULL, NULL);
    struct slice text = slice_of(data + 1, size - 1);
    buf_init(&before);
    buf_init(&after);
    (void)told(x, &before);
    enum err r = data[0] % 2 == 0 ? users_load(x, text, "text", &e) : set(x, text, &e);
    (void)told(x, &after);
    if (r != OK) {
        check(slice_eq(buf_slice(&before), buf_slice(&after)));
        check(e.code == r && e.text[0] != '\0');
    } else {
        check_told(x, buf_slice(&after));
        ask(x);
    }
    buf_fini(&before);
    buf_fini(&after);
    users_free(x);
    return 0;
}
