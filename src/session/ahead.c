#include "session/ahead.h"

#include "request/args.h"
#include "request/keys.h"

/* A command of so many words or more is passed over: it alone has more keys than are fetched at
 * once. */
#define WORDS_MAX 32

/* Adds the keys of these words to `keys`. Words that are wrong, or IDEM and FORMAT at their end,
 * make no key or one that nobody asks for: nothing is promised here. */
static size_t add_keys(struct request *rq, struct slice *keys, size_t count)
{
    struct key_uses uses = {.arena = rq->arena};
    rq->command = command_find(rq->argv[0]);
    if (rq->command == NULL || !command_arity_fits(rq->command, rq->argc)) return count;
    (void)command_keys(rq->command, rq->argv, rq->argc, &uses);
    for (size_t i = 0; i < uses.count && count < BACKEND_EXPECT_MAX; i++) {
        count += arg_key(rq, uses.items[i].word, &keys[count]) == OK;
    }
    return count;
}

size_t ahead_look(struct env *env, struct client *client, const struct resp_reader *r,
                  struct arena *arena, struct buf *scratch)
{
    struct backend *b = env->db->backend;
    struct slice keys[BACKEND_EXPECT_MAX];
    struct slice words[WORDS_MAX];
    struct request rq = {.env = env,
                         .client = client,
                         .argv = words,
                         .arena = arena,
                         .scratch = scratch,
                         .format = client->format};
    size_t count = 0;
    size_t commands = 0;
    size_t at = 0;
    if (!b->is_far || client->user == NULL) return BACKEND_EXPECT_MAX;
    while (count < BACKEND_EXPECT_MAX && commands < BACKEND_EXPECT_MAX) {
        rq.argc = resp_reader_peek(r, &at, words, WORDS_MAX);
        bool is_alone = commands == 0 && at == resp_reader_rest(r).len;
        if (rq.argc == 0 || is_alone) break;
        commands++;
        if (rq.argc < WORDS_MAX) count = add_keys(&rq, keys, count);
    }
    if (count > 1) b->ops->expect(b, keys, count);
    arena_reset(arena);
    return commands > 0 ? commands : 1;
}
