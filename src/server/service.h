/* service: what the server tells its service manager: systemd (Type=notify), or another one that
 * set NOTIFY_SOCKET. Without that nothing here does anything.
 *
 *   starting --service_ready--> ready --service_stopping--> stopping
 *       \----------------------------service_stopping----------^
 *
 * While it is starting, progress is sent as STATUS= together with EXTEND_TIMEOUT_USEC=, so that a
 * recovery may take as long as it goes on. READY=1 is sent once. WATCHDOG=1 is sent by
 * service_tick, which only the loop calls: a loop that hangs is noticed.
 *
 * For the loop thread. A message is put into the socket of the receiver; should that be full, the
 * call waits, as in other services.
 */
#ifndef SERVER_SERVICE_H
#define SERVER_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

enum service_state { SERVICE_STARTING, SERVICE_READY, SERVICE_STOPPING };

struct service {
    enum service_state state;
    int64_t sign_every_us; /* half of what the watchdog waits; 0 = there is none */
    int64_t signed_us;     /* monotonic: of the last sign of life; 0 = none yet */
    int64_t told_us;       /* monotonic: of the last progress; 0 = none was sent */
};

/* Begins in SERVICE_STARTING; reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. */
void service_init(struct service *v);
/* The start goes on; the text is read by people. Sent at most once a second; nothing unless
 * starting. */
void service_progress(struct service *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Commands are served, with all data. `status` as above. Nothing unless starting. */
void service_ready(struct service *v, const char *status);
/* Files are being opened anew, and have been. Nothing unless ready. */
void service_reloading(const struct service *v);
void service_reloaded(const struct service *v);
/* From the first call on; later ones do nothing. */
void service_stopping(struct service *v, const char *status);
/* In every tick of the loop: the sign of life, when it is time. Nothing unless ready: only then
 * is it waited for. */
void service_tick(struct service *v);

#endif
