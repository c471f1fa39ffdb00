/* Tests of script/struct: numbers and strings as bytes and back: the ends of their ranges, byte
 * order, alignment, and formats and data that are wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/script/script_help.h"

static void integers_have_their_size_and_order(void **state)
{
    script_is(*state, "hex(struct.pack('>I4', 0x01020304)), hex(struct.pack('<I4', 0x01020304))",
              "01020304 04030201");
    script_is(*state, "hex(struct.pack('I2', 1))", "0100"); /* little at first */
    script_is(*state, "hex(struct.pack('>hI3<h', 1, 2, 1))", "00010000020100");
    script_is(*state, "hex(struct.pack('>i', -2)), hex(struct.pack('>l', -2))",
              "fffffffe fffffffffffffffe");
    script_is(*state, "hex(struct.pack('bB', -1, 256))", "ff00"); /* what is too large is cut */
    script_is(*state,
              "struct.size('b'), struct.size('h'), struct.size('i'), struct.size('l'), "
              "struct.size('i5'), struct.size('T'), struct.size('f'), struct.size('d')",
              "1 2 4 8 5 8 4 8");
}

static void a_sign_is_read_again(void **state)
{
    script_is(*state, "struct.unpack('>i3', '\\255\\255\\254')", "-2 4");
    script_is(*state, "struct.unpack('>I3', '\\255\\255\\254')", "16777214 4");
    script_is(*state, "struct.unpack('b', '\\127'), (struct.unpack('b', '\\128'))", "127 -128");
    script_is(*state, "struct.unpack('B', '\\128')", "128 2");
    script_is(*state, "struct.unpack('<h', '\\0\\128')", "-32768 3");
    script_is(*state, "struct.unpack('>i8', struct.pack('>i8', -1))", "-1 9");
    script_is(*state, "struct.unpack('>L', '\\255\\255\\255\\255\\255\\255\\255\\255') == 2^64",
              "true");
}

static void numbers_that_no_integer_holds_are_no_accident(void **state)
{
    script_is(*state, "hex(struct.pack('>L', 2^63))", "8000000000000000");
    script_is(*state, "hex(struct.pack('>l', -2^63))", "8000000000000000");
    script_is(*state, "hex(struct.pack('>L', 2^64)), hex(struct.pack('>l', 0/0))",
              "0000000000000000 0000000000000000");
    script_is(*state, "hex(struct.pack('>l', -2^65)), hex(struct.pack('>b', 1/0))",
              "0000000000000000 00");
}

static void floats_come_back(void **state)
{
    script_is(*state, "hex(struct.pack('>f', 1.5)), hex(struct.pack('<d', -2))",
              "3fc00000 00000000000000c0");
    script_is(*state, "struct.unpack('>fd', struct.pack('>fd', 0.25, 0.1))", "0.25 0.1 13");
    script_is(*state, "struct.unpack('>f', struct.pack('>f', 1e300))", "inf 5");
}

static void what_is_larger_is_aligned(void **state)
{
    script_is(*state, "hex(struct.pack('>!4bi4', 1, 2))", "0100000000000002");
    script_is(*state, "hex(struct.pack('>bi4', 1, 2))", "0100000002"); /* at first not */
    script_is(*state, "hex(struct.pack('>!2bi4', 1, 2))", "010000000002");
    script_is(*state, "hex(struct.pack('>!bd', 1, 0))",
              "0100000000000000"
              "0000000000000000");
    script_is(*state, "hex(struct.pack('>!4bi3', 1, 2))", "01000002"); /* three bytes are not */
    script_is(*state, "hex(struct.pack('!4bs', 1, 'a'))", "016100");
    script_is(*state, "struct.unpack('>!4bi4', '\\1\\9\\9\\9\\0\\0\\0\\2')", "1 2 9");
    script_is(*state, "struct.size('!4bi4'), struct.size('bi4'), struct.size('b x h')", "8 5 4");
    script_fails(*state, "struct.pack('!3b', 1)", "alignment is not a power of 2");
    script_fails(*state, "struct.pack('!0b', 1)", "alignment is not a power of 2");
    script_fails(*state, "struct.pack('!32b', 1)", "alignment is not a power of 2");
    script_is(*state, "struct.size('!16b')", "1");
}

static void strings_end_at_a_zero_byte_or_have_a_size(void **state)
{
    script_is(*state, "hex(struct.pack('s', 'ab')), hex(struct.pack('c3', 'abcd'))",
              "616200 616263");
    script_is(*state, "hex(struct.pack('c0', 'abcd')), hex(struct.pack('c', 'abcd'))",
              "61626364 61");
    script_is(*state, "struct.unpack('ss', 'ab\\0c\\0')", "ab c 6");
    script_is(*state, "struct.unpack('Bc0B', '\\2abc')", "ab 99 5"); /* the size is taken */
    script_is(*state, "struct.unpack('Bc0', '\\0')", " 2");
    script_is(*state, "struct.unpack('c2', 'abc')", "ab 3");
    script_fails(*state, "struct.pack('c3', 'ab')", "string too short");
    script_fails(*state, "struct.unpack('s', 'ab')", "unfinished string in data");
    script_fails(*state, "struct.unpack('c0', 'ab')", "format 'c0' needs a previous size");
    script_fails(*state, "struct.unpack('sc0', '2\\0ab')", "format 'c0' needs a previous size");
    script_fails(*state, "struct.unpack('bc0', '\\255a')", "invalid size of 'c0'");
    script_fails(*state, "struct.unpack('Bc0', '\\2a')", "data string too short");
}

static void data_are_read_from_an_offset_up_to_their_end(void **state)
{
    script_is(*state, "struct.unpack('B', 'abc', 2)", "98 3");
    script_is(*state, "struct.unpack('', 'abc', 4)", "4");
    script_is(*state, "struct.unpack('xB', 'ab')", "98 3");
    script_fails(*state, "struct.unpack('B', 'abc', 4)", "data string too short");
    script_fails(*state, "struct.unpack('', 'abc', 5)", "offset must be 1 or greater");
    script_fails(*state, "struct.unpack('', 'abc', 0)", "offset must be 1 or greater");
    script_fails(*state, "struct.unpack('I4', 'abc')", "data string too short");
    script_fails(*state, "struct.unpack('!4bi4', 'a')", "data string too short");
    script_fails(*state, "struct.unpack('x', '')", "data string too short");
}

static void a_format_that_is_wrong_is_refused(void **state)
{
    script_fails(*state, "struct.pack('q', 1)", "invalid format option 'q'");
    script_fails(*state, "struct.pack('i9', 1)", "integral size 9 is larger than limit of 8");
    script_fails(*state, "struct.pack('i0', 1)", "integral size 0 is larger than limit of 8");
    script_fails(*state, "struct.pack('i99999999999', 1)", "integral size overflow");
    script_fails(*state, "struct.pack('i8')", "bad argument #2");
    script_fails(*state, "struct.pack('i8', 'x')", "bad argument #2");
    script_fails(*state, "struct.size('is')", "variable-size format in call to 'size'");
    script_fails(*state, "struct.size('c0')", "variable-length format in call to 'size'");
    script_is(*state, "struct.size(''), #struct.pack(''), struct.size('i8')", "0 0 8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, scripts_enter, scripts_leave)
        T(integers_have_their_size_and_order),
        T(a_sign_is_read_again),
        T(numbers_that_no_integer_holds_are_no_accident),
        T(floats_come_back),
        T(what_is_larger_is_aligned),
        T(strings_end_at_a_zero_byte_or_have_a_size),
        T(data_are_read_from_an_offset_up_to_their_end),
        T(a_format_that_is_wrong_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
