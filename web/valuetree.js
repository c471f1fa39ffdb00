// A value as a tree: folding, types, numbers as they were written, members in their order.

import {h, fill, icon} from './dom.js';
import {typed, compact, fromBase64, asText} from './json.js';
import {hex} from './keys.js';
import {number, bytes, dateTime} from './format.js';

const FIRST_ITEMS = 100; // of an array or object; more on a click
const OPEN_DEPTH = 3;

/* The tree of a node; `search` marks and opens what contains it. */
export function valueTree(node, {search = '', depth = OPEN_DEPTH} = {}) {
    const needle = search.toLowerCase();
    return h(
        'div',
        {class: 'value-tree mono', role: 'group', 'aria-label': 'Value'},
        branch(null, node, {needle, depth}),
    );
}

function branch(name, node, o) {
    const tag = typed(node);
    const items = tag !== null ? null : childrenOf(node);
    const label = name === null ? null : [h('span', {class: 'v-name'}, mark(name, o.needle)), ': '];
    if (items === null || items.length === 0) {
        return h(
            'div',
            {class: 'v-row'},
            h('span', {class: 'v-fold'}),
            label,
            tag !== null ? tagged(node, tag, o) : leaf(node, o.needle),
        );
    }
    const isOpen = (o.depth > 0 && items.length <= 1000) || contains(node, o.needle);
    const body = h('div', {class: 'v-body'});
    const fold = h(
        'button',
        {
            type: 'button',
            class: 'v-fold',
            'aria-expanded': String(isOpen),
            'aria-label': `${name === null ? 'value' : name}: fold or unfold`,
            onclick: () => {
                const open = fold.getAttribute('aria-expanded') !== 'true';
                fold.setAttribute('aria-expanded', String(open));
                body.hidden = !open;
                if (open && body.childElementCount === 0) fillBody(body, node, items, o);
            },
        },
        icon('right', 12),
    );
    if (isOpen) fillBody(body, node, items, o);
    body.hidden = !isOpen;
    const size = node.t === 'array' ? `[${items.length}]` : `{${items.length}}`;
    return h(
        'div',
        {},
        h('div', {class: 'v-row'}, fold, label, h('span', {class: 'v-size'}, size)),
        body,
    );
}

function childrenOf(node) {
    if (node.t === 'array') return node.items.map((v, i) => [String(i), v]);
    if (node.t === 'object') return node.members.map(m => [m.name, m.v]);
    return null;
}

function fillBody(body, node, items, o, from = 0) {
    const to = Math.min(from + FIRST_ITEMS, items.length);
    const inner = {...o, depth: o.depth - 1};
    body.append(...items.slice(from, to).map(([name, v]) => branch(name, v, inner)));
    if (to === items.length) return;
    const more = h(
        'button',
        {
            type: 'button',
            class: 'small quiet',
            onclick: () => {
                more.remove();
                fillBody(body, node, items, o, to);
            },
        },
        `more: ${number(to)} of ${number(items.length)} shown`,
    );
    body.append(more);
}

function contains(node, needle) {
    return needle !== '' && compact(node).toLowerCase().includes(needle);
}

function mark(text, needle) {
    if (needle === '') return text;
    const at = text.toLowerCase().indexOf(needle);
    if (at < 0) return text;
    return [
        text.slice(0, at),
        h('mark', {}, text.slice(at, at + needle.length)),
        mark(text.slice(at + needle.length), needle),
    ];
}

function leaf(node, needle) {
    if (node.t === 'string') {
        return h('span', {class: 'v-string'}, mark(node.raw, needle));
    }
    if (node.t === 'array' || node.t === 'object') {
        return h('span', {class: 'v-size'}, node.t === 'array' ? '[ ]' : '{ }');
    }
    return h(
        'span',
        {class: `v-${node.t === 'number' ? 'number' : 'word'}`},
        mark(node.raw || node.t, needle),
    );
}

/* Tagged values: a type in small letters, then what a person wants to read. */
function tagged(node, tag, o) {
    const type = h('span', {class: 'v-type'}, tag.type);
    const inner = tag.v;
    if (tag.type === 'bytes' && inner.t === 'string') return [type, bytesOf(inner.text)];
    if (tag.type === 'date' && inner.t === 'string') {
        return [
            type,
            h('span', {class: 'v-string'}, inner.text),
            ' ',
            h('span', {class: 'dim'}, dateTime(Date.parse(inner.text))),
        ];
    }
    if (inner.t === 'string')
        return [type, h('span', {class: 'v-number'}, mark(inner.text, o.needle))];
    if (inner.t === 'array' || inner.t === 'object') return [type, nested(inner, o)];
    return [type, leaf(inner, o.needle)];
}

function nested(node, o) {
    return h('div', {class: 'v-body'}, branch(null, node, {...o, depth: o.depth - 1}));
}

function bytesOf(base64) {
    const b = fromBase64(base64);
    if (b === null) return h('span', {class: 'v-string'}, base64);
    const text = asText(b);
    return [
        h(
            'span',
            {class: 'v-string'},
            text !== null && isPrintable(text)
                ? text
                : hex(b.slice(0, 256)) + (b.length > 256 ? '…' : ''),
        ),
        ' ',
        h('span', {class: 'dim'}, bytes(b.length)),
    ];
}

function isPrintable(text) {
    return !/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/.test(text);
}

/* The bytes of a value as MessagePack: offset, hex, characters. */
export function hexDump(data, at_most = 4096) {
    const rows = [];
    for (let at = 0; at < Math.min(data.length, at_most); at += 16) {
        const part = data.slice(at, at + 16);
        const chars = Array.from(part, b =>
            b >= 32 && b < 127 ? String.fromCharCode(b) : '.',
        ).join('');
        const hexes = Array.from(part, b => b.toString(16).padStart(2, '0')).join(' ');
        rows.push(`${at.toString(16).padStart(6, '0')}  ${hexes.padEnd(47)}  ${chars}`);
    }
    if (data.length > at_most) rows.push(`… ${number(data.length - at_most)} more bytes`);
    return h('pre', {class: 'hex mono', tabIndex: 0, 'aria-label': 'MessagePack'}, rows.join('\n'));
}

/* Replaces what is in `el` by the tree of a text; a text that is no JSON is shown as it is. */
export function showValue(el, text, node, options) {
    fill(el, node === null ? h('pre', {class: 'mono'}, text) : valueTree(node, options));
}
