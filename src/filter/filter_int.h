/* filter_int: a compiled filter. A tree of nodes; a node of a field has conditions, which all must
 * hold; a condition is an operator and its operand.
 */
#ifndef FILTER_FILTER_INT_H
#define FILTER_FILTER_INT_H

#include "codec/json_lex.h"
#include "codec/names.h"
#include "filter/filter.h"
#include "filter/fold_int.h"
#include "filter/literal_int.h"
#include "filter/path.h"

/* In this order: "and" is the least, "or" the greatest, "not" what is left to 2. */
enum truth { IS_FALSE, IS_UNKNOWN, IS_TRUE };

/* What an operator wants after it. */
enum operand {
    OPERAND_LITERAL, /* any value */
    OPERAND_LIST,    /* an array of them */
    OPERAND_BOUND,   /* something with an order */
    OPERAND_BOUNDS,  /* an array of two such */
    OPERAND_TEXT,    /* a string */
    OPERAND_FOLDED,  /* a string, without regard to case */
    OPERAND_SWITCH   /* true or false */
};

/* What must be there for it to be true (demand.h). */
enum op_demand {
    ASKS_NOTHING, /* that an index holds */
    ASKS_EQUAL,   /* a value of its set */
    ASKS_PREFIX,  /* a string that begins with its text */
    ASKS_ORDER,   /* a value before or after its bound, or equal to it */
    ASKS_BETWEEN  /* one between its two */
};

struct condition;

struct op {
    const char *name;
    enum operand operand;
    enum op_demand demand;
    /* `s` is the field's value, STORED_MISSING when there is none. */
    enum truth (*test)(const struct condition *c, const struct stored *s);
    bool is_negated;
    unsigned accepts; /* of an order: ORDER_.. */
};

enum order {
    ORDER_LESS = 1,
    ORDER_EQUAL = 2,
    ORDER_GREATER = 4,
    ORDER_AT_MOST = ORDER_LESS | ORDER_EQUAL,
    ORDER_AT_LEAST = ORDER_GREATER | ORDER_EQUAL
};

struct bound {
    struct stored value;
    bool is_now; /* a Date is compared with it too */
};

struct condition {
    const struct op *op;
    struct condition *next; /* of the same field; NULL at the end */
    bool is_negated;
    union {
        struct literal_set set; /* OPERAND_LITERAL, OPERAND_LIST, OPERAND_TEXT */
        struct bound bounds[2]; /* OPERAND_BOUND (the first), OPERAND_BOUNDS */
        struct fold fold;       /* OPERAND_FOLDED */
    };
};

enum node_kind { NODE_FIELD, NODE_AND, NODE_OR, NODE_NOT };

struct node {
    enum node_kind kind;
    struct node *next;            /* child of the same parent; NULL at the end */
    struct node *children;        /* NODE_AND, NODE_OR: any number; NODE_NOT: one */
    const struct path *path;      /* NODE_FIELD */
    struct condition *conditions; /* NODE_FIELD */
};

struct filter {
    struct arena arena; /* holds all that is below */
    size_t references;
    size_t conditions; /* how many there are */
    struct node *root;
};

/* ---- compiling ---- */

struct compile {
    struct json j; /* j.code is the error to return; it begins as ERR_SYNTAX */
    struct arena *arena;
    int64_t now_ms;
    unsigned depth;      /* of $and, $or, $not */
    size_t conditions;   /* so far, of FILTER_CONDITIONS_MAX */
    struct names names;  /* of the objects that are open */
    struct buf text;     /* names as they are without escapes; owned */
    struct buf packed;   /* the literal being read; owned */
    struct slice field;  /* being read, for errors; len 0: none */
    const char *op_name; /* likewise; NULL: none */
};

/* Sets the error "where: <field>: <operator> <what>"; false. */
bool compile_fail(struct compile *c, enum err code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Counts one condition more; false: there are too many. */
bool compile_count(struct compile *c);

/* An object or array is read member by member:
 *
 *   if (!compile_open(c, '{', &more)) ..
 *   while (more) { name, value; if (!compile_next(c, '}', &more)) ..; }
 */
bool compile_open(struct compile *c, char open, bool *more);
bool compile_next(struct compile *c, char close, bool *more);
/* A name and its ':'. raw is what is between the quotes. */
bool compile_name(struct compile *c, struct slice *raw, bool *has_escape);
/* Moves past any value, hardly looking at it. */
bool compile_skip(struct compile *c);

/* The condition of a field: a literal or an object of operators. */
bool compile_conditions(struct compile *c, struct condition **out);

/* NULL when there is no such operator. */
const struct op *op_find(struct slice raw, bool has_escape);

#endif
