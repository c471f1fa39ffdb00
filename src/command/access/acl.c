/* acl: ACL and its subcommands but LOG (acl_log.c): users and what they may do, in Redis's words.
 */
#include "command/access/acl_int.h"

#include "request/login.h"
#include "request/numbers.h"
#include "request/permission.h"
#include "request/shapes.h"
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

ARGUMENTS(cat_arguments, struct one_word, "[category]",
          ARG_WORD(struct one_word, word, "category"));

static enum err cat_run(struct request *rq)
{
    struct slice name = ((const struct one_word *)rq->bound)->word;
    size_t count = 0;
    size_t found;
    if (name.data != NULL) {
        if (access_category_find(&command_catalog, name, &found)) return reply_category(rq, found);
        return error_set(&rq->error, ERR_SYNTAX, "Unknown category '%.*s'",
                         (int)(name.len < 64 ? name.len : 64), (const char *)name.data);
    }
    while (command_catalog.category(count) != NULL) count++;
    resp_array(rq->w, count);
    for (size_t i = 0; i < count; i++) resp_bulk_str(rq->w, command_catalog.category(i));
    return OK;
}

/* ---- SETUSER, DELUSER ---- */

struct set_user {
    struct slice name;
    struct slices rules;
};
ARGUMENTS(setuser_arguments, struct set_user, "username [rule [rule ...]]",
          ARG_WORD(struct set_user, name, "username"), ARG_WORDS(struct set_user, rules, "rule"));

static enum err set_user(struct request *rq, struct users *all, int64_t *count)
{
    const struct set_user *a = rq->bound;
    *count = 1;
    return users_set(all, a->name, a->rules.items, a->rules.count, &rq->error);
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

ARGUMENTS(deluser_arguments, struct many_words, "username [username ...]",
          ARG_WORDS(struct many_words, words, "username"));

static enum err delete_users(struct request *rq, struct users *all, int64_t *count)
{
    const struct slices *names = &((const struct many_words *)rq->bound)->words;
    *count = 0;
    for (size_t i = 0; i < names->count; i++) {
        if (slice_eq(names->items[i], slice_str("default"))) {
            return error_set(&rq->error, ERR_SYNTAX, "The 'default' user cannot be removed");
        }
    }
    for (size_t i = 0; i < names->count; i++) *count += users_delete(all, names->items[i]);
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
    resp_set(rq->w, 1 + (size_t)u->is_nopass + (payload != NULL) + (size_t)u->sees_tuples +
                        (size_t)u->goes_on);
    resp_bulk_str(rq->w, u->is_on ? "on" : "off");
    if (u->is_nopass) resp_bulk_str(rq->w, "nopass");
    if (payload != NULL) resp_bulk_str(rq->w, payload);
    if (u->sees_tuples) resp_bulk_str(rq->w, "view=tuples");
    if (u->goes_on) resp_bulk_str(rq->w, "exec=continue");
}

ARGUMENTS(getuser_arguments, struct one_word, "username",
          ARG_WORD(struct one_word, word, "username"));

static enum err getuser_run(struct request *rq)
{
    const struct one_word *a = rq->bound;
    const struct user *u = users_find(rq->env->users.all, a->word);
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
    struct users *all = rq->env->users.all;
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
    struct users *all = rq->env->users.all;
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

struct genpass {
    int64_t bits;
};

static enum err check_bits(struct request *rq, void *bound)
{
    const struct genpass *a = bound;
    if (a->bits >= 1 && a->bits <= GENPASS_BITS_MAX) return OK;
    return error_set(&rq->error, ERR_SYNTAX,
                     "ACL GENPASS argument must be the number of bits for the output "
                     "password, a positive number up to %d",
                     GENPASS_BITS_MAX);
}

ARGUMENTS_WITH(genpass_arguments, struct genpass, "[bits]", WITH(.check = check_bits),
               ARG_INTEGER(struct genpass, bits, "bits", INT64_MIN, INT64_MAX, GENPASS_BITS));

static enum err genpass_run(struct request *rq)
{
    char password[GENPASS_BITS_MAX / 4 + 1];
    secret_generate((unsigned)((const struct genpass *)rq->bound)->bits, password);
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

struct dryrun {
    struct slice user;
    struct slices words;
};
ARGUMENTS_WITH(dryrun_arguments, struct dryrun, "username command [command ...]",
               WITH(.shown = "username command [arg [arg ...]]"),
               ARG_WORD(struct dryrun, user, "username"),
               ARG_WORDS(struct dryrun, words, "command"));

/* The words are those of a request, and only asked about; its keys are as the user names them. */
static enum err dryrun_run(struct request *rq)
{
    const struct dryrun *a = rq->bound;
    enum key_view own = rq->client->settings.view;
    const struct user *u = users_find(rq->env->users.all, a->user);
    struct request inner = *rq;
    struct denial d = {.command = NULL};
    inner.argv = a->words.items;
    inner.argc = a->words.count;
    if (u == NULL) {
        return error_set(&rq->error, ERR_SYNTAX, "User '%.*s' not found",
                         (int)(a->user.len < 128 ? a->user.len : 128), (const char *)a->user.data);
    }
    enum err r = command_find_words(&inner);
    rq->client->settings.view = u->sees_tuples ? VIEW_TUPLES : VIEW_PLAIN;
    if (r == OK) r = permission_check(&inner, u, &d);
    rq->client->settings.view = own;
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
    enum err r = rq->env->server.ops->acl_load(rq->env->server.arg, &rq->error);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}

static enum err save_run(struct request *rq)
{
    enum err r = rq->env->server.ops->acl_save(rq->env->server.arg, &rq->error);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}

/* ---- the commands ---- */

#define ACL_SUB(id, more, text, of, answer)                                                        \
    static const struct command sub_##id = {                                                       \
        .name = #id,                                                                               \
        .flags = CMD_NO_MULTI | CMD_AUDITED | (more),                                              \
        .group = "server",                                                                         \
        .summary = text,                                                                           \
        .arguments = &(of),                                                                        \
        .reply = answer,                                                                           \
        .run = id##_run,                                                                           \
    }
#define ADMIN (CMD_ADMIN | CMD_DANGEROUS)

ACL_SUB(cat, 0, "Lists the command categories, or the commands of one category.", cat_arguments,
        "Names.");
ACL_SUB(deluser, ADMIN, "Deletes users and closes their connections.", deluser_arguments,
        "The number of users deleted.");
ACL_SUB(dryrun, ADMIN, "Tests whether a user may run a command, without running it.",
        dryrun_arguments, "OK, or the reason why the user may not run the command.");
ACL_SUB(genpass, 0, "Generates a random password of 256 bits, or as many as requested.",
        genpass_arguments, "Hexadecimal digits.");
ACL_SUB(getuser, ADMIN, "Returns the rights of a user.", getuser_arguments,
        "A map, or a flat array in RESP2: flags, passwords (SHA-256), commands, keys, channels, "
        "databases, selectors. Nil if the user does not exist.");
ACL_SUB(list, ADMIN, "Lists all users as the rules that create them.", no_arguments,
        "An array of lines.");
ACL_SUB(load, ADMIN, "Replaces all users by those of the ACL file (aclfile).", no_arguments,
        "OK. If the file has an error, nothing changes.");
ACL_SUB(save, ADMIN, "Saves all users to the ACL file (aclfile).", no_arguments, "OK.");
static const struct command sub_setuser = {
    .name = "setuser",
    .flags = CMD_NO_MULTI | CMD_AUDITED | ADMIN,
    .group = "server",
    .summary = "Creates or changes a user. The rules apply in order; after an error, none applies.",
    .arguments = &setuser_arguments,
    .reply = "OK.",
    .run = setuser_run,
    .is_secret = setuser_is_secret,
};
ACL_SUB(users, ADMIN, "Lists the names of all users.", no_arguments, "Names, sorted.");
ACL_SUB(whoami, 0, "Returns the name of the connection's user.", no_arguments, "A name.");
COMMAND_HELP("server", 0);

static const struct command *const acl_subcommands[] = {
    &sub_cat,  &sub_deluser, &sub_dryrun, &sub_genpass, &sub_getuser, &sub_help,   &sub_list,
    &sub_load, &acl_log,     &sub_save,   &sub_setuser, &sub_users,   &sub_whoami, NULL,
};

const struct command cmd_acl = {
    .name = "acl",
    .group = "server",
    .summary = "A container for commands about users and their rights.",
    .arguments = &container_arguments,
    .subcommands = acl_subcommands,
};
