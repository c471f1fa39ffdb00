/* blocks: contents of blocks that grow and shrink through all sizes, compared with a copy, and what
 * is held. tsan: yes, since nothing is held with the address sanitizer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/random.h"
#include "script/blocks.h"

#define BLOCKS 64
#define BYTES_MAX 1024

static void blocks_keep_what_is_in_them(void **state)
{
    struct blocks b = {.held = 0};
    struct {
        uint8_t *at, byte;
        size_t bytes;
    } blocks[BLOCKS] = {{NULL, 0, 0}};
    struct rng r;
    rng_init(&r, 7);
    uint64_t before = mem_used();
    for (int i = 0; i < 200000; i++) {
        size_t k = rng_below(&r, BLOCKS);
        size_t bytes = rng_below(&r, rng_below(&r, 2) == 0 ? BYTES_MAX : 64);
        for (size_t j = 0; j < blocks[k].bytes; j++) {
            assert_int_equal(blocks[k].at[j], blocks[k].byte);
        }
        if (bytes == 0) {
            blocks_free(&b, blocks[k].at, blocks[k].bytes);
            blocks[k].at = NULL;
        } else {
            size_t kept = bytes < blocks[k].bytes ? bytes : blocks[k].bytes;
            blocks[k].at = blocks_resize(&b, blocks[k].at, blocks[k].bytes, bytes);
            assert_non_null(blocks[k].at);
            for (size_t j = 0; j < kept; j++) {
                assert_int_equal(blocks[k].at[j], blocks[k].byte);
            }
            blocks[k].byte = (uint8_t)i;
            memset(blocks[k].at, (uint8_t)i, bytes);
        }
        blocks[k].bytes = bytes;
        assert_true(b.held <= BLOCKS_HELD);
    }
    for (size_t k = 0; k < BLOCKS; k++) blocks_free(&b, blocks[k].at, blocks[k].bytes);
    blocks_fini(&b);
    assert_int_equal(b.held, 0);
    assert_int_equal(mem_used(), before);
}

static void a_freed_block_is_used_again(void **state)
{
    struct blocks b = {.held = 0};
    void *first = blocks_resize(&b, NULL, 0, 17);
    assert_ptr_equal(blocks_resize(&b, first, 17, 32), first); /* of the same class */
    blocks_free(&b, first, 32);
    assert_int_equal(b.held, BLOCKS_HELD == 0 ? 0 : 32);
    if (b.held != 0) {
        assert_ptr_equal(blocks_resize(&b, NULL, 0, 20), first);
        assert_int_equal(b.held, 0);
        blocks_free(&b, first, 20);
    }
    void *many[512]; /* 128 KiB */
    size_t count = sizeof many / sizeof many[0];
    for (size_t i = 0; i < count; i++) many[i] = blocks_resize(&b, NULL, 0, BLOCKS_SMALL);
    for (size_t i = 0; i < count; i++) blocks_free(&b, many[i], BLOCKS_SMALL);
    assert_true(b.held <= BLOCKS_HELD);
    blocks_free(&b, NULL, 5);
    blocks_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_keep_what_is_in_them),
        cmocka_unit_test(a_freed_block_is_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
