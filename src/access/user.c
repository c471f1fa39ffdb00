/* user: the words of a rule are applied to a copy, which takes the user's place when all were good:
 * the user's address stays, as clients hold it. Passwords are all compared, whatever the first ones
 * say. */
#include "access/user.h"

#include "base/mem.h"

#define PASSWORDS_MAX 1000 /* each is compared with what a login says */
#define SELECTORS_MAX 1000 /* beside its own rules: all are asked for each command */

struct user *user_new(struct slice name, uint64_t incarnation)
{
    struct user *u = mem_new(sizeof *u + name.len);
    bytes_copy(u + 1, name.data, name.len);
    u->name = slice_of(u + 1, name.len);
    u->incarnation = incarnation;
    u->selectors = mem_new(sizeof *u->selectors);
    selector_init(u->selectors);
    return u;
}

static void selectors_free(struct selector *s)
{
    while (s != NULL) {
        struct selector *next = s->next;
        selector_fini(s);
        mem_free(s);
        s = next;
    }
}

void user_free(struct user *u)
{
    if (u == NULL) return;
    selectors_free(u->selectors);
    mem_free(u->secrets);
    mem_free(u);
}

/* ---- passwords ---- */

static size_t secret_find(const struct user *u, const struct secret *s)
{
    size_t i = 0;
    while (i < u->secret_count && !secret_eq(&u->secrets[i], s)) i++;
    return i;
}

static void secret_add(struct user *u, const struct secret *s)
{
    u->is_nopass = false;
    if (secret_find(u, s) < u->secret_count) return;
    u->secrets = mem_resize(u->secrets, (u->secret_count + 1) * sizeof *u->secrets);
    u->secrets[u->secret_count++] = *s;
}

static bool secret_remove(struct user *u, const struct secret *s)
{
    size_t i = secret_find(u, s);
    if (i == u->secret_count) return false;
    memmove(&u->secrets[i], &u->secrets[i + 1], (u->secret_count - i - 1) * sizeof *u->secrets);
    u->secret_count--;
    return true;
}

bool user_accepts(const struct user *u, struct slice password)
{
    struct secret given;
    bool fits = false;
    secret_hash(password, &given);
    for (size_t i = 0; i < u->secret_count; i++) fits |= secret_eq(&u->secrets[i], &given);
    return fits || u->is_nopass;
}

static enum err rule_password(struct user *u, struct slice word, struct error *e)
{
    struct slice rest = slice_of(word.data + 1, word.len - 1);
    bool is_hash = word.data[0] == '#' || word.data[0] == '!';
    bool is_removal = word.data[0] == '<' || word.data[0] == '!';
    struct secret s;
    if (is_hash && !secret_from_hex(rest, &s)) {
        return error_set(e, ERR_SYNTAX,
                         "The password hash must be exactly 64 characters and contain only "
                         "lowercase hexadecimal characters");
    }
    if (!is_hash) secret_hash(rest, &s);
    if (!is_removal) {
        secret_add(u, &s);
        if (u->secret_count > PASSWORDS_MAX) {
            return error_set(e, ERR_LIMIT, "more than %d passwords of one user", PASSWORDS_MAX);
        }
    } else if (!secret_remove(u, &s)) {
        return error_set(e, ERR_SYNTAX,
                         "The password you are trying to remove from the user does not exist");
    }
    return OK;
}

/* ---- words ---- */

static struct slice word_next(struct slice *text)
{
    while (text->len > 0 && text->data[0] == ' ') *text = slice_of(text->data + 1, text->len - 1);
    size_t len = 0;
    while (len < text->len && text->data[len] != ' ') len++;
    struct slice word = slice_of(text->data, len);
    *text = slice_of(text->data + len, text->len - len);
    return word;
}

/* "(+get ~x*)" */
static enum err rule_selector(struct user *u, const struct access_catalog *catalog,
                              struct slice word, struct error *e)
{
    struct slice text = slice_of(word.data + 1, word.len - 2);
    struct selector *s = mem_new(sizeof *s);
    enum err r = OK;
    selector_init(s);
    while (r == OK) {
        struct slice rule = word_next(&text);
        if (rule.len == 0) break;
        if (rule.data[rule.len - 1] == ')') { /* it would end the selector when it is read again */
            r = error_set(e, ERR_SYNTAX, "Syntax error");
            break;
        }
        r = selector_rule(s, catalog, rule, e);
    }
    struct selector **last = &u->selectors;
    size_t count = 0;
    for (; *last != NULL; count++) last = &(*last)->next;
    *last = s;
    if (r == OK && count > SELECTORS_MAX) {
        r = error_set(e, ERR_LIMIT, "more than %d selectors of one user", SELECTORS_MAX);
    }
    return r;
}

static void selectors_clear(struct user *u)
{
    INVARIANT(u->selectors != NULL);
    selectors_free(u->selectors->next);
    u->selectors->next = NULL;
}

static void user_reset(struct user *u)
{
    u->is_on = u->is_nopass = false;
    u->payload = PAYLOAD_SANITIZED; /* as in Redis, where a new user has neither word */
    u->sees_tuples = u->goes_on = false;
    u->secret_count = 0;
    selectors_clear(u);
    selector_fini(u->selectors);
    selector_init(u->selectors);
}

/* The words that stand for themselves. False: it is none of them. */
static bool user_rule(struct user *u, struct slice word)
{
    if (slice_is_word(word, "ON") || slice_is_word(word, "OFF")) {
        u->is_on = word.len == 2;
    } else if (slice_is_word(word, "NOPASS") || slice_is_word(word, "RESETPASS")) {
        u->is_nopass = slice_is_word(word, "NOPASS");
        u->secret_count = 0;
    } else if (slice_is_word(word, "SANITIZE-PAYLOAD") ||
               slice_is_word(word, "SKIP-SANITIZE-PAYLOAD")) {
        u->payload = word.len == strlen("sanitize-payload") ? PAYLOAD_SANITIZED
                                                            : PAYLOAD_UNSANITIZED;
    } else if (slice_is_word(word, "VIEW=TUPLES") || slice_is_word(word, "VIEW=PLAIN")) {
        u->sees_tuples = word.len == strlen("view=tuples");
    } else if (slice_is_word(word, "EXEC=CONTINUE") || slice_is_word(word, "EXEC=ROLLBACK")) {
        u->goes_on = slice_is_word(word, "EXEC=CONTINUE");
    } else if (slice_is_word(word, "CLEARSELECTORS")) {
        selectors_clear(u);
    } else if (slice_is_word(word, "RESET")) {
        user_reset(u);
    } else {
        return false;
    }
    return true;
}

static enum err rule(struct user *u, const struct access_catalog *catalog, struct slice word,
                     struct error *e)
{
    if (word.len > 0 && strchr("><#!", word.data[0]) != NULL && word.data[0] != '\0') {
        return rule_password(u, word, e);
    }
    if (word.len > 1 && word.data[0] == '(' && word.data[word.len - 1] == ')') {
        return rule_selector(u, catalog, word, e);
    }
    if (word.len == 0 || user_rule(u, word)) return OK;
    if (slice_has_prefix(word, slice_str("view="))) {
        return error_set(e, ERR_SYNTAX, "the view must be plain or tuples");
    }
    if (slice_has_prefix(word, slice_str("exec="))) {
        return error_set(e, ERR_SYNTAX, "exec must be rollback or continue");
    }
    return selector_rule(u->selectors, catalog, word, e);
}

/* ---- all of them ---- */

static struct user *user_copy(const struct user *from)
{
    struct user *u = user_new(from->name, from->incarnation);
    struct selector **last = &u->selectors;
    selectors_free(u->selectors);
    for (const struct selector *s = from->selectors; s != NULL; s = s->next) {
        *last = mem_new(sizeof **last);
        selector_copy(*last, s);
        last = &(*last)->next;
    }
    *last = NULL;
    u->is_on = from->is_on;
    u->is_nopass = from->is_nopass;
    u->payload = from->payload;
    u->sees_tuples = from->sees_tuples;
    u->goes_on = from->goes_on;
    for (size_t i = 0; i < from->secret_count; i++) {
        bool is_nopass = u->is_nopass;
        secret_add(u, &from->secrets[i]);
        u->is_nopass = is_nopass;
    }
    return u;
}

/* What is in `changed` becomes u's, whose address others hold. */
static void user_take(struct user *u, struct user *changed)
{
    struct selector *selectors = u->selectors;
    struct secret *secrets = u->secrets;
    u->selectors = changed->selectors;
    u->secrets = changed->secrets;
    u->secret_count = changed->secret_count;
    u->is_on = changed->is_on;
    u->is_nopass = changed->is_nopass;
    u->payload = changed->payload;
    u->sees_tuples = changed->sees_tuples;
    u->goes_on = changed->goes_on;
    changed->selectors = selectors;
    changed->secrets = secrets;
    u->is_unlimited = false;
    for (struct selector *s = u->selectors; s != NULL; s = s->next) {
        selector_ready(s);
        u->is_unlimited |= s->allows_all_commands && s->keys.allows_all && s->channels.allows_all &&
                           s->allows_all_databases;
    }
}

void user_assign(struct user *u, const struct user *like)
{
    struct user *changed = user_copy(like);
    user_take(u, changed);
    user_free(changed);
}

/* A word in an error: passwords are not told. */
static enum err word_error(struct slice word, struct error *e)
{
    struct error why = *e;
    bool is_secret = word.len > 0 && (word.data[0] == '>' || word.data[0] == '<' ||
                                      word.data[0] == '#' || word.data[0] == '!');
    if (is_secret)
        word = slice_str(word.data[0] == '>' || word.data[0] == '<' ? "(password)" : "(hash)");
    return error_set(e, why.code, "Error in ACL SETUSER modifier '%.*s': %s",
                     (int)(word.len < 128 ? word.len : 128), (const char *)word.data, why.text);
}

/* Words of one selector: "(+get" "~x*)" are one. *used: how many of `words`. */
static enum err selector_words(const struct slice *words, size_t count, struct buf *out,
                               size_t *used, struct error *e)
{
    buf_clear(out, SIZE_MAX);
    for (size_t i = 0; i < count; i++) {
        if (i > 0) buf_append_byte(out, ' ');
        buf_append(out, words[i].data, words[i].len);
        *used = i + 1;
        if (words[i].len > 0 && words[i].data[words[i].len - 1] == ')') return OK;
    }
    return error_set(e, ERR_SYNTAX, "Unmatched parenthesis in acl selector starting at '%.*s'.",
                     (int)(words[0].len < 128 ? words[0].len : 128), (const char *)words[0].data);
}

enum err user_set(struct user *u, const struct access_catalog *catalog, const struct slice *words,
                  size_t count, struct error *e)
{
    struct user *changed = user_copy(u);
    struct buf joined;
    enum err r = OK;
    buf_init(&joined);
    for (size_t i = 0; i < count && r == OK;) {
        struct slice word = words[i];
        size_t used = 1;
        if (word.len > 0 && word.data[0] == '(') {
            r = selector_words(words + i, count - i, &joined, &used, e);
            if (r != OK) break;
            buf_require(&joined);
            word = buf_slice(&joined);
        }
        r = rule(changed, catalog, word, e);
        if (r != OK) r = word_error(word, e);
        i += used;
    }
    if (r == OK) user_take(u, changed);
    buf_fini(&joined);
    user_free(changed);
    return r;
}

const char *user_payload_word(const struct user *u)
{
    static const char *const words[] = {
        [PAYLOAD_SANITIZED] = "sanitize-payload", [PAYLOAD_UNSANITIZED] = "skip-sanitize-payload"};
    return words[u->payload];
}

void user_describe(const struct user *u, struct buf *out)
{
    const char *payload = user_payload_word(u);
    buf_append_str(out, u->is_on ? "on" : "off");
    if (u->is_nopass) buf_append_str(out, " nopass");
    if (payload != NULL) buf_printf(out, " %s", payload);
    if (u->sees_tuples) buf_append_str(out, " view=tuples");
    if (u->goes_on) buf_append_str(out, " exec=continue");
    for (size_t i = 0; i < u->secret_count; i++) {
        char hex[SECRET_HEX_BYTES + 1];
        secret_to_hex(&u->secrets[i], hex);
        buf_printf(out, " #%s", hex);
    }
    buf_append_byte(out, ' ');
    selector_describe(u->selectors, out);
    for (const struct selector *s = u->selectors->next; s != NULL; s = s->next) {
        buf_append_str(out, " (");
        selector_describe(s, out);
        buf_append_byte(out, ')');
    }
}
