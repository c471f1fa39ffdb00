// Talking to the server: commands, pipelines, transactions and event streams over HTTP.
//
// Who signed in is kept in this module's variables only: not in a cookie, not in any storage. A
// reload asks again.

const base = new URL('../', document.baseURI);

let credentials = null; // the value of the Authorization header
let user = null;
let database = '0';
const listeners = new Map();

/* Events: 'signin' (sign-in needed), 'user', 'refused', 'reach' (the server is there, or not). */
export function on(event, f) {
    if (!listeners.has(event)) listeners.set(event, new Set());
    listeners.get(event).add(f);
    return () => listeners.get(event).delete(f);
}

function emit(event, value) {
    for (const f of listeners.get(event) || []) f(value);
}

export const currentUser = () => user;
export const currentDatabase = () => database;
export const isSignedIn = () => user !== null;

export function setDatabase(name) {
    if (database === name) return;
    database = name;
    forgetPermissions();
}

/* What a command answered when it was an error: `code` is its first word. */
export class CommandError extends Error {
    constructor(text, status) {
        super(text);
        this.code = text.split(' ', 1)[0];
        this.status = status;
    }
}

function path(db = database) {
    return db === '0' ? '' : `db/${encodeURIComponent(db)}/`;
}

export function endpoint(tail = '', db = database) {
    return new URL(path(db) + tail, base).href;
}

function headers(more) {
    return credentials === null ? more : {...more, Authorization: credentials};
}

/* One that ends with the first of them. The library of types does not know `any`. */
export function anySignal(signals) {
    return /** @type {any} */ (AbortSignal).any(signals);
}

// A page that is left waits for nothing more. A browser may keep a page that was left, with its requests, and a count
// of all keys that goes on takes one of its few connections from the page that comes next.
const leaving = new AbortController();
addEventListener('pagehide', () => leaving.abort());
addEventListener('pageshow', e => e.persisted && location.reload());

export const LOST = 'The server cannot be reached. It is asked again every few seconds.';
let isReachable = true;

export const isReached = () => isReachable;

let answers = 0;

/* How many answers have come. */
export const answerCount = () => answers;

function reach(ok) {
    if (ok === isReachable) return;
    isReachable = ok;
    emit('reach', ok);
}

/** @param {{signal?: AbortSignal, encoding?: string, db?: string}} [how] */
async function post(tail, body, how = {}) {
    const {signal, encoding, db} = how;
    const options = {
        method: 'POST',
        body: JSON.stringify(body),
        signal: signal ? anySignal([signal, leaving.signal]) : leaving.signal,
        headers: headers({
            'Content-Type': 'application/json',
            ...(encoding ? {'Upstash-Encoding': encoding} : {}),
        }),
    };
    const asked = credentials;
    let response, answer;
    try {
        response = await fetch(endpoint(tail, db), options);
        answer = await response.json();
    } catch (e) {
        if (leaving.signal.aborted) return new Promise(() => {});
        if (e.name === 'AbortError') throw e;
        reach(false);
        const lost = new CommandError('LOST', 0);
        lost.message = LOST;
        throw lost;
    }
    answers++;
    reach(true);
    if (response.status === 401 && asked === credentials && user !== null) signOut();
    if (answer.error !== undefined) throw failure(answer.error, response.status);
    return answer;
}

function failure(text, status) {
    const e = new CommandError(text, status);
    if (e.code === 'NOPERM') learn(text);
    return e;
}

/* One command; its result, or a CommandError is thrown. It is sent as a pipeline of one, because a
 * browser writes every answer with a status of 400 into its console, and an error is nothing
 * unusual. */
export async function call(words, options) {
    const [answer] = await pipeline([words], options);
    if (answer.error !== undefined) throw new CommandError(answer.error);
    return answer.result;
}

/* Several commands: an array of {result} or {error}, in their order. */
export async function pipeline(commands, options) {
    if (commands.length === 0) return [];
    const answers = await post('pipeline', commands, options);
    for (const a of answers)
        if (a.error !== undefined && a.error.startsWith('NOPERM')) learn(a.error);
    return answers;
}

/* What the server serves beside the files of the page, as JSON. */
export async function file(name) {
    try {
        const response = await fetch(new URL(name, document.baseURI), {signal: leaving.signal});
        return await response.json();
    } catch {
        if (leaving.signal.aborted) return new Promise(() => {});
        throw new Error(LOST);
    }
}

/* Several commands as one transaction. */
export function transaction(commands, options) {
    return post('multi-exec', commands, options);
}

// --- signing in ---

function basic(name, password) {
    const bytes = new TextEncoder().encode(`${name}:${password}`);
    return `Basic ${btoa(String.fromCharCode(...bytes))}`;
}

/* Signs in; with null, tries whether the default user needs no password. */
export async function signIn(name, password) {
    credentials = name === null ? null : basic(name, password);
    user = null;
    forgetPermissions();
    try {
        user = await call(['ACL', 'WHOAMI'], {db: '0'});
    } catch (e) {
        if (e.code !== 'NOPERM') {
            credentials = null;
            throw e;
        }
        user = name === null ? 'default' : name;
    }
    emit('user', user);
}

export function signOut() {
    credentials = null;
    user = null;
    forgetPermissions();
    emit('signin');
}

// --- what the user may do ---
//
// Asked by ACL DRYRUN where that is allowed, many questions in one round trip. Where it is not, the
// answers NOPERM of this visit tell: a command that was refused once is not offered again.

let known = new Map(); // words as JSON -> '' (allowed) or what is missing
let refused = new Map(); // command -> the server's words
let canAsk = true;
let waiting = [];

function forgetPermissions() {
    known = new Map();
    refused = new Map();
    canAsk = true;
}

function learn(text) {
    const m = /run the '([^']+)' command/.exec(text);
    if (m === null || m[1] === 'acl|dryrun') return;
    refused.set(m[1], text.replace(/^NOPERM /, ''));
    emit('refused', m[1]);
}

function refusedBefore(words) {
    const one = String(words[0]).toLowerCase();
    const two = `${one}|${String(words[1]).toLowerCase()}`;
    return refused.get(two) || refused.get(one) || '';
}

/* '' when the user may run these words, else what is missing, in the server's words. */
export async function missing(words) {
    const key = JSON.stringify(words);
    if (known.has(key)) return known.get(key);
    if (!canAsk) return refusedBefore(words);
    if (waiting.length === 0) queueMicrotask(() => setTimeout(askAll, 5));
    return new Promise(ok => waiting.push({words, key, ok}));
}

async function askAll() {
    const asked = waiting;
    waiting = [];
    let answers = null;
    try {
        answers = await pipeline(asked.map(a => ['ACL', 'DRYRUN', user, ...a.words]));
        if (answers.some(a => (a.error || '').startsWith('NOPERM'))) canAsk = false;
    } catch {
        answers = null;
    }
    asked.forEach((a, i) => {
        const answer = answers === null ? {} : answers[i];
        const text = answer.result !== undefined && answer.result !== 'OK' ? answer.result : '';
        if (canAsk && answer.result !== undefined) known.set(a.key, text);
        a.ok(text || refusedBefore(a.words));
    });
}

// --- event streams ---

const SILENCE_MS = 40000; // the server sends a comment every 15 s

/* Listens to a channel until stop() is called. `events`:
 *   open()              listening, at first or again
 *   message(payload)    text after the channel's name
 *   lost(error)         the stream has ended; it is tried again after a moment */
export function subscribe(channel, events) {
    const s = {isStopped: false, abort: null, wait: 300};
    run(s, channel, events);
    return {
        stop() {
            s.isStopped = true;
            if (s.abort !== null) s.abort.abort();
        },
    };
}

async function run(s, channel, events) {
    while (!s.isStopped) {
        s.abort = new AbortController();
        let error = null;
        try {
            await listen(s, channel, events);
        } catch (e) {
            error = e;
        }
        if (s.isStopped) return;
        events.lost(error);
        if (error !== null && error.status >= 400 && error.status < 500) return;
        await new Promise(ok => setTimeout(ok, s.wait));
        s.wait = Math.min(s.wait * 2, 10000);
    }
}

async function listen(s, channel, events) {
    const url = endpoint(`subscribe/${encodeURIComponent(channel)}`);
    const response = await fetch(url, {
        signal: s.abort.signal,
        headers: headers({Accept: 'text/event-stream'}),
    });
    if (!response.ok) {
        const answer = await response.json().catch(() => ({error: `ERR HTTP ${response.status}`}));
        throw failure(answer.error, response.status);
    }
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    let rest = '';
    for (;;) {
        const timer = setTimeout(() => s.abort.abort(), SILENCE_MS);
        const {done, value} = await reader.read().finally(() => clearTimeout(timer));
        if (done) return;
        const lines = (rest + decoder.decode(value, {stream: true})).split('\n');
        rest = lines.pop();
        for (const line of lines) heard(s, line.replace(/\r$/, ''), channel, events);
    }
}

/* "subscribe,<channel>,1" and "message,<channel>,<payload>": the channel may have commas too. */
function heard(s, line, channel, events) {
    if (!line.startsWith('data:')) return;
    const data = line.slice(line[5] === ' ' ? 6 : 5);
    if (data.startsWith(`subscribe,${channel},`)) {
        s.wait = 300;
        events.open();
    } else if (data.startsWith(`message,${channel},`)) {
        events.message(data.slice(`message,${channel},`.length));
    }
}
