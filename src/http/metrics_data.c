/* metrics_data: the journal, the store, caches, and what is kept in memory beside them. */
#include "http/metrics_int.h"
#include "request/backup.h"

void metrics_journal(struct metrics *m)
{
    const struct backend_stats *s = &m->stats;
    if (s->journal_sync_times != NULL) {
        metrics_family(m, M_SYNC_DURATION);
        metrics_histogram(&m->out, NULL, 0, s->journal_sync_times);
    }
    metrics_figure(m, M_JOURNAL_BYTES, s->journal_bytes);
    metrics_figure(m, M_JOURNAL_SEGMENTS, s->journal_segments);
    metrics_figure(m, M_JOURNAL_BATCHES, s->journal_batches);
    metrics_figure(m, M_JOURNAL_WRITTEN, s->journal_written_bytes);
    metrics_figure(m, M_UNSYNCED, s->journal_unsynced_bytes);
    metrics_figure(m, M_UNACKNOWLEDGED, s->version > s->durable ? s->version - s->durable : 0);
    metrics_family(m, M_CLOCK_AHEAD);
    metrics_milli(&m->out, NULL, 0, s->time_ahead_ms);
}

static void write_unapplied(struct metrics *m)
{
    const struct backend_stats *s = &m->stats;
    metrics_figure(m, M_UNAPPLIED, s->memtable_bytes);
    metrics_figure(m, M_UNAPPLIED_LIMIT, s->memtable_bytes_max);
    metrics_figure(m, M_UNAPPLIED_ENTRIES, s->memtable_entries);
    metrics_figure(m, M_FROZEN, s->frozen_memtables);
    metrics_figure(m, M_THROTTLED, s->throttled);
    metrics_figure(m, M_APPLIES, s->applies);
    metrics_family(m, M_APPLY_TIME);
    metrics_micro(&m->out, NULL, 0, s->apply_us);
    metrics_figure(m, M_APPLY_ROWS, s->apply_rows);
}

static void write_reading(struct metrics *m)
{
    const struct backend_stats *s = &m->stats;
    metrics_figure(m, M_STORE_READS, s->store_reads);
    metrics_figure(m, M_STORE_WAITS, s->store_waits);
    metrics_figure(m, M_SCANS, s->scans_open);
    metrics_figure(m, M_CLEANING, s->has_garbage);
    metrics_figure(m, M_DAMAGED_READS, s->damaged_reads);
    metrics_figure(m, M_DAMAGED_ENTRIES, s->aside_entries);
    metrics_figure(m, M_CACHE_BYTES, s->cache_bytes);
    metrics_figure(m, M_CACHE_ENTRIES, s->cache_entries);
    metrics_figure(m, M_CACHE_HITS, s->cache_hits);
    metrics_figure(m, M_CACHE_MISSES, s->cache_misses);
}

static void write_backup(struct metrics *m)
{
    const struct backup *k = m->env->backup;
    metrics_figure(m, M_BACKUPS, k->saves);
    metrics_figure(m, M_BACKUP_TIME, k->last_s > 0 ? (uint64_t)k->last_s : 0);
    metrics_figure(m, M_BACKUP_FAILED, k->last_result != OK);
}

/* All 0 without an archive. */
static void write_archive(struct metrics *m)
{
    struct archiving_stats s = {.next_ms = 0};
    if (m->env->db->archiving != NULL) archiving_stats(m->env->db->archiving, &s);
    metrics_figure(m, M_ARCHIVE_FAILING, s.archive.is_failing);
    metrics_figure(m, M_ARCHIVE_TIME, (uint64_t)s.archive.time_ms / 1000);
    metrics_figure(m, M_ARCHIVE_BASE_TIME, (uint64_t)s.archive.base_ms / 1000);
}

void metrics_store(struct metrics *m)
{
    const struct env *env = m->env;
    write_unapplied(m);
    write_reading(m);
    write_backup(m);
    write_archive(m);
    metrics_figure(m, M_EXPIRED, engine_expired_count(env->db->engine));
    metrics_figure(m, M_REQUEST_IDS, engine_idem_count(env->db->engine));
    metrics_figure(m, M_WATCHES, watch_count(env->db->watch));
    metrics_family(m, M_CHANNELS);
    metrics_by(m, "kind", "channel", pubsub_names(env->pubsub, PUBSUB_CHANNEL));
    metrics_by(m, "kind", "pattern", pubsub_names(env->pubsub, PUBSUB_PATTERN));
    metrics_by(m, "kind", "shard", pubsub_names(env->pubsub, PUBSUB_SHARD));
}
