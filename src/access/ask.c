#include "access/ask.h"

/* The text before the first character that is not literal in a glob. */
static struct slice literal_of(struct slice pattern)
{
    size_t len = 0;
    while (len < pattern.len && pattern.data[len] != '*' && pattern.data[len] != '?' &&
           pattern.data[len] != '[' && pattern.data[len] != '\\') {
        len++;
    }
    return slice_of(pattern.data, len);
}

static bool allows_key(const struct selector *s, const struct access_subject *x)
{
    if (x->needs != 0) return patterns_match(&s->keys, x->text, x->needs);
    return patterns_match(&s->keys, x->text, ACCESS_READ) ||
           patterns_match(&s->keys, x->text, ACCESS_WRITE);
}

static bool allows(const struct selector *s, const struct access_subject *x)
{
    switch (x->kind) {
    case ACCESS_KEY: return allows_key(s, x);
    case ACCESS_PREFIX: return patterns_cover(&s->keys, x->text, x->needs);
    case ACCESS_CHANNEL: return patterns_match(&s->channels, x->text, ACCESS_BOTH);
    case ACCESS_CHANNELS:
        return patterns_have(&s->channels, x->text, ACCESS_BOTH) ||
               patterns_cover(&s->channels, literal_of(x->text), ACCESS_BOTH);
    default: return false;
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
        return x->kind == ACCESS_KEY || x->kind == ACCESS_PREFIX ? ACCESS_DENIED_KEY
                                                                 : ACCESS_DENIED_CHANNEL;
    }
    return ACCESS_ALLOWED;
}

enum access_verdict access_ask(const struct user *u, const struct access_catalog *catalog,
                               const struct access_question *q, size_t *which)
{
    enum access_verdict closest = ACCESS_DENIED_COMMAND;
    *which = 0;
    for (const struct selector *s = u->selectors; s != NULL; s = s->next) {
        size_t at = 0;
        enum access_verdict v = ask_selector(s, catalog, q, &at);
        if (v == ACCESS_ALLOWED) return v;
        if (v < closest || (v == closest && at <= *which)) continue;
        closest = v;
        *which = at;
    }
    return closest;
}
