/* frames: messages for watches that wait for their callback, and the end of a watch. */
#include "base/mem.h"
#include "embedded/embedded_int.h"
#include "resp/item.h"

static void add_one(struct tupled_watch *w, struct slice bytes, uint64_t version)
{
    struct tupled_db *db = w->db;
    struct frame *f = mem_alloc_try(sizeof *f + bytes.len);
    if (f == NULL) {
        struct error e;
        (void)error_set(&e, ERR_NOMEM, "out of memory for a change; watch again");
        watch_end(w, &e);
        return;
    }
    *f = (struct frame){.watch = w, .version = version, .len = bytes.len};
    bytes_copy(f->bytes, bytes.data, bytes.len);
    if (version > db->frame_version) db->frame_version = version;
    f->version = db->frame_version;
    *db->frame_last = f;
    db->frame_last = &f->next;
    w->seat->client.link->output_bytes += f->len;
    if (db->frame_first == f && f->version <= db->durable) db->has_news = true;
}

void frames_add(struct tupled_watch *w, struct slice bytes, uint64_t version)
{
    while (bytes.len > 0) {
        size_t len = resp_reply_length(bytes);
        INVARIANT(len > 0);
        add_one(w, slice_of(bytes.data, len), version);
        bytes = slice_of(bytes.data + len, bytes.len - len);
    }
}

void frames_drop(struct tupled_watch *w)
{
    struct tupled_db *db = w->db;
    struct frame **at = &db->frame_first;
    while (*at != NULL) {
        struct frame *f = *at;
        if (f->watch != w) {
            at = &f->next;
            continue;
        }
        *at = f->next;
        mem_free(f);
    }
    db->frame_last = at;
}

void watch_end(struct tupled_watch *w, const struct error *e)
{
    if (w->end.code != OK) return;
    w->end = *e;
    w->db->has_ended_watches = w->db->has_news = true;
}
