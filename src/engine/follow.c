/* follow: what another process committed reaches the layers of this one. */
#include "engine/engine_int.h"

#define ARENA_BYTES (16 * 1024)

/* Layers keep something of these in memory, which is read at the start. */
#define KEPT_KINDS (LAYER_SPACE(SPACE_DATABASE) | LAYER_SPACE(SPACE_INDEX) | LAYER_FLUSH)

enum err engine_follow(struct engine *g, const struct txn_view *txn, struct error *e)
{
    struct arena arena;
    struct write_set ws = {.arena = &arena, .time_ms = txn->time_ms};
    struct slice rest = txn->bytes;
    struct mutation mu;
    enum err r = OK;
    arena_init(&arena, ARENA_BYTES);
    while (mutation_read(&rest, &mu)) {
        write_set_add(&ws, mu.kind, mu.key, mu.value, mu.expiry_ms);
    }
    if ((ws.kinds & KEPT_KINDS) != 0 && !engine_is_started(g)) {
        r = error_set(e, ERR_STALE, "databases or indexes changed while they were read");
    } else {
        engine_tell_layers(g, txn->version, &ws);
    }
    arena_fini(&arena);
    return r;
}
