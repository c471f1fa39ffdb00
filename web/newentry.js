// A dialog that makes a new entry: a value in typed JSON, or a hash, list, set, sorted set or stream with its
// first element.

import {h, fill, setText} from './dom.js';
import * as api from './api.js';
import {go} from './router.js';
import {keyText, guessKey, wrongKey} from './keys.js';
import {kindName, COLLECTIONS} from './json.js';
import {commandLine} from './command.js';
import {dialog, errorBox} from './dialog.js';
import {valueArea} from './editor.js';
import {newElement} from './elementfields.js';
import {run, shownNames} from './rediskey.js';

const IS_THERE = 'The key already exists. Nothing was changed.';

export async function newEntry(screen, prefix) {
    const start = keyText([...prefix, {k: 'text', v: ''}]);
    const made = await dialog('New entry', close => new NewForm(start, close).el, {class: 'wide'});
    if (made === undefined) return;
    screen.tree.refresh();
    go('entries', {p: keyText(made.slice(0, -1)), k: keyText(made)});
}

/* The field of a value, as those of elementfields.js, over the key in JSON. */
function valuePart(changed) {
    const area = valueArea('{\n  \n}', changed, {rows: 8});
    return {el: area.el, isGood: area.isGood, text: () => area.input.value.trim()};
}

class NewForm {
    constructor(start, close) {
        this.close = close;
        this.error = errorBox();
        this.hint = h('p', {class: 'hint'});
        this.key = h('input', {
            class: 'mono wide',
            id: 'n-key',
            value: start,
            spellcheck: false,
            autocomplete: 'off',
            oninput: () => this.look(),
            'data-first': true,
        });
        this.ttl = h('input', {
            type: 'number',
            min: 1,
            id: 'n-ttl',
            placeholder: 'never',
            oninput: () => this.look(),
        });
        this.kind = h(
            'select',
            {id: 'n-kind', onchange: () => this.turn()},
            h('option', {value: 'value'}, 'value (typed JSON)'),
            COLLECTIONS.map(k => h('option', {value: k}, kindName(k))),
        );
        this.create = h('button', {class: 'primary', type: 'submit'}, 'Create');
        this.place = h('div', {});
        this.line = commandLine(() => this.shown());
        this.el = this.build();
        this.turn();
    }

    build() {
        return h(
            'form',
            {
                onsubmit: e => {
                    e.preventDefault();
                    this.submit();
                },
            },
            h('label', {for: 'n-key'}, 'Key'),
            this.key,
            this.hint,
            h('label', {for: 'n-kind'}, 'Type'),
            this.kind,
            this.place,
            h('label', {for: 'n-ttl'}, 'Time to live in seconds'),
            this.ttl,
            this.error.el,
            this.line.el,
            h(
                'div',
                {class: 'actions'},
                this.create,
                h('button', {type: 'button', onclick: () => this.close()}, 'Cancel'),
            ),
        );
    }

    get isValue() {
        return this.kind.value === 'value';
    }

    parts() {
        return guessKey(this.key.value).parts;
    }

    /* Another type was chosen. */
    turn() {
        const changed = () => this.look();
        this.part = this.isValue ? valuePart(changed) : newElement(this.kind.value, changed);
        fill(this.place, this.part.el);
        this.look();
    }

    setWords() {
        const ttl = this.ttl.value === '' ? [] : ['EX', this.ttl.value];
        return ['KV.SET', keyText(this.parts()), this.part.text(), ...ttl, 'IFVERSION', 'NONE'];
    }

    /* The first element, and when the collection expires. */
    elementCommands(name) {
        const commands = this.part.commands(name);
        if (this.ttl.value !== '') commands.push(['EXPIRE', name, this.ttl.value]);
        return commands;
    }

    shown() {
        if (this.part === undefined || wrongKey(this.key.value) !== '') return null;
        if (this.isValue) return this.setWords();
        const {before, words} = shownNames(this.parts());
        return [...before, ...this.elementCommands(...words)];
    }

    look() {
        const wrong = wrongKey(this.key.value);
        setText(this.hint, wrong);
        this.hint.classList.toggle('bad', wrong !== '');
        this.create.disabled = wrong !== '' || !this.part.isGood();
        this.line.update();
    }

    async submit() {
        this.error.clear();
        this.create.disabled = true;
        try {
            const parts = this.parts();
            const isMade = this.isValue
                ? (await api.call(this.setWords())) !== null
                : await this.makeCollection(parts);
            if (isMade) return void this.close(parts);
            this.error.show(IS_THERE);
        } catch (failure) {
            this.error.show(failure);
        }
        this.look();
    }

    async makeCollection(parts) {
        if ((await api.call(['KV.EXISTS', keyText(parts)])) !== 0) return false;
        await run([parts], name => this.elementCommands(name));
        return true;
    }
}
