/* login: whose request it is. A user's name and password come with every request; a connection's
 * first of a user is an AUTH as any other (the audit trail, ACL LOG, limits), the ones after it
 * only compare the password. Wrong ones are answered late, the later the more there were of that
 * address; and while too many of its answers wait, none is tried but those of connections that have
 * logged in before.
 */
#include "http/login.h"

#include "base/clock.h"
#include "base/mem.h"
#include "codec/base64.h"
#include "http/ticket.h"
#include "request/login.h"

#define FAILURES 1024     /* addresses that are remembered */
#define FORGET_MS 60000   /* after the last failure of an address */
#define DELAY_MS 100      /* of the second failure; doubled with each ... */
#define DELAY_MS_MAX 3200 /* ... up to this */
#define DELAYED_MAX 16    /* of one address at a time; then all are refused at once */

struct failure {
    uint64_t hash; /* of the address */
    int64_t last_ms;
    unsigned count;
    int64_t until_ms[DELAYED_MAX]; /* answers are delayed; also when who asked has gone */
};

struct failures {
    struct failure seen[FAILURES];
};

struct failures *failures_new(void)
{
    return mem_new(sizeof(struct failures));
}

void failures_free(struct failures *f)
{
    mem_free(f);
}

/* A place for each address; where two meet, the later one takes it. */
static struct failure *failure_of(struct exchange *x)
{
    uint64_t hash = hash_bytes(session_address(x->session, x->message)) | 1;
    struct failure *f = &x->http->failures->seen[hash % FAILURES];
    int64_t now_ms = clock_mono_us() / 1000;
    if (f->hash != hash || now_ms - f->last_ms > FORGET_MS) *f = (struct failure){.hash = hash};
    f->last_ms = now_ms;
    return f;
}

/* Are so many answers to the address delayed that nothing more of it is tried? */
static bool is_busy_guessing(const struct exchange *x)
{
    uint64_t hash = hash_bytes(session_address(x->session, x->message)) | 1;
    const struct failure *f = &x->http->failures->seen[hash % FAILURES];
    int64_t now_ms = clock_mono_us() / 1000;
    size_t delayed = 0;
    if (f->hash != hash) return false;
    for (size_t i = 0; i < DELAYED_MAX; i++) delayed += f->until_ms[i] > now_ms;
    return delayed == DELAYED_MAX;
}

static void unauthorized(struct exchange *x, const char *text)
{
    /* Not Basic: a browser would ask by itself, above the page that asks. */
    exchange_header(x, "www-authenticate", slice_str("Bearer realm=\"tupled\""));
    exchange_fail(x, 401, "%s", text);
}

static void delay_is_over(struct exchange *x)
{
    unauthorized(x, "WRONGPASS invalid username-password pair or user is disabled.");
}

static void wrong_password(struct exchange *x)
{
    struct failure *f = failure_of(x);
    size_t oldest = 0;
    f->count++;
    int64_t ms = f->count < 2 ? 0 : DELAY_MS;
    for (unsigned i = 2; i < f->count && ms < DELAY_MS_MAX; i++) ms *= 2;
    for (size_t i = 1; i < DELAYED_MAX; i++) {
        if (f->until_ms[i] < f->until_ms[oldest]) oldest = i;
    }
    f->until_ms[oldest] = f->last_ms + ms;
    x->step = delay_is_over;
    if (ms > 0) exchange_delay(x, ms);
}

struct login_task {
    exchange_step *then;
};

static void auth_ran(struct exchange *x)
{
    const struct login_task *t = x->task;
    if (slice_has_prefix(buf_slice(&x->reply), slice_str("-WRONGPASS"))) {
        wrong_password(x);
        return;
    }
    if (exchange_fails(x)) return;
    x->session->incarnation = x->client.user->incarnation;
    x->step = t->then;
}

/* `user:password` split at the first colon; without one it is the password of `default`. */
static void split(struct slice both, struct slice *name, struct slice *password)
{
    const uint8_t *colon = both.len == 0 ? NULL : memchr(both.data, ':', both.len);
    *name = slice_str("default");
    *password = both;
    if (colon == NULL) return;
    size_t len = (size_t)(colon - both.data);
    *name = slice_of(both.data, len);
    *password = slice_of(colon + 1, both.len - len - 1);
}

/* Takes the word before a blank if it is that, in any case. */
static bool take_scheme(struct slice *text, const char *upper)
{
    size_t len = strlen(upper);
    if (text->len <= len || text->data[len] != ' ') return false;
    if (!slice_is_word(slice_of(text->data, len), upper)) return false;
    *text = http_trim(slice_of(text->data + len, text->len - len));
    return true;
}

static bool credentials(struct exchange *x, struct slice header, struct slice *both)
{
    *both = header;
    if (take_scheme(both, "BEARER")) return true;
    if (!take_scheme(both, "BASIC")) return false;
    struct buf text;
    buf_init(&text);
    bool is_good = base64_decode(*both, &text) && !text.is_failed;
    if (is_good) *both = arena_copy(&x->arena, buf_slice(&text));
    buf_fini(&text);
    return is_good;
}

static void login_default(struct exchange *x, exchange_step *step)
{
    client_login_default(&x->client, x->http->env);
    if (x->client.user == NULL) {
        unauthorized(x, "NOAUTH Authentication required.");
        return;
    }
    x->step = step;
}

void login_begin(struct exchange *x, exchange_step *step)
{
    struct slice header = http_header(x->message, "authorization");
    struct slice both;
    struct slice name;
    struct slice password;
    if (header.data == NULL && ticket_opens(x)) {
        x->step = step;
        return;
    }
    if (x->state != EXCHANGE_READY) return; /* answered: the ticket was wrong */
    if (header.data == NULL) {
        login_default(x, step);
        return;
    }
    if (!credentials(x, header, &both)) {
        unauthorized(x, "ERR Authorization must be `Bearer user:password`, `Bearer password` or "
                        "`Basic` with base64 of user:password");
        return;
    }
    split(both, &name, &password);
    struct user *u = users_login(x->http->env->users.all, name, password);
    if (u != NULL && u->incarnation == x->session->incarnation) {
        if (x->client.user != u) client_become(&x->client, u);
        x->step = step;
        return;
    }
    /* Right or wrong: else the answer that comes at once would tell which. */
    if (is_busy_guessing(x)) {
        exchange_fail(x, 429, "ERR too many wrong passwords from this address; wait");
        return;
    }
    struct login_task *t = arena_alloc(&x->arena, sizeof *t);
    struct slice *argv = exchange_argv(x, 3);
    t->then = step;
    x->task = t;
    argv[0] = slice_str("AUTH");
    argv[1] = name;
    argv[2] = password;
    exchange_command(x, argv, 3, auth_ran);
}
