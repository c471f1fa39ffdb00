// PNG with a palette: pictures of a page have few colours, and a byte for each point is enough. Reads
// what browsers write: 8 bits, RGB or RGBA, not interlaced.
import {deflateSync, inflateSync} from 'node:zlib';

const SIGNATURE = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);

/* The picture with at most 256 colours; every other becomes the nearest of them. */
export function withPalette(png) {
    const {width, height, points, size} = decode(png);
    const colour = at => (points[at] << 16) | (points[at + 1] << 8) | points[at + 2];
    const counts = new Map();
    for (let at = 0; at < points.length; at += size) {
        counts.set(colour(at), (counts.get(colour(at)) || 0) + 1);
    }
    const palette = choose([...counts.entries()].sort((x, y) => y[1] - x[1]).map(([c]) => c));
    const index = new Map(palette.map((c, i) => [c, i]));
    for (const c of counts.keys()) if (!index.has(c)) index.set(c, nearest(palette, c));
    const rows = Buffer.alloc((width + 1) * height);
    for (let i = 0; i < width * height; i++) {
        rows[Math.floor(i / width) * (width + 1) + 1 + (i % width)] = index.get(colour(i * size));
    }
    return encode(width, height, palette, rows);
}

/* Of colours, the most frequent first: one of every kind, so that a rare red stays red, then the most
 * frequent ones. */
function choose(colours) {
    const kinds = new Map();
    for (const c of colours) if (!kinds.has(c & 0xe0e0e0)) kinds.set(c & 0xe0e0e0, c);
    return [...new Set([...[...kinds.values()].slice(0, 200), ...colours])].slice(0, 256);
}

function nearest(palette, c) {
    const part = (x, shift) => (x >> shift) & 255;
    const distance = p => [16, 8, 0].reduce((d, s) => d + (part(p, s) - part(c, s)) ** 2, 0);
    let best = 0;
    for (let i = 1; i < palette.length; i++) {
        if (distance(palette[i]) < distance(palette[best])) best = i;
    }
    return best;
}

function decode(png) {
    const data = [];
    for (let at = 8; at < png.length;) {
        const length = png.readUInt32BE(at);
        if (png.toString('latin1', at + 4, at + 8) === 'IDAT') {
            data.push(png.subarray(at + 8, at + 8 + length));
        }
        at += length + 12;
    }
    const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
    const size = png[25] === 6 ? 4 : 3;
    const points = unfilter(inflateSync(Buffer.concat(data)), width * size, height, size);
    return {width, height, size, points};
}

function unfilter(raw, stride, height, size) {
    const out = Buffer.alloc(stride * height);
    for (let y = 0; y < height; y++) {
        const filter = raw[y * (stride + 1)];
        for (let x = 0; x < stride; x++) {
            const at = y * stride + x;
            const left = x < size ? 0 : out[at - size];
            const up = y === 0 ? 0 : out[at - stride];
            const corner = x < size || y === 0 ? 0 : out[at - stride - size];
            const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter];
            out[at] = raw[y * (stride + 1) + 1 + x] + guess;
        }
    }
    return out;
}

function paeth(left, up, corner) {
    const [a, b, c] = [left, up, corner].map(v => Math.abs(left + up - corner - v));
    return a <= b && a <= c ? left : b <= c ? up : corner;
}

function encode(width, height, palette, rows) {
    const head = Buffer.alloc(13);
    head.writeUInt32BE(width, 0);
    head.writeUInt32BE(height, 4);
    head.set([8, 3, 0, 0, 0], 8);
    const colours = Buffer.from(palette.flatMap(c => [c >> 16, (c >> 8) & 255, c & 255]));
    return Buffer.concat([
        SIGNATURE,
        chunk('IHDR', head),
        chunk('PLTE', colours),
        chunk('IDAT', deflateSync(rows, {level: 9})),
        chunk('IEND', Buffer.alloc(0)),
    ]);
}

function crc32(data) {
    let crc = 0xffffffff;
    for (const byte of data) {
        crc ^= byte;
        for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return (crc ^ 0xffffffff) >>> 0;
}

function chunk(type, data) {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
    const out = Buffer.alloc(body.length + 8);
    out.writeUInt32BE(data.length, 0);
    body.copy(out, 4);
    out.writeUInt32BE(crc32(body), body.length + 4);
    return out;
}
