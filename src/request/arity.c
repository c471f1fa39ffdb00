/* arity: how many words a command's name has, and how many it may have with them. */
#include "request/arguments.h"
#include "request/numbers.h"

size_t command_words_before(const struct command *c)
{
    const struct numbered *n = numbers_at(number_of(c));
    return n->parent != NULL || n->command != c ? 2 : 1;
}

bool command_arity_fits(const struct command *c, size_t before, size_t argc)
{
    const struct plan *p = c->arguments->plan;
    bool is_enough = argc >= before + p->words_min;
    return is_enough && (p->words_max == WORDS_ANY || argc - before <= p->words_max);
}

bool request_arity_fits(const struct request *rq)
{
    return command_arity_fits(rq->command, rq->words_before, rq->argc);
}

size_t request_words_least(const struct request *rq)
{
    return (size_t)rq->words_before + rq->command->arguments->plan->words_min;
}

int command_arity_own(const struct command *c)
{
    const struct plan *p = c->arguments->plan;
    int least = (int)(command_words_before(c) + p->words_min);
    return p->words_max == p->words_min ? least : -least;
}

void request_be(struct request *rq, const struct command *c, struct slice *argv, size_t argc)
{
    rq->command = c;
    rq->argv = argv;
    rq->argc = argc;
    rq->words_before = (uint8_t)command_words_before(c);
    rq->bound = NULL;
    rq->words_are_wrong = false;
}
