// Changing an entry. What is saved goes onto the versionstamp that was read, or not at all: then
// both versions are shown side by side. The text is sent as it stands here, so the order of
// members and the digits of numbers are kept; KEEPTTL keeps the expiry.

import {h, fill, setText} from './dom.js';
import * as api from './api.js';
import {read, tryRead, pretty} from './json.js';
import {duration} from './format.js';
import {commandLine} from './command.js';
import {dialog, errorBox} from './dialog.js';
import {sideBySide} from './diff.js';

function textOf(entry) {
    return entry.node === null ? entry.value : pretty(entry.node);
}

export class Editor {
    /* {key, entry: {value, vs, node}, endsAt, done(isSaved)} */
    constructor(o) {
        this.o = o;
        this.base = o.entry; // what a save replaces
        this.error = errorBox();
        this.area = valueArea(textOf(o.entry), () => this.changed());
        this.conflict = h('div', {class: 'conflict', hidden: true});
        this.line = commandLine(() => this.words(), {label: 'Show the command'});
        this.save = h('button', {class: 'primary', type: 'submit', title: 'Ctrl+Enter'}, 'Save');
        this.el = h(
            'form',
            {
                class: 'editor',
                onsubmit: e => {
                    e.preventDefault();
                    this.submit();
                },
                onkeydown: e => {
                    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) this.submit();
                    if (e.key === 'Escape') {
                        e.stopPropagation();
                        this.cancel();
                    }
                },
            },
            h(
                'p',
                {class: 'dim'},
                'Saved only onto versionstamp ',
                h('span', {class: 'mono'}, this.base.vs),
                o.endsAt === null
                    ? '; it never expires.'
                    : `; it goes on to expire in ${duration(o.endsAt - Date.now())}.`,
            ),
            this.area.el,
            this.error.el,
            this.conflict,
            this.line.el,
            h(
                'div',
                {class: 'actions'},
                this.save,
                h('button', {type: 'button', onclick: () => this.cancel()}, 'Cancel'),
            ),
        );
    }

    focus() {
        this.area.input.focus();
        this.area.input.setSelectionRange(0, 0);
    }

    text() {
        return this.area.input.value.trim();
    }

    /* A save that keeps what the entry's expiry is at that moment. */
    words() {
        return ['KV.SET', this.o.key, this.text(), 'KEEPTTL', 'IFVERSION', this.base.vs];
    }

    changed() {
        this.error.clear();
        this.save.disabled = !this.area.isGood();
        this.line.update();
    }

    async submit() {
        if (!this.area.isGood()) return;
        this.save.disabled = true;
        this.error.clear();
        try {
            const vs = await api.call(this.words());
            if (vs !== null) return void this.o.done(true);
            await this.showConflict();
        } catch (e) {
            this.error.show(e);
        }
        this.save.disabled = false;
    }

    async showConflict() {
        const pair = await api.call(['KV.GET', this.o.key, 'WITHVERSION']);
        this.drawConflict(
            pair === null ? null : {value: pair[0], vs: pair[1], node: tryRead(pair[0])},
        );
    }

    /* The entry changed while it is being edited, and a watch has told so. */
    changedMeanwhile(entry) {
        if (entry === null || entry.vs !== this.base.vs) this.drawConflict(entry);
    }

    drawConflict(theirs) {
        const mine = tryRead(this.text());
        const what =
            theirs === null
                ? 'It is not there any more: it was deleted, or has expired.'
                : 'Another client changed it after you read it. Nothing was saved.';
        fill(
            this.conflict,
            h('h3', {}, 'Conflict'),
            h('p', {}, what),
            sideBySide(
                'Yours',
                mine === null ? this.text() : pretty(mine),
                theirs === null ? 'There now: nothing' : `There now, ${theirs.vs}`,
                theirs === null ? '' : textOf(theirs),
            ),
            h(
                'div',
                {class: 'actions'},
                theirs === null
                    ? null
                    : h(
                          'button',
                          {type: 'button', onclick: () => this.rebase(theirs, false)},
                          'Keep mine, save onto this version',
                      ),
                theirs === null
                    ? null
                    : h(
                          'button',
                          {type: 'button', onclick: () => this.rebase(theirs, true)},
                          'Load their version',
                      ),
                h('button', {type: 'button', onclick: () => this.o.done(false)}, 'Discard mine'),
            ),
        );
        this.conflict.hidden = false;
        this.conflict.scrollIntoView({block: 'nearest'});
    }

    rebase(theirs, takeText) {
        this.base = theirs;
        if (takeText) this.area.set(textOf(theirs));
        this.conflict.hidden = true;
        this.changed();
        this.area.input.focus();
    }

    async cancel() {
        const isChanged = this.text() !== textOf(this.base).trim();
        if (isChanged) {
            const leave = await dialog('Throw the changes away?', close =>
                h(
                    'div',
                    {class: 'actions'},
                    h('button', {class: 'danger', onclick: () => close(true)}, 'Throw away'),
                    h('button', {onclick: () => close(false)}, 'Go on editing'),
                ),
            );
            if (leave !== true) return;
        }
        this.o.done(false);
    }
}

/* A text field for typed JSON that says where it is wrong: {el, input, isGood(), set(text)}. */
export function valueArea(text, changed, {label = 'Value (typed JSON)', rows = 0} = {}) {
    const hint = h('p', {class: 'hint', role: 'status'});
    const input = h('textarea', {
        class: 'mono',
        spellcheck: false,
        'aria-label': label,
        autocomplete: 'off',
        value: text,
        rows: rows || Math.min(30, Math.max(6, text.split('\n').length + 1)),
    });
    const format = h(
        'button',
        {
            type: 'button',
            class: 'small quiet',
            onclick: () => {
                const node = tryRead(input.value);
                if (node === null) return;
                input.value = pretty(node);
                changed();
            },
        },
        'Format',
    );
    let isGood = true;
    const look = () => {
        try {
            read(input.value);
            isGood = true;
        } catch (e) {
            isGood = false;
            setText(hint, e.message);
        }
        if (isGood) setText(hint, '');
        hint.classList.toggle('bad', !isGood);
        input.setAttribute('aria-invalid', String(!isGood));
    };
    input.addEventListener('input', () => {
        look();
        changed();
    });
    input.addEventListener('keydown', e => {
        if (e.key !== 'Tab' || e.shiftKey || input.selectionStart === input.selectionEnd) return;
        e.preventDefault(); // with a selection, Tab indents; without one it goes to the next field
        indent(input);
    });
    return {
        el: h('div', {class: 'value-area'}, input, h('div', {class: 'row'}, hint, format)),
        input,
        isGood: () => isGood,
        set(t) {
            input.value = t;
            look();
            changed();
        },
    };
}

function indent(input) {
    const from = input.value.lastIndexOf('\n', input.selectionStart - 1) + 1;
    const to = input.selectionEnd;
    const lines = input.value
        .slice(from, to)
        .split('\n')
        .map(l => `  ${l}`)
        .join('\n');
    input.setRangeText(lines, from, to, 'select');
    input.dispatchEvent(new Event('input'));
}
