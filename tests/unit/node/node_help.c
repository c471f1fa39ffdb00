#include "unit/node/node_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"

static size_t count_of(void)
{
    return 0;
}

static const char *category_of(size_t i)
{
    (void)i;
    return NULL;
}

static const struct access_catalog catalog = {.count = count_of, .category = category_of};

void nodes_user(struct nodes_bench *t, const char *name, const char *rules)
{
    struct slice words[8];
    struct error e = {.text = ""};
    char text[128];
    (void)snprintf(text, sizeof text, "%s", rules);
    size_t count = nodes_split(text, words, 8);
    if (users_set(t->env.users.all, slice_str(name), words, count, &e) != OK)
        fail_msg("%s", e.text);
}

int nodes_enter(void **state)
{
    static struct nodes_bench bench;
    struct nodes_known *known = &bench.node.known;
    log_set_level(LOG_LEVEL_NOTHING);
    clock_set_fake_ms(1700000000000);
    bench = (struct nodes_bench){.env = {.users.all = users_new(&catalog, NULL, NULL)}};
    node_init(&bench.node, NULL, &bench.env);
    (void)snprintf(known->name, sizeof known->name, "n1");
    (void)snprintf(known->address, sizeof known->address, "[::1]:6379");
    known->others[0] = (struct node_other){
        .name = "n2", .address = "10.0.0.2:6380", .sentinel_port = 26379, .is_up = true};
    known->others[1] = (struct node_other){.name = "n3", .address = "10.0.0.3:6381"};
    known->other_count = 2;
    bench.env.node.self = &bench.node;
    bench.env.node.known = known;
    nodes_user(&bench, "bob", "on >secret");
    *state = &bench;
    return 0;
}

int nodes_leave(void **state)
{
    struct nodes_bench *t = *state;
    node_fini(&t->node);
    users_free(t->env.users.all);
    buf_fini(&t->out);
    clock_set_fake_ms(0);
    return 0;
}

void nodes_follow(struct nodes_bench *t, uint64_t epoch)
{
    const struct node_leader leader = {
        .is_known = true, .epoch = epoch, .name = "n2", .address = "10.0.0.2:6380"};
    node_set_leader(&t->node, &leader);
}

size_t nodes_split(char *text, struct slice *words, size_t max)
{
    size_t count = 0;
    char *save = NULL;
    for (char *w = strtok_r(text, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save)) {
        assert_true(count < max);
        words[count++] = slice_str(w);
    }
    return count;
}

static void end_text(struct buf *b)
{
    buf_append_byte(b, '\0');
    assert_false(b->is_failed);
    b->len--;
}

void nodes_replied(struct nodes_bench *t, const char *wanted)
{
    end_text(&t->out);
    assert_string_equal(t->out.data, wanted);
    buf_clear(&t->out, SIZE_MAX);
}

void nodes_replied_with(struct nodes_bench *t, const char *begin)
{
    end_text(&t->out);
    if (strncmp((const char *)t->out.data, begin, strlen(begin)) != 0) {
        fail_msg("%s does not begin with %s", (const char *)t->out.data, begin);
    }
    buf_clear(&t->out, SIZE_MAX);
}
