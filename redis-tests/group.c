#include "group.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

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
    return 0;
}
