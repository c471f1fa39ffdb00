/* user: a name, passwords, and what it may do. The words of Redis's ACL SETUSER and of its `user`
 * lines.
 */
#ifndef ACCESS_USER_H
#define ACCESS_USER_H

#include "access/secret.h"
#include "access/selector.h"

#define USER_NAME_BYTES_MAX 255

/* Redis's words, kept and told; there is no payload to be sanitized. */
enum user_payload { PAYLOAD_UNSAID, PAYLOAD_SANITIZED, PAYLOAD_UNSANITIZED };

struct user {
    struct slice name;    /* first: the table looks here; its bytes follow the struct */
    uint64_t incarnation; /* no other user, of any name, ever had it */
    bool is_unlimited;    /* nothing need be asked: +@all ~* &* alldbs */
    bool is_on, is_nopass;
    bool is_deleted;  /* only those who still hold it know of it */
    uint64_t changes; /* how often it was changed, or deleted */
    enum user_payload payload;
    bool goes_on;           /* exec=continue: see enum exec_on_error */
    bool sees_tuples;       /* view=tuples: what request/view.h says is on for its connections */
    size_t holders;         /* users_hold; freed with the last one after it was deleted */
    struct secret *secrets; /* owned */
    size_t secret_count;
    struct selector *selectors; /* owned; never NULL: the first is the one without parentheses */
};

/* May do nothing, is off, has no password. */
struct user *user_new(struct slice name, uint64_t incarnation);
void user_free(struct user *u);

/* Applies the words in order, all of them or, on an error, none. An error is as Redis words it: it
 * names the word, but never a password. */
ERR_MUST_USE enum err user_set(struct user *u, const struct access_catalog *catalog,
                               const struct slice *words, size_t count, struct error *e);
/* u may do what `like` may, with its passwords. */
void user_assign(struct user *u, const struct user *like);
/* `on #5e88... ~* &* +@all`: the words that make it. */
void user_describe(const struct user *u, struct buf *out);
/* "sanitize-payload", "skip-sanitize-payload"; NULL: neither was said. */
const char *user_payload_word(const struct user *u);
/* Does the password fit? Takes the same time wherever a hash differs, and whichever it is. */
bool user_accepts(const struct user *u, struct slice password);

#endif
