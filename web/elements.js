// The elements of a hash, list, set, sorted set or stream: a page at a time, and what can be done to
// each. A page is asked for by the cursor of the one before (KV.ELEMENTS). Once the collection has
// changed, cursors are stale: the place is found again by its number, as far as it is near.

import {h, fill, setText} from './dom.js';
import * as api from './api.js';
import {keyText} from './keys.js';
import {countText} from './json.js';
import {number, duration, dateTime} from './format.js';
import {fromReply, shownBytes, exactText} from './bytes.js';
import {commandLine, deny, guard} from './command.js';
import {question} from './rediskey.js';
import {addElement, editElement, removeElement, fieldExpiry} from './elementforms.js';

const PAGE = 100;
const SEEK_MAX = 10000; // elements that are passed to find a place again
const FIRST = {from: 0, cursor: null};

const COLUMNS = {
    hash: ['Field', 'Value', 'Expires'],
    list: ['Position', 'Value'],
    set: ['Member'],
    zset: ['Member', 'Score'],
    stream: ['Id', 'Fields'],
};
const FIGURES = ['Expires', 'Score'];
const ADD = {
    hash: ['Set a field', 'HSET', '1', '1'],
    list: ['Push an element', 'RPUSH', '1'],
    set: ['Add a member', 'SADD', '1'],
    zset: ['Add a member', 'ZADD', '1', '1'],
    stream: ['Add an entry', 'XADD', '*', '1', '1'],
};
// What a row has buttons for: [label, form, command and words after the key].
const remove = (...words) => ['Delete', removeElement, ...words];
const ACTIONS = {
    hash: [
        ['Edit', editElement, 'HSET', '1', '1'],
        ['Expiry', fieldExpiry, 'HPEXPIRE', '1000', 'FIELDS', '1', '1'],
        remove('HDEL', '1'),
    ],
    list: [['Edit', editElement, 'LSET', '0', '1'], remove('LREM', '1', '1')],
    set: [remove('SREM', '1')],
    zset: [['Score', editElement, 'ZADD', '1', '1'], remove('ZREM', '1')],
    stream: [remove('XDEL', '1-1')],
};

/* An element of a reply: what its row shows and its forms need. */
function readElement(kind, item, position) {
    if (kind === 'hash') return {name: fromReply(item[0]), value: fromReply(item[1]), expires: item[2]};
    if (kind === 'list') return {position, value: fromReply(item)};
    if (kind === 'set') return {name: fromReply(item)};
    if (kind === 'zset') return {name: fromReply(item[0]), score: exactText(fromReply(item[1]))};
    return {id: exactText(fromReply(item[0])), fields: item[1].map(fromReply)};
}

export class Elements {
    /* {key (parts), kind, signal, changed(), failed(error)}: changed() is called after a write, and when
     * it is another collection by now. */
    constructor(o) {
        this.o = o;
        this.key = o.key;
        this.kind = o.kind;
        this.json = keyText(o.key);
        this.places = [FIRST]; // of the pages up to this one
        this.next = null; // the place of the next page
        this.turns = 0; // how often a page was asked for
        this.denied = {}; // of what rows have buttons for: why the user may not do it
        this.build();
        this.watchRights();
    }

    build() {
        this.place = h('span', {class: 'figures', role: 'status'});
        this.note = h(
            'p',
            {class: 'dim', role: 'status', hidden: true},
            'The collection has changed: these are its first elements again.',
        );
        this.body = h('tbody');
        this.line = commandLine(() => this.words(this.places.at(-1), PAGE));
        const pager = (text, step) =>
            h('button', {class: 'small', hidden: true, onclick: () => this.page(step)}, text);
        this.before = pager('Previous page', -1);
        this.after = pager('Next page', 1);
        const [label, name, ...rest] = ADD[this.kind];
        const add = guard(
            h('button', {class: 'small primary', onclick: () => this.done(addElement(this))}, label),
            () => question(this.key, k => [name, k, ...rest]),
        );
        this.table = h(
            'table',
            {class: `elements elements-${this.kind}`},
            h(
                'thead',
                {},
                h(
                    'tr',
                    {},
                    COLUMNS[this.kind].map(t =>
                        h('th', {scope: 'col', class: FIGURES.includes(t) ? 'num' : ''}, t),
                    ),
                    h('th', {scope: 'col'}, h('span', {class: 'hidden-text'}, 'Actions')),
                ),
            ),
            this.body,
        );
        this.el = h(
            'div',
            {},
            h('div', {class: 'table-head'}, this.place, add),
            this.note,
            h('div', {class: 'scroll-x'}, this.table),
            h('div', {class: 'pager'}, this.before, this.after),
            this.line.el,
        );
    }

    words({cursor}, limit) {
        const words = ['KV.ELEMENTS', this.json, 'LIMIT', String(limit)];
        return cursor === null ? words : [...words, 'CURSOR', cursor];
    }

    async page(step) {
        const places = step < 0 ? this.places.slice(0, -1) : [...this.places, this.next];
        if (!(await this.show(places))) this.o.changed();
    }

    /* The page that is shown is read again: the collection has changed, or may have. */
    reload() {
        return this.show(this.places.map(p => ({from: p.from, cursor: null})));
    }

    /* Shows the last of these places; false = the collection is not there. */
    async show(places) {
        try {
            return await this.open(places);
        } catch (e) {
            if (e.name !== 'AbortError') this.o.failed(e);
            return true;
        }
    }

    async open(places) {
        const turn = ++this.turns;
        let found = places;
        let page = await this.askAt(places.at(-1));
        if (page === undefined) {
            found = await this.find(places);
            page = await this.ask(found.at(-1), PAGE);
        }
        if (turn !== this.turns) return true; // another page was asked for meanwhile
        this.note.hidden = places.at(-1).from <= SEEK_MAX || found.length > 1;
        if (page !== null) this.draw(found, page);
        return page !== null;
    }

    /* The page at a place; undefined: it has to be found anew. */
    async askAt(place) {
        if (place.from > 0 && place.cursor === null) return undefined;
        try {
            return await this.ask(place, PAGE);
        } catch (e) {
            if (e.code !== 'STALE') throw e;
            return undefined;
        }
    }

    /* These places in the collection as it is now: up to the last one that it has; the first if that is
     * far. */
    async find(places) {
        let wanted = places;
        while (wanted.length > 1 && wanted.at(-1).from <= SEEK_MAX) {
            const place = await this.seek(wanted.at(-1).from);
            if (place.cursor !== null) return [...wanted.slice(0, -1), place];
            wanted = wanted.filter(p => p.from < place.from);
        }
        return [FIRST];
    }

    /* The place after so many elements; without a cursor when there are no more than its `from`. */
    async seek(from) {
        let at = FIRST;
        while (at.from < from) {
            const page = await this.ask(at, from - at.from);
            if (page === null) return FIRST;
            at = {from: at.from + page.items.length, cursor: page.cursor};
            if (page.cursor === null) return at;
        }
        return at;
    }

    /* {length, cursor, items}; null: the key is not there any more. */
    async ask(place, limit) {
        const {signal} = this.o;
        const reply = await api.call(this.words(place, limit), {signal, encoding: 'base64'});
        if (reply === null || exactText(fromReply(reply[1])) !== this.kind) return null;
        const cursor = exactText(fromReply(reply[4]));
        return {length: reply[2], cursor: cursor === '0' ? null : cursor, items: reply[5]};
    }

    draw(places, {length, cursor, items}) {
        this.places = places;
        const {from} = places.at(-1);
        this.next = cursor === null ? null : {from: from + items.length, cursor};
        fill(
            this.body,
            items.map((item, i) => this.row(readElement(this.kind, item, from + i))),
        );
        this.before.hidden = places.length === 1;
        this.after.hidden = this.next === null;
        const all = countText({kind: this.kind, length});
        const isAll = places.length === 1 && this.next === null;
        const to = number(from + items.length);
        setText(this.place, isAll ? `all ${all}` : `${number(from + 1)} to ${to} of ${all}`);
        this.table.hidden = items.length === 0;
        this.line.update();
    }

    row(x) {
        return h('tr', {}, this.cells(x), h('td', {class: 'element-actions'}, this.actions(x)));
    }

    cells(x) {
        const bytes = data => h('td', {class: 'mono element'}, shownBytes(data));
        if (this.kind === 'hash') return [bytes(x.name), bytes(x.value), expiryCell(x.expires)];
        if (this.kind === 'list') return [h('td', {}, number(x.position)), bytes(x.value)];
        if (this.kind === 'set') return [bytes(x.name)];
        if (this.kind === 'zset') return [bytes(x.name), h('td', {class: 'mono num'}, x.score)];
        return [
            h('td', {class: 'mono stream-id'}, x.id),
            h('td', {class: 'mono element'}, fieldList(x.fields)),
        ];
    }

    actions(x) {
        return ACTIONS[this.kind].map(([label, form]) => {
            const act = () => this.done(form(this, x));
            const button = h('button', {class: 'small quiet', data: {action: label}, onclick: act}, label);
            if (this.denied[label]) deny(button, this.denied[label]);
            return button;
        });
    }

    /* What the user may not do is asked once for all rows, and again when the server has refused
     * something. */
    watchRights() {
        const ask = async ([label, , name, ...rest]) => {
            const text = await api.missing(question(this.key, k => [name, k, ...rest]));
            if (text === '' || this.denied[label]) return;
            this.denied[label] = text;
            for (const el of this.body.querySelectorAll(`[data-action="${label}"]`)) deny(el, text);
        };
        const askAll = () => ACTIONS[this.kind].forEach(ask);
        const off = api.on('refused', askAll);
        this.o.signal.addEventListener('abort', off);
        askAll();
    }

    /* A form resolves with true when it has written. */
    async done(form) {
        if ((await form) === true) this.o.changed();
    }
}

function expiryCell(at) {
    if (at === null) return h('td', {class: 'num dim'}, 'never');
    const left = at - Date.now();
    return h('td', {class: 'num', title: dateTime(at)}, left <= 0 ? 'now' : `in ${duration(left)}`);
}

function fieldList(fields) {
    const pairs = [];
    for (let i = 0; i + 1 < fields.length; i += 2) {
        const name = h('span', {class: 'v-name'}, shownBytes(fields[i]));
        pairs.push(h('div', {}, name, ': ', shownBytes(fields[i + 1])));
    }
    return pairs;
}
