/* Tests of node/proof: what nodes prove to each other depends on the secret and on every word, and
 * is compared whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "node/node.h"

static struct node own, other;

static int enter(void **state)
{
    (void)state;
    for (size_t i = 0; i < NODE_SECRET_BYTES; i++) own.secret[i] = (uint8_t)i;
    memcpy(other.secret, own.secret, sizeof other.secret);
    other.secret[NODE_SECRET_BYTES - 1] ^= 1;
    return 0;
}

/* As another HMAC-SHA256 has it, over the words, each behind its length in eight bytes. */
static void it_is_an_hmac_of_the_words_with_their_lengths(void **state)
{
    const struct slice words[] = {slice_str("leader"), slice_str("ab"), slice_str("")};
    char proof[PROOF_CHARS];
    proof_make(&own, words, 3, proof);
    assert_memory_equal(proof,
                        "d95d1b3cb7d8c9d0a651afcb498710a4"
                        "9c84a5332a513eecbfdcaa77a384b903",
                        PROOF_CHARS);
    proof_make(&own, words, 0, proof);
    assert_memory_equal(proof,
                        "d38b42096d80f45f826b44a9d5607de7"
                        "2496a415d3f4a1a8c88e3bb9da8dc1cb",
                        PROOF_CHARS);
}

static void it_is_made_of_the_secret(void **state)
{
    const struct slice words[] = {slice_str("leader"), slice_str("nonce")};
    char proof[PROOF_CHARS];
    proof_make(&own, words, 2, proof);
    assert_true(proof_is(&own, words, 2, slice_of(proof, PROOF_CHARS)));
    assert_false(proof_is(&other, words, 2, slice_of(proof, PROOF_CHARS)));
}

static void it_is_of_these_words_in_this_order(void **state)
{
    const struct slice words[] = {slice_str("ab"), slice_str("c"), slice_str("d")};
    const struct slice wrong[][3] = {
        {slice_str("a"), slice_str("bc"), slice_str("d")}, /* the same bytes, other words */
        {slice_str("c"), slice_str("ab"), slice_str("d")},
        {slice_str("ab"), slice_str("c"), slice_str("D")},
        {slice_str("ab"), slice_str("cd"), slice_str("")},
        {slice_str("ab"), slice_str(""), slice_str("cd")}};
    char proof[PROOF_CHARS];
    proof_make(&own, words, 3, proof);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(proof_is(&own, wrong[i], 3, slice_of(proof, PROOF_CHARS)));
    }
    assert_false(proof_is(&own, words, 2, slice_of(proof, PROOF_CHARS)));
    assert_true(proof_is(&own, words, 3, slice_of(proof, PROOF_CHARS)));
}

static void every_digit_of_it_is_compared(void **state)
{
    const struct slice words[] = {slice_str("x")};
    char proof[PROOF_CHARS + 1];
    proof_make(&own, words, 1, proof);
    proof[PROOF_CHARS] = '0';
    for (size_t i = 0; i < PROOF_CHARS; i++) {
        char was = proof[i];
        proof[i] = was == '0' ? '1' : '0';
        assert_false(proof_is(&own, words, 1, slice_of(proof, PROOF_CHARS)));
        proof[i] = was;
    }
    assert_false(proof_is(&own, words, 1, slice_of(proof, PROOF_CHARS - 1)));
    assert_false(proof_is(&own, words, 1, slice_of(proof, PROOF_CHARS + 1)));
    assert_false(proof_is(&own, words, 1, slice_of(NULL, 0)));
    assert_true(proof_is(&own, words, 1, slice_of(proof, PROOF_CHARS)));
}

static void a_nonce_is_hexadecimal_and_another_each_time(void **state)
{
    char a[PROOF_NONCE_CHARS + 1];
    char b[PROOF_NONCE_CHARS];
    a[PROOF_NONCE_CHARS] = '!';
    proof_nonce(a);
    proof_nonce(b);
    for (size_t i = 0; i < PROOF_NONCE_CHARS; i++) {
        assert_non_null(memchr("0123456789abcdef", a[i], 16));
    }
    assert_int_equal(a[PROOF_NONCE_CHARS], '!');
    assert_memory_not_equal(a, b, PROOF_NONCE_CHARS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_an_hmac_of_the_words_with_their_lengths),
        cmocka_unit_test(it_is_made_of_the_secret),
        cmocka_unit_test(it_is_of_these_words_in_this_order),
        cmocka_unit_test(every_digit_of_it_is_compared),
        cmocka_unit_test(a_nonce_is_hexadecimal_and_another_each_time),
    };
    return cmocka_run_group_tests(tests, enter, NULL);
}
