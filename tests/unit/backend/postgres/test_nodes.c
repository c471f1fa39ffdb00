/* Nodes that share an engine see each other, and those that were given one name or address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "backend/postgres/nodes.h"
#include "unit/backend/postgres/pg_server.h"

static struct term *term_of(int64_t id, const char *name, const char *address)
{
    struct error e;
    struct term *t = NULL;
    struct term_options o = {.url = pg_shared.url,
                             .id = id,
                             .name = name,
                             .address = address,
                             .lease_ms = 60000,
                             .call_ms = 10000,
                             .durability = TERM_PROVIDER};
    enum err r = term_open(&o, &t, &e);
    if (r != OK) fail_msg("%s", e.text);
    return t;
}

struct pair {
    struct term *a, *b;
    struct nodes *an, *bn;
};

static void pair_init(struct pair *p, int64_t id, const char *const names[4])
{
    if (!pg_server_can()) skip();
    p->a = term_of(id, names[0], names[1]);
    p->b = term_of(id, names[2], names[3]);
    p->an = nodes_new(p->a, 0, "");
    p->bn = nodes_new(p->b, 0, "");
}

static void pair_fini(struct pair *p)
{
    nodes_free(p->an);
    nodes_free(p->bn);
    term_free(p->a);
    term_free(p->b);
}

static void meet(struct nodes *n)
{
    struct error e;
    if (nodes_meet(n, &e) != OK) fail_msg("%s", e.text);
}

/* Each has met the other twice. */
static void meet_all(struct pair *p)
{
    for (int i = 0; i < 3; i++) {
        meet(p->an);
        meet(p->bn);
    }
}

static void expect_twins(int64_t id, const char *const names[4], const char *what)
{
    struct pair p;
    pair_init(&p, id, names);
    meet_all(&p);
    const char *texts[] = {nodes_twin(p.an), nodes_twin(p.bn)};
    for (size_t i = 0; i < 2; i++) {
        bool is_told = what[0] == '\0' ? texts[i][0] == '\0' : strstr(texts[i], what) != NULL;
        if (!is_told) fail_msg("\"%s\" does not say \"%s\"", texts[i], what);
    }
    pair_fini(&p);
}

static void nodes_see_each_other(void **state)
{
    static const char *const names[] = {"a", "10.0.0.1:6379", "b", "10.0.0.2:6379"};
    struct pair p;
    size_t count = 0;
    (void)state;
    pair_init(&p, 1, names);
    meet_all(&p);
    const struct node_seen *others = nodes_others(p.an, &count);
    assert_int_equal(count, 1);
    assert_string_equal(others[0].name, "b");
    assert_true(others[0].is_up);
    assert_string_equal(nodes_twin(p.an), "");
    pair_fini(&p);
}

static void one_name_is_told(void **state)
{
    static const char *const names[] = {"a", "10.0.0.1:6379", "a", "10.0.0.2:6379"};
    (void)state;
    expect_twins(2, names, "another node has the same name: a at 10.0.0.");
}

static void one_address_is_told(void **state)
{
    static const char *const names[] = {"a", "10.0.0.1:6379", "b", "10.0.0.1:6379"};
    (void)state;
    expect_twins(3, names, "another node has the same address");
}

static void one_of_both_is_told(void **state)
{
    static const char *const names[] = {"a", "10.0.0.1:6379", "a", "10.0.0.1:6379"};
    (void)state;
    expect_twins(4, names, "another node has the same name and address: a at 10.0.0.1:6379");
}

static void those_that_say_no_address_have_none_in_common(void **state)
{
    static const char *const names[] = {"a", "", "b", ""};
    (void)state;
    expect_twins(5, names, "");
}

/* It was started again, at another address: its row of before stays for a while. */
static void a_node_is_not_its_own_twin(void **state)
{
    static const char *const names[] = {"a", "10.0.0.1:6379", "a", "10.0.0.2:6379"};
    struct pair p;
    (void)state;
    pair_init(&p, 6, names);
    for (int i = 0; i < 3; i++) meet(p.an);
    for (int i = 0; i < 3; i++) meet(p.bn);
    assert_string_equal(nodes_twin(p.bn), "");
    pair_fini(&p);
    /* At the same one. */
    static const char *const same[] = {"c", "10.0.0.3:6379", "c", "10.0.0.3:6379"};
    pair_init(&p, 6, same);
    for (int i = 0; i < 3; i++) meet(p.an);
    for (int i = 0; i < 3; i++) meet(p.bn);
    assert_string_equal(nodes_twin(p.bn), "");
    pair_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_see_each_other),
        cmocka_unit_test(one_name_is_told),
        cmocka_unit_test(one_address_is_told),
        cmocka_unit_test(one_of_both_is_told),
        cmocka_unit_test(those_that_say_no_address_have_none_in_common),
        cmocka_unit_test(a_node_is_not_its_own_twin),
    };
    return cmocka_run_group_tests(tests, pg_shared_start, pg_shared_stop);
}
