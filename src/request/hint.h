/* hint: what a person at a prompt has probably meant, added to the error of an argument. */
#ifndef REQUEST_HINT_H
#define REQUEST_HINT_H

#include "request/command.h"

/* rq->error is that of the key, or value, `arg`. */
void hint_key(struct request *rq, struct slice arg);
void hint_value(struct request *rq, struct slice arg);
/* A command that takes FORMAT or IDEM has the word elsewhere: says where it belongs. False: it is
 * another word. */
bool hint_misplaced(struct request *rq, struct slice word);
/* As if the words were too many for any form of the command: for `hint` (arguments.h) where Redis
 * says so. True. */
bool hint_number(struct request *rq, struct slice word);
/* If the error is about a count and how much follows it: says that the first number is a count. */
void hint_count(struct request *rq, const char *what, const char *example);

#endif
