// Feed: what is happening now? Changes below a prefix, as they come. When the stream is lost, the
// change feed fills the gap where it can, and a line says so where it cannot.

import {h, fill, setText} from './dom.js';
import * as api from './api.js';
import {go, address} from './router.js';
import {guessKey, keyText, tryParseKey} from './keys.js';
import {tryRead, compact, collectionOf, collectionText} from './json.js';
import {number, short, clock, stamp} from './format.js';
import {commandLine} from './command.js';
import {errorBox} from './dialog.js';

const KEPT = 2000; // changes in memory
const SHOWN = 200; // rows that are drawn, and how many more on a click
const DRAW_MS = 100; // at most ten times a second
const PAGE = 1000;
const VALUE = 300; // characters of a value in its row

export function render(view, params) {
    new Feed(view, params);
}

class Feed {
    constructor(view, params) {
        this.view = view;
        this.prefix = tryParseKey(params.get('p') || '[]') || [];
        this.from = params.get('from') || '';
        this.changes = []; // newest last: {at, vs, key, value} or {gap}
        this.seen = 0;
        this.recent = []; // how many came in each of the last seconds
        this.last = null; // versionstamp of the newest commit that was seen
        this.isPaused = false;
        this.isDrawDue = false;
        this.draws = 0;
        this.build();
        this.rates = setInterval(() => this.lookRate(), 1000);
        view.leave(() => {
            clearInterval(this.rates);
            if (this.stream) this.stream.stop();
        });
        this.start();
    }

    build() {
        this.error = errorBox();
        this.live = h('span', {class: 'live wait', role: 'status'}, 'connecting…');
        this.rate = h('span', {class: 'figures'});
        this.shown = SHOWN;
        this.older = h(
            'button',
            {
                class: 'small',
                hidden: true,
                onclick: () => {
                    this.shown += SHOWN;
                    this.draw();
                    this.lookRate();
                },
            },
            `${SHOWN} older`,
        );
        this.list = h('div', {
            class: 'feed-list',
            tabIndex: 0,
            role: 'log',
            'aria-live': 'off',
            'aria-label': 'Changes',
        });
        const prefix = h('input', {
            class: 'mono',
            value: keyText(this.prefix),
            id: 'f-prefix',
            spellcheck: false,
            autocomplete: 'off',
            size: 24,
        });
        const from = h('input', {
            class: 'mono',
            value: this.from,
            id: 'f-from',
            spellcheck: false,
            autocomplete: 'off',
            placeholder: 'now',
            size: 20,
            title: 'Versionstamp to continue from; 0 = the oldest available',
        });
        this.filter = h('input', {
            type: 'search',
            class: 'mono',
            id: 'f-filter',
            'data-search': true,
            placeholder: 'text   /',
            oninput: () => this.draw(),
        });
        this.pause = h(
            'button',
            {'aria-pressed': 'false', title: 'p', onclick: () => this.togglePause()},
            'Pause',
        );
        const line = commandLine(() =>
            this.from === ''
                ? ['SUBSCRIBE', this.channel()]
                : ['KV.CHANGES', this.from, 'PREFIX', keyText(this.prefix)],
        );
        const field = (id, label, input) => h('div', {}, h('label', {for: id}, label), input);
        const form = h(
            'form',
            {
                class: 'row',
                onsubmit: e => {
                    e.preventDefault();
                    try {
                        const p = guessKey(prefix.value);
                        go('feed', {p: keyText(p.parts), from: from.value.trim()});
                    } catch (error) {
                        this.error.show(error);
                    }
                },
            },
            field('f-prefix', 'Below prefix', prefix),
            field('f-from', 'From versionstamp', from),
            field('f-filter', 'Only with', this.filter),
            h(
                'div',
                {},
                h('label', {}, '\u00a0'),
                h(
                    'div',
                    {class: 'row'},
                    h('button', {class: 'primary', type: 'submit'}, 'Show'),
                    this.pause,
                    h(
                        'button',
                        {
                            type: 'button',
                            onclick: () => {
                                this.changes = [];
                                this.draw();
                            },
                        },
                        'Clear',
                    ),
                ),
            ),
        );
        fill(
            this.view.el,
            h(
                'div',
                {class: 'head'},
                h('h1', {}, 'Feed'),
                this.live,
                h('span', {class: 'spring'}),
                this.rate,
            ),
            form,
            this.error.el,
            h('div', {class: 'panel'}, this.list, h('div', {class: 'pager'}, this.older)),
            line.el,
        );
        this.view.keys({
            p: [() => this.togglePause(), 'pause, go on'],
            c: [
                () => {
                    this.changes = [];
                    this.draw();
                },
                'clear',
            ],
        });
        this.draw();
    }

    channel() {
        return `kv:prefix:${keyText(this.prefix)}`;
    }

    start() {
        let lostAt = null,
            isFirst = true;
        this.stream = api.subscribe(this.channel(), {
            open: async () => {
                this.state(
                    'on',
                    lostAt === null
                        ? 'live'
                        : `live again; lost from ${clock(lostAt)} to ${clock(Date.now())}`,
                );
                const from = isFirst ? this.from : this.last;
                isFirst = false;
                this.held = [];
                await this.catchUp(from || null);
                const held = this.held;
                this.held = null;
                for (const c of held) this.add(c);
            },
            message: text => this.heard(text),
            lost: e => {
                lostAt = Date.now();
                this.state(
                    'off',
                    `lost at ${clock(lostAt)}${e === null || e.name === 'AbortError' ? '' : `: ${e.message}`}`,
                );
            },
        });
    }

    state(cls, text) {
        this.live.className = `live ${cls}`;
        setText(this.live, text);
    }

    /* What happened after a versionstamp, from the change feed; the newest KEPT changes. */
    async catchUp(from) {
        if (from === null) {
            this.last =
                this.last ||
                (await api.call(['KV.VERSION'], {signal: this.view.signal}).catch(() => null));
            return;
        }
        try {
            await this.readFrom(from);
        } catch (e) {
            if (e.name === 'AbortError') return;
            if (e.code !== 'STALE') return void this.error.show(e);
            const oldest = e.message.split(' ')[1];
            this.add({
                gap: `Changes from ${stamp(from)} to ${stamp(oldest)} are missing: they are no longer kept`,
            });
            await this.readFrom(oldest).catch(error => this.error.show(error));
        }
    }

    async readFrom(from) {
        const {signal} = this.view;
        const end = await api.call(['KV.VERSION'], {signal});
        for (let at = from; ;) {
            const [next, rows] = await api.call(
                ['KV.CHANGES', at, 'PREFIX', keyText(this.prefix), 'COUNT', String(PAGE)],
                {signal},
            );
            for (const [key, value, vs] of rows) this.add({at: null, vs, key, value});
            if (next === at || next >= end) break;
            at = next;
        }
    }

    heard(text) {
        const node = tryRead(text);
        if (node === null) return;
        const m = Object.fromEntries(node.members.map(x => [x.name, x.v]));
        const text_of = v => (v === undefined || v.t === 'null' ? null : compact(v));
        const change = {
            at: Date.now(),
            vs: m.commit.text,
            key: text_of(m.key),
            value: m.versionstamp.t === 'null' ? null : (text_of(m.value) ?? 'null'),
        };
        if (this.held) this.held.push(change);
        else this.add(change);
    }

    add(change) {
        if (change.vs !== undefined) {
            if (change.at !== null && this.caught !== undefined && change.vs <= this.caught) return;
            if (change.at === null) this.caught = change.vs;
            this.last = change.vs;
        }
        this.seen++;
        this.changes.push(change);
        if (this.changes.length > KEPT * 1.25) this.changes.splice(0, this.changes.length - KEPT);
        this.drawSoon();
    }

    /* The first change of a burst is drawn at once, those that follow together. */
    drawSoon() {
        if (this.isDrawDue || this.isPaused) return;
        this.isDrawDue = true;
        const wait = Math.max(0, (this.drawnAt || 0) + DRAW_MS - performance.now());
        setTimeout(() => {
            this.isDrawDue = false;
            if (!this.view.signal.aborted && !this.isPaused) this.draw();
        }, wait);
    }

    togglePause() {
        this.isPaused = !this.isPaused;
        this.pause.setAttribute('aria-pressed', String(this.isPaused));
        setText(this.pause, this.isPaused ? 'Go on' : 'Pause');
        this.draw();
    }

    draw() {
        this.drawnAt = performance.now();
        this.draws++;
        this.list.dataset.draws = this.draws;
        if (this.changes.length === 0) return this.drawEmpty();
        const needle = this.filter.value.toLowerCase();
        const rows = [];
        for (let i = this.changes.length - 1; i >= 0 && rows.length < this.shown; i--) {
            const c = this.changes[i];
            if (needle === '' || c.gap || matches(c, needle)) rows.push(rowOf(c));
        }
        return place(this.list, rows);
    }

    drawEmpty() {
        const key = keyText([...this.prefix, {k: 'text', v: 'a'}]);
        return fill(
            this.list,
            h(
                'div',
                {class: 'empty'},
                h('p', {}, `No changes yet. Changes below ${keyText(this.prefix)} appear here. This creates one:`),
                commandLine(() => ['KV.SET', key, '1']).el,
            ),
        );
    }

    lookRate() {
        this.recent.push(this.seen);
        if (this.recent.length > 6) this.recent.shift();
        const n = this.recent.length - 1;
        const rate = n < 1 ? 0 : (this.recent[n] - this.recent[0]) / n;
        const of =
            this.changes.length > this.shown
                ? `newest ${number(this.shown)} of ${number(this.changes.length)} kept; `
                : '';
        this.older.hidden = this.changes.length <= this.shown;
        setText(
            this.rate,
            `${of}${short(rate)} changes/s, ${number(this.seen)} since you came${this.isPaused ? ', paused' : ''}`,
        );
    }
}

/* Makes `rows` the children. Most are there already: only what is new is put in, what is old goes.
 * */
function place(list, rows) {
    const keep = new Set(rows);
    for (let el = list.lastChild; el !== null;) {
        const before = el.previousSibling;
        if (!keep.has(el)) el.remove();
        el = before;
    }
    let next = list.firstChild;
    for (const row of rows) {
        if (row === next) next = next.nextSibling;
        else list.insertBefore(row, next);
    }
}

function matches(c, needle) {
    return (
        (c.key || '').toLowerCase().includes(needle) ||
        (c.value || '').toLowerCase().includes(needle)
    );
}

/* The row of a change is made once. */
function rowOf(c) {
    if (c.el === undefined) c.el = c.gap ? h('div', {class: 'feed-row gap'}, c.gap) : changeRow(c);
    return c.el;
}

function changeRow(c) {
    const parts = c.key === null ? null : tryParseKey(c.key);
    return h(
        'div',
        {class: 'feed-row'},
        h('span', {class: 'dim'}, c.at === null ? 'before' : clock(c.at)),
        h('span', {class: 'dim', title: c.vs}, stamp(c.vs)),
        parts === null
            ? h('span', {class: 'gone'}, 'all keys')
            : h(
                  'a',
                  {
                      title: c.key,
                      href: address('entries', {p: keyText(parts.slice(0, -1)), k: c.key}),
                  },
                  c.key,
              ),
        c.value === null
            ? h(
                  'span',
                  {class: 'gone'},
                  c.key === null ? 'the database was flushed' : 'deleted, or expired',
              )
            : h('span', {}, valueText(c.value)),
    );
}

function valueText(value) {
    const collection = value.startsWith('{"$collection"') ? collectionOf(tryRead(value)) : null;
    return collection === null ? value.slice(0, VALUE) : collectionText(collection);
}
