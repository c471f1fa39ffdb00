#include "campaign/talk.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CONNECT_MS 500
#define AGAIN_US 10000

int64_t talk_now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* splitmix64 */
uint64_t talk_below(struct talk *t, uint64_t limit)
{
    uint64_t z = t->random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % limit;
}

void talk_close(struct talk *t)
{
    if (t->c != NULL) redisFree(t->c);
    t->c = NULL;
}

/* ---- the command ---- */

void talk_begin(struct talk *t)
{
    t->word_count = 0;
    t->begun_us = t->ended_us = 0;
}

void talk_word(struct talk *t, const char *format, ...)
{
    va_list args;
    if (t->word_count == TALK_WORDS_MAX) abort();
    va_start(args, format);
    vsnprintf(t->words[t->word_count++], TALK_WORD_BYTES, format, args);
    va_end(args);
}

/* ---- sending it ---- */

static bool is_over(const struct talk *t)
{
    return talk_now_us() >= t->until_us;
}

static void next_node(struct talk *t)
{
    talk_close(t);
    if (!t->is_reader) t->node = (t->node + 1) % t->nodes->count;
    if (t->node == 0 || t->is_reader) usleep(AGAIN_US);
}

/* Its node answers reads itself from now on. */
static bool says_readonly(struct talk *t)
{
    if (!t->is_looker) return true;
    redisReply *r = redisCommand(t->c, "READONLY");
    bool is_done = r != NULL && r->type == REDIS_REPLY_STATUS;
    freeReplyObject(r);
    return is_done;
}

/* False when the run is over before any node could be reached. */
static bool reach(struct talk *t)
{
    struct timeval connect_time = {0, CONNECT_MS * 1000};
    struct timeval time = {t->reply_ms / 1000, t->reply_ms % 1000 * 1000};
    while (t->c == NULL && !is_over(t)) {
        t->c = redisConnectWithTimeout(t->nodes->host[t->node], t->nodes->port[t->node],
                                       connect_time);
        if (t->c != NULL && t->c->err == 0 && redisSetTimeout(t->c, time) == REDIS_OK &&
            says_readonly(t)) {
            t->connections++;
            return true;
        }
        next_node(t);
    }
    return t->c != NULL && !is_over(t);
}

static redisReply *ask_here(struct talk *t)
{
    const char *words[TALK_WORDS_MAX];
    for (int i = 0; i < t->word_count; i++) words[i] = t->words[i];
    redisReply *r = redisCommandArgv(t->c, t->word_count, words, NULL);
    if (r == NULL) next_node(t);
    return r;
}

/* This node cannot serve now: another one may. Nothing has happened. */
static bool is_elsewhere(const redisReply *r)
{
    static const char *const words[] = {"TRYAGAIN", "LOADING", "CLUSTERDOWN", "READONLY",
                                        "MASTERDOWN"};
    if (r->type != REDIS_REPLY_ERROR) return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strncmp(r->str, words[i], strlen(words[i])) == 0) return true;
    }
    return false;
}

redisReply *talk_ask(struct talk *t, enum talk_mode mode)
{
    while (reach(t)) {
        if (t->begun_us == 0 || mode == TALK_READ) t->begun_us = talk_now_us();
        redisReply *r = ask_here(t);
        t->ended_us = talk_now_us();
        if (r != NULL && !is_elsewhere(r)) return r;
        if (r != NULL) {
            next_node(t);
            usleep(AGAIN_US);
        }
        /* An error says that nothing happened; so it can be sent again. */
        if (r == NULL && mode == TALK_ONCE) return NULL;
        if (r != NULL && mode == TALK_ONCE) t->begun_us = 0;
        freeReplyObject(r);
    }
    if (mode == TALK_READ) t->begun_us = 0;
    return NULL;
}
