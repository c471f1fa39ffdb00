// Typed JSON as text: a reader that keeps number literals as they were written and members in their
// order. JSON.parse would round numbers and sort names that look like indexes.
//
// A node is {t: 'null' | 'true' | 'false' | 'number' | 'string' | 'array' | 'object', at, end} with
//   raw      number, string: the literal
//   text     string: what it says
//   items    array: nodes
//   members  object: [{name, raw, v}]

const BLANK = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;

export class JsonError extends Error {
    constructor(text, what, at) {
        const before = text.slice(0, at);
        const line = before.split('\n').length;
        const column = at - before.lastIndexOf('\n');
        super(`${what}, line ${line}, column ${column}`);
        this.at = at;
    }
}

/* The node of a whole text; throws JsonError. */
export function read(text) {
    const r = {text, at: 0};
    const node = value(r, 0);
    blank(r);
    if (r.at < text.length) throw new JsonError(text, 'text after the value', r.at);
    return node;
}

/* The node, or null when it is no JSON. */
export function tryRead(text) {
    try {
        return read(text);
    } catch {
        return null;
    }
}

function blank(r) {
    BLANK.lastIndex = r.at;
    BLANK.exec(r.text);
    r.at = BLANK.lastIndex;
}

function match(r, pattern) {
    pattern.lastIndex = r.at;
    const m = pattern.exec(r.text);
    if (m === null) return null;
    r.at = pattern.lastIndex;
    return m[0];
}

function fail(r, what) {
    throw new JsonError(r.text, r.at >= r.text.length ? 'the text ends too early' : what, r.at);
}

function value(r, depth) {
    blank(r);
    if (depth > 200) fail(r, 'too deep');
    const at = r.at;
    const c = r.text[at];
    let node;
    if (c === '{') node = object(r, depth);
    else if (c === '[') node = array(r, depth);
    else if (c === '"') node = string(r);
    else node = word(r);
    node.at = at;
    node.end = r.at;
    return node;
}

function word(r) {
    for (const w of ['null', 'true', 'false']) {
        if (!r.text.startsWith(w, r.at)) continue;
        r.at += w.length;
        return {t: w};
    }
    const raw = match(r, NUMBER);
    if (raw === null) fail(r, 'a value is missing here; texts need double quotes');
    return {t: 'number', raw};
}

function string(r) {
    const raw = match(r, STRING);
    if (raw === null) fail(r, 'unterminated string, or invalid character in a string');
    return {t: 'string', raw, text: JSON.parse(raw)};
}

function array(r, depth) {
    const items = [];
    r.at++;
    blank(r);
    if (r.text[r.at] === ']') {
        r.at++;
        return {t: 'array', items};
    }
    for (;;) {
        items.push(value(r, depth + 1));
        blank(r);
        const c = r.text[r.at];
        if (c !== ',' && c !== ']') fail(r, 'expected a comma or ]');
        r.at++;
        if (c === ']') return {t: 'array', items};
    }
}

function object(r, depth) {
    const members = [];
    r.at++;
    blank(r);
    if (r.text[r.at] === '}') {
        r.at++;
        return {t: 'object', members};
    }
    for (;;) {
        blank(r);
        if (r.text[r.at] !== '"') fail(r, 'a name in double quotes is missing here');
        const name = string(r);
        blank(r);
        if (r.text[r.at] !== ':') fail(r, 'a colon is missing here');
        r.at++;
        members.push({name: name.text, raw: name.raw, v: value(r, depth + 1)});
        blank(r);
        const c = r.text[r.at];
        if (c !== ',' && c !== '}') fail(r, 'expected a comma or }');
        r.at++;
        if (c === '}') return {t: 'object', members};
    }
}

/* The text of a node without blanks between. */
export function compact(node) {
    if (node.t === 'array') return `[${node.items.map(compact).join(',')}]`;
    if (node.t !== 'object') return node.raw || node.t;
    return `{${node.members.map(m => `${m.raw}:${compact(m.v)}`).join(',')}}`;
}

/* The text with a line for each member, where it is longer than `width`. */
export function pretty(node, width = 72, indent = '') {
    const short = compact(node);
    if (node.t !== 'array' && node.t !== 'object') return short;
    if (short.length + indent.length <= width && !isNested(node)) return spaced(node);
    const inner = indent + '  ';
    if (node.t === 'array') {
        if (node.items.length === 0) return '[]';
        const lines = node.items.map(v => inner + pretty(v, width, inner));
        return `[\n${lines.join(',\n')}\n${indent}]`;
    }
    if (node.members.length === 0) return '{}';
    const lines = node.members.map(m => `${inner}${m.raw}: ${pretty(m.v, width, inner)}`);
    return `{\n${lines.join(',\n')}\n${indent}}`;
}

function isNested(node) {
    if (node.t === 'array') return node.items.some(v => v.t === 'object' || v.t === 'array');
    if (node.t === 'object') return typed(node) === null && node.members.length > 0;
    return false;
}

function spaced(node) {
    if (node.t === 'array') return `[${node.items.map(spaced).join(', ')}]`;
    if (node.t === 'object') {
        return `{${node.members.map(m => `${m.raw}: ${spaced(m.v)}`).join(', ')}}`;
    }
    return compact(node);
}

// The tags of docs/formats.md, and what a person calls them.
const TAGS = {
    $bigint: 'bigint',
    $u64: 'u64',
    $bytes: 'bytes',
    $date: 'date',
    $undefined: 'undefined',
    $map: 'Map',
    $set: 'Set',
    $regexp: 'RegExp',
    $error: 'Error',
    $typed: 'typed array',
    $number: 'number',
    $ref: 'reference',
    $v8: 'V8 value',
    $object: 'object',
};

/* {type, v} of an object that is a tag, else null. */
export function typed(node) {
    if (node.t !== 'object') return null;
    if (node.members.length === 1) {
        const type = TAGS[node.members[0].name];
        return type === undefined ? null : {type, tag: node.members[0].name, v: node.members[0].v};
    }
    const [a, b] = node.members;
    if (node.members.length === 2 && a.name === '$id' && b.name === 'value') {
        return {type: 'shared', tag: '$id', v: b.v};
    }
    return null;
}

export const COLLECTIONS = ['hash', 'list', 'set', 'zset', 'stream'];
const KIND_NAMES = {zset: 'sorted set'};
const ELEMENTS = {hash: 'field', list: 'element', set: 'member', zset: 'member', stream: 'entry'};

export function kindName(kind) {
    return KIND_NAMES[kind] || kind;
}

/* "2 fields", "1 entry" */
export function countText({kind, length}) {
    const one = ELEMENTS[kind] || 'element';
    const many = one === 'entry' ? 'entries' : `${one}s`;
    return `${length.toLocaleString('en')} ${length === 1 ? one : many}`;
}

/* "hash of 2 fields" */
export function collectionText(collection) {
    return `${kindName(collection.kind)} of ${countText(collection)}`;
}

/* What the value of a key says that is one of Redis's types (docs/types.md): {kind, length}; null = it is
 * none. The server lets no value of another kind look so. */
export function collectionOf(node) {
    if (node === null || node.t !== 'object' || node.members.length !== 1) return null;
    const {name, v} = node.members[0];
    if (name !== '$collection' || v.t !== 'object') return null;
    const member = which => v.members.find(m => m.name === which)?.v;
    const type = member('type');
    const length = member('length');
    if (type?.t !== 'string' || length?.t !== 'number') return null;
    return {kind: type.text, length: Number(length.raw)};
}

/* The type of a value in a word. */
export function typeName(node) {
    if (node === null) return 'unreadable';
    const collection = collectionOf(node);
    if (collection !== null) return kindName(collection.kind);
    const tag = typed(node);
    if (tag !== null) return tag.type;
    return node.t === 'true' || node.t === 'false' ? 'boolean' : node.t;
}

/* The bytes of a base64 text, or null. */
export function fromBase64(text) {
    try {
        return Uint8Array.from(atob(text), c => c.charCodeAt(0));
    } catch {
        return null;
    }
}

/* The text that bytes are in UTF-8, or null. */
export function asText(bytes) {
    try {
        return new TextDecoder('utf-8', {fatal: true}).decode(bytes);
    } catch {
        return null;
    }
}
