// One entry: what is this, since when, may I change it?

import {h, fill, setText} from './dom.js';
import * as api from './api.js';
import {go, route} from './router.js';
import {keyText, keyPath} from './keys.js';
import {tryRead, typeName, pretty, fromBase64, collectionOf, countText} from './json.js';
import {number, bytes, duration, dateTime, utf8Length, clock} from './format.js';
import {showValue, hexDump} from './valuetree.js';
import {ageText, ageTitle} from './entrytable.js';
import {commandLine, guard, copyText} from './command.js';
import {confirm, errorBox, toast} from './dialog.js';
import {Editor} from './editor.js';
import {Elements} from './elements.js';
import {askExpiry} from './expiry.js';
import {rename} from './rename.js';
import {question} from './rediskey.js';
import {freshness} from './fresh.js';
import {history} from './history.js';

// Those that show a value; of a collection there are its elements.
const OF_VALUES = ['tree', 'json', 'msgpack'];
const TABS = [
    ['elements', 'Elements'],
    ['tree', 'Tree'],
    ['json', 'JSON'],
    ['msgpack', 'MessagePack'],
    ['history', 'History'],
];

export class Entry {
    constructor(screen, key) {
        this.screen = screen;
        this.key = key;
        this.json = keyText(key);
        this.controller = new AbortController();
        this.entry = null; // {value, vs, node, collection}
        this.elements = null; // of a collection
        this.endsAt = null; // when it expires, by this machine's clock
        this.tab = 'tree';
        this.editor = null;
        this.watch = null;
        this.build();
        this.keys = {
            e: [() => this.edit(), 'edit'],
            w: [() => this.toggleWatch(), 'watch it, live'],
            r: [() => this.reload(), 'read again'],
            Escape: [() => this.escape(), 'back'],
        };
        const editNow = route().params.get('edit') !== null;
        this.reload().then(() => {
            if (editNow && this.entry !== null) this.edit();
        });
        this.timer = setInterval(() => this.tick(), 1000);
    }

    build() {
        this.error = errorBox();
        this.facts = h('dl', {class: 'facts'});
        this.fresh = freshness(0);
        this.live = h('span', {class: 'live', role: 'status'});
        this.body = h('div', {class: 'entry-body', id: 'entry-body', role: 'tabpanel'});
        this.body.setAttribute('aria-labelledby', 'tab-tree');
        this.line = commandLine(() => ['KV.GET', this.json, 'WITHVERSION']);
        this.search = h('input', {
            type: 'search',
            class: 'small-input',
            placeholder: 'Find in the value   /',
            'aria-label': 'Find in the value',
            'data-search': true,
            oninput: () => this.drawBody(),
        });
        this.tabs = h(
            'div',
            {class: 'tabs', role: 'tablist'},
            TABS.map(([id, name]) =>
                h(
                    'button',
                    {
                        role: 'tab',
                        id: `tab-${id}`,
                        'aria-selected': String(id === this.tab),
                        'aria-controls': 'entry-body',
                        onclick: () => this.showTab(id),
                    },
                    name,
                ),
            ),
        );
        this.main = h(
            'div',
            {},
            this.facts,
            h('div', {class: 'tab-bar'}, this.tabs, this.search),
            this.body,
            this.line.el,
        );
        this.el = h(
            'div',
            {class: 'panel entry'},
            this.head(),
            this.error.el,
            h('div', {class: 'table-head'}, this.live, this.fresh.el),
            this.main,
        );
    }

    /* The key, and what can be done to the entry. */
    head() {
        this.editButton = guard(
            h('button', {class: 'primary small', onclick: () => this.edit()}, 'Edit'),
            () => ['KV.SET', this.json, '1'],
        );
        this.watchButton = h(
            'button',
            {class: 'small', 'aria-pressed': 'false', onclick: () => this.toggleWatch()},
            'Watch',
        );
        this.copyButton = h(
            'button',
            {class: 'small', onclick: () => this.entry !== null && copyText(this.entry.value)},
            'Copy value',
        );
        const move = guard(h('button', {class: 'small', onclick: () => this.rename()}, 'Rename'), () =>
            question(this.key, k => ['RENAMENX', k, k]),
        );
        const remove = guard(
            h('button', {class: 'small danger-quiet', onclick: () => this.remove()}, 'Delete'),
            () => ['KV.DEL', this.json],
        );
        return h(
            'div',
            {class: 'entry-head'},
            h('h2', {class: 'mono key-title'}, this.json),
            h(
                'div',
                {class: 'actions'},
                this.editButton,
                this.watchButton,
                h('button', {class: 'small', onclick: () => copyText(this.json)}, 'Copy key'),
                this.copyButton,
                move,
                remove,
            ),
        );
    }

    async reload() {
        const {signal} = this.controller;
        this.error.clear();
        try {
            const [get, ttl] = await api.pipeline(
                [
                    ['KV.GET', this.json, 'WITHVERSION'],
                    ['KV.PTTL', this.json],
                ],
                {signal},
            );
            if (get.error !== undefined) throw new Error(get.error);
            this.take(get.result, ttl.result);
        } catch (e) {
            if (e.name === 'AbortError') return;
            this.error.show(e);
            this.fresh.failed();
        }
    }

    take(pair, ttl) {
        this.fresh.done();
        this.endsAt = ttl > 0 ? Date.now() + ttl : null;
        const node = pair === null ? null : tryRead(pair[0]);
        this.entry =
            pair === null ? null : {value: pair[0], vs: pair[1], node, collection: collectionOf(node)};
        this.draw();
    }

    draw() {
        this.main.hidden = this.entry === null;
        this.editButton.hidden = this.entry === null || this.entry.collection !== null;
        if (this.entry === null) {
            this.error.show(
                `The entry ${this.json} does not exist. It may have been deleted or have expired.`,
            );
            return;
        }
        this.lookKind(this.entry.collection);
        this.drawFacts();
        this.drawBody();
    }

    /* A collection is shown by its elements, everything else by its value. */
    lookKind(collection) {
        const isCollection = collection !== null;
        for (const t of this.tabs.children) {
            const id = t.id.slice(4);
            t.hidden = isCollection ? OF_VALUES.includes(id) : id === 'elements';
        }
        this.copyButton.hidden = isCollection;
        this.line.el.hidden = isCollection;
        if (!isCollection) this.elements = null;
        else if (this.elements === null || this.elements.kind !== collection.kind) {
            this.elements = new Elements({
                key: this.key,
                kind: collection.kind,
                signal: this.controller.signal,
                changed: () => this.elementsChanged(),
                failed: e => this.error.show(e),
            });
        }
        const isShown = this.tab === 'history' || (this.tab === 'elements') === isCollection;
        if (!isShown) this.selectTab(isCollection ? 'elements' : 'tree');
    }

    /* Its last element takes a collection with it. */
    async elementsChanged() {
        await this.reload();
        if (this.entry === null) this.screen.tree.refresh();
        else this.screen.tree.changed(this.key);
    }

    drawFacts() {
        const {value, vs, node, collection} = this.entry;
        const fact = (name, ...what) => h('div', {}, h('dt', {}, name), h('dd', {}, ...what));
        this.expires = h('span', {});
        const change = guard(
            h('button', {class: 'small quiet', onclick: () => this.setExpiry()}, 'change'),
            () => ['KV.PEXPIRE', this.json, '1000'],
        );
        const raw = h('span', {class: 'dim'});
        this.rawSize = raw;
        fill(
            this.facts,
            fact('Type', typeName(node)),
            collection === null
                ? fact('Size', `${bytes(utf8Length(value))} JSON`, raw)
                : fact('Length', countText(collection)),
            fact('Versionstamp', h('span', {class: 'mono', title: ageTitle(vs)}, vs)),
            fact('Age', h('span', {title: ageTitle(vs)}, ageText(vs))),
            fact('Expires', this.expires, ' ', change),
            fact('Path form', h('span', {class: 'mono break'}, keyPath(this.key))),
        );
        this.tick();
    }

    tick() {
        if (this.entry === null || this.expires === undefined) return;
        if (this.endsAt === null) return setText(this.expires, 'never');
        const left = this.endsAt - Date.now();
        setText(this.expires, left <= 0 ? 'now' : `in ${duration(left)}`);
        this.expires.title = dateTime(this.endsAt);
        if (left <= 0 && this.editor === null) {
            this.endsAt = null;
            this.reload();
        }
    }

    showTab(id) {
        this.selectTab(id);
        this.drawBody();
    }

    selectTab(id) {
        this.tab = id;
        for (const t of this.tabs.children) {
            t.setAttribute('aria-selected', String(t.id === `tab-${id}`));
        }
        this.body.setAttribute('aria-labelledby', `tab-${id}`);
    }

    async drawBody() {
        const {value, node} = this.entry;
        this.search.hidden = this.tab !== 'tree';
        if (this.tab === 'elements') await this.drawElements();
        else if (this.tab === 'tree')
            showValue(this.body, value, node, {search: this.search.value.trim()});
        else if (this.tab === 'json') {
            fill(
                this.body,
                h(
                    'pre',
                    {class: 'mono json-text', tabIndex: 0, 'aria-label': 'JSON'},
                    node === null ? value : pretty(node),
                ),
            );
        } else if (this.tab === 'msgpack') await this.drawMessagePack();
        else fill(this.body, history(this.key, this.controller.signal));
    }

    async drawElements() {
        if (this.body.firstChild !== this.elements.el) fill(this.body, this.elements.el);
        await this.elements.reload();
    }

    async drawMessagePack() {
        try {
            const text = await api.call(['KV.GET', this.json, 'FORMAT', 'MSGPACK'], {
                signal: this.controller.signal,
                encoding: 'base64',
            });
            if (text === null || this.tab !== 'msgpack') return;
            const data = fromBase64(text);
            setText(this.rawSize, `, ${bytes(data.length)} MessagePack`);
            fill(
                this.body,
                h('p', {class: 'dim'}, `${number(data.length)} bytes as they are stored`),
                hexDump(data),
            );
        } catch (e) {
            if (e.name !== 'AbortError') this.error.show(e);
        }
    }

    // --- watching ---

    toggleWatch() {
        if (this.watch !== null) {
            this.watch.stop();
            this.watch = null;
            this.watchButton.setAttribute('aria-pressed', 'false');
            this.lookLive('', '');
            return;
        }
        this.watchButton.setAttribute('aria-pressed', 'true');
        this.lookLive('wait', 'connecting…');
        let lostAt = null;
        this.watch = api.subscribe(`kv:watch:${this.json}`, {
            open: () => {
                this.lookLive(
                    'on',
                    lostAt === null
                        ? 'live'
                        : `live; was lost from ${clock(lostAt)} to ${clock(Date.now())}`,
                );
            },
            message: text => this.changed(text),
            lost: e => {
                lostAt = Date.now();
                this.lookLive('off', `lost at ${clock(lostAt)}${e ? `: ${e.message}` : ''}`);
            },
        });
    }

    lookLive(cls, text) {
        this.live.className = `live ${cls}`;
        setText(this.live, text);
    }

    /* A change of the entry: the expiry is not in the message, so it is asked for. */
    async changed(text) {
        const message = tryRead(text);
        if (message === null) return;
        const vs = message.members.find(m => m.name === 'versionstamp').v;
        if (this.entry !== null && vs.t === 'string' && vs.text === this.entry.vs) return;
        await this.reload();
        this.body.classList.remove('flash');
        void this.body.offsetWidth;
        this.body.classList.add('flash');
        if (this.editor !== null) this.editor.changedMeanwhile(this.entry);
    }

    // --- changing ---

    edit() {
        const {entry, editor} = this;
        if (entry === null || entry.collection !== null || this.editButton.disabled || editor !== null) return;
        this.editor = new Editor({
            key: this.json,
            entry: this.entry,
            endsAt: this.endsAt,
            done: saved => this.editDone(saved),
        });
        this.main.hidden = true;
        this.el.append(this.editor.el);
        this.editor.focus();
    }

    editDone(saved) {
        this.editor.el.remove();
        this.editor = null;
        this.main.hidden = false;
        this.reload();
        if (saved) toast('Saved.', 'good');
    }

    escape() {
        if (this.editor !== null) this.editor.cancel();
        else this.screen.back();
    }

    async remove() {
        const words = ['KV.ATOMIC', 'CHECK', this.json, this.entry.vs, 'DEL', this.json];
        const ok = await confirm('Delete the entry?', h('span', {class: 'mono break'}, this.json), {
            yes: 'Delete',
            danger: true,
            command: commandLine(() => words).el,
        });
        if (!ok) return;
        try {
            if ((await api.call(words)) === null) {
                toast('Not deleted, because it has changed meanwhile. Check it again.', 'bad');
                return void this.reload();
            }
            toast('Deleted.', 'good');
            this.screen.back();
            this.screen.tree.refresh();
        } catch (e) {
            toast(e.message, 'bad');
        }
    }

    async rename() {
        const to = await rename(this.key);
        if (to === undefined) return;
        toast('Renamed.', 'good');
        go('entries', {p: keyText(to.slice(0, -1)), k: keyText(to)});
        this.screen.tree.refresh();
    }

    async setExpiry() {
        const words = ms =>
            ms === null ? ['KV.PERSIST', this.json] : ['KV.PEXPIRE', this.json, String(ms)];
        const ms = await askExpiry('When it expires', this.endsAt !== null, words);
        if (ms === undefined) return;
        try {
            await api.call(words(ms));
        } catch (e) {
            toast(e.message, 'bad');
        }
        this.reload();
    }

    stop() {
        this.controller.abort();
        clearInterval(this.timer);
        if (this.watch !== null) this.watch.stop();
    }
}
