#include "group.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "certs.h"
#include "client.h"
#include "http.h"
#include "http2.h"

#define CONNECTIONS_MAX 8

struct testserver *server;

static redisContext **connections[CONNECTIONS_MAX];
static size_t connection_count;
static int *raw;
static bool raw_is_open;
static struct http_conn **http;
static struct h2 **http2;
static char scratch[32]; /* "" = none yet */

void group_opens(redisContext **connection, ...)
{
    va_list ap;
    va_start(ap, connection);
    for (; connection != NULL; connection = va_arg(ap, redisContext **)) {
        assert_true(connection_count < CONNECTIONS_MAX);
        connections[connection_count++] = connection;
    }
    va_end(ap);
}

void group_opens_raw(int *fd)
{
    raw = fd;
}

void group_opens_http(struct http_conn **c)
{
    http = c;
}

void group_opens_http2(struct h2 **c)
{
    http2 = c;
}

int group_start_http(void **state)
{
    server = testserver_start(&(struct testserver_options){.has_http = true});
    return 0;
}

const char *group_scratch(void)
{
    if (scratch[0] != '\0') return scratch;
    snprintf(scratch, sizeof scratch, "/tmp/tupled-group.XXXXXX");
    if (mkdtemp(scratch) == NULL) fail_msg("no directory for files of the tests");
    return scratch;
}

static void remove_scratch(void)
{
    char command[64];
    if (scratch[0] == '\0') return;
    snprintf(command, sizeof command, "rm -rf '%s'", scratch);
    scratch[0] = '\0';
    if (system(command) != 0) fail_msg("the files of the tests cannot be removed");
}

int group_start_threads(void **state)
{
    const char *dir = group_scratch();
    certs_make(dir, &(struct cert_options){.name = "ca"});
    certs_make(dir, &(struct cert_options){.name = "own", .issuer = "ca"});
    const char *args[] = {"--io-threads",
                          "4",
                          "--tls-cert-file",
                          certs_path(dir, "own", ".crt"),
                          "--tls-key-file",
                          certs_path(dir, "own", ".key"),
                          "--tls-auth-clients",
                          "no",
                          NULL};
    server = testserver_start(
        &(struct testserver_options){.args = args, .has_tls = true, .has_http = true});
    return 0;
}

void group_connect(void)
{
    group_disconnect();
    for (size_t i = 0; i < connection_count; i++) *connections[i] = testserver_connect(server);
    if (http != NULL) *http = http_open(server);
    if (http2 != NULL) *http2 = h2_open(server);
    if (raw == NULL) return;
    *raw = raw_connect(server);
    raw_is_open = true;
}

void group_disconnect(void)
{
    for (size_t i = 0; i < connection_count; i++) {
        if (*connections[i] != NULL) redisFree(*connections[i]);
        *connections[i] = NULL;
    }
    if (http != NULL) http_close(*http);
    if (http != NULL) *http = NULL;
    if (http2 != NULL) h2_close(*http2);
    if (http2 != NULL) *http2 = NULL;
    if (raw_is_open) close(*raw);
    raw_is_open = false;
}

void group_again(bool is_killed)
{
    group_disconnect();
    if (is_killed) {
        testserver_kill(server);
    } else {
        testserver_stop(server);
    }
    testserver_again(server);
    group_connect();
}

int group_enter(void **state)
{
    group_connect();
    if (connection_count > 0) expect(*connections[0], "+OK", "FLUSHALL");
    return 0;
}

int group_leave(void **state)
{
    group_disconnect();
    return 0;
}

int group_stop(void **state)
{
    group_disconnect();
    testserver_free(server);
    server = NULL;
    remove_scratch();
    return 0;
}
