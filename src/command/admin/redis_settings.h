/* redis_settings: settings of Redis that this server has not, with what they mean here: CONFIG GET
 * shows those that tools ask for, CONFIG SET takes the value that they have, and at the start
 * (server/config.c) those are passed over that ask for no more than there is. Constants, for any
 * thread.
 */
#ifndef COMMAND_ADMIN_REDIS_SETTINGS_H
#define COMMAND_ADMIN_REDIS_SETTINGS_H

#include "base/slice.h"

struct redis_setting {
    const char *name;
    const char *value;    /* here; NULL = CONFIG does not know the setting; REDIS_BY_DURABILITY */
    const char *why;      /* it has no other value */
    const char *accepted; /* at the start, besides `value`: words with blanks between them; "*": any
                             number of any words; NULL: nothing */
};
extern const char REDIS_BY_DURABILITY[]; /* `value` of appendfsync */

extern const struct redis_setting redis_settings[];
extern const size_t redis_setting_count;

/* In any case; NULL when there is none. */
const struct redis_setting *redis_setting_find(struct slice name);
/* Does the start pass over it with these words? */
bool redis_setting_is_harmless(const struct redis_setting *s, const struct slice *words,
                               size_t count);

#endif
