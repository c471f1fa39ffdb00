// The dead letters of a queue: what failed, why, and again.

import {h, fill, setText} from './dom.js';
import * as api from './api.js';
import {number, duration, dateTime} from './format.js';
import {tryRead, pretty} from './json.js';
import {commandLine, guard} from './command.js';
import {confirm, confirmTyped, dialog, errorBox, toast} from './dialog.js';
import {valueArea} from './editor.js';

const PAGE = 100;

export class DeadLetters {
    constructor(view, queue, changed) {
        this.view = view;
        this.queue = queue;
        this.changed = changed;
        this.letters = [];
        this.cursor = null;
        this.error = errorBox();
        this.place = h('span', {role: 'status'});
        this.body = h('tbody');
        this.find = h('input', {
            type: 'search',
            class: 'small-input',
            placeholder: 'Filter value or error   /',
            'data-search': true,
            'aria-label': 'Filter dead letters',
            oninput: () => this.draw(),
        });
        this.more = h('button', {class: 'small', onclick: () => this.next()}, `Next ${PAGE}`);
        this.retryAll = guard(
            h(
                'button',
                {class: 'small', onclick: () => this.retry(this.shown().map(l => l[0]))},
                'Retry these',
            ),
            () => ['KV.DLQ', 'REQUEUE', queue, 'ALL'],
        );
        this.deleteAll = guard(
            h(
                'button',
                {class: 'small danger-quiet', onclick: () => this.removeShown()},
                'Delete these…',
            ),
            () => ['KV.DLQ', 'PURGE', queue],
        );
        this.el = h(
            'div',
            {},
            this.error.el,
            h(
                'div',
                {class: 'table-head'},
                this.place,
                h(
                    'div',
                    {class: 'row'},
                    this.find,
                    h('button', {class: 'small', onclick: () => this.load()}, 'Refresh'),
                    this.retryAll,
                    this.deleteAll,
                ),
            ),
            h(
                'div',
                {class: 'scroll-x'},
                h(
                    'table',
                    {class: 'dead-letters'},
                    h(
                        'thead',
                        {},
                        h(
                            'tr',
                            {},
                            ['Failed', 'Error', 'Attempts', 'Value', 'Actions'].map(t =>
                                h('th', {scope: 'col'}, t),
                            ),
                        ),
                    ),
                    this.body,
                ),
            ),
            h('div', {class: 'pager'}, this.more),
            commandLine(() => ['KV.DLQ', 'LIST', queue, 'COUNT', String(PAGE)]).el,
        );
    }

    load() {
        this.letters = [];
        this.cursor = null;
        return this.next();
    }

    async next() {
        const words = ['KV.DLQ', 'LIST', this.queue, 'COUNT', String(PAGE)];
        if (this.cursor !== null) words.push('CURSOR', this.cursor);
        try {
            const [cursor, rows] = await api.call(words, {signal: this.view.signal});
            this.letters.push(...rows);
            this.cursor = cursor === '0' ? null : cursor;
            this.error.clear();
            this.draw();
        } catch (e) {
            if (e.name !== 'AbortError') this.error.show(e);
        }
    }

    shown() {
        const needle = this.find.value.toLowerCase();
        return needle === ''
            ? this.letters
            : this.letters.filter(
                  ([, value, , why]) =>
                      value.toLowerCase().includes(needle) ||
                      (why || '').toLowerCase().includes(needle),
              );
    }

    draw() {
        const rows = this.shown();
        const of =
            this.cursor !== null
                ? `of the newest ${number(this.letters.length)}; older ones are not loaded`
                : rows.length === this.letters.length
                  ? ''
                  : `of ${number(this.letters.length)}`;
        setText(this.place, `${number(rows.length)} ${of}`);
        this.more.hidden = this.cursor === null;
        for (const b of [this.retryAll, this.deleteAll]) {
            b.disabled = rows.length === 0 || b.classList.contains('not-allowed');
        }
        setText(this.retryAll, `Retry these ${number(rows.length)}`);
        fill(
            this.body,
            rows.length === 0
                ? h(
                      'tr',
                      {},
                      h(
                          'td',
                          {colspan: 5, class: 'dim'},
                          'No dead letters. Messages whose retries have all failed appear here, with their errors.',
                      ),
                  )
                : rows.map(l => this.row(l)),
        );
    }

    row([id, value, attempts, why, at]) {
        const node = tryRead(value);
        const button = (text, cls, f, words) =>
            guard(
                h(
                    'button',
                    {class: `small ${cls}`, onclick: f, 'aria-label': `${text} ${id}`},
                    text,
                ),
                () => words,
            );
        return h(
            'tr',
            {data: {id}},
            h(
                'td',
                {class: 'num', title: dateTime(at)},
                `${duration(Math.max(1000, Date.now() - at))} ago`,
            ),
            h('td', {class: 'break'}, why || ''),
            h('td', {class: 'num'}, number(attempts)),
            h(
                'td',
                {class: 'mono'},
                h(
                    'span',
                    {class: 'value-cell', title: id},
                    node === null ? value : pretty(node, 60).slice(0, 2000),
                ),
            ),
            h(
                'td',
                {},
                h(
                    'div',
                    {class: 'row'},
                    button('Retry', '', () => this.retry([id]), [
                        'KV.DLQ',
                        'REQUEUE',
                        this.queue,
                        id,
                    ]),
                    button('Edit', '', () => this.editAndRetry(id, value), [
                        'KV.ENQUEUE',
                        this.queue,
                        '1',
                    ]),
                    button('Delete', 'danger-quiet', () => this.remove(id), [
                        'KV.DLQ',
                        'DEL',
                        this.queue,
                        id,
                    ]),
                ),
            ),
        );
    }

    async run(f) {
        try {
            toast(await f(), 'good');
        } catch (e) {
            toast(e.message, 'bad');
        }
        await this.load();
        this.changed();
    }

    async retry(ids) {
        const words = ['KV.DLQ', 'REQUEUE', this.queue, ...ids];
        if (
            ids.length > 1 &&
            !(await confirm(
                `Retry ${number(ids.length)} messages?`,
                'They begin anew: attempt 1, with the options they were enqueued with.',
                {yes: 'Retry', command: commandLine(() => words).el},
            ))
        )
            return;
        await this.run(async () => `${number(await api.call(words))} retried.`);
    }

    async remove(id) {
        const words = ['KV.DLQ', 'DEL', this.queue, id];
        const ok = await confirm('Delete this dead letter?', h('span', {class: 'mono break'}, id), {
            yes: 'Delete',
            danger: true,
            command: commandLine(() => words).el,
        });
        if (ok) await this.run(async () => `${number(await api.call(words))} deleted.`);
    }

    async removeShown() {
        const ids = this.shown().map(l => l[0]);
        const words = ['KV.DLQ', 'DEL', this.queue, ...ids];
        const ok = await confirmTyped(
            `Delete ${number(ids.length)} dead letters`,
            h('p', {}, 'Only those shown. This cannot be undone.'),
            this.queue,
            `Delete ${number(ids.length)}`,
            commandLine(() => words).el,
        );
        if (ok) await this.run(async () => `${number(await api.call(words))} deleted.`);
    }

    /* A new message with the changed value, and the dead letter goes, in one transaction. */
    async editAndRetry(id, value) {
        const node = tryRead(value);
        const commands = text => [
            ['KV.ENQUEUE', this.queue, text],
            ['KV.DLQ', 'DEL', this.queue, id],
        ];
        const text = await dialog(
            'Edit and retry',
            close => {
                const area = valueArea(node === null ? value : pretty(node), () => look(), {
                    rows: 10,
                });
                const go = h('button', {class: 'primary', type: 'submit'}, 'Retry');
                const line = commandLine(() => commands(area.input.value.trim()), {
                    isTransaction: true,
                });
                const look = () => {
                    go.disabled = !area.isGood();
                    line.update();
                };
                return h(
                    'form',
                    {
                        onsubmit: e => {
                            e.preventDefault();
                            if (area.isGood()) close(area.input.value.trim());
                        },
                    },
                    h('p', {class: 'dim'}, 'It is enqueued again as a new message, with the default retries.'),
                    area.el,
                    line.el,
                    h(
                        'div',
                        {class: 'actions'},
                        go,
                        h('button', {type: 'button', onclick: () => close()}, 'Cancel'),
                    ),
                );
            },
            {class: 'wide'},
        );
        if (text === undefined) return;
        await this.run(async () => {
            const answers = await api.transaction(commands(text));
            const failed = answers.find(a => a.error !== undefined);
            if (failed !== undefined) throw new Error(failed.error);
            return `Added as ${answers[0].result}.`;
        });
    }
}
