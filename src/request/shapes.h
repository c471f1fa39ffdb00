/* shapes: arguments that many commands have, so that none of them describes its own. */
#ifndef REQUEST_SHAPES_H
#define REQUEST_SHAPES_H

#include "request/arguments.h"

/* That of a command without arguments is no_arguments (command.h). */

/* Of a command that has subcommands: the first word is one of them. */
extern const struct arguments container_arguments;

struct one_key {
    struct slice key; /* internal */
};
extern const struct arguments one_key_arguments; /* "key" */

struct key_word {
    struct slice key, word; /* the word as it came */
};
extern const struct arguments key_value_arguments; /* "key value" */

/* Of what it is, each command says itself. */
struct one_word {
    struct slice word;
};

struct many_words {
    struct slices words;
};
extern const struct arguments any_words_arguments; /* which have no meaning */
extern const struct arguments many_keys_arguments; /* "key [key ...]": words, as they came */

#endif
