/* acl: ACL and its subcommands but LOG (acl_log.c): users and what they may do, in Redis's words.
 */
#include "command/access/acl_int.h"

#include "request/args.h"
#include "request/login.h"
#include "request/numbers.h"
#include "request/permission.h"
#include "request/table.h"

#define GENPASS_BITS 256
#define GENPASS_BITS_MAX 4096

/* ---- CAT ---- */

static enum err reply_category(struct request *rq, size_t category)
{
    size_t count = 0;
    for (size_t i = 0; i < numbers_count(); i++) count += command_catalog.is_in(i, category);
    resp_array(rq->w, count);
    for (size_t i = 0; i < numbers_count(); i++) {
        if (command_catalog.is_in(i, category)) resp_bulk_str(rq->w, command_catalog.name(i));
    }
    return OK;
}

static enum err cat_run(struct request *rq)
{
    size_t count = 0;
    if (rq->argc > 3) return error_set(&rq->error, ERR_SYNTAX, "syntax error");
    while (command_catalog.category(count) != NULL) count++;
    size_t found;
    if (rq->argc == 3 && access_category_find(&command_catalog, rq->argv[2], &found)) {
        return reply_category(rq, found);
    }
    if (rq->argc == 3) {
        return error_set(&rq->error, ERR_SYNTAX, "Unknown category '%.*s'",
                         (int)(rq->argv[2].len < 64 ? rq->argv[2].len : 64),
                         (const char *)rq->argv[2].data);
    }
    resp_array(rq->w, count);
    for (size_t i = 0; i < count; i++) resp_bulk_str(rq->w, command_catalog.category(i));
    return OK;
}

/* ---- SETUSER, DELUSER ---- */

static enum err set_user(struct request *rq, struct users *all, int64_t *count)
{
    *count = 1;
    return users_set(all, rq->argv[2], rq->argv + 3, rq->argc - 3, &rq->error);
}

static enum err setuser_run(struct request *rq)
{
    int64_t count;
    enum err r = acl_change(rq, set_user, &count);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}

/* Passwords and their hashes. */
static bool setuser_is_secret(const struct slice *argv, size_t argc, size_t i)
{
    (void)argc;
    return i >= 3 && argv[i].len > 0 && memchr("><#!", argv[i].data[0], 4) != NULL;
}

static enum err delete_users(struct request *rq, struct users *all, int64_t *count)
{
    *count = 0;
    for (size_t i = 2; i < rq->argc; i++) {
        if (slice_eq(rq->argv[i], slice_str("default"))) {
            return error_set(&rq->error, ERR_SYNTAX, "The 'default' user cannot be removed");
        }
    }
    for (size_t i = 2; i < rq->argc; i++) *count += users_delete(all, rq->argv[i]);
    return OK;
}

static enum err deluser_run(struct request *rq)
{
    int64_t count;
    enum err r = acl_change(rq, delete_users, &count);
    if (r == OK) resp_int(rq->w, count);
    return r;
}

/* ---- GETUSER, LIST, USERS, WHOAMI ---- */

/* A text that ends in a blank, without it. */
static void reply_text(struct request *rq, struct buf *text)
{
    struct slice s = buf_slice(text);
    while (s.len > 0 && s.data[s.len - 1] == ' ') s.len--;
    resp_bulk(rq->w, s);
    buf_clear(text, SIZE_MAX);
}

/* "commands", "keys", "channels", "databases" with their rules. */
static void reply_selector(struct request *rq, const struct selector *s)
{
    struct buf *text = rq->scratch;
    buf_clear(text, SIZE_MAX);
    resp_bulk_str(rq->w, "commands");
    selector_describe_commands(s, text);
    reply_text(rq, text);
    resp_bulk_str(rq->w, "keys");
    selector_describe_keys(s, text);
    reply_text(rq, text);
    resp_bulk_str(rq->w, "channels");
    selector_describe_channels(s, text);
    reply_text(rq, text);
    resp_bulk_str(rq->w, "databases");
    selector_describe_databases(s, text);
    reply_text(rq, text);
}

static void reply_flags(struct request *rq, const struct user *u)
{
    const char *payload = user_payload_word(u);
    resp_set(rq->w, 1 + (size_t)u->is_nopass + (payload != NULL) + (size_t)u->sees_tuples);
    resp_bulk_str(rq->w, u->is_on ? "on" : "off");
    if (u->is_nopass) resp_bulk_str(rq->w, "nopass");
    if (payload != NULL) resp_bulk_str(rq->w, payload);
    if (u->sees_tuples) resp_bulk_str(rq->w, "view=tuples");
}

static enum err getuser_run(struct request *rq)
{
    const struct user *u = users_find(rq->env->users, rq->argv[2]);
    if (u == NULL) {
        resp_nil(rq->w);
        return OK;
    }
    resp_map(rq->w, 7);
    resp_bulk_str(rq->w, "flags");
    reply_flags(rq, u);
    resp_bulk_str(rq->w, "passwords");
    resp_array(rq->w, u->secret_count);
    for (size_t i = 0; i < u->secret_count; i++) {
        char hex[SECRET_HEX_BYTES + 1];
        secret_to_hex(&u->secrets[i], hex);
        resp_bulk_str(rq->w, hex);
    }
    reply_selector(rq, u->selectors);
    resp_bulk_str(rq->w, "selectors");
    size_t count = 0;
    for (const struct selector *s = u->selectors->next; s != NULL; s = s->next) count++;
    resp_array(rq->w, count);
    for (const struct selector *s = u->selectors->next; s != NULL; s = s->next) {
        resp_map(rq->w, 4);
        reply_selector(rq, s);
    }
    return OK;
}

static enum err list_run(struct request *rq)
{
    struct users *all = rq->env->users;
    struct user *u;
    resp_array(rq->w, users_count(all));
    for (size_t i = 0; (u = users_at(all, i)) != NULL; i++) {
        buf_clear(rq->scratch, SIZE_MAX);
        buf_printf(rq->scratch, "user %.*s ", (int)u->name.len, (const char *)u->name.data);
        user_describe(u, rq->scratch);
        resp_bulk(rq->w, buf_slice(rq->scratch));
    }
    return OK;
}

static enum err users_run(struct request *rq)
{
    struct users *all = rq->env->users;
    struct user *u;
    resp_array(rq->w, users_count(all));
    for (size_t i = 0; (u = users_at(all, i)) != NULL; i++) resp_bulk(rq->w, u->name);
    return OK;
}

static enum err whoami_run(struct request *rq)
{
    resp_bulk(rq->w, rq->client->user->name);
    return OK;
}

/* ---- GENPASS ---- */

static enum err genpass_run(struct request *rq)
{
    char password[GENPASS_BITS_MAX / 4 + 1];
    int64_t bits = GENPASS_BITS;
    if (rq->argc > 3) return error_set(&rq->error, ERR_SYNTAX, "syntax error");
    if (rq->argc == 3 && !slice_to_i64(rq->argv[2], &bits)) {
        return error_set(&rq->error, ERR_SYNTAX, "value is not an integer or out of range");
    }
    if (bits < 1 || bits > GENPASS_BITS_MAX) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "ACL GENPASS argument must be the number of bits for the output "
                         "password, a positive number up to %d",
                         GENPASS_BITS_MAX);
    }
    secret_generate((unsigned)bits, password);
    resp_bulk_str(rq->w, password);
    return OK;
}

/* ---- DRYRUN ---- */

static void reply_denial(struct request *rq, const struct denial *d)
{
    struct buf *text = rq->scratch;
    static const char *const kinds[] = {[ACCESS_DENIED_DATABASE] = "database",
                                        [ACCESS_DENIED_KEY] = "key",
                                        [ACCESS_DENIED_CHANNEL] = "channel"};
    buf_clear(text, SIZE_MAX);
    buf_append_str(text, "This user has no permissions to ");
    if (d->verdict == ACCESS_DENIED_COMMAND) {
        buf_printf(text, "run the '%s' command", command_catalog.name(number_of(d->command)));
    } else {
        buf_printf(text, "access the '%.*s' %s", (int)d->object.len, (const char *)d->object.data,
                   kinds[d->verdict]);
    }
    resp_bulk(rq->w, buf_slice(text));
}

/* The words are those of a request, and only asked about; its keys are as the user names them. */
static enum err dryrun_run(struct request *rq)
{
    enum key_view own = rq->client->view;
    const struct user *u = users_find(rq->env->users, rq->argv[2]);
    struct request inner = *rq;
    struct denial d = {.command = NULL};
    inner.argv = rq->argv + 3;
    inner.argc = rq->argc - 3;
    if (u == NULL) {
        return error_set(&rq->error, ERR_SYNTAX, "User '%.*s' not found",
                         (int)(rq->argv[2].len < 128 ? rq->argv[2].len : 128),
                         (const char *)rq->argv[2].data);
    }
    enum err r = command_find_words(&inner);
    rq->client->view = u->sees_tuples ? VIEW_TUPLES : VIEW_PLAIN;
    if (r == OK) r = permission_check(&inner, u, &d);
    rq->client->view = own;
    if (r == OK) {
        resp_simple(rq->w, "OK");
    } else if (r == ERR_NOPERM) {
        reply_denial(rq, &d);
        r = OK;
    } else {
        rq->error = inner.error;
    }
    return r;
}

/* ---- LOAD, SAVE ---- */

static enum err load_run(struct request *rq)
{
    enum err r = rq->env->server_ops->acl_load(rq->env->server, &rq->error);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}

static enum err save_run(struct request *rq)
{
    enum err r = rq->env->server_ops->acl_save(rq->env->server, &rq->error);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}

/* ---- the commands ---- */

#define ACL_SUB(id, words, more, text, arguments, answer)                                          \
    static const struct command sub_##id = {                                                       \
        .name = #id,                                                                               \
        .arity = words,                                                                            \
        .flags = CMD_NO_MULTI | CMD_AUDITED | (more),                                              \
        .group = "server",                                                                         \
        .since = "0.1.0",                                                                          \
        .summary = text,                                                                           \
        .syntax = arguments,                                                                       \
        .reply = answer,                                                                           \
        .run = id##_run,                                                                           \
    }
#define ADMIN (CMD_ADMIN | CMD_DANGEROUS)

ACL_SUB(cat, -2, 0, "The categories of commands, or the commands of one.", "[category]", "Names.");
ACL_SUB(deluser, -3, ADMIN, "Removes users; who is one of them is disconnected.",
        "username [username ...]", "How many there were.");
ACL_SUB(dryrun, -4, ADMIN, "May the user run this? Nothing is run.",
        "username command [arg [arg ...]]", "OK, or what the user may not.");
ACL_SUB(genpass, -2, 0, "A password of that many random bits, 256 unless said.", "[bits]",
        "Hexadecimal digits.");
ACL_SUB(getuser, 3, ADMIN, "What a user may do.", "username",
        "flags, passwords (SHA-256), commands, keys, channels, databases, selectors; nil when "
        "there is no such user.");
ACL_SUB(list, 2, ADMIN, "All users, in the words that make them.", "", "Lines.");
ACL_SUB(load, 2, ADMIN, "Takes the users of the aclfile in place of those there are.", "",
        "OK; on an error in the file, nothing changes.");
ACL_SUB(save, 2, ADMIN, "Writes all users into the aclfile.", "", "OK.");
static const struct command sub_setuser = {
    .name = "setuser",
    .arity = -3,
    .flags = CMD_NO_MULTI | CMD_AUDITED | ADMIN,
    .group = "server",
    .since = "0.1.0",
    .summary = "Makes or changes a user: all of the rules in order, or, on an error, none.",
    .syntax = "username [rule [rule ...]]",
    .reply = "OK.",
    .run = setuser_run,
    .is_secret = setuser_is_secret,
};
ACL_SUB(users, 2, ADMIN, "The names of all users.", "", "Names, sorted.");
ACL_SUB(whoami, 2, 0, "Who this connection is.", "", "A name.");
COMMAND_HELP("server", 0);

static const struct command *const acl_subcommands[] = {
    &sub_cat,  &sub_deluser, &sub_dryrun, &sub_genpass, &sub_getuser, &sub_help,   &sub_list,
    &sub_load, &acl_log,     &sub_save,   &sub_setuser, &sub_users,   &sub_whoami, NULL,
};

const struct command cmd_acl = {
    .name = "acl",
    .arity = -2,
    .group = "server",
    .since = "0.1.0",
    .summary = "Commands about users and what they may do.",
    .syntax = "",
    .subcommands = acl_subcommands,
};
