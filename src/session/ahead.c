#include "session/ahead.h"

#include "request/args.h"

#define WORDS_MAX 4

/* The first key of these words; false when they have none in a fixed place near their beginning. */
static bool first_key(struct request *rq, size_t count, struct slice *key)
{
    rq->command = command_find(rq->argv[0]);
    if (rq->command == NULL || rq->command->first_key <= 0) return false;
    if ((size_t)rq->command->first_key >= count) return false;
    return arg_key(rq, rq->argv[rq->command->first_key], key) == OK;
}

static bool has_several(const struct resp_reader *r)
{
    struct slice word;
    size_t at = 0;
    if (resp_reader_peek(r, &at, &word, 1) == 0) return false;
    return resp_reader_peek(r, &at, &word, 1) > 0;
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
    if (!has_several(r)) return 1;
    while (commands < BACKEND_EXPECT_MAX) {
        rq.argc = resp_reader_peek(r, &at, words, WORDS_MAX);
        if (rq.argc == 0) break;
        commands++;
        count += first_key(&rq, rq.argc, &keys[count]);
    }
    if (count > 1) b->ops->expect(b, keys, count);
    arena_reset(arena);
    return commands > 0 ? commands : 1;
}
