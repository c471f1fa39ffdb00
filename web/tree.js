// The tree of keys. It never loads all keys: the children of a prefix are found by skipping, one
// short page for each child at most, so a child of ten million keys costs as much as one of ten.

import {h, fill, icon, setText} from './dom.js';
import * as api from './api.js';
import {
    parseKey,
    keyText,
    partText,
    partLabel,
    sameKey,
    afterSubtree,
    FIRST,
    KINDS,
} from './keys.js';
import {short, number} from './format.js';
import {kindName, collectionText} from './json.js';
import {collectionKinds} from './kinds.js';

const CHILDREN = 100; // shown at once
const PAGE = 100;
const SHORT_PAGE = 8; // once children turn out to be large
const COUNTS = 2; // asked for at the same time
const SHOW_MS = 100; // what was found so far is shown so often

/* The children of a prefix from `start` on (a key, or null for the first): {children, next}, with
 * `next` the key to go on from, null = no more. `seen(children)` is called as they come. */
export async function childrenOf(prefix, start, signal, seen) {
    const children = [];
    let limit = PAGE,
        shownAt = performance.now();
    for (;;) {
        const words = ['KV.LIST', 'PREFIX', keyText(prefix)];
        if (start !== null) words.push('START', keyText(start));
        const [cursor, keys] = await api.call([...words, 'KEYSONLY', 'LIMIT', String(limit)], {
            signal,
        });
        const distinct = group(children, keys, prefix.length);
        if (children.length > CHILDREN) {
            const next = [...prefix, children[CHILDREN].part];
            children.length = CHILDREN;
            return {children, next};
        }
        const last = children[children.length - 1];
        const after =
            last === undefined ? null : last.hasBelow ? afterSubtree(last.part) : undefined;
        if (cursor === '0' || after === null) return {children, next: null};
        start = after === undefined ? [...prefix, last.part, FIRST] : [...prefix, after];
        limit = distinct <= 2 ? SHORT_PAGE : PAGE;
        if (children.length === CHILDREN && after !== undefined) return {children, next: start};
        if (performance.now() - shownAt < SHOW_MS) continue;
        seen(children);
        shownAt = performance.now();
    }
}

function group(children, keys, depth) {
    let distinct = 0;
    for (const text of keys) {
        const key = parseKey(text);
        let last = children[children.length - 1];
        if (last === undefined || partText(last.part) !== partText(key[depth])) {
            last = {part: key[depth], hasEntry: false, hasBelow: false};
            children.push(last);
            distinct++;
        }
        if (key.length === depth + 1) last.hasEntry = true;
        else last.hasBelow = true;
    }
    return distinct;
}

export function mark(part) {
    const kind = KINDS[part.k];
    return h(
        'span',
        {class: `kind kind-${part.k}`, title: kind.name, role: 'img', 'aria-label': kind.name},
        kind.mark,
    );
}

export class Tree {
    /* `pick(parts, hasEntry, hasBelow)` is called when the user chooses a node. */
    constructor(view, pick) {
        this.view = view;
        this.pick = pick;
        this.controller = new AbortController();
        view.leave(() => this.controller.abort());
        this.counting = 0;
        this.looking = 0; // children being looked for: counts wait for that
        this.toCount = [];
        this.root = this.node([], null, null);
        this.root.isOpen = true;
        this.el = h('ul', {
            class: 'tree',
            role: 'tree',
            'aria-label': 'Keys',
            onkeydown: e => this.key(e),
        });
        this.status = h('p', {class: 'dim small-text', role: 'status'});
        this.selected = null;
    }

    node(parts, child, parent) {
        return {
            parts,
            child,
            parent,
            children: null,
            next: null,
            isOpen: false,
            el: null,
            count: null,
            kindAsked: false,
        };
    }

    async load() {
        await this.expand(this.root, this.el);
    }

    /* Loads (more) children of a node into `list`. */
    async expand(node, list) {
        const {signal} = this.controller;
        const from = node.children === null ? null : node.next;
        const had = node.children === null ? [] : node.children;
        setText(this.status, 'Looking…');
        this.looking++;
        let answer;
        try {
            answer = await childrenOf(node.parts, from, signal, found =>
                this.draw(node, had, found, list, null),
            );
        } catch (e) {
            if (e.name === 'AbortError') return;
            setText(this.status, e.message);
            return;
        } finally {
            this.looking--;
            this.count();
        }
        setText(this.status, '');
        this.draw(node, had, answer.children, list, answer.next);
        if (node === this.root && node.children.length === 0) setText(this.status, 'No keys yet.');
        this.count();
    }

    draw(node, had, found, list, next) {
        const known = new Map((node.children || []).map(n => [partText(n.child.part), n]));
        const made = found.map(c => {
            const old = known.get(partText(c.part));
            if (old === undefined) return this.node([...node.parts, c.part], c, node);
            old.child = c;
            return old;
        });
        node.children = [...had, ...made];
        node.next = next;
        this.kinds(made);
        const items = node.children.map(n => this.item(n));
        if (next !== null) {
            items.push(
                h(
                    'li',
                    {role: 'none', class: 'tree-more'},
                    h(
                        'button',
                        {
                            class: 'small quiet',
                            tabIndex: -1,
                            onclick: () => this.expand(node, list),
                        },
                        `more after the first ${number(node.children.length)}`,
                    ),
                ),
            );
        }
        if (
            list.childElementCount !== items.length ||
            items.some((el, i) => list.children[i] !== el)
        ) {
            fill(list, items);
        }
        this.roving();
    }

    item(node) {
        const {hasBelow, part, hasEntry} = node.child;
        if (node.el === null) this.build(node, part);
        node.fold.hidden = !hasBelow;
        if (hasBelow) node.el.setAttribute('aria-expanded', String(node.isOpen));
        node.row.classList.toggle('is-entry', hasEntry);
        node.row.title = keyText(node.parts);
        if (hasBelow && node.count === null && !this.toCount.includes(node))
            this.toCount.push(node);
        return node.el;
    }

    build(node, part) {
        const open = e => {
            e.stopPropagation();
            this.toggle(node);
        };
        node.fold = h(
            'span',
            {class: 'fold', onclick: open, 'aria-hidden': 'true'},
            icon('right', 12),
        );
        node.kindEl = h('span', {class: 'count collection', hidden: true});
        node.countEl = h('span', {class: 'count'});
        node.row = h(
            'div',
            {class: 'tree-row', onclick: () => this.choose(node)},
            h('span', {class: 'fold-place'}, node.fold),
            mark(part),
            h('span', {class: 'tree-label mono'}, partLabel(part)),
            node.kindEl,
            node.countEl,
        );
        node.list = h('ul', {role: 'group', hidden: true});
        node.el = h(
            'li',
            {
                role: 'treeitem',
                tabIndex: -1,
                'aria-selected': 'false',
                'aria-level': String(node.parts.length),
            },
            node.row,
            node.list,
        );
        node.el.node = node;
    }

    async toggle(node, open = !node.isOpen) {
        if (!node.child.hasBelow || node.isOpen === open) return;
        node.isOpen = open;
        node.el.setAttribute('aria-expanded', String(open));
        node.list.hidden = !open;
        if (open && node.children === null) await this.expand(node, node.list);
        if (!open) this.toCount = this.toCount.filter(n => n.parent !== node);
    }

    choose(node) {
        this.select(node);
        if (node.child.hasBelow) this.toggle(node, true);
        this.pick(node.parts, node.child.hasEntry, node.child.hasBelow);
    }

    select(node) {
        if (this.selected !== null) this.selected.el.setAttribute('aria-selected', 'false');
        this.selected = node;
        if (node !== null) node.el.setAttribute('aria-selected', 'true');
        this.roving();
    }

    /* Opens what leads to a prefix and the prefix itself, as far as they are among the children
     * shown. */
    async reveal(parts) {
        let node = this.root;
        for (let i = 0; i < parts.length; i++) {
            if (node.children === null) await this.expand(node, node.list || this.el);
            const wanted = parts.slice(0, i + 1);
            const next = (node.children || []).find(n => sameKey(n.parts, wanted));
            if (next === undefined) break;
            await this.toggle(next, true);
            node = next;
        }
        this.select(node === this.root ? null : node);
    }

    /* One item can be reached by Tab; arrows move among them. */
    roving() {
        for (const el of this.el.querySelectorAll('[role=treeitem][tabindex="0"]'))
            el.tabIndex = -1;
        const first =
            this.selected !== null ? this.selected.el : this.el.querySelector('[role=treeitem]');
        if (first) first.tabIndex = 0;
    }

    key(e) {
        const el = e.target.closest('[role=treeitem]');
        if (el === null) return;
        const node = el.node;
        const all = [...this.el.querySelectorAll('[role=treeitem]')].filter(
            x => x.offsetParent !== null,
        );
        const at = all.indexOf(el);
        const to = {ArrowDown: all[at + 1], ArrowUp: all[at - 1], Home: all[0], End: all.at(-1)}[
            e.key
        ];
        if (to) this.focus(to);
        else if (e.key === 'ArrowRight' && node.child.hasBelow) this.toggle(node, true);
        else if (e.key === 'ArrowLeft') {
            if (node.isOpen) this.toggle(node, false);
            else if (node.parent.el !== null) this.focus(node.parent.el);
        } else if (e.key === 'Enter' || e.key === ' ') this.choose(node);
        else return;
        e.preventDefault();
        e.stopPropagation();
    }

    focus(el) {
        for (const x of this.el.querySelectorAll('[tabindex="0"]')) x.tabIndex = -1;
        el.tabIndex = 0;
        el.focus();
    }

    // --- what comes late: which are hashes, lists, ...; counts ---

    async kinds(nodes) {
        const {signal} = this.controller;
        const asked = nodes.filter(n => n.child.hasEntry && !n.kindAsked);
        for (const n of asked) n.kindAsked = true;
        const found = await collectionKinds(
            asked.map(n => n.parts),
            signal,
        );
        found.forEach((c, i) => {
            const {kindEl} = asked[i];
            kindEl.hidden = c === null;
            if (c === null) return;
            setText(kindEl, `${kindName(c.kind)} ${short(c.length)}`);
            kindEl.title = collectionText(c);
        });
    }

    /* An entry has changed: the tree may show how much is in it. */
    changed(parts) {
        let node = this.root;
        for (let i = 0; i < parts.length; i++) {
            node = (node.children || []).find(n => sameKey(n.parts, parts.slice(0, i + 1)));
            if (node === undefined) return;
        }
        node.kindAsked = false;
        this.kinds([node]);
    }

    async count() {
        const {signal} = this.controller;
        while (
            this.looking === 0 &&
            this.counting < COUNTS &&
            this.toCount.length > 0 &&
            !signal.aborted
        ) {
            const node = this.toCount.shift();
            if (node.count !== null || !node.el.isConnected) continue;
            node.count = 'counting';
            this.counting++;
            this.countOne(node, signal).finally(() => {
                this.counting--;
                this.count();
            });
        }
    }

    async countOne(node, signal) {
        const slow = setTimeout(() => setText(node.countEl, '…'), 150);
        try {
            node.count = await api.call(['KV.COUNT', 'PREFIX', keyText(node.parts)], {signal});
            setText(node.countEl, short(node.count));
            node.countEl.title = `${number(node.count)} entries below`;
        } catch {
            node.count = null;
            setText(node.countEl, '');
        } finally {
            clearTimeout(slow);
        }
    }

    /* After a change: what is open is looked at anew. */
    async refresh() {
        this.controller.abort();
        this.controller = new AbortController();
        this.view.leave(() => this.controller.abort());
        const open = this.openKeys(this.root, []);
        const selected = this.selected === null ? null : this.selected.parts;
        this.selected = null;
        this.toCount = [];
        this.counting = 0;
        this.root = this.node([], null, null);
        this.root.isOpen = true;
        await this.expand(this.root, this.el);
        for (const parts of open) await this.reopen(parts);
        if (selected !== null) await this.reveal(selected);
    }

    openKeys(node, out) {
        for (const c of node.children || []) {
            if (!c.isOpen) continue;
            out.push(c.parts);
            this.openKeys(c, out);
        }
        return out;
    }

    async reopen(parts) {
        let node = this.root;
        for (let i = 0; i < parts.length; i++) {
            node = (node.children || []).find(n => sameKey(n.parts, parts.slice(0, i + 1)));
            if (node === undefined) return;
        }
        await this.toggle(node, true);
    }
}
