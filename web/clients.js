// Clients: who is connected, what holds the server up.

import {h, fill, setText} from './dom.js';
import * as api from './api.js';
import {bytes, number, duration, dateTime} from './format.js';
import {freshness} from './fresh.js';
import {commandLine, guard} from './command.js';
import {confirm, toast, errorBox} from './dialog.js';
import {listKeys} from './shortcuts.js';
import {Pager} from './pager.js';

/* The lines "id=3 addr=… name=…" of CLIENT LIST. */
export function parseClients(text) {
    return text
        .split('\n')
        .filter(l => l !== '')
        .map(line =>
            Object.fromEntries(
                line
                    .trim()
                    .split(' ')
                    .map(f => {
                        const at = f.indexOf('=');
                        return [f.slice(0, at), f.slice(at + 1)];
                    }),
            ),
        );
}

/** @type {[string, string, boolean?][]} */
const COLUMNS = [
    ['id', 'Id', true],
    ['addr', 'Address'],
    ['name', 'Name'],
    ['user', 'User'],
    ['db', 'Database'],
    ['cmd', 'Last command'],
    ['age', 'Connected', true],
    ['idle', 'Idle', true],
    ['tot-mem', 'Memory', true],
    ['omem', 'Unsent', true],
    ['sub', 'Listens to', true],
];
const ROWS = 100; // shown at once
const SLOW_ROWS = 50;

export function render(view) {
    const screen = new Clients(view);
    view.every(3000, () => screen.ask());
}

class Clients {
    constructor(view) {
        this.view = view;
        this.sort = 'tot-mem';
        this.clients = [];
        this.fresh = freshness(3000);
        this.slowFresh = freshness(3000);
        this.error = errorBox();
        this.place = h('span', {role: 'status'});
        this.pager = new Pager(ROWS, () => this.draw());
        this.heads = h('tr');
        this.body = h('tbody');
        this.slow = h('tbody');
        this.slowRows = [];
        this.slowPlace = h('span', {role: 'status'});
        this.slowPager = new Pager(SLOW_ROWS, () => this.drawSlow());
        this.find = h('input', {
            type: 'search',
            class: 'small-input',
            placeholder: 'Filter   /',
            'data-search': true,
            'aria-label': 'Filter clients',
            oninput: () => {
                this.pager.first();
                this.draw();
            },
        });
        const reset = guard(
            h('button', {class: 'small', onclick: () => this.resetSlow()}, 'Forget these'),
            () => ['SLOWLOG', 'RESET'],
        );
        fill(
            view.el,
            h(
                'div',
                {class: 'head'},
                h('h1', {}, 'Clients'),
                this.place,
                h('span', {class: 'spring'}),
                this.find,
                this.fresh.el,
            ),
            this.error.el,
            h(
                'section',
                {class: 'panel', 'aria-label': 'Clients'},
                h(
                    'div',
                    {
                        class: 'scroll-x',
                        tabIndex: 0,
                        role: 'region',
                        'aria-label': 'Table of clients',
                    },
                    h('table', {}, h('thead', {}, this.heads), this.body),
                ),
                this.pager.el,
                commandLine(() => ['CLIENT', 'LIST']).el,
            ),
            h(
                'section',
                {class: 'panel'},
                h('div', {class: 'table-head'}, h('h2', {}, 'Slow log'), this.slowPlace, reset, this.slowFresh.el),
                h(
                    'div',
                    {
                        class: 'scroll-x',
                        tabIndex: 0,
                        role: 'region',
                        'aria-label': 'Table of slow commands',
                    },
                    h(
                        'table',
                        {},
                        h(
                            'thead',
                            {},
                            h(
                                'tr',
                                {},
                                ['When', 'Took', 'Command', 'Client'].map(t =>
                                    h('th', {scope: 'col'}, t),
                                ),
                            ),
                        ),
                        this.slow,
                    ),
                ),
                this.slowPager.el,
                commandLine(() => ['SLOWLOG', 'GET', '-1']).el,
            ),
        );
        this.list = listKeys(
            () => [...this.body.children],
            el => el.querySelector('button')?.focus(),
        );
        view.keys(this.list.keys);
    }

    async ask() {
        try {
            const [list, slow] = await api.pipeline(
                [
                    ['CLIENT', 'LIST'],
                    ['SLOWLOG', 'GET', '-1'],
                ],
                {signal: this.view.signal},
            );
            this.error.clear();
            if (list.error !== undefined) this.error.show(list.error);
            else {
                this.clients = parseClients(list.result);
                this.fresh.done();
                this.draw();
            }
            if (slow.error !== undefined)
                fill(this.slow, h('tr', {}, h('td', {colspan: 4, class: 'dim'}, slow.error)));
            else {
                this.slowFresh.done();
                this.slowRows = slow.result;
                this.drawSlow();
            }
        } catch (e) {
            if (e.name === 'AbortError') return;
            this.error.show(e);
            this.fresh.failed();
        }
    }

    draw() {
        fill(
            this.heads,
            COLUMNS.map(([id, name, isNumber]) =>
                h(
                    'th',
                    {
                        scope: 'col',
                        class: isNumber ? 'num' : '',
                        'aria-sort': this.sort === id ? 'descending' : 'none',
                    },
                    h(
                        'button',
                        {
                            class: 'small quiet',
                            onclick: () => {
                                this.sort = id;
                                this.draw();
                            },
                        },
                        name,
                        this.sort === id ? ' ↓' : '',
                    ),
                ),
            ),
            h('th', {scope: 'col'}, h('span', {class: 'dim'}, 'Close')),
        );
        const needle = this.find.value.toLowerCase();
        const rows = this.clients.filter(
            c =>
                needle === '' ||
                [c.addr, c.name, c.user, c.cmd].some(t => (t || '').toLowerCase().includes(needle)),
        );
        const key = c => (Number.isNaN(Number(c[this.sort])) ? c[this.sort] : Number(c[this.sort]));
        rows.sort((a, b) => (key(a) < key(b) ? 1 : key(a) > key(b) ? -1 : 0));
        const some = this.pager.of(rows);
        setText(this.place, this.pager.text(rows.length));
        fill(
            this.body,
            some.map(c => this.row(c)),
        );
    }

    row(c) {
        const show = {
            age: v => duration(v * 1000),
            idle: v => duration(v * 1000),
            'tot-mem': v => bytes(Number(v)),
            omem: v => bytes(Number(v)),
            sub: () => String(Number(c.sub) + Number(c.psub)),
        };
        const kill = guard(
            h(
                'button',
                {
                    class: 'small danger-quiet',
                    'aria-label': `Close connection ${c.id}`,
                    onclick: () => this.kill(c),
                },
                'close',
            ),
            () => ['CLIENT', 'KILL', 'ID', c.id],
        );
        return h(
            'tr',
            {},
            COLUMNS.map(([id, , isNumber]) =>
                h('td', {class: isNumber ? 'num' : 'mono'}, show[id] ? show[id](c[id]) : c[id]),
            ),
            h('td', {}, kill),
        );
    }

    async kill(c) {
        const words = ['CLIENT', 'KILL', 'ID', c.id];
        const ok = await confirm('Close this connection?', `${c.addr} ${c.name} (user ${c.user})`, {
            yes: 'Close it',
            danger: true,
            command: commandLine(() => words).el,
        });
        if (!ok) return;
        try {
            toast((await api.call(words)) === 1 ? 'Closed.' : 'It was gone already.');
        } catch (e) {
            toast(e.message, 'bad');
        }
        this.ask();
    }

    drawSlow() {
        const rows = this.slowPager.of(this.slowRows);
        setText(this.slowPlace, this.slowPager.text(this.slowRows.length));
        fill(
            this.slow,
            rows.length === 0
                ? h(
                      'tr',
                      {},
                      h(
                          'td',
                          {colspan: 4, class: 'dim'},
                          'Commands that took longer than the setting slowlog-log-slower-than would be here.',
                      ),
                  )
                : rows.map(([, at, us, words, addr, name]) =>
                      h(
                          'tr',
                          {},
                          h('td', {class: 'num'}, dateTime(at * 1000)),
                          h('td', {class: 'num'}, duration(us / 1000)),
                          h('td', {class: 'mono break'}, words.join(' ').slice(0, 400)),
                          h('td', {class: 'mono'}, name || addr),
                      ),
                  ),
        );
    }

    async resetSlow() {
        try {
            await api.call(['SLOWLOG', 'RESET']);
        } catch (e) {
            toast(e.message, 'bad');
        }
        this.ask();
    }
}
