/* subjects: see subjects.h. The list grows in the request's arena, in groups, each asked for as one
 * command. A word that cannot be read adds nothing: the command itself will refuse it, after it is
 * known that its user may run it. */
#include "request/subjects.h"

#include "codec/key.h"
#include "codec/utf8.h"
#include "request/args.h"
#include "request/bind.h"
#include "request/enqueue.h"
#include "request/format.h"
#include "request/numbers.h"

#define QUEUE_ROOT "!queue/" /* no path of a tuple begins with it */

/* ---- texts ---- */

struct slice subject_of_queue(struct arena *arena, struct slice name)
{
    size_t head = strlen(QUEUE_ROOT);
    uint8_t *text = arena_alloc(arena, head + name.len);
    memcpy(text, QUEUE_ROOT, head);
    bytes_copy(text + head, name.data, name.len);
    return slice_of(text, head + name.len);
}

static struct slice path_of(struct arena *arena, struct slice tuple, bool is_prefix)
{
    struct buf path;
    buf_init(&path);
    if (tuple.len > 0) key_to_path(tuple, &path);
    if (tuple.len > 0 && is_prefix) buf_append_byte(&path, '/');
    buf_require(&path);
    struct slice text = arena_copy(arena, buf_slice(&path));
    buf_fini(&path);
    return text;
}

struct slice subject_of_prefix(struct arena *arena, struct slice tuple)
{
    return path_of(arena, tuple, true);
}

struct slice subject_of_index(struct arena *arena, const struct definition *d)
{
    struct buf tuple;
    bool is_of_names = definition_is_of_hashes(d) && d->prefix.len == 0;
    if (!is_of_names) return subject_of_prefix(arena, d->prefix);
    struct slice text = glob_literal(d->hashes);
    text.len = utf8_valid_bytes(text); /* names that it has are UTF-8 */
    if (text.len == 0) return slice_of(NULL, 0);
    buf_init(&tuple);
    key_add_string(&tuple, text);
    buf_require(&tuple);
    text = path_of(arena, buf_slice(&tuple), false);
    buf_fini(&tuple);
    return text;
}

static struct slice number_text(struct arena *arena, uint16_t number)
{
    char digits[8]; /* from the last one on; of every command that is asked about */
    size_t at = sizeof digits;
    unsigned n = number;
    do {
        digits[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    return arena_copy(arena, slice_of(digits + at, sizeof digits - at));
}

struct access_subject subject_of_database(struct arena *arena, const struct database *d)
{
    return (struct access_subject){
        .kind = ACCESS_DATABASE, .text = d->name, .number = number_text(arena, d->number)};
}

/* ---- adding ---- */

static void add(struct subjects *s, struct access_subject x)
{
    s->items = arena_grow(s->rq->arena, s->items, s->count, &s->cap, sizeof *s->items);
    s->items[s->count++] = x;
}

void subjects_as(struct subjects *s, const struct command *c)
{
    s->groups = arena_grow(s->rq->arena, s->groups, s->group_count, &s->group_cap,
                           sizeof *s->groups);
    s->groups[s->group_count++] = (struct subjects_group){.command = c, .from = s->count};
}

void subjects_key(struct subjects *s, struct slice key, unsigned needs)
{
    add(s, (struct access_subject){.kind = ACCESS_KEY,
                                   .text = path_of(s->rq->arena, engine_key_tuple(key), false),
                                   .needs = needs});
}

void subjects_below(struct subjects *s, struct slice tuple, unsigned needs)
{
    add(s, (struct access_subject){.kind = ACCESS_PREFIX,
                                   .text = subject_of_prefix(s->rq->arena, tuple),
                                   .needs = needs});
}

void subjects_index(struct subjects *s, const struct definition *d, unsigned needs)
{
    subjects_paths(s, subject_of_index(s->rq->arena, d), needs);
}

void subjects_paths(struct subjects *s, struct slice text, unsigned needs)
{
    add(s, (struct access_subject){.kind = ACCESS_PREFIX, .text = text, .needs = needs});
}

void subjects_all_keys(struct subjects *s, unsigned needs)
{
    subjects_below(s, slice_of(NULL, 0), needs);
}

void subjects_queue(struct subjects *s, struct slice name, unsigned needs)
{
    add(s, (struct access_subject){
               .kind = ACCESS_KEY, .text = subject_of_queue(s->rq->arena, name), .needs = needs});
}

void subjects_receipt(struct subjects *s, struct slice receipt)
{
    struct receipt x;
    if (!receipt_parse(s->rq->arena, receipt, &x)) {
        s->is_unclear = true;
        return;
    }
    subjects_queue(s, x.queue, ACCESS_WRITE);
}

void subjects_channel(struct subjects *s, struct slice name)
{
    add(s, (struct access_subject){.kind = ACCESS_CHANNEL, .text = name});
}

void subjects_channels(struct subjects *s, struct slice pattern)
{
    add(s, (struct access_subject){.kind = ACCESS_CHANNELS, .text = pattern});
}

static void add_database(struct subjects *s, const struct database *d, struct slice word)
{
    struct access_subject x = {.kind = ACCESS_DATABASE, .text = word, .number = word};
    add(s, d != NULL ? subject_of_database(s->rq->arena, d) : x);
}

void subjects_database_of(struct subjects *s, uint16_t number)
{
    const struct request *rq = s->rq;
    add_database(s, database_get(rq->env->db->databases, number), number_text(rq->arena, number));
}

void subjects_database(struct subjects *s, struct slice word)
{
    add_database(s, database_find(s->rq->env->db->databases, word), word);
}

void subjects_all_databases(struct subjects *s)
{
    add(s, (struct access_subject){.kind = ACCESS_DATABASES});
}

/* ---- keys of the words ---- */

unsigned subjects_needs(unsigned key_flags)
{
    unsigned needs = (key_flags & KEY_ACCESS) != 0 ? ACCESS_READ : 0;
    if ((key_flags & (KEY_INSERT | KEY_DELETE | KEY_UPDATE)) != 0) needs |= ACCESS_WRITE;
    return needs;
}

void subjects_key_used(struct subjects *s, struct slice key, unsigned key_flags)
{
    subjects_key(s, key, subjects_needs(key_flags));
}

/* The command reads the word in one of these ways, or refuses it. */
static bool read_word(struct subjects *s, struct slice word, struct slice *key)
{
    struct request *rq = s->rq;
    struct error before = rq->error;
    enum err r = arg_any_key(rq, word, key);
    if (r == OK) return true;
    rq->error = before;
    s->is_unclear = true;
    return false;
}

void subjects_word(struct subjects *s, struct slice word, unsigned key_flags)
{
    struct slice key;
    if (read_word(s, word, &key)) subjects_key(s, key, subjects_needs(key_flags));
}

enum err subjects_of(struct request *rq, struct subjects *out)
{
    const struct command *c = rq->command;
    *out = (struct subjects){.rq = rq};
    subjects_as(out, c);
    const struct numbered *n = numbers_at(number_of(c));
    unsigned flags = c->flags | n->command->flags | (n->parent != NULL ? n->parent->flags : 0);
    if ((flags & CMD_ALL_KEYS) != 0) {
        subjects_all_keys(out, (c->flags & CMD_WRITE) != 0 ? ACCESS_WRITE : ACCESS_READ);
    }
    enum err r = request_bind_subjects(rq, out);
    if (r == OK || r == ERR_WAIT) return r;
    /* What is wrong with the words is told when the command is run, after what may not be done at
     * all. Nothing is done then: reading words looks at no data. */
    rq->error = (struct error){0};
    return OK;
}
