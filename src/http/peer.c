/* peer: whom a connection speaks for: itself, or, when it is a proxy that is trusted, somebody
 * else.
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

struct slice session_host(const struct session_http *s, const struct http_message *m)
{
    struct slice told = http_header(m, "x-forwarded-host");
    return told.data != NULL && session_is_proxied(s) ? told : m->host;
}

bool session_is_secure(const struct session_http *s, const struct http_message *m)
{
    struct slice told = http_header(m, "x-forwarded-proto");
    if (told.data != NULL && session_is_proxied(s)) return slice_is_word(told, "HTTPS");
    return s->stream->link.is_tls;
}

/* The last one of the list that is no trusted proxy itself. */
struct slice session_address(const struct session_http *s, const struct http_message *m)
{
    struct slice told = m == NULL ? slice_of(NULL, 0) : http_header(m, "x-forwarded-for");
    if (told.data == NULL || !session_is_proxied(s)) return peer_address(s);
    for (;;) {
        size_t begin = told.len;
        while (begin > 0 && told.data[begin - 1] != ',') begin--;
        struct slice last = http_trim(slice_of(told.data + begin, told.len - begin));
        if (begin == 0 || !origin_list_has(s->http->options.trusted_proxies, last)) {
            return last.len > 0 ? last : peer_address(s);
        }
        told.len = begin - 1;
    }
}
