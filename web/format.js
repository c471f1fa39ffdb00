// Figures for people. Each says little: three digits are enough.

export function number(n) {
    return n === null || n === undefined || Number.isNaN(n) ? '–' : Number(n).toLocaleString('en');
}

/* 1234567 -> "1.2 M" */
export function short(n) {
    const a = Math.abs(n);
    if (!Number.isFinite(n)) return '–';
    if (a < 10 && !Number.isInteger(n)) return n.toFixed(1);
    if (a < 1000) return String(Math.round(n));
    const units = {G: 1e9, M: 1e6, k: 1e3};
    for (const [unit, size] of Object.entries(units)) {
        if (a >= size * 0.9995) return `${round(n / size)} ${unit}`;
    }
    return String(Math.round(n));
}

function round(n) {
    return Math.abs(n) < 9.95 ? n.toFixed(1) : String(Math.round(n));
}

export function bytes(n) {
    if (!Number.isFinite(n)) return '–';
    if (n < 1000) return `${Math.round(n)} B`;
    const units = {TB: 1e12, GB: 1e9, MB: 1e6, kB: 1e3};
    for (const [unit, size] of Object.entries(units)) {
        if (n >= size * 0.9995) return `${round(n / size)} ${unit}`;
    }
    return `${n} B`;
}

/* Milliseconds as "12 ms", "3.1 s", "4 min", "2 h 5 min", "3 d". */
export function duration(ms) {
    if (!Number.isFinite(ms)) return '–';
    if (ms === 0) return '0 s';
    if (ms < 1) return `${Math.round(ms * 1000)} µs`;
    if (ms < 1000) return `${ms < 10 ? ms.toFixed(1).replace(/\.0$/, '') : Math.round(ms)} ms`;
    const s = ms / 1000;
    if (s < 10) return `${s.toFixed(1).replace(/\.0$/, '')} s`;
    if (s < 120) return `${Math.round(s)} s`;
    if (s < 7200) return `${Math.round(s / 60)} min`;
    const minutes = Math.round(s / 60);
    if (s < 172800) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
    return `${Math.round(s / 86400)} d`;
}

/* How long ago a moment (Date.now()) was. */
export function ago(at) {
    const ms = Date.now() - at;
    return ms < 1500 ? 'now' : `${duration(ms)} ago`;
}

export function clock(at) {
    return new Date(at).toLocaleTimeString('en-GB');
}

export function dateTime(at) {
    const d = new Date(at);
    const pad = n => String(n).padStart(2, '0');
    return `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())} ${clock(at)}`;
}

/* A versionstamp without its leading zeros, for columns; the whole one is in its title. */
export function stamp(vs) {
    return vs === null ? '–' : vs.replace(/^0+(?=.)/, '');
}

/* The number of the commit in a versionstamp: its first 16 digits. */
export function commitOf(vs) {
    return BigInt(`0x${vs.slice(0, 16)}`);
}

/* [a, 1, b, 2] -> {a: 1, b: 2}; RESP2 has maps as flat arrays. */
export function record(flat) {
    const out = {};
    for (let i = 0; i + 1 < flat.length; i += 2) out[flat[i]] = flat[i + 1];
    return out;
}

/* The lines "name:value" of INFO. */
export function infoFields(text) {
    const out = {};
    for (const line of text.split(/\r?\n/)) {
        const at = line.indexOf(':');
        if (at > 0 && line[0] !== '#') out[line.slice(0, at)] = line.slice(at + 1);
    }
    return out;
}

export function utf8Length(text) {
    return new TextEncoder().encode(text).length;
}
