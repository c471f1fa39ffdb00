/* view: see view.h. What the client said (CLIENT VIEW) comes before what its user has. */
#include "request/view.h"

#include "access/user.h"
#include "codec/collection.h"
#include "codec/key.h"
#include "codec/value.h"
#include "request/key_name.h"

bool view_is_tuples(const struct client *c)
{
    if (c->settings.view != VIEW_OF_USER) return c->settings.view == VIEW_TUPLES;
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
    struct collection_head head;
    if (value_bytes_of(value, &bytes)) return "string";
    if (collection_head_read(value, &head)) return collection_kind_name(head.kind);
    if (view_is_tuples(c)) return "ReJSON-RL";
    const char *name = value_type_name(value);
    return strcmp(name, "string") == 0 ? "text" : name; /* a string of ours is no `string` */
}
