/* pg_hosts: lists of host, hostaddr and port are rotated together, so that they keep belonging to
 * one another. */
#include "backend/postgres/pg_hosts.h"

#include <string.h>

#include "base/mem.h"

static size_t items(const char *list)
{
    size_t n = 1;
    while ((list = strchr(list, ',')) != NULL) {
        list++;
        n++;
    }
    return n;
}

void pg_hosts_init(struct pg_hosts *h)
{
    *h = (struct pg_hosts){.count = 1};
}

void pg_hosts_take(struct pg_hosts *h, const char *keyword, const char *list)
{
    char **member = strcmp(keyword, "host") == 0       ? &h->host
                    : strcmp(keyword, "hostaddr") == 0 ? &h->hostaddr
                    : strcmp(keyword, "port") == 0     ? &h->port
                                                       : NULL;
    size_t n = items(list);
    if (member == NULL || n == 1) return; /* one port is for all */
    size_t bytes = strlen(list) + 1;
    mem_free(*member);
    *member = memcpy(mem_alloc(bytes), list, bytes);
    h->count = n;
}

void pg_hosts_fini(struct pg_hosts *h)
{
    mem_free(h->host);
    mem_free(h->hostaddr);
    mem_free(h->port);
}

/* "a,b,c" becomes "b,c,a". */
static void rotate(char *list)
{
    const char *comma = list != NULL ? strchr(list, ',') : NULL;
    if (comma == NULL) return;
    size_t first = (size_t)(comma - list);
    size_t rest = strlen(comma + 1);
    char *saved = mem_alloc(first + 1);
    memcpy(saved, list, first);
    memmove(list, comma + 1, rest);
    list[rest] = ',';
    memcpy(list + rest + 1, saved, first);
    mem_free(saved);
}

void pg_hosts_rotate(struct pg_hosts *h, int turns)
{
    for (; h->turns != turns; h->turns++) {
        rotate(h->host);
        rotate(h->hostaddr);
        rotate(h->port);
    }
}
