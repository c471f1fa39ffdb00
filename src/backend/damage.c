#include "backend/damage.h"

#include "base/clock.h"
#include "base/log.h"

#define RECENT_US 1000000
#define LOG_AGAIN_US 60000000

void damage_note(struct damage *d, const struct error *e)
{
    int64_t now_us = clock_mono_us();
    if (e->code != ERR_CORRUPT && e->code != ERR_IO) return;
    bool is_known = d->count > 0 && strcmp(d->last.text, e->text) == 0;
    if (!is_known || now_us - d->logged_us > LOG_AGAIN_US) {
        d->logged_us = now_us;
        log_warning("store: %s", e->text);
    }
    d->count++;
    d->last = *e;
}

void damage_note_read(struct damage *d, uint64_t hash, const struct error *e)
{
    struct damage_read *r = &d->recent[d->recent_at++ % DAMAGE_RECENT];
    damage_note(d, e);
    *r = (struct damage_read){.hash = hash, .until_us = clock_mono_us() + RECENT_US, .error = *e};
}

bool damage_find(const struct damage *d, uint64_t hash, struct error *e)
{
    for (unsigned i = 0; i < DAMAGE_RECENT; i++) {
        const struct damage_read *r = &d->recent[i];
        if (r->until_us == 0 || r->hash != hash || r->until_us < clock_mono_us()) continue;
        if (e != NULL) *e = r->error;
        return true;
    }
    return false;
}
