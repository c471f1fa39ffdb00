/* filter: a compiled filter and a value: does it match? */
#include "filter/filter.h"

#include "base/mem.h"
#include "filter/filter_int.h"
#include "filter/path_int.h"

void filter_ref(struct filter *f)
{
    f->references++;
}

void filter_unref(struct filter *f)
{
    if (f == NULL || --f->references > 0) return;
    arena_fini(&f->arena);
    mem_free(f);
}

static enum truth test_field(const struct node *node, struct slice value)
{
    struct stored found = {.kind = STORED_MISSING};
    const uint8_t *end = NULL;
    const uint8_t *at = path_locate(node->path, value, &end);
    if (at != NULL) (void)stored_read(at, end, &found);
    enum truth all = IS_TRUE;
    for (const struct condition *c = node->conditions; c != NULL && all != IS_FALSE; c = c->next) {
        enum truth one = c->op->test(c, &found);
        if (c->is_negated) one = IS_TRUE - one;
        if (one < all) all = one;
    }
    return all;
}

/* As deep as FILTER_DEPTH_MAX. */
static enum truth test_node(const struct node *node, struct slice value)
{
    if (node->kind == NODE_FIELD) return test_field(node, value);
    if (node->kind == NODE_NOT) return IS_TRUE - test_node(node->children, value);
    bool is_and = node->kind == NODE_AND;
    enum truth sum = is_and ? IS_TRUE : IS_FALSE;
    for (const struct node *child = node->children; child != NULL; child = child->next) {
        enum truth one = test_node(child, value);
        if (is_and ? one < sum : one > sum) sum = one;
        if (sum == (is_and ? IS_FALSE : IS_TRUE)) break;
    }
    return sum;
}

static void collect_names(const struct node *node, struct slice *names, size_t max, size_t *count)
{
    struct slice name;
    if (node->kind != NODE_FIELD) {
        for (const struct node *child = node->children; child != NULL; child = child->next) {
            collect_names(child, names, max, count);
        }
        return;
    }
    if (*count == SIZE_MAX) return;
    if (!path_first_name(node->path, &name)) {
        *count = SIZE_MAX;
        return;
    }
    for (size_t i = 0; i < *count && i < max; i++) {
        if (slice_eq(names[i], name)) return;
    }
    if (*count < max) names[*count] = name;
    ++*count;
}

size_t filter_names(const struct filter *f, struct slice *names, size_t max)
{
    size_t count = 0;
    collect_names(f->root, names, max, &count);
    return count;
}

size_t filter_conditions(const struct filter *f)
{
    return f->conditions;
}

bool filter_matches(const struct filter *f, struct slice value)
{
    return test_node(f->root, value) == IS_TRUE;
}
