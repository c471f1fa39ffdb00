/* What a sequence is made of: commands, transactions with and without WATCH, and scripts. */
#include <ctype.h>

#include "base/buf.h"
#include "diff/compare.h"
#include "diff/make.h"

#define KEYS_MAX 6

static bool draw(struct maker *m, unsigned of_100)
{
    return rng_below(&m->rng, 100) < of_100;
}

static const struct family *family_draw(struct maker *m)
{
    if (draw(m, m->generic)) return &family_generic;
    bool is_other = m->family == NULL || (draw(m, 1) && !m->has_one_score);
    return is_other ? &families[rng_below(&m->rng, family_count - 1)] : m->family;
}

static void command(struct maker *m, unsigned connection)
{
    maker_command(m, family_draw(m), connection);
}

/* MULTI, some commands, and mostly EXEC. */
static void transaction(struct maker *m)
{
    uint64_t count = rng_below(&m->rng, 6);
    sequence_say(m->to, 0, "MULTI");
    for (uint64_t i = 0; i < count; i++) {
        if (draw(m, 10))
            maker_command(m, &family_held, 0);
        else
            command(m, 0);
    }
    sequence_say(m->to, 0, draw(m, 90) ? "EXEC" : "DISCARD");
}

static void say_key(struct maker *m, const char *command, struct slice key, const char *value)
{
    sequence_say(m->to, 0, command);
    sequence_word(m->to, key);
    if (value != NULL) sequence_word(m->to, slice_str(value));
}

/* A key that was missing and is missing again has not changed here, nor has a list that LTRIM left
 * as it was: what may come to that is left out (docs/redis-commands.md). */
static void watched_transaction(struct maker *m)
{
    char text[16];
    struct slice key = maker_key(m);
    bool is_there = draw(m, 60);
    snprintf(text, sizeof text, "%.*s", (int)key.len, (const char *)key.data);
    key = slice_str(text);
    if (is_there) say_key(m, "SETNX", key, "x");
    say_key(m, "WATCH", key, NULL);
    m->is_watching = true;
    if (draw(m, 10)) sequence_say(m->to, 0, "UNWATCH");
    if (draw(m, 60)) command(m, 1);
    if (call_is(&m->to->calls[m->to->count - 1], "LTRIM")) m->to->count--;
    if (is_there && draw(m, 20)) command(m, 0);
    if (call_is(&m->to->calls[m->to->count - 1], "LTRIM")) m->to->count--;
    transaction(m);
    m->is_watching = false;
}

/* ---- scripts ---- */

static void put_lua(struct buf *out, struct slice word)
{
    buf_append_str(out, "'");
    for (size_t i = 0; i < word.len; i++) {
        if (isalnum(word.data[i]))
            buf_append_byte(out, word.data[i]);
        else
            buf_printf(out, "\\%03u", word.data[i]);
    }
    buf_append_str(out, "'");
}

/* What has an order, and is not told by a clock. */
static bool is_for_scripts(const struct call *c)
{
    enum rule rule = rule_of(c);
    return rule == RULE_EXACT || rule == RULE_SCORES;
}

/* return {redis.call('HSET', ...), ...} */
static void script(struct maker *m)
{
    struct buf text;
    char key[] = "k0";
    uint64_t count = 1 + rng_below(&m->rng, 3);
    const char *how = draw(m, 70) ? "redis.call(" : "redis.pcall(";
    bool was_faultless = m->is_faultless;
    buf_init(&text);
    buf_append_str(&text, "return {");
    m->is_faultless = true; /* of a mistake the error would be that of the script */
    for (uint64_t i = 0; i < count; i++) {
        size_t before = m->to->count;
        if (draw(m, 10))
            maker_command(m, &family_held, 0);
        else
            command(m, 0);
        const struct call *c = &m->to->calls[before];
        m->to->count = before; /* the command is a part of the script, no call */
        if (!is_for_scripts(c) || c->has_mistake) continue;
        buf_append_str(&text, how);
        for (size_t w = 0; w < c->count; w++) {
            if (w > 0) buf_append_str(&text, ",");
            put_lua(&text, c->words[w]);
        }
        buf_append_str(&text, "),");
    }
    m->is_faultless = was_faultless;
    buf_append_str(&text, "}");
    buf_require(&text);
    sequence_say(m->to, 0, "EVAL");
    sequence_word(m->to, buf_slice(&text));
    sequence_word(m->to, slice_str("6"));
    for (; key[1] < '0' + KEYS_MAX; key[1]++) sequence_word(m->to, slice_str(key));
    buf_fini(&text);
}

void maker_waiting_step(struct maker *m, unsigned clients)
{
    uint64_t kind = rng_below(&m->rng, 100);
    unsigned client = 1 + (unsigned)rng_below(&m->rng, clients);
    char text[64];
    m->family = &family_feeding;
    m->generic = 0;
    m->is_faultless = true;
    if (kind < 50) {
        maker_command(m, &family_waiting, client);
    } else if (kind < 60) {
        snprintf(text, sizeof text, "CLIENT UNBLOCK #%u%s", client,
                 kind < 54   ? ""
                 : kind < 57 ? " TIMEOUT"
                             : " ERROR");
        sequence_say(m->to, 0, text);
    } else if (kind < 67) {
        transaction(m);
    } else if (kind < 71) {
        script(m);
    } else {
        command(m, 0);
    }
}

void maker_step(struct maker *m)
{
    uint64_t kind = rng_below(&m->rng, 1000);
    if (kind < 12)
        transaction(m);
    else if (kind < 22)
        watched_transaction(m);
    else if (kind < 40)
        script(m);
    else
        command(m, 0);
}
