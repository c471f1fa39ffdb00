/* lineage: a list of gaps. A fork to before an earlier gap swallows it. */
#include "backend/local/lineage.h"

#include "backend/local/archive_manifest.h"
#include "base/mem.h"

void lineage_init(struct lineage *l)
{
    *l = (struct lineage){.timeline = TIMELINE_FIRST};
}

void lineage_fini(struct lineage *l)
{
    mem_free(l->gaps);
    *l = (struct lineage){0};
}

static void gap_add(struct lineage *l, uint64_t fork, uint64_t start)
{
    l->gaps = mem_resize(l->gaps, (l->count + 1) * sizeof l->gaps[0]);
    l->gaps[l->count++] = (struct lineage_gap){.fork = fork, .start = start};
}

bool lineage_read(struct slice text, struct lineage *out)
{
    uint64_t timeline = 0;
    bool is_good = slice_to_u64(slice_take(&text, ' '), &timeline) && timeline <= UINT32_MAX;
    *out = (struct lineage){.timeline = (uint32_t)timeline};
    while (is_good && text.len > 0) {
        uint64_t fork = 0;
        uint64_t start = 0;
        struct slice gap = slice_take(&text, ' ');
        is_good = slice_to_u64(slice_take(&gap, '-'), &fork) && slice_to_u64(gap, &start);
        if (is_good) gap_add(out, fork, start);
    }
    if (!is_good) lineage_fini(out);
    return is_good;
}

void lineage_format(const struct lineage *l, struct buf *out)
{
    buf_append_u64(out, l->timeline);
    for (size_t i = 0; i < l->count; i++) {
        buf_printf(out, " %llu-%llu", (unsigned long long)l->gaps[i].fork,
                   (unsigned long long)l->gaps[i].start);
    }
}

/* A fork before an earlier one: that and what came after it is discarded too. */
void lineage_fork(struct lineage *l, uint32_t timeline, uint64_t fork, uint64_t start)
{
    while (l->count > 0 && l->gaps[l->count - 1].start > fork) {
        struct lineage_gap *last = &l->gaps[l->count - 1];
        if (last->fork < fork) fork = last->fork;
        l->count--;
    }
    gap_add(l, fork, start);
    l->timeline = timeline;
}

bool lineage_is_discarded(const struct lineage *l, uint64_t version, uint64_t *fork)
{
    for (size_t i = 0; i < l->count; i++) {
        if (version <= l->gaps[i].fork || version >= l->gaps[i].start) continue;
        if (fork != NULL) *fork = l->gaps[i].fork;
        return true;
    }
    return false;
}
