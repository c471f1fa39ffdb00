// Queues: is work flowing, and what is stuck?

import {h, fill, setText, icon} from './dom.js';
import * as api from './api.js';
import {go, address} from './router.js';
import {number, short, duration, dateTime, record} from './format.js';
import {freshness} from './fresh.js';
import {commandLine, guard} from './command.js';
import {listKeys} from './shortcuts.js';
import {confirmTyped, errorBox, screenNow, toast} from './dialog.js';
import {valueArea} from './editor.js';
import {DeadLetters} from './deadletters.js';
import {NamePager} from './pager.js';
import {Rates} from './rates.js';

const STATES = [
    ['ready', 'ready'],
    ['delayed', 'delayed'],
    ['leased', 'leased'],
    ['dead', 'dead'],
];
const QUEUES = 100; // shown in the list at once
const PEEKED = 100; // messages that are shown, and how many more on a click
const PEEKED_MAX = 1000; // of KV.QUEUE PEEK
const LATE_MS = 60000;

export function render(view, params) {
    const name = params.get('q');
    const screen =
        name === null ? new QueueList(view) : new QueueScreen(view, name, params.get('tab'));
    view.every(2000, () => screen.ask());
}

// --- all of them ---

export function bar(stats) {
    const total = STATES.reduce((n, [id]) => n + stats[id], 0);
    const text = STATES.map(([id, name]) => `${number(stats[id])} ${name}`).join(', ');
    return h(
        'div',
        {class: 'bar', role: 'img', 'aria-label': text, title: text},
        total === 0
            ? null
            : STATES.filter(([id]) => stats[id] > 0).map(([id]) => {
                  const el = h('span', {class: id});
                  el.style.flexGrow = stats[id];
                  return el;
              }),
    );
}

export function counts(stats) {
    return h(
        'div',
        {class: 'counts'},
        STATES.map(([id, name]) =>
            h(
                'span',
                {class: id === 'dead' && stats.dead > 0 ? 'has-dead' : ''},
                h('span', {class: `dot ${id}`}),
                `${short(stats[id])} ${name}`,
            ),
        ),
    );
}

/* What is said when there is none. */
const ORDERS = {
    name: ['by name', 'No queue matches.'],
    dead: ['most dead letters first', 'No queue has dead letters.'],
    oldest: ['longest wait first', 'No message waits.'],
    ready: ['most ready first', 'No message is ready.'],
};

/* Those with this text in their names, as words of a command. */
function matching(text) {
    return text === '' ? [] : ['MATCH', `*${text.replace(/[\\*?[\]]/g, '\\$&')}*`];
}

class QueueList {
    constructor(view) {
        this.view = view;
        this.rates = new Rates();
        this.fresh = freshness(2000);
        this.error = errorBox();
        this.place = h('span', {role: 'status'});
        this.asked = null;
        this.pager = new NamePager(QUEUES, () => this.ask());
        this.order = h(
            'select',
            {'aria-label': 'Order', class: 'small-input', onchange: () => this.again()},
            Object.entries(ORDERS).map(([value, [text]]) => h('option', {value}, text)),
        );
        this.list = h('div', {class: 'queue-list'});
        this.find = h('input', {
            type: 'search',
            class: 'small-input',
            placeholder: 'Filter   /',
            'data-search': true,
            'aria-label': 'Filter queues',
            oninput: () => this.again(),
        });
        fill(
            view.el,
            h(
                'div',
                {class: 'head'},
                h('h1', {}, 'Queues'),
                this.place,
                h('span', {class: 'spring'}),
                this.order,
                this.find,
                this.fresh.el,
            ),
            this.error.el,
            this.list,
            this.pager.el,
            addForm('', () => this.ask()),
            commandLine(() => [
                ['KV.QUEUE', 'LIST', 'LIMIT', String(QUEUES)],
                ['KV.QUEUE', 'TOP', 'DEAD'],
                ['KV.QUEUE', 'STATS', 'queue'],
            ]).el,
        );
        this.keys = listKeys(
            () => [...this.list.querySelectorAll('.queue')],
            el => el.click(),
        );
        view.keys(this.keys.keys);
    }

    /* From the first page on. */
    again() {
        this.pager.first();
        this.ask();
    }

    /* A new question ends the one before. */
    async ask() {
        if (this.asked !== null) this.asked.abort();
        const asked = (this.asked = new AbortController());
        const signal = api.anySignal([asked.signal, this.view.signal]);
        const order = this.order.value;
        try {
            const found = order === 'name' ? await this.byName(signal) : await this.byFigure(order, signal);
            this.fresh.done();
            this.error.clear();
            setText(this.place, found.text);
            this.draw(found.names, found.figures, order);
        } catch (e) {
            if (e.name === 'AbortError') return;
            this.error.show(e);
            this.fresh.failed();
        }
    }

    async byName(signal) {
        const words = ['KV.QUEUE', 'LIST', ...matching(this.find.value)];
        if (this.pager.after !== null) words.push('AFTER', this.pager.after);
        const names = await api.call([...words, 'LIMIT', String(QUEUES + 1)], {signal});
        const shown = this.pager.of(names);
        const answers = await api.pipeline(
            shown.map(q => ['KV.QUEUE', 'STATS', q]),
            {signal},
        );
        const figures = new Map();
        answers.forEach((a, i) => {
            if (a.result) figures.set(shown[i], record(a.result));
        });
        return {names: shown, figures, text: this.pager.text(names)};
    }

    /* The first of all queues by a figure. */
    async byFigure(order, signal) {
        const words = ['KV.QUEUE', 'TOP', order.toUpperCase(), ...matching(this.find.value)];
        const found = await api.call([...words, 'COUNT', String(QUEUES + 1)], {signal});
        const shown = found.slice(0, QUEUES);
        this.pager.hide();
        return {
            names: shown.map(([name]) => name),
            figures: new Map(shown.map(([name, stats]) => [name, record(stats)])),
            text: found.length > QUEUES ? `the first ${QUEUES}` : number(found.length),
        };
    }

    draw(names, figures, order) {
        const current = this.keys.current();
        const at = current === null ? null : current.dataset.name;
        if (names.length === 0) {
            const isEmpty = order === 'name' && this.find.value === '' && this.pager.after === null;
            return fill(
                this.list,
                h(
                    'div',
                    {class: 'empty'},
                    h('p', {}, isEmpty ? 'No queues. The first message creates one:' : ORDERS[order][1]),
                    isEmpty ? commandLine(() => ['KV.ENQUEUE', 'mail', '{"to":"ann"}']).el : null,
                ),
            );
        }
        fill(
            this.list,
            names.map(name => (figures.has(name) ? this.row(name, figures.get(name)) : null)),
        );
        const again =
            at === null ? undefined : [...this.list.children].find(el => el.dataset.name === at);
        if (again) this.keys.select(again);
        return undefined;
    }

    row(name, stats) {
        const rate = this.rates.of(name, stats);
        const late = stats['oldest-ms'] > LATE_MS;
        return h(
            'a',
            {class: 'queue', href: address('queues', {q: name}), data: {name}},
            h('span', {class: 'name mono'}, name),
            h('div', {}, bar(stats), counts(stats)),
            h(
                'div',
                {class: 'rates'},
                h(
                    'span',
                    {class: late ? 'late' : ''},
                    stats.ready === 0
                        ? 'none waits'
                        : `oldest waits ${duration(stats['oldest-ms'])}`,
                ),
                h(
                    'span',
                    {},
                    rate === null ? '' : `in ${short(rate.in)} /s, out ${short(rate.out)} /s`,
                ),
            ),
        );
    }
}

// --- one queue ---

class QueueScreen {
    constructor(view, name, tab) {
        this.view = view;
        this.name = name;
        this.fresh = freshness(2000);
        this.error = errorBox();
        this.rates = new Rates();
        this.figures = h('div', {});
        this.body = h('tbody');
        this.place = h('span', {role: 'status'});
        this.peeked = PEEKED;
        this.more = h(
            'button',
            {
                class: 'small',
                hidden: true,
                onclick: () => {
                    this.peeked = Math.min(this.peeked + PEEKED, PEEKED_MAX);
                    this.ask();
                },
            },
            `${PEEKED} more`,
        );
        this.dead = new DeadLetters(view, name, () => this.ask());
        this.tab = tab === 'dead' ? 'dead' : 'messages';
        const purge = guard(
            h('button', {class: 'small danger-quiet', onclick: () => this.purge()}, 'Purge…'),
            () => ['KV.QUEUE', 'PURGE', name],
        );
        const tabButton = (id, text) =>
            h(
                'button',
                {
                    role: 'tab',
                    id: `tab-${id}`,
                    'aria-controls': `panel-${id}`,
                    'aria-selected': String(this.tab === id),
                    onclick: () => go('queues', {q: name, tab: id}),
                },
                text,
            );
        this.deadTab = tabButton('dead', 'Dead letters');
        this.messages = h(
            'section',
            {
                id: 'panel-messages',
                role: 'tabpanel',
                'aria-labelledby': 'tab-messages',
                hidden: this.tab !== 'messages',
            },
            h('div', {class: 'table-head'}, this.place, purge),
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
                            ['Id', 'Value', 'Attempts', 'Due'].map(t => h('th', {scope: 'col'}, t)),
                        ),
                    ),
                    this.body,
                ),
            ),
            h('div', {class: 'pager'}, this.more),
            commandLine(() => ['KV.QUEUE', 'PEEK', name, 'COUNT', String(this.peeked)]).el,
        );
        const deadPanel = h(
            'section',
            {
                id: 'panel-dead',
                role: 'tabpanel',
                'aria-labelledby': 'tab-dead',
                hidden: this.tab !== 'dead',
            },
            this.dead.el,
        );
        fill(
            view.el,
            h(
                'div',
                {class: 'head'},
                h('a', {href: address('queues'), 'aria-label': 'All queues'}, icon('left')),
                h('h1', {class: 'mono'}, name),
                h('span', {class: 'spring'}),
                this.fresh.el,
            ),
            this.error.el,
            this.figures,
            h(
                'div',
                {class: 'panel'},
                h(
                    'div',
                    {class: 'tab-bar'},
                    h(
                        'div',
                        {class: 'tabs', role: 'tablist'},
                        tabButton('messages', 'Messages'),
                        this.deadTab,
                    ),
                ),
                this.messages,
                deadPanel,
            ),
            addForm(name, () => this.ask()),
        );
        this.figures.className = 'panel';
        this.keys = listKeys(
            () => [...(this.tab === 'dead' ? this.dead.body : this.body).children],
            el => el.querySelector('button, summary')?.focus(),
        );
        view.keys({
            ...this.keys.keys,
            Escape: [() => go('queues'), 'all queues'],
            d: [() => go('queues', {q: name, tab: 'dead'}), 'dead letters'],
            m: [() => go('queues', {q: name}), 'messages'],
        });
        if (this.tab === 'dead') this.dead.load();
    }

    async ask() {
        const {signal} = this.view;
        try {
            const [stats, peek] = await api.pipeline(
                [
                    ['KV.QUEUE', 'STATS', this.name],
                    ['KV.QUEUE', 'PEEK', this.name, 'COUNT', String(this.peeked)],
                ],
                {signal},
            );
            if (stats.error !== undefined) throw new Error(stats.error);
            this.fresh.done();
            this.error.clear();
            this.draw(record(stats.result), peek);
        } catch (e) {
            if (e.name === 'AbortError') return;
            this.error.show(e);
            this.fresh.failed();
        }
    }

    draw(s, peek) {
        const rate = this.rates.of(this.name, s);
        const fact = (name, value) => h('div', {}, h('dt', {}, name), h('dd', {}, value));
        fill(
            this.figures,
            bar(s),
            counts(s),
            h(
                'dl',
                {class: 'facts'},
                fact('Oldest waits', s.ready === 0 ? 'none' : duration(s['oldest-ms'])),
                fact('In', rate === null ? '…' : `${short(rate.in)} /s`),
                fact('Out', rate === null ? '…' : `${short(rate.out)} /s`),
                fact('Enqueued', number(s.enqueued)),
                fact('Delivered', number(s.delivered)),
                fact('Acknowledged', number(s.acked)),
                fact('Given back', number(s.nacked)),
                fact('Leases ended', number(s.expired)),
            ),
        );
        setText(this.deadTab, `Dead letters (${short(s.dead)})`);
        if (peek.error !== undefined)
            return fill(this.body, h('tr', {}, h('td', {colspan: 4}, peek.error)));
        const rows = peek.result,
            all = s.ready + s.delayed;
        setText(
            this.place,
            rows.length < all
                ? `first ${number(rows.length)} of ${number(all)}` +
                      (this.peeked === PEEKED_MAX ? '; the server shows no more of them' : '')
                : `${number(rows.length)} not taken yet`,
        );
        this.more.hidden = rows.length >= all || this.peeked === PEEKED_MAX;
        if (this.same(rows)) return undefined;
        return fill(
            this.body,
            rows.length === 0
                ? h(
                      'tr',
                      {},
                      h(
                          'td',
                          {colspan: 4, class: 'dim'},
                          'No messages. Ready and delayed messages appear here.',
                      ),
                  )
                : rows.map(([id, value, attempts, due]) =>
                      h(
                          'tr',
                          {},
                          h('td', {class: 'mono', title: id}, id.replace(/^0+/, '')),
                          h(
                              'td',
                              {class: 'mono'},
                              h('span', {class: 'value-cell'}, value.slice(0, 2000)),
                          ),
                          h('td', {class: 'num'}, number(attempts)),
                          h(
                              'td',
                              {class: 'num', title: dateTime(due)},
                              due <= Date.now() ? 'now' : `in ${duration(due - Date.now())}`,
                          ),
                      ),
                  ),
        );
    }

    /* The table is left alone while nothing changes: what the user selected stays selected. */
    same(rows) {
        const text =
            JSON.stringify(rows) +
            rows.some(r => r[3] > Date.now() - 3000) * Math.floor(Date.now() / 1000);
        const isSame = text === this.drawn;
        this.drawn = text;
        return isSame;
    }

    async purge() {
        const since = screenNow();
        let stats;
        try {
            stats = record(await api.call(['KV.QUEUE', 'STATS', this.name]));
        } catch (e) {
            return toast(e.message, 'bad');
        }
        const n = stats.ready + stats.delayed + stats.leased;
        const words = ['KV.QUEUE', 'PURGE', this.name];
        const ok = await confirmTyped(
            `Remove ${number(n)} messages`,
            h(
                'p',
                {},
                `${number(stats.ready)} ready, ${number(stats.delayed)} delayed, ${number(stats.leased)} leased. ` +
                    'Who works on a leased one cannot acknowledge it any more. Dead letters stay.',
            ),
            this.name,
            `Remove ${number(n)}`,
            commandLine(() => words).el,
            since,
        );
        if (!ok) return undefined;
        try {
            toast(`${number(await api.call(words))} removed.`, 'good');
        } catch (e) {
            toast(e.message, 'bad');
        }
        return this.ask();
    }
}

// --- adding ---

let forms = 0;

function addForm(queue, done) {
    const n = forms++;
    const error = errorBox();
    const name = h('input', {
        class: 'mono',
        value: queue,
        id: `q-name${n}`,
        required: true,
        oninput: () => look(),
    });
    const delay = h('input', {
        type: 'number',
        min: 0,
        placeholder: '0',
        id: `q-delay${n}`,
        oninput: () => look(),
    });
    const backoff = h('input', {
        class: 'mono',
        placeholder: '1000 5000 10000',
        id: `q-backoff${n}`,
        oninput: () => look(),
    });
    const dedup = h('input', {class: 'mono', id: `q-dedup${n}`, oninput: () => look()});
    const area = valueArea('{"to":"ann"}', () => look(), {rows: 4});
    const add = guard(h('button', {class: 'primary', type: 'submit'}, 'Add'), () => [
        'KV.ENQUEUE',
        name.value || 'mail',
        '1',
    ]);
    const words = () => {
        const steps = backoff.value
            .trim()
            .split(/[\s,]+/)
            .filter(x => x !== '');
        return [
            'KV.ENQUEUE',
            name.value,
            area.input.value.trim(),
            ...(delay.value === '' ? [] : ['DELAY', delay.value]),
            ...(steps.length === 0 ? [] : ['BACKOFF', String(steps.length), ...steps]),
            ...(dedup.value === '' ? [] : ['DEDUP', dedup.value]),
        ];
    };
    const line = commandLine(() => (name.value === '' ? null : words()));
    const look = () => {
        add.disabled = add.classList.contains('not-allowed') || name.value === '' || !area.isGood();
        line.update();
    };
    look();
    const field = (id, label, input) =>
        h('div', {}, h('label', {for: `q-${id}${n}`}, label), input);
    return h(
        'details',
        {class: 'panel'},
        h('summary', {}, 'Add a message'),
        h(
            'form',
            {
                class: 'form',
                onsubmit: async e => {
                    e.preventDefault();
                    error.clear();
                    try {
                        const id = await api.call(words());
                        toast(
                            id === null
                                ? 'Not enqueued: this deduplication id was used before.'
                                : `Added: ${id}`,
                            id === null ? 'bad' : 'good',
                        );
                        done();
                    } catch (failure) {
                        error.show(failure);
                    }
                },
            },
            queue === '' ? field('name', 'Queue', name) : null,
            area.el,
            h(
                'div',
                {class: 'row'},
                field('delay', 'Delay, ms', delay),
                field('backoff', 'Retries after, ms', backoff),
                field('dedup', 'Deduplication id', dedup),
            ),
            error.el,
            line.el,
            h('div', {class: 'actions'}, add),
        ),
    );
}
