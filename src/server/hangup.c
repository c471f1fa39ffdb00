/* hangup: SIGHUP, and `systemctl reload`: whatever is read from files is read again, and files that
 * are only appended to are opened anew, because they may have been renamed. What cannot be had
 * stays as it was, with a line that says so. This is the list of all that is done.
 */
#include "base/line_file.h"
#include "base/log.h"
#include "server/server_int.h"

static void log_file_again(void)
{
    struct error e;
    if (!log_has_file()) {
        log_notice("SIGHUP: the log goes to standard output, there is no log file to reopen");
    } else if (log_reopen(&e) == OK) {
        log_notice("SIGHUP: log file reopened");
    } else {
        log_warning("SIGHUP: %s; keeping the previous log file", e.text);
    }
}

static void audit_again(struct server *s)
{
    struct error e;
    if (s->env.audit.file == NULL) return;
    if (line_file_reopen(s->env.audit.file, &e) == OK) {
        log_notice("SIGHUP: audit trail reopened");
    } else {
        log_warning("SIGHUP: %s; keeping the previous audit trail", e.text);
    }
}

void hangup(struct server *s)
{
    service_reloading(&s->service);
    log_file_again();
    audit_again(s);
    tls_reload(s, "SIGHUP");
    service_reloaded(&s->service);
}
