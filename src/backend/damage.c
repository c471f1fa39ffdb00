/* damage: counts each failed read, and logs the same one at most once a minute. */
#include "backend/damage.h"

#include "base/clock.h"
#include "base/log.h"

#define LOG_AGAIN_US 60000000

void damage_note(struct damage *d, const struct error *e)
{
    int64_t now_us = clock_mono_us();
    if (d->is_over || (e->code != ERR_CORRUPT && e->code != ERR_IO)) return;
    bool is_known = d->count > 0 && strcmp(d->last.text, e->text) == 0;
    if (!is_known || now_us - d->logged_us > LOG_AGAIN_US) {
        d->logged_us = now_us;
        log_warning("store: %s", e->text);
    }
    d->count++;
    d->last = *e;
}

void damage_note_write(struct damage *d, const struct error *e)
{
    if (e->code != ERR_IO) damage_note(d, e);
}
