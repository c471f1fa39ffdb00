/* scan_cursors: see scan_cursors.h. */
#include "request/scan_cursors.h"

#include "base/mem.h"
#include "base/random.h"
#include "request/feature.h"
#include "request/table.h"

#define CURSORS_MAX 4096

struct scan_cursor {
    uint64_t id;
    uint16_t database;
    struct buf place; /* owned */
};

struct scan_cursors {
    struct scan_cursor rows[CURSORS_MAX];
    uint64_t next_id;
};

static struct scan_cursors *scan_cursors_new(void)
{
    struct scan_cursors *t = mem_new(sizeof *t);
    /* Another start gives other numbers, so that a cursor of before is not found. All stay below
     * 2^53. */
    uint32_t start = 0;
    random_system(&start, sizeof start);
    t->next_id = ((uint64_t)(start & 0xfffff) << 32) + 1;
    return t;
}

static void scan_cursors_free(struct scan_cursors *t)
{
    if (t == NULL) return;
    for (size_t i = 0; i < CURSORS_MAX; i++) buf_fini(&t->rows[i].place);
    mem_free(t);
}

static void scan_open(struct env *env)
{
    env->scan_cursors = scan_cursors_new();
}

static void scan_close(struct env *env)
{
    scan_cursors_free(env->scan_cursors);
    env->scan_cursors = NULL;
}

const struct feature scan_feature = {
    .open = scan_open,
    .close = scan_close,
};

uint64_t scan_cursor_add(struct request *rq, struct slice place)
{
    struct scan_cursors *t = rq->env->scan_cursors;
    uint64_t id = t->next_id++;
    struct scan_cursor *row = &t->rows[id % CURSORS_MAX];
    row->id = id;
    row->database = rq->client->database;
    buf_clear(&row->place, SIZE_MAX);
    buf_append(&row->place, place.data, place.len);
    buf_require(&row->place);
    return id;
}

enum err scan_cursor_read(struct request *rq, struct slice word, struct slice *place)
{
    const struct scan_cursors *t = rq->env->scan_cursors;
    uint64_t id = 0;
    *place = slice_of(NULL, 0);
    if (!slice_to_u64(word, &id)) return error_set(&rq->error, ERR_SYNTAX, "invalid cursor");
    if (id == 0) return OK;
    const struct scan_cursor *row = &t->rows[id % CURSORS_MAX];
    if (row->id != id || row->database != rq->client->database) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "invalid cursor: unknown or expired; start again with 0");
    }
    *place = buf_slice(&row->place);
    return OK;
}
