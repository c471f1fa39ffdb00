// Keys. A screen sets its own while it is shown; `g` and a letter go to a screen from anywhere.

import {h} from './dom.js';
import {dialog} from './dialog.js';

const SCREENS = {
    o: ['overview', 'Overview'],
    e: ['entries', 'Entries'],
    q: ['queues', 'Queues'],
    s: ['indexes', 'Indexes and search'],
    f: ['feed', 'Feed'],
    c: ['console', 'Console'],
    a: ['atomic', 'Atomic'],
    l: ['clients', 'Clients'],
    d: ['databases', 'Databases'],
    u: ['users', 'Users'],
};

let own = {};
let waitsForScreen = 0;

/* {key: [f, 'what it does']}; f may return false: then the browser has the key. */
export function setShortcuts(keys) {
    own = keys;
}

export function startShortcuts(go, focusSearch) {
    addEventListener('keydown', e => {
        if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey) return;
        if (document.querySelector('dialog[open]') !== null) return; // Escape is the dialog's, and nothing else
        if (e.target instanceof HTMLElement && isTyping(e.target)) {
            if (e.key === 'Escape') e.target.blur();
            return;
        }
        if (handle(e, go, focusSearch)) e.preventDefault();
    });
}

function isTyping(el) {
    return (
        el.isContentEditable ||
        /^(TEXTAREA|SELECT)$/.test(el.tagName) ||
        (el.tagName === 'INPUT' && !/^(checkbox|radio|button)$/.test(el.type))
    );
}

function handle(e, go, focusSearch) {
    if (Date.now() - waitsForScreen < 1500) {
        waitsForScreen = 0;
        if (SCREENS[e.key] !== undefined) {
            go(SCREENS[e.key][0]);
            return true;
        }
    }
    if (e.key === 'g') {
        waitsForScreen = Date.now();
        return true;
    }
    if (e.key === '?') {
        showHelp();
        return true;
    }
    if (e.key === '/') {
        focusSearch();
        return true;
    }
    // Enter and Space on a button or link are the browser's.
    if (e.key === 'Enter' && e.target.closest('button, a, summary') !== null) return false;
    const mine = own[e.key];
    return mine !== undefined && mine[0](e) !== false;
}

function rows(keys) {
    return keys.map(([key, what]) =>
        h(
            'tr',
            {},
            h(
                'td',
                {},
                key.split(' ').map(k => h('kbd', {}, k)),
            ),
            h('td', {}, what),
        ),
    );
}

export function showHelp() {
    const here = Object.entries(own).map(([k, [, what]]) => [
        k === 'Enter' ? 'enter' : k === 'Escape' ? 'esc' : k,
        what,
    ]);
    return dialog('Keys', close => [
        h(
            'table',
            {class: 'plain keys'},
            h(
                'tbody',
                {},
                rows([
                    ['/', 'search, or go to a key'],
                    ['?', 'this list'],
                    ...Object.entries(SCREENS).map(([k, [, name]]) => [`g ${k}`, name]),
                ]),
            ),
        ),
        here.length === 0 ? null : h('h3', {}, 'On this screen'),
        here.length === 0 ? null : h('table', {class: 'plain keys'}, h('tbody', {}, rows(here))),
        h('div', {class: 'actions'}, h('button', {onclick: () => close()}, 'Close')),
    ]);
}
/* j, k and Enter over the rows of a table or list: `rows()` are elements, `open(el)` is Enter. */
export function listKeys(rows, open) {
    let current = null;
    const move = step => {
        const all = rows();
        if (all.length === 0) return;
        const at = all.indexOf(current);
        const next =
            at < 0
                ? step > 0
                    ? 0
                    : all.length - 1
                : Math.min(all.length - 1, Math.max(0, at + step));
        select(all[next]);
    };
    const select = el => {
        if (current !== null) {
            current.classList.remove('current');
            current.removeAttribute('aria-current');
        }
        current = el;
        if (el === null) return;
        el.classList.add('current');
        el.setAttribute('aria-current', 'true');
        el.scrollIntoView({block: 'nearest'});
    };
    return {
        keys: {
            j: [() => move(1), 'next row'],
            k: [() => move(-1), 'row before'],
            Enter: [
                () => (current !== null && current.isConnected ? open(current) : false),
                'open the row',
            ],
        },
        select,
        current: () => (current !== null && current.isConnected ? current : null),
    };
}
