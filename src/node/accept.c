/* accept: BEGIN makes a nonce and proves the secret, PASS proves it the other way and names the
 * client. Both proofs are over both nonces and what is special to the TLS connection; an offer is
 * good for one PASS. Then the connection's client gets the identity of the other node's. */
#include "node/accept.h"

#include <stdio.h>

#include "access/users.h"
#include "base/mem.h"
#include "node/dial.h"
#include "node/link.h"
#include "node/proof.h"
#include "request/login.h"

struct node_offer {
    char theirs[PROOF_NONCE_CHARS];
    char own[PROOF_NONCE_CHARS];
};

bool node_is_link(const struct slice *argv, size_t argc)
{
    return argc >= 2 && slice_is_word(argv[0], "KV.LINK");
}

void node_offer_free(struct node_offer *o)
{
    mem_free(o);
}

static void refuse(struct resp_writer *w, enum err code, const char *why)
{
    struct error e;
    (void)error_set(&e, code, "%s", why);
    resp_error(w, &e);
}

static void begin(struct node *n, struct node_offer **offer, const struct client *c,
                  struct slice theirs, struct resp_writer *w)
{
    char line[PROOF_NONCE_CHARS + 1 + PROOF_CHARS + 1];
    if (theirs.len != PROOF_NONCE_CHARS) {
        refuse(w, ERR_SYNTAX, "KV.LINK BEGIN: invalid nonce");
        return;
    }
    if (*offer == NULL) *offer = mem_new(sizeof **offer);
    struct node_offer *o = *offer;
    memcpy(o->theirs, theirs.data, PROOF_NONCE_CHARS);
    node_dial_heard(n, theirs);
    proof_nonce(o->own);
    const struct slice words[] = {slice_str("leader"), theirs, slice_of(o->own, PROOF_NONCE_CHARS),
                                  slice_of(c->link->channel, LINK_CHANNEL_BYTES)};
    memcpy(line, o->own, PROOF_NONCE_CHARS);
    line[PROOF_NONCE_CHARS] = ' ';
    proof_make(n, words, 4, line + PROOF_NONCE_CHARS + 1);
    line[sizeof line - 1] = '\0';
    resp_simple(w, line);
}

static void copy_text(char *out, size_t size, struct slice text)
{
    snprintf(out, size, "%.*s", (int)text.len, (const char *)text.data);
}

/* The connection becomes that of the client whose words these are. */
static void become(struct node *n, struct client *c, const struct slice *words)
{
    struct env *env = n->env;
    struct slice way = words[LINK_WAY];
    struct link *link = c->link;
    uint64_t id = 0;
    copy_text(link->address, sizeof link->address, words[LINK_ADDRESS]);
    copy_text(link->local_address, sizeof link->local_address, words[LINK_LOCAL_ADDRESS]);
    link->is_local = memchr(way.data, 'l', way.len) != NULL;
    link->is_unix = memchr(way.data, 'u', way.len) != NULL;
    link->is_tls = memchr(way.data, 't', way.len) != NULL;
    struct user *u = users_find(env->users.all, words[LINK_USER]);
    if (u != NULL && !u->is_on) u = NULL;
    client_become(c, u);
    if (slice_to_u64(words[LINK_ID], &id) && id != 0) c->id = id;
    c->settings.proto = slice_is_word(words[LINK_RESP], "3") ? 3 : 2;
    copy_text(c->settings.name, sizeof c->settings.name, words[LINK_NAME]);
    copy_text(c->settings.lib_name, sizeof c->settings.lib_name, words[LINK_LIB_NAME]);
    copy_text(c->settings.lib_version, sizeof c->settings.lib_version, words[LINK_LIB_VERSION]);
    if (slice_is_word(words[LINK_VIEW], "TUPLES")) c->settings.view = VIEW_TUPLES;
    if (slice_is_word(words[LINK_VIEW], "PLAIN")) c->settings.view = VIEW_PLAIN;
}

/* False: it is not LINK_WORDS, each with a NUL at its end. */
static bool split(struct slice text, struct slice words[LINK_WORDS])
{
    for (size_t i = 0; i < LINK_WORDS; i++) {
        const uint8_t *end = text.len > 0 ? memchr(text.data, '\0', text.len) : NULL;
        if (end == NULL) return false;
        words[i] = slice_of(text.data, (size_t)(end - text.data));
        text = slice_of(end + 1, text.len - words[i].len - 1);
    }
    return text.len == 0;
}

static enum node_accepted pass(struct node *n, const struct node_offer *o, struct client *c,
                               const struct slice *argv, struct resp_writer *w)
{
    const struct slice proved[] = {slice_str("standby"), slice_of(o->theirs, PROOF_NONCE_CHARS),
                                   slice_of(o->own, PROOF_NONCE_CHARS),
                                   slice_of(c->link->channel, LINK_CHANNEL_BYTES), argv[3]};
    struct slice words[LINK_WORDS];
    if (!proof_is(n, proved, 5, argv[2]) || !split(argv[3], words)) {
        refuse(w, ERR_NOAUTH, "this node does not have the secret of this engine");
        return NODE_ANSWERED;
    }
    become(n, c, words);
    resp_simple(w, "OK");
    return slice_eq(words[LINK_PROTOCOL], slice_str("http")) ? NODE_IS_HTTP : NODE_ANSWERED;
}

enum node_accepted node_accept(struct node *n, struct node_offer **offer, struct client *c,
                               const struct slice *argv, size_t argc, struct resp_writer *w)
{
    enum node_accepted r = NODE_ANSWERED;
    struct node_offer *o = *offer;
    if (!n->leads) {
        refuse(w, ERR_TRYAGAIN, "this node is not the leader");
    } else if (n->is_tls && !c->link->is_tls) {
        refuse(w, ERR_NOAUTH, "nodes connect with TLS here: set tls-cluster on that node too");
    } else if (argc == 3 && slice_is_word(argv[1], "BEGIN")) {
        begin(n, offer, c, argv[2], w);
    } else if (argc == 4 && slice_is_word(argv[1], "PASS") && o != NULL) {
        *offer = NULL; /* once */
        r = pass(n, o, c, argv, w);
        node_offer_free(o);
    } else {
        refuse(w, ERR_SYNTAX, "KV.LINK is for nodes of tupled");
    }
    return r;
}
