// Values of all types that a structured clone keeps. `json` is what redis-cli sees; those without have no
// form in typed JSON but {"$v8": ..}, or one that says nothing here.
const bytes = (text) => new TextEncoder().encode(text);

function circular() {
  const o = { name: "o", list: [] };
  o.self = o;
  o.list.push(o, o.list);
  return o;
}

function shared() {
  const one = { n: 1 };
  return { first: one, second: one, list: [one, [one]], map: new Map([[one, one]]) };
}

function shared_buffer() {
  const buffer = Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8]).buffer;
  return { a: new Uint8Array(buffer, 1, 3), b: new DataView(buffer, 2), c: new Uint16Array(buffer), d: buffer };
}

function sparse() {
  const list = [];
  list[5000] = "far";
  list.extra = true;
  return list;
}

function deep(levels) {
  let value = "bottom";
  for (let i = 0; i < levels; i++) value = i % 2 ? [value] : { down: value };
  return value;
}

function resizable() {
  const buffer = new ArrayBuffer(4, { maxByteLength: 64 });
  const view = new Uint8Array(buffer);
  view.set([9, 8, 7, 6]);
  return { buffer, view };
}

function error_with(name, options) {
  const types = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
  return new types[name](`a ${name}`, options);
}

export const values = [
  ["null", null, "null"],
  ["true", true, "true"],
  ["false", false, "false"],
  ["undefined", undefined, '{"$undefined":true}'],
  ["0", 0, "0"],
  ["-0", -0, '{"$number":"-0"}'],
  ["1", 1, "1"],
  ["-1", -1, "-1"],
  ["2^31-1", 2 ** 31 - 1, "2147483647"],
  ["-2^31", -(2 ** 31), "-2147483648"],
  ["2^31", 2 ** 31, "2147483648"],
  ["2^53-1", Number.MAX_SAFE_INTEGER, "9007199254740991"],
  ["2^53", 2 ** 53],
  ["a fraction", 3.14, "3.14"],
  ["the largest", Number.MAX_VALUE],
  ["the smallest", 5e-324],
  ["Infinity", Infinity, '{"$number":"Infinity"}'],
  ["-Infinity", -Infinity, '{"$number":"-Infinity"}'],
  ["NaN", NaN, '{"$number":"NaN"}'],
  ["0n", 0n, '{"$bigint":"0"}'],
  ["1n", 1n, '{"$bigint":"1"}'],
  ["-1n", -1n, '{"$bigint":"-1"}'],
  ["2^64-1 n", 2n ** 64n - 1n, '{"$bigint":"18446744073709551615"}'],
  ["2^64 n", 2n ** 64n, '{"$bigint":"18446744073709551616"}'],
  ["-2^63 n", -(2n ** 63n), '{"$bigint":"-9223372036854775808"}'],
  ["-2^63-1 n", -(2n ** 63n) - 1n, '{"$bigint":"-9223372036854775809"}'],
  ["2^2000 n", 2n ** 2000n, `{"$bigint":"${2n ** 2000n}"}`],
  ["-3^9000 n", -(3n ** 9000n)],
  ["no text", "", '""'],
  ["a text", "hello", '"hello"'],
  ["Latin-1", "é\u00ff\u0080", '"é\u00ff\u0080"'],
  ["two bytes a character", "Ā € 日本", '"Ā € 日本"'],
  ["beyond 16 bits", "😀a😮", '"😀a😮"'],
  ["zeros and controls", "a\0b\n\"\\\u007f"],
  ["a lone high surrogate", "a\ud800"],
  ["a lone low surrogate", "\udc00z"],
  ["surrogates in the wrong order", "\udc00\ud800"],
  ["a lone surrogate as a name", { "\ud800": 1 }],
  ["a long text", "x".repeat(60000), `"${"x".repeat(60000)}"`],
  ["a long text of two bytes", "ä€".repeat(10000), `"${"ä€".repeat(10000)}"`],
  ["no list", [], "[]"],
  ["a list", [1, "two", null, [true]], '[1,"two",null,[true]]'],
  ["a list of undefined", [undefined, 1], '[{"$undefined":true},1]'],
  ["a list with a hole", [1, , 3]],
  ["a list of holes", new Array(7)],
  ["a list far apart", sparse()],
  ["a list with a name", Object.assign([1, 2], { more: "x" })],
  ["a long list", Array.from({ length: 3000 }, (_, i) => i), JSON.stringify(Array.from({ length: 3000 }, (_, i) => i))],
  ["a list of fractions", [1.5, 2.5, -0], '[1.5,2.5,{"$number":"-0"}]'],
  ["no object", {}, "{}"],
  ["an object", { a: 1, b: "x" }, '{"a":1,"b":"x"}'],
  ["names in their order", { z: 1, a: 2, m: 3 }, '{"z":1,"a":2,"m":3}'],
  ["names that are numbers", { b: 1, 2: "two", 1: "one", "-1": 0, "01": 0 }, '{"1":"one","2":"two","b":1,"-1":0,"01":0}'],
  ["the empty name", { "": 1, "a\0b": 2 }],
  ["undefined in an object", { a: undefined }, '{"a":{"$undefined":true}}'],
  ["a name of typed JSON", { $bigint: "5" }, '{"$object":{"$bigint":"5"}}'],
  ["a name that is __proto__", JSON.parse('{"__proto__":{"x":1},"constructor":2}')],
  ["an object in an object", { a: { b: { c: [{}] } } }, '{"a":{"b":{"c":[{}]}}}'],
  ["many names", Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`k${i}`, i]))],
  ["a hundred levels", deep(100)],
  ["no Map", new Map(), '{"$map":[]}'],
  ["a Map", new Map([["a", 1], [2, "b"]]), '{"$map":[["a",1],[2,"b"]]}'],
  ["a Map of texts only", new Map([["a", 1]]), '{"$map":[["a",1]]}'],
  ["a Map with any keys", new Map([[null, 0], [NaN, 1], [{ k: 1 }, 2], [[1], 3], [5n, 4], [undefined, 5]])],
  ["a Map in a Map", new Map([[new Map([[1, 2]]), new Set([new Map()])]])],
  ["no Set", new Set(), '{"$set":[]}'],
  ["a Set", new Set([1, "a", null]), '{"$set":[1,"a",null]}'],
  ["a Set of objects", new Set([{}, {}, [], new Date(5)])],
  ["a Date", new Date(1700000000000), '{"$date":"2023-11-14T22:13:20.000Z"}'],
  ["a Date before 1970", new Date(-123456789)],
  ["a Date that is none", new Date(NaN), '{"$date":null}'],
  ["the last Date", new Date(8.64e15)],
  ["the first Date", new Date(-8.64e15)],
  ["a RegExp", /ab+c/gi, '{"$regexp":["ab+c","gi"]}'],
  ["a RegExp with all flags", /a[b-d]\/"é/dgimsuy],
  ["a RegExp of sets", /[\p{L}--[a-z]]/v],
  ["bytes", bytes("bytes"), '{"$bytes":"Ynl0ZXM="}'],
  ["no bytes", new Uint8Array(0), '{"$bytes":""}'],
  ["many bytes", new Uint8Array(65536).fill(7)],
  ["bytes in an object", { b: bytes("ab") }],
  ["an ArrayBuffer", Uint8Array.from([1, 2, 3]).buffer],
  ["no ArrayBuffer", new ArrayBuffer(0)],
  ["Int8Array", Int8Array.from([-1, 2])],
  ["Uint8ClampedArray", Uint8ClampedArray.from([0, 255])],
  ["Int16Array", Int16Array.from([-1, 300]), '{"$typed":["Int16Array","//8sAQ=="]}'],
  ["Uint16Array", Uint16Array.from([1, 65535])],
  ["Int32Array", Int32Array.from([-1, 70000])],
  ["Uint32Array", Uint32Array.from([1, 2 ** 32 - 1])],
  ["Float32Array", Float32Array.from([1.5, -0, Infinity])],
  ["Float64Array", Float64Array.from([1.1, NaN])],
  ["BigInt64Array", BigInt64Array.from([-1n, 2n ** 62n])],
  ["BigUint64Array", BigUint64Array.from([1n, 2n ** 64n - 1n])],
  ["DataView", new DataView(Uint8Array.from([1, 2, 3, 4]).buffer, 1, 2)],
  ["arrays of all types", [Int8Array.of(1), Uint16Array.of(2), Float64Array.of(3), BigInt64Array.of(4n)]],
  ["views of one buffer", shared_buffer()],
  ["a view of a part", new Uint16Array(new ArrayBuffer(16), 4, 2)],
  ["one object twice", shared()],
  ["an object in itself", circular()],
  ["a list in itself", ((l) => (l.push(1, l), l))([])],
  ["a Map in itself", ((m) => m.set("me", m).set(m, 1))(new Map())],
  ["a Set in itself", ((s) => s.add(s))(new Set())],
  ["a text of an object", Object("text")],
  ["a number of an object", Object(4.5)],
  ["a boolean of an object", [Object(true), Object(false)]],
  ["a bigint of an object", Object(-5n)],
  ["one boxed text twice", ((s) => [s, s])(Object("é😀"))],
  ...["Error", "EvalError", "RangeError", "ReferenceError", "SyntaxError", "TypeError", "URIError"].map(
    (name) => [name, error_with(name)],
  ),
  ["an Error with a cause", error_with("TypeError", { cause: { code: 7, inner: new RangeError("in", { cause: "why" }) } })],
  ["an Error without a message", new Error()],
  ["an Error twice", ((e) => ({ a: e, b: [e] }))(new Error("shared"))],
  ["all together", { d: new Date(1), m: new Map([["s", new Set([1n, /x/g])]]), l: [null, undefined, { t: Int8Array.of(1) }] }],
];

// Those that Node 20 does not know.
export const newer_values = [
  ["a buffer that can grow", () => resizable()],
  ["a Float16Array", () => Float16Array.from([1.5, -2, Infinity])],
  ["a Float16Array in an object", () => ({ f: [Float16Array.of(0.5)] })],
];
