/* ask: the selectors of the user, one after the other: command, database, then each subject. The
 * denial that is reported is that of the selector which came closest. */
#include "access/ask.h"

#include "base/glob.h"

static bool allows_key(const struct selector *s, const struct access_subject *x)
{
    if (x->needs != 0) return patterns_match(&s->keys, x->text, x->needs);
    return patterns_match(&s->keys, x->text, ACCESS_READ) ||
           patterns_match(&s->keys, x->text, ACCESS_WRITE);
}

static bool allows_prefix(const struct selector *s, const struct access_subject *x)
{
    if (x->needs != 0) return patterns_cover(&s->keys, x->text, x->needs);
    return patterns_cover(&s->keys, x->text, ACCESS_READ) ||
           patterns_cover(&s->keys, x->text, ACCESS_WRITE);
}

static bool allows(const struct selector *s, const struct access_subject *x)
{
    switch (x->kind) {
    case ACCESS_KEY: return allows_key(s, x);
    case ACCESS_PREFIX: return allows_prefix(s, x);
    case ACCESS_CHANNEL: return patterns_match(&s->channels, x->text, ACCESS_BOTH);
    case ACCESS_CHANNELS:
        return patterns_have(&s->channels, x->text, ACCESS_BOTH) ||
               patterns_cover(&s->channels, glob_literal(x->text), ACCESS_BOTH);
    case ACCESS_DATABASE: return selector_allows_database(s, x->text, x->number);
    case ACCESS_DATABASES: return s->allows_all_databases;
    default: return false;
    }
}

static enum access_verdict denial_of(enum access_kind kind)
{
    switch (kind) {
    case ACCESS_KEY:
    case ACCESS_PREFIX: return ACCESS_DENIED_KEY;
    case ACCESS_DATABASE:
    case ACCESS_DATABASES: return ACCESS_DENIED_DATABASE;
    default: return ACCESS_DENIED_CHANNEL;
    }
}

static enum access_verdict ask_selector(const struct selector *s,
                                        const struct access_catalog *catalog,
                                        const struct access_question *q, size_t *which)
{
    if (!selector_allows_command(s, catalog, q->command, q->first)) return ACCESS_DENIED_COMMAND;
    if (q->has_database && !selector_allows_database(s, q->database, q->database_number)) {
        return ACCESS_DENIED_DATABASE;
    }
    for (size_t i = 0; i < q->subject_count; i++) {
        const struct access_subject *x = &q->subjects[i];
        if (allows(s, x)) continue;
        *which = i;
        return denial_of(x->kind);
    }
    return ACCESS_ALLOWED;
}

enum access_verdict access_ask(const struct user *u, const struct access_catalog *catalog,
                               const struct access_question *q, size_t *which)
{
    enum access_verdict closest = ACCESS_DENIED_COMMAND;
    *which = SIZE_MAX;
    for (const struct selector *s = u->selectors; s != NULL; s = s->next) {
        size_t at = SIZE_MAX;
        enum access_verdict v = ask_selector(s, catalog, q, &at);
        if (v == ACCESS_ALLOWED) return v;
        if (v < closest || (v == closest && (at <= *which || at == SIZE_MAX))) continue;
        closest = v;
        *which = at;
    }
    return closest;
}

bool access_may(const struct user *u, const struct access_subject *x)
{
    for (const struct selector *s = u->selectors; s != NULL; s = s->next) {
        if (allows(s, x)) return true;
    }
    return false;
}
