/* peer: the client that a connection speaks for: its peer, or, if that is a trusted proxy, another
 * one.
 */
#include "http/http_int.h"

/* "1.2.3.4:5", "[::1]:5": without the port. */
static struct slice peer_address(const struct session_http *s)
{
    struct slice text = slice_str(s->stream->link.address);
    while (text.len > 0 && text.data[text.len - 1] != ':') text.len--;
    if (text.len > 0) text.len--;
    if (text.len >= 2 && text.data[0] == '[') text = slice_of(text.data + 1, text.len - 2);
    return text;
}

bool session_is_proxied(const struct session_http *s)
{
    const char *trusted = s->http->options.trusted_proxies;
    return trusted[0] != '\0' && origin_list_has(trusted, peer_address(s));
}

/* What the proxy has said: of several headers the last one, as a proxy may add its own after those
 * that a client sent. data NULL: nothing, or it is not trusted. */
static struct slice proxy_said(const struct session_http *s, const struct http_message *m,
                               const char *name)
{
    size_t at = m->header_count;
    struct slice told = http_header_before(m, name, &at);
    return told.data != NULL && session_is_proxied(s) ? told : slice_of(NULL, 0);
}

struct slice session_host(const struct session_http *s, const struct http_message *m)
{
    struct slice told = proxy_said(s, m, "x-forwarded-host");
    return told.data != NULL ? told : m->host;
}

bool session_is_secure(const struct session_http *s, const struct http_message *m)
{
    struct slice told = proxy_said(s, m, "x-forwarded-proto");
    return told.data != NULL ? slice_is_word(told, "HTTPS") : s->stream->link.is_tls;
}

/* The last one of the list that is no trusted proxy itself, else the first. False: all are
 * trusted. */
static bool last_of(const struct session_http *s, struct slice list, struct slice *address)
{
    for (;;) {
        size_t begin = list.len;
        while (begin > 0 && list.data[begin - 1] != ',') begin--;
        *address = http_trim(slice_of(list.data + begin, list.len - begin));
        if (!origin_list_has(s->http->options.trusted_proxies, *address)) return true;
        if (begin == 0) return false;
        list.len = begin - 1;
    }
}

/* Several headers are one list. */
struct slice session_address(const struct session_http *s, const struct http_message *m)
{
    struct slice found = slice_of(NULL, 0);
    if (m == NULL || !session_is_proxied(s)) return peer_address(s);
    for (size_t at = m->header_count;;) {
        struct slice list = http_header_before(m, "x-forwarded-for", &at);
        if (list.data == NULL || last_of(s, list, &found)) break;
    }
    return found.len > 0 ? found : peer_address(s);
}
