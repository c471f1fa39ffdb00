/* make: random commands of a family, from templates.
 *
 * A template is the words of a command; in it stand
 *
 *   $k key             $w field or member   $v value          $i index      $c count, 0 or more
 *   $n integer         $f number            $s score          $g weight     $p count, 1 or more
 *   $b score bound     $x lexical bound     $o offset, limit  $r rank, not 0
 *   $t seconds, long   $T milliseconds, long                   $h field of hashes, for SORT
 *   $l longitude, latitude    $d distance, unit    $C where a search begins    $A what it is in
 *   [..] there or not        <a|b> one of them        {..}+ 1 to 4 times        {..}* 1 to 40 times
 *
 * All other words stand for themselves, but for ! in a template that has a mistake. What others give
 * has none, as far as words can tell; the maker makes one now and then, and never two.
 */
#ifndef TESTS_DIFF_MAKE_H
#define TESTS_DIFF_MAKE_H

#include "base/random.h"
#include "diff/sequence.h"

struct form {
    unsigned weight; /* of the templates of its family */
    const char *text;
};

struct family {
    const char *name;
    const struct form *templates;
    size_t count;
};

/* hash, list, set, zset, stream, hyperloglog, sort, geo, and lex, which has keys of its own: it is the
 * last. */
extern const struct family families[];
extern const size_t family_count;
/* What all keys have, and strings; what waits, for ever; the same for transactions and scripts; and
 * what others wait for. */
extern const struct family family_generic;
extern const struct family family_waiting;
extern const struct family family_held;
extern const struct family family_feeding;

/* NULL when there is none of that name. */
const struct family *family_find(const char *name);

/* What differs from one sequence to the next. */
struct maker {
    struct rng rng;
    struct sequence *to;
    const struct family *family;            /* NULL = any, another for each command */
    unsigned keys;                          /* different ones */
    unsigned words;                         /* likewise */
    unsigned generic;                       /* of 100 commands */
    bool has_one_score;                     /* else the order of members means nothing */
    bool is_faultless;                      /* makes no mistakes */
    bool is_watching;                       /* see DEVIATION_GROUPS */
    bool (*is_there)(struct slice command); /* do both servers have it? */
    uint64_t ids;                           /* of stream entries, given out in order */
};

/* Draws what differs. */
void maker_init(struct maker *m, uint64_t seed, const struct family *family, struct sequence *to);
/* Appends a command, a transaction, a script: one call or more. */
void maker_step(struct maker *m);
/* Likewise of clients that wait on the connections 1 to `clients`, and one that feeds them. The
 * word #3 stands for the id of the client on connection 3. */
void maker_waiting_step(struct maker *m, unsigned clients);
/* Appends one command of the family. */
void maker_command(struct maker *m, const struct family *of, unsigned connection);
/* A key. Good until the next call. */
struct slice maker_key(struct maker *m);

#endif
