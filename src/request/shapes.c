/* The arguments that many commands share. */
#include "request/shapes.h"

SHARED_ARGUMENTS(no_arguments, struct one_key, "", {.name = NULL});
SHARED_ARGUMENTS_WITH(any_words_arguments, struct many_words, "[word ...]", WITH(.shown = ""),
                      ARG_WORDS(struct many_words, words, "word"));
SHARED_ARGUMENTS_WITH(container_arguments, struct many_words, "[word ...]",
                      WITH(.shown = "", .words_least = 1),
                      ARG_WORDS(struct many_words, words, "word"));
SHARED_ARGUMENTS(one_key_arguments, struct one_key, "key", ARG_KEY(struct one_key, key, "key", 0));
SHARED_ARGUMENTS(many_keys_arguments, struct many_words, "key [key ...]",
                 ARG_KEY_WORDS(struct many_words, words, "key", 0));
SHARED_ARGUMENTS(key_value_arguments, struct key_word, "key value",
                 ARG_KEY(struct key_word, key, "key", 0), ARG_WORD(struct key_word, word, "value"));
