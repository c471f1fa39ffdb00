/* import_live: what import does besides loading records when the source is a live Redis
 * (redis_source.h).
 *
 * With --follow the databases become what the source has. So what only they have would go, and
 * they must be empty at the beginning, or --replace agrees. Without it keys are replaced, one by
 * one, as from every other source, and others stay.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tool/import_int.h"
#include "tool/redis_source.h"

#define VERIFY_DEFAULT 1000
#define SWEEP_COUNT "1000"

static struct redis_source *source_of(const struct importer *im)
{
    return im->source.state;
}

const char *import_live_name(const struct importer *im)
{
    return source_of(im)->who;
}

/* ---- the server that is loaded --------------------------------------------------------------- */

enum tool_status import_live_databases(struct importer *im, uint32_t **out, size_t *count)
{
    redisReply *r = NULL;
    uint64_t keys = 0;
    const struct redis_source *x = source_of(im);
    enum tool_status s = tool_ask(im->w, TOOL_WORDS_OF("INFO", "keyspace"), &r);
    if (s != TOOL_DONE) return s;
    *out = redis_databases(wire_slice(r), count, &keys);
    freeReplyObject(r);
    if (x->is_all) return s;
    mem_free(*out);
    *out = mem_new(sizeof **out);
    **out = x->databases[0];
    *count = 1;
    return s;
}

enum tool_status import_live_select(struct importer *im, uint32_t database)
{
    char digits[24];
    if (!source_of(im)->is_all) return TOOL_DONE;
    snprintf(digits, sizeof digits, "%u", database);
    snprintf(im->state.database, sizeof im->state.database, "%s", digits);
    return import_select(im, digits);
}

static enum tool_status number_of_keys(struct importer *im, int64_t *out)
{
    redisReply *r = NULL;
    enum tool_status s = tool_ask(im->w, TOOL_WORDS_OF("DBSIZE"), &r);
    if (s == TOOL_DONE) *out = r->integer;
    freeReplyObject(r);
    return s;
}

/* What an earlier call left there when it was killed, in the database that is selected. */
static enum tool_status delete_aside(struct importer *im)
{
    redisReply *r = NULL;
    enum tool_status s = tool_ask(im->w, TOOL_WORDS_OF("DEL", REDIS_ASIDE), &r);
    freeReplyObject(r);
    return s;
}

static enum tool_status forget_aside(struct importer *im)
{
    uint32_t *databases = NULL;
    size_t count = 0;
    enum tool_status s = import_live_databases(im, &databases, &count);
    for (size_t i = 0; i < count && s == TOOL_DONE; i++) {
        s = import_live_select(im, databases[i]);
        if (s == TOOL_DONE) s = delete_aside(im);
    }
    mem_free(databases);
    return s;
}

static enum tool_status check_free(struct importer *im)
{
    uint32_t *databases = NULL;
    size_t count = 0;
    int64_t keys = 0;
    enum tool_status s = import_live_databases(im, &databases, &count);
    for (size_t i = 0; i < count && s == TOOL_DONE && keys == 0; i++) {
        s = import_live_select(im, databases[i]);
        if (s == TOOL_DONE) s = delete_aside(im);
        if (s == TOOL_DONE) s = number_of_keys(im, &keys);
        if (s == TOOL_DONE && keys > 0) {
            s = tool_fail(TOOL_NO,
                          "the database has %lld keys. --follow makes it identical to the source "
                          "and may delete keys that the source does not have; confirm with "
                          "--replace",
                          (long long)keys);
        }
    }
    mem_free(databases);
    snprintf(im->state.database, sizeof im->state.database, "-");
    return s;
}

enum tool_status import_live_begin(struct importer *im, bool goes_on)
{
    struct redis_source *x = source_of(im);
    im->samples = VERIFY_DEFAULT;
    enum tool_status s = tool_number(im->t, "--verify", 0, INT64_MAX, &im->samples);
    if (s != TOOL_DONE || !x->follows) return s;
    wire_attend(im->w, &x->follow.also);
    /* What is in the way may go: it becomes what the source has, as after a lost connection. */
    if (tool_has(im->t, "--replace")) x->sweeps = true;
    return goes_on || x->sweeps ? TOOL_DONE : check_free(im);
}

/* ---- records --------------------------------------------------------------------------------- */

/* One that has several records is whole now. It may have ended while it was loaded. */
enum tool_status import_live_rename(struct importer *im, const struct record *r)
{
    redisReply *reply = NULL;
    enum tool_status s = loader_drain(&im->loader);
    if (s != TOOL_DONE) return s;
    const struct slice words[] = {slice_str("RENAME"), slice_str(REDIS_ASIDE), r->name};
    s = wire_call_slices(im->w, 3, words, &reply);
    if (s == TOOL_NO && slice_has_prefix(wire_slice(reply), slice_str("ERR no such key"))) {
        const struct slice gone[] = {slice_str("DEL"), r->name};
        freeReplyObject(reply);
        s = wire_call_slices(im->w, 2, gone, &reply);
    }
    if (s == TOOL_BROKEN) return tool_fail(s, "%s", wire_why(im->w));
    if (s == TOOL_NO) tool_refused(reply);
    freeReplyObject(reply);
    if (s == TOOL_DONE) import_placed(im);
    return s;
}

/* The state is kept, and once it is said that all is loaded. */
enum tool_status import_live_pause(struct importer *im)
{
    struct redis_source *x = source_of(im);
    enum tool_status s = loader_drain(&im->loader);
    if (s != TOOL_DONE || im->is_told) return s;
    im->is_told = true;
    progress_end(&im->progress);
    if (!im->t->is_quiet) {
        fprintf(stderr, "%llu keys loaded; following changes until Ctrl-C or SIGTERM\n",
                (unsigned long long)x->keys_done);
    }
    return s;
}

/* ---- what went ------------------------------------------------------------------------------- */

/* Of a page of keys: those the source does not have are removed. */
static enum tool_status sweep_page(struct importer *im, const redisReply *keys)
{
    struct redis_source *x = source_of(im);
    enum tool_status s = TOOL_DONE;
    size_t gone = 0;
    struct slice *words = mem_new((keys->elements + 1) * sizeof *words);
    words[0] = slice_str("DEL");
    for (size_t i = 0; i < keys->elements; i++) {
        redis_append(&x->reader, "EXISTS", wire_slice(keys->element[i]));
    }
    for (size_t i = 0; i < keys->elements && s == TOOL_DONE; i++) {
        redisReply *r = NULL;
        s = redis_hear(&x->reader, &r);
        if (s == TOOL_DONE && r->type == REDIS_REPLY_ERROR) s = redis_refused(&x->reader, r);
        if (s == TOOL_DONE && r->integer == 0) words[++gone] = wire_slice(keys->element[i]);
        freeReplyObject(r);
    }
    if (s == TOOL_DONE && gone > 0) {
        redisReply *r = NULL;
        s = wire_call_slices(im->w, gone + 1, words, &r);
        if (s == TOOL_BROKEN) tool_fail(s, "%s", wire_why(im->w));
        if (s == TOOL_NO) tool_refused(r);
        freeReplyObject(r);
    }
    mem_free(words);
    return s;
}

static enum tool_status sweep_database(struct importer *im)
{
    char cursor[64] = "0";
    enum tool_status s = TOOL_DONE;
    do {
        redisReply *r = NULL;
        s = tool_ask(im->w, TOOL_WORDS_OF("SCAN", cursor, "COUNT", SWEEP_COUNT), &r);
        if (s == TOOL_DONE && (!wire_is_array(r, 2) || !wire_is_array(r->element[1], 0))) {
            s = tool_strange("SCAN");
        }
        if (s == TOOL_DONE) {
            snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
            s = sweep_page(im, r->element[1]);
        }
        freeReplyObject(r);
    } while (s == TOOL_DONE && strcmp(cursor, "0") != 0);
    return s;
}

enum tool_status import_live_sweep(struct importer *im)
{
    struct redis_source *x = source_of(im);
    uint32_t *databases = NULL;
    uint32_t source = x->selected;
    size_t count = 0;
    enum tool_status s = loader_drain(&im->loader);
    if (s == TOOL_DONE) s = import_live_databases(im, &databases, &count);
    for (size_t i = 0; i < count && s == TOOL_DONE; i++) {
        s = import_live_select(im, databases[i]);
        if (s == TOOL_DONE) s = redis_source_select(x, databases[i]);
        if (s == TOOL_DONE) s = sweep_database(im);
    }
    mem_free(databases);
    if (s == TOOL_DONE) s = redis_source_select(x, source);
    return s == TOOL_DONE ? import_live_select(im, source) : s;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* What was not imported as it should be; TOOL_NO: there is such. */
static enum tool_status report(const struct redis_source *x)
{
    enum tool_status s = TOOL_DONE;
    for (size_t i = 0; i < x->unknown_count; i++) {
        const struct redis_unknown *u = &x->unknown[i];
        s = tool_fail(TOOL_NO, "not imported: %llu keys of the unsupported type %s, such as %s",
                      (unsigned long long)u->count, u->type, (const char *)u->example.data);
    }
    if (x->torn > 0) {
        s = tool_fail(TOOL_NO,
                      "%llu keys changed each time they were read, and may be inconsistent; "
                      "--follow reads them again",
                      (unsigned long long)x->torn);
    }
    return s;
}

enum tool_status import_live_end(struct importer *im)
{
    struct redis_source *x = source_of(im);
    if (x->follows && !im->t->is_quiet) {
        redis_follow_wait(&x->follow, 0);
        fprintf(stderr, "%llu keys read again after %llu changes; ", (unsigned long long)x->changes,
                (unsigned long long)x->follow.events);
        if (x->follow.dirty.count > 0) {
            fprintf(stderr, "%zu changed after the stop\n", x->follow.dirty.count);
        } else {
            fprintf(stderr, "all notified changes are loaded\n");
        }
    }
    enum tool_status s = report(x);
    if (im->is_dry) return s;
    enum tool_status other = forget_aside(im);
    if (other == TOOL_DONE && im->samples > 0) other = import_compare(im);
    return other == TOOL_DONE ? s : other;
}
