/* Tests of the row of an index's definition: what is written is what is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "index/rows.h"

static void a_definition_comes_back_with_all_it_has(void **state)
{
    static const enum index_state states[] = {INDEX_FILLING, INDEX_READY, INDEX_FAILED};
    for (size_t i = 0; i < 3; i++) {
        struct definition in = {.id = 70000,
                                .kind = i == 0 ? INDEX_VALUE : INDEX_TEXT,
                                .is_unique = i == 0,
                                .prefix = slice_str("prefix"),
                                .path_count = 2,
                                .paths = {slice_str("a.b"), slice_str("c[0]")},
                                .tokenizer = slice_str("porter"),
                                .state = states[i],
                                .position = slice_str("position"),
                                .filled = 5000000000,
                                .note = slice_str("why"),
                                .hashes = i == 0 ? slice_str("user:*") : slice_of(NULL, 0)};
        struct definition out;
        struct buf row;
        buf_init(&row);
        definition_write(&in, &row);
        assert_true(definition_read(buf_slice(&row), &out));
        assert_int_equal(out.id, in.id);
        assert_int_equal(out.kind, in.kind);
        assert_int_equal(out.is_unique, in.is_unique);
        assert_true(slice_eq(out.prefix, in.prefix));
        assert_int_equal(out.path_count, 2);
        assert_true(slice_eq(out.paths[0], in.paths[0]));
        assert_true(slice_eq(out.paths[1], in.paths[1]));
        assert_true(slice_eq(out.tokenizer, in.tokenizer));
        assert_int_equal(out.state, in.state);
        assert_true(slice_eq(out.position, in.position));
        assert_int_equal(out.filled, in.filled);
        assert_true(slice_eq(out.note, in.note));
        assert_int_equal(definition_is_of_hashes(&out), i == 0);
        assert_true(slice_eq(out.hashes, in.hashes));
        for (size_t len = 0; len < row.len; len++) {
            assert_false(definition_read(slice_of(row.data, len), &out));
        }
        buf_append_byte(&row, 0);
        assert_false(definition_read(buf_slice(&row), &out));
        buf_fini(&row);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_definition_comes_back_with_all_it_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
