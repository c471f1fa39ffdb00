/* load_help: many connections to one server, driven by one poll loop, so that a test can put a
 * server under load without threads and see each reply as it comes.
 *
 * Commands are written as in client.h: a hiredis format in which ' stands for ". Random numbers
 * come from one seed, printed by load_seed and taken from TUPLED_SEED when that is set. For one
 * thread.
 */
#ifndef REDIS_TESTS_LOAD_HELP_H
#define REDIS_TESTS_LOAD_HELP_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server.h"

struct load_client {
    size_t number;
    void *arg; /* of its owner */
    /* A reply, in order; freed by the caller of this. */
    void (*on_reply)(struct load_client *l, const redisReply *r);
    redisContext *c;   /* owned; NULL = closed */
    size_t unanswered; /* commands */
    bool is_gone;      /* the connection was ended by the other side */
};

/* Begins to connect; number, arg and on_reply are the caller's to set. */
void load_open(struct load_client *l, const struct testserver *s);
void load_close(struct load_client *l);
/* Queues a command, to be sent by load_turn. */
void load_say(struct load_client *l, const char *format, ...);
/* Sends what can be sent, waits up to wait_ms for something to come and hands the replies out.
 * False when every client is gone. */
bool load_turn(struct load_client *clients, size_t count, int wait_ms);
/* Turns until no client waits for a reply; fails the test after `limit_ms`, or when one is gone. */
void load_drain(struct load_client *clients, size_t count, long limit_ms);
size_t load_unanswered(const struct load_client *clients, size_t count);

/* Waits until the connection has something to read (or has ended): false after limit_ms. */
bool load_is_readable(const redisContext *c, int limit_ms);
/* Sends what say() has queued. */
void load_flush(redisContext *c);
/* say() and load_flush. */
void load_send(redisContext *c, const char *command);
/* load_send, and waits until one more client is blocked, as `asking` is told, by the command itself:
 * not for want of a leader that may answer. */
void load_block(redisContext *c, redisContext *asking, const char *command);

/* Seeds, and prints the seed. */
void load_seed(void);
uint64_t load_random(void);
/* 0 <= result < limit */
uint64_t load_below(uint64_t limit);

/* From now on servers of this program have their directories under build/, on a real disk. */
void load_use_disk(void);
/* The commit version that a versionstamp shows; fails the test when it is none. */
uint64_t load_version(const redisReply *r);
/* The number of a field of INFO; fails the test when there is none. */
long long load_info(redisContext *c, const char *field);
/* Seconds of processor time that the server has used, the system's aside: what a busy machine does not
 * change. */
double load_cpu_s(redisContext *c);
/* Waits until it is `wanted`, four minutes at most. */
void load_wait_info(redisContext *c, const char *field, long long wanted);
/* The sum of these figures of a queue ("ready leased") as they are at one moment: a message moves
 * from one to another at any time. Fails the test when there is no such figure. */
long long load_queue(redisContext *c, const char *queue, const char *names);
/* TUPLED_LONG=1: a long campaign. */
bool load_is_long(void);
/* Sorts, and fails the test when two are the same. */
void load_expect_distinct(uint64_t *versions, size_t count);

#endif
