/* login: whose request it is: a name and a password, a ticket, a certificate, or none. Passwords
 * that were wrong are counted by address, and the next guess from there waits.
 */
#ifndef HTTP_LOGIN_H
#define HTTP_LOGIN_H

#include "http/http_int.h"

struct failures *failures_new(void);
void failures_free(struct failures *f);
/* Goes on with `step` as the user that the request names, or answers 401. */
void login_begin(struct exchange *x, exchange_step *step);

#endif
