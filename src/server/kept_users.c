/* kept_users: see kept_users.h. What the thread has found waits in `found` until the loop takes it;
 * a change is a job whose result is taken before its owner is woken. A process that starts its
 * program anew hands the users on in a file without a name (memfd), whose number is in the
 * environment. */
#include "server/kept_users.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "access/users.h"
#include "base/file.h"
#include "request/login.h"

#define NAMES_BYTES_MAX 200 /* of users, in a line of the log */

/* Where the program that this process starts anew finds them: the number of an open file. */
#define HANDED_OVER "TUPLED_USERS_FD"
#define HANDED_BYTES_MAX ((size_t)1 << 30)

/* ---- the thread ------------------------------------------------------------------------------ */

enum err kept_users_look(struct kept_users *k, bool leads, struct error *e)
{
    struct error why;
    if (k->stored == NULL) k->stored = pg_users_new(k->server->term);
    enum err r = leads ? pg_users_fill(k->stored, buf_slice(&k->configured), &why) : OK;
    if (r == OK) r = pg_users_read(k->stored, &k->generation, &k->found, &why);
    if (r != OK) log_verbose("users not loaded: %s", why.text);
    if (r == OK && k->generation == 0) r = error_set(&why, ERR_IO, "they were never saved");
    if (r == OK || !leads) return OK;
    return error_set(e, ERR_IO, "users not loaded: %s", why.text);
}

static void change_run(struct job *job)
{
    struct kept_users *k = (struct kept_users *)((char *)job - offsetof(struct kept_users, job));
    k->result = pg_users_write(k->stored, buf_slice(&k->wanted), &k->error);
}

/* ---- what is found --------------------------------------------------------------------------- */

/* The line of a user in a text of them; empty when the user is not in it. */
static struct slice line_of(struct slice text, struct slice name)
{
    struct slice rest = text;
    while (rest.len > 0) {
        const uint8_t *end = memchr(rest.data, '\n', rest.len);
        size_t len = end != NULL ? (size_t)(end - rest.data) : rest.len;
        struct slice line = slice_of(rest.data, len);
        bool is_his = len > 5 + name.len && memcmp(line.data + 5, name.data, name.len) == 0 &&
                      line.data[5 + name.len] == ' ';
        if (is_his) return line;
        rest = slice_of(rest.data + len + (end != NULL), rest.len - len - (end != NULL));
    }
    return slice_of(NULL, 0);
}

/* What is configured here does not count: said once, when it is something else. */
static void tell_differences(const struct kept_users *k, struct slice text)
{
    static const char untouched[] = "user default on nopass ~* &* +@all";
    char names[NAMES_BYTES_MAX] = "";
    struct slice rest = buf_slice(&k->configured);
    while (rest.len > 0) {
        const uint8_t *end = memchr(rest.data, '\n', rest.len);
        size_t len = end != NULL ? (size_t)(end - rest.data) : rest.len;
        struct slice line = slice_of(rest.data, len);
        rest = slice_of(rest.data + len + (end != NULL), rest.len - len - (end != NULL));
        if (len <= 5 || slice_has_prefix(line, slice_str(untouched))) continue;
        const uint8_t *blank = memchr(line.data + 5, ' ', len - 5);
        struct slice name = slice_of(line.data + 5,
                                     blank != NULL ? (size_t)(blank - line.data) - 5 : len - 5);
        if (slice_eq(line, line_of(text, name))) continue;
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%.*s", used > 0 ? ", " : "", (int)name.len,
                 (const char *)name.data);
    }
    if (names[0] != '\0') {
        log_warning("the users of the configuration differ from those in PostgreSQL, which are "
                    "used: %s",
                    names);
    }
}

/* Logs in the clients that came before any user was known. */
static void let_in(struct env *env)
{
    for (struct client *c = env->clients.list.next; c != &env->clients.list; c = c->next) {
        if (c->user == NULL) client_login_default(c, env);
    }
}

static void take_text(struct kept_users *k, struct slice text)
{
    struct env *env = &k->server->env;
    struct error e;
    if (users_load(env->users.all, text, "tupled_users", &e) != OK) {
        log_warning("cannot load the users from PostgreSQL: %s", e.text);
        return;
    }
    env->users.are_awaited = false;
    if (!k->is_known) tell_differences(k, text);
    if (!k->is_known) let_in(env);
    pthread_mutex_lock(&k->lock);
    buf_clear(&k->known, 0);
    buf_append(&k->known, text.data, text.len);
    k->is_known = !k->known.is_failed;
    pthread_mutex_unlock(&k->lock);
}

void kept_users_take(struct kept_users *k)
{
    if (k->found.len == 0) return;
    take_text(k, buf_slice(&k->found));
    buf_clear(&k->found, 0);
}

/* ---- changes --------------------------------------------------------------------------------- */

static void change_done(struct job *job)
{
    struct kept_users *k = (struct kept_users *)((char *)job - offsetof(struct kept_users, job));
    struct users_change *c = k->change;
    k->is_changing = false;
    if (k->result == OK) take_text(k, buf_slice(&k->wanted));
    if (c != NULL) {
        c->slot = NULL;
        c->result = k->result;
        c->error = k->error;
        k->change = NULL;
    }
    waiter_wake_all(&k->waiters);
}

enum err kept_users_change(struct kept_users *k, struct slice text, struct users_change *c,
                           struct waiter *w, struct error *e)
{
    waiter_add(&k->waiters, w);
    if (k->is_changing) return error_set(e, ERR_WAIT, "other users are being saved");
    buf_clear(&k->wanted, 0);
    buf_append(&k->wanted, text.data, text.len);
    buf_require(&k->wanted);
    k->is_changing = true;
    k->change = c;
    c->slot = &k->change;
    worker_post(k->worker, &k->job);
    return error_set(e, ERR_WAIT, "the users are being saved");
}

/* ---- a program that is started anew ---------------------------------------------------------- */

void kept_users_hand_over(struct kept_users *k)
{
    char number[16];
    pthread_mutex_lock(&k->lock);
    int fd = k->is_known ? file_in_memory("tupled-users", buf_slice(&k->known)) : -1;
    pthread_mutex_unlock(&k->lock);
    snprintf(number, sizeof number, "%d", fd);
    if (fd >= 0) (void)setenv(HANDED_OVER, number, 1);
}

/* The users of the program before this one count until PostgreSQL says others: a node that begins
 * anew while PostgreSQL is away lets in the same clients as one that has stayed. */
static void take_over(struct kept_users *k)
{
    const char *number = getenv(HANDED_OVER);
    char path[64];
    struct buf text;
    struct error e;
    if (number == NULL) return;
    int fd = (int)strtol(number, NULL, 10);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    buf_init(&text);
    if (file_read_all(path, &text, HANDED_BYTES_MAX, &e) == OK) {
        take_text(k, buf_slice(&text));
    } else {
        log_warning("the previous users are unknown: %s", e.text);
    }
    (void)unsetenv(HANDED_OVER);
    close(fd);
    if (text.len > 0) explicit_bzero(text.data, text.len);
    buf_fini(&text);
}

/* ---- life ------------------------------------------------------------------------------------ */

void kept_users_open(struct kept_users *k, struct server *s, struct worker *worker)
{
    struct error e;
    struct env *env = &s->env;
    k->server = s;
    k->worker = worker;
    k->job = (struct job){.run = change_run, .done = change_done};
    waiter_list_init(&k->waiters);
    users_describe(env->users.all, true, &k->configured);
    buf_require(&k->configured);
    if (users_load(env->users.all, slice_str("user default off\n"), "built in", &e) != OK)
        die("%s", e.text);
    env->users.are_kept = true;
    env->users.are_awaited = true;
    if (pthread_mutex_init(&k->lock, NULL) != 0) die("cannot create a lock for the users");
    take_over(k);
}

void kept_users_close(struct kept_users *k)
{
    pg_users_free(k->stored);
    waiter_drop_all(&k->waiters);
    explicit_bzero(k->configured.data, k->configured.len);
    if (k->known.len > 0) explicit_bzero(k->known.data, k->known.len);
    pthread_mutex_destroy(&k->lock);
    buf_fini(&k->known);
    buf_fini(&k->configured);
    buf_fini(&k->found);
    buf_fini(&k->wanted);
}
