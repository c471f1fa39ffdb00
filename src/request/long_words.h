/* long_words: values in the words of a command that take long to be decoded are decoded by a
 * thread, while the command waits as it waits for the disk. So the loop serves others meanwhile.
 *
 *   arg_value meets a long word  -> a job gets a copy of it, ERR_WAIT
 *   the job is done              -> the command is run again, and finds the value
 *   the command is over          -> long_words_clear
 *
 * What is found is found by the place of the word in memory, which stays the same while a command
 * waits. Loop thread.
 */
#ifndef REQUEST_LONG_WORDS_H
#define REQUEST_LONG_WORDS_H

#include "request/command.h"

/* The value of a word in the format of rq. OK with *is_known false: the word is short, or there is
 * no thread for it, or it may have a placeholder: decode it now. ERR_WAIT; or the error of the
 * word. */
ERR_MUST_USE enum err long_word_value(struct request *rq, struct slice word, bool *is_known,
                                      struct slice *value);
/* The command is over, or never will be. Harmless when there are none. */
void long_words_clear(struct client *c);
/* Bytes held. */
size_t long_words_bytes(const struct client *c);
/* In each turn: what the thread has done. */
void long_words_turn(struct env *env);
/* After the last client. */
void long_words_close(struct env *env);

#endif
