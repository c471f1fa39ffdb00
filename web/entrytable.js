// The entries below a prefix, a page of 100 at a time.

import {h, fill, setText} from './dom.js';
import * as api from './api.js';
import {go} from './router.js';
import {parseKey, keyText, partLabel} from './keys.js';
import {tryRead, typeName, asText, fromBase64, typed, collectionOf, countText} from './json.js';
import {number, short, bytes, duration, stamp, utf8Length} from './format.js';
import {mark} from './tree.js';
import {listKeys} from './shortcuts.js';
import {commandLine, guard} from './command.js';
import {errorBox} from './dialog.js';
import {commitAge} from './samples.js';
import {deleteBelow} from './deletebelow.js';
import {newEntry} from './newentry.js';
import {freshness} from './fresh.js';

const PAGE = 100;
const PREVIEW = 140; // characters of a value in its row

/* How long ago an entry was written, as well as this page can know. */
export function ageText(vs) {
    const age = commitAge(vs);
    if (age.after !== null) return `~${duration(Math.max(1000, Date.now() - age.after))}`;
    if (age.since === null) return '–';
    return age.since === 0n ? 'newest' : `${short(Number(age.since))} commits`;
}

export function ageTitle(vs) {
    const {since} = commitAge(vs);
    const commits =
        since === null ? '' : `; ${number(Number(since))} commits of all databases came since`;
    return (
        `versionstamp ${vs}${commits}. A versionstamp counts commits; how long ago is known only ` +
        'for entries written while this page is open.'
    );
}

export class EntryTable {
    constructor(screen, prefix, where) {
        this.screen = screen;
        this.prefix = prefix;
        this.where = where;
        this.controller = new AbortController();
        this.cursors = [null]; // of the pages up to this one
        this.next = null;
        this.isReverse = false;
        this.total = null;
        this.rows = [];
        this.build();
        this.list = listKeys(
            () => [...this.body.children],
            el => el.querySelector('a').click(),
        );
        this.keys = {
            ...this.list.keys,
            e: [() => this.edit(), "edit the row's entry"],
            Escape: [() => this.up(), 'one part up'],
            r: [() => this.reload(), 'read again'],
        };
        this.reload();
    }

    build() {
        this.filter = h('input', {
            class: 'mono',
            type: 'search',
            value: this.where,
            spellcheck: false,
            autocomplete: 'off',
            'data-search': true,
            'aria-label': 'Filter (WHERE)',
            placeholder: 'WHERE, such as {"age":{"$gte":18}}   /',
            oninput: () => this.line.update(),
        });
        this.error = errorBox();
        this.fresh = freshness(0);
        this.place = h('span', {class: 'figures', role: 'status'});
        this.body = h('tbody');
        this.empty = h('div', {class: 'empty', hidden: true});
        this.line = commandLine(() => this.words(this.cursors.at(-1)));
        this.before = h('button', {class: 'small', onclick: () => this.page(-1)}, 'Before');
        this.after = h('button', {class: 'small', onclick: () => this.page(1)}, 'Next 100');
        const order = h(
            'button',
            {
                class: 'small quiet',
                'aria-pressed': 'false',
                onclick: () => {
                    this.isReverse = !this.isReverse;
                    order.setAttribute('aria-pressed', String(this.isReverse));
                    this.first();
                },
            },
            'Last first',
        );
        this.table = h(
            'table',
            {class: 'entries-table'},
            h(
                'thead',
                {},
                h(
                    'tr',
                    {},
                    ['Key', 'Type', 'Value'].map(t => h('th', {scope: 'col'}, t)),
                    h(
                        'th',
                        {scope: 'col', class: 'num', title: 'Bytes of the value as typed JSON'},
                        'Size',
                    ),
                    h(
                        'th',
                        {
                            scope: 'col',
                            class: 'num',
                            title: 'Time, or number of commits, since it was written',
                        },
                        'Age',
                    ),
                    h('th', {scope: 'col', class: 'num'}, 'Expires'),
                ),
            ),
            this.body,
        );
        const create = guard(
            h(
                'button',
                {class: 'small primary', onclick: () => newEntry(this.screen, this.prefix)},
                'New entry',
            ),
            () => ['KV.SET', keyText([...this.prefix, {k: 'text', v: 'new'}]), '1'],
        );
        const clear = guard(
            h(
                'button',
                {
                    class: 'small danger-quiet',
                    onclick: () => deleteBelow(this.screen, this.prefix, this.filter.value.trim()),
                },
                'Delete below…',
            ),
            () => ['KV.DELRANGE', 'PREFIX', keyText(this.prefix)],
        );
        this.el = h(
            'div',
            {class: 'panel'},
            h(
                'form',
                {
                    class: 'filter',
                    onsubmit: e => {
                        e.preventDefault();
                        go('entries', {p: keyText(this.prefix), w: this.filter.value.trim()});
                    },
                },
                this.filter,
                h('button', {class: 'small', type: 'submit'}, 'Filter'),
                order,
                create,
                clear,
            ),
            this.error.el,
            h('div', {class: 'table-head'}, this.place, this.fresh.el),
            h('div', {class: 'scroll-x'}, this.table),
            this.empty,
            h('div', {class: 'pager'}, this.before, this.after),
            this.line.el,
        );
    }

    words(cursor) {
        const words = ['KV.LIST', 'PREFIX', keyText(this.prefix)];
        const where = this.filter.value.trim();
        if (where !== '') words.push('WHERE', where);
        if (this.isReverse) words.push('REVERSE');
        words.push('LIMIT', String(PAGE));
        return cursor === null ? words : [...words, 'CURSOR', cursor];
    }

    first() {
        this.cursors = [null];
        this.reload();
    }

    page(step) {
        if (step < 0) this.cursors.pop();
        else this.cursors.push(this.next);
        this.reload();
    }

    async reload() {
        this.controller.abort();
        this.controller = new AbortController();
        const {signal} = this.controller;
        this.error.clear();
        this.line.update();
        this.el.classList.add('is-loading');
        try {
            const [cursor, rows] = await api.call(this.words(this.cursors.at(-1)), {signal});
            this.next = cursor === '0' ? null : cursor;
            this.fresh.done();
            this.draw(rows);
            this.countAll(signal);
            this.expiries(rows, signal);
        } catch (e) {
            if (e.name === 'AbortError') return;
            this.error.show(e);
            this.fresh.failed();
        }
        this.el.classList.remove('is-loading');
    }

    draw(rows) {
        this.rows = rows;
        fill(
            this.body,
            rows.map(r => this.row(r)),
        );
        this.before.disabled = this.cursors.length === 1;
        this.after.disabled = this.next === null;
        this.table.hidden = rows.length === 0;
        this.empty.hidden = rows.length > 0;
        if (rows.length === 0) this.drawEmpty();
        this.drawPlace();
    }

    row([keyJson, value, vs]) {
        const key = parseKey(keyJson);
        const rest = key.slice(this.prefix.length);
        const node = value.length < 100000 ? tryRead(value) : null;
        const open = {p: keyText(this.prefix), k: keyJson, w: this.where};
        const link = h(
            'a',
            {
                class: 'key mono',
                href: '#',
                title: keyJson,
                onclick: e => {
                    e.preventDefault();
                    go('entries', open);
                },
            },
            rest.map((p, i) => [
                i > 0 ? h('span', {class: 'dim'}, ' / ') : null,
                mark(p),
                partLabel(p),
            ]),
        );
        const expires = h('td', {class: 'num'}, '');
        const tr = h(
            'tr',
            {
                onclick: e => {
                    if (e.target.closest('a') === null) link.click();
                },
            },
            h('td', {class: 'key-cell'}, link),
            h('td', {}, node === null && value.length >= 100000 ? 'large' : typeName(node)),
            ...valueCells(value, node),
            h('td', {class: 'num', title: ageTitle(vs)}, ageText(vs)),
            expires,
        );
        tr.dataset.key = keyJson;
        tr.expires = expires;
        return tr;
    }

    drawEmpty() {
        const p = keyText([...this.prefix, {k: 'text', v: 'a'}]);
        const line = commandLine(() => ['KV.SET', p, '{"hello":1}']);
        fill(
            this.empty,
            this.where !== ''
                ? [
                      h('p', {}, 'Nothing below this prefix matches the filter.'),
                      h('p', {class: 'dim'}, 'A missing $ before an operator is the usual reason.'),
                  ]
                : [
                      h(
                          'p',
                          {},
                          `No entries below ${keyText(this.prefix)}. This creates the first one:`,
                      ),
                      line.el,
                  ],
        );
    }

    drawPlace() {
        const n = this.rows.length;
        const at = (this.cursors.length - 1) * PAGE;
        const which =
            n === 0
                ? '0'
                : this.cursors.length === 1
                  ? this.next === null
                      ? `all ${number(n)}`
                      : `first ${number(n)}`
                  : `${number(at + 1)} to ${number(at + n)}`;
        const total =
            this.next === null && this.cursors.length === 1
                ? ''
                : this.total === null
                  ? ' of … (counting)'
                  : ` of about ${number(this.total)}`;
        setText(this.place, n === 0 ? '' : `${which}${total}`);
    }

    /* The count comes late, and is asked for only where the page does not tell it. */
    async countAll(signal) {
        if ((this.next === null && this.cursors.length === 1) || this.total !== null) return;
        const words = ['KV.COUNT', 'PREFIX', keyText(this.prefix)];
        const where = this.filter.value.trim();
        if (where !== '') words.push('WHERE', where);
        try {
            this.total = await api.call(words, {signal});
            this.drawPlace();
        } catch {
            // The rows are there; that their number is not known is what the place says.
        }
    }

    async expiries(rows, signal) {
        try {
            const answers = await api.pipeline(
                rows.map(r => ['KV.PTTL', r[0]]),
                {signal},
            );
            answers.forEach((a, i) => {
                const tr = this.body.children[i];
                if (tr === undefined || tr.dataset.key !== rows[i][0]) return;
                const ms = a.result;
                setText(
                    tr.expires,
                    ms === undefined ? '?' : ms === -1 ? 'never' : ms < 0 ? 'gone' : duration(ms),
                );
                tr.expires.classList.toggle('dim', ms === -1);
            });
        } catch {
            // Left, or lost: the column stays empty.
        }
    }

    edit() {
        const row = this.list.current();
        if (row === null) return false;
        go('entries', {p: keyText(this.prefix), k: row.dataset.key, w: this.where, edit: 1});
        return true;
    }

    up() {
        if (this.prefix.length === 0) return false;
        go('entries', {p: keyText(this.prefix.slice(0, -1))});
        return true;
    }

    stop() {
        this.controller.abort();
    }
}

/* What an entry has, and its size. Of a collection that is the number of its elements. */
function valueCells(value, node) {
    const collection = collectionOf(node);
    if (collection !== null)
        return [h('td', {class: 'preview'}, countText(collection)), h('td', {class: 'num'}, '')];
    const size = utf8Length(value);
    return [
        h('td', {class: 'preview mono'}, preview(value, node)),
        h('td', {class: 'num', title: `${number(size)} bytes`}, bytes(size)),
    ];
}

/* The beginning of a value; bytes that are text as text. */
function preview(value, node) {
    let text = value;
    const tag = node === null ? null : typed(node);
    if (tag !== null && tag.type === 'bytes' && tag.v.t === 'string') {
        const b = fromBase64(tag.v.text);
        const plain = b === null ? null : asText(b);
        if (plain !== null) text = plain;
    }
    return text.length > PREVIEW ? `${text.slice(0, PREVIEW)}…` : text;
}
