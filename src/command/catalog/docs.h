/* docs: COMMAND DOCS, from which redis-cli makes its help and its hints. */
#ifndef COMMAND_CATALOG_DOCS_H
#define COMMAND_CATALOG_DOCS_H

#include "request/command.h"

/* COMMAND DOCS [name ...], in the shape of Redis 7.0. */
enum err command_docs_run(struct request *rq);

#endif
