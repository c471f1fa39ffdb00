/* ids: what keeps ids that are given here apart from those that were loaded (load.c): rows.h.
 *
 * No id is given that is at or below one that was loaded: a commit that loads an id of version x,
 * itself having version v, leaves x - v + 1 to be added, for what the same transaction enqueues
 * after it too; and every later commit has a version above v.
 */
#include "queue/queue_int.h"

bool is_ids_row(struct slice key)
{
    return key.len == KEY_HEAD_BYTES + 1 && key.data[KEY_HEAD_BYTES] == 0 &&
           key_space(key) == SPACE_QUEUE && key_database(key) == IDS_DATABASE;
}

void ids_row_read(struct queues *qs, struct slice value)
{
    if (value.len == 8) qs->id_ahead = get_u64(value.data);
}

static struct slice ids_key(struct arena *arena)
{
    struct row_place place = {.database = IDS_DATABASE};
    return row_key(arena, &place, SPACE_QUEUE, slice_of(NULL, 0));
}

enum err ids_ahead(struct queues *qs, struct view *v, uint64_t *out, struct error *e)
{
    struct entry own;
    enum err r = engine_start_check(qs->engine, SPACE_QUEUE, IDS_DATABASE, v->waiter, e);
    *out = qs->id_ahead;
    if (r != OK || v->overlay == NULL) return r;
    if (view_own(v, ids_key(v->arena), &own) && own.exists) *out = get_u64(own.value.data);
    return OK;
}

enum err ids_pass(struct queues *qs, struct view *v, const struct message_id *id, struct error *e)
{
    uint64_t ahead = 0;
    uint64_t version = get_u64(id->bytes);
    if (version >= ID_VERSION_MAX) {
        return error_set(e, ERR_SYNTAX, "no server returns an id that large");
    }
    enum err r = ids_ahead(qs, v, &ahead, e);
    if (r != OK || version < v->version + ahead) return r;
    uint8_t *value = arena_alloc(v->arena, 8);
    put_u64(value, version - v->version + 1);
    view_set(v, ids_key(v->arena), slice_of(value, 8));
    return OK;
}
