/* fuzz_node: any commands on the port of Sentinel, and any KV.LINK: each is answered, well formed,
 * and no connection becomes another node's client without the secret.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz/env_help.h"
#include "net/net.h"
#include "node/accept.h"
#include "node/sentinel_int.h"
#include "resp/item.h"
#include "resp/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct env env;
static struct node node;

static void start(void)
{
    env_start(&env, "node");
    node_init(&node, NULL, &env);
    snprintf(node.known.name, sizeof node.known.name, "n1");
    snprintf(node.known.address, sizeof node.known.address, "[::1]:6379");
    node.known.others[0] = (struct node_other){
        .name = "n2", .address = "10.0.0.2:6379", .sentinel_port = 26379, .is_up = true};
    node.known.others[1] = (struct node_other){.name = "n3"};
    node.known.other_count = 2;
    env.node.self = &node;
    env.node.known = &node.known;
}

/* Whole replies and nothing else. */
static void check_replies(struct slice out)
{
    while (out.len > 0) {
        size_t len = resp_reply_length(out);
        if (len == 0 || len > out.len) abort();
        out = slice_of(out.data + len, out.len - len);
    }
}

static void run_sentinel(struct resp_reader *r, struct buf *out)
{
    static const struct sentinel_facts facts = {.node = &node, .master = "mymaster"};
    struct sentinel_call c = {.facts = &facts, .address = "127.0.0.1:1", .is_known = true};
    struct error e;
    c.w = (struct resp_writer){.out = out, .proto = 2};
    while (!c.is_over && resp_reader_next(r, &c.argv, &c.argc, &e) == RESP_COMMAND) {
        sentinel_run(&c);
        sentinel_tell(&c, "+switch-master", "mymaster a 1 b 2");
        check_replies(buf_slice(out));
        buf_clear(out, SIZE_MAX);
    }
    sentinel_call_fini(&c);
}

static void run_links(struct resp_reader *r, struct buf *out)
{
    struct link link = {.fd = -1, .address = "127.0.0.1:1"};
    struct client c = {.id = 1, .link = &link, .settings.proto = 2};
    struct resp_writer w = {.out = out, .proto = 2};
    struct node_offer *offer = NULL;
    struct slice *argv = NULL;
    size_t argc = 0;
    struct error e;
    while (resp_reader_next(r, &argv, &argc, &e) == RESP_COMMAND) {
        if (!node_is_link(argv, argc)) continue;
        enum node_accepted got = node_accept(&node, &offer, &c, argv, argc, &w);
        if (got != NODE_ANSWERED || c.user != NULL || c.id != 1) abort();
        check_replies(buf_slice(out));
        buf_clear(out, SIZE_MAX);
    }
    node_offer_free(offer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct resp_reader r;
    struct buf out;
    size_t room = 0;
    if (env.db == NULL) start();
    if (size < 2 || size > 60000) return 0;
    buf_init(&out);
    resp_reader_init(&r, 60000);
    uint8_t *at = resp_reader_room(&r, size, &room);
    memcpy(at, data + 1, size - 1);
    resp_reader_fed(&r, size - 1);
    node.leads = (data[0] & 1) != 0;
    if ((data[0] & 2) != 0) {
        run_sentinel(&r, &out);
    } else {
        run_links(&r, &out);
    }
    resp_reader_fini(&r);
    buf_fini(&out);
    return 0;
}
