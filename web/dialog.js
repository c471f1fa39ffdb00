// Dialogs (the browser's own <dialog>: focus is kept inside, Escape closes) and short messages.

import {h, fill} from './dom.js';

// A dialog belongs to the screen on which it was asked for, and ends with it: what it would do is not
// what the next screen shows.
let screens = 0;
const open = new Set();

/* For the option `since` of a dialog that is shown after something was waited for. */
export const screenNow = () => screens;

/* The screen is left: its dialogs are cancelled, and those that it has not shown yet are not shown. */
export function endDialogs() {
    screens++;
    for (const el of open) el.close();
}

/* Shows `build(close)`, nodes, in a dialog; resolves with what close() was given, undefined for
 * Escape, and when the screen is left. */
export function dialog(title, build, options = {}) {
    if (options.since !== undefined && options.since !== screens) return Promise.resolve();
    return new Promise(resolve => {
        let result;
        const id = `d${Math.random().toString(36).slice(2)}`;
        const el = h('dialog', {class: `dialog ${options.class || ''}`, 'aria-labelledby': id});
        const close = value => {
            result = value;
            el.close();
        };
        el.append(h('h2', {id}, title), ...[build(close)].flat());
        el.addEventListener('close', () => {
            open.delete(el);
            el.remove();
            resolve(result);
        });
        // Closed, it may still have the focus until the next frame: keys are the page's then.
        el.addEventListener('keydown', e => {
            if (el.open) e.stopPropagation();
        });
        document.body.append(el);
        open.add(el);
        el.showModal();
        const first = el.querySelector('[data-first]') || el.querySelector('input,textarea,button');
        if (first !== null) first.focus();
    });
}

/* A question that is answered by a button; true or false. */
export async function confirm(title, text, {yes = 'Yes', danger = false, command = null} = {}) {
    return (
        (await dialog(title, close => [
            h('p', {}, text),
            command,
            h(
                'div',
                {class: 'actions'},
                h(
                    'button',
                    {class: danger ? 'danger' : 'primary', onclick: () => close(true)},
                    yes,
                ),
                h('button', {'data-first': true, onclick: () => close(false)}, 'Cancel'),
            ),
        ])) === true
    );
}

/* A question that is answered by typing `word`: for what cannot be taken back. `body` are nodes;
 * `since`: screenNow() of when it was asked for. */
export async function confirmTyped(title, body, word, yes, command, since) {
    return (
        (await dialog(
            title,
            close => {
                const go = h('button', {class: 'danger', type: 'submit', disabled: true}, yes);
                const input = h('input', {
                    class: 'mono wide',
                    autocomplete: 'off',
                    spellcheck: false,
                    'aria-label': `Type ${word} to confirm`,
                    'data-first': true,
                    oninput: () => {
                        go.disabled = input.value !== word;
                    },
                });
                return h(
                    'form',
                    {
                        onsubmit: e => {
                            e.preventDefault();
                            if (input.value === word) close(true);
                        },
                    },
                    body,
                    h('p', {}, 'Type ', h('code', {}, word), ' to confirm.'),
                    input,
                    command,
                    h(
                        'div',
                        {class: 'actions'},
                        go,
                        h('button', {type: 'button', onclick: () => close(false)}, 'Cancel'),
                    ),
                );
            },
            {class: 'wide', since},
        )) === true
    );
}

const place = h('div', {class: 'toasts', role: 'status', 'aria-live': 'polite'});

/* A short message at the bottom, until it is removed or for some seconds; `kind` is '', 'bad' or
 * 'good'. */
export function toast(text, kind = '') {
    if (!place.isConnected) document.body.append(place);
    const el = h('div', {class: `toast ${kind}`}, text);
    place.append(el);
    while (place.children.length > 3) place.firstChild.remove();
    setTimeout(() => el.remove(), kind === 'bad' ? 8000 : 3500);
    return el;
}

/* A box for an error of a form: show(error) and clear(). */
export function errorBox() {
    const el = h('div', {class: 'error-box', role: 'alert', hidden: true});
    return {
        el,
        show(e) {
            fill(el, e instanceof Error ? e.message : e);
            el.hidden = false;
        },
        clear() {
            el.hidden = true;
        },
    };
}
