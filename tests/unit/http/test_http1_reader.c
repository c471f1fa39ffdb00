/* http1_reader: what is a request, what is refused and with which status, and that it does not
 * matter how bytes arrive. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "unit/http/http_help.h"

#define BODY_MAX 1000

/* What comes out is `want`, however `input` is cut. */
static void expect_bytes(struct slice input, const char *want)
{
    struct buf out;
    buf_init(&out);
    for (unsigned way = 0; way < 12; way++) {
        size_t piece = way == 0 ? input.len : way <= 3 ? way : 0;
        buf_clear(&out, SIZE_MAX);
        http1_transcript(input, piece, way, BODY_MAX, &out);
        buf_append_byte(&out, '\0');
        assert_string_equal((char *)out.data, want);
    }
    buf_fini(&out);
}

static void expect(const char *input, const char *want)
{
    expect_bytes(slice_str(input), want);
}

#define GOOD "GET /g HTTP/1.1\r\nHost: a\r\n\r\n"
#define GOOD_LINE "1.1 GET a /g?- [Host:a] {-} keep\n"

/* Refused, though a good request was there before; and nothing that follows is read. */
static void expect_refused(const char *input, size_t len, int status)
{
    char want[128];
    struct buf b;
    buf_init(&b);
    snprintf(want, sizeof want, GOOD_LINE "!%d\n", status);
    buf_append_str(&b, GOOD);
    buf_append(&b, input, len);
    expect_bytes(buf_slice(&b), want);
    buf_append_str(&b, GOOD GOOD);
    expect_bytes(buf_slice(&b), want);
    buf_fini(&b);
}

/* ---- what is a request ----------------------------------------------------------------------- */

static void a_request_has_method_target_version_and_headers(void **state)
{
    expect(GOOD, GOOD_LINE);
    expect("DELETE /a%20b/c?x=1&y=/?z HTTP/1.1\r\nhOST:  b:80 \r\nX-A:\t\"q\" , r\t\r\nE:\r\n\r\n",
           "1.1 DELETE b:80 /a%20b/c?x=1&y=/?z [hOST:b:80|X-A:\"q\" , r|E:] {-} keep\n");
    expect("PATCH /? HTTP/1.1\r\nHost: a\r\n\r\n", "1.1 OTHER a /? [Host:a] {-} keep\n");
    expect("get / HTTP/1.1\r\nHost: a\r\n\r\n", "1.1 OTHER a /?- [Host:a] {-} keep\n");
    expect("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "1.1 OPTIONS a *?- [Host:a] {-} keep\n");
}

static void requests_come_one_after_the_other(void **state)
{
    expect(GOOD GOOD GOOD, GOOD_LINE GOOD_LINE GOOD_LINE);
    expect("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nGET /" GOOD,
           "1.1 POST a /?- [Host:a|Content-Length:5] {GET /} keep\n" GOOD_LINE);
}

static void what_is_not_whole_waits(void **state)
{
    expect("", "");
    expect("G", "~\n");
    expect("GET / HTTP/1.1\r\nHost: a\r\n\r", "~\n");
    expect("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n1", "~\n");
    expect("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n",
           "~\n");
}

static void empty_lines_before_a_request_are_skipped(void **state)
{
    expect("\r\n\r\n" GOOD "\r\n" GOOD "\r\n", GOOD_LINE GOOD_LINE);
    expect("\r", "~\n");
}

static void old_requests_close(void **state)
{
    expect("GET / HTTP/1.0\r\n\r\n", "1.0 GET - /?- [] {-} close\n");
    expect("GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n",
           "1.0 GET a /?- [Host:a|Connection:keep-alive] {-} close\n");
    expect("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, CLOSE\r\n\r\n",
           "1.1 GET a /?- [Host:a|Connection:x, CLOSE] {-} close\n");
    /* Several are one list, in any order. */
    expect("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nConnection: x\r\n\r\n",
           "1.1 GET a /?- [Host:a|Connection:close|Connection:x] {-} close\n");
    expect("GET / HTTP/1.1\r\nHost: a\r\nConnection: x\r\nCONNECTION: close\r\n\r\n",
           "1.1 GET a /?- [Host:a|Connection:x|CONNECTION:close] {-} close\n");
    expect("GET / HTTP/1.1\r\nHost: a\r\nConnection: x\r\nConnection: y\r\n\r\n",
           "1.1 GET a /?- [Host:a|Connection:x|Connection:y] {-} keep\n");
    expect("GET / HTTP/1.1\r\nHost: a\r\nConnection: closed\r\n\r\n",
           "1.1 GET a /?- [Host:a|Connection:closed] {-} keep\n");
}

static void a_whole_url_names_the_host(void **state)
{
    expect("GET http://b:1/x?y HTTP/1.1\r\nHost: a\r\n\r\n",
           "1.1 GET b:1 /x?y [Host:a] {-} keep\n");
    expect("GET HTTPS://b/ HTTP/1.0\r\n\r\n", "1.0 GET b /?- [] {-} close\n");
}

/* ---- bodies ---------------------------------------------------------------------------------- */

#define POST "POST / HTTP/1.1\r\nHost: a\r\n"
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"
#define CHUNKED_HEAD "1.1 POST a /?- [Host:a|Transfer-Encoding:chunked] "

static void a_body_is_as_long_as_is_said(void **state)
{
    expect(POST "Content-Length: 0\r\n\r\n" GOOD,
           "1.1 POST a /?- [Host:a|Content-Length:0] {} keep\n" GOOD_LINE);
    expect(POST "content-length:\t3 \r\n\r\na\nb" GOOD,
           "1.1 POST a /?- [Host:a|content-length:3] {a\nb} keep\n" GOOD_LINE);
}

static void chunks_become_one_body(void **state)
{
    expect(CHUNKED "0\r\n\r\n" GOOD, CHUNKED_HEAD "{} keep\n" GOOD_LINE);
    expect(CHUNKED "1\r\na\r\n003\r\nbcd\r\nA\r\n0123456789\r\n0\r\n\r\n" GOOD,
           CHUNKED_HEAD "{abcd0123456789} keep\n" GOOD_LINE);
    expect(CHUNKED "2\r\n\r\n\r\n1\r\n0\r\n0\r\n\r\n" GOOD,
           CHUNKED_HEAD "{\r\n0} keep\n" GOOD_LINE);
    expect(POST "transfer-encoding: CHUNKED\r\n\r\nb\r\n0123456789a\r\n0\r\n\r\n",
           "1.1 POST a /?- [Host:a|transfer-encoding:CHUNKED] {0123456789a} keep\n");
}

static void extensions_and_trailers_mean_nothing(void **state)
{
    expect(CHUNKED "1;a\r\nx\r\n1 ; a=\"b;c\"\r\ny\r\n0;z\r\n\r\n" GOOD,
           CHUNKED_HEAD "{xy} keep\n" GOOD_LINE);
    expect(CHUNKED "1\r\nx\r\n0\r\nContent-Length: 5\r\nHost: b\r\n\r\n" GOOD,
           CHUNKED_HEAD "{x} keep\n" GOOD_LINE);
}

/* A request whose body needs many times its bytes on the wire must not be kept as it came. */
static void chunks_take_no_more_memory_than_their_body(void **state)
{
    struct http1_reader r;
    struct http_refusal why;
    struct buf chunk;
    buf_init(&chunk);
    buf_append_str(&chunk, "1;");
    for (int i = 0; i < 200; i++) buf_append_byte(&chunk, 'x');
    buf_append_str(&chunk, "\r\nb\r\n");
    http1_init(&r);
    r.body_max = 100000;
    http1_feed(&r, slice_str(CHUNKED));
    for (int i = 0; i < 20000; i++) {
        assert_int_equal(http1_next(&r, &why), HTTP1_MORE);
        http1_feed(&r, buf_slice(&chunk));
        assert_true(r.in.cap < 100000);
    }
    http1_feed(&r, slice_str("0\r\n\r\n"));
    assert_int_equal(http1_next(&r, &why), HTTP1_WHOLE);
    assert_int_equal(r.message.body.len, 20000);
    for (int i = 0; i < 20000; i++) assert_int_equal(r.message.body.data[i], 'b');
    assert_true(slice_eq(r.message.host, slice_str("a")));
    http1_fini(&r);
    buf_fini(&chunk);
}

static void the_longest_body_is_read_and_no_longer_one(void **state)
{
    char body[BODY_MAX + 1];
    char input[BODY_MAX + 200];
    char want[BODY_MAX + 200];
    memset(body, 'b', BODY_MAX);
    body[BODY_MAX] = '\0';
    snprintf(input, sizeof input, POST "Content-Length: 1000\r\n\r\n%s", body);
    snprintf(want, sizeof want, "1.1 POST a /?- [Host:a|Content-Length:1000] {%s} keep\n", body);
    expect(input, want);
    snprintf(input, sizeof input, CHUNKED "3e7\r\n%s\r\n1\r\nx\r\n0\r\n\r\n", body + 1);
    snprintf(want, sizeof want, CHUNKED_HEAD "{%sx} keep\n", body + 1);
    expect(input, want);
    expect(POST "Content-Length: 1001\r\n\r\n", "!413\n");
    expect(CHUNKED "3e9\r\n", "!413\n");
    snprintf(input, sizeof input, CHUNKED "3e7\r\n%s\r\n2\r\n", body + 1);
    expect(input, "!413\n");
}

/* A limit that is lowered while a body comes is for the requests after it. */
static void a_request_that_has_begun_keeps_its_limit(void **state)
{
    struct http1_reader r;
    struct http_refusal why;
    http1_init(&r);
    r.body_max = 5;
    http1_feed(&r, slice_str(POST "Content-Length: 5\r\n\r\n12"));
    assert_int_equal(http1_next(&r, &why), HTTP1_MORE);
    r.body_max = 4;
    http1_feed(&r, slice_str("345" POST "Content-Length: 5\r\n\r\n"));
    assert_int_equal(http1_next(&r, &why), HTTP1_WHOLE);
    assert_true(slice_eq(r.message.body, slice_str("12345")));
    http1_taken(&r);
    assert_int_equal(http1_next(&r, &why), HTTP1_BROKEN);
    assert_int_equal(why.status, 413);
    http1_fini(&r);
}

static void who_expects_100_is_told_once(void **state)
{
    struct http1_reader r;
    struct http_refusal why;
    http1_init(&r);
    r.body_max = BODY_MAX;
    for (int i = 0; i < 2; i++) {
        http1_feed(&r, slice_str(POST "Expect: 100-Continue\r\nContent-Length: 2\r\n\r\n"));
        assert_int_equal(http1_next(&r, &why), HTTP1_CONTINUE);
        assert_int_equal(http1_next(&r, &why), HTTP1_MORE);
        assert_int_equal(http1_missing(&r), 2);
        http1_feed(&r, slice_str("1"));
        assert_int_equal(http1_next(&r, &why), HTTP1_MORE);
        http1_feed(&r, slice_str("2"));
        assert_int_equal(http1_next(&r, &why), HTTP1_WHOLE);
        http1_taken(&r);
    }
    /* Whose body comes at once, or is none, or who is of old, is not told. */
    http1_feed(&r, slice_str(POST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n1"));
    assert_int_equal(http1_next(&r, &why), HTTP1_MORE);
    http1_feed(&r, slice_str("2" POST "Expect: 100-continue\r\nContent-Length: 0\r\n\r\n"));
    assert_int_equal(http1_next(&r, &why), HTTP1_WHOLE);
    http1_taken(&r);
    assert_int_equal(http1_next(&r, &why), HTTP1_WHOLE);
    http1_taken(&r);
    http1_feed(&r,
               slice_str("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
    assert_int_equal(http1_next(&r, &why), HTTP1_MORE);
    http1_fini(&r);
}

static void memory_is_given_back(void **state)
{
    struct http1_reader r;
    struct http_refusal why;
    char body[50000];
    memset(body, 'b', sizeof body);
    http1_init(&r);
    r.body_max = sizeof body;
    http1_feed(&r, slice_str(POST "Content-Length: 50000\r\n\r\n"));
    http1_feed(&r, slice_of(body, sizeof body));
    assert_int_equal(http1_next(&r, &why), HTTP1_WHOLE);
    http1_taken(&r);
    assert_true(r.in.cap <= 16 * 1024);
    http1_trim(&r);
    assert_int_equal(r.in.cap, 0);
    http1_feed(&r, slice_str(GOOD));
    http1_trim(&r);
    assert_int_equal(http1_next(&r, &why), HTTP1_WHOLE);
    http1_fini(&r);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static const struct {
    const char *input;
    int status;
} refused[] = {
    /* How long is the body? Two answers are how requests are smuggled. */
    {POST "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
    {POST "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", 400},
    {POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501},
    {POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501},
    {POST "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 501},
    {POST "Transfer-Encoding: identity\r\n\r\n", 501},
    {POST "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n", 501},
    {POST "Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n", 501},
    {POST "Transfer-Encoding:\r\n\r\n0\r\n\r\n", 501},
    {POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
    {POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", 400},
    {POST "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
    {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
    {POST "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 400},
    {POST "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc", 400},
    {POST "Content-Length: 3, 3\r\n\r\nabc", 400},
    {POST "Content-Length: +1\r\n\r\na", 400},
    {POST "Content-Length: -1\r\n\r\na", 400},
    {POST "Content-Length: 0x1\r\n\r\na", 400},
    {POST "Content-Length: 1 1\r\n\r\na", 400},
    {POST "Content-Length:\r\n\r\na", 400},
    {POST "Content-Length: 1;\r\n\r\na", 400},
    {POST "Content-Length: 1.0\r\n\r\na", 400},
    {POST "Content-Length: 18446744073709551616\r\n\r\n", 400},
    {POST "Content-Length: 18446744073709551615\r\n\r\n", 413},
    /* Headers. */
    {POST "X: a\r\n b\r\n\r\n", 400},
    {POST "X: a\r\n\tb\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400},
    {POST "Content-Length : 1\r\n\r\na", 400},
    {POST "Content-Length\t: 1\r\n\r\na", 400},
    {POST "Transfer-Encoding : chunked\r\n\r\n", 400},
    {POST ": a\r\n\r\n", 400},
    {POST "X\r\n\r\n", 400},
    {POST "X(: a\r\n\r\n", 400},
    {POST "X\"Y: a\r\n\r\n", 400},
    {POST "X\xc3\xa9: a\r\n\r\n", 400},
    {POST "X: a\x01\r\n\r\n", 400},
    {POST "X: a\x7f\r\n\r\n", 400},
    {POST "X: a\rb\r\n\r\n", 400},
    {POST "X: a\r\r\n\r\n", 400},
    {POST "X: a\nY: b\r\n\r\n", 400},
    {POST "X: a\r\n\n", 400},
    {POST "X: a\n\r\n", 400},
    {"GET / HTTP/1.1\nHost: a\n\n", 400},
    {"GET / HTTP/1.1\nHost: a\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\r\nHost: a\r\n\r\n", 400},
    {"\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", 400},
    {"GET http://b/ HTTP/1.1\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: localhost@a\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: localhost/a\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: localhost a\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: \xc3\xa9\r\n\r\n", 400},
    {"GET http://localhost@b/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET http://b?/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET http://b\x01/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {POST "Expect: 200-ok\r\n\r\n", 417},
    {POST "Expect: 100-continue\r\nExpect: 100-continue\r\n\r\n", 417},
    /* The request line. */
    {"\r\r\n\r\n", 400},
    {" GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET /  HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 505},
    {"GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET / a HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET /\r\n\r\n", 400},
    {"GET\r\n\r\n", 400},
    {"G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET /\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET ftp://b/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET http://b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"CONNECT b:80 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET / HTTP/1.2\r\nHost: a\r\n\r\n", 505},
    {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},
    {"GET / HTTP/0.9\r\nHost: a\r\n\r\n", 505},
    {"GET / HTTP/1.10\r\nHost: a\r\n\r\n", 505},
    {"GET / http/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET / RTSP/1.0\r\nHost: a\r\n\r\n", 400},
    {"*1\r\n$4\r\nPING\r\n\r\n", 400},
    {"\x16\x03\x01\x02\r\n\r\n", 400},
    /* Chunks. */
    {CHUNKED "\r\n", 400},
    {CHUNKED "x\r\n", 400},
    {CHUNKED "0x1\r\na\r\n", 400},
    {CHUNKED "+1\r\na\r\n", 400},
    {CHUNKED "-1\r\n", 400},
    {CHUNKED " 1\r\na\r\n", 400},
    {CHUNKED "1 2\r\na\r\n", 400},
    {CHUNKED "1a;\x01\r\n", 400},
    {CHUNKED "1,\r\na\r\n", 400},
    {CHUNKED ";a\r\n", 400},
    {CHUNKED "ffffffffffffffff\r\n", 400},
    {CHUNKED "10000000000000001\r\na\r\n", 400},
    {CHUNKED "fffffffffffffff\r\n", 413},
    {CHUNKED "1\na\r\n", 400},
    {CHUNKED "1\r\r\na\r\n", 400},
    {CHUNKED "1\r\nab\r\n", 400},
    {CHUNKED "1\r\na\n0\r\n\r\n", 400},
    {CHUNKED "1\r\na\r\r\n", 400},
    {CHUNKED "2\r\na\r\n0\r\n\r\n", 400},
    {CHUNKED "0\r\n\n", 400},
    {CHUNKED "0\r\nX : a\r\n\r\n", 400},
    {CHUNKED "0\r\n X: a\r\n\r\n", 400},
    {CHUNKED "0\r\nX\r\n\r\n", 400},
    {CHUNKED "0\r\nX: a\n\r\n", 400},
};

static void what_could_be_read_in_two_ways_is_refused(void **state)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        expect_refused(refused[i].input, strlen(refused[i].input), refused[i].status);
    }
}

static void no_nul_is_anywhere_in_a_head(void **state)
{
    static const char whole[] = "POST /a HTTP/1.1\r\nHost: a\r\nX: b\r\n\r\n";
    char input[sizeof whole];
    for (size_t at = 0; at + 2 < sizeof whole; at++) {
        if (whole[at] == '\r' || whole[at] == '\n') continue;
        memcpy(input, whole, sizeof input);
        input[at] = '\0';
        struct http1_reader r;
        struct http_refusal why = {0};
        http1_init(&r);
        http1_feed(&r, slice_of(input, sizeof input - 1));
        assert_int_equal(http1_next(&r, &why), HTTP1_BROKEN);
        assert_true(why.status == 400 || why.status == 505);
        http1_fini(&r);
    }
}

static void after_a_refusal_nothing_is_read(void **state)
{
    struct http1_reader r;
    struct http_refusal why = {0};
    http1_init(&r);
    http1_feed(&r, slice_str("GET / HTTP/3\r\n\r\n" GOOD));
    assert_int_equal(http1_next(&r, &why), HTTP1_BROKEN);
    assert_int_equal(why.status, 505);
    http1_feed(&r, slice_str(GOOD));
    assert_int_equal(http1_next(&r, &why), HTTP1_BROKEN);
    http1_fini(&r);
}

/* `count` headers, Host among them. */
static void put_headers(struct buf *b, int count)
{
    buf_clear(b, SIZE_MAX);
    buf_append_str(b, "GET / HTTP/1.1\r\nHost: a\r\n");
    for (int i = 1; i < count; i++) buf_printf(b, "X%d: b\r\n", i);
    buf_append_str(b, "\r\n");
}

static enum http1_step read_once(struct slice input, int *status)
{
    struct http1_reader r;
    struct http_refusal why = {0};
    http1_init(&r);
    r.body_max = BODY_MAX;
    http1_feed(&r, input);
    enum http1_step step = http1_next(&r, &why);
    *status = why.status;
    http1_fini(&r);
    return step;
}

static void a_hundred_headers_are_read(void **state)
{
    struct buf b;
    int status;
    buf_init(&b);
    put_headers(&b, 100);
    assert_int_equal(read_once(buf_slice(&b), &status), HTTP1_WHOLE);
    put_headers(&b, 101);
    assert_int_equal(read_once(buf_slice(&b), &status), HTTP1_BROKEN);
    assert_int_equal(status, 431);
    buf_fini(&b);
}

static void put_head(struct buf *b, size_t bytes)
{
    buf_clear(b, SIZE_MAX);
    buf_append_str(b, "GET / HTTP/1.1\r\nHost: a\r\nX: ");
    while (b->len < bytes - 4) buf_append_byte(b, 'x');
    buf_append_str(b, "\r\n\r\n");
}

static void a_head_of_64_kb_is_read(void **state)
{
    struct buf b;
    int status;
    buf_init(&b);
    put_head(&b, HTTP1_HEAD_BYTES_MAX);
    assert_int_equal(b.len, HTTP1_HEAD_BYTES_MAX);
    assert_int_equal(read_once(buf_slice(&b), &status), HTTP1_WHOLE);
    put_head(&b, HTTP1_HEAD_BYTES_MAX + 1);
    assert_int_equal(read_once(buf_slice(&b), &status), HTTP1_BROKEN);
    assert_int_equal(status, 431);
    /* Nor does a longer one have to come to its end. */
    buf_clear(&b, SIZE_MAX);
    for (size_t i = 0; i <= HTTP1_HEAD_BYTES_MAX; i++) buf_append_byte(&b, 'x');
    assert_int_equal(read_once(buf_slice(&b), &status), HTTP1_BROKEN);
    assert_int_equal(status, 431);
    buf_fini(&b);
}

static void lines_of_chunks_and_trailers_are_bounded(void **state)
{
    struct buf b;
    int status;
    buf_init(&b);
    buf_append_str(&b, CHUNKED "1;");
    for (int i = 0; i < 300; i++) buf_append_byte(&b, 'x');
    assert_int_equal(read_once(buf_slice(&b), &status), HTTP1_BROKEN);
    assert_int_equal(status, 400);
    buf_clear(&b, SIZE_MAX);
    buf_append_str(&b, CHUNKED "0\r\n");
    for (int i = 0; i < 8000; i++) buf_append_str(&b, "X: abcd\r\n");
    assert_int_equal(read_once(buf_slice(&b), &status), HTTP1_BROKEN);
    assert_int_equal(status, 431);
    buf_fini(&b);
}

/* ---- any bytes ------------------------------------------------------------------------------- */

/* Requests made of parts in random order: mostly nonsense, sometimes whole. */
static void put_random(struct rng *rng, struct buf *b)
{
    static const char *const parts[] = {"GET / HTTP/1.1\r\n",
                                        "POST /a?b HTTP/1.1\r\n",
                                        "Host: a\r\n",
                                        "Content-Length: 3\r\n",
                                        "Transfer-Encoding: chunked\r\n",
                                        "Expect: 100-continue\r\n",
                                        "\r\n",
                                        "\r\n",
                                        "abc",
                                        "3\r\nabc\r\n",
                                        "1;x\r\na\r\n",
                                        "0\r\n",
                                        "0\r\n\r\n",
                                        "\r",
                                        "\n",
                                        " ",
                                        GOOD,
                                        POST "Content-Length: 3\r\n\r\nabc",
                                        CHUNKED "3\r\nabc\r\n0\r\n\r\n"};
    buf_clear(b, SIZE_MAX);
    size_t n = 1 + rng_below(rng, 12);
    for (size_t i = 0; i < n; i++) {
        buf_append_str(b, parts[rng_below(rng, sizeof parts / sizeof parts[0])]);
    }
}

static void it_does_not_matter_how_bytes_arrive(void **state)
{
    struct rng rng;
    struct buf input;
    struct buf whole;
    struct buf cut;
    size_t requests = 0;
    rng_init(&rng, 7);
    buf_init(&input);
    buf_init(&whole);
    buf_init(&cut);
    for (int i = 0; i < 20000; i++) {
        put_random(&rng, &input);
        buf_clear(&whole, SIZE_MAX);
        buf_clear(&cut, SIZE_MAX);
        http1_transcript(buf_slice(&input), input.len, 0, BODY_MAX, &whole);
        http1_transcript(buf_slice(&input), (size_t)i % 3, (uint64_t)i, BODY_MAX, &cut);
        assert_true(slice_eq(buf_slice(&whole), buf_slice(&cut)));
        requests += whole.len > 0 && whole.data[0] == '1';
    }
    assert_true(requests > 2000);
    buf_fini(&input);
    buf_fini(&whole);
    buf_fini(&cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_has_method_target_version_and_headers),
        cmocka_unit_test(requests_come_one_after_the_other),
        cmocka_unit_test(what_is_not_whole_waits),
        cmocka_unit_test(empty_lines_before_a_request_are_skipped),
        cmocka_unit_test(old_requests_close),
        cmocka_unit_test(a_whole_url_names_the_host),
        cmocka_unit_test(a_body_is_as_long_as_is_said),
        cmocka_unit_test(chunks_become_one_body),
        cmocka_unit_test(extensions_and_trailers_mean_nothing),
        cmocka_unit_test(chunks_take_no_more_memory_than_their_body),
        cmocka_unit_test(the_longest_body_is_read_and_no_longer_one),
        cmocka_unit_test(a_request_that_has_begun_keeps_its_limit),
        cmocka_unit_test(who_expects_100_is_told_once),
        cmocka_unit_test(memory_is_given_back),
        cmocka_unit_test(what_could_be_read_in_two_ways_is_refused),
        cmocka_unit_test(no_nul_is_anywhere_in_a_head),
        cmocka_unit_test(after_a_refusal_nothing_is_read),
        cmocka_unit_test(a_hundred_headers_are_read),
        cmocka_unit_test(a_head_of_64_kb_is_read),
        cmocka_unit_test(lines_of_chunks_and_trailers_are_bounded),
        cmocka_unit_test(it_does_not_matter_how_bytes_arrive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
