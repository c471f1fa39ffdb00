/* shared: the ids of one stored value, for those who write it in another form: what an id stands
 * for there. Ids come in any order and size, so they are gathered and sorted before the first is
 * asked for.
 */
#ifndef FOREIGN_SHARED_H
#define FOREIGN_SHARED_H

#include "base/slice.h"

enum shared_state {
    SHARED_OPEN,   /* its value has not begun: a reference to it now is to nothing */
    SHARED_OBJECT, /* `number` of the object */
    SHARED_SCALAR  /* `scalar`: there are no references to those, they are written again */
};

struct shared_id {
    uint32_t id;
    enum shared_state state;
    uint32_t number;
    struct slice scalar;    /* stored form; borrowed from the value */
    struct shared_id *next; /* others for which the same value is being looked for */
};

struct shared_ids {
    struct shared_id *list; /* owned, NULL until gathered; sorted */
    size_t count;
};

/* All ids in `value`, which has passed value_check. False: no memory. */
bool shared_gather(struct shared_ids *s, struct slice value);
void shared_fini(struct shared_ids *s);
/* It is there. */
struct shared_id *shared_find(const struct shared_ids *s, uint32_t id);

#endif
