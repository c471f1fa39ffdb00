#include "engine/start_read.h"

#include "base/clock.h"
#include "base/log.h"

#define AGAIN_US 1000000

void start_read_init(struct start_read *s, const char *what, uint8_t databases)
{
    *s = (struct start_read){.what = what, .databases = databases, .unread = databases};
}

bool start_read_next(struct start_read *s, uint8_t *database)
{
    bool is_time = s->failed > 0 && clock_mono_us() >= s->again_us;
    if (s->unread == 0 && !is_time) return false;
    enum start_state wanted = s->unread > 0 ? START_UNREAD : START_FAILED;
    for (uint8_t i = 0; i < s->databases; i++) {
        if (s->states[i] != wanted) continue;
        *database = i;
        return true;
    }
    return false;
}

void start_read_done(struct start_read *s, uint8_t database)
{
    if (s->states[database] == START_UNREAD) s->unread--;
    if (s->states[database] == START_FAILED) {
        s->failed--;
        log_notice("the %s of database %u can be read again", s->what, database);
    }
    s->states[database] = START_READ;
}

void start_read_failed(struct start_read *s, uint8_t database, const struct error *why)
{
    if (s->states[database] == START_UNREAD) {
        s->unread--;
        s->failed++;
        log_warning("the %s of database %u cannot be read: %s; commands that need them get this "
                    "error",
                    s->what, database, why->text);
    }
    s->states[database] = START_FAILED;
    s->errors[database] = *why;
    s->again_us = clock_mono_us() + AGAIN_US;
}

bool start_read_is_over(const struct start_read *s)
{
    return s->unread == 0;
}

enum err start_read_check(const struct start_read *s, uint8_t database, struct error *e)
{
    if (s->unread == 0 && s->failed == 0) return OK;
    if (s->states[database] == START_FAILED) {
        const struct error *why = &s->errors[database];
        return error_set(e, why->code, "the %s of database %u cannot be read: %s", s->what,
                         database, why->text);
    }
    if (s->unread > 0) return error_set(e, ERR_WAIT, "the %s are being read", s->what);
    return OK;
}
