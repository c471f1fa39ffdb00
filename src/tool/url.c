/* url: where the server is, as a URL says it. Pure. */
#include <stdio.h>

#include "base/bytes.h"
#include "tool/wire.h"

static int url_hex(uint8_t c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The text with its %41 made bytes; NULL when a % is followed by something else, or by 00. */
static const char *url_text(struct arena *a, struct slice s)
{
    char *out = arena_alloc(a, s.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < s.len; i++) {
        out[len] = (char)s.data[i];
        if (s.data[i] == '%') {
            int high = i + 2 < s.len ? url_hex(s.data[i + 1]) : -1;
            int low = i + 2 < s.len ? url_hex(s.data[i + 2]) : -1;
            if (high < 0 || low < 0 || high + low == 0) return NULL;
            out[len] = (char)(high * 16 + low);
            i += 2;
        }
        len++;
    }
    out[len] = '\0';
    return out;
}

/* Cuts *s at the first (or last) `c`: what is before it; false when there is none. */
static bool url_cut(struct slice *s, char c, bool at_last, struct slice *before)
{
    const uint8_t *p = s->len == 0 ? NULL
                       : at_last   ? memrchr(s->data, c, s->len)
                                   : memchr(s->data, c, s->len);
    if (p == NULL) return false;
    *before = slice_of(s->data, (size_t)(p - s->data));
    *s = slice_of(p + 1, s->len - before->len - 1);
    return true;
}

static enum err url_bad(struct error *e, const char *what)
{
    return error_set(e, ERR_SYNTAX,
                     "the URL %s; its form is redis://[user[:password]@]host[:port][/database], "
                     "rediss://... for TLS, or unix:///path[?db=database]",
                     what);
}

static enum err url_login(struct slice login, struct arena *a, struct wire_options *o,
                          struct error *e)
{
    struct slice user = login;
    bool has_password = url_cut(&login, ':', false, &user);
    if (has_password && (o->password = url_text(a, login)) == NULL) {
        return url_bad(e, "has a % in its password without two hex digits after it");
    }
    if (user.len > 0 && (o->user = url_text(a, user)) == NULL) {
        return url_bad(e, "has a % in its user without two hex digits after it");
    }
    return OK;
}

static enum err url_unix(struct slice rest, struct arena *a, struct wire_options *o,
                         struct error *e)
{
    struct slice path = rest;
    struct slice query = rest;
    if (url_cut(&query, '?', false, &path)) {
        if (!slice_has_prefix(query, slice_str("db=")) || query.len == 3) {
            return url_bad(e, "must have only db=... after its ?");
        }
        o->database = url_text(a, slice_of(query.data + 3, query.len - 3));
        if (o->database == NULL) return url_bad(e, "has a database with an invalid % escape");
    }
    if (path.len == 0 || path.data[0] != '/') return url_bad(e, "has no path that begins with /");
    o->path = url_text(a, path);
    return o->path == NULL ? url_bad(e, "has a path with an invalid % escape") : OK;
}

/* host, host:port, [address], [address]:port */
static enum err url_host(struct slice s, struct arena *a, struct wire_options *o, struct error *e)
{
    struct slice host = s;
    struct slice port = slice_of("", 0);
    uint64_t number = 0;
    if (s.len > 0 && s.data[0] == '[') {
        port = slice_of(s.data + 1, s.len - 1);
        if (!url_cut(&port, ']', false, &host)) return url_bad(e, "has a [ without a ]");
        if (port.len > 0 && port.data[0] != ':') return url_bad(e, "has text after its ]");
        if (port.len > 0) port = slice_of(port.data + 1, port.len - 1);
    } else {
        port = s;
        if (!url_cut(&port, ':', true, &host)) port = slice_of("", 0);
    }
    if (port.len > 0 && (!slice_to_u64(port, &number) || number < 1 || number > 65535)) {
        return url_bad(e, "has a port that is not a number from 1 to 65535");
    }
    o->host = host.len > 0 ? url_text(a, host) : "127.0.0.1";
    o->port = port.len > 0 ? url_text(a, port) : "6379";
    return o->host == NULL ? url_bad(e, "has a host with an invalid % escape") : OK;
}

enum err wire_url_read(const char *url, struct arena *a, struct wire_options *o, struct error *e)
{
    struct slice rest = slice_str(url);
    struct slice scheme;
    struct slice login;
    struct slice address;
    const char *mark = strstr(url, "://");
    if (mark == NULL) return url_bad(e, "does not begin with redis://, rediss:// or unix://");
    scheme = slice_of(url, (size_t)(mark - url));
    rest = slice_str(mark + 3);
    bool is_unix = slice_is_word(scheme, "UNIX");
    o->is_tls = slice_is_word(scheme, "REDISS");
    if (!is_unix && !o->is_tls && !slice_is_word(scheme, "REDIS")) {
        return url_bad(e, "does not begin with redis://, rediss:// or unix://");
    }
    if (url_cut(&rest, '@', true, &login)) {
        enum err err = url_login(login, a, o, e);
        if (err != OK) return err;
    }
    if (is_unix) return url_unix(rest, a, o, e);
    o->path = NULL;
    address = rest;
    if (url_cut(&rest, '/', false, &address) && rest.len > 0) {
        o->database = url_text(a, rest);
        if (o->database == NULL) return url_bad(e, "has a database with an invalid % escape");
    }
    return url_host(address, a, o, e);
}

void wire_place(const struct wire_options *o, char out[WIRE_WHY_BYTES])
{
    if (o->path != NULL) {
        snprintf(out, WIRE_WHY_BYTES, "%s", o->path);
    } else if (strchr(o->host, ':') != NULL) {
        snprintf(out, WIRE_WHY_BYTES, "[%s]:%s", o->host, o->port);
    } else {
        snprintf(out, WIRE_WHY_BYTES, "%s:%s", o->host, o->port);
    }
}
