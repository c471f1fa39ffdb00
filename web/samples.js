// Figures over time, gathered while the page is open: INFO and LATENCY HISTOGRAM every two seconds,
// kept for 15 minutes. Nothing is drawn for times at which nothing was asked.

import * as api from './api.js';
import {infoFields, commitOf} from './format.js';

export const KEPT_MS = 15 * 60 * 1000;
const EVERY_MS = 2000;
const GAP_MS = 3 * EVERY_MS;

const samples = []; // {at, reads, writes, p50, p99, p999, syncs, syncMs, unsynced, unapplied}
const commits = []; // {at, commit}: which commit was the newest when
let state = {info: null, at: 0, error: null};
let before = null;
let kinds = null; // command -> 'read' | 'write' | ''
const listeners = new Set();
let isStarted = false;

export const allSamples = () => samples;
export const latest = () => state;

export function onSample(f) {
    listeners.add(f);
    return () => listeners.delete(f);
}

export function startSampling() {
    samples.length = 0;
    commits.length = 0;
    before = null;
    kinds = null;
    state = {info: null, at: 0, error: null};
    if (isStarted) return;
    isStarted = true;
    turn();
}

async function turn() {
    if (api.isSignedIn() && !document.hidden) {
        try {
            await take();
        } catch (e) {
            state = {...state, error: e};
        }
        for (const f of listeners) f();
    }
    setTimeout(turn, EVERY_MS);
}

async function take() {
    if (state.error !== null && state.error.code === 'NOPERM') {
        await newest();
        return;
    }
    if (kinds === null) await learnKinds();
    const [info, histogram, version] = await api.pipeline(
        [['INFO', 'everything'], ['LATENCY', 'HISTOGRAM'], ['KV.VERSION']],
        {db: '0'},
    );
    if (version.result !== undefined) note(version.result);
    if (info.error !== undefined) throw new api.CommandError(info.error);
    const at = Date.now();
    const fields = infoFields(info.result);
    const now = {at, fields, calls: countCalls(fields), histogram: merge(histogram.result || [])};
    if (before !== null && at - before.at < GAP_MS * 5 && before.fields.run_id === fields.run_id)
        samples.push(compare(before, now));
    else if (before !== null) samples.push({at});
    while (samples.length > 0 && samples[0].at < at - KEPT_MS) samples.shift();
    before = now;
    state = {info: fields, at, error: null};
}

async function newest() {
    note(await api.call(['KV.VERSION']));
}

async function learnKinds() {
    kinds = new Map();
    const answer = (await api.pipeline([['COMMAND']], {db: '0'}))[0].result || [];
    const add = c => {
        const flags = c[2];
        kinds.set(
            c[0],
            flags.includes('write') ? 'write' : flags.includes('readonly') ? 'read' : '',
        );
        for (const sub of c[9] || []) add(sub);
    };
    answer.forEach(add);
}

function countCalls(fields) {
    const out = {read: 0, write: 0};
    for (const [name, text] of Object.entries(fields)) {
        if (!name.startsWith('cmdstat_')) continue;
        const kind = kinds.get(name.slice(8));
        if (kind) out[kind] += Number(/calls=(\d+)/.exec(text)[1]);
    }
    return out;
}

/* The histograms of all commands that read or write, as one: [[upper bound µs, count] ...]. */
function merge(answer) {
    const sums = new Map();
    for (let i = 0; i + 1 < answer.length; i += 2) {
        if (!kinds.get(answer[i])) continue;
        const fields = answer[i + 1];
        const buckets = fields[fields.indexOf('histogram_usec') + 1];
        let last = 0;
        for (let b = 0; b + 1 < buckets.length; b += 2) {
            sums.set(buckets[b], (sums.get(buckets[b]) || 0) + buckets[b + 1] - last);
            last = buckets[b + 1];
        }
    }
    return sums;
}

function compare(a, b) {
    const s = (b.at - a.at) / 1000;
    const f = name => Number(b.fields[name]);
    const d = name => Math.max(0, f(name) - Number(a.fields[name]));
    const counts = [...b.histogram]
        .map(([bound, n]) => [bound, n - (a.histogram.get(bound) || 0)])
        .filter(([, n]) => n > 0)
        .sort((x, y) => x[0] - y[0]);
    const syncs = d('journal_syncs');
    return {
        at: b.at,
        reads: Math.max(0, b.calls.read - a.calls.read) / s,
        writes: Math.max(0, b.calls.write - a.calls.write) / s,
        p50: percentile(counts, 0.5),
        p99: percentile(counts, 0.99),
        p999: percentile(counts, 0.999),
        syncs: syncs / s,
        syncMs: syncs === 0 ? null : d('journal_sync_usec') / syncs / 1000,
        unsynced: f('journal_unsynced_transactions'),
        unapplied: f('memtable_bytes'),
    };
}

/* In milliseconds. Buckets double, so the place within one is taken as even. */
function percentile(counts, p) {
    const total = counts.reduce((sum, [, n]) => sum + n, 0);
    if (total === 0) return null;
    let left = total * p;
    for (const [bound, n] of counts) {
        if (left <= n) return (bound / 2 + ((bound / 2) * left) / n) / 1000;
        left -= n;
    }
    return counts[counts.length - 1][0] / 1000;
}

// --- how old a versionstamp is ---
//
// A versionstamp counts commits; it has no time. What this page saw tells when: which commit was
// the newest at which moment.

export function note(versionstamp) {
    const commit = commitOf(versionstamp);
    const last = commits[commits.length - 1];
    if (last !== undefined && commit < last.commit) commits.length = 0;
    if (
        last !== undefined &&
        commit === last.commit &&
        commits.length > 1 &&
        commits[commits.length - 2].commit === commit
    )
        last.at = Date.now();
    else commits.push({at: Date.now(), commit});
    if (commits.length > 2000) commits.splice(1, 500);
}

/* Between which moments the commit happened: {after, before} (null = not known), and how many
 * commits came since, as of the last look. */
export function commitAge(versionstamp) {
    const commit = commitOf(versionstamp);
    let after = null,
        upTo = null;
    for (const c of commits) {
        if (c.commit < commit) after = c.at;
        else {
            upTo = c.at;
            break;
        }
    }
    const newestCommit = commits.length === 0 ? null : commits[commits.length - 1].commit;
    return {
        after,
        before: upTo,
        since: newestCommit === null || newestCommit < commit ? null : newestCommit - commit,
    };
}
