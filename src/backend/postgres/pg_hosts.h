/* pg_hosts: an address may name several servers, which libpq tries in turn. One that is silent, a
 * machine without power, would take all the time that a call has, each time; so the one that comes
 * first changes after such a try.
 */
#ifndef BACKEND_POSTGRES_PG_HOSTS_H
#define BACKEND_POSTGRES_PG_HOSTS_H

#include <stddef.h>

/* Lists with commas, in the order in which they are to be tried; NULL: as the address says. */
struct pg_hosts {
    char *host, *hostaddr, *port; /* owned */
    size_t count;
    int turns; /* how often it was rotated */
};

void pg_hosts_init(struct pg_hosts *h);
/* Takes in what the address says for `keyword`: "host", "hostaddr" or "port"; any other, and what
 * is no list, is passed over. `list` is copied. */
void pg_hosts_take(struct pg_hosts *h, const char *keyword, const char *list);
void pg_hosts_fini(struct pg_hosts *h);
/* Until it was rotated so often: the first one becomes the last one. */
void pg_hosts_rotate(struct pg_hosts *h, int turns);

#endif
