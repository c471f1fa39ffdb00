/* subjects: what a command touches, for permissions: keys in path form (codec/key.h), what lies
 * below a prefix, queues, channels, databases. The kinds of a command's arguments add it, and a
 * function `subjects` (arguments.h) what they do not say.
 *
 * All of it is taken from the words: nothing is looked up but the names of databases and indexes.
 */
#ifndef REQUEST_SUBJECTS_H
#define REQUEST_SUBJECTS_H

#include "access/ask.h"
#include "index/index.h"
#include "request/keys.h"

/* What is asked for as one command. */
struct subjects_group {
    const struct command *command;
    size_t from; /* its first subject */
};

/* Everything in the request's arena. */
struct subjects {
    struct request *rq;
    struct access_subject *items;
    size_t count, cap;
    struct subjects_group *groups;
    size_t group_count, group_cap;
    bool is_unclear; /* the words do not say all of it: the command will refuse them */
    bool is_hidden;  /* some of it is not in the words: no error may name it */
};

/* Of rq->command, whose words are bound. OK, or ERR_WAIT. */
ERR_MUST_USE enum err subjects_of(struct request *rq, struct subjects *out);

/* `key`: internal. needs: enum access_need; 0 = either. */
void subjects_key(struct subjects *s, struct slice key, unsigned needs);
/* enum access_need of enum key_flag. */
unsigned subjects_needs(unsigned key_flags);
/* Likewise, as a key that is used so: enum key_flag. */
void subjects_key_used(struct subjects *s, struct slice key, unsigned key_flags);
/* All that the index may have entries of. */
void subjects_index(struct subjects *s, const struct definition *d, unsigned needs);
/* All that lies below the tuple (of the selected database). */
void subjects_below(struct subjects *s, struct slice tuple, unsigned needs);
void subjects_all_keys(struct subjects *s, unsigned needs);
void subjects_queue(struct subjects *s, struct slice name, unsigned needs);
/* Of a receipt that is none, nothing. */
void subjects_receipt(struct subjects *s, struct slice receipt);
/* A key of the words, in JSON or MessagePack, or as the command takes it: subjects_key. */
void subjects_word(struct subjects *s, struct slice word, unsigned key_flags);
void subjects_channel(struct subjects *s, struct slice name);
void subjects_channels(struct subjects *s, struct slice pattern);
/* Every key whose path begins with the text. */
void subjects_paths(struct subjects *s, struct slice text, unsigned needs);
/* Of a command that has no flag which says that it is about the selected one, or of another. */
void subjects_database_of(struct subjects *s, uint16_t number);
/* By name or number. */
void subjects_database(struct subjects *s, struct slice word);
void subjects_all_databases(struct subjects *s);
/* What is added from now on is asked for as this command's. */
void subjects_as(struct subjects *s, const struct command *c);

/* "!queue/<name>" in the arena. */
struct slice subject_of_queue(struct arena *arena, struct slice name);
/* The path of the tuple and a slash; empty for the empty one. */
struct slice subject_of_prefix(struct arena *arena, struct slice tuple);
/* What the paths of all keys that the index may have entries of begin with. */
struct slice subject_of_index(struct arena *arena, const struct definition *d);
struct access_subject subject_of_database(struct arena *arena, const struct database *d);

#endif
