/* metrics_names: what has names: queues, indexes, databases. The first ones that the user may see
 * are told by name: databases by number, queues and indexes by the number of their database and
 * then by name. Of all others only sums are told, as `_other`. So that a user who may see few does
 * not make it look at many, it looks at LOOKS for each name that it may tell, and no more.
 *
 * A name that is not UTF-8, has a byte 0 or is `_other` itself is one of the others: a label cannot
 * tell it.
 */
#include "codec/utf8.h"
#include "http/metrics_int.h"
#include "request/permission.h"
#include "request/table.h"

#define LOOKS 10
#define OTHER "_other"

static bool can_be_label(struct slice name)
{
    bool has_zero = memchr(name.data, 0, name.len) != NULL;
    return !has_zero && utf8_valid_bytes(name) == name.len && !slice_eq(name, slice_str(OTHER));
}

/* NULL: nothing of it is told by name. The catalog is read after a start, before all others. */
static const struct database *database_of(const struct metrics *m, uint16_t number)
{
    struct databases *all = m->env->db->databases;
    struct databases_totals totals;
    databases_totals(all, &totals);
    const struct database *d = totals.is_reading ? NULL : database_get(all, number);
    return d != NULL && can_be_label(d->name) ? d : NULL;
}

/* May the user see x there? Its text is in the scratch arena. */
static bool may_see(struct metrics *m, const struct database *d, const struct access_subject *x)
{
    bool is_allowed = client_may_see(m->client, &cmd_info, d, x, &m->scratch);
    arena_reset(&m->scratch);
    return is_allowed;
}

static size_t looks_of(const struct metrics *m)
{
    return m->options->names_max * LOOKS;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- queues ---- */

struct named_queue {
    struct slice database, name;
    struct queue_figures figures;
};

/* The last item is that of the others, if there are some. */
struct named_queues {
    struct named_queue *items; /* in the arena */
    size_t count;
};

static bool queue_is_told(struct metrics *m, const struct queue *q, const struct database *d)
{
    if (d == NULL || !can_be_label(queue_name(q))) return false;
    struct access_subject x = {.kind = ACCESS_KEY,
                               .text = subject_of_queue(&m->scratch, queue_name(q)),
                               .needs = ACCESS_READ};
    return may_see(m, d, &x);
}

static void take_off(struct queues_totals *t, const struct queue_figures *f)
{
    t->queues--;
    t->counts.ready -= f->counts.ready;
    t->counts.delayed -= f->counts.delayed;
    t->counts.leased -= f->counts.leased;
    t->counts.dead -= f->counts.dead;
    t->flows.enqueued -= f->flows.enqueued;
    t->flows.delivered -= f->flows.delivered;
    t->flows.acked -= f->flows.acked;
    t->flows.nacked -= f->flows.nacked;
    t->flows.expired -= f->flows.expired;
}

static struct named_queues find_queues(struct metrics *m, const struct queues_totals *t)
{
    struct queues *qs = m->env->db->queues;
    struct queues_totals others = *t;
    struct named_queues n = {0};
    size_t max = least(m->options->names_max, t->queues);
    size_t looks = looks_of(m);
    n.items = arena_alloc(&m->arena, (max + 1) * sizeof *n.items);
    struct queue *q = queues_first(qs);
    for (; q != NULL && n.count < max && looks > 0; q = queues_next(q), looks--) {
        const struct database *d = database_of(m, queue_database(q));
        if (!queue_is_told(m, q, d)) continue;
        struct named_queue *x = &n.items[n.count++];
        *x = (struct named_queue){.database = d->name, .name = queue_name(q)};
        queue_figures(q, &x->figures);
        take_off(&others, &x->figures);
    }
    if (others.queues > 0) {
        n.items[n.count++] = (struct named_queue){
            .database = slice_str(OTHER),
            .name = slice_str(OTHER),
            .figures = {.counts = others.counts, .flows = others.flows}};
    }
    return n;
}

static void write_messages(struct metrics *m, const struct named_queues *n)
{
    metrics_family(m, M_QUEUE_MESSAGES);
    for (size_t i = 0; i < n->count; i++) {
        const struct named_queue *x = &n->items[i];
        const struct counts *c = &x->figures.counts;
        const struct {
            const char *word;
            uint64_t value;
        } states[] = {
            {"ready", c->ready}, {"delayed", c->delayed}, {"leased", c->leased}, {"dead", c->dead}};
        for (size_t k = 0; k < sizeof states / sizeof states[0]; k++) {
            struct metrics_label labels[] = {{"database", x->database},
                                             {"queue", x->name},
                                             {"state", slice_str(states[k].word)}};
            metrics_u64(&m->out, labels, 3, states[k].value);
        }
    }
}

static void write_ages(struct metrics *m, const struct named_queues *n)
{
    metrics_family(m, M_QUEUE_AGE);
    for (size_t i = 0; i < n->count; i++) {
        const struct named_queue *x = &n->items[i];
        struct metrics_label labels[] = {{"database", x->database}, {"queue", x->name}};
        if (x->figures.is_age_known) metrics_milli(&m->out, labels, 2, x->figures.oldest_ms);
    }
}

static void write_flow(struct metrics *m, const struct named_queues *n, enum metric_id id,
                       size_t offset)
{
    metrics_family(m, id);
    for (size_t i = 0; i < n->count; i++) {
        const struct named_queue *x = &n->items[i];
        struct metrics_label labels[] = {{"database", x->database}, {"queue", x->name}};
        const void *at = (const char *)&x->figures.flows + offset;
        metrics_u64(&m->out, labels, 2, *(const uint64_t *)at);
    }
}

void metrics_queues(struct metrics *m)
{
    struct named_queues n = find_queues(m, &m->figures.queues);
    write_messages(m, &n);
    write_ages(m, &n);
    write_flow(m, &n, M_QUEUE_ENQUEUED, offsetof(struct queue_flows, enqueued));
    write_flow(m, &n, M_QUEUE_DELIVERED, offsetof(struct queue_flows, delivered));
    write_flow(m, &n, M_QUEUE_ACKED, offsetof(struct queue_flows, acked));
    write_flow(m, &n, M_QUEUE_NACKED, offsetof(struct queue_flows, nacked));
    write_flow(m, &n, M_QUEUE_EXPIRED, offsetof(struct queue_flows, expired));
}

/* ---- indexes ---- */

/* How many are in each state. */
struct index_states {
    uint64_t filling, ready, failed;
};

struct named_index {
    struct slice database;
    const struct index *index;
};

static bool index_is_told(struct metrics *m, const struct index *x, const struct database *d)
{
    if (d == NULL || !can_be_label(x->definition.name)) return false;
    struct access_subject subject = {.kind = ACCESS_PREFIX,
                                     .text = subject_of_index(&m->scratch, &x->definition),
                                     .needs = ACCESS_READ};
    return may_see(m, d, &subject);
}

/* How far a single text index is only the store knows. While any of them is being filled in, all of
 * them are told as such. */
static struct index_states states_of(const struct metrics *m, const struct index *x)
{
    enum index_state state = x->definition.state;
    bool is_text = x->definition.kind == INDEX_TEXT;
    bool is_filling = is_text ? m->figures.backend.is_text_filling : state == INDEX_FILLING;
    if (state == INDEX_FAILED) return (struct index_states){.failed = 1};
    return (struct index_states){.filling = is_filling, .ready = !is_filling};
}

static void write_states(struct metrics *m, struct slice database, struct slice name, bool is_text,
                         struct index_states s)
{
    const struct {
        const char *word;
        uint64_t value;
    } states[] = {{"filling", s.filling}, {"ready", s.ready}, {"failed", s.failed}};
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        struct metrics_label labels[] = {{"database", database},
                                         {"index", name},
                                         {"kind", slice_str(is_text ? "text" : "value")},
                                         {"state", slice_str(states[i].word)}};
        metrics_u64(&m->out, labels, 4, states[i].value);
    }
}

/* Those that have a name here, out of all of *t, which is then that of the others. */
static struct named_index *find_indexes(struct metrics *m, struct indexes_totals *t, size_t *count)
{
    const struct indexes *ix = m->env->db->indexes;
    size_t max = least(m->options->names_max, t->value + t->text);
    size_t looks = looks_of(m);
    struct named_index *items = arena_alloc(&m->arena, (max + 1) * sizeof *items);
    const struct index *x;
    *count = 0;
    for (uint32_t i = 0; (x = indexes_next(ix, &i)) != NULL; i++) {
        const struct database *d = database_of(m, (uint16_t)i);
        for (; x != NULL && *count < max && looks > 0; x = x->next, looks--) {
            if (!index_is_told(m, x, d)) continue;
            items[(*count)++] = (struct named_index){.database = d->name, .index = x};
            bool is_text = x->definition.kind == INDEX_TEXT;
            *(is_text ? &t->text : &t->value) -= 1;
            t->filling -= !is_text && x->definition.state == INDEX_FILLING;
            t->failed -= x->definition.state == INDEX_FAILED;
        }
        if (*count == max || looks == 0) break;
    }
    return items;
}

static void write_other_indexes(struct metrics *m, const struct indexes_totals *t)
{
    struct slice other = slice_str(OTHER);
    bool is_filling = m->figures.backend.is_text_filling;
    struct index_states value = {
        .filling = t->filling, .ready = t->value - t->filling - t->failed, .failed = t->failed};
    struct index_states text = {.filling = is_filling ? t->text : 0,
                                .ready = is_filling ? 0 : t->text};
    if (t->value > 0) write_states(m, other, other, false, value);
    if (t->text > 0) write_states(m, other, other, true, text);
}

void metrics_indexes(struct metrics *m)
{
    struct indexes *ix = m->env->db->indexes;
    struct indexes_totals t = m->figures.indexes;
    size_t count = 0;
    const struct named_index *items = find_indexes(m, &t, &count);
    metrics_family(m, M_INDEX_STATE);
    for (size_t i = 0; i < count; i++) {
        const struct definition *d = &items[i].index->definition;
        write_states(m, items[i].database, d->name, d->kind == INDEX_TEXT,
                     states_of(m, items[i].index));
    }
    write_other_indexes(m, &t);
    metrics_family(m, M_INDEX_FILLED);
    for (size_t i = 0; i < count; i++) {
        const struct definition *d = &items[i].index->definition;
        struct metrics_label labels[] = {{"database", items[i].database}, {"index", d->name}};
        if (d->kind == INDEX_TEXT) continue;
        metrics_milli(&m->out, labels, 2, 10 * (int64_t)index_percent(ix, items[i].index));
    }
}

/* ---- databases ---- */

struct named_database {
    struct slice name;
    struct backend_count count;
    struct database_limits limits;
    uint64_t operations, throttled;
};

/* Those that are always there are told when something is, or was, done in them. */
static bool is_used(const struct database *d, const struct backend_count *c)
{
    return d->has_row || d->operations > 0 || c->bytes > 0 || c->stored_bytes > 0;
}

static void take_off_database(struct named_database *others, const struct named_database *x)
{
    others->count.entries -= x->count.stored_entries;
    others->count.expiring -= x->count.stored_expiring;
    others->count.bytes -= x->count.stored_bytes;
    others->count.stored_bytes -= x->count.stored_bytes;
    others->operations -= x->operations;
    others->throttled -= x->throttled;
}

/* All of them, at first. What the others hold is what the store has of them: of that there are
 * sums. The catalog is in these, and does not count as a database. */
static struct named_database other_databases(const struct metrics *m)
{
    struct backend *b = engine_backend(m->env->db->engine);
    struct named_database catalog = {0};
    struct databases_totals t;
    databases_totals(m->env->db->databases, &t);
    struct named_database others = {.name = slice_str(OTHER),
                                    .count = {.entries = m->figures.backend.stored_entries,
                                              .expiring = m->figures.backend.stored_expiring,
                                              .bytes = m->figures.backend.stored_bytes,
                                              .stored_bytes = m->figures.backend.stored_bytes},
                                    .operations = t.operations,
                                    .throttled = t.throttled};
    backend_count(b, DATABASE_CATALOG, &catalog.count);
    take_off_database(&others, &catalog);
    return others;
}

/* The last item is that of the others, if there are some. */
static struct named_database *find_databases(struct metrics *m, size_t total, size_t *count)
{
    struct backend *b = engine_backend(m->env->db->engine);
    struct databases *all = m->env->db->databases;
    struct named_database other = other_databases(m);
    size_t max = least(m->options->names_max, total);
    size_t looks = looks_of(m);
    size_t unused = 0;
    struct named_database *items = arena_alloc(&m->arena, (max + 1) * sizeof *items);
    const struct database *d;
    *count = 0;
    for (uint32_t i = 0; *count < max && looks > 0 && (d = database_next(all, &i)) != NULL;
         i++, looks--) {
        struct backend_count c;
        backend_count(b, d->number, &c);
        bool is_unused = !is_used(d, &c);
        unused += is_unused;
        if (is_unused || database_of(m, d->number) == NULL || !may_see(m, d, NULL)) continue;
        items[(*count)++] = (struct named_database){.name = d->name,
                                                    .count = c,
                                                    .limits = d->limits,
                                                    .operations = d->operations,
                                                    .throttled = d->throttled};
        take_off_database(&other, &items[*count - 1]);
    }
    if (total > *count + unused) items[(*count)++] = other;
    return items;
}

/* A limit that is 0 is none. */
static const struct {
    enum metric_id id;
    bool is_limit;
    size_t offset;
} of_database[] = {
#define AT(member) offsetof(struct named_database, member)
    {M_DATABASE_ENTRIES, false, AT(count.entries)},
    {M_DATABASE_EXPIRING, false, AT(count.expiring)},
    {M_DATABASE_BYTES, false, AT(count.bytes)},
    {M_DATABASE_STORED, false, AT(count.stored_bytes)},
    {M_DATABASE_OPERATIONS, false, AT(operations)},
    {M_DATABASE_THROTTLED, false, AT(throttled)},
    {M_DATABASE_LIMIT_ENTRIES, true, AT(limits.entries_max)},
    {M_DATABASE_LIMIT_BYTES, true, AT(limits.bytes_max)},
    {M_DATABASE_LIMIT_RATE, true, AT(limits.rate)},
#undef AT
};

void metrics_databases(struct metrics *m)
{
    struct databases_totals t;
    size_t count = 0;
    databases_totals(m->env->db->databases, &t);
    metrics_figure(m, M_DATABASES, t.count);
    const struct named_database *items = find_databases(m, t.count, &count);
    for (size_t i = 0; i < sizeof of_database / sizeof of_database[0]; i++) {
        metrics_family(m, of_database[i].id);
        for (size_t k = 0; k < count; k++) {
            struct metrics_label label = {"database", items[k].name};
            const void *at = (const char *)&items[k] + of_database[i].offset;
            uint64_t value = *(const uint64_t *)at;
            if (!of_database[i].is_limit || value > 0) metrics_u64(&m->out, &label, 1, value);
        }
    }
}
