// Databases: names, what they hold, limits.

import {h, fill, setText} from './dom.js';
import * as api from './api.js';
import {address} from './router.js';
import {number, short, bytes, record, dateTime} from './format.js';
import {freshness} from './fresh.js';
import {commandLine, guard} from './command.js';
import {listKeys} from './shortcuts.js';
import {confirmTyped, dialog, errorBox, toast} from './dialog.js';
import {Pager} from './pager.js';

const ROWS = 100; // asked for, and shown, at once

export function render(view) {
    const screen = new Databases(view);
    view.every(5000, () => screen.ask());
}

class Databases {
    constructor(view) {
        this.view = view;
        this.all = [];
        this.fresh = freshness(5000);
        this.error = errorBox();
        this.place = h('span', {role: 'status'});
        this.body = h('tbody');
        this.empty = h('input', {type: 'checkbox', onchange: () => this.ask()});
        this.find = h('input', {
            type: 'search',
            class: 'small-input',
            placeholder: 'Filter   /',
            'data-search': true,
            'aria-label': 'Filter databases',
            oninput: () => {
                this.pager.first();
                this.ask();
            },
        });
        const create = guard(
            h('button', {class: 'primary small', onclick: () => this.edit(null)}, 'New database'),
            () => ['KV.DB', 'CREATE', 'x'],
        );
        this.pager = new Pager(ROWS, () => this.ask());
        fill(
            view.el,
            h(
                'div',
                {class: 'head'},
                h('h1', {}, 'Databases'),
                this.place,
                h('span', {class: 'spring'}),
                this.find,
                h('label', {class: 'inline'}, this.empty, 'empty ones too'),
                create,
                this.fresh.el,
            ),
            this.error.el,
            h(
                'div',
                {class: 'panel'},
                h(
                    'div',
                    {
                        class: 'scroll-x',
                        tabIndex: 0,
                        role: 'region',
                        'aria-label': 'Table of databases',
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
                                [
                                    ['Name'],
                                    ['Entries', 1],
                                    ['Bytes', 1],
                                    ['Queues', 1],
                                    ['Indexes', 1],
                                    ['Commands', 1],
                                    ['Waited', 1],
                                    ['Limits'],
                                    ['Change'],
                                ].map(([t, n]) =>
                                    h('th', {scope: 'col', class: n ? 'num' : ''}, t),
                                ),
                            ),
                        ),
                        this.body,
                    ),
                ),
                this.pager.el,
                commandLine(() => [
                    ['KV.DB', 'LIST'],
                    ['KV.DB', 'INFO', 'name'],
                ]).el,
            ),
        );
        this.keys = listKeys(
            () => [...this.body.children],
            el => el.querySelector('a')?.click(),
        );
        view.keys({
            ...this.keys.keys,
            n: [
                () => {
                    this.edit(null);
                },
                'new database',
            ],
        });
    }

    async ask() {
        const {signal} = this.view;
        try {
            const list = await api.call(['KV.DB', 'LIST'], {signal, db: '0'});
            const needle = this.find.value.toLowerCase();
            const fits = list.filter(([, name]) => name.toLowerCase().includes(needle));
            const infos = [];
            for (let i = 0; i < fits.length; i += ROWS) {
                const some = fits.slice(i, i + ROWS).map(([, name]) => ['KV.DB', 'INFO', name]);
                infos.push(...(await api.pipeline(some, {signal, db: '0'})));
            }
            this.fresh.done();
            this.error.clear();
            const rows = infos.filter(i => i.result).map(i => record(i.result));
            const shown = rows.filter(
                d =>
                    this.empty.checked ||
                    d.number === 0 ||
                    d.number > 15 ||
                    d.bytes > 0 ||
                    d.queues > 0 ||
                    d['max-bytes'] > 0 ||
                    String(d.number) === api.currentDatabase(),
            );
            const some = this.pager.of(shown);
            setText(
                this.place,
                shown.length > ROWS
                    ? this.pager.text(shown.length)
                    : `${number(shown.length)} of ${number(list.length)}`,
            );
            fill(
                this.body,
                some.map(d => this.row(d)),
            );
        } catch (e) {
            if (e.name === 'AbortError') return;
            this.error.show(e);
            this.fresh.failed();
        }
    }

    row(d) {
        const id = d.number === 0 ? null : String(d.name);
        const limit = (value, max, show) =>
            max === 0
                ? null
                : h(
                      'span',
                      {
                          class:
                              value >= max
                                  ? 'badge bad'
                                  : value > max * 0.8
                                    ? 'badge wait'
                                    : 'badge',
                      },
                      `${show(value)} of ${show(max)}`,
                  );
        const button = (text, cls, f, words) =>
            guard(
                h(
                    'button',
                    {class: `small ${cls}`, onclick: f, 'aria-label': `${text} ${d.name}`},
                    text,
                ),
                () => words,
            );
        const isOwn = d.number > 15;
        return h(
            'tr',
            {},
            h(
                'td',
                {},
                h('a', {class: 'mono', href: address('entries', {}, id)}, String(d.name)),
                d.comment ? h('div', {class: 'dim small-text'}, d.comment) : null,
                d['created-ms'] > 0
                    ? h('div', {class: 'dim small-text'}, `since ${dateTime(d['created-ms'])}`)
                    : null,
            ),
            h(
                'td',
                {class: 'num', title: `${number(d.expiring)} of them expire`},
                short(d.entries),
            ),
            h(
                'td',
                {class: 'num', title: `${bytes(d['bytes-on-disk'])} in tupled.db already`},
                bytes(d.bytes),
            ),
            h('td', {class: 'num'}, number(d.queues)),
            h('td', {class: 'num'}, number(d.indexes)),
            h('td', {class: 'num'}, short(d.operations)),
            h('td', {class: 'num'}, short(d.throttled)),
            h(
                'td',
                {},
                h(
                    'div',
                    {class: 'row'},
                    limit(d.bytes, d['max-bytes'], bytes),
                    limit(d.entries, d['max-entries'], short),
                    d.rate > 0 ? h('span', {class: 'badge'}, `${short(d.rate)} /s`) : null,
                ),
            ),
            h(
                'td',
                {},
                h(
                    'div',
                    {class: 'row'},
                    button('Limits', '', () => this.edit(d), [
                        'KV.DB',
                        'LIMIT',
                        String(d.name),
                        'RATE',
                        '0',
                    ]),
                    isOwn
                        ? button('Rename', '', () => this.rename(d), [
                              'KV.DB',
                              'RENAME',
                              d.name,
                              'x',
                          ])
                        : null,
                    button('Empty…', 'danger-quiet', () => this.flush(d), ['FLUSHDB']),
                    isOwn
                        ? button('Drop…', 'danger-quiet', () => this.drop(d), [
                              'KV.DB',
                              'DROP',
                              d.name,
                          ])
                        : null,
                ),
            ),
        );
    }

    async run(words, done, db = '0') {
        try {
            await api.call(words, {db});
            toast(done, 'good');
        } catch (e) {
            toast(e.message, 'bad');
        }
        this.ask();
    }

    async edit(d) {
        const words = await dialog(d === null ? 'New database' : `Limits of ${d.name}`, close =>
            limitsForm(d, close),
        );
        if (words !== undefined) this.run(words, d === null ? 'Created.' : 'Changed.');
    }

    async rename(d) {
        const words = await dialog(`Rename ${d.name}`, close => {
            const name = h('input', {
                class: 'mono wide',
                value: d.name,
                id: 'd-new',
                oninput: () => line.update(),
            });
            const get = () => ['KV.DB', 'RENAME', d.name, name.value];
            const line = commandLine(get);
            return h(
                'form',
                {
                    onsubmit: e => {
                        e.preventDefault();
                        close(get());
                    },
                },
                h('label', {for: 'd-new'}, 'New name'),
                name,
                line.el,
                h(
                    'div',
                    {class: 'actions'},
                    h('button', {class: 'primary', type: 'submit'}, 'Rename'),
                    h('button', {type: 'button', onclick: () => close()}, 'Cancel'),
                ),
            );
        });
        if (words !== undefined) this.run(words, 'Renamed.');
    }

    async flush(d) {
        const ok = await confirmTyped(
            `Empty ${d.name}`,
            h(
                'p',
                {},
                `${number(d.entries)} entries and ${number(d.queues)} queues are removed. ` +
                    'Indexes and limits stay.',
            ),
            String(d.name),
            'Empty it',
            h('p', {class: 'mono dim'}, `FLUSHDB, in database ${d.name}`),
        );
        if (ok) this.run(['FLUSHDB'], 'Emptied.', String(d.number));
    }

    async drop(d) {
        const words = ['KV.DB', 'DROP', d.name];
        const ok = await confirmTyped(
            `Drop ${d.name}`,
            h(
                'p',
                {},
                `${number(d.entries)} entries, ${number(d.queues)} queues and ` +
                    `${number(d.indexes)} indexes go with it. Who uses it gets NODB.`,
            ),
            d.name,
            'Drop it',
            commandLine(() => words).el,
        );
        if (ok) this.run(words, 'Dropped.');
    }
}

const LIMITS = [
    ['max-bytes', 'MAXBYTES', 'At most so many bytes'],
    ['max-entries', 'MAXENTRIES', 'At most so many entries'],
    ['rate', 'RATE', 'Commands per second'],
];

function limitsForm(d, close) {
    const name = h('input', {
        class: 'mono wide',
        id: 'd-name',
        pattern: '[A-Za-z0-9_.\\-]{1,64}',
        required: true,
        oninput: () => line.update(),
    });
    const fields = LIMITS.map(([id, , label]) => [
        h('label', {for: `d-${id}`}, `${label} (0 = no limit)`),
        h('input', {
            type: 'number',
            min: 0,
            id: `d-${id}`,
            value: d === null ? '0' : String(d[id]),
            oninput: () => line.update(),
        }),
    ]);
    const comment = h('input', {
        class: 'wide',
        id: 'd-comment',
        value: d === null ? '' : d.comment,
        oninput: () => line.update(),
    });
    const words = () => [
        'KV.DB',
        d === null ? 'CREATE' : 'LIMIT',
        d === null ? name.value || 'name' : String(d.name),
        ...LIMITS.flatMap(([id, token], i) =>
            fields[i][1].value !== (d === null ? '0' : String(d[id]))
                ? [token, fields[i][1].value || '0']
                : [],
        ),
        ...(comment.value !== (d === null ? '' : d.comment) ? ['COMMENT', comment.value] : []),
    ];
    const line = commandLine(words);
    return h(
        'form',
        {
            onsubmit: e => {
                e.preventDefault();
                if (words().length > 3 || d === null) close(words());
                else close();
            },
        },
        d === null ? [h('label', {for: 'd-name'}, 'Name'), name] : null,
        fields,
        h('label', {for: 'd-comment'}, 'Comment'),
        comment,
        line.el,
        h(
            'div',
            {class: 'actions'},
            h('button', {class: 'primary', type: 'submit'}, d === null ? 'Create' : 'Change'),
            h('button', {type: 'button', onclick: () => close()}, 'Cancel'),
        ),
    );
}
