// A dialog that gives an entry another key, unless one is there.

import {h, setText} from './dom.js';
import {guessKey, keyText, wrongKey} from './keys.js';
import {commandLine} from './command.js';
import {dialog, errorBox} from './dialog.js';
import {run, shownNames} from './rediskey.js';

/* Resolves with the parts of the new key, undefined when nothing was done. */
export function rename(key) {
    return dialog('Rename', close => renameForm(key, close), {class: 'wide'});
}

function renameForm(key, close) {
    const error = errorBox();
    const hint = h('p', {class: 'hint bad', role: 'status'});
    const to = h('input', {
        class: 'mono wide',
        id: 'r-key',
        value: keyText(key),
        spellcheck: false,
        autocomplete: 'off',
        oninput: () => look(),
        'data-first': true,
    });
    const send = h('button', {class: 'primary', type: 'submit'}, 'Rename');
    const parts = () => guessKey(to.value).parts;
    const line = commandLine(() => {
        const {before, words} = shownNames(key, parts());
        return [...before, ...commands(...words)];
    });
    const look = () => {
        const wrong = wrongKey(to.value);
        setText(hint, wrong);
        send.disabled = wrong !== '';
        line.update();
    };
    const submit = async e => {
        e.preventDefault();
        error.clear();
        try {
            const made = parts();
            const [done] = await run([key, made], commands);
            if (done === 1) return void close(made);
            error.show('The key already exists. Nothing was changed.');
        } catch (failure) {
            error.show(failure);
        }
    };
    look();
    return h(
        'form',
        {onsubmit: submit},
        h('label', {for: 'r-key'}, 'New key, with its expiry'),
        [to, hint, error.el, line.el],
        h('div', {class: 'actions'}, send, h('button', {onclick: () => close()}, 'Cancel')),
    );
}

const commands = (from, to) => [['RENAMENX', from, to]];
