/* login: the user of a client. A new one is `default`, if that user is on and needs no password;
 * else it has none, until AUTH or HELLO with AUTH. If its certificate names a user that is on, it
 * is that one (tls-auth-clients-user). Changes of a user apply at once to its clients.
 */
#ifndef REQUEST_LOGIN_H
#define REQUEST_LOGIN_H

#include "access/access_log.h"
#include "access/users.h"
#include "request/command.h"

/* Makes and frees env->users and env->access_log; `default` may do everything. */
void logins_init(struct env *env);
void logins_fini(struct env *env);

/* As a new client is; also of RESET. */
void client_login_default(struct client *c, struct env *env);
/* u NULL: no user. */
void client_become(struct client *c, struct user *u);
/* ERR_WRONGPASS, in the access log too; ERR_LIMIT: too many clients are that user. */
ERR_MUST_USE enum err client_login(struct request *rq, struct slice name, struct slice password);
/* The command needs a user, and there is none: ERR_NOAUTH in these words, or ERR_TRYAGAIN while the
 * users are not known. */
ERR_MUST_USE enum err login_demand(struct request *rq, const char *text);
/* The request's client did that. */
void login_log(struct request *rq, struct access_log_entry *entry);

#endif
