// Are two values the same in all that a structured clone keeps? Deep equality, and the same bytes when V8
// writes them: holes, what is there twice, boxed values and the order of names too. Of a buffer that only one
// view sees, the server keeps what the view sees.
import assert from "node:assert/strict";
import v8 from "node:v8";

function all_in(value, found = new Map()) {
  if (typeof value !== "object" || value === null) return found;
  found.set(value, (found.get(value) ?? 0) + 1);
  if (found.get(value) > 1) return found;
  if (ArrayBuffer.isView(value)) return all_in(value.buffer, found);
  const inside = value instanceof Map ? [...value].flat() : value instanceof Set ? [...value] : [];
  for (const one of [...inside, ...Object.values(value)]) all_in(one, found);
  return found;
}

function buffers(value) {
  const found = all_in(value);
  const shapes = [];
  for (const one of found.keys()) {
    if (ArrayBuffer.isView(one)) {
      const is_alone = found.get(one.buffer) === 1 && !one.buffer.resizable;
      shapes.push([one.constructor.name, one.byteLength, is_alone ? 0 : one.byteOffset]);
    } else if (one instanceof ArrayBuffer && (found.get(one) > 1 || one.resizable)) {
      shapes.push([one.byteLength, one.maxByteLength, one.resizable, found.get(one)]);
    }
  }
  return shapes;
}

// Arrays and numbers as they are after they have been read.
const bytes_of = (value) => v8.serialize(v8.deserialize(v8.serialize(value))).toString("hex");

function same_bytes(got, wanted) {
  if ([...all_in(wanted).keys()].some((one) => one instanceof ArrayBuffer)) return;
  assert.equal(bytes_of(got), bytes_of(wanted));
}

export function same(got, wanted) {
  const is_no_date = wanted instanceof Date && isNaN(wanted); // for Node these are never equal
  if (!is_no_date) assert.deepEqual(got, wanted);
  if (!("Deno" in globalThis)) return same_bytes(got, wanted); // Node copies every view
  assert.deepEqual(buffers(got), buffers(wanted));
  same_bytes(got, wanted);
}
