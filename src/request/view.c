/* view: see view.h. What the client said (CLIENT VIEW) comes before what its user has. */
#include "request/view.h"

#include "access/user.h"
#include "codec/key.h"
#include "codec/value.h"
#include "request/key_name.h"

bool view_is_tuples(const struct client *c)
{
    if (c->view != VIEW_OF_USER) return c->view == VIEW_TUPLES;
    return c->user != NULL && c->user->sees_tuples;
}

void view_name(const struct client *c, struct slice key, struct buf *out)
{
    if (view_is_tuples(c)) {
        key_to_path(engine_key_tuple(key), out);
    } else {
        key_name(key, out);
    }
}

const char *view_type(const struct client *c, struct slice value)
{
    struct slice bytes;
    if (value_bytes_of(value, &bytes)) return "string";
    if (view_is_tuples(c)) return "ReJSON-RL";
    const char *name = value_type_name(value);
    return strcmp(name, "string") == 0 ? "text" : name; /* a string of ours is no `string` */
}
