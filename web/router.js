// The address: #/<screen>?name=value. The database is part of it, so that an address names a place.

/* {screen, params} of the address. */
export function route() {
    const text = location.hash.replace(/^#\/?/, '');
    const at = text.indexOf('?');
    const params = new URLSearchParams(at < 0 ? '' : text.slice(at + 1));
    return {screen: (at < 0 ? text : text.slice(0, at)) || 'overview', params};
}

/* Names whose value is null or '' are left out. */
export function address(screen, params = {}, db = route().params.get('db')) {
    const p = new URLSearchParams();
    for (const [name, value] of Object.entries({...params, db})) {
        if (value !== null && value !== undefined && value !== '') p.set(name, value);
    }
    const query = p.toString();
    return `#/${screen}${query === '' ? '' : `?${query}`}`;
}

export function go(screen, params, db) {
    const to = address(screen, params, db);
    if (location.hash === to) dispatchEvent(new HashChangeEvent('hashchange'));
    else location.hash = to;
}
