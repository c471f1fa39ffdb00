/* CONFIG SET, REWRITE and GET on a running server, and what listens where: each mutable setting is
 * changed and its effect looked at; the Unix socket; protected mode. What the backend does with a
 * changed option is looked at in tests/unit/backend/test_local_options.c. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "server/config.h"

#define LIMIT_MS 20000

static redisContext *c; /* fresh for each test */
static int start(void **state)
{
    group_opens(&c, NULL);
    server = testserver_start(NULL);
    return 0;
}

static int enter(void **state)
{
    group_connect();
    return 0;
}

/* Every setting back to its default, and none of the values of the test. */
static int leave(void **state)
{
    group_connect();
    for (size_t i = 0; i < config_count(); i++) {
        if (!config_is_mutable(i)) continue;
        expect(c, "+OK", "CONFIG SET %s %s", config_name(i), config_default(i));
    }
    expect(c, "+OK", "FLUSHALL");
    return group_leave(state);
}

static const char *in_scratch(const char *name)
{
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", group_scratch(), name);
    return path;
}

static const char *value_of(const char *name)
{
    static char text[512];
    redisReply *r = ask_reply(c, "CONFIG GET %s", name);
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    assert_int_equal(r->elements, 2);
    snprintf(text, sizeof text, "%s", r->element[1]->str);
    freeReplyObject(r);
    return text;
}

static char *filled(size_t bytes)
{
    char *text = malloc(bytes + 1);
    if (text == NULL) abort();
    memset(text, 'a', bytes);
    text[bytes] = '\0';
    return text;
}

/* Whether the peer closes within LIMIT_MS; what it sends is dropped. */
static bool is_closed(int fd)
{
    char bytes[65536];
    long until = testserver_now_ms() + LIMIT_MS;
    while (testserver_now_ms() < until) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, 100) == 1 && recv(fd, bytes, sizeof bytes, 0) <= 0) return true;
    }
    return false;
}

static void poll_log(const struct testserver *s, const char *text)
{
    long until = testserver_now_ms() + LIMIT_MS;
    while (!testserver_has_logged(s, text)) {
        if (testserver_now_ms() > until) fail_msg("never logged: %s", text);
        testserver_pause();
    }
}

/* ---- SET and GET ----------------------------------------------------------------------------- */

/* A mutable setting that is not here is one whose effect is not tested. */
static void every_mutable_setting_can_be_set(void **state)
{
    static const char *const cases[][3] = {
        {"protected-mode", "no", "no"},
        {"timeout", "3600", "3600"},
        {"tcp-keepalive", "60", "60"},
        {"maxclients", "500", "500"},
        {"proto-max-bulk-len", "2mb", "2097152"},
        {"client-query-buffer-limit", "3mb", "3145728"},
        {"client-output-buffer-limit", "normal 4mb 1mb 5",
         "normal 4194304 1048576 5 slave 268435456 67108864 60 pubsub 33554432 8388608 60"},

        {"maxmemory-clients", "2.0%", "2%"},
        {"requirepass", "", ""},
        {"acl-pubsub-default", "AllChannels", "allchannels"},
        {"acllog-max-len", "5", "5"},
        {"auth-timeout", "900", "900"},
        {"maxclients-per-user", "900", "900"},
        {"maxclients-per-address", "900", "900"},
        {"block-max", "900", "900"},
        {"leader-wait", "900", "900"},
        {"default-format", "MSGPACK", "msgpack"},
        {"bare-bigints", "YES", "yes"},
        {"http-allowed-hosts", "db.example", "db.example"},
        {"http-allowed-origins", "https://a.example", "https://a.example"},
        {"http-trusted-proxies", "10.0.0.1", "10.0.0.1"},
        {"http-max-body", "1mb", "1048576"},
        {"http-idle-timeout", "5", "5"},
        {"http-request-timeout", "6", "6"},
        {"rest-path-numbers", "YES", "yes"},
        {"rest-delete-default", "Exact", "exact"},
        {"tls-cert-file", "/etc/a.crt", "/etc/a.crt"}, /* not looked at: there is no tls-port */
        {"tls-key-file", "/etc/a.key", "/etc/a.key"},
        {"tls-key-file-pass", "secret", ""},
        {"tls-ca-cert-file", "/etc/ca.crt", "/etc/ca.crt"},
        {"tls-ca-cert-dir", "/etc/ca", "/etc/ca"},
        {"tls-auth-clients", "Optional", "optional"},
        {"tls-auth-clients-user", "CN", "cn"},
        {"tls-protocols", "TLSv1.3", "TLSv1.3"},
        {"tls-ciphers", "HIGH", "HIGH"},
        {"tls-ciphersuites", "TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"},
        {"tls-prefer-server-ciphers", "yes", "yes"},
        {"tls-auto-reload-interval", "60", "60"},
        {"loglevel", "Verbose", "verbose"},
        {"log-format", "JSON", "json"},
        {"durability", "interval 20", "interval 20"},
        {"max-value-size", "1mb", "1048576"},
        {"max-transaction-ops", "99", "99"},
        {"max-transaction-size", "1mb", "1048576"},
        {"memtable-size", "2mb", "2097152"},
        {"memtable-age", "77", "77"},
        {"write-buffer-limit", "9mb", "9437184"},
        {"cache-size", "1k", "1000"},
        {"changes-retention-age", "5", "5"},
        {"changes-retention-size", "5kb", "5120"},
        {"archive-interval", "5", "5"},
        {"archive-retention", "5", "5"},
        {"backup-schedule", "03:30", "03:30"},
        {"scan-timeout", "5", "5"},
        {"expire-batch", "7", "7"},
        {"collection-pack-bytes", "2kb", "2048"},
        {"counted-memory", "32mb", "33554432"},
        {"exec-on-error", "Continue", "continue"},
        {"idem-window", "5", "5"},
        {"idem-max-entries", "5", "5"},
        {"queue-lease", "5", "5"},
        {"queue-prefetch", "5", "5"},
        {"dedup-window", "5", "5"},
        {"dedup-max-entries", "5", "5"},
        {"dlq-max-age", "5", "5"},
        {"dlq-max-length", "5", "5"},
        {"max-indexes", "100", "100"},

        {"script-time-limit", "77", "77"},
        {"script-memory-limit", "2mb", "2097152"},
        {"tracking-table-max-keys", "5", "5"},
        {"notify-keyspace-events", "Kx$gE", "g$xKE"},
        {"redis-version", "7.4.0", "7.4.0"},
        {"slowlog-log-slower-than", "-1", "-1"},
        {"slowlog-max-len", "5", "5"},
        {"latency-monitor-threshold", "5", "5"},
        {"latency-tracking", "no", "no"},
        {"latency-tracking-info-percentiles", "50 90", "50 90"},
        {"metrics-names", "5", "5"},
    };
    size_t count = sizeof cases / sizeof cases[0];
    for (size_t i = 0; i < count; i++) {
        if (config_find(slice_str(cases[i][0])) == config_count()) continue;
        expect(c, "+OK", "CONFIG SET %s %s", cases[i][0], cases[i][1]);
        assert_string_equal(value_of(cases[i][0]), cases[i][2]);
    }
    for (size_t i = 0; i < config_count(); i++) {
        size_t at = 0;
        while (at < count && strcmp(cases[at][0], config_name(i)) != 0) at++;
        if (config_is_mutable(i) && at == count) fail_msg("%s is not looked at", config_name(i));
        if (config_is_mutable(i)) continue;
        char wanted[200];
        snprintf(wanted, sizeof wanted,
                 "-ERR CONFIG SET failed (possibly related to argument '%s') - can't set immutable "
                 "config",
                 config_name(i));
        expect(c, wanted, "CONFIG SET %s 1", config_name(i));
    }
}

static void several_are_set_together_or_not_at_all(void **state)
{
    expect(c, "+OK", "CONFIG SET timeout 3600 MAXCLIENTS 400 cache-size 1mb save %s", "");
    assert_string_equal(value_of("timeout"), "3600");
    assert_string_equal(value_of("maxclients"), "400");
    static const char *const last[] = {
        "nosuch 1",        "port 1",      "timeout 5",        "memtable-age x", "save 5",
        "memtable-size 1", "bind ::1",    "maxclients 0",     "durability x",   "appendonly no",
        "maxmemory 100mb", "daemonize 1", "unixsocketperm 1",
    };
    for (size_t i = 0; i < sizeof last / sizeof last[0]; i++) {
        char command[200];
        snprintf(command, sizeof command, "CONFIG SET timeout 3601 maxclients 401 %s", last[i]);
        expect(c, "-ERR *", command);
    }
    assert_string_equal(value_of("timeout"), "3600");
    assert_string_equal(value_of("maxclients"), "400");
}

static void a_taken_port_names_its_setting(void **state)
{
    char port[8];
    const char *const args[] = {"--port", port, NULL};
    const char *const http_args[] = {"--http-port", port, NULL};
    snprintf(port, sizeof port, "%d", testserver_port(server));
    testserver_refuses(&(struct testserver_options){.args = args},
                       "; the setting port chooses another port (--port <port>)");
    testserver_refuses(&(struct testserver_options){.args = http_args},
                       "; the setting http-port chooses another port (--http-port <port>)");
}

static void wrong_words_have_the_errors_of_redis(void **state)
{
    static const char *const cases[][2] = {
        {"CONFIG SET timeout", "-ERR wrong number of arguments for 'config|set' command"},
        {"CONFIG SET timeout 1 maxclients", "-ERR syntax error"},
        {"CONFIG SET nosuch 1",
         "-ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'"},
        {"CONFIG SET timeout 1 NoSuch 1",
         "-ERR Unknown option or number of arguments for CONFIG SET - 'NoSuch'"},
        {"CONFIG SET Port 1", "-ERR CONFIG SET failed (possibly related to argument 'Port') - "
                              "can't set immutable config"},
        {"CONFIG SET timeout x nosuch 1",
         "-ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'"},
        {"CONFIG SET port 1 nosuch 1", "-ERR CONFIG SET failed (possibly related to argument "
                                       "'port') - can't set immutable config"},
        {"CONFIG SET timeout 1 TIMEOUT 2",
         "-ERR CONFIG SET failed (possibly related to argument 'TIMEOUT') - duplicate parameter"},
        {"CONFIG SET save 1 save 2",
         "-ERR CONFIG SET failed (possibly related to argument 'save') - duplicate parameter"},
        {"CONFIG SET timeout x",
         "-ERR CONFIG SET failed (possibly related to argument 'timeout') - timeout must be a "
         "number from 0 to 2147483647"},
        {"CONFIG SET loglevel x",
         "-ERR CONFIG SET failed (possibly related to argument 'loglevel') - loglevel must be one "
         "of debug, verbose, notice, warning, nothing"},
        {"CONFIG SET client-output-buffer-limit x",
         "-ERR CONFIG SET failed (possibly related to argument 'client-output-buffer-limit') - "
         "client-output-buffer-limit must be a size, or groups of <normal|replica|pubsub> <hard "
         "size> <soft size> <seconds>; 0 = no limit"},
        {"CONFIG REWRITE", "-ERR The server is running without a config file"},
        {"CONFIG REWRITE x", "-ERR wrong number of arguments for 'config|rewrite' command"},
        {"CONFIG NOSUCH", "-ERR unknown subcommand 'NOSUCH'. Try CONFIG HELP."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        redisReply *r = ask_reply(c, cases[i][0]);
        assert_int_equal(r->type, REDIS_REPLY_ERROR);
        assert_string_equal(r->str, cases[i][1] + 1);
        freeReplyObject(r);
    }
}

static void settings_with_one_meaning_may_be_set_to_it(void **state)
{
    static const char *const cases[][3] = {
        {"appendonly", "yes", "no"},
        {"appendfsync", "always", "everysec"},
        {"maxmemory", "0", "1gb"},
        {"maxmemory-policy", "noeviction", "allkeys-lru"},
        {"replica-read-only", "yes", "no"},
        {"cluster-enabled", "no", "yes"},
        {"hz", "100", "10"},
        {"dynamic-hz", "no", "yes"},
        {"replicaof", "", "127.0.0.1 1"},
        {"slaveof", "", "127.0.0.1 1"},
        {"min-replicas-to-write", "0", "1"},
        {"min-slaves-to-write", "0", "1"},
        {"masterauth", "", "x"},
        {"masteruser", "", "x"},
        {"repl-backlog-size", "0", "1mb"},
        {"dbfilename", "", "dump.rdb"},
        {"rdbcompression", "no", "yes"},
        {"rdbchecksum", "no", "yes"},
        {"stop-writes-on-bgsave-error", "no", "yes"},
        {"auto-aof-rewrite-percentage", "0", "100"},
        {"auto-aof-rewrite-min-size", "0", "64mb"},
        {"no-appendfsync-on-rewrite", "no", "yes"},
        {"aof-use-rdb-preamble", "no", "yes"},
        {"lua-time-limit", "0", "5000"},
        {"busy-reply-threshold", "0", "5000"},
        {"maxmemory-samples", "0", "5"},
        {"activedefrag", "no", "yes"},
        {"daemonize", "no", "yes"},
        {"supervised", "no", "systemd"},
        {"pidfile", "", "x"},
        {"syslog-enabled", "no", "yes"},
        {"enable-module-command", "no", "yes"},
        {"io-threads-do-reads", "yes", "no"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(value_of(cases[i][0]), cases[i][1]);
        expect(c, "+OK", "CONFIG SET %s %s", cases[i][0], cases[i][1]);
        expect(c, "-ERR CONFIG SET failed (possibly related to argument *) - *", "CONFIG SET %s %s",
               cases[i][0], cases[i][2]);
    }
    expect(c, "-ERR *'replicaof') - replication is not supported; several *",
           "CONFIG SET replicaof x");
    assert_string_equal(value_of("save"), "");
    expect(c, "+OK", "CONFIG SET save %s", "");
    expect(c, "-ERR CONFIG SET failed (possibly related to argument *) - there are no snapshots*",
           "CONFIG SET save %s", "3600 1");
    expect(c, "+OK", "CONFIG SET durability never");
    assert_string_equal(value_of("appendfsync"), "no");
    expect(c, "+OK", "CONFIG SET durability %s", "interval 1000");
    assert_string_equal(value_of("appendfsync"), "everysec");
}

static void tools_find_what_they_ask_for(void **state)
{
    static const char *const names[] = {
        "save",
        "appendonly",
        "maxmemory",
        "maxmemory-policy",
        "databases",
        "timeout",
        "slave-read-only",
        "maxclients",
        "replica-read-only",
        "requirepass",
        "io-threads",
        "cluster-enabled",
        "port",
        "tls-port",
        "bind",
        "unixsocket",
        "protected-mode",
        "appendfsync",
        "notify-keyspace-events",
        "tcp-keepalive",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) (void)value_of(names[i]);
    expect(c, "[]", "CONFIG GET nosuch");
    expect(c, "[databases 16]", "CONFIG GET DATABASES");
    expect(c, "[]", "CONFIG GET requirepas");
}

/* ---- effects --------------------------------------------------------------------------------- */

static void timeout_closes_idle_clients(void **state)
{
    int fd = raw_connect(server);
    expect(c, "+OK", "CONFIG SET timeout 1");
    assert_true(is_closed(fd));
    close(fd);
}

/* The kernel's table shows whether a keepalive timer runs (2) on the server's end of fd. */
static int keepalive_timer(int fd)
{
    struct sockaddr_in own;
    socklen_t len = sizeof own;
    char line[512];
    int found = -1;
    assert_int_equal(getsockname(fd, (struct sockaddr *)&own, &len), 0);
    FILE *f = fopen("/proc/net/tcp", "r");
    if (f == NULL) return -1;
    while (fgets(line, sizeof line, f) != NULL) {
        unsigned local = 0;
        unsigned remote = 0;
        unsigned timer = 0;
        if (sscanf(line, " %*d: %*x:%x %*x:%x %*x %*x:%*x %x:%*x", &local, &remote, &timer) != 3) {
            continue;
        }
        bool is_it = local == (unsigned)testserver_port(server) && remote == ntohs(own.sin_port);
        if (is_it) found = (int)timer;
    }
    fclose(f);
    return found;
}

static void tcp_keepalive_is_that_of_new_connections(void **state)
{
    int with = raw_connect(server);
    raw_send(with, "PING\r\n", 6);
    raw_expect(with, "+PONG\r\n");
    expect(c, "+OK", "CONFIG SET tcp-keepalive 0");
    int without = raw_connect(server);
    raw_send(without, "PING\r\n", 6);
    raw_expect(without, "+PONG\r\n");
    /* A timer of 1 is one of what was just sent: wait until it is acknowledged. */
    long until = testserver_now_ms() + LIMIT_MS;
    while ((keepalive_timer(with) == 1 || keepalive_timer(without) == 1) &&
           testserver_now_ms() < until) {
        testserver_pause();
    }
    if (keepalive_timer(with) < 0) {
        print_message("skipped: /proc/net/tcp does not show the connection\n");
    } else {
        assert_int_equal(keepalive_timer(with), 2);
        assert_int_equal(keepalive_timer(without), 0);
    }
    close(with);
    close(without);
}

static void maxclients_refuses_more(void **state)
{
    expect(c, "+OK", "CONFIG SET maxclients 1");
    int fd = raw_connect(server);
    raw_expect(fd, "-ERR max number of clients reached\r\n");
    raw_expect_end(fd);
    close(fd);
    expect(c, "+OK", "CONFIG SET maxclients 2");
    fd = raw_connect(server);
    raw_send(fd, "PING\r\n", 6);
    raw_expect(fd, "+PONG\r\n");
    close(fd);
    expect(c, "+OK", "CONFIG SET maxclients 10000");
}

static void maxclients_needs_descriptors(void **state)
{
    struct rlimit old;
    struct rlimit low = {.rlim_cur = 256, .rlim_max = 256};
    struct testserver *other = testserver_start_with("--maxclients", "100", NULL);
    redisContext *oc = testserver_connect(other);
    assert_int_equal(prlimit(testserver_pid(other), RLIMIT_NOFILE, &low, &old), 0);
    expect(oc,
           "-ERR CONFIG SET failed (possibly related to argument 'maxclients') - The operating "
           "system is not able to handle the specified number of clients, try with 192",
           "CONFIG SET timeout 5 maxclients 5000");
    expect(oc, "[timeout 0 maxclients 100]", "CONFIG GET maxclients timeout");
    redisFree(oc);
    testserver_free(other);
}

static void proto_max_bulk_len_refuses_larger_arguments(void **state)
{
    int old = raw_connect(server);
    raw_send(old, "PING\r\n", 6);
    raw_expect(old, "+PONG\r\n");
    expect(c, "+OK", "CONFIG SET proto-max-bulk-len 1mb");
    int fds[] = {old, raw_connect(server)};
    for (size_t i = 0; i < 2; i++) {
        static const char command[] = "*2\r\n$4\r\nECHO\r\n$1048577\r\n";
        raw_send(fds[i], command, sizeof command - 1);
        raw_expect(fds[i], "-ERR Protocol error: invalid bulk length\r\n");
        raw_expect_end(fds[i]);
        close(fds[i]);
    }
}

static void client_query_buffer_limit_closes(void **state)
{
    expect(c, "+OK", "CONFIG SET client-query-buffer-limit 1mb");
    int fd = raw_connect(server);
    char *bytes = filled(3 << 20);
    static const char command[] = "*2\r\n$4\r\nECHO\r\n$9000000\r\n";
    raw_send(fd, command, sizeof command - 1);
    for (size_t at = 0; at < 3 << 20;) {
        ssize_t n = send(fd, bytes + at, (3 << 20) - at, MSG_NOSIGNAL);
        if (n <= 0) break;
        at += (size_t)n;
    }
    poll_log(server, "query buffer exceeds client-query-buffer-limit");
    assert_true(is_closed(fd));
    close(fd);
    free(bytes);
}

/* Also when it is one reply, that would be sent soon: nothing of it is. */
static void client_output_buffer_limit_holds_for_one_reply(void **state)
{
    char *value = filled(1100000);
    expect(c, "@", "KV.SET [1] '%s'", value);
    value[900000] = '\0';
    expect(c, "@", "KV.SET [2] '%s'", value);
    free(value);
    expect(c, "+OK", "CONFIG SET client-output-buffer-limit %s", "normal 1mb 0 0");
    int fd = raw_connect(server);
    raw_send(fd, "KV.GET [2]\r\n", 12);
    assert_true(text_fits(raw_line(fd), "$9000*"));
    close(fd);
    fd = raw_connect(server);
    raw_send(fd, "KV.GET [1]\r\n", 12);
    raw_expect_end(fd);
    close(fd);
    poll_log(server, "exceeds client-output-buffer-limit");
    expect(c, "+PONG", "PING");
}

static void client_output_buffer_limit_closes_who_does_not_read(void **state)
{
    char *value = filled(900000);
    expect(c, "@", "KV.SET [1] '%s'", value);
    expect(c, "+OK", "CONFIG SET client-output-buffer-limit 500kb");
    int fd = raw_connect(server);
    for (int i = 0; i < 100; i++) {
        static const char command[] = "*2\r\n$6\r\nKV.GET\r\n$3\r\n[1]\r\n";
        if (send(fd, command, sizeof command - 1, MSG_NOSIGNAL) < 0) break;
    }
    poll_log(server, "exceeds client-output-buffer-limit");
    assert_true(is_closed(fd));
    close(fd);
    free(value);
}

static void default_format_is_that_of_new_connections(void **state)
{
    expect(c, "+OK", "CONFIG SET default-format msgpack");
    expect(c, "JSON", "KV.FORMAT");
    redisContext *fresh = testserver_connect(server);
    expect(fresh, "MSGPACK", "KV.FORMAT");
    redisFree(fresh);
}

static void loglevel_is_in_force_at_once(void **state)
{
    expect(c, "+OK", "CONFIG SET timeout 1001");
    poll_log(server, "CONFIG SET: timeout 1001");
    expect(c, "+OK", "CONFIG SET loglevel warning");
    expect(c, "+OK", "CONFIG SET timeout 1002");
    expect(c, "+OK", "CONFIG SET loglevel notice");
    expect(c, "+OK", "CONFIG SET timeout 1003");
    poll_log(server, "CONFIG SET: timeout 1003");
    assert_false(testserver_has_logged(server, "timeout 1002"));
}

static void limits_of_transactions_are_in_force_at_once(void **state)
{
    char *value = filled(40000);
    expect(c, "@", "KV.SET [1] '%s'", value);
    expect(c, "@", "KV.ATOMIC SET [1] '%s' SET [2] '%s'", value, value);
    expect(c, "+OK", "CONFIG SET max-transaction-size 64kb");
    expect(c, "-LIMIT *max-transaction-size*", "KV.ATOMIC SET [1] '%s' SET [2] '%s'", value, value);
    expect(c, "+OK", "CONFIG SET max-value-size 1kb max-transaction-ops 2");
    expect(c, "-LIMIT *", "KV.SET [1] '%s'", value);
    expect(c, "@", "KV.ATOMIC SET [1] 1 SET [2] 2");
    expect(c, "-LIMIT *max-transaction-ops*", "KV.ATOMIC SET [1] 1 SET [2] 2 SET [3] 3");
    expect(c, "[*value-bytes :1024 *transaction-ops :2 transaction-bytes :65536*]", "KV.LIMITS");
    free(value);
}

static void a_transaction_stays_smaller_than_a_journal_segment(void **state)
{
    struct testserver *other = testserver_start_with("--journal-segment-size", "6mb",
                                                     "--max-transaction-size", "1mb", NULL);
    redisContext *oc = testserver_connect(other);
    expect(oc, "+OK", "CONFIG SET max-transaction-size 1gb");
    expect(oc, "[*transaction-bytes :4194304*]", "KV.LIMITS");
    poll_log(other, "max-transaction-size lowered to 4194304");
    redisFree(oc);
    testserver_free(other);
}

static const char *info_field(const char *section, const char *field)
{
    static char text[64];
    char wanted[64];
    redisReply *r = ask_reply(c, "INFO %s", section);
    snprintf(wanted, sizeof wanted, "\n%s:", field);
    const char *at = strstr(r->str, wanted);
    if (at == NULL) fail_msg("INFO %s has no %s", section, field);
    snprintf(text, sizeof text, "%.*s", (int)strcspn(at + strlen(wanted), "\r\n"),
             at + strlen(wanted));
    freeReplyObject(r);
    return text;
}

static void memtable_age_and_cache_size_are_in_force_at_once(void **state)
{
    expect(c, "+OK", "CONFIG SET memtable-age 1000000");
    expect(c, "@", "KV.SET [1] 1");
    assert_string_not_equal(info_field("memtable", "memtable_entries"), "0");
    expect(c, "+OK", "CONFIG SET memtable-age 1");
    long until = testserver_now_ms() + LIMIT_MS;
    while (strcmp(info_field("memtable", "memtable_entries"), "0") != 0) {
        assert_true(testserver_now_ms() < until);
        testserver_pause();
    }
    while (strcmp(info_field("cache", "cache_bytes"), "0") == 0) {
        assert_true(testserver_now_ms() < until);
        (void)ask(c, "KV.GET [2]");
    }
    expect(c, "+OK", "CONFIG SET cache-size 0");
    while (strcmp(info_field("cache", "cache_bytes"), "0") != 0) {
        assert_true(testserver_now_ms() < until);
        testserver_pause();
    }
}

static long long info_number(const char *field)
{
    return strtoll(info_field("memory", field), NULL, 10);
}

/* Percentages are of the memory, within bounds; INFO says what they come to. */
static void sizes_may_be_parts_of_the_memory(void **state)
{
    static const char *const shares[][2] = {{"memtable-size", "2.2%"},
                                            {"write-buffer-limit", "6.6%"},
                                            {"cache-size", "12.5%"},
                                            {"store-cache-size", "3%"}};
    for (size_t i = 0; i < 4; i++) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "[%s %s]", shares[i][0], shares[i][1]);
        expect(c, wanted, "CONFIG GET %s", shares[i][0]);
    }
    expect(c, "+OK", "CONFIG SET memtable-size 0.1%% write-buffer-limit 0.1%% cache-size 0.1%%");
    long long memory = (long long)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    long long least = 16 << 20;
    /* Of what there is, or less in a container. */
    long long part = memory / 1000 < least ? least : memory / 1000;
    assert_in_range(info_number("memtable_size"), least, part);
    assert_in_range(info_number("write_buffer_limit"), 64 << 20, part + (64 << 20));
    assert_in_range(info_number("cache_size"), least, part);
    long long few = info_number("cache_size");
    expect(c, "+OK", "CONFIG SET memtable-size 100%% write-buffer-limit 100%% cache-size 1%%");
    assert_in_range(info_number("memtable_size"), least, 512 << 20);
    assert_in_range(info_number("write_buffer_limit"), 64 << 20, 1536 << 20);
    assert_true(info_number("cache_size") > few);
    expect(c, "+OK", "CONFIG SET memtable-size 5mb cache-size 0");
    assert_int_equal(info_number("memtable_size"), 5 << 20);
    assert_int_equal(info_number("cache_size"), 0);
    expect(c, "-ERR *memtable-size must be a size from 1mb to 4gb*, or a percentage such as 12.5%",
           "CONFIG SET memtable-size 0");
    expect(c, "-ERR *write-buffer-limit must be a size of at least 1mb*percentage*",
           "CONFIG SET write-buffer-limit 101%%");
    expect(c, "-ERR *cache-size must be a size of at least 0*percentage*",
           "CONFIG SET cache-size 0%%");
    expect(c, "-ERR *cache-size must be a size*", "CONFIG SET cache-size 1.55%%");
    assert_int_equal(info_number("memtable_size"), 5 << 20);
}

/* With syncs that take 800 ms, who waits for one can be seen. */
static void durability_is_in_force_at_once(void **state)
{
    static const char *const env[] = {"TUPLED_TEST_SYNC_DELAY_MS=800", NULL};
    struct testserver *slow = testserver_start(&(struct testserver_options){.env = env});
    redisContext *sc = testserver_connect(slow);
    expect(sc, "+OK", "CONFIG SET durability never");
    long begin_ms = testserver_now_ms();
    expect(sc, "@", "KV.SET [1] 1");
    long never_ms = testserver_now_ms() - begin_ms;
    begin_ms = testserver_now_ms();
    expect(sc, "+OK", "CONFIG SET durability always"); /* what was acknowledged is synced first */
    long change_ms = testserver_now_ms() - begin_ms;
    begin_ms = testserver_now_ms();
    expect(sc, "@", "KV.SET [1] 2");
    long always_ms = testserver_now_ms() - begin_ms;
    assert_true(never_ms < 750);
    assert_true(change_ms > 750);
    assert_true(always_ms > 750);
    redisFree(sc);
    testserver_free(slow);
}

/* ---- REWRITE --------------------------------------------------------------------------------- */

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static const char *read_text(const char *path)
{
    static char texts[2][4096];
    static unsigned next;
    char *text = texts[next++ % 2];
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t len = fread(text, 1, sizeof texts[0] - 1, f);
    text[len] = '\0';
    fclose(f);
    return text;
}

static void rewritten_settings_are_there_after_a_restart(void **state)
{
    const char *path = in_scratch("rewrite.conf");
    write_text(path, "# mine\ntimeout 77\n  # too\nmaxclients   50\n");
    static const char *const args[] = {"--memtable-age", "123", NULL};
    struct testserver *s = testserver_start(
        &(struct testserver_options){.config = path, .args = args});
    redisContext *sc = testserver_connect(s);
    expect(sc, "+OK", "CONFIG SET timeout 0 maxclients 60 client-output-buffer-limit %s",
           "normal 1mb 512kb 7");
    expect(sc, "+OK", "CONFIG REWRITE");
    const char *first = read_text(path);
    assert_non_null(strstr(first, "# mine\ntimeout 0\n  # too\nmaxclients 60\n\n"
                                  "# Generated by CONFIG REWRITE\n"));
    assert_non_null(strstr(first, "\nmemtable-age 123\n")); /* of the command line: as in Redis */
    expect(sc, "+OK", "CONFIG REWRITE");
    assert_string_equal(read_text(path), first);
    redisFree(sc);
    testserver_stop(s);
    testserver_again(s);
    sc = testserver_connect(s);
    expect(sc,
           "[timeout 0 maxclients 60 client-output-buffer-limit normal 1048576 524288 7 slave "
           "268435456 67108864 60 pubsub 33554432 8388608 60 "
           "memtable-age 123]",
           "CONFIG GET timeout maxclients client-output-buffer-limit memtable-age");
    assert_int_equal(chmod(path, 0444), 0);
    expect(sc, "+OK", "CONFIG SET timeout 9");
    expect(sc, "-ERR Rewriting config file: *Permission denied", "CONFIG REWRITE");
    assert_non_null(strstr(read_text(path), "\ntimeout 0\n"));
    assert_int_equal(unlink(path), 0);
    expect(sc, "-ERR Rewriting config file: *No such file or directory", "CONFIG REWRITE");
    assert_int_equal(access(path, F_OK), -1);
    redisFree(sc);
    testserver_free(s);
}

/* ---- Unix socket ----------------------------------------------------------------------------- */

static redisContext *connect_unix(const char *path)
{
    struct timeval limit = {.tv_sec = 20};
    redisContext *u = redisConnectUnixWithTimeout(path, limit);
    if (u == NULL || u->err != 0) fail_msg("no connection to %s", path);
    redisSetTimeout(u, limit);
    return u;
}

static const char *output_of(const char *command)
{
    static char text[1024];
    FILE *f = popen(command, "r");
    assert_non_null(f);
    size_t len = fread(text, 1, sizeof text - 1, f);
    text[len] = '\0';
    assert_int_equal(pclose(f), 0);
    return text;
}

static void a_unix_socket_is_listened_on_and_removed(void **state)
{
    char command[200];
    char wanted[200];
    struct stat st;
    const char *path = in_scratch("a.sock");
    struct testserver *s = testserver_start_with("--unixsocket", path, "--unixsocketperm", "750",
                                                 "--enable-debug-command", "local", NULL);
    assert_true(testserver_port(s) > 0); /* TCP too */
    assert_int_equal(stat(path, &st), 0);
    assert_true(S_ISSOCK(st.st_mode));
    assert_int_equal(st.st_mode & 07777, 0750);
    redisContext *u = connect_unix(path);
    expect(u, "@", "KV.SET [1] 1");
    snprintf(wanted, sizeof wanted, "*addr=%s:0 laddr=%s:0 *", path, path);
    expect(u, wanted, "CLIENT INFO");
    expect(u, wanted, "CLIENT LIST");
    expect(u, "+OK", "DEBUG SLEEP 0"); /* it is local */
    snprintf(command, sizeof command, "timeout 20 redis-cli -s %s KV.GET '[1]'", path);
    assert_string_equal(output_of(command), "1\n");
    snprintf(command, sizeof command, "CLIENT KILL %s:0", path);
    expect(u, "+OK", command);
    redisFree(u);
    testserver_stop(s);
    assert_int_equal(access(path, F_OK), -1);
    testserver_free(s);
}

static void a_unix_socket_without_permissions_given_has_those_of_the_umask(void **state)
{
    struct stat st;
    const char *path = in_scratch("umask.sock");
    mode_t old = umask(0027);
    struct testserver *s = testserver_start_with("--unixsocket", path, NULL);
    umask(old);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0750);
    testserver_free(s);
}

static void port_0_is_no_tcp(void **state)
{
    static const char *const env[] = {"TUPLED_TEST_ANY_PORT=0", NULL};
    const char *path = in_scratch("only.sock");
    const char *args[] = {"--unixsocket", path, NULL};
    struct testserver *s = testserver_start(&(struct testserver_options){.args = args, .env = env});
    assert_int_equal(testserver_port(s), 0);
    redisContext *u = connect_unix(path);
    expect(u, "*\ntcp_port:0*", "INFO server");
    redisFree(u);
    testserver_free(s);
    testserver_refuses(&(struct testserver_options){.env = env},
                       "port and tls-port are 0, and no unixsocket is set");
}

static void a_stale_socket_is_replaced_and_nothing_else(void **state)
{
    const char *path = in_scratch("stale.sock");
    const char *args[] = {"--unixsocket", path, NULL};
    struct testserver_options options = {.args = args};
    struct testserver *s = testserver_start(&options);
    testserver_refuses(&options, "another server is listening there"); /* it is alive */
    redisContext *u = connect_unix(path);
    expect(u, "+PONG", "PING");
    redisFree(u);
    testserver_kill(s);
    assert_int_equal(access(path, F_OK), 0);
    testserver_again(s);
    u = connect_unix(path);
    expect(u, "+PONG", "PING");
    redisFree(u);
    /* A file put into its place is not the server's to remove. */
    assert_int_equal(unlink(path), 0);
    write_text(path, "mine");
    testserver_free(s);
    assert_string_equal(read_text(path), "mine");
    testserver_refuses(&options, "the file exists and is not a socket");
    assert_string_equal(read_text(path), "mine");
    args[1] = in_scratch("nosuch/x.sock");
    testserver_refuses(&options, "No such file or directory");
}

/* ---- protected mode -------------------------------------------------------------------------- */

/* An address of this machine that is not a loopback one; connecting to it stays on the machine. */
static bool own_address(char *text, size_t size)
{
    struct ifaddrs *all = NULL;
    bool found = false;
    if (getifaddrs(&all) != 0) return false;
    for (struct ifaddrs *a = all; a != NULL && !found; a = a->ifa_next) {
        if (a->ifa_addr == NULL || a->ifa_addr->sa_family != AF_INET) continue;
        struct in_addr in = ((struct sockaddr_in *)a->ifa_addr)->sin_addr;
        if (ntohl(in.s_addr) >> 24 == 127) continue;
        found = inet_ntop(AF_INET, &in, text, (socklen_t)size) != NULL;
    }
    freeifaddrs(all);
    return found;
}

static int connect_to(const char *address, int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    assert_int_equal(inet_pton(AF_INET, address, &to.sin_addr), 1);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0) fail_msg("%s", strerror(errno));
    return fd;
}

static void one_address_may_have_so_many_connections(void **state)
{
    char address[64];
    if (!own_address(address, sizeof address)) {
        print_message("skipped: this machine has no address but loopback ones\n");
        return;
    }
    struct testserver *s = testserver_start_with("--bind", "127.0.0.1", address, "--protected-mode",
                                                 "no", "--maxclients-per-address", "2", NULL);
    redisContext *sc = testserver_connect(s); /* this machine's are not counted */
    int fds[3];
    for (int i = 0; i < 2; i++) {
        fds[i] = connect_to(address, testserver_port(s));
        raw_send(fds[i], "PING\r\n", 6);
        raw_expect(fds[i], "+PONG\r\n");
    }
    fds[2] = connect_to(address, testserver_port(s));
    raw_expect(fds[2], "-ERR max number of clients reached\r\n");
    raw_expect_end(fds[2]);
    close(fds[2]);
    expect(sc, "+PONG", "PING");
    close(fds[0]);
    for (bool is_served = false; !is_served;) {
        fds[2] = connect_to(address, testserver_port(s));
        raw_send(fds[2], "PING\r\n", 6);
        is_served = strcmp(raw_line(fds[2]), "+PONG") == 0;
        close(fds[2]);
    }
    close(fds[1]);
    redisFree(sc);
    testserver_free(s);
}

static void protected_mode_serves_this_machine_alone(void **state)
{
    char address[64];
    if (!own_address(address, sizeof address)) {
        print_message("skipped: this machine has no address but loopback ones\n");
        return;
    }
    struct testserver *s = testserver_start_with("--bind", "127.0.0.1", address, NULL);
    redisContext *sc = testserver_connect(s);
    int fd = connect_to(address, testserver_port(s));
    raw_expect(fd, "-DENIED Running in protected mode because protected mode is enabled and no "
                   "password is set for the default user. ");
    const char *rest = raw_line(fd);
    assert_non_null(strstr(rest, "CONFIG SET requirepass"));
    raw_expect_end(fd);
    close(fd);
    expect(sc, "*\nrejected_connections:1\r\n*", "INFO stats");
    fd = connect_to("127.0.0.1", testserver_port(s));
    raw_send(fd, "PING\r\n", 6);
    raw_expect(fd, "+PONG\r\n");
    close(fd);
    expect(sc, "+OK", "CONFIG SET protected-mode no");
    fd = connect_to(address, testserver_port(s));
    raw_send(fd, "PING\r\n", 6);
    raw_expect(fd, "+PONG\r\n");
    close(fd);
    redisFree(sc);
    testserver_free(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_mutable_setting_can_be_set),
        TEST(several_are_set_together_or_not_at_all),
        TEST(a_taken_port_names_its_setting),
        TEST(wrong_words_have_the_errors_of_redis),
        TEST(settings_with_one_meaning_may_be_set_to_it),
        TEST(tools_find_what_they_ask_for),
        TEST(timeout_closes_idle_clients),
        TEST(tcp_keepalive_is_that_of_new_connections),
        TEST(maxclients_refuses_more),
        TEST(maxclients_needs_descriptors),
        TEST(proto_max_bulk_len_refuses_larger_arguments),
        TEST(client_query_buffer_limit_closes),
        TEST(client_output_buffer_limit_closes_who_does_not_read),
        TEST(client_output_buffer_limit_holds_for_one_reply),
        TEST(default_format_is_that_of_new_connections),
        TEST(loglevel_is_in_force_at_once),
        TEST(limits_of_transactions_are_in_force_at_once),
        TEST(a_transaction_stays_smaller_than_a_journal_segment),
        TEST(memtable_age_and_cache_size_are_in_force_at_once),
        TEST(sizes_may_be_parts_of_the_memory),
        TEST(durability_is_in_force_at_once),
        TEST(rewritten_settings_are_there_after_a_restart),
        TEST(a_unix_socket_is_listened_on_and_removed),
        TEST(a_unix_socket_without_permissions_given_has_those_of_the_umask),
        TEST(port_0_is_no_tcp),
        TEST(a_stale_socket_is_replaced_and_nothing_else),
        TEST(one_address_may_have_so_many_connections),
        TEST(protected_mode_serves_this_machine_alone),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
