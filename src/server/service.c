/* service: messages to systemd by sd_notify, each only in the state it belongs to. */
#include "server/service.h"

#include <stdarg.h>
#include <stdio.h>
#include <systemd/sd-daemon.h>

#include "base/clock.h"
#include "base/machine.h"

#define TELL_US 1000000      /* between two messages of progress */
#define EXTEND_US 120000000u /* what the next one may take: a memtable to a slow disk */
#define STATUS_BYTES 200

static const struct machine service_machine = {
    "service",
    {"starting", "ready", "stopping"},
    {TO(SERVICE_READY) | TO(SERVICE_STOPPING), TO(SERVICE_STOPPING), 0}};

void service_init(struct service *v)
{
    uint64_t watchdog_us = 0;
    *v = (struct service){.state = SERVICE_STARTING};
    if (sd_watchdog_enabled(0, &watchdog_us) > 0 && watchdog_us <= INT64_MAX) {
        v->sign_every_us = (int64_t)(watchdog_us / 2);
    }
}

void service_progress(struct service *v, const char *format, ...)
{
    char what[STATUS_BYTES];
    va_list args;
    int64_t now_us = clock_mono_us();
    if (v->state != SERVICE_STARTING) return;
    if (v->told_us != 0 && now_us - v->told_us < TELL_US) return;
    v->told_us = now_us;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    (void)sd_notifyf(0, "STATUS=%s\nEXTEND_TIMEOUT_USEC=%u", what, EXTEND_US);
}

void service_ready(struct service *v, const char *status)
{
    if (v->state != SERVICE_STARTING) return;
    MACHINE_MOVE(&service_machine, v, state, SERVICE_READY);
    (void)sd_notifyf(0, "READY=1\nSTATUS=%s", status);
}

void service_reloading(const struct service *v)
{
    if (v->state != SERVICE_READY) return;
    (void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)clock_mono_us());
}

void service_reloaded(const struct service *v)
{
    if (v->state == SERVICE_READY) (void)sd_notify(0, "READY=1");
}

void service_stopping(struct service *v, const char *status)
{
    if (v->state == SERVICE_STOPPING) return;
    MACHINE_MOVE(&service_machine, v, state, SERVICE_STOPPING);
    (void)sd_notifyf(0, "STOPPING=1\nSTATUS=%s", status);
}

void service_tick(struct service *v)
{
    int64_t now_us = clock_mono_us();
    if (v->state != SERVICE_READY || v->sign_every_us == 0) return;
    if (v->signed_us != 0 && now_us - v->signed_us < v->sign_every_us) return;
    v->signed_us = now_us;
    (void)sd_notify(0, "WATCHDOG=1");
}
