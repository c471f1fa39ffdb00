/* host: the tests' own clock and faults: the main thread of every test program has a host from its
 * first moment, before main. The Makefile links this file into each of them. */
#include "base/host.h"

static struct host host;

__attribute__((constructor)) static void give_the_main_thread_a_host(void)
{
    host_init(&host);
    (void)host_use(&host);
}
