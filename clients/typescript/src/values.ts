// Keys and values: JavaScript's types on one side, the server's typed JSON on the other.
//
// A key is an array of strings, numbers, bigints, booleans and Uint8Arrays. A value is what structuredClone
// takes, but for functions of a class; U64 and V8 are for what JavaScript has no type for. Objects that are
// in several places, or contain themselves, are so when they are read again.

export type KeyPart = string | number | bigint | boolean | Uint8Array;
export type Key = readonly KeyPart[];

/** A counter of 64 bits that wraps; a whole value, not a part of one. */
export class U64 {
  readonly value: bigint;
  constructor(value: bigint | number | string) {
    this.value = BigInt.asUintN(64, BigInt(value));
  }
}

/** A value that only V8 can read: the bytes as it wrote them. */
export class V8 {
  constructor(readonly data: Uint8Array) {}
}

/** Becomes a new UUID when written; the same n is the same one throughout a transaction. */
export class UUIDv7 {
  constructor(readonly n: number = 0) {}
}

/** Becomes the versionstamp of the commit that writes it. */
export class CommitVersion {}

/** A part of a key that is to be written: placeholders too. */
export type NewKeyPart = KeyPart | UUIDv7 | CommitVersion;
export type NewKey = readonly NewKeyPart[];

const TAGS = new Set(
  ("$bigint $u64 $bytes $date $undefined $number $map $set $regexp $error $typed $v8 $id $ref" +
    " $object $uuidv7 $versionstamp").split(" "),
);

type ArrayClass = { new (buffer: ArrayBuffer): ArrayBufferView };
const TYPED: Record<string, ArrayClass> = {
  Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array,
  Float64Array, BigInt64Array, BigUint64Array, DataView,
};
const ERRORS: Record<string, ErrorConstructor> = {
  EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError,
} as Record<string, ErrorConstructor>;

const quote = (text: string): string => JSON.stringify(text);
const tag = (name: string, content: string): string => `{"${name}":${content}}`;

function base64(view: ArrayBufferView | ArrayBuffer): string {
  const bytes = ArrayBuffer.isView(view)
    ? Buffer.from(view.buffer, view.byteOffset, view.byteLength)
    : Buffer.from(view);
  return quote(bytes.toString("base64"));
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(text, "base64"));
}

function dumpNumber(n: number): string {
  if (Number.isNaN(n)) return tag("$number", '"NaN"');
  if (!Number.isFinite(n)) return tag("$number", n > 0 ? '"Infinity"' : '"-Infinity"');
  if (Object.is(n, -0)) return tag("$number", '"-0"');
  // An integer literal beyond 2^53-1 would be a bigint.
  return Number.isInteger(n) && !Number.isSafeInteger(n) ? n.toExponential() : String(n);
}

/** As the server has bigints in text: those of more than 1024 bytes in hex. */
function dumpBigint(n: bigint): string {
  const magnitude = n < 0n ? -n : n;
  const text = magnitude >> 8192n ? `0x${magnitude.toString(16)}` : magnitude.toString();
  return tag("$bigint", `"${n < 0n ? "-" : ""}${text}"`);
}

function loadBigint(text: string): bigint {
  return text.startsWith("-") ? -BigInt(text.slice(1)) : BigInt(text);
}

function dumpPart(part: unknown): string {
  if (part instanceof UUIDv7) return tag("$uuidv7", String(part.n));
  if (part instanceof CommitVersion) return tag("$versionstamp", "true");
  if (typeof part === "string") return quote(part);
  if (typeof part === "boolean") return String(part);
  if (typeof part === "number") return dumpNumber(part);
  if (typeof part === "bigint") return tag("$bigint", `"${part}"`);
  if (part instanceof Uint8Array) return tag("$bytes", base64(part));
  throw new TypeError(`a part of a key is a string, number, bigint, boolean or Uint8Array, not ${String(part)}`);
}

/** The key as JSON: ["users", 42] becomes ["users",42] without the blank. */
export function dumpKey(key: NewKey): string {
  if (!Array.isArray(key)) throw new TypeError(`a key is an array of parts, not ${String(key)}`);
  return `[${key.map(dumpPart).join(",")}]`;
}

/** The key that the server shows as this text. */
export function loadKey(text: string): Key {
  return (parse(text) as unknown[]).map((part): KeyPart => {
    if (typeof part !== "object") return part as KeyPart;
    const [[name, content] = ["", ""]] = Object.entries(part as Record<string, string>);
    if (name === "$bigint") return loadBigint(content);
    return name === "$bytes" ? fromBase64(content) : Number(content.replace("-NaN", "NaN"));
  });
}

/** JSON.parse that does not round: an integer beyond +-(2^53-1), as a server with bare-bigints sends it,
 *  gets its tag. */
function parse(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  const number = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;
  return JSON.parse(
    text.replace(number, (found) =>
      /^-?\d{16,}$/.test(found) && !Number.isSafeInteger(Number(found)) ? tag("$bigint", `"${found}"`) : found,
    ),
  );
}

// ---- values, on their way out ----

/** The objects that are in several places below the value. */
function findShared(value: unknown, seen: Set<object>, shared: Set<object>): void {
  if (typeof value !== "object" || value === null) return;
  if (seen.has(value)) {
    shared.add(value);
    return;
  }
  seen.add(value);
  for (const child of children(value)) findShared(child, seen, shared);
}

function children(value: object): Iterable<unknown> {
  if (Array.isArray(value) || value instanceof Set) return value;
  if (value instanceof Map) return [...value].flat(1);
  if (value instanceof Error) return [value.cause];
  return isPlain(value) ? Object.values(value) : [];
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype as object) === null;
}

class Dump {
  private readonly shared = new Set<object>();
  private readonly ids = new Map<object, number>();

  constructor(value: unknown) {
    findShared(value, new Set(), this.shared);
  }

  value(v: unknown): string {
    switch (typeof v) {
      case "string":
        return quote(v);
      case "number":
        return dumpNumber(v);
      case "boolean":
        return String(v);
      case "bigint":
        return dumpBigint(v);
      case "undefined":
        return tag("$undefined", "true");
      case "object":
        return v === null ? "null" : this.object(v);
      default:
        throw new TypeError(`a ${typeof v} has no form as a value`);
    }
  }

  private object(v: object): string {
    if (!this.shared.has(v)) return this.contents(v);
    const known = this.ids.get(v);
    if (known !== undefined) return tag("$ref", String(known));
    const id = this.ids.size + 1;
    this.ids.set(v, id);
    return `{"$id":${id},"value":${this.contents(v)}}`;
  }

  private contents(v: object): string {
    if (Array.isArray(v)) return this.list(v);
    if (v instanceof Uint8Array) return tag("$bytes", base64(v));
    if (v instanceof Date) return tag("$date", Number.isNaN(v.getTime()) ? "null" : quote(v.toISOString()));
    if (v instanceof Map) return tag("$map", `[${[...v].map((pair) => this.list(pair)).join(",")}]`);
    if (v instanceof Set) return tag("$set", this.list([...v]));
    if (v instanceof RegExp) return tag("$regexp", `[${quote(v.source)},${quote(v.flags)}]`);
    if (v instanceof Error) return this.error(v);
    if (v instanceof ArrayBuffer) return tag("$typed", `["ArrayBuffer",${base64(v)}]`);
    if (ArrayBuffer.isView(v)) return tag("$typed", `[${quote(v.constructor.name)},${base64(v)}]`);
    if (v instanceof U64) return tag("$u64", `"${v.value}"`);
    if (v instanceof V8) return tag("$v8", base64(v.data));
    if (v instanceof UUIDv7 || v instanceof CommitVersion) return dumpPart(v);
    if (isPlain(v)) return this.plain(v);
    throw new TypeError(`an object of class ${v.constructor.name} has no form as a value`);
  }

  private list(items: readonly unknown[]): string {
    return `[${Array.from(items, (item) => this.value(item)).join(",")}]`;
  }

  private plain(v: object): string {
    const names = Object.keys(v);
    const text = `{${Object.entries(v)
      .map(([name, item]) => `${quote(name)}:${this.value(item)}`)
      .join(",")}}`;
    const isTagged =
      (names.length === 1 && TAGS.has(names[0] ?? "")) ||
      (names.length === 2 && names.includes("$id") && names.includes("value"));
    return isTagged ? tag("$object", text) : text;
  }

  private error(v: Error): string {
    const fields = [`"name":${quote(v.name)}`, `"message":${quote(v.message)}`];
    if (typeof v.stack === "string") fields.push(`"stack":${quote(v.stack)}`);
    if ("cause" in v) fields.push(`"cause":${this.value(v.cause)}`);
    return tag("$error", `{${fields.join(",")}}`);
  }
}

/** The value as typed JSON. */
export function dumpValue(value: unknown): string {
  return new Dump(value).value(value);
}

// ---- and in ----

class Load {
  private readonly shared = new Map<number, unknown>();

  value(json: unknown, id?: number): unknown {
    if (typeof json !== "object" || json === null) return json;
    if (Array.isArray(json)) return this.fill(id, [] as unknown[], (list) => this.into(list, json));
    const names = Object.keys(json);
    const fields = json as Record<string, unknown>;
    if (names.length === 2 && names.includes("$id") && names.includes("value")) {
      const number = fields["$id"] as number;
      const value = this.value(fields["value"], number);
      this.shared.set(number, value);
      return value;
    }
    const [name = ""] = names;
    return names.length === 1 && TAGS.has(name) ? this.tagged(name, fields[name], id) : this.plain(fields, id);
  }

  /** Known by its id before its contents are read: they may refer to it. */
  private fill<T>(id: number | undefined, empty: T, contents: (empty: T) => void): T {
    if (id !== undefined) this.shared.set(id, empty);
    contents(empty);
    return empty;
  }

  private into(list: unknown[], items: readonly unknown[]): void {
    for (const item of items) list.push(this.value(item));
  }

  private plain(fields: Record<string, unknown>, id?: number): object {
    return this.fill(id, {}, (object) => {
      for (const [name, item] of Object.entries(fields)) {
        // A name like __proto__ is a name like others.
        Object.defineProperty(object, name, {
          value: this.value(item), enumerable: true, writable: true, configurable: true,
        });
      }
    });
  }

  private tagged(name: string, content: unknown, id?: number): unknown {
    switch (name) {
      case "$object":
        return this.plain(content as Record<string, unknown>, id);
      case "$map":
        return this.fill(id, new Map<unknown, unknown>(), (map) => {
          for (const [key, item] of content as [unknown, unknown][]) map.set(this.value(key), this.value(item));
        });
      case "$set":
        return this.fill(id, new Set<unknown>(), (set) => {
          for (const item of content as unknown[]) set.add(this.value(item));
        });
      case "$error":
        return this.error(content as Record<string, unknown>, id);
      case "$ref":
        return this.shared.get(content as number);
      default:
        return this.leaf(name, content);
    }
  }

  private error(fields: Record<string, unknown>, id?: number): Error {
    const name = fields["name"] as string;
    const error = new (ERRORS[name] ?? Error)(fields["message"] as string);
    if (error.name !== name) Object.defineProperty(error, "name", { value: name, configurable: true, writable: true });
    Object.defineProperty(error, "stack", { value: fields["stack"], configurable: true, writable: true });
    return this.fill(id, error, () => {
      if (!("cause" in fields)) return;
      const cause = this.value(fields["cause"]);
      Object.defineProperty(error, "cause", { value: cause, configurable: true, writable: true });
    });
  }

  private leaf(name: string, content: unknown): unknown {
    const text = content as string;
    switch (name) {
      case "$bigint":
        return loadBigint(text);
      case "$u64":
        return new U64(text);
      case "$bytes":
        return fromBase64(text);
      case "$date":
        return new Date(content === null ? NaN : text);
      case "$undefined":
        return undefined;
      case "$number":
        return Number(text.replace("-NaN", "NaN"));
      case "$regexp":
        return new RegExp((content as string[])[0] ?? "", (content as string[])[1]);
      case "$typed":
        return loadTyped(content as [string, string]);
      case "$v8":
        return new V8(fromBase64(text));
      case "$uuidv7":
        return new UUIDv7(content as number);
      default:
        return new CommitVersion();
    }
  }
}

function loadTyped([type, data]: [string, string]): unknown {
  const buffer = fromBase64(data).buffer;
  if (type === "ArrayBuffer") return buffer;
  const view = TYPED[type];
  if (view === undefined) throw new TypeError(`${type} is a typed array that is not known here`);
  return new view(buffer);
}

/** The value that the server shows as this text. */
export function loadValue(text: string): unknown {
  return new Load().value(parse(text));
}
