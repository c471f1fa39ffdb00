/* peers: a table by address; an address without connections is not in it. */
#include "net/peers.h"

#include "base/mem.h"

struct peer *peer_take(struct htab *peers, struct slice address, uint64_t max)
{
    uint64_t hash = hash_bytes(address);
    struct peer *p = htab_find(peers, hash, address);
    if (p == NULL) {
        p = mem_new(sizeof *p + address.len);
        bytes_copy(p + 1, address.data, address.len);
        p->address = slice_of(p + 1, address.len);
        htab_insert(peers, hash, &p->address);
    } else if (max != 0 && p->connections >= max) {
        return NULL;
    }
    p->connections++;
    return p;
}

void peer_give(struct htab *peers, struct peer *p)
{
    if (p == NULL || --p->connections > 0) return;
    htab_remove(peers, hash_bytes(p->address), &p->address);
    mem_free(p);
}
