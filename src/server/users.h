/* users: where the users come from: the aclfile, or requirepass and the `user` lines of the
 * configuration; and where ACL SAVE and CONFIG REWRITE put them.
 */
#ifndef SERVER_USERS_H
#define SERVER_USERS_H

#include "server/server_int.h"

/* At the start, when env is filled. ERR_SYNTAX, ERR_IO: what is wrong, and where. */
ERR_MUST_USE enum err users_open(struct server *s, struct error *e);
/* requirepass was set: to `default`, and then forgotten. */
void users_take_password(struct server *s);
/* For CONFIG REWRITE: the `user` lines that the file must have from now on. */
void users_to_config(struct server *s);
/* Does `default` need no password? */
bool users_are_open(const struct server *s);
/* Of struct server_ops. */
enum err users_load_file(void *server, struct error *e);
enum err users_save_file(void *server, struct error *e);

#endif
