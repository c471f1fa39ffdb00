/* Random values of all types, as Node's V8 and msgpackr write them, through src/foreign and tests/foreign (the
 * program tests/foreign/convert.c), and read here again.
 *   Usage: foreign.js <v8 | records | maps> <convert> <values>; TEST_SEED repeats a run */
import {spawnSync} from 'node:child_process';
import util from 'node:util';
import v8 from 'node:v8';

const [form, convert, count] = [process.argv[2], process.argv[3], Number(process.argv[4])];
const seed = Number(process.env.TEST_SEED || Date.now() % 2 ** 32);
let state = seed >>> 0;

function random() {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
}

const below = n => Math.floor(random() * n);
const one = list => list[below(list.length)];
const times = (n, make) => Array.from({length: n}, make);

/* ---- what there is ---- */

function text() {
    const ranges = one([[32, 95], [32, 224], [32, 2000], [0, 0xd7ff], [0xe000, 0x1fff], [0x10000, 0xfffff]]);
    return times(one([0, 1, 2, 5, 31, 32, 40, 300]), () =>
        String.fromCodePoint(ranges[0] + below(ranges[1]))).join('');
}

function bigint() {
    let n = 0n;
    for (let words = below(6); words > 0; words--) n = (n << 32n) | BigInt(below(2 ** 32));
    n = one([n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n, 2n ** 64n, 5n]);
    return random() < 0.5 ? n : -n;
}

function number() {
    return one([
        () => below(300) - 100,
        () => one([1, -1]) * (2 ** one([6, 7, 8, 15, 16, 30, 31, 32, 52, 53, 60]) + below(3) - 1),
        () => (random() - 0.5) * 10 ** (below(600) - 300),
        () => Math.fround(random()),
        () => one([0, -0, NaN, Infinity, -Infinity, 5e-324, Number.MAX_VALUE]),
    ])();
}

const KINDS = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array,
    Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array];

function buffer(bytes) {
    return Uint8Array.from(times(bytes, () => below(256))).buffer;
}

function view() {
    const Kind = one(KINDS);
    const elements = below(4);
    if (random() < 0.3) return new Kind(buffer(8 * (elements + 3)), 8, elements);
    return new Kind(buffer(Kind.BYTES_PER_ELEMENT * elements));
}

function error(deep) {
    const Kind = one([Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError]);
    const e = random() < 0.5 ? new Kind(text()) : new Kind(text(), {cause: any(deep - 1)});
    if (random() < 0.7) e.stack = text();
    return e;
}

const SCALARS = [
    () => undefined, () => null, () => true, () => false, number, number, bigint, text, text,
];
const LEAVES = [
    () => new Date(one([0, 1, -1, 1700000000123, -1000, 8.64e15, -8.64e15, 2 ** 34 * 1000, NaN])),
    () => new RegExp(one(['a+', '', 'a/b', 'é', '😮']), one(['', 'g', 'gi', 'dgimsuy', 'v'])),
    view, () => buffer(below(20)), () => new DataView(buffer(below(9))),
];
/* What has no form of ours, and is kept as it came. */
const ODD = [
    () => [1, , 3], () => Object.assign([1], {x: 2}), () => Object(1), () => Object('s'), () => Object(5n),
    () => '\ud800', () => ({['\udc00']: 1}), () => new Map([[{}, 1], [{}, 2]]),
    () => { const b = buffer(8); return [new Uint8Array(b), new DataView(b, 2, 4), b]; },
];

let pool = [];

function into(object, fill) {
    pool.push(object);
    fill(object);
    return object;
}

const name = () => one(['a', 'b', 'name', '1', '70000', 'é', 'Ā', '😮', '', '$set', '$v8', text()]);
const key = deep => form === 'v8' ? any(Math.min(deep - 1, 1)) : one([number, text, bigint])();

function any(deep) {
    if (pool.length > 0 && random() < 0.12) return one(pool);
    if (form === 'v8' && random() < 0.003) return one(ODD)();
    if (deep <= 0 || random() < 0.35) return one(SCALARS)();
    if (random() < 0.25) {
        const leaf = one(LEAVES)();
        pool.push(leaf);
        return leaf;
    }
    const n = one([0, 1, 2, 3, 3, 5, 20]);
    return one([
        () => into([], a => times(n, () => a.push(any(deep - 1)))),
        () => into({}, o => times(n, () => { o[name()] = any(deep - 1); })),
        () => times(n, i => ({id: i, tag: number()})),
        () => into(new Map(), m => times(n, () => m.set(random() < 0.5 ? text() : key(deep), any(deep - 1)))),
        () => into(new Set(), s => times(n, () => s.add(any(deep - 1)))),
        () => error(deep),
        () => form === 'v8' ? view() : Buffer.from(buffer(n)),
    ])();
}

/* ---- the same? ---- */

const sameScalars = (a, b) => Object.is(a, b);

function bytesOf(v) {
    return v instanceof ArrayBuffer ? new Uint8Array(v) : new Uint8Array(v.buffer, v.byteOffset, v.byteLength);
}

function sameLists(a, b, seen) {
    return a.length === b.length && a.every((v, i) => same(v, b[i], seen));
}

/* In shape too: what is one object here is one object there. */
function same(a, b, seen) {
    if (typeof a !== 'object' || a === null) return sameScalars(a, b);
    if (typeof b !== 'object' || b === null) return false;
    if (seen.has(a) || seen.has(b)) return seen.get(a) === b && seen.get(b) === a;
    seen.set(a, b);
    seen.set(b, a);
    if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
    if (ArrayBuffer.isView(a) || a instanceof ArrayBuffer) return Buffer.compare(bytesOf(a), bytesOf(b)) === 0;
    if (a instanceof Date) return Object.is(a.getTime(), b.getTime());
    if (a instanceof RegExp) return a.source === b.source && a.flags === b.flags;
    if (a instanceof Map) return sameLists([...a].flat(1), [...b].flat(1), seen);
    if (a instanceof Set) return sameLists([...a], [...b], seen);
    if (a instanceof Number || a instanceof String || a instanceof BigInt) return sameScalars(a.valueOf(), b.valueOf());
    if (a instanceof Error) {
        const isSameStack = form !== 'v8' || a.stack === b.stack;
        return a.message === b.message && isSameStack && same(a.cause, b.cause, seen);
    }
    const names = Object.keys(a);
    return (!Array.isArray(a) || a.length === b.length) && sameLists(names, Object.keys(b), seen) &&
        names.every(n => same(a[n], b[n], seen));
}

/* ---- forms ---- */

function raw(value) { /* V8's own form of views, which Deno writes */
    const s = new v8.Serializer();
    s.writeHeader();
    s.writeValue(value);
    return s.releaseBuffer();
}

async function codec() {
    if (form === 'v8') return {write: v => random() < 0.5 ? v8.serialize(v) : raw(v), read: b => v8.deserialize(b)};
    const {Packr} = await import('msgpackr');
    const options = {structuredClone: true, useRecords: form === 'records'};
    return {write: v => new Packr(options).pack(v), read: b => new Packr(options).unpack(b)};
}

function run(lines) {
    const p = spawnSync(convert, {input: lines.map(l => `${l}\n`).join(''), maxBuffer: 2 ** 30, timeout: 200000});
    if (p.status !== 0) throw new Error(`convert ended with ${p.status ?? p.signal}: ${p.stderr}`);
    return p.stdout.toString().trimEnd().split('\n');
}

const hex = buffer => buffer.toString('hex');

/* What cannot be read by the library that wrote it says nothing about us. */
function read(read_bytes, bytes) {
    try {
        return {value: read_bytes(bytes)};
    } catch (e) {
        return {error: e};
    }
}

const {write, read: read_bytes} = await codec();

/* isDeepStrictEqual agrees, where it can tell at all: to it an invalid Date is not equal to itself. */
function isSame(bytes, a, b) {
    if (!same(a, b, new Map())) return false;
    return util.isDeepStrictEqual(a, b) || !util.isDeepStrictEqual(a, read_bytes(bytes));
}

const values = [];
let unreadable = 0;
while (values.length < count) {
    pool = [];
    const bytes = Buffer.from(write(any(4)));
    const {value, error: why} = read(read_bytes, bytes);
    if (why !== undefined) {
        unreadable++;
        continue;
    }
    values.push({bytes, value});
}
const direct = run(values.map(v => `${form} ${form} ${hex(v.bytes)}`));
const json = run(values.map(v => `${form} json ${hex(v.bytes)}`));
const back = run(json.map(j => `json ${form} ${j.startsWith('ERR') ? '31' : j}`));
let failed = 0, kept = 0;
values.forEach(({bytes, value}, i) => {
    if (json[i].startsWith(hex(Buffer.from('{"$v8":"/w8')))) kept++;
    for (const [way, got] of [['', direct[i]], ['by typed JSON ', back[i]]]) {
        const result = read(read_bytes, Buffer.from(got, 'hex'));
        if (result.error === undefined && isSame(bytes, value, result.value)) continue;
        if (failed++ < 5) {
            console.log(`  value ${i} ${way}${hex(bytes).slice(0, 800)}\n    got ${got.slice(0, 800)}\n    ${result.error ?? ''}`);
            console.log(`    ${util.inspect(value).slice(0, 500)}\n    ${util.inspect(result.value).slice(0, 500)}`);
        }
    }
});
console.log(`  seed ${seed}: ${values.length} values, ${kept} kept as they came, ${unreadable} not readable here`);
const isKept = form !== 'v8' || (kept > 0 && kept < count / 2);
console.log(`${failed === 0 && isKept ? 'ok' : 'not ok'} - ${count} random values of ${form} come back the same`);
process.exit(failed === 0 && isKept ? 0 : 1);
