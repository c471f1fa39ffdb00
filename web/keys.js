// Keys: arrays of parts in typed JSON. A part is {k, ...}:
//   text    {v}: a string          number  {v}: a JavaScript number
//   bigint  {v}: a BigInt          bytes   {v}: a Uint8Array         boolean  {v}

import {read, compact, fromBase64, asText} from './json.js';

/* What the marks in front of parts say. */
export const KINDS = {
    text: {mark: 'T', name: 'text'},
    number: {mark: '#', name: 'number'},
    bigint: {mark: 'n', name: 'bigint'},
    bytes: {mark: '&', name: 'bytes'},
    boolean: {mark: '!', name: 'boolean'},
};

const SPECIAL = {NaN: NaN, '-NaN': NaN, Infinity: Infinity, '-Infinity': -Infinity, '-0': -0};

/* The parts of a key in JSON; throws an Error that says what is wrong. */
export function parseKey(text) {
    const node = read(text);
    if (node.t !== 'array') throw new Error('a key must be a JSON array');
    return node.items.map(partOf);
}

export function tryParseKey(text) {
    try {
        return parseKey(text);
    } catch {
        return null;
    }
}

function partOf(node) {
    if (node.t === 'string') return {k: 'text', v: node.text};
    if (node.t === 'number') return {k: 'number', v: Number(node.raw)};
    if (node.t === 'true' || node.t === 'false') return {k: 'boolean', v: node.t === 'true'};
    const m = node.t === 'object' && node.members.length === 1 ? node.members[0] : null;
    if (m !== null && m.v.t === 'string') {
        if (m.name === '$bigint') return {k: 'bigint', v: BigInt(m.v.text)};
        if (m.name === '$bytes') return {k: 'bytes', v: fromBase64(m.v.text) || new Uint8Array()};
        if (m.name === '$number' && m.v.text in SPECIAL) {
            return {k: 'number', v: SPECIAL[m.v.text], minus: m.v.text === '-NaN'};
        }
    }
    throw new Error(`${compact(node)} cannot be part of a key`);
}

/* The key as the server writes it. */
export function keyText(parts) {
    return `[${parts.map(partText).join(',')}]`;
}

export function partText(p) {
    if (p.k === 'text') return JSON.stringify(p.v);
    if (p.k === 'boolean') return String(p.v);
    if (p.k === 'bigint') return `{"$bigint":"${p.v}"}`;
    if (p.k === 'bytes') return `{"$bytes":"${btoa(String.fromCharCode(...p.v))}"}`;
    return Number.isFinite(p.v) && !Object.is(p.v, -0)
        ? String(p.v)
        : `{"$number":"${specialName(p)}"}`;
}

function specialName(p) {
    if (Number.isNaN(p.v)) return p.minus ? '-NaN' : 'NaN';
    return Object.is(p.v, -0) ? '-0' : String(p.v);
}

/* A part for people: bytes as text where they are text. */
export function partLabel(p) {
    if (p.k === 'text') return p.v === '' ? '""' : p.v;
    if (p.k === 'bytes') {
        const text = asText(p.v);
        return text !== null && /^[\x20-\x7e]+$/.test(text) ? text : hex(p.v) || '(no bytes)';
    }
    if (p.k === 'number')
        return Object.is(p.v, -0) ? '-0' : Number.isNaN(p.v) ? specialName(p) : String(p.v);
    return String(p.v);
}

export function hex(bytes) {
    return Array.from(bytes, b => b.toString(16).padStart(2, '0')).join('');
}

export function sameKey(a, b) {
    return a.length === b.length && a.every((p, i) => partText(p) === partText(b[i]));
}

export function isBelow(prefix, key) {
    return key.length > prefix.length && sameKey(prefix, key.slice(0, prefix.length));
}

// --- order ---

/* The smallest part that comes after everything below `p`, or null after the last there can be.
 * As a START this skips a whole subtree, however large it is. */
export function afterSubtree(p) {
    if (p.k === 'text') return {k: 'text', v: p.v + '\u0000'};
    if (p.k === 'bigint') return {k: 'bigint', v: p.v + 1n};
    if (p.k === 'bytes') return {k: 'bytes', v: Uint8Array.of(...p.v, 0)};
    if (p.k === 'number') return nextNumber(p);
    return p.v ? null : {k: 'boolean', v: true};
}

/* The smallest part of all, so that [...key, FIRST] is just after the key itself. */
export const FIRST = {k: 'bytes', v: new Uint8Array()};

function nextNumber(p) {
    if (Number.isNaN(p.v)) {
        return p.minus ? {k: 'number', v: -Infinity} : {k: 'boolean', v: false};
    }
    if (p.v === Infinity) return {k: 'number', v: NaN};
    if (Object.is(p.v, -0)) return {k: 'number', v: 0};
    const view = new DataView(new ArrayBuffer(8));
    view.setFloat64(0, p.v);
    const bits = view.getBigUint64(0);
    view.setBigUint64(0, p.v < 0 ? bits - 1n : bits + 1n);
    return {k: 'number', v: view.getFloat64(0)};
}

// --- path form (docs/formats.md) ---

export function keyPath(parts) {
    return parts.map(partPath).join('/');
}

function partPath(p) {
    if (p.k === 'text') return escapeText(p.v);
    if (p.k === 'number') return `#${partLabel(p)}`;
    if (p.k === 'bigint') return `#n${p.v}`;
    if (p.k === 'bytes') return `&${hex(p.v)}`;
    return `!${p.v}`;
}

function escapeText(text) {
    if (text === '') return '%';
    let out = '';
    for (const b of new TextEncoder().encode(text)) {
        const c = String.fromCharCode(b);
        const plain =
            b > 0x20 && b < 0x7f && !'/%*?[]\\'.includes(c) && !(out === '' && '#&!'.includes(c));
        out += plain ? c : `%${b.toString(16).padStart(2, '0')}`;
    }
    return out;
}

/* The parts that a path form names; throws. A bare word is a text. */
export function parsePath(path) {
    return path === '' ? [] : path.split('/').map(parsePathPart);
}

function parsePathPart(text) {
    if (text === '%') return {k: 'text', v: ''};
    const rest = text.slice(1);
    if (text[0] === '#') return pathNumber(rest);
    if (text[0] === '&' && /^([0-9a-f]{2})*$/i.test(rest)) {
        return {k: 'bytes', v: Uint8Array.from((rest.match(/../g) || []).map(x => parseInt(x, 16)))};
    }
    if (text === '!true' || text === '!false') return {k: 'boolean', v: text === '!true'};
    if (/^[&!]/.test(text)) throw new Error(`${text} is no part of a path`);
    try {
        return {k: 'text', v: decodeURIComponent(text)};
    } catch {
        throw new Error(`${text}: % and two hex digits of UTF-8 are expected`);
    }
}

function pathNumber(text) {
    if (/^n-?\d+$/.test(text)) return {k: 'bigint', v: BigInt(text.slice(1))};
    if (text in SPECIAL) return {k: 'number', v: SPECIAL[text], minus: text === '-NaN'};
    if (text === '' || Number.isNaN(Number(text))) throw new Error(`#${text} is no number`);
    return {k: 'number', v: Number(text)};
}

/* What is wrong with a key that a person typed for an entry; '' = nothing. */
export function wrongKey(text) {
    try {
        return guessKey(text).parts.length === 0 ? 'a key must have at least one part' : '';
    } catch (e) {
        return e.message;
    }
}

/* What a person typed for a key: {parts, as} with as = 'JSON', 'path form' or 'a word'; throws. */
export function guessKey(text) {
    const t = text.trim();
    if (t.startsWith('[')) return {parts: parseKey(t), as: 'JSON'};
    const parts = parsePath(t.replace(/\/+$/, ''));
    const isWord = parts.length === 1 && parts[0].k === 'text' && parts[0].v === t;
    return {parts, as: isWord ? 'a word' : 'path form'};
}
