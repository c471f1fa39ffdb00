/* users: a hash table for logins and an array sorted by name for lists. A deleted user lives on
 * until nothing holds it. Loading builds all users apart first, then changes, drops and adds, so
 * that an error changes nothing. A login without such a user compares with a decoy. */
#include "access/users.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/htab.h"
#include "base/mem.h"
#include "base/random.h"

#define LINE_WORDS_MAX 4096
#define INCARNATION "incarnation=" /* and 16 hexadecimal digits: the last word of a line */

struct users {
    const struct access_catalog *catalog;
    users_changed *changed;
    void *arg;
    bool allows_all_channels;
    struct htab table;    /* of struct user, by name */
    struct user **sorted; /* owned; by name */
    size_t count, cap;
    struct user *decoy; /* whose password is compared when a name is not there */
};

/* Of a user that is made while the server runs: it is not that of a user that is gone. */
static uint64_t incarnation_new(void)
{
    uint64_t n = 0;
    random_system(&n, sizeof n);
    return n;
}

/* Of one whom a line makes that does not say it: the same at each start. */
static uint64_t incarnation_of(struct slice name)
{
    return checksum_bytes(name);
}

/* ---- the table ---- */

static size_t place_of(const struct users *x, struct slice name)
{
    size_t low = 0;
    size_t high = x->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (slice_cmp(x->sorted[middle]->name, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void table_add(struct users *x, struct user *u)
{
    size_t at = place_of(x, u->name);
    if (x->count == x->cap) {
        x->cap = x->cap == 0 ? 8 : 2 * x->cap;
        x->sorted = mem_resize(x->sorted, x->cap * sizeof *x->sorted);
    }
    memmove(&x->sorted[at + 1], &x->sorted[at], (x->count - at) * sizeof *x->sorted);
    x->sorted[at] = u;
    x->count++;
    htab_insert(&x->table, hash_bytes(u->name), &u->name);
}

static void table_remove(struct users *x, struct user *u)
{
    size_t at = place_of(x, u->name);
    htab_remove(&x->table, hash_bytes(u->name), &u->name);
    x->count--;
    memmove(&x->sorted[at], &x->sorted[at + 1], (x->count - at) * sizeof *x->sorted);
}

struct user *users_find(struct users *x, struct slice name)
{
    return htab_find(&x->table, hash_bytes(name), name);
}

struct user *users_default(struct users *x)
{
    return users_find(x, slice_str("default"));
}

size_t users_count(const struct users *x)
{
    return x->count;
}

struct user *users_at(const struct users *x, size_t i)
{
    return i < x->count ? x->sorted[i] : NULL;
}

void users_set_channels(struct users *x, bool allows_all)
{
    x->allows_all_channels = allows_all;
}

/* ---- one ---- */

static struct user *make(const struct users *x, struct slice name, uint64_t incarnation)
{
    struct user *u = user_new(name, incarnation);
    if (x->allows_all_channels) u->selectors->channels.allows_all = true;
    selector_ready(u->selectors);
    return u;
}

static struct user *make_default(const struct users *x)
{
    const struct slice words[] = {slice_str("on"), slice_str("nopass"), slice_str("~*"),
                                  slice_str("&*"), slice_str("+@all")};
    struct slice name = slice_str("default");
    struct user *u = make(x, name, incarnation_of(name));
    struct error e;
    if (user_set(u, x->catalog, words, sizeof words / sizeof words[0], &e) != OK) {
        die("cannot create the default user: %s", e.text);
    }
    return u;
}

struct user *users_hold(struct user *u)
{
    u->holders++;
    return u;
}

void users_release(struct user *u)
{
    if (u == NULL) return;
    INVARIANT(u->holders > 0);
    if (--u->holders == 0 && u->is_deleted) user_free(u);
}

static void tell(const struct users *x, struct user *u)
{
    u->changes++;
    if (x->changed != NULL) x->changed(x->arg, u);
}

/* Its holders learn of it first; it is freed when none is left. */
static void drop(struct users *x, struct user *u)
{
    table_remove(x, u);
    u->is_deleted = true;
    users_hold(u);
    tell(x, u);
    users_release(u);
}

struct user *users_login(struct users *x, struct slice name, struct slice password)
{
    struct user *u = users_find(x, name);
    bool fits = user_accepts(u != NULL ? u : x->decoy, password);
    return u != NULL && u->is_on && fits ? u : NULL;
}

static enum err check_name(struct slice name, struct error *e)
{
    for (size_t i = 0; i < name.len; i++) {
        if (isspace(name.data[i]) || name.data[i] == '\0') {
            return error_set(e, ERR_SYNTAX, "Usernames can't contain spaces or null characters");
        }
    }
    if (name.len == 0 || name.len > USER_NAME_BYTES_MAX) {
        return error_set(e, ERR_SYNTAX, "a username must have 1 to %d bytes", USER_NAME_BYTES_MAX);
    }
    return OK;
}

enum err users_set(struct users *x, struct slice name, const struct slice *words, size_t count,
                   struct error *e)
{
    enum err r = check_name(name, e);
    if (r != OK) return r;
    struct user *u = users_find(x, name);
    bool is_new = u == NULL;
    if (is_new) u = make(x, name, incarnation_new());
    r = user_set(u, x->catalog, words, count, e);
    if (r != OK) {
        if (is_new) user_free(u);
        return r;
    }
    if (is_new) table_add(x, u);
    tell(x, u);
    return OK;
}

bool users_delete(struct users *x, struct slice name)
{
    struct user *u = users_find(x, name);
    if (u == NULL || u == users_default(x)) return false;
    drop(x, u);
    return true;
}

/* ---- all of them ---- */

struct users *users_new(const struct access_catalog *catalog, users_changed *changed, void *arg)
{
    INVARIANT(catalog->count() < ACCESS_COMMANDS_MAX);
    struct users *x = mem_new(sizeof *x);
    const struct slice words[] = {slice_str(">x")};
    struct error e;
    x->catalog = catalog;
    x->changed = changed;
    x->arg = arg;
    htab_init(&x->table);
    table_add(x, make_default(x));
    x->decoy = make(x, slice_str("decoy"), 0);
    if (user_set(x->decoy, catalog, words, 1, &e) != OK) die("cannot create users: %s", e.text);
    return x;
}

static void free_all(struct users *x)
{
    for (size_t i = 0; i < x->count; i++) user_free(x->sorted[i]);
    mem_free(x->sorted);
    htab_fini(&x->table);
    user_free(x->decoy);
    mem_free(x);
}

void users_free(struct users *x)
{
    if (x != NULL) free_all(x);
}

void users_describe(const struct users *x, bool for_load, struct buf *out)
{
    for (size_t i = 0; i < x->count; i++) {
        buf_append_str(out, "user ");
        buf_append(out, x->sorted[i]->name.data, x->sorted[i]->name.len);
        buf_append_byte(out, ' ');
        user_describe(x->sorted[i], out);
        if (for_load && x->sorted[i]->incarnation != incarnation_of(x->sorted[i]->name)) {
            buf_printf(out, " " INCARNATION "%016llx",
                       (unsigned long long)x->sorted[i]->incarnation);
        }
        buf_append_byte(out, '\n');
    }
}

/* ---- lines ---- */

static size_t line_split(struct slice line, struct slice *words)
{
    size_t count = 0;
    for (size_t i = 0; i < line.len && count < LINE_WORDS_MAX;) {
        while (i < line.len && isspace(line.data[i])) i++;
        size_t begin = i;
        while (i < line.len && !isspace(line.data[i])) i++;
        if (i > begin) words[count++] = slice_of(line.data + begin, i - begin);
    }
    return count;
}

static bool take_incarnation(struct slice word, uint64_t *out)
{
    size_t head = strlen(INCARNATION);
    uint64_t n = 0;
    if (word.len != head + 16 || !slice_has_prefix(word, slice_str(INCARNATION))) return false;
    for (size_t i = head; i < word.len; i++) {
        uint8_t c = word.data[i];
        if (!isxdigit(c)) return false;
        n = n << 4 | (uint64_t)(isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);
    }
    *out = n;
    return true;
}

static enum err load_line(struct users *fresh, struct slice *words, size_t count, struct error *e)
{
    if (!slice_is_word(words[0], "USER") || count < 2) {
        return error_set(e, ERR_SYNTAX, "a line must begin with `user <name>`");
    }
    if (count == LINE_WORDS_MAX) {
        return error_set(e, ERR_SYNTAX, "a line may have at most %d words", LINE_WORDS_MAX - 1);
    }
    if (users_find(fresh, words[1]) != NULL) {
        return error_set(e, ERR_SYNTAX,
                         "Duplicate user '%.*s' found. A user can only be defined once",
                         (int)words[1].len, (const char *)words[1].data);
    }
    uint64_t incarnation = incarnation_of(words[1]);
    if (count > 2 && take_incarnation(words[count - 1], &incarnation)) count--;
    enum err r = check_name(words[1], e);
    if (r != OK) return r;
    struct user *u = make(fresh, words[1], incarnation);
    r = user_set(u, fresh->catalog, words + 2, count - 2, e);
    if (r == OK) {
        table_add(fresh, u);
    } else {
        user_free(u);
    }
    return r;
}

static enum err load_lines(struct users *fresh, struct slice text, const char *from,
                           struct error *e)
{
    struct slice *words = mem_alloc(LINE_WORDS_MAX * sizeof *words);
    enum err r = OK;
    for (size_t at = 0, number = 1; at < text.len && r == OK; number++) {
        const uint8_t *newline = memchr(text.data + at, '\n', text.len - at);
        size_t end = newline == NULL ? text.len : (size_t)(newline - text.data);
        size_t count = line_split(slice_of(text.data + at, end - at), words);
        at = end + 1;
        if (count == 0 || words[0].data[0] == '#') continue;
        r = load_line(fresh, words, count, e);
        if (r == OK) continue;
        struct error why = *e;
        r = error_set(e, ERR_SYNTAX, "%s:%zu: %s", from, number, why.text);
    }
    mem_free(words);
    return r;
}

/* What u may do from now on is what `like` may. */
static void become(struct users *x, struct user *u, const struct user *like)
{
    user_assign(u, like);
    tell(x, u);
}

enum err users_load(struct users *x, struct slice text, const char *from, struct error *e)
{
    struct users *fresh = users_new(x->catalog, NULL, NULL);
    struct user *plain = users_default(fresh);
    fresh->allows_all_channels = x->allows_all_channels;
    table_remove(fresh, plain);
    enum err r = load_lines(fresh, text, from, e);
    if (r == OK && users_default(fresh) == NULL) {
        table_add(fresh, plain);
        plain = NULL;
    }
    user_free(plain);
    for (size_t i = 0; i < x->count && r == OK;) {
        struct user *u = x->sorted[i];
        const struct user *like = users_find(fresh, u->name);
        if (like == NULL) {
            drop(x, u);
            continue;
        }
        become(x, u, like);
        i++;
    }
    for (size_t i = 0; i < fresh->count && r == OK;) {
        struct user *u = fresh->sorted[i];
        if (users_find(x, u->name) != NULL) {
            i++;
            continue;
        }
        table_remove(fresh, u);
        table_add(x, u);
    }
    free_all(fresh);
    return r;
}

struct users *users_copy(const struct users *x)
{
    struct users *copy = users_new(x->catalog, NULL, NULL);
    struct buf text;
    struct error e;
    buf_init(&text);
    copy->allows_all_channels = x->allows_all_channels;
    users_describe(x, true, &text);
    buf_require(&text);
    INVARIANT(text.data != NULL); /* there is always a user */
    if (users_load(copy, buf_slice(&text), "users", &e) != OK) die("users: %s", e.text);
    buf_fini(&text);
    return copy;
}
