// Indexes: which are there, and which entries match?

import {h, fill, setText} from './dom.js';
import * as api from './api.js';
import {go, address} from './router.js';
import {number, record} from './format.js';
import {freshness} from './fresh.js';
import {commandLine, guard} from './command.js';
import {listKeys} from './shortcuts.js';
import {confirmTyped, dialog, errorBox, toast} from './dialog.js';
import {guessKey, keyText} from './keys.js';
import {Query} from './query.js';

export function render(view, params) {
    const screen = new Indexes(view, params);
    view.every(3000, () => screen.ask());
    return p => screen.choose(p);
}

/* A list as it comes in RESP2: an array, or one text with blanks between. */
export function listOf(value) {
    return Array.isArray(value) ? value : String(value).split(' ');
}

class Indexes {
    constructor(view, params) {
        this.view = view;
        this.indexes = [];
        this.fresh = freshness(3000);
        this.error = errorBox();
        this.place = h('span', {role: 'status'});
        this.body = h('tbody');
        this.query = null;
        this.queryEl = h('div', {});
        this.name = params.get('i');
        const create = guard(
            h('button', {class: 'primary small', onclick: () => this.create()}, 'New index'),
            () => ['KV.INDEX', 'CREATE', 'x', 'PREFIX', '["x"]', 'ON', '1', 'x'],
        );
        this.table = h(
            'div',
            {class: 'panel'},
            h(
                'div',
                {class: 'scroll-x'},
                h(
                    'table',
                    {},
                    h(
                        'thead',
                        {},
                        h(
                            'tr',
                            {},
                            ['Name', 'Kind', 'Of which', 'Paths', 'State', 'Drop'].map(t =>
                                h('th', {scope: 'col'}, t),
                            ),
                        ),
                    ),
                    this.body,
                ),
            ),
            commandLine(() => [
                ['KV.INDEX', 'LIST'],
                ['KV.INDEX', 'INFO', this.name || 'name'],
            ]).el,
        );
        fill(
            view.el,
            h(
                'div',
                {class: 'head'},
                h('h1', {}, 'Indexes'),
                this.place,
                h('span', {class: 'spring'}),
                create,
                this.fresh.el,
            ),
            this.error.el,
            this.table,
            this.queryEl,
        );
        this.keys = listKeys(
            () => [...view.el.querySelectorAll('.index-row, .hit')],
            el => el.querySelector('a').click(),
        );
        view.keys({
            ...this.keys.keys,
            n: [
                () => {
                    this.create();
                },
                'new index',
            ],
        });
    }

    async ask() {
        const {signal} = this.view;
        try {
            const names = await api.call(['KV.INDEX', 'LIST'], {signal});
            const infos = await api.pipeline(
                names.map(n => ['KV.INDEX', 'INFO', n]),
                {signal},
            );
            this.indexes = infos.filter(i => i.result).map(i => record(i.result));
            this.fresh.done();
            this.error.clear();
            this.draw();
        } catch (e) {
            if (e.name === 'AbortError') return;
            this.error.show(e);
            this.fresh.failed();
        }
    }

    draw() {
        setText(this.place, number(this.indexes.length));
        const text = JSON.stringify(this.indexes) + this.name;
        if (text === this.drawn) return;
        this.drawn = text;
        fill(
            this.body,
            this.indexes.length === 0
                ? h(
                      'tr',
                      {},
                      h(
                          'td',
                          {colspan: 6, class: 'dim'},
                          'No indexes. "New index" makes one; entries that are there are filled in.',
                      ),
                  )
                : this.indexes.map(i => this.row(i)),
        );
        if (this.name === null && this.indexes.length > 0) this.name = this.indexes[0].name;
        this.showQuery();
    }

    row(i) {
        const state =
            i.state === 'ready'
                ? h('span', {class: 'badge on'}, 'ready')
                : i.state === 'failed'
                  ? h('span', {class: 'badge bad', title: i.error}, 'failed')
                  : h(
                        'span',
                        {},
                        h('progress', {
                            max: 100,
                            value: Number(i.percent),
                            'aria-label': `${i.name} is being filled`,
                        }),
                        ` filling, ${i.percent} %`,
                    );
        const drop = guard(
            h(
                'button',
                {
                    class: 'small danger-quiet',
                    'aria-label': `Drop ${i.name}`,
                    onclick: () => this.drop(i),
                },
                'drop…',
            ),
            () => ['KV.INDEX', 'DROP', i.name],
        );
        return h(
            'tr',
            {class: `index-row ${i.name === this.name ? 'current' : ''}`},
            h('td', {class: 'mono'}, h('a', {href: address('indexes', {i: i.name})}, i.name)),
            h(
                'td',
                {},
                i.type === 'text'
                    ? `text (${i.tokenize})`
                    : (i.hashes === null ? 'values' : 'fields of hashes') +
                          (i.unique ? ', unique' : ''),
            ),
            h('td', {class: 'mono'}, i.hashes === null ? i.prefix : i.hashes),
            h('td', {class: 'mono'}, listOf(i.paths).join(', ')),
            h('td', {}, state, i.error ? h('div', {class: 'small-text'}, i.error) : null),
            h('td', {}, drop),
        );
    }

    choose(params) {
        this.name = params.get('i');
        this.drawn = '';
        this.draw();
    }

    showQuery() {
        const index = this.indexes.find(i => i.name === this.name);
        if (index === undefined) {
            this.query = null;
            return void fill(this.queryEl);
        }
        if (this.query !== null && this.query.index.name === index.name) return;
        this.query = new Query(this.view, index);
        fill(this.queryEl, this.query.el);
    }

    async create() {
        const made = await dialog('New index', close => createForm(close), {class: 'wide'});
        if (made === undefined) return;
        go('indexes', {i: made});
        this.ask();
    }

    async drop(i) {
        const words = ['KV.INDEX', 'DROP', i.name];
        const ok = await confirmTyped(
            'Drop this index',
            h(
                'p',
                {},
                i.unique
                    ? 'It refuses second owners of a value; without it they are possible.'
                    : 'Entries stay as they are; queries by it end.',
            ),
            i.name,
            'Drop',
            commandLine(() => words).el,
        );
        if (!ok) return;
        try {
            await api.call(words);
            toast('Dropped.', 'good');
        } catch (e) {
            toast(e.message, 'bad');
        }
        this.ask();
    }
}

function createForm(close) {
    const error = errorBox();
    const input = (id, more) =>
        h('input', {
            class: 'mono wide',
            id: `i-${id}`,
            spellcheck: false,
            autocomplete: 'off',
            oninput: () => look(),
            ...more,
        });
    const name = input('name', {'data-first': true}),
        prefix = input('prefix', {value: '["users"]'});
    const paths = input('paths', {placeholder: 'name, address.city'});
    const kind = h(
        'select',
        {id: 'i-kind', onchange: () => look()},
        [
            ['value', 'values, for FIND'],
            ['unique', 'values, unique'],
            ['text', 'text, for SEARCH'],
            ['hashes', 'fields of hashes, for FIND'],
            ['hashes unique', 'fields of hashes, unique'],
        ].map(([v, t]) => h('option', {value: v}, t)),
    );
    const tokenize = h(
        'select',
        {id: 'i-tok', onchange: () => look()},
        ['unicode61', 'porter', 'ascii', 'trigram'].map(v => h('option', {value: v}, v)),
    );
    const tokens = h('div', {}, h('label', {for: 'i-tok'}, 'How text is split into words'), tokenize);
    const isOfHashes = () => kind.value.startsWith('hashes');
    const words = () => {
        const list = paths.value
            .split(',')
            .map(p => p.trim())
            .filter(p => p !== '');
        const place = isOfHashes()
            ? ['HASHES', prefix.value]
            : ['PREFIX', keyText(guessKey(prefix.value).parts)];
        const head = ['KV.INDEX', 'CREATE', name.value, ...place];
        if (kind.value === 'text')
            return [...head, 'TEXT', String(list.length), ...list, 'TOKENIZE', tokenize.value];
        return [
            ...head,
            'ON',
            String(list.length),
            ...list,
            ...(kind.value.endsWith('unique') ? ['UNIQUE'] : []),
        ];
    };
    const line = commandLine(words);
    const make = h('button', {class: 'primary', type: 'submit'}, 'Create');
    const place = h('label', {for: 'i-prefix'});
    const what = h('label', {for: 'i-paths'});
    const look = () => {
        tokens.hidden = kind.value !== 'text';
        setText(place, isOfHashes() ? 'Pattern of keys, such as user:*' : 'Entries below');
        setText(
            what,
            isOfHashes() ? 'Fields, separated by commas' : 'Paths into values, with commas between',
        );
        make.disabled = name.value === '' || paths.value.trim() === '';
        line.update();
    };
    look();
    return h(
        'form',
        {
            onsubmit: async e => {
                e.preventDefault();
                try {
                    await api.call(words());
                    close(name.value);
                } catch (failure) {
                    error.show(failure);
                }
            },
        },
        h('label', {for: 'i-name'}, 'Name'),
        name,
        place,
        prefix,
        h('label', {for: 'i-kind'}, 'Kind'),
        kind,
        what,
        paths,
        tokens,
        error.el,
        line.el,
        h(
            'div',
            {class: 'actions'},
            make,
            h('button', {type: 'button', onclick: () => close()}, 'Cancel'),
        ),
    );
}
