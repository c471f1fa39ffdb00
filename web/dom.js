// Building nodes. Nothing here, and nothing in the page, makes HTML from text: what comes from the
// database becomes text nodes.

const ATTRIBUTES = new Set(['for', 'list', 'colspan', 'rowspan', 'type', 'form']);

/* h('button', {class: 'x', onclick: f, disabled: true}, 'text', node, [more]): null and false
 * children are left out; a name that begins with "on" is a listener. A button sends its form only when its type
 * says so. */
export function h(tag, options, ...children) {
    const el = document.createElement(tag);
    if (tag === 'button') el.type = 'button';
    for (const [name, value] of Object.entries(options || {})) set(el, name, value);
    append(el, children);
    return el;
}

function set(el, name, value) {
    if (value === null || value === undefined || value === false) return;
    if (name.startsWith('on')) el.addEventListener(name.slice(2), value);
    else if (name === 'class') el.className = value;
    else if (name === 'data') Object.assign(el.dataset, value);
    else if (name.includes('-') || name === 'role' || ATTRIBUTES.has(name)) {
        el.setAttribute(name, value === true ? '' : value);
    } else el[name] = value;
}

function append(el, children) {
    for (const c of children) {
        if (c === null || c === undefined || c === false) continue;
        if (Array.isArray(c)) append(el, c);
        else el.append(c instanceof Node ? c : String(c));
    }
}

export function fill(el, ...children) {
    el.replaceChildren();
    append(el, children);
    return el;
}

/* Sets the text only when it is another: a figure that stays keeps its selection. */
export function setText(el, text) {
    if (el.textContent !== String(text)) el.textContent = text;
}

const SVG = 'http://www.w3.org/2000/svg';

export function svg(tag, attributes, ...children) {
    const el = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes || {})) el.setAttribute(name, value);
    el.append(...children);
    return el;
}

// Icons: strokes on 16 x 16.
const PATHS = {
    overview: 'M2 9h3l2-6 3 10 2-4h2',
    entries: 'M3 3h4v3H3zM7 4.5h2v7h2M9 7.5h2M11 6h3v3h-3zM11 10h3v3h-3z',
    queues: 'M2 4h12M2 8h12M2 12h7M12 10l2 2-2 2',
    indexes: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5 14 14',
    feed: 'M3 13a10 10 0 0 0 0-10M6.5 12a8 8 0 0 0 0-8M10 11a6 6 0 0 0 0-6M13 8h.01',
    atomic: 'M8 2v12M3 5l10 6M13 5 3 11',
    console: 'M3 4l4 4-4 4M8 12h5',
    clients:
        'M5.5 7a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM2 13c0-2 1.5-3.5 3.5-3.5S9 11 9 13M11 7.5a1.6 1.6 0 1 0 0-3.2M11.5 9.8c1.6.2 2.5 1.5 2.5 3.2',
    databases:
        'M3 4c0-1 2-2 5-2s5 1 5 2-2 2-5 2-5-1-5-2zM3 4v8c0 1 2 2 5 2s5-1 5-2V4M3 8c0 1 2 2 5 2s5-1 5-2',
    users: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 14c0-3 2.5-4.5 5.5-4.5s5.5 1.5 5.5 4.5',
    copy: 'M5 5h8v9H5zM3 11V2h8',
    sun: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1v2M8 13v2M1 8h2M13 8h2M3 3l1.4 1.4M11.6 11.6 13 13M13 3l-1.4 1.4M4.4 11.6 3 13',
    moon: 'M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z',
    auto: 'M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 0 1 0 12',
    more: 'M3 6l5 5 5-5',
    right: 'M6 3l5 5-5 5',
    left: 'M10 3 5 8l5 5',
    close: 'M3.5 3.5l9 9M12.5 3.5l-9 9',
    menu: 'M2 4h12M2 8h12M2 12h12',
};

export function icon(name, size = 16) {
    const el = svg('svg', {
        viewBox: '0 0 16 16',
        width: size,
        height: size,
        class: 'icon',
        'aria-hidden': 'true',
    });
    el.append(svg('path', {d: PATHS[name]}));
    return el;
}
