// Elements of Redis's types are bytes. Here they are read from replies, shown, typed and sent: as
// text where they are text, else as hex digits.

import {h, setText} from './dom.js';
import {hex} from './keys.js';
import {bytes as size} from './format.js';

const SHOWN = 240; // characters of a text, in a table
const SHOWN_HEX = 48; // bytes

/* The bytes of a reply in base64. */
export function fromReply(text) {
    return Uint8Array.from(atob(text), c => c.charCodeAt(0));
}

const utf8 = new TextDecoder('utf-8', {fatal: true, ignoreBOM: true});

/* The text that bytes are, to the last of them; or null. */
export function exactText(data) {
    try {
        return utf8.decode(data);
    } catch {
        return null;
    }
}

export function ofText(text) {
    return new TextEncoder().encode(text);
}

export function sameBytes(a, b) {
    return a.length === b.length && a.every((x, i) => x === b[i]);
}

function base64(data) {
    let out = '';
    for (let at = 0; at < data.length; at += 8192) {
        out += String.fromCharCode(...data.subarray(at, at + 8192));
    }
    return btoa(out);
}

/* A word of a command for these bytes. */
export function word(data) {
    const text = exactText(data);
    return text === null ? {$bytes: base64(data)} : text;
}

/* Can it be read, and typed? A field for text makes LF of CR. */
function isTyped(text) {
    return text !== null && !/[\u0000-\u0008\u000b-\u001f\u007f]/.test(text);
}

/* Bytes in a cell of a table: their beginning, and a button for the rest. */
export function shownBytes(data) {
    const text = exactText(data);
    if (!isTyped(text)) return shownHex(data);
    if (text === '') return h('span', {class: 'dim'}, '(empty)');
    const el = h('span', {class: 'v-string'}, text.slice(0, SHOWN));
    return text.length <= SHOWN ? el : [el, rest(el, text, data.length)];
}

function shownHex(data) {
    const el = h('span', {class: 'v-string'}, hex(data.subarray(0, SHOWN_HEX)));
    return [
        h('span', {class: 'v-type'}, 'bytes'),
        el,
        data.length > SHOWN_HEX
            ? rest(el, () => hex(data), data.length)
            : h('span', {class: 'dim'}, ` ${size(data.length)}`),
    ];
}

function rest(el, all, length) {
    const unfold = () => {
        setText(el, typeof all === 'function' ? all() : all);
        button.remove();
    };
    const button = h('button', {class: 'small quiet', onclick: unfold}, `… all ${size(length)}`);
    return button;
}

/* Bytes in a few words, for messages. */
export function briefly(data) {
    const text = exactText(data);
    if (!isTyped(text)) return `0x${hex(data.subarray(0, 16))}${data.length > 16 ? '…' : ''}`;
    return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function readHex(text) {
    const digits = text.replace(/\s+/g, '');
    if (!/^([0-9a-f]{2})*$/i.test(digits)) throw new Error('two hex digits for each byte');
    return Uint8Array.from((digits.match(/../g) || []).map(x => parseInt(x, 16)));
}

function tryHex(text) {
    try {
        return readHex(text);
    } catch {
        return null;
    }
}

/* A field for bytes, typed as text or as hex digits: {el, input, bytes(), word(), isGood()}. */
export function bytesField(id, label, changed, {data = new Uint8Array(), first = false} = {}) {
    const text = exactText(data);
    const isText = isTyped(text);
    const hint = h('p', {class: 'hint bad', role: 'status', hidden: true}, 'Two hex digits for each byte.');
    const form = h(
        'select',
        {
            'aria-label': `${label}: as text or as hex digits`,
            onchange: () => {
                turn(form, input);
                look();
            },
        },
        h('option', {value: 'text'}, 'text'),
        h('option', {value: 'hex'}, 'hex'),
    );
    form.value = isText ? 'text' : 'hex';
    const input = h('textarea', {
        class: 'mono',
        id,
        rows: isText ? Math.min(12, Math.max(1, text.split('\n').length)) : 2,
        spellcheck: false,
        autocomplete: 'off',
        value: isText ? text : hex(data),
        oninput: () => look(),
        'data-first': first,
    });
    const bytes = () => (form.value === 'hex' ? readHex(input.value) : ofText(input.value));
    const isGood = () => form.value === 'text' || tryHex(input.value) !== null;
    const look = () => {
        hint.hidden = isGood();
        changed();
    };
    return {
        el: h(
            'div',
            {class: 'bytes-field'},
            h('label', {for: id}, label),
            h('div', {class: 'row'}, input, form),
            hint,
        ),
        input,
        bytes,
        isGood,
        word: () => word(bytes()),
    };
}

/* The other form was chosen: the same bytes in it. Those that are no text stay hex digits. */
function turn(form, input) {
    if (form.value === 'hex') {
        input.value = hex(ofText(input.value));
        return;
    }
    const typed = tryHex(input.value);
    const text = typed === null ? null : exactText(typed);
    if (isTyped(text)) input.value = text;
    else form.value = 'hex';
}
