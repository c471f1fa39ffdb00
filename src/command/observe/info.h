/* info: what INFO tells that metrics tell too. */
#ifndef COMMAND_OBSERVE_INFO_H
#define COMMAND_OBSERVE_INFO_H

#include "backend/backend.h"

/* In one word what an operator must know: one of health_words, of which the first is good. */
#define HEALTH_WORDS 4
extern const char *const health_words[HEALTH_WORDS];
const char *health_word(const struct backend_stats *s);

#endif
