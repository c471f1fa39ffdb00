/* origin: the order of the checks: is the host one of ours (else DNS rebinding), may a page of that
 * Origin use the server, may one of another site (Sec-Fetch-Site), and may this GET change
 * something. A program that is no browser sends Host alone of these, and passes the others. */
#include "http/origin.h"

#include <strings.h>

#include "net/net.h"

static bool same_text(struct slice a, struct slice b)
{
    return a.len == b.len &&
           (a.len == 0 || strncasecmp((const char *)a.data, (const char *)b.data, a.len) == 0);
}

bool origin_list_has(const char *list, struct slice word)
{
    while (*list != '\0') {
        size_t len = strcspn(list, " \t");
        if (len > 0 && same_text(slice_of(list, len), word)) return true;
        list += len;
        list += strspn(list, " \t");
    }
    return false;
}

/* "name:port", "[::1]:port": without the port and brackets. */
static struct slice name_of(struct slice host)
{
    if (host.len > 0 && host.data[0] == '[') {
        const uint8_t *end = memchr(host.data, ']', host.len);
        if (end == NULL) return slice_of(NULL, 0);
        return slice_of(host.data + 1, (size_t)(end - host.data) - 1);
    }
    const uint8_t *colon = host.len == 0 ? NULL : memchr(host.data, ':', host.len);
    return colon == NULL ? host : slice_of(host.data, (size_t)(colon - host.data));
}

static bool host_is_allowed(const struct origin_rules *rules, struct slice host)
{
    struct slice name = name_of(host);
    if (name.len == 0) return false;
    if (net_is_address(name) || same_text(name, slice_str("localhost"))) return true;
    return same_text(name, slice_str(rules->own_name)) ||
           origin_list_has(rules->allowed_hosts, name) ||
           origin_list_has(rules->allowed_hosts, host);
}

static bool is_own_origin(const struct origin_asked *asked, struct slice origin)
{
    struct slice scheme = slice_str(asked->is_secure ? "https://" : "http://");
    if (origin.len <= scheme.len || !same_text(slice_of(origin.data, scheme.len), scheme)) {
        return false;
    }
    return same_text(slice_of(origin.data + scheme.len, origin.len - scheme.len), asked->host);
}

static struct http_refusal refuse(int status, const char *text)
{
    return (struct http_refusal){.status = status, .text = text};
}

/* A GET that may change something must not be what an image of a foreign page asks for. */
static bool may_act(const struct http_message *m, struct slice site)
{
    if (http_header(m, "authorization").data != NULL) return true;
    if (site.data != NULL) {
        return same_text(site, slice_str("same-origin")) || same_text(site, slice_str("none"));
    }
    return http_header(m, "sec-fetch-mode").data == NULL &&
           http_header(m, "sec-fetch-dest").data == NULL && http_header(m, "referer").data == NULL;
}

struct http_refusal origin_check(const struct origin_rules *rules, const struct origin_asked *asked,
                                 struct slice *cors)
{
    const struct http_message *m = asked->message;
    struct slice origin = http_header(m, "origin");
    struct slice site = http_header(m, "sec-fetch-site");
    bool is_safe = (m->method & (HTTP_GET | HTTP_HEAD)) != 0;
    *cors = slice_of(NULL, 0);
    if (!asked->is_open && asked->host.data != NULL && !host_is_allowed(rules, asked->host)) {
        return refuse(421, "this host name is not allowed: add it to http-allowed-hosts");
    }
    bool is_own = origin.data == NULL || is_own_origin(asked, origin);
    bool is_listed = !is_own && !same_text(origin, slice_str("null")) &&
                     (strcmp(rules->allowed_origins, "*") == 0 ||
                      origin_list_has(rules->allowed_origins, origin));
    if (!is_own && !is_listed) {
        return refuse(403, "pages of this origin may not use this server: add the origin to "
                           "http-allowed-origins");
    }
    if (is_listed) *cors = origin;
    bool is_foreign = site.data != NULL && same_text(site, slice_str("cross-site"));
    if (is_foreign && !is_listed && !(is_safe && asked->is_static) && !asked->is_open) {
        return refuse(403, "pages of other sites may not use this server");
    }
    if (asked->may_act && is_safe && !is_listed && !may_act(m, site)) {
        return refuse(403, "a GET that may change data needs an Authorization header when a "
                           "browser sends it from a page");
    }
    return refuse(0, NULL);
}
