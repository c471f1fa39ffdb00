/* commands: the functions of the subcommands, for the table in main.c, with their options and
 * actions. Each says on standard error what went wrong.
 */
#ifndef TOOL_COMMANDS_H
#define TOOL_COMMANDS_H

#include "tool/tool.h"

/* backup.c */
extern const struct tool_option backup_options[];
enum tool_status backup_run(struct tool *t);

/* check.c */
extern const struct tool_option check_options[];
enum tool_status check_command_run(struct tool *t);

/* database.c */
extern const struct tool_option database_options[];
extern const struct tool_command database_actions[];
enum tool_status database_list_run(struct tool *t);
enum tool_status database_info_run(struct tool *t);
enum tool_status database_create_run(struct tool *t);
enum tool_status database_rename_run(struct tool *t);
enum tool_status database_drop_run(struct tool *t);

/* dead.c */
extern const struct tool_option dead_options[];
extern const struct tool_command dead_actions[];
enum tool_status dead_list_run(struct tool *t);
enum tool_status dead_show_run(struct tool *t);
enum tool_status dead_requeue_run(struct tool *t);
enum tool_status dead_delete_run(struct tool *t);

/* digest.c */
extern const struct tool_option digest_options[];
enum tool_status digest_run(struct tool *t);

/* export.c */
extern const struct tool_option export_options[];
enum tool_status export_run(struct tool *t);

/* import.c */
extern const struct tool_option import_options[];
enum tool_status import_run(struct tool *t);

/* ping.c */
enum tool_status ping_run(struct tool *t);

/* queue.c */
extern const struct tool_option queue_options[];
extern const struct tool_command queue_actions[];
enum tool_status queue_list_run(struct tool *t);
enum tool_status queue_show_run(struct tool *t);
enum tool_status queue_peek_run(struct tool *t);
enum tool_status queue_release_run(struct tool *t);
enum tool_status queue_purge_run(struct tool *t);

/* restore.c */
extern const struct tool_option restore_options[];
enum tool_status restore_command_run(struct tool *t);

/* user.c */
extern const struct tool_option user_options[];
extern const struct tool_command user_actions[];
enum tool_status user_list_run(struct tool *t);
enum tool_status user_show_run(struct tool *t);
enum tool_status user_whoami_run(struct tool *t);
enum tool_status user_may_run(struct tool *t);
enum tool_status user_add_run(struct tool *t);
enum tool_status user_rules_run(struct tool *t);
enum tool_status user_password_run(struct tool *t);
enum tool_status user_delete_run(struct tool *t);

/* verify.c */
extern const struct tool_option verify_options[];
enum tool_status verify_run(struct tool *t);

/* watch.c */
extern const struct tool_option watch_options[];
enum tool_status watch_run(struct tool *t);

/* bench.c */
extern const struct tool_option bench_options[];
enum tool_status bench_run(struct tool *t);

/* top.c */
extern const struct tool_option top_options[];
enum tool_status top_run(struct tool *t);

#endif
