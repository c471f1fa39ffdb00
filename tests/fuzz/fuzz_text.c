/* As a stored value: whatever value_check lets in has a text that FTS5 can be given: UTF-8 without
 * NUL, not too long. As the description of a text index: what is read is written as bytes that are
 * read as the same. */
#include <stdlib.h>

#include "codec/utf8.h"
#include "codec/value.h"
#include "filter/path.h"
#include "search/text.h"

static const char *const names[] = {"$", "a", "a.b", "a[0]", "a[#-1].b", "\"x.y\"", "$[1]"};

#define PATH_COUNT (sizeof names / sizeof *names)

static void check(bool holds)
{
    if (!holds) abort();
}

static void check_text(const struct text_spec *spec, size_t i, struct slice value)
{
    struct buf out;
    buf_init(&out);
    buf_append_byte(&out, '!');
    bool is_there = text_of_path(spec, i, value, &out);
    check(out.data[0] == '!' && is_there == (out.len > 1));
    check(out.len - 1 <= TEXT_BYTES_MAX);
    check(utf8_valid_bytes(buf_slice(&out)) == out.len);
    check(memchr(out.data, 0, out.len) == NULL);
    text_show_gaps(&out);
    check(utf8_valid_bytes(buf_slice(&out)) == out.len);
    check(memmem(out.data, out.len, TEXT_GAP, strlen(TEXT_GAP)) == NULL);
    buf_fini(&out);
}

static void check_value(struct slice value, struct arena *arena)
{
    struct text_spec spec = {.path_count = PATH_COUNT};
    struct error e;
    if (value_check(value, &e) != OK) return;
    for (size_t i = 0; i < PATH_COUNT; i++) {
        check(path_compile(slice_str(names[i]), arena, &spec.paths[i], &e) == OK);
        check_text(&spec, i, value);
    }
}

static void check_spec(struct slice bytes, struct arena *arena)
{
    struct text_spec spec, again;
    struct buf first, second;
    struct error e = {0};
    enum err err = text_spec_read(bytes, arena, &spec, &e);
    if (err != OK) {
        check((err == ERR_CORRUPT || err == ERR_FORMAT) && e.code == err && e.text[0] != '\0');
        return;
    }
    buf_init(&first);
    buf_init(&second);
    text_spec_write(&spec, &first);
    check(text_spec_read(buf_slice(&first), arena, &again, &e) == OK);
    text_spec_write(&again, &second);
    check(slice_eq(buf_slice(&first), buf_slice(&second)));
    check(slice_eq(spec.prefix, again.prefix) && spec.tokenizer == again.tokenizer);
    buf_fini(&first);
    buf_fini(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    arena_init(&arena, 4096);
    check_value(slice_of(data, size), &arena);
    check_spec(slice_of(data, size), &arena);
    arena_fini(&arena);
    return 0;
}
