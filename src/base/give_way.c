/* give_way: asks the kernel whether the loop waits for this processor, and yields then. */
#include "base/give_way.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/host.h"
#include "base/slice.h"

#define LOOK_US 100        /* between two looks: one takes some 2 us */
#define BLIND_US 1000      /* between two yields where the kernel cannot be asked */
#define FIELD_PROCESSOR 39 /* of proc(5)'s stat; the state is the third */
#define FIELD_STATE 3

static _Thread_local int64_t looked_us;

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

void give_way_to_me(void)
{
    char path[64];
    struct host *h = host_used();
    if (h == NULL || h->loop_stat > 0) return;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)gettid());
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    __atomic_store_n(&h->loop_stat, fd, __ATOMIC_RELEASE);
}

bool give_way_is_runnable(const char *stat, int processor)
{
    const char *at = strrchr(stat, ')'); /* the name of the program may have anything in it */
    if (at == NULL || strncmp(at, ") R ", 4) != 0) return false;
    at += 2;
    for (int field = FIELD_STATE; field < FIELD_PROCESSOR; field++) {
        at = strchr(at, ' ');
        if (at == NULL) return false;
        at++;
    }
    int64_t found = 0;
    return slice_to_i64(slice_of(at, strcspn(at, " \n")), &found) && found == processor;
}

void give_way(void)
{
    char stat[512];
    int fd = __atomic_load_n(&host_mine->loop_stat, __ATOMIC_ACQUIRE);
    int64_t now = now_us();
    if (now - looked_us < (fd > 0 ? LOOK_US : BLIND_US)) return;
    looked_us = now;
    ssize_t n = fd > 0 ? pread(fd, stat, sizeof stat - 1, 0) : -1;
    stat[n > 0 ? n : 0] = '\0';
    /* One that is runnable here waits, since the calling thread runs here. */
    if (n <= 0 || give_way_is_runnable(stat, sched_getcpu())) sched_yield();
}
