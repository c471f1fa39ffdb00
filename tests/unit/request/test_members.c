/* Tests of members: the arguments of commands by the names that they have in JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "request/members.h"
#include "request/table.h"

/* "name type" of each, with blanks: ! it must be there, [] a list, [n] its number comes before it,
 * <n> so many words, /n the alternative it is. */
static void put(const struct members *of, struct buf *out)
{
    static const char *const types[] = {"text",    "key",    "value",   "number", "array",
                                        "integer", "filter", "version", "flag",   "objects"};
    for (size_t i = 0; i < of->count; i++) {
        const struct member *m = &of->items[i];
        buf_printf(out, "%s%s:%s", i > 0 ? " " : "", m->name, types[m->type]);
        if (m->is_list) buf_append_str(out, m->has_count ? "[n]" : "[]");
        if (m->words > 1) buf_printf(out, "<%u>", m->words);
        if (m->alternative > 0) buf_printf(out, "/%u", m->alternative);
        if (m->is_required) buf_append_byte(out, '!');
    }
}

static void expect(const struct members *of, const char *wanted)
{
    struct buf out;
    buf_init(&out);
    put(of, &out);
    buf_append_byte(&out, '\0');
    assert_string_equal((char *)out.data, wanted);
    buf_fini(&out);
}

static const struct members *of(const char *name, const char *sub)
{
    const struct command *parent;
    struct slice words[] = {slice_str(name), slice_str(sub)};
    const struct command *c = command_of_words(words, sub[0] != '\0' ? 2 : 1, &parent);
    assert_non_null(c);
    return arguments_members(c->arguments);
}

static void tokens_and_arguments_are_names(void **state)
{
    expect(of("KV.LIST", ""), "prefix:key start:key end:key reverse:flag limit:integer cursor:text "
                              "keysOnly:flag where:filter");
    expect(of("KV.EXTEND", ""), "receipt:text! lease:integer!");
    expect(of("KV.QUEUE", "PEEK"), "queue:text! limit:integer");
    assert_string_equal(of("KV.QUEUE", "PEEK")->items[1].token, "COUNT");
    assert_int_equal(of("KV.QUEUE", "PEEK")->items[1].min, 1);
}

static void what_excludes_each_other_has_one_number(void **state)
{
    expect(of("KV.SET", ""), "key:key! value:value! expiresIn:integer/1 expiresAt:integer/1 "
                             "keepTtl:flag/1 nx:flag/2 xx:flag/2 ifversion:version/2");
    expect(of("KV.DLQ", "REQUEUE"), "queue:text! ids:text[]/1 all:flag/1");
    assert_true(of("KV.DLQ", "REQUEUE")->items[1].is_needed);
    assert_false(of("KV.SET", "")->items[2].is_needed);
}

static void lists_and_words_that_go_together_are_one_member(void **state)
{
    expect(of("KV.DEQUEUE", ""),
           "queue:text! also:text[n] count:integer lease:integer wait:integer");
    expect(of("KV.ENQUEUE", ""), "queue:text! value:value! delay:integer backoff:integer[n] "
                                 "undelivered:key[n] dedup:text");
    expect(of("KV.INDEX", "CREATE"),
           "name:text! prefix:key hashes:text on:text[n] text:text[n] unique:flag tokenize:text");
    expect(of("KV.SEARCH", ""), "name:text! query:text! limit:integer offset:integer where:filter "
                                "scores:flag highlight:text<2> snippet:integer");
    assert_string_equal(of("KV.SEARCH", "")->items[6].parts[1], "close");
}

static void operations_are_variants_with_members_of_their_own(void **state)
{
    const struct members *atomic = of("KV.ATOMIC", "");
    expect(atomic, "details:flag op:objects[]");
    const struct members *v = atomic->items[1].variants;
    assert_string_equal(v[0].token, "CHECK");
    expect(&v[0], "key:key! versionstamp:version!");
    assert_string_equal(v[2].token, "DEL");
    assert_string_equal(v[2].name, "delete");
    expect(&v[2], "key:key!");
    expect(&v[3], "key:key! value:number! clamp:number<2>/1 range:number<2>/1");
    expect(&v[6], "key:key! value:array!");
    assert_string_equal(v[9].name, "ack");
    expect(&v[9], "receipt:text!");
    assert_null(v[10].token);
}

static void a_member_is_found_by_its_name(void **state)
{
    assert_string_equal(member_find(of("KV.LIST", ""), slice_str("keysOnly"))->token, "KEYSONLY");
    assert_null(member_find(of("KV.LIST", ""), slice_str("keysonly")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_and_arguments_are_names),
        cmocka_unit_test(what_excludes_each_other_has_one_number),
        cmocka_unit_test(lists_and_words_that_go_together_are_one_member),
        cmocka_unit_test(operations_are_variants_with_members_of_their_own),
        cmocka_unit_test(a_member_is_found_by_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
