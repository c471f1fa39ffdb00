/* metrics: what is told of a server in which commands were run; both forms, read by a strict
 * parser. `test_metrics --list` prints the names under which samples are found, `--docs` the rows
 * of docs/metrics.md, `--text` and `--openmetrics` an example of each form: redis-tests/
 * test_metrics_files.sh uses them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "http/metrics_int.h"
#include "request/login.h"
#include "request/stats.h"
#include "unit/http/metrics_help.h"

static double now_told(struct mbench *t, const char *key)
{
    struct parsed p = mbench_told(t);
    double value = parsed_value(&p, key);
    parsed_free(&p);
    return value;
}

static bool is_told(struct mbench *t, const char *key)
{
    struct parsed p = mbench_told(t);
    bool is_there = parsed_has(&p, key);
    parsed_free(&p);
    return is_there;
}

/* ---- the server ---- */

static void a_new_server_tells_well_formed_text(void **state)
{
    struct mbench t;
    mbench_open(&t);
    struct parsed p = mbench_told(&t);
    assert_true(parsed_has(&p, "tupled_build_info{version=\"1.2.3\"}"));
    assert_true(parsed_value(&p, "tupled_start_time_seconds") == 1700000000.123);
    assert_true(parsed_value(&p, "tupled_health{state=\"ok\"}") == 1);
    assert_true(parsed_sum(&p, "tupled_health{") == 1);
    assert_true(parsed_value(&p, "tupled_loading") == 0);
    assert_true(parsed_value(&p, "tupled_memory_resident_bytes") > 1e6);
    assert_true(parsed_value(&p, "tupled_clients_limit") == 100);
    assert_true(parsed_value(&p, "tupled_databases") == 16);
    /* What was never called, never used, or has no bound is not there. */
    assert_false(parsed_has_family(&p, "tupled_command_duration_seconds"));
    assert_false(parsed_has_family(&p, "tupled_commands_total"));
    assert_false(parsed_has_family(&p, "tupled_queue_messages"));
    assert_false(parsed_has_family(&p, "tupled_database_entries"));
    assert_false(parsed_has_family(&p, "tupled_memory_clients_limit_bytes"));
    assert_false(parsed_has_family(&p, "tupled_tls_connections"));
    parsed_free(&p);
    mbench_close(&t);
}

static void the_types_are_those_of_the_forms(void **state)
{
    assert_string_equal(metrics_type(false), "text/plain; version=0.0.4; charset=utf-8");
    assert_string_equal(metrics_type(true),
                        "application/openmetrics-text; version=1.0.0; charset=utf-8");
}

static void figures_of_clients_are_those_of_the_env(void **state)
{
    struct mbench t;
    mbench_open(&t);
    t.env.stats.net = (struct net_counts){
        .connections = 11, .rejected = 12, .in_bytes = 13, .out_bytes = 14, .handshakes = 15};
    t.env.clients.count = 16;
    t.env.clients.waiting = 17;
    t.env.settings.memory_clients_max = 18;
    t.env.memory.clients = 19;
    t.env.stats.evicted_clients = 20;
    t.env.audit.failures = 21;
    struct tls_status tls = {.is_on = true,
                             .cert_not_after_s = 2000000000,
                             .is_reload_failed = true,
                             .connections = 22,
                             .handshakes = 23,
                             .reload_failures = 24};
    t.env.server.tls = &tls;
    struct parsed p = mbench_told(&t);
    assert_true(parsed_value(&p, "tupled_connections_total") == 11);
    assert_true(parsed_value(&p, "tupled_connections_rejected_total") == 12);
    assert_true(parsed_value(&p, "tupled_network_received_bytes_total") == 13);
    assert_true(parsed_value(&p, "tupled_network_sent_bytes_total") == 14);
    assert_true(parsed_value(&p, "tupled_tls_handshakes_total{result=\"done\"}") == 15);
    assert_true(parsed_value(&p, "tupled_clients") == 16);
    assert_true(parsed_value(&p, "tupled_clients_waiting") == 17);
    assert_true(parsed_value(&p, "tupled_memory_clients_limit_bytes") == 18);
    assert_true(parsed_value(&p, "tupled_memory_clients_bytes") == 19);
    assert_true(parsed_value(&p, "tupled_clients_evicted_total") == 20);
    assert_true(parsed_value(&p, "tupled_audit_failures_total") == 21);
    assert_true(parsed_value(&p, "tupled_tls_connections") == 22);
    assert_true(parsed_value(&p, "tupled_tls_handshakes_open") == 23);
    assert_true(parsed_value(&p, "tupled_tls_reloads_total{result=\"failed\"}") == 24);
    assert_true(parsed_value(&p, "tupled_tls_reload_failed") == 1);
    assert_true(
        parsed_value(&p, "tupled_tls_certificate_end_time_seconds{certificate=\"server\"}") == 2e9);
    assert_false(parsed_has(&p, "tupled_tls_certificate_end_time_seconds{certificate=\"ca\"}"));
    parsed_free(&p);
    t.env.clients.count = t.env.clients.waiting = 0;
    mbench_close(&t);
}

/* ---- commands ---- */

static void commands_are_counted_by_name(void **state)
{
    struct mbench t;
    mbench_open(&t);
    mbench_say(&t, "KV.SET", "[\"a\"]", "1", NULL);
    mbench_say(&t, "kv.set", "[\"b\"]", "x", NULL); /* no JSON: it fails */
    mbench_say(&t, "KV.SET", "[\"b\"]", NULL);      /* not run */
    mbench_say(&t, "KV.GET", "[\"a\"]", NULL);
    mbench_say(&t, "KV.GET", "[\"none\"]", NULL);
    mbench_say(&t, "CLIENT", "GETNAME", NULL);
    struct parsed p = mbench_told(&t);
    assert_true(parsed_value(&p, "tupled_commands_total{command=\"kv.set\"}") == 2);
    assert_true(parsed_value(&p, "tupled_commands_failed_total{command=\"kv.set\"}") == 1);
    assert_true(parsed_value(&p, "tupled_commands_rejected_total{command=\"kv.set\"}") == 1);
    assert_true(parsed_value(&p, "tupled_commands_total{command=\"kv.get\"}") == 2);
    assert_true(parsed_value(&p, "tupled_commands_total{command=\"client|getname\"}") == 1);
    assert_true(parsed_sum(&p, "tupled_commands_total{") == 5);
    assert_true(parsed_sum(&p, "tupled_errors_total{code=\"ERR\"}") == 2);
    assert_true(parsed_value(&p, "tupled_keys_read_total{result=\"hit\"}") == 1);
    assert_true(parsed_value(&p, "tupled_keys_read_total{result=\"miss\"}") == 1);
    parsed_free(&p);
    mbench_say(&t, "KV.SET", "[\"a\"]", "2", NULL);
    assert_true(now_told(&t, "tupled_commands_total{command=\"kv.set\"}") == 3);
    assert_true(now_told(&t, "tupled_databases") == 16);
    assert_true(now_told(&t, "tupled_database_operations_total{database=\"0\"}") == 5);
    mbench_close(&t);
}

static void durations_are_in_buckets(void **state)
{
    const char *const count = "tupled_command_duration_seconds_count{command=\"kv.get\"}";
    const char *const bucket =
        "tupled_command_duration_seconds_bucket{command=\"kv.get\",le=\"%s\"}";
    static const struct {
        const char *le;
        double seen;
    } wanted[] = {{"5e-05", 2}, {"0.0001", 3}, {"0.00025", 3}, {"0.01", 4},
                  {"0.025", 5}, {"10.0", 6},   {"+Inf", 7}};
    static const int64_t took_us[] = {0, 50, 51, 10000 - 400, 10016, 9000000, 20000000};
    struct mbench t;
    mbench_open(&t);
    mbench_say(&t, "KV.GET", "[\"a\"]", NULL);
    assert_true(now_told(&t, count) == 1);
    stats_reset(&t.env);
    assert_false(is_told(&t, count));
    const struct command *get = command_find(slice_str("kv.get"));
    for (size_t i = 0; i < sizeof took_us / sizeof took_us[0]; i++) {
        stats_add(&t.env, get, took_us[i], false);
    }
    struct parsed p = mbench_told(&t);
    assert_true(parsed_value(&p, count) == 7);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        char key[128];
        snprintf(key, sizeof key, bucket, wanted[i].le);
        assert_true(parsed_value(&p, key) == wanted[i].seen);
    }
    assert_true(parsed_value(&p, "tupled_command_duration_seconds_sum{command=\"kv.get\"}") ==
                (double)(50 + 51 + 9600 + 10016 + 9000000 + 20000000) / 1e6);
    parsed_free(&p);
    /* What is not tracked is in neither, but counts. */
    t.env.settings.tracks_latency = false;
    stats_add(&t.env, get, 100, false);
    assert_true(now_told(&t, count) == 7);
    assert_true(now_told(&t, "tupled_commands_total{command=\"kv.get\"}") == 8);
    mbench_close(&t);
}

/* ---- the journal and the store ---- */

static void what_is_not_synced_is_told_until_it_is(void **state)
{
    struct slice words[] = {slice_str("KV.SET"), slice_str("[\"a\"]"), slice_str("1")};
    struct mbench t;
    mbench_open(&t);
    mbench_say(&t, "KV.SET", "[\"a\"]", "0", NULL);
    double syncs = now_told(&t, "tupled_journal_sync_duration_seconds_count");
    double written = now_told(&t, "tupled_journal_written_bytes_total");
    assert_true(syncs > 0 && written > 0);
    assert_true(now_told(&t, "tupled_unsynced_bytes") == 0);
    assert_true(now_told(&t, "tupled_unacknowledged_transactions") == 0);
    mbench_only(&t, words, 3);
    double unsynced = now_told(&t, "tupled_unsynced_bytes");
    assert_true(unsynced > 0);
    assert_true(now_told(&t, "tupled_unacknowledged_transactions") > 0);
    assert_true(now_told(&t, "tupled_journal_written_bytes_total") == written);
    mbench_turns(&t);
    assert_true(now_told(&t, "tupled_unsynced_bytes") == 0);
    assert_true(now_told(&t, "tupled_unacknowledged_transactions") == 0);
    assert_true(now_told(&t, "tupled_journal_written_bytes_total") == written + unsynced);
    assert_true(now_told(&t, "tupled_journal_sync_duration_seconds_count") > syncs);
    assert_true(now_told(&t, "tupled_unapplied_bytes") > 0);
    assert_true(now_told(&t, "tupled_unapplied_limit_bytes") == 1 << 20);
    mbench_close(&t);
}

/* ---- queues ---- */

static void queues_are_told_by_state_and_by_what_happened(void **state)
{
    struct mbench t;
    mbench_open(&t);
    for (int i = 0; i < 4; i++) mbench_say(&t, "KV.ENQUEUE", "mail", "1", NULL);
    mbench_say(&t, "KV.ENQUEUE", "mail", "1", "DELAY", "1000000", NULL);
    char *reply = strdup(mbench_say(&t, "KV.DEQUEUE", "mail", NULL));
    char *receipt = strrchr(reply, '\r');
    *receipt = '\0';
    receipt = strrchr(reply, '\n') + 1;
    mbench_say(&t, "KV.NACK", receipt, "DEAD", NULL);
    free(reply);
    mbench_say(&t, "KV.DEQUEUE", "mail", NULL);
    struct parsed p = mbench_told(&t);
#define OF_MAIL "database=\"0\",queue=\"mail\""
    assert_true(parsed_value(&p, "tupled_queues") == 1);
    assert_true(parsed_value(&p, "tupled_queue_messages{" OF_MAIL ",state=\"ready\"}") == 2);
    assert_true(parsed_value(&p, "tupled_queue_messages{" OF_MAIL ",state=\"delayed\"}") == 1);
    assert_true(parsed_value(&p, "tupled_queue_messages{" OF_MAIL ",state=\"leased\"}") == 1);
    assert_true(parsed_value(&p, "tupled_queue_messages{" OF_MAIL ",state=\"dead\"}") == 1);
    assert_true(parsed_value(&p, "tupled_queue_enqueued_total{" OF_MAIL "}") == 5);
    assert_true(parsed_value(&p, "tupled_queue_delivered_total{" OF_MAIL "}") == 2);
    assert_true(parsed_value(&p, "tupled_queue_nacked_total{" OF_MAIL "}") == 1);
    assert_true(parsed_value(&p, "tupled_queue_acked_total{" OF_MAIL "}") == 0);
    assert_true(parsed_value(&p, "tupled_queue_expired_total{" OF_MAIL "}") == 0);
    assert_true(parsed_value(&p, "tupled_queue_oldest_age_seconds{" OF_MAIL "}") >= 0);
    assert_true(parsed_value(&p, "tupled_queues_enqueued_total") == 5);
    assert_true(parsed_value(&p, "tupled_queues_delivered_total") == 2);
    assert_false(parsed_has(&p, "tupled_queue_messages{database=\"_other\",queue=\"_other\","
                                "state=\"ready\"}"));
    parsed_free(&p);
    mbench_close(&t);
}

static void enqueue(struct mbench *t, struct slice name)
{
    struct slice words[] = {slice_str("KV.ENQUEUE"), name, slice_str("1")};
    assert_true(mbench_words(t, words, 3)[0] == '$');
}

#define READY(queue) "tupled_queue_messages{database=\"0\",queue=\"" queue "\",state=\"ready\"}"
#define OTHER_READY "tupled_queue_messages{database=\"_other\",queue=\"_other\",state=\"ready\"}"

/* Names are any bytes. What no label can tell is one of the others. */
static void names_are_escaped_or_told_with_the_others(void **state)
{
    struct mbench t;
    mbench_open(&t);
    enqueue(&t, slice_str("a\"b\\c\nd"));
    enqueue(&t, slice_str("} 1\ntupled_forged 2\n#"));
    enqueue(&t, slice_str("\xc3\xa4\xe2\x82\xac"));
    enqueue(&t, slice_str("\\n"));
    enqueue(&t, slice_str("\n"));
    enqueue(&t, slice_str("\t\r \x7f"));
    struct parsed p = mbench_told(&t);
    assert_true(parsed_value(&p, READY("a\\\"b\\\\c\\nd")) == 1);
    assert_true(parsed_value(&p, READY("} 1\\ntupled_forged 2\\n#")) == 1);
    assert_true(parsed_value(&p, READY("\xc3\xa4\xe2\x82\xac")) == 1);
    assert_true(parsed_value(&p, READY("\\\\n")) == 1);
    assert_true(parsed_value(&p, READY("\\n")) == 1);
    assert_true(parsed_value(&p, READY("\t\r \x7f")) == 1);
    assert_false(parsed_has(&p, OTHER_READY));
    parsed_free(&p);
    enqueue(&t, slice_str("\xff"));
    enqueue(&t, slice_str("\xfe"));
    enqueue(&t, slice_str("half \xc3"));
    enqueue(&t, slice_of("a\0b", 3));
    enqueue(&t, slice_str("_other"));
    p = mbench_told(&t);
    assert_true(parsed_value(&p, OTHER_READY) == 5);
    assert_true(parsed_value(&p, "tupled_queues") == 11);
    assert_true(parsed_sum(&p, "tupled_queue_messages{") == 11);
    parsed_free(&p);
    mbench_close(&t);
}

static void beyond_the_maximum_there_is_one_sum(void **state)
{
    static const char *const names[] = {"e", "d", "c", "b", "a"};
    struct mbench t;
    mbench_open(&t);
    t.options.names_max = 2;
    for (int i = 0; i < 5; i++) enqueue(&t, slice_str(names[i]));
    enqueue(&t, slice_str("e"));
    mbench_say(&t, "KV.DEQUEUE", "d", NULL);
    mbench_say(&t, "KV.DEQUEUE", "a", NULL);
    struct parsed p = mbench_told(&t);
    assert_true(parsed_value(&p, READY("a")) == 0);
    assert_true(parsed_value(&p, READY("b")) == 1);
    assert_false(parsed_has(&p, READY("c")));
    assert_true(parsed_value(&p, OTHER_READY) == 3);
    assert_true(parsed_value(&p, "tupled_queue_enqueued_total{database=\"_other\",queue="
                                 "\"_other\"}") == 4);
    assert_true(parsed_value(&p, "tupled_queue_delivered_total{database=\"_other\",queue="
                                 "\"_other\"}") == 1);
    assert_true(parsed_sum(&p, "tupled_queue_enqueued_total{") == 6);
    assert_true(parsed_sum(&p, "tupled_queue_delivered_total{") == 2);
    assert_false(parsed_has(&p, "tupled_queue_oldest_age_seconds{database=\"_other\",queue="
                                "\"_other\"}"));
    parsed_free(&p);
    t.options.names_max = 0;
    p = mbench_told(&t);
    assert_true(parsed_value(&p, OTHER_READY) == 4);
    assert_true(parsed_sum(&p, "tupled_queue_messages{") == 6); /* two are leased */
    assert_true(parsed_sum(&p, "tupled_queue_enqueued_total{") == 6);
    parsed_free(&p);
    t.options.names_max = 5; /* exactly as many as there are */
    assert_false(is_told(&t, OTHER_READY));
    mbench_close(&t);
}

/* ---- users ---- */

static void a_user_is_told_the_names_that_he_may_read(void **state)
{
    struct mbench t;
    mbench_open(&t);
    mbench_say(&t, "KV.DB", "CREATE", "shop", NULL);
    enqueue(&t, slice_str("app-1"));
    enqueue(&t, slice_str("app-2"));
    enqueue(&t, slice_str("secret"));
    mbench_say(&t, "KV.INDEX", "CREATE", "by_name", "PREFIX", "[\"users\"]", "ON", "1", "name",
               NULL);
    mbench_say(&t, "KV.INDEX", "CREATE", "by_sum", "PREFIX", "[\"orders\"]", "ON", "1", "sum",
               NULL);
    mbench_say(&t, "SELECT", "shop", NULL);
    enqueue(&t, slice_str("app-9"));
    mbench_say(&t, "SELECT", "0", NULL);
    const char *const in_shop = "tupled_queue_messages{database=\"shop\",queue=\"app-9\",state="
                                "\"ready\"}";
    const char *const by_name =
        "tupled_index_state{database=\"0\",index=\"by_name\",kind=\"value\","
        "state=\"ready\"}";
    const char *const others = "tupled_index_state{database=\"_other\",index=\"_other\",kind="
                               "\"value\",state=\"ready\"}";
    struct parsed p = mbench_told(&t);
    assert_true(parsed_has(&p, READY("secret")) && parsed_has(&p, in_shop));
    assert_true(parsed_value(&p, by_name) == 1);
    assert_false(parsed_has(&p, others));
    parsed_free(&p);

    mbench_user(&t, "+info ~!queue/app-* ~users/*");
    p = mbench_told_to(&t, &t.other);
    assert_true(parsed_value(&p, READY("app-1")) == 1);
    assert_true(parsed_has(&p, in_shop));
    assert_false(parsed_has(&p, READY("secret")));
    assert_true(parsed_value(&p, OTHER_READY) == 1);
    assert_true(parsed_value(&p, by_name) == 1);
    assert_true(parsed_value(&p, others) == 1);
    parsed_free(&p);

    /* One set of permissions must allow all of it: here those of app-9 are of shop. */
    mbench_user(&t, "+info resetdbs db=0 ~!queue/app-1 (+info resetdbs db=shop ~!queue/app-*)");
    p = mbench_told_to(&t, &t.other);
    assert_true(parsed_has(&p, READY("app-1")) && parsed_has(&p, in_shop));
    assert_false(parsed_has(&p, READY("app-2")));
    assert_true(parsed_value(&p, OTHER_READY) == 2);
    parsed_free(&p);

    mbench_user(&t, "+info resetdbs db=shop allkeys");
    p = mbench_told_to(&t, &t.other);
    assert_false(parsed_has(&p, READY("app-1")));
    assert_true(parsed_has(&p, in_shop));
    assert_true(parsed_value(&p, OTHER_READY) == 3);
    assert_true(parsed_has(&p, "tupled_database_entries{database=\"shop\"}"));
    assert_false(parsed_has(&p, "tupled_database_entries{database=\"0\"}"));
    assert_true(parsed_has(&p, "tupled_database_entries{database=\"_other\"}"));
    parsed_free(&p);

    mbench_user(&t, "+info");
    p = mbench_told_to(&t, &t.other);
    assert_true(parsed_value(&p, OTHER_READY) == 4);
    assert_true(parsed_value(&p, others) == 2);
    parsed_free(&p);
    client_become(&t.other, NULL); /* no user */
    p = mbench_told_to(&t, &t.other);
    assert_true(parsed_value(&p, OTHER_READY) == 4);
    assert_true(parsed_value(&p, "tupled_queues") == 4);
    parsed_free(&p);
    mbench_close(&t);
}

/* However many there are that the user may not see, so many are looked at. */
static void no_more_than_ten_for_each_name_are_looked_at(void **state)
{
    struct mbench t;
    char name[32];
    mbench_open(&t);
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "q%02d", i);
        enqueue(&t, slice_str(name));
    }
    mbench_user(&t, "+info ~!queue/q19 ~!queue/q20");
    t.options.names_max = 2;
    struct parsed p = mbench_told_to(&t, &t.other);
    assert_true(parsed_has(&p, READY("q19")));
    assert_false(parsed_has(&p, READY("q20"))); /* the 21st */
    assert_true(parsed_value(&p, OTHER_READY) == 29);
    parsed_free(&p);
    mbench_close(&t);
}

/* ---- indexes and databases ---- */

static void indexes_are_told_by_state(void **state)
{
    struct mbench t;
    mbench_open(&t);
    mbench_say(&t, "KV.SET", "[\"u\",1]", "{\"name\":\"ann\",\"text\":\"hello\"}", NULL);
    mbench_say(&t, "KV.INDEX", "CREATE", "by_name", "PREFIX", "[\"u\"]", "ON", "1", "name", NULL);
    mbench_say(&t, "KV.INDEX", "CREATE", "words", "PREFIX", "[\"u\"]", "TEXT", "1", "text", NULL);
    mbench_turns(&t);
    struct parsed p = mbench_told(&t);
#define STATE(index, kind, state)                                                                  \
    "tupled_index_state{database=\"0\",index=\"" index "\",kind=\"" kind "\",state=\"" state "\"}"
    assert_true(parsed_value(&p, "tupled_indexes{kind=\"value\"}") == 1);
    assert_true(parsed_value(&p, "tupled_indexes{kind=\"text\"}") == 1);
    assert_true(parsed_value(&p, STATE("by_name", "value", "ready")) == 1);
    assert_true(parsed_value(&p, STATE("by_name", "value", "filling")) == 0);
    assert_true(parsed_value(&p, STATE("by_name", "value", "failed")) == 0);
    assert_true(parsed_sum(&p, "tupled_index_state{database=\"0\",index=\"words\"") == 1);
    assert_true(parsed_value(&p, "tupled_index_filled_ratio{database=\"0\",index=\"by_name\"}") ==
                1);
    assert_false(parsed_has(&p, "tupled_index_filled_ratio{database=\"0\",index=\"words\"}"));
    parsed_free(&p);
    t.options.names_max = 0;
    p = mbench_told(&t);
    assert_true(parsed_sum(&p, "tupled_index_state{") == 2);
    assert_true(parsed_sum(&p, "tupled_index_state{database=\"_other\",index=\"_other\",kind="
                               "\"text\"") == 1);
    parsed_free(&p);
    mbench_say(&t, "KV.INDEX", "DROP", "by_name", NULL);
    mbench_say(&t, "KV.INDEX", "DROP", "words", NULL);
    assert_false(is_told(&t,
                         "tupled_index_state{database=\"_other\",index=\"_other\",kind=\"text\","
                         "state=\"ready\"}"));
    mbench_close(&t);
}

static void databases_are_told_with_their_limits(void **state)
{
    struct mbench t;
    mbench_open(&t);
    mbench_say(&t, "KV.DB", "CREATE", "shop", "MAXBYTES", "100000", "MAXENTRIES", "50", "RATE",
               "7000", NULL);
    mbench_say(&t, "KV.DB", "CREATE", "free", NULL);
    mbench_say(&t, "KV.SET", "[1]", "1", NULL);
    mbench_say(&t, "SELECT", "shop", NULL);
    for (int i = 0; i < 3; i++) {
        char key[16];
        snprintf(key, sizeof key, "[%d]", i);
        mbench_say(&t, "KV.SET", key, "1", "EX", "1000", NULL);
    }
    struct parsed p = mbench_told(&t);
    assert_true(parsed_value(&p, "tupled_databases") == 18);
    assert_true(parsed_value(&p, "tupled_database_entries{database=\"0\"}") == 1);
    assert_true(parsed_value(&p, "tupled_database_entries{database=\"shop\"}") == 3);
    assert_true(parsed_value(&p, "tupled_database_entries{database=\"free\"}") == 0);
    assert_true(parsed_value(&p, "tupled_database_expiring_entries{database=\"shop\"}") == 3);
    assert_true(parsed_value(&p, "tupled_database_limit_bytes{database=\"shop\"}") == 100000);
    assert_true(parsed_value(&p, "tupled_database_limit_entries{database=\"shop\"}") == 50);
    assert_true(
        parsed_value(&p, "tupled_database_limit_operations_per_second{database=\"shop\"}") == 7000);
    assert_true(parsed_value(&p, "tupled_database_bytes{database=\"shop\"}") > 3);
    assert_true(parsed_value(&p, "tupled_database_operations_total{database=\"shop\"}") == 3);
    assert_false(parsed_has(&p, "tupled_database_limit_bytes{database=\"free\"}"));
    assert_false(parsed_has(&p, "tupled_database_entries{database=\"1\"}")); /* never used */
    assert_false(parsed_has(&p, "tupled_database_entries{database=\"_other\"}"));
    parsed_free(&p);

    mbench_restart(&t); /* all of it is in the store */
    t.options.names_max = 1;
    p = mbench_told(&t);
    assert_true(parsed_value(&p, "tupled_database_entries{database=\"0\"}") == 1);
    assert_true(parsed_value(&p, "tupled_database_entries{database=\"_other\"}") == 3);
    assert_true(parsed_value(&p, "tupled_database_expiring_entries{database=\"_other\"}") == 3);
    double of_others = parsed_value(&p, "tupled_database_bytes{database=\"_other\"}");
    parsed_free(&p);
    t.options.names_max = 100;
    assert_true(now_told(&t, "tupled_database_bytes{database=\"shop\"}") == of_others);
    mbench_say(&t, "KV.DB", "DROP", "shop", NULL);
    assert_true(now_told(&t, "tupled_databases") == 17);
    assert_false(is_told(&t, "tupled_database_entries{database=\"shop\"}"));
    mbench_close(&t);
}

/* ---- what it costs ---- */

/* After a start memory knows of no row: a look for one would read the store. */
static void nothing_is_read_for_it_and_nothing_changes(void **state)
{
    struct mbench t;
    struct backend_stats before;
    struct backend_stats after;
    mbench_open(&t);
    for (int i = 0; i < 20; i++) {
        char name[32];
        snprintf(name, sizeof name, "q%d", i);
        enqueue(&t, slice_str(name));
        snprintf(name, sizeof name, "[\"k\",%d]", i);
        mbench_say(&t, "KV.SET", name, "{\"n\":1}", "EX", "10000", NULL);
    }
    mbench_say(&t, "KV.INDEX", "CREATE", "by_n", "PREFIX", "[\"k\"]", "ON", "1", "n", NULL);
    mbench_restart(&t);
    struct backend *b = t.env.db->backend;
    backend_stats(b, &before);
    struct parsed p = mbench_told(&t);
    backend_stats(b, &after);
    assert_int_equal(after.store_reads, before.store_reads);
    assert_int_equal(after.store_waits, before.store_waits);
    assert_int_equal(after.cache_hits + after.cache_misses,
                     before.cache_hits + before.cache_misses);
    assert_int_equal(after.scans_open, before.scans_open);
    assert_int_equal(after.version, before.version);
    assert_int_equal(after.journal_written_bytes, before.journal_written_bytes);
    assert_true(parsed_value(&p, READY("q7")) == 1);
    const char *const age = "tupled_queue_oldest_age_seconds{database=\"0\",queue=\"q7\"}";
    assert_false(parsed_has(&p, age)); /* not known ... */
    parsed_free(&p);
    mbench_turns(&t);
    assert_true(now_told(&t, age) > 0); /* ... but now it was asked for */
    mbench_close(&t);
}

/* ---- families of others ---- */

static void write_more(void *arg, struct metrics_out *o)
{
    static const struct metric requests = {"tupled_http_requests", METRIC_COUNTER, "Requests."};
    static const struct metric sizes = {"tupled_http_body_bytes", METRIC_GAUGE, "Bodies."};
    struct metrics_label label = {"code", slice_str("200")};
    metrics_begin(o, &requests);
    metrics_u64(o, &label, 1, *(uint64_t *)arg);
    metrics_begin(o, &sizes); /* without a sample it leaves no trace */
}

static void others_add_families_before_the_end(void **state)
{
    struct mbench t;
    uint64_t requests = UINT64_MAX;
    struct metrics_more more = {.write = write_more, .arg = &requests};
    mbench_open(&t);
    t.options.more = &more;
    struct parsed p = mbench_told(&t);
    assert_true(parsed_value(&p, "tupled_http_requests_total{code=\"200\"}") == (double)UINT64_MAX);
    assert_false(parsed_has_family(&p, "tupled_http_body_bytes"));
    parsed_free(&p);
    mbench_close(&t);
}

/* ---- the table of families ---- */

static const char *const kind_words[] = {
    [METRIC_GAUGE] = "gauge",
    [METRIC_COUNTER] = "counter",
    [METRIC_HISTOGRAM] = "histogram",
    [METRIC_INFO] = "info",
};

static const char *end_of(const struct metric *m)
{
    return m->kind == METRIC_COUNTER ? "_total" : m->kind == METRIC_INFO ? "_info" : "";
}

static void print_row(FILE *to, const struct metric *m)
{
    fprintf(to, "| `%s%s` | %s | %s |\n", m->name, end_of(m), kind_words[m->kind], m->help);
}

static void docs_have_a_row_for_each_family(void **state)
{
    static char text[200000];
    FILE *file = fopen("docs/metrics.md", "r");
    assert_non_null(file);
    size_t len = fread(text, 1, sizeof text - 1, file);
    text[len] = '\0';
    fclose(file);
    for (enum metric_id i = M_NONE + 1; i < M_COUNT; i++) {
        char *row = NULL;
        size_t row_len = 0;
        FILE *to = open_memstream(&row, &row_len);
        print_row(to, metrics_at(i));
        fclose(to);
        if (strstr(text, row) == NULL) fail_msg("docs/metrics.md lacks the row %s", row);
        free(row);
    }
}

static void names_are_each_once_and_say_their_units(void **state)
{
    for (enum metric_id i = M_NONE + 1; i < M_COUNT; i++) {
        const char *name = metrics_at(i)->name;
        size_t len = strlen(name);
        assert_memory_equal(name, "tupled_", 7);
        assert_true(strspn(name, "abcdefghijklmnopqrstuvwxyz_") == len);
        assert_true(strstr(name, "_total") == NULL && strstr(name, "_ms") == NULL);
        if (metrics_at(i)->kind == METRIC_HISTOGRAM) {
            assert_string_equal(name + len - strlen("_seconds"), "_seconds");
        }
        for (enum metric_id k = M_NONE + 1; k < i; k++) {
            assert_string_not_equal(name, metrics_at(k)->name);
        }
    }
}

static void the_first_row_of_a_family_names_it_and_no_other_does(void **state)
{
    for (size_t i = 0; i < figure_list_count; i++) {
        const struct figure *x = &figure_list[i];
        size_t before = 0;
        for (size_t k = 0; k < i; k++) before += x->id != M_NONE && figure_list[k].id == x->id;
        assert_int_equal(x->metric.name != NULL, x->id != M_NONE && before == 0);
        assert_true(x->id == M_NONE || before == 0 || x->label != NULL);
    }
}

static int print_list(void)
{
    for (enum metric_id i = M_NONE + 1; i < M_COUNT; i++) {
        const struct metric *m = metrics_at(i);
        if (m->kind == METRIC_HISTOGRAM) {
            printf("%s_bucket\n%s_sum\n%s_count\n", m->name, m->name, m->name);
        } else {
            printf("%s%s\n", m->name, end_of(m));
        }
    }
    return 0;
}

static int print_docs(void)
{
    for (enum metric_id i = M_NONE + 1; i < M_COUNT; i++) print_row(stdout, metrics_at(i));
    return 0;
}

/* Something of everything, as text on standard output: for other parsers. */
static int print_example(bool is_openmetrics)
{
    struct mbench t;
    struct tls_status tls = {.is_on = true, .cert_not_after_s = 2000000000, .ca_not_after_s = 1};
    mbench_open(&t);
    t.env.server.tls = &tls;
    t.env.settings.memory_clients_max = 1 << 20;
    mbench_say(&t, "KV.DB", "CREATE", "shop", "MAXBYTES", "9999", "MAXENTRIES", "99", "RATE", "999",
               NULL);
    mbench_say(&t, "KV.SET", "[\"u\",1]", "{\"name\":\"ann\"}", NULL);
    mbench_say(&t, "KV.SET", "[\"u\",2]", "x", NULL);
    mbench_say(&t, "KV.GET", "[\"u\",1]", NULL);
    mbench_say(&t, "KV.INDEX", "CREATE", "a\"b", "PREFIX", "[\"u\"]", "ON", "1", "name", NULL);
    mbench_say(&t, "KV.INDEX", "CREATE", "words", "PREFIX", "[\"u\"]", "TEXT", "1", "name", NULL);
    enqueue(&t, slice_str("mail"));
    enqueue(&t, slice_str("a\"b\\c\nd\xc3\xa4\t\r\xe2\x80\xa8"));
    enqueue(&t, slice_str("\xff"));
    t.options.is_openmetrics = is_openmetrics;
    buf_clear(&t.text, SIZE_MAX);
    metrics_write(&t.env, &t.client, &t.options, &t.text);
    bool is_written = fwrite(t.text.data, 1, t.text.len, stdout) == t.text.len;
    mbench_close(&t);
    return is_written ? 0 : 1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_server_tells_well_formed_text),
        cmocka_unit_test(the_types_are_those_of_the_forms),
        cmocka_unit_test(figures_of_clients_are_those_of_the_env),
        cmocka_unit_test(commands_are_counted_by_name),
        cmocka_unit_test(durations_are_in_buckets),
        cmocka_unit_test(what_is_not_synced_is_told_until_it_is),
        cmocka_unit_test(queues_are_told_by_state_and_by_what_happened),
        cmocka_unit_test(names_are_escaped_or_told_with_the_others),
        cmocka_unit_test(beyond_the_maximum_there_is_one_sum),
        cmocka_unit_test(a_user_is_told_the_names_that_he_may_read),
        cmocka_unit_test(no_more_than_ten_for_each_name_are_looked_at),
        cmocka_unit_test(indexes_are_told_by_state),
        cmocka_unit_test(databases_are_told_with_their_limits),
        cmocka_unit_test(nothing_is_read_for_it_and_nothing_changes),
        cmocka_unit_test(others_add_families_before_the_end),
        cmocka_unit_test(docs_have_a_row_for_each_family),
        cmocka_unit_test(names_are_each_once_and_say_their_units),
        cmocka_unit_test(the_first_row_of_a_family_names_it_and_no_other_does),
    };
    if (argc == 2 && strcmp(argv[1], "--list") == 0) return print_list();
    if (argc == 2 && strcmp(argv[1], "--docs") == 0) return print_docs();
    if (argc == 2 && strcmp(argv[1], "--text") == 0) return print_example(false);
    if (argc == 2 && strcmp(argv[1], "--openmetrics") == 0) return print_example(true);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
