// A query by an index: KV.FIND for values, KV.SEARCH for text, with timing, scores and highlights.

import {h, fill, setText} from './dom.js';
import * as api from './api.js';
import {address} from './router.js';
import {parseKey, keyText} from './keys.js';
import {number, duration, record} from './format.js';
import {commandLine} from './command.js';
import {errorBox} from './dialog.js';
import {listOf} from './indexes.js';

// Marks around what was found: characters that no text has, so that they can be told from it.
const OPEN = '\u0002',
    CLOSE = '\u0003';

export class Query {
    constructor(view, index) {
        this.view = view;
        this.index = index;
        this.paths = listOf(index.paths);
        this.error = errorBox();
        this.place = h('p', {class: 'dim', role: 'status'});
        this.hits = h('div', {});
        this.line = commandLine(() => this.words());
        this.fields = {};
        this.more = h(
            'button',
            {class: 'small', hidden: true, type: 'button', onclick: () => this.run(true)},
            'More',
        );
        const fields = index.type === 'text' ? this.textFields() : this.valueFields();
        this.el = h(
            'section',
            {class: 'panel query'},
            h(
                'h2',
                {},
                index.type === 'text' ? 'Search ' : 'Find in ',
                h('span', {class: 'mono'}, index.name),
            ),
            h(
                'form',
                {
                    onsubmit: e => {
                        e.preventDefault();
                        this.run(false);
                    },
                },
                fields,
                this.error.el,
                this.line.el,
                h(
                    'div',
                    {class: 'actions'},
                    h(
                        'button',
                        {class: 'primary', type: 'submit'},
                        index.type === 'text' ? 'Search' : 'Find',
                    ),
                ),
            ),
            this.place,
            this.hits,
            this.more,
        );
        this.line.update();
    }

    field(id, label, options = {}) {
        const input = h('input', {
            class: 'mono',
            id: `s-${id}`,
            spellcheck: false,
            autocomplete: 'off',
            oninput: () => this.line.update(),
            ...options,
        });
        this.fields[id] = input;
        return h(
            'div',
            {class: 'grow'},
            h('label', {for: `s-${id}`}, label),
            h('div', {class: 'row'}, input),
        );
    }

    textFields() {
        return [
            this.field('query', 'Query', {
                class: 'mono wide',
                type: 'search',
                'data-search': true,
                placeholder: 'lazy dog   "exact phrase"   title:fox   do*   a OR b   a NOT b',
            }),
            h(
                'div',
                {class: 'row'},
                this.field('where', 'WHERE (optional)', {
                    class: 'mono wide',
                    placeholder: '{"year":{"$gte":2000}}',
                }),
                this.field('limit', 'Limit', {type: 'number', min: 1, max: 1000, value: '10'}),
            ),
        ];
    }

    valueFields() {
        const type = 'typed JSON, such as "Ada" or 36';
        return [
            h(
                'div',
                {class: 'row'},
                this.paths.map((p, i) =>
                    this.field(`v${i}`, `${p} =`, {class: 'mono wide', placeholder: type}),
                ),
            ),
            h(
                'div',
                {class: 'row'},
                this.field('from', 'or from (in the range)', {class: 'mono wide'}),
                this.field('to', 'to (not in the range)', {class: 'mono wide'}),
                this.field('limit', 'Limit', {type: 'number', min: 1, max: 1000, value: '100'}),
            ),
            h(
                'div',
                {class: 'row'},
                this.field('where', 'WHERE (optional)', {class: 'mono wide'}),
                this.reverseField(),
            ),
        ];
    }

    reverseField() {
        this.reverse = h('input', {type: 'checkbox', onchange: () => this.line.update()});
        return h('label', {class: 'inline'}, this.reverse, 'last first');
    }

    words() {
        const v = id => this.fields[id].value.trim();
        const tail = [
            ...(v('where') === '' ? [] : ['WHERE', v('where')]),
            'LIMIT',
            v('limit') || '10',
        ];
        if (this.index.type === 'text') {
            if (v('query') === '') return null;
            return [
                'KV.SEARCH',
                this.index.name,
                v('query'),
                ...tail,
                'HIGHLIGHT',
                '<b>',
                '</b>',
                'SNIPPET',
                '24',
            ];
        }
        const words = ['KV.FIND', this.index.name];
        for (let i = 0; i < this.paths.length && v(`v${i}`) !== ''; i++) words.push(v(`v${i}`));
        if (v('from') !== '') words.push('FROM', v('from'));
        if (v('to') !== '') words.push('TO', v('to'));
        return [...words, ...(this.reverse.checked ? ['REVERSE'] : []), ...tail];
    }

    async run(isMore) {
        const shown = this.words();
        if (shown === null) return;
        const isText = this.index.type === 'text';
        const words = shown.map(w =>
            isText && w === '<b>' ? OPEN : isText && w === '</b>' ? CLOSE : w,
        );
        if (!isMore) this.count = 0;
        if (isMore)
            words.push(...(isText ? ['OFFSET', String(this.count)] : ['CURSOR', this.cursor]));
        this.error.clear();
        const begin = performance.now();
        try {
            const answer = await api.call(words, {signal: this.view.signal});
            const took = performance.now() - begin;
            const rows = isText ? answer : answer[1];
            this.cursor = isText ? null : answer[0];
            this.draw(rows, took, isMore);
        } catch (e) {
            if (e.name !== 'AbortError') this.error.show(e);
        }
    }

    draw(rows, took, isMore) {
        this.count += rows.length;
        const isText = this.index.type === 'text';
        const hasMore = isText
            ? rows.length > 0 && rows.length >= Number(this.fields.limit.value || 10)
            : this.cursor !== '0';
        setText(
            this.place,
            this.count === 0
                ? `Nothing found. ${duration(took)} round trip.`
                : `${hasMore ? 'first ' : ''}${number(this.count)} found${isText ? ', best first' : ''}; ` +
                      `${duration(took)} round trip.`,
        );
        const els = rows.map(r => this.hit(r));
        if (isMore) this.hits.append(...els);
        else fill(this.hits, els);
        this.more.hidden = !hasMore;
    }

    hit([key, value, vs, score, texts]) {
        const parts = parseKey(key);
        const found = texts === undefined ? [] : Object.entries(record(texts));
        return h(
            'article',
            {class: 'hit'},
            h(
                'div',
                {class: 'hit-head'},
                h(
                    'a',
                    {
                        class: 'mono',
                        title: vs,
                        href: address('entries', {p: keyText(parts.slice(0, -1)), k: key}),
                    },
                    key,
                ),
                score === undefined
                    ? null
                    : h(
                          'span',
                          {
                              class: 'dim small-text',
                              title: 'BM25; comparable only within this search',
                          },
                          `score ${Number(score).toPrecision(3)}`,
                      ),
            ),
            found.length > 0
                ? h(
                      'dl',
                      {},
                      found.map(([path, text]) => [
                          h('dt', {class: 'mono'}, path),
                          h('dd', {}, marked(text)),
                      ]),
                  )
                : h('div', {class: 'mono dim break'}, value.slice(0, 300)),
        );
    }
}

function marked(text) {
    return text.split(OPEN).map((piece, i) => {
        if (i === 0) return piece;
        const at = piece.indexOf(CLOSE);
        return [h('mark', {}, piece.slice(0, at)), piece.slice(at + 1)];
    });
}
