/* What operators look at: INFO's statistics, SLOWLOG, LATENCY, MEMORY, HELP, DEBUG. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "load_help.h"

#define WAIT_MS 20000

static int fd;          /* fresh for each test */
static redisContext *c; /* likewise */

static int start(void **state)
{
    group_opens(&c, NULL);
    group_opens_raw(&fd);
    server = testserver_start_with("--enable-debug-command", "yes", NULL);
    return 0;
}

static int enter(void **state)
{
    group_enter(state);
    expect(c, "+OK", "CONFIG SET slowlog-log-slower-than 10000 latency-monitor-threshold 0");
    expect(c, "+OK", "CONFIG SET latency-tracking yes slowlog-max-len 128");
    expect(c, "+OK", "CONFIG RESETSTAT");
    return 0;
}

/* The line of INFO that begins with `name`, without its end; "" when there is none. */
static const char *info_line(const char *section, const char *name)
{
    static char line[512];
    const char *info = ask(c, "INFO %s", section);
    char start_of_line[128];
    snprintf(start_of_line, sizeof start_of_line, "\n%s", name);
    const char *at = strstr(info, start_of_line);
    line[0] = '\0';
    if (at != NULL) snprintf(line, sizeof line, "%.*s", (int)strcspn(at + 1, "\r\n"), at + 1);
    return line;
}

static void expect_line(const char *section, const char *name, const char *wanted)
{
    const char *line = info_line(section, name);
    if (!text_fits(line, wanted)) fail_msg("'%s' is not '%s'", line, wanted);
}

/* ---- statistics ------------------------------------------------------------------------------ */

static void commands_are_counted(void **state)
{
    for (int i = 0; i < 3; i++) expect(c, "(nil)", "KV.GET ['a']");
    expect(c, "-ERR *", "KV.GET x");
    expect(c, "-ERR wrong number*", "KV.GET");
    expect_line("commandstats", "cmdstat_kv.get:",
                "cmdstat_kv.get:calls=4,usec=*,usec_per_call=*.*,rejected_calls=1,failed_calls=1");
    assert_null(strstr(ask(c, "INFO commandstats"), "cmdstat_kv.set:")); /* never called */
}

static void subcommands_are_counted_by_their_names(void **state)
{
    expect(c, ":*", "CLIENT ID");
    expect(c, "[]", "CONFIG GET nosuch");
    expect(c, "-ERR unknown subcommand*", "CLIENT FOO");
    expect(c, "-ERR wrong number*", "CLIENT KILL");
    expect(c, "[*]", "SLOWLOG HELP");
    expect_line("commandstats",
                "cmdstat_client|id:", "*:calls=1,*,rejected_calls=0,failed_calls=0");
    expect_line("commandstats", "cmdstat_config|get:", "*:calls=1,*");
    expect_line("commandstats",
                "cmdstat_client:", "*:calls=0,usec=0,usec_per_call=0.00,rejected_*=1,*");
    expect_line("commandstats", "cmdstat_client|kill:", "*:calls=0,*,rejected_calls=1,*");
    expect_line("commandstats", "cmdstat_slowlog|help:", "*:calls=1,*");
}

static void time_of_a_command_is_its_own(void **state)
{
    long long usec = 0;
    expect(c, "+OK", "DEBUG SLEEP 0.2");
    expect(c, "+PONG", "PING");
    const char *line = info_line("commandstats", "cmdstat_debug:");
    assert_int_equal(sscanf(line, "cmdstat_debug:calls=1,usec=%lld", &usec), 1);
    assert_true(usec >= 200000);
    line = info_line("commandstats", "cmdstat_ping:");
    assert_int_equal(sscanf(line, "cmdstat_ping:calls=1,usec=%lld", &usec), 1);
    assert_true(usec < 200000);
}

static void time_is_divided_among_pipelined_commands(void **state)
{
    long long usec = 0;
    raw_say(fd, "PING\r\nDEBUG SLEEP 0.2\r\nPING\r\nPING\r\n");
    raw_expect(fd, "+PONG\r\n+OK\r\n+PONG\r\n+PONG\r\n");
    const char *line = info_line("commandstats", "cmdstat_ping:");
    assert_int_equal(sscanf(line, "cmdstat_ping:calls=3,usec=%lld", &usec), 1);
    assert_true(usec < 200000);
}

static void a_command_that_waits_is_one_call(void **state)
{
    expect(c, "+OK", "CLIENT PAUSE 50");
    expect(c, "@", "KV.SET ['a'] 1");
    expect(c, "+OK", "CLIENT UNPAUSE");
    expect_line("commandstats", "cmdstat_kv.set:", "*:calls=1,*,rejected_calls=0,failed_calls=0");
}

static void errors_are_counted_by_their_code(void **state)
{
    expect(c, "@", "KV.SET ['text'] 'x'");
    expect(c, "-ERR unknown command*", "NOSUCH");
    expect(c, "-ERR wrong number*", "KV.GET");
    expect(c, "-ERR *", "KV.GET x");
    expect(c, "-NOPROTO *", "HELLO 9");
    expect(c, "-WRONGPASS *", "AUTH nouser x");
    expect(c, "-WRONGPASS *", "AUTH nouser x");
    expect(c, "-WRONGTYPE *", "KV.SUM ['text'] 1");
    expect_line("errorstats", "errorstat_ERR:", "errorstat_ERR:count=3");
    expect_line("errorstats", "errorstat_NOPROTO:", "errorstat_NOPROTO:count=1");
    expect_line("errorstats", "errorstat_WRONGPASS:", "errorstat_WRONGPASS:count=2");
    expect_line("errorstats", "errorstat_WRONGTYPE:", "errorstat_WRONGTYPE:count=1");
    expect_line("stats", "total_error_replies:", "total_error_replies:7");
    raw_say(fd, "*x\r\n");
    raw_expect(fd, "-ERR Protocol error: invalid multibulk length\r\n");
    expect_line("errorstats", "errorstat_ERR:", "errorstat_ERR:count=4");
    for (int i = 0; i < 300; i++) expect(c, "-ERR *", "NOSUCH%d", i);
    expect_line("errorstats", "errorstat_", "errorstat_ERR:count=304");
}

static void resetstat_sets_all_to_zero(void **state)
{
    expect(c, "(nil)", "KV.GET ['a']");
    expect(c, "-ERR *", "NOSUCH");
    expect(c, "+OK", "CONFIG RESETSTAT");
    expect_line("stats",
                "total_commands_processed:", "*:1"); /* RESETSTAT is done before it counts */
    expect_line("stats", "keyspace_misses:", "*:0");
    expect_line("stats", "total_error_replies:", "*:0");
    expect(c, "# Errorstats\r\n", "INFO errorstats");
    assert_null(strstr(ask(c, "INFO commandstats"), "cmdstat_kv.get:"));
    assert_null(strstr(ask(c, "INFO latencystats"), "_kv.get:"));
    assert_int_not_equal(ask_integer(c, "CLIENT ID"), 0);
    expect_line("clients", "connected_clients:", "connected_clients:2");
}

static void percentiles_are_those_asked_for(void **state)
{
    expect(c, "(nil)", "KV.GET ['a']");
    expect_line("latencystats", "latency_percentiles_usec_kv.get:",
                "latency_percentiles_usec_kv.get:p50=*.000,p99=*.000,p99.9=*.000");
    expect_line("latencystats", "latency_percentiles_usec_config|resetstat:", "*:p50=*");
    expect(c, "+OK", "CONFIG SET latency-tracking-info-percentiles %s", "0 12.5 100");
    expect(c, "[latency-tracking-info-percentiles 0 12.5 100]",
           "CONFIG GET latency-tracking-info-percentiles");
    expect_line("latencystats", "latency_percentiles_usec_kv.get:", "*:p0=*,p12.5=*,p100=*");
    expect(c, "+OK", "CONFIG SET latency-tracking-info-percentiles %s", "");
    expect_line("latencystats",
                "latency_percentiles_usec_kv.get:", "latency_percentiles_usec_kv.get:");
    static const char *const bad[] = {"101", "x", "50 -1",
                                      "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        expect(c, "-ERR CONFIG SET failed * numbers from 0 to 100*",
               "CONFIG SET latency-tracking-info-percentiles %s", bad[i]);
    }
    expect(c, "+OK", "CONFIG SET latency-tracking-info-percentiles %s", "50 99 99.9");
}

static void bad_settings_are_refused_at_the_start(void **state)
{
    static const struct {
        const char *name, *value, *text;
    } bad[] = {
        {"--latency-tracking-info-percentiles", "50 101", "at most 16 numbers from 0 to 100"},
        {"--slowlog-log-slower-than", "-2", "must be a number from -1 to"},
        {"--slowlog-log-slower-than", "1.5", "must be a number from -1 to"},
        {"--latency-monitor-threshold", "-1", "must be a number from 0 to"},
        {"--latency-tracking", "maybe", "must be one of no, yes"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *const args[] = {bad[i].name, bad[i].value, NULL};
        struct testserver_options o = {.args = args};
        testserver_refuses(&o, bad[i].text);
    }
}

static void without_tracking_there_are_no_histograms(void **state)
{
    expect(c, "+OK", "CONFIG SET latency-tracking no");
    expect(c, "+OK", "CONFIG RESETSTAT");
    expect(c, "(nil)", "KV.GET ['a']");
    expect(c, "# Latencystats\r\n", "INFO latencystats");
    expect(c, "[]", "LATENCY HISTOGRAM");
    expect_line("commandstats", "cmdstat_kv.get:", "*:calls=1,*");
}

static void rates_are_sampled(void **state)
{
    long until = testserver_now_ms() + WAIT_MS;
    for (;;) {
        for (int i = 0; i < 100; i++) expect(c, "+PONG", "PING");
        const char *ops = info_line("stats", "instantaneous_ops_per_sec:");
        const char *at = strchr(ops, ':');
        assert_non_null(at);
        if (atoll(at + 1) > 0) break;
        assert_true(testserver_now_ms() < until);
    }
    expect_line("stats", "instantaneous_input_kbps:", "*:*.*");
    expect_line("stats", "instantaneous_output_kbps:", "*:*.*");
}

/* What a client sends while its own command waits is not there to be run. */
static void a_wait_for_itself_is_no_wait_for_others(void **state)
{
    raw_say(fd, "KV.DEQUEUE nothing BLOCK 1500\r\n");
    expect(c, "+OK", "CONFIG RESETSTAT");
    usleep(100000);
    raw_say(fd, "PING\r\n");
    raw_expect(fd, "*-1\r\n+PONG\r\n");
    const char *line = info_line("stats", "client_wait_max_usec:");
    assert_true(atoll(strchr(line, ':') + 1) < 1000000);
}

/* ---- INFO ------------------------------------------------------------------------------------ */

/* Are the sections with these titles there, in this order, and no others? */
static void expect_sections(const char *arguments, const char *wanted)
{
    char titles[1000] = "";
    char command[100];
    snprintf(command, sizeof command, "INFO %s", arguments);
    const char *info = ask(c, command);
    for (const char *at = strstr(info, "# "); at != NULL; at = strstr(at + 1, "# ")) {
        assert_true(at == info || memcmp(at - 4, "\r\n\r\n", 4) == 0);
        strncat(titles, at + 2, strcspn(at + 2, "\r\n"));
        strcat(titles, " ");
    }
    assert_string_equal(titles, wanted);
}

static void info_has_the_sections_asked_for(void **state)
{
#define FIRST                                                                                      \
    "Server Clients Memory Persistence Stats Replication CPU Journal Memtable Store Cache "        \
    "Queues Indexes TLS "
    static const char *const usual = FIRST "Modules Errorstats Cluster Keyspace ";
    static const char *const all = FIRST
        "Modules Commandstats Errorstats Latencystats Cluster Keyspace ";
    expect_sections("", usual);
    expect_sections("default", usual);
    expect_sections("ALL", all);
    expect_sections("everything", all);
    expect_sections("modules", "Modules ");
    expect_sections("keyspace CPU keyspace", "CPU Keyspace ");
    expect_sections("default commandstats",
                    FIRST "Modules Commandstats Errorstats Cluster Keyspace ");
    expect_sections("nosuch", "");
    expect_sections("nosuch stats", "Stats ");
    expect(c, "# Modules\r\n", "INFO modules");
    expect(c, "", "INFO nosuch");
    assert_int_equal(load_info(c, "tcp_port"), testserver_port(server));
    raw_say(fd, "HELLO 3\r\nINFO nosuch\r\nINFO modules\r\n");
    for (int i = 0; i < 26; i++) raw_line(fd);
    raw_expect(fd, "=4\r\ntxt:\r\n=15\r\ntxt:# Modules\r\n\r\n");
}

static void info_has_the_fields_exporters_read(void **state)
{
    static const char *const fields[] = {
        "redis_build_id:",
        "executable:",
        "config_file:",
        "io_threads_active:",
        "client_recent_max_input_buffer:",
        "client_recent_max_output_buffer:",
        "tracking_clients:",
        "pubsub_clients:",
        "watching_clients:",
        "clients_in_timeout_table:",
        "used_memory:",
        "used_memory_human:",
        "used_memory_rss:",
        "used_memory_peak:",
        "used_memory_overhead:",
        "used_memory_startup:",
        "used_memory_dataset:",
        "maxmemory:0",
        "maxmemory_policy:",
        "mem_fragmentation_ratio:",
        "mem_clients_normal:",
        "mem_allocator:",
        "total_system_memory:",
        "async_loading:0",
        "rdb_changes_since_last_save:",
        "rdb_last_save_time:",
        "rdb_last_bgsave_status:ok",
        "aof_enabled:",
        "aof_last_write_status:ok",
        "total_net_input_bytes:",
        "total_net_output_bytes:",
        "expired_keys:",
        "evicted_keys:0",
        "keyspace_hits:",
        "keyspace_misses:",
        "pubsub_channels:",
        "tracking_total_keys:0",
        "tracking_total_items:0",
        "tracking_total_prefixes:0",
        "pubsub_patterns:",
        "pubsubshard_channels:",
        "unexpected_error_replies:",
        "latest_fork_usec:",
        "total_reads_processed:",
        "total_writes_processed:",
        "master_replid:",
        "used_cpu_user:",
    };
    const char *info = ask(c, "INFO");
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        char line[100];
        snprintf(line, sizeof line, "\n%s", fields[i]);
        if (strstr(info, line) == NULL) fail_msg("no '%s' in:\n%s", fields[i], info);
    }
}

static void info_counts_clients_that_watch_and_listen(void **state)
{
    enum { HALF = 100000 };
    redisContext *watching = testserver_connect(server);
    redisContext *listening = testserver_connect(server);
    char half[HALF + 1];
    memset(half, 'x', HALF);
    half[HALF] = '\0';
    expect_line("clients", "watching_clients", "watching_clients:0");
    expect_line("clients", "pubsub_clients", "pubsub_clients:0");
    expect(watching, "+OK", "WATCH k");
    expect(listening, "[subscribe a :1]", "SUBSCRIBE a");
    load_wait_info(c, "watching_clients", 1);
    expect_line("clients", "pubsub_clients", "pubsub_clients:1");
    assert_true(load_info(c, "client_recent_max_input_buffer") < HALF);
    raw_say(fd, "*2\r\n$4\r\nECHO\r\n$200000\r\n");
    raw_say(fd, half);
    long until = testserver_now_ms() + WAIT_MS;
    while (load_info(c, "client_recent_max_input_buffer") < HALF) {
        if (testserver_now_ms() > until) fail_msg("%s", info_line("clients", "client_recent"));
        testserver_pause();
    }
    redisFree(watching);
    redisFree(listening);
    load_wait_info(c, "watching_clients", 0);
    load_wait_info(c, "pubsub_clients", 0);
}

/* Of all databases together. */
static void info_tells_of_queues_and_indexes(void **state)
{
    static const char *const no_indexes = "# Indexes\r\nindex_loading:0\r\nindex_value:0\r\n"
                                          "index_text:0\r\nindex_filling:0\r\nindex_failed:0\r\n";
    long until = testserver_now_ms() + WAIT_MS;
    while (strstr(ask(c, "INFO"), "_loading:1") != NULL) { /* the server has just started */
        if (testserver_now_ms() > until) fail_msg("it never stops loading");
        testserver_pause();
    }
    expect(c,
           "# Queues\r\nqueue_loading:0\r\nqueues_held:0\r\nqueue_count:0\r\nqueue_ready:0\r\n"
           "queue_delayed:0\r\n"
           "queue_leased:0\r\nqueue_dead:0\r\nqueue_enqueued:0\r\nqueue_delivered:0\r\n"
           "queue_acked:0\r\nqueue_nacked:0\r\nqueue_expired:0\r\n",
           "INFO queues");
    expect(c, no_indexes, "INFO indexes");
    for (int i = 0; i < 5; i++) expect(c, "*", "KV.ENQUEUE a %d BACKOFF 0", i);
    expect(c, "*", "KV.ENQUEUE a 5 DELAY 3600000");
    for (int i = 0; i < 3; i++) {
        redisReply *r = ask_reply(c, "KV.DEQUEUE a LEASE %d", i < 2 ? 3600000 : 1);
        char *receipt = strdup(r->element[0]->element[4]->str);
        freeReplyObject(r);
        if (i == 0) expect(c, ":1", "KV.ACK %s", receipt);
        if (i == 1) expect(c, ":1", "KV.NACK %s", receipt);
        free(receipt);
    }
    expect(c, "+OK", "SELECT 1");
    expect(c, "*", "KV.ENQUEUE b 6");
    expect(c, "*", "KV.DEQUEUE b LEASE 3600000");
    expect(c, "+OK", "KV.INDEX CREATE n PREFIX ['n'] ON 1 n");
    expect(c, "+OK", "KV.INDEX CREATE t PREFIX ['n'] TEXT 1 t");
    expect(c, "# Indexes\r\nindex_loading:0\r\nindex_value:1\r\nindex_text:1\r\n*", "INFO indexes");
    until = testserver_now_ms() + WAIT_MS;
    while (strstr(ask(c, "INFO queues"), "queue_expired:1") == NULL) { /* the lease of 1 ms */
        if (testserver_now_ms() > until) fail_msg("the lease does not end");
        testserver_pause();
    }
    expect(c,
           "*queue_count:2\r\nqueue_ready:2\r\nqueue_delayed:1\r\nqueue_leased:1\r\n"
           "queue_dead:2\r\nqueue_enqueued:7\r\nqueue_delivered:4\r\nqueue_acked:1\r\n"
           "queue_nacked:1\r\nqueue_expired:1\r\n",
           "INFO queues");
    expect(c, ":1", "KV.INDEX DROP n");
    expect(c, ":1", "KV.INDEX DROP t");
    expect(c, no_indexes, "INFO indexes");
    expect(c, "+OK", "FLUSHALL");
    expect(c, "*queue_count:0\r\nqueue_ready:0\r\n*", "INFO queues");
}

/* ---- LATENCY --------------------------------------------------------------------------------- */

static void histogram_is_cumulative_in_powers_of_two(void **state)
{
    for (int i = 0; i < 50; i++) expect(c, "(nil)", "KV.GET ['a']");
    expect(c, "+OK", "DEBUG SLEEP 0.004");
    expect(c, "[kv.get [calls :50 histogram_usec [* :50]]]", "LATENCY HISTOGRAM KV.GET");
    redisReply *r = ask_reply(c, "LATENCY HISTOGRAM kv.get");
    const redisReply *buckets = r->element[1]->element[3];
    long long us = 0;
    long long count = 0;
    for (size_t i = 0; i < buckets->elements; i += 2) {
        assert_true(buckets->element[i]->integer > us);
        assert_true(buckets->element[i + 1]->integer > count);
        us = buckets->element[i]->integer;
        count = buckets->element[i + 1]->integer;
        assert_int_equal(us & (us - 1), 0);
    }
    freeReplyObject(r);
    r = ask_reply(c, "LATENCY HISTOGRAM debug");
    assert_int_equal(r->element[1]->element[3]->elements, 2);
    assert_true(r->element[1]->element[3]->element[0]->integer >= 4096);
    freeReplyObject(r);
    expect(c, "[config|resetstat [calls :1 histogram_usec [*]]]", "LATENCY HISTOGRAM config");
    expect(c, "[]", "LATENCY HISTOGRAM nosuch kv.set");
    raw_say(fd, "HELLO 3\r\nLATENCY HISTOGRAM nosuch\r\nLATENCY HISTOGRAM debug\r\n");
    for (int i = 0; i < 26; i++) raw_line(fd);
    raw_expect(fd, "%0\r\n%1\r\n$5\r\ndebug\r\n%2\r\n$5\r\ncalls\r\n:1\r\n"
                   "$14\r\nhistogram_usec\r\n%1\r\n:");
}

static void events_over_the_threshold_are_kept(void **state)
{
    expect(c, ":*", "LATENCY RESET");
    expect(c, "[]", "LATENCY LATEST");
    expect(c, "[]", "LATENCY HISTORY command");
    expect(c, "[]", "LATENCY HISTORY nosuch");
    expect(c, "The latency monitor is off*", "LATENCY DOCTOR");
    expect(c, "-ERR No samples available for event 'command'", "LATENCY GRAPH command");
    expect(c, "+OK", "DEBUG SLEEP 0.01");
    expect(c, "[]", "LATENCY LATEST");
    expect(c, "+OK", "CONFIG SET latency-monitor-threshold 1000");
    expect(c, "No event took 1000 ms*", "LATENCY DOCTOR");
    expect(c, "+OK", "DEBUG SLEEP 1.1");
    long until = testserver_now_ms() + WAIT_MS;
    /* The turn ends after the reply. */
    while (!text_fits(ask(c, "LATENCY LATEST"), "[[command :* :* :*] [loop-turn :* :* :*]]")) {
        assert_true(testserver_now_ms() < until);
        testserver_pause();
    }
    expect(c, "[[:* :*]]", "LATENCY HISTORY command");
    expect(c, "command - high * ms, low * ms (all time high * ms)\n* s ago |####* *\n",
           "LATENCY GRAPH command");
    expect(c, "command: 1 latency spikes*SLOWLOG GET*", "LATENCY DOCTOR");
    expect(c, ":1", "LATENCY RESET command nosuch fast-command");
    expect(c, "[[loop-turn *]]", "LATENCY LATEST");
    expect(c, ":1", "LATENCY RESET");
    raw_say(fd, "HELLO 3\r\nLATENCY DOCTOR\r\n");
    for (int i = 0; i < 26; i++) raw_line(fd);
    assert_int_equal(strncmp(raw_line(fd), "=", 1), 0);
    raw_expect(fd, "txt:No event took");
}

/* ---- SLOWLOG --------------------------------------------------------------------------------- */

static void slow_commands_are_kept(void **state)
{
    /* A second: no other command takes that, however crowded the machine is. */
    expect(c, "+OK", "CONFIG SET slowlog-log-slower-than 1000000");
    expect(c, "+OK", "SLOWLOG RESET");
    expect(c, ":0", "SLOWLOG LEN");
    expect(c, "[]", "SLOWLOG GET");
    expect(c, "+OK", "CLIENT SETNAME me");
    expect(c, "(nil)", "KV.GET ['a']");
    expect(c, ":0", "SLOWLOG LEN");
    expect(c, "+OK", "DEBUG SLEEP 1.1");
    expect(c, ":1", "SLOWLOG LEN");
    expect(c, "[[:* :1* :* [DEBUG SLEEP 1.1] 127.0.0.1:* me]]", "SLOWLOG GET");
    redisReply *r = ask_reply(c, "SLOWLOG GET 1");
    assert_int_equal(r->element[0]->elements, 6);
    long long id = r->element[0]->element[0]->integer;
    assert_true(r->element[0]->element[2]->integer >= 1100000);
    freeReplyObject(r);
    expect(c, "+OK", "DEBUG SLEEP 1.2");
    r = ask_reply(c, "SLOWLOG GET -1");
    assert_int_equal(r->elements, 2);
    assert_int_equal(r->element[0]->element[0]->integer, id + 1); /* the newest first */
    freeReplyObject(r);
    expect(c, "[]", "SLOWLOG GET 0");
    expect(c, "-ERR count should be greater than or equal to -1", "SLOWLOG GET -2");
    expect(c, "-ERR count should be greater than or equal to -1", "SLOWLOG GET x");
    expect(c, "+OK", "SLOWLOG RESET");
    expect(c, ":0", "SLOWLOG LEN");
}

static void the_slow_log_is_bounded(void **state)
{
    expect(c, "+OK", "CONFIG SET slowlog-log-slower-than 0 slowlog-max-len 20");
    for (int i = 0; i < 100; i++) expect(c, "+PONG", "PING");
    expect(c, ":20", "SLOWLOG LEN");
    expect(c, "[[*[SLOWLOG LEN]*] [*[PING]*]*]", "SLOWLOG GET 2");
    redisReply *r = ask_reply(c, "SLOWLOG GET");
    assert_int_equal(r->elements, 10); /* unless told otherwise */
    freeReplyObject(r);
    expect(c, "+OK", "CONFIG SET slowlog-max-len 3");
    expect(c, ":3", "SLOWLOG LEN");
    expect(c, "+OK", "CONFIG SET slowlog-max-len 0");
    expect(c, "+OK", "CONFIG SET slowlog-log-slower-than -1 slowlog-max-len 128");
    expect(c, "+OK", "SLOWLOG RESET");
    expect(c, "+OK", "DEBUG SLEEP 0.011");
    expect(c, ":0", "SLOWLOG LEN");
}

static void long_commands_are_cut(void **state)
{
    const char *argv[41] = {"ECHO"};
    char longer[201];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    expect(c, "+OK", "CONFIG SET slowlog-log-slower-than 0");
    expect(c, longer, "ECHO %s", longer);
    redisReply *r = ask_reply(c, "SLOWLOG GET 1");
    const redisReply *words = r->element[0]->element[3];
    assert_int_equal(words->elements, 2);
    assert_int_equal(strspn(words->element[1]->str, "x"), 128);
    assert_string_equal(words->element[1]->str + 128, "... (72 more bytes)");
    freeReplyObject(r);
    argv[0] = "KV.MGET";
    for (int i = 1; i < 41; i++) argv[i] = "[\"a\"]";
    freeReplyObject(redisCommandArgv(c, 41, argv, NULL));
    r = ask_reply(c, "SLOWLOG GET 1");
    words = r->element[0]->element[3];
    assert_int_equal(words->elements, 32);
    assert_string_equal(words->element[30]->str, "[\"a\"]");
    assert_string_equal(words->element[31]->str, "... (10 more arguments)");
    freeReplyObject(r);
    freeReplyObject(redisCommandArgv(c, 32, argv, NULL));
    r = ask_reply(c, "SLOWLOG GET 1");
    words = r->element[0]->element[3];
    assert_int_equal(words->elements, 32);
    assert_string_equal(words->element[31]->str, "[\"a\"]");
    freeReplyObject(r);
}

static void passwords_are_not_kept(void **state)
{
    expect(c, "+OK", "CONFIG SET slowlog-log-slower-than 0");
    expect(c, "+OK", "SLOWLOG RESET");
    expect(c, "-ERR *", "AUTH secret1");
    expect(c, "-WRONGPASS *", "AUTH me secret2");
    expect(c, "[*]", "HELLO 2 SETNAME me AUTH default secret3");
    expect(c, "-NOPROTO *", "HELLO 7 AUTH default secret4");
    expect(c, "-ERR *", "HELLO 2 FOO AUTH secret5");
    const char *log = ask(c, "SLOWLOG GET");
    assert_null(strstr(log, "secret"));
    assert_non_null(strstr(log, "[AUTH (redacted)]"));
    assert_non_null(strstr(log, "[AUTH (redacted) (redacted)]"));
    assert_non_null(strstr(log, "[HELLO 2 SETNAME me AUTH (redacted) (redacted)]"));
    assert_non_null(strstr(log, "[HELLO 7 AUTH (redacted) (redacted)]"));
}

/* ---- MEMORY ---------------------------------------------------------------------------------- */

static void memory_usage_takes_keys_of_any_form(void **state)
{
    expect(c, "(nil)", "MEMORY USAGE nokey");
    expect(c, "@", "KV.SET ['word'] 'value'");
    expect(c, "@", "KV.SET ['a',1] 'value'");
    long long small = ask_integer(c, "MEMORY USAGE word");
    assert_true(small > 9 && small < 200);
    assert_int_equal(ask_integer(c, "MEMORY USAGE ['word']"), small);
    assert_int_equal(ask_integer(c, "MEMORY USAGE ['word'] SAMPLES 0"), small);
    assert_int_equal(ask_integer(c, "MEMORY USAGE %b", "\x91\xa4word", (size_t)6), small);
    assert_true(ask_integer(c, "MEMORY USAGE ['a',1]") > 0);
    char longer[10001];
    memset(longer, 'x', 10000);
    longer[10000] = '\0';
    expect(c, "@", "KV.SET ['word'] \"%s\"", longer);
    assert_true(ask_integer(c, "MEMORY USAGE word") >= small + 9000);
    expect(c, "-ERR syntax error", "MEMORY USAGE word FOO 1");
    expect(c, "-ERR syntax error", "MEMORY USAGE word SAMPLES");
    expect(c, "-ERR *", "MEMORY USAGE word SAMPLES x");
    expect(c, "-ERR *", "MEMORY USAGE [1");
    expect(c, "(nil)", "MEMORY USAGE %b", "\xc3\xa4", (size_t)2); /* a word in UTF-8 */
    expect(c, "(nil)", "MEMORY USAGE %b", "\xc3(", (size_t)2);
    expect(c, "+OK", "SET %b x", "\xc3(", (size_t)2); /* bytes */
    expect(c, ":*", "MEMORY USAGE %b", "\xc3(", (size_t)2);
}

static void memory_tells_figures(void **state)
{
    expect(c,
           "[peak.allocated :* total.allocated :* startup.allocated :* * keys.count :* "
           "*dataset.percentage * peak.percentage * fragmentation *]",
           "MEMORY STATS");
    expect(c, "*.\n", "MEMORY DOCTOR");
    expect(c, "allocator: *\n", "MEMORY MALLOC-STATS");
    expect(c, "+OK", "MEMORY PURGE");
    raw_say(fd, "HELLO 3\r\nMEMORY STATS\r\n");
    for (int i = 0; i < 26; i++) raw_line(fd);
    raw_expect(fd, "%21\r\n$14\r\npeak.allocated\r\n:");
}

/* ---- HELP, DEBUG and the rest ---------------------------------------------------------------- */

static void every_container_has_help(void **state)
{
    redisReply *all = ask_reply(c, "COMMAND");
    size_t containers = 0;
    for (size_t i = 0; i < all->elements; i++) {
        const char *name = all->element[i]->element[0]->str;
        size_t subs = all->element[i]->element[9]->elements;
        char first[100];
        if (subs == 0) continue;
        containers++;
        redisReply *help = ask_reply(c, "%s HELP", name);
        assert_int_equal(help->elements, 1 + 2 * subs);
        for (size_t k = 0; k < help->elements; k++) {
            assert_int_equal(help->element[k]->type, REDIS_REPLY_STATUS);
        }
        snprintf(first, sizeof first,
                 "%s <subcommand> [<arg> [value] [opt] ...]. Subcommands are:", name);
        assert_int_equal(strcasecmp(help->element[0]->str, first), 0);
        assert_string_equal(help->element[help->elements - 2]->str, "HELP");
        assert_string_equal(help->element[help->elements - 1]->str, "    Print this help.");
        freeReplyObject(help);
    }
    freeReplyObject(all);
    assert_true(containers >= 8);
    expect(c, "*+USAGE key [SAMPLES count] +    Estimates *", "MEMORY HELP");
    expect(c, "-ERR wrong number*", "MEMORY HELP x");
}

static void debug_shows_every_type(void **state)
{
    static const struct {
        const char *type, *resp2, *resp3;
    } rows[] = {
        {"string", "$11\r\nHello World\r\n", "$11\r\nHello World\r\n"},
        {"integer", ":12345\r\n", ":12345\r\n"},
        {"double", "$5\r\n3.141\r\n", ",3.141\r\n"},
        {"null", "$-1\r\n", "_\r\n"},
        {"array", "*3\r\n:0\r\n:1\r\n:2\r\n", "*3\r\n:0\r\n:1\r\n:2\r\n"},
        {"set", "*3\r\n:0\r\n:1\r\n:2\r\n", "~3\r\n:0\r\n:1\r\n:2\r\n"},
        {"map", "*6\r\n:0\r\n:0\r\n:1\r\n:1\r\n:2\r\n:0\r\n",
         "%3\r\n:0\r\n#f\r\n:1\r\n#t\r\n:2\r\n#f\r\n"},
        {"attrib", "$39\r\nSome real reply following the attribute\r\n",
         "|1\r\n$14\r\nkey-popularity\r\n*2\r\n$7\r\nkey:123\r\n:90\r\n"
         "$39\r\nSome real reply following the attribute\r\n"},
        {"push", "-ERR RESP2 is not supported by this command\r\n",
         ">2\r\n$16\r\nserver-cpu-usage\r\n:42\r\n"
         "$40\r\nSome real reply following the push reply\r\n"},
        {"verbatim", "$25\r\nThis is a verbatim\nstring\r\n",
         "=29\r\ntxt:This is a verbatim\nstring\r\n"},
        {"true", ":1\r\n", "#t\r\n"},
        {"false", ":0\r\n", "#f\r\n"},
        {"bignum", "$37\r\n1234567999999999999999999999999999999\r\n",
         "(1234567999999999999999999999999999999\r\n"},
    };
    for (int proto = 2; proto <= 3; proto++) {
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            char command[64];
            snprintf(command, sizeof command, "DEBUG PROTOCOL %s\r\n", rows[i].type);
            raw_say(fd, command);
            raw_expect(fd, proto == 2 ? rows[i].resp2 : rows[i].resp3);
        }
        raw_say(fd, "HELLO 3\r\n");
        for (int i = 0; i < (proto == 2 ? 26 : 0); i++) raw_line(fd);
    }
    expect(c, "-ERR Wrong protocol type name*", "DEBUG PROTOCOL nosuch");
}

static void debug_sleeps_and_logs(void **state)
{
    long before = testserver_now_ms();
    expect(c, "+OK", "DEBUG SLEEP 0.05");
    assert_true(testserver_now_ms() - before >= 50);
    expect(c, "+OK", "DEBUG SLEEP 0");
    expect(c, "-ERR value is not a valid float", "DEBUG SLEEP x");
    expect(c, "-ERR value is not a valid float", "DEBUG SLEEP -1");
    static const char *const numbers[] = {
        "nan",
        "inf",
        "0x1",
        "-0",
        "+0.001",
        "1e",
        "0.001s",
        "1.2.3",
        ".",
        "86401",
        "0.000000000000000000000000000000000000x",
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        expect(c, "-ERR value is not a valid float", "DEBUG SLEEP %s", numbers[i]);
    }
    expect(c, "-ERR value is not a valid float", "DEBUG SLEEP %s", " 0");
    expect(c, "-ERR value is not a valid float", "DEBUG SLEEP %s", "");
    expect(c, "-ERR value is not a valid float", "DEBUG SLEEP %b",
           "0\0"
           "1",
           (size_t)3);
    expect(c, "+OK", "DEBUG SLEEP 1e-3");
    expect(c, "+OK", "DEBUG SLEEP .001");
    expect(c, "-ERR unknown subcommand or wrong number of arguments for 'SLEEP'. Try DEBUG HELP.",
           "DEBUG SLEEP");
    expect(c, "+OK", "DEBUG LOG %s", "a line\nfrom a test");
    assert_true(testserver_has_logged(server, "DEBUG LOG: a line from a test"));
    expect(c, "-ERR unknown subcommand or wrong number of arguments for 'JMAP'. Try DEBUG HELP.",
           "DEBUG JMAP");
    expect(c, "-ERR wrong number of arguments for 'debug' command", "DEBUG");
}

static void debug_replies_with_the_error_it_is_given(void **state)
{
    expect(c, "-ABC", "DEBUG ERROR ABC");
    expect(c, "-MY own  words", "DEBUG ERROR %s", "MY own\r\nwords");
    expect(c, "--x", "DEBUG ERROR -x");
    expect(c, "+PONG", "PING");
    expect(c, "-ERR unknown subcommand or wrong number of arguments for 'ERROR'. Try DEBUG HELP.",
           "DEBUG ERROR a b");
}

/* Does the moves' list have this one? */
static bool has_move(const redisReply *moves, const char *machine, const char *from, const char *to)
{
    for (size_t i = 0; i < moves->elements; i++) {
        redisReply **m = moves->element[i]->element;
        bool is_it = strcmp(m[2]->str, machine) == 0 && strcmp(m[4]->str, from) == 0 &&
                     strcmp(m[5]->str, to) == 0;
        if (is_it) return true;
    }
    return false;
}

static void debug_shows_the_moves_of_state_machines(void **state)
{
    expect(c, "+OK", "DEBUG TRACE OFF");
    expect(c, "+OK", "DEBUG TRACE ON");
    expect(c, "[]", "DEBUG TRACE GET");
    expect(c, "*", "KV.DEQUEUE none BLOCK 1");
    expect(c, "+OK", "DEBUG TRACE OFF");
    redisReply *moves = ask_reply(c, "DEBUG TRACE GET");
    assert_true(has_move(moves, "runner", "running", "parked"));
    assert_true(has_move(moves, "runner", "parked", "free"));
    assert_int_equal(moves->element[0]->element[0]->integer, 1);
    size_t count = moves->elements;
    freeReplyObject(moves);
    expect(c, "*", "KV.DEQUEUE none BLOCK 1");
    moves = ask_reply(c, "DEBUG TRACE GET 1");
    assert_int_equal(moves->elements, 1);
    assert_int_equal(moves->element[0]->element[0]->integer, count);
    freeReplyObject(moves);
    expect(c, "-ERR syntax error", "DEBUG TRACE MAYBE");
    expect(c, "-ERR*", "DEBUG TRACE GET 0");
    expect(c, "-ERR*", "DEBUG TRACE");
}

static void debug_works_between_multi_and_exec(void **state)
{
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "SET a 1");
    expect(c, "+QUEUED", "DEBUG SLEEP 0");
    expect(c, "+QUEUED", "DEBUG ERROR %s", "MY own");
    expect(c, "+QUEUED", "DEBUG SET-ACTIVE-EXPIRE 1");
    expect(c, "+QUEUED", "DEBUG PROTOCOL integer");
    expect(c, "+QUEUED", "DEBUG LOG x");
    expect(c, "[+OK +OK -MY own +OK :12345 +OK]", "EXEC");
    expect(c, "1", "GET a");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "DEBUG JMAP");
    expect(c, "-EXECABORT command 1 debug: ERR unknown subcommand or *", "EXEC");
    raw_say(fd, "HELLO 3\r\nECHO end-of-hello\r\n");
    while (strcmp(raw_line(fd), "end-of-hello") != 0) continue;
    raw_say(fd, "MULTI\r\nDEBUG PROTOCOL push\r\nEXEC\r\n");
    raw_expect(fd, "+OK\r\n+QUEUED\r\n-EXECABORT ");
    raw_line(fd);
}

/* What has ended is gone for readers; it is the removal, which watches tell of, that waits. */
static void active_expiry_can_be_switched_off(void **state)
{
    long until = testserver_now_ms() + WAIT_MS;
    redisContext *l = testserver_connect(server);
    expect(c, "-ERR *", "DEBUG SET-ACTIVE-EXPIRE 2");
    expect(c, "+OK", "DEBUG SET-ACTIVE-EXPIRE 0");
    expect(c, "+OK", "SET a 1 PX 5");
    say(l, "SUBSCRIBE kv:watch:a");
    expect_next(l, "[subscribe kv:watch:a :1]");
    expect_next(l, "[message *]");
    while (!text_fits(ask(c, "GET a"), "(nil)")) assert_true(testserver_now_ms() < until);
    assert_false(load_is_readable(l, 60));
    expect(c, "+OK", "DEBUG SET-ACTIVE-EXPIRE 1");
    expect_next(l, "[message kv:watch:a {'key':['a'],'value':null,*}]");
    redisFree(l);
}

static void debug_is_refused_unless_it_is_enabled(void **state)
{
    struct testserver *plain = testserver_start(NULL);
    redisContext *p = testserver_connect(plain);
    static const char *const commands[] = {
        "DEBUG SLEEP 0", "DEBUG LOG x",   "DEBUG PROTOCOL null",       "DEBUG JMAP",
        "DEBUG DIGEST",  "DEBUG ERROR x", "DEBUG SET-ACTIVE-EXPIRE 0", "DEBUG SLEEP"};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        expect(p, "-ERR DEBUG command not allowed.*", commands[i]);
    }
    redisFree(p);
    testserver_free(plain);
}

static void there_are_no_clusters_modules_and_replicas(void **state)
{
    static const char *const cluster[] = {"CLUSTER INFO", "CLUSTER NODES", "CLUSTER FOO bar",
                                          "READONLY",     "READWRITE",     "ASKING"};
    for (size_t i = 0; i < sizeof cluster / sizeof cluster[0]; i++) {
        expect(c, "-ERR This instance has cluster support disabled", cluster[i]);
    }
    expect(c, "[]", "MODULE LIST");
    expect(c, "-ERR unknown subcommand 'LOAD'. Try MODULE HELP.", "MODULE LOAD x");
    expect(c, "[master :0 []]", "ROLE");
    expect(c, "*Tupled ver. *\n", "LOLWUT");
    expect(c, "*Tupled ver. *\n", "LOLWUT VERSION 5");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(commands_are_counted),
        TEST(subcommands_are_counted_by_their_names),
        TEST(time_of_a_command_is_its_own),
        TEST(time_is_divided_among_pipelined_commands),
        TEST(a_command_that_waits_is_one_call),
        TEST(errors_are_counted_by_their_code),
        TEST(resetstat_sets_all_to_zero),
        TEST(percentiles_are_those_asked_for),
        TEST(bad_settings_are_refused_at_the_start),
        TEST(without_tracking_there_are_no_histograms),
        TEST(rates_are_sampled),
        TEST(a_wait_for_itself_is_no_wait_for_others),
        TEST(info_has_the_sections_asked_for),
        TEST(info_has_the_fields_exporters_read),
        TEST(info_counts_clients_that_watch_and_listen),
        TEST(info_tells_of_queues_and_indexes),
        TEST(histogram_is_cumulative_in_powers_of_two),
        TEST(events_over_the_threshold_are_kept),
        TEST(slow_commands_are_kept),
        TEST(the_slow_log_is_bounded),
        TEST(long_commands_are_cut),
        TEST(passwords_are_not_kept),
        TEST(memory_usage_takes_keys_of_any_form),
        TEST(memory_tells_figures),
        TEST(every_container_has_help),
        TEST(debug_shows_every_type),
        TEST(debug_sleeps_and_logs),
        TEST(debug_replies_with_the_error_it_is_given),
        TEST(debug_shows_the_moves_of_state_machines),
        TEST(debug_works_between_multi_and_exec),
        TEST(active_expiry_can_be_switched_off),
        TEST(debug_is_refused_unless_it_is_enabled),
        TEST(there_are_no_clusters_modules_and_replicas),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
