/* users: reads them from one of two places, the aclfile or the configuration, never both, and
 * writes them there again. Passwords in plain text are wiped as soon as they are users' hashes. */
#include "server/users.h"

#include "base/file.h"
#include "base/mem.h"
#include "request/login.h"

#define ACLFILE_BYTES_MAX ((size_t)64 << 20)

static bool has_file(const struct server *s)
{
    return s->config->aclfile[0] != '\0';
}

static enum err no_file(const struct server *s, struct error *e)
{
    if (s->env.users.are_kept) {
        return error_set(e, ERR_SYNTAX,
                         "users are stored in PostgreSQL, for all nodes; change them with ACL "
                         "SETUSER, without loading or saving");
    }
    return error_set(e, ERR_SYNTAX,
                     "This server is not configured to use an ACL file (aclfile). Users created "
                     "with ACL SETUSER are saved by CONFIG REWRITE, if there is a configuration "
                     "file.");
}

enum err users_load_file(void *server, struct error *e)
{
    struct server *s = server;
    struct buf text;
    if (!has_file(s)) return no_file(s, e);
    buf_init(&text);
    enum err r = file_read_all(s->config->aclfile, &text, ACLFILE_BYTES_MAX, e);
    if (r == OK && text.is_failed) r = error_set(e, ERR_NOMEM, "out of memory to read the aclfile");
    if (r == OK) r = users_load(s->env.users.all, buf_slice(&text), s->config->aclfile, e);
    buf_fini(&text);
    return r;
}

enum err users_save_file(void *server, struct error *e)
{
    struct server *s = server;
    struct buf text;
    if (!has_file(s)) return no_file(s, e);
    buf_init(&text);
    users_describe(s->env.users.all, true, &text);
    enum err r = OK;
    if (text.is_failed) r = error_set(e, ERR_NOMEM, "out of memory for the text of the aclfile");
    if (r == OK) r = file_write_all(s->config->aclfile, buf_slice(&text), e);
    buf_fini(&text);
    return r;
}

void users_take_password(struct server *s)
{
    char *password = s->config->requirepass;
    size_t len = strlen(password);
    char *rule = mem_alloc(len + 2);
    rule[0] = '>';
    memcpy(rule + 1, password, len + 1);
    const struct slice words[] = {slice_str("resetpass"),
                                  len > 0 ? slice_of(rule, len + 1) : slice_str("nopass")};
    struct error e;
    if (users_set(s->env.users.all, slice_str("default"), words, 2, &e) != OK) {
        log_warning("requirepass: %s", e.text);
    }
    explicit_bzero(rule, len + 2);
    explicit_bzero(password, len);
    mem_free(rule);
}

static bool has_default_line(const char *lines)
{
    static const char head[] = "user default ";
    while (lines != NULL && strncmp(lines, head, sizeof head - 1) != 0) {
        lines = strchr(lines, '\n');
        if (lines != NULL) lines++;
    }
    return lines != NULL;
}

enum err users_open(struct server *s, struct error *e)
{
    struct config *c = s->config;
    struct users *all = s->env.users.all;
    users_set_channels(all, c->acl_pubsub_default != 0);
    if (has_file(s) && (c->users != NULL || c->requirepass[0] != '\0')) {
        return error_set(e, ERR_SYNTAX,
                         "with an aclfile, the configuration must have no requirepass and no user "
                         "lines; write them to %s",
                         c->aclfile);
    }
    if (has_file(s)) return users_load_file(s, e);
    enum err r = OK;
    if (c->users != NULL) r = users_load(all, slice_str(c->users), "user lines", e);
    /* A line that makes `default` says all of it. */
    if (r == OK && c->requirepass[0] != '\0' && !has_default_line(c->users)) {
        users_take_password(s);
    }
    explicit_bzero(c->requirepass, strlen(c->requirepass));
    return r;
}

void users_to_config(struct server *s)
{
    if (s->env.users.are_kept) return; /* what is configured stays as it is */
    static const char untouched[] = "user default on nopass ~* &* +@all\n";
    struct buf text;
    buf_init(&text);
    if (!has_file(s)) users_describe(s->env.users.all, true, &text);
    buf_require(&text);
    bool is_untouched = s->config->users == NULL &&
                        slice_eq(buf_slice(&text), slice_str(untouched));
    config_set_users(s->config, is_untouched ? slice_of(NULL, 0) : buf_slice(&text));
    buf_fini(&text);
}

bool users_are_open(const struct server *s)
{
    const struct user *u = users_default(s->env.users.all);
    return u->is_on && u->is_nopass;
}
