// Entries: what is in there? The tree of keys at the left, the entries below a prefix or one entry
// at the right.

import {h, fill, icon} from './dom.js';
import {go, address, route} from './router.js';
import {Tree, mark} from './tree.js';
import {EntryTable} from './entrytable.js';
import {Entry} from './entry.js';
import {newEntry} from './newentry.js';
import {keyText, partLabel, tryParseKey} from './keys.js';

export function render(view, params) {
    const screen = new Entries(view);
    screen.show(params);
    screen.tree.load().then(() => screen.reveal());
    return p => {
        screen.show(p);
        screen.reveal();
    };
}

class Entries {
    constructor(view) {
        this.view = view;
        this.crumbs = h('nav', {class: 'crumbs mono', 'aria-label': 'Prefix'});
        this.right = h('section', {class: 'entries-right', 'aria-label': 'Entries'});
        this.tree = new Tree(view, (parts, hasEntry, hasBelow) =>
            this.picked(parts, hasEntry, hasBelow),
        );
        this.part = null; // the table or the entry that is shown
        const refresh = h(
            'button',
            {class: 'small quiet', onclick: () => this.tree.refresh()},
            'Refresh',
        );
        const side = h(
            'section',
            {class: 'entries-left', 'aria-label': 'Tree of keys'},
            h('div', {class: 'side-head'}, h('h1', {}, 'Entries'), refresh),
            this.tree.el,
            this.tree.status,
        );
        const fold = h(
            'button',
            {
                class: 'quiet tree-toggle',
                'aria-expanded': 'false',
                onclick: () => {
                    const open = side.classList.toggle('is-open');
                    fold.setAttribute('aria-expanded', String(open));
                },
            },
            icon('entries'),
            'Tree',
        );
        fill(view.el, fold, h('div', {class: 'entries'}, side, this.right));
    }

    /* A node of the tree was chosen: an entry with nothing below is shown itself. */
    picked(parts, hasEntry, hasBelow) {
        if (hasBelow) go('entries', {p: keyText(parts)});
        else if (hasEntry) go('entries', {p: keyText(parts.slice(0, -1)), k: keyText(parts)});
        this.view.el.querySelector('.entries-left').classList.remove('is-open');
    }

    show(params) {
        this.prefix = tryParseKey(params.get('p') || '[]') || [];
        const key = params.get('k') === null ? null : tryParseKey(params.get('k'));
        this.drawCrumbs(key);
        if (this.part !== null) this.part.stop();
        if (key !== null) this.part = new Entry(this, key);
        else this.part = new EntryTable(this, this.prefix, params.get('w') || '');
        fill(this.right, this.crumbs, this.part.el);
        this.view.keys({
            ...this.part.keys,
            n: [
                () => {
                    newEntry(this, this.prefix);
                },
                'new entry',
            ],
        });
    }

    reveal() {
        if (this.prefix.length > 0) this.tree.reveal(this.prefix);
    }

    drawCrumbs(key) {
        const parts = key === null ? this.prefix : key;
        const crumb = i =>
            h(
                'a',
                {href: address('entries', {p: keyText(parts.slice(0, i))}), class: 'crumb'},
                i === 0 ? 'all keys' : [mark(parts[i - 1]), partLabel(parts[i - 1])],
            );
        const all = [];
        for (let i = 0; i <= parts.length; i++) {
            if (i > 0) all.push(h('span', {class: 'dim', 'aria-hidden': 'true'}, '/'));
            if (i === parts.length && key !== null) {
                all.push(
                    h('span', {class: 'crumb here'}, mark(parts[i - 1]), partLabel(parts[i - 1])),
                );
            } else all.push(crumb(i));
        }
        fill(this.crumbs, all);
    }

    /* After a write: table and tree are asked anew. */
    changed() {
        this.tree.refresh();
        if (this.part !== null && this.part.reload) this.part.reload();
    }

    back() {
        const w = route().params.get('w');
        go('entries', {p: keyText(this.prefix), w});
    }
}
