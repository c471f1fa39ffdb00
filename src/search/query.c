/* query: three steps. query_read.c cuts the text into tokens. The parser (parse_*) builds a tree
 * whose leaves are already written as FTS5 wants them; the writer (write_*) puts operators between
 * the leaves. What FTS5 (of SQLite 3.40) does, and what follows from it:
 *
 *   - Its precedence is another one (NOT binds most), and two things side by side are only allowed
 *     when neither is a parenthesis. So compound operands get parentheses, and the leaves of an AND
 *     are written first, side by side, the others after them with an AND each:
 *
 *         a (b OR c) name:d       "a" c0 : "d" AND ("b" OR "c")
 *
 *   - A phrase in which the tokenizer finds no token is dropped when it stands beside others, but
 *     an explicit AND with it matches nothing. That is why leaves stand side by side, also where
 *     AND was written out. Symbols (query_is_symbol) are dropped by the parser, so that one beside
 *     parentheses does no harm: no tokenizer but trigram would find a token in them.
 *   - Its parser has a stack of 100 symbols. A level of parentheses of ours puts up to eight there,
 *     `expr OR expr NOT ( expr AND (`: ten levels stay below. A path before parentheses is written
 *     at each leaf, so it takes none.
 *   - A quote inside of a quoted string is doubled, here as there: phrases are copied as they are.
 */
#include "search/query_int.h"

#include "codec/utf8.h"

#define NO_COLUMN SIZE_MAX
#define NEAR_DISTANCE_DIGITS 6

enum node_kind { NODE_LEAF, NODE_AND, NODE_OR, NODE_NOT };

/* Nodes are known by their number; 0 is "nothing to search for". An operator has two children or
 * more: of a NOT, the first without all the others. */
struct node {
    enum node_kind kind;
    unsigned first; /* child */
    unsigned last;  /* child */
    unsigned next;  /* child of the same parent */
    size_t from;    /* of a leaf: its place in `leaves` */
    size_t len;     /* of a leaf: bytes */
};

struct query {
    struct query_reader r;
    size_t column;     /* that the path at work names; NO_COLUMN */
    unsigned depth;    /* parentheses that are open */
    struct buf leaves; /* owned */
    unsigned node_count;
    struct node nodes[2 * QUERY_WORDS_MAX]; /* [0] is none */
};

/* ---- the tree ---- */

static unsigned parse_query(struct query *q);

static unsigned node_add(struct query *q, enum node_kind kind)
{
    INVARIANT(q->node_count < sizeof q->nodes / sizeof *q->nodes);
    q->nodes[q->node_count] = (struct node){.kind = kind};
    return q->node_count++;
}

static void node_append(struct query *q, unsigned parent, unsigned child)
{
    struct node *p = &q->nodes[parent];
    if (p->first == 0) {
        p->first = child;
    } else {
        q->nodes[p->last].next = child;
    }
    p->last = child;
}

/* Both, joined by an operator; only one when the other is nothing. Operators of one kind become
 * one, as (a AND b) AND c does, which NOT allows on its left side alone. */
static unsigned node_join(struct query *q, enum node_kind kind, unsigned left, unsigned right)
{
    if (left == 0 || right == 0) return left + right;
    unsigned node = left;
    if (q->nodes[left].kind != kind) {
        node = node_add(q, kind);
        node_append(q, node, left);
    }
    if (q->nodes[right].kind == kind && kind != NODE_NOT) {
        q->nodes[q->nodes[node].last].next = q->nodes[right].first;
        q->nodes[node].last = q->nodes[right].last;
    } else {
        node_append(q, node, right);
    }
    return node;
}

/* Writes the column filter of a new leaf; leaf_end makes a node of what was written since. */
static size_t leaf_begin(struct query *q)
{
    size_t from = q->leaves.len;
    if (q->column != NO_COLUMN) {
        buf_append_byte(&q->leaves, 'c');
        buf_append_u64(&q->leaves, q->column);
        buf_append_str(&q->leaves, " : ");
    }
    return from;
}

static unsigned leaf_end(struct query *q, size_t from)
{
    unsigned node = node_add(q, NODE_LEAF);
    q->nodes[node].from = from;
    q->nodes[node].len = q->leaves.len - from;
    return node;
}

static void leaf_add_phrase(struct query *q)
{
    buf_append_byte(&q->leaves, '"');
    buf_append(&q->leaves, q->r.body.data, q->r.body.len);
    buf_append_str(&q->leaves, q->r.is_prefix ? "\" *" : "\"");
}

static unsigned parse_phrase(struct query *q)
{
    unsigned node = 0;
    if (!query_is_symbol(&q->r)) {
        size_t from = leaf_begin(q);
        leaf_add_phrase(q);
        node = leaf_end(q, from);
    }
    query_next(&q->r);
    return node;
}

/* The number after the comma; the words are limited, and so is what it may say. */
static void parse_distance(struct query *q)
{
    query_next(&q->r);
    uint64_t distance = 0;
    if (q->r.token != TOKEN_WORD || q->r.is_prefix || q->r.body.len > NEAR_DISTANCE_DIGITS ||
        !slice_to_u64(q->r.body, &distance)) {
        query_bad(&q->r, ERR_SYNTAX, q->r.token_at,
                  "the comma in NEAR must be followed by a number of at most 6 digits");
        return;
    }
    buf_append_str(&q->leaves, ", ");
    buf_append_u64(&q->leaves, distance);
    query_next(&q->r);
}

static unsigned parse_near(struct query *q)
{
    size_t at = q->r.token_at, from = leaf_begin(q);
    bool is_empty = true, is_nothing = true;
    q->r.is_in_near = true;
    query_next(&q->r);
    buf_append_str(&q->leaves, "NEAR(");
    for (; q->r.token == TOKEN_WORD || q->r.token == TOKEN_PHRASE; query_next(&q->r)) {
        is_empty = false;
        if (query_is_symbol(&q->r)) continue;
        if (!is_nothing) buf_append_byte(&q->leaves, ' ');
        leaf_add_phrase(q);
        is_nothing = false;
    }
    if (q->r.token == TOKEN_COMMA && !is_empty) parse_distance(q);
    buf_append_byte(&q->leaves, ')');
    if (is_empty) query_bad(&q->r, ERR_SYNTAX, at, "NEAR without words");
    if (q->r.token == TOKEN_END)
        query_bad(&q->r, ERR_SYNTAX, at, "NEAR without a closing parenthesis");
    if (q->r.token != TOKEN_CLOSE) {
        query_bad(&q->r, ERR_SYNTAX, q->r.token_at,
                  "NEAR may contain only words, phrases and a number");
    }
    q->r.is_in_near = false;
    query_next(&q->r);
    return is_nothing ? 0 : leaf_end(q, from);
}

static unsigned parse_group(struct query *q)
{
    size_t at = q->r.token_at;
    if (q->depth == QUERY_DEPTH_MAX) {
        query_bad(&q->r, ERR_LIMIT, at, "parentheses nested too deeply");
        return 0;
    }
    q->depth++;
    query_next(&q->r);
    if (q->r.token == TOKEN_CLOSE) {
        query_bad(&q->r, ERR_SYNTAX, at, "empty parentheses");
    }
    unsigned node = parse_query(q);
    if (q->r.token != TOKEN_CLOSE) {
        query_bad(&q->r, ERR_SYNTAX, at, "missing closing parenthesis");
    }
    query_next(&q->r);
    q->depth--;
    return node;
}

static bool begins_item(enum token t)
{
    return t == TOKEN_WORD || t == TOKEN_PHRASE || t == TOKEN_PATH || t == TOKEN_OPEN ||
           t == TOKEN_NEAR;
}

static void bad_operator(struct query *q, enum token operator, size_t at, const char *side)
{
    static const char *const names[] = {
        [TOKEN_AND] = "AND", [TOKEN_OR] = "OR", [TOKEN_NOT] = "NOT"};
    if (q->r.err != OK) return;
    q->r.err = error_set(q->r.e, ERR_SYNTAX, "query: %s without an operand %s it at offset %zu",
                       names[operator], side, at);
    q->r.token = TOKEN_END;
}

/* There is no item where one should be: names the operator that lacks it. When none does, the code
 * that sees the next token reports it. */
static void bad_operand(struct query *q)
{
    if (q->r.before != TOKEN_END) {
        bad_operator(q, q->r.before, q->r.before_at, "after");
    } else if (q->r.token >= TOKEN_AND) {
        bad_operator(q, q->r.token, q->r.token_at, "before");
    }
}

static unsigned parse_item(struct query *q)
{
    unsigned node = 0;
    if (!begins_item(q->r.token)) {
        bad_operand(q);
        return 0;
    }
    bool has_path = q->r.token == TOKEN_PATH;
    if (has_path) {
        size_t at = q->r.token_at;
        if (q->column != NO_COLUMN) {
            query_bad(&q->r, ERR_SYNTAX, at, "a path inside the parentheses of another path");
        }
        q->column = q->r.path;
        query_next(&q->r);
        if (q->r.token == TOKEN_PATH || !begins_item(q->r.token)) {
            query_bad(&q->r, ERR_SYNTAX, at, "a path without a query");
        }
    }
    switch (q->r.token) {
    case TOKEN_WORD:
    case TOKEN_PHRASE: node = parse_phrase(q); break;
    case TOKEN_NEAR: node = parse_near(q); break;
    case TOKEN_OPEN: node = parse_group(q); break;
    default: break; /* an error was met */
    }
    if (has_path) q->column = NO_COLUMN;
    return node;
}

static unsigned parse_all(struct query *q)
{
    unsigned node = parse_item(q);
    while (q->r.token == TOKEN_AND || begins_item(q->r.token)) {
        if (q->r.token == TOKEN_AND) query_next(&q->r);
        node = node_join(q, NODE_AND, node, parse_item(q));
    }
    return node;
}

static unsigned parse_any(struct query *q)
{
    unsigned node = parse_all(q);
    while (q->r.token == TOKEN_NOT) {
        size_t at = q->r.token_at;
        query_next(&q->r);
        unsigned without = parse_all(q);
        if (node == 0) bad_operator(q, TOKEN_NOT, at, "before");
        node = node_join(q, NODE_NOT, node, without);
    }
    return node;
}

static unsigned parse_query(struct query *q)
{
    unsigned node = parse_any(q);
    while (q->r.token == TOKEN_OR) {
        query_next(&q->r);
        node = node_join(q, NODE_OR, node, parse_any(q));
    }
    return node;
}

/* ---- FTS5's syntax ---- */

static bool needs_parentheses(const struct query *q, const struct node *n)
{
    if (n->kind == NODE_LEAF) return false;
    if (n->kind != NODE_AND) return true;
    for (unsigned i = n->first; i != 0; i = q->nodes[i].next) {
        if (q->nodes[i].kind != NODE_LEAF) return true;
    }
    return false;
}

static void write_node(const struct query *q, const struct node *n, struct buf *out);

static void write_operand(const struct query *q, const struct node *n, struct buf *out)
{
    bool is_wrapped = needs_parentheses(q, n);
    if (is_wrapped) buf_append_byte(out, '(');
    write_node(q, n, out);
    if (is_wrapped) buf_append_byte(out, ')');
}

static void write_all(const struct query *q, const struct node *n, struct buf *out)
{
    const char *between = "";
    for (unsigned i = n->first; i != 0; i = q->nodes[i].next) {
        if (q->nodes[i].kind != NODE_LEAF) continue;
        buf_append_str(out, between);
        write_node(q, &q->nodes[i], out);
        between = " ";
    }
    if (between[0] != '\0') between = " AND ";
    for (unsigned i = n->first; i != 0; i = q->nodes[i].next) {
        if (q->nodes[i].kind == NODE_LEAF) continue;
        buf_append_str(out, between);
        write_operand(q, &q->nodes[i], out);
        between = " AND ";
    }
}

static void write_node(const struct query *q, const struct node *n, struct buf *out)
{
    if (n->kind == NODE_LEAF) {
        buf_append(out, q->leaves.data + n->from, n->len);
        return;
    }
    if (n->kind == NODE_AND) {
        write_all(q, n, out);
        return;
    }
    for (unsigned i = n->first; i != 0; i = q->nodes[i].next) {
        if (n->kind == NODE_OR) { /* binds least, here as there */
            if (i != n->first) buf_append_str(out, " OR ");
            write_node(q, &q->nodes[i], out);
        } else {
            if (i != n->first) buf_append_str(out, " NOT ");
            write_operand(q, &q->nodes[i], out);
        }
    }
}

enum err query_to_fts5(struct slice query, const struct slice *paths, size_t path_count,
                       struct buf *out, struct error *e)
{
    struct query q;
    if (query.len > QUERY_BYTES_MAX) {
        return error_set(e, ERR_LIMIT, "query: larger than %d bytes", QUERY_BYTES_MAX);
    }
    size_t good = utf8_valid_bytes(query);
    if (good != query.len) return error_set(e, ERR_SYNTAX, "query: not UTF-8 at offset %zu", good);
    const uint8_t *nul = query.len > 0 ? memchr(query.data, 0, query.len) : NULL;
    if (nul != NULL) {
        size_t at = (size_t)(nul - query.data);
        return error_set(e, ERR_SYNTAX, "query: a NUL byte at offset %zu", at);
    }
    memset(&q, 0, offsetof(struct query, nodes));
    q.r.text = query;
    q.r.paths = paths;
    q.r.path_count = path_count;
    q.column = NO_COLUMN;
    q.r.e = e;
    q.node_count = 1;
    query_next(&q.r);
    unsigned root = parse_query(&q);
    if (q.r.token == TOKEN_CLOSE) {
        query_bad(&q.r, ERR_SYNTAX, q.r.token_at, "unmatched closing parenthesis");
    }
    if (q.r.err == OK && q.leaves.is_failed) q.r.err = error_set(e, ERR_NOMEM, "out of memory");
    if (q.r.err == OK && root == 0) {
        q.r.err = error_set(e, ERR_SYNTAX, "query: empty");
    }
    if (q.r.err == OK) write_node(&q, &q.nodes[root], out);
    buf_fini(&q.leaves);
    return q.r.err;
}
