/* heap: how the process allocates. */
#ifndef SERVER_HEAP_H
#define SERVER_HEAP_H

/* The allocator is set up for a server, and what SQLite and OpenSSL allocate is counted too
 * (base/mem.h). First of all, in the main program only: a program that embeds the library has
 * settings of its own. */
void heap_begin(void);

#endif
