#include "sim/power.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

#define SECTOR_BYTES 512

struct unsynced {
    struct unsynced *next;
    char *path;
    uint64_t offset;
    size_t len;
    uint8_t *before; /* what was there; zeros after the end of the file */
};

struct power {
    struct unsynced *writes; /* newest first */
    struct file_observer observer;
    struct rng *rng;
};

static void unsynced_free(struct unsynced *u)
{
    mem_free(u->path);
    mem_free(u->before);
    mem_free(u);
}

static void before_write(void *arg, const char *path, uint64_t offset, struct slice bytes)
{
    struct power *p = arg;
    struct unsynced *u = mem_new(sizeof *u);
    size_t len = strlen(path) + 1;
    u->path = memcpy(mem_alloc(len), path, len);
    u->offset = offset;
    u->len = bytes.len;
    u->before = mem_new(bytes.len + 1);
    int fd = open(path, O_RDONLY);
    if (fd >= 0) {
        ssize_t ignored = pread(fd, u->before, bytes.len, (off_t)offset);
        (void)ignored;
        close(fd);
    }
    u->next = p->writes;
    p->writes = u;
}

static void after_sync(void *arg, const char *path)
{
    struct power *p = arg;
    for (struct unsynced **at = &p->writes; *at != NULL;) {
        struct unsynced *u = *at;
        if (strcmp(u->path, path) != 0) {
            at = &u->next;
            continue;
        }
        *at = u->next;
        unsynced_free(u);
    }
}

struct power *power_watch(struct rng *rng)
{
    struct power *p = mem_new(sizeof *p);
    p->rng = rng;
    p->observer = (struct file_observer){before_write, after_sync, p};
    file_set_observer(&p->observer);
    return p;
}

/* Takes back [from, to) of a write, in whole sectors of the file. */
static void take_back(const struct unsynced *u, int fd, size_t from, size_t to)
{
    if (from >= to) return;
    ssize_t ignored = pwrite(fd, u->before + from, to - from, (off_t)(u->offset + from));
    (void)ignored;
}

/* The newest first: an older write below a newer one decides what was before it. */
unsigned power_fail(struct power *p)
{
    unsigned lost = 0;
    while (p->writes != NULL) {
        struct unsynced *u = p->writes;
        p->writes = u->next;
        int fd = open(u->path, O_WRONLY);
        uint64_t fate = rng_below(p->rng, 3);
        if (fd >= 0 && fate == 1) take_back(u, fd, 0, u->len);
        if (fd >= 0 && fate == 2) {
            /* Each sector for itself. */
            for (size_t at = 0; at < u->len;) {
                size_t sector = SECTOR_BYTES - (u->offset + at) % SECTOR_BYTES;
                size_t to = at + sector < u->len ? at + sector : u->len;
                if (rng_below(p->rng, 2) == 0) take_back(u, fd, at, to);
                at = to;
            }
        }
        if (fd >= 0) close(fd);
        lost += fate != 0;
        unsynced_free(u);
    }
    return lost;
}

void power_unwatch(struct power *p)
{
    file_set_observer(NULL);
    while (p->writes != NULL) {
        struct unsynced *next = p->writes->next;
        unsynced_free(p->writes);
        p->writes = next;
    }
    mem_free(p);
}
