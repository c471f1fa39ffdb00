// The page in a browser: how long it takes until a screen shows something, with few and with very many keys; and how
// much its feed holds after a long time. page.sh starts it.
//   node page.mjs <chromium> <http port> <port> open <keys>
//   node page.mjs <chromium> <http port> <port> feed <minutes> <writes/s>
import {Browser} from './browser.js';
import {Resp} from './resp.js';

const [executable, http, port, what, n, rate] = process.argv.slice(2);
const PER_COMMAND = 1000;
const ROUNDS = 11;

/* ["items", shard, n], below one another. */
async function load(resp, from, to) {
    const pending = [];
    for (let k = from; k < to; k += PER_COMMAND) {
        const words = ['KV.ATOMIC'];
        for (let i = k; i < Math.min(k + PER_COMMAND, to); i++) {
            words.push('SET', `["items",${Math.floor(i / 10000)},${i % 10000}]`, `{"n":${i}}`);
        }
        pending.push(resp.send(...words));
        if (pending.length >= 16) await pending.shift();
    }
    await Promise.all(pending);
}

/* Milliseconds from the address to something seen, median of several. */
async function opens(b, hash, selector) {
    const times = [];
    for (let i = 0; i < ROUNDS; i++) {
        await b.page.goto('about:blank');
        const begin = performance.now();
        await b.open(hash);
        await b.sees(selector);
        times.push(performance.now() - begin);
    }
    return times.sort((x, y) => x - y)[ROUNDS >> 1];
}

async function open(b, resp) {
    await load(resp, 0, Number(n));
    await new Promise(next => setTimeout(next, Number(n) > 1000 ? 20000 : 0)); // what was loaded is written out
    for (const [name, hash, selector] of [
        ['entries', '#/entries?p=%5B%5D', '.entry-row, [role=row], tbody tr'],
        ['entries below', '#/entries?p=%5B%22items%22%2C0%5D', 'tbody tr'],
        ['overview', '#/overview', 'svg'],
    ]) {
        console.log(`${n} ${name} ${(await opens(b, hash, selector)).toFixed(0)}`);
    }
}

async function feed(b, resp) {
    const cdp = await b.page.createCDPSession();
    await b.open('#/feed?p=%5B%5D');
    const begin = Date.now();
    let sent = 0;
    for (let minute = 0; minute < Number(n); ) {
        for (let i = 0; i < Number(rate) / 10; i++) {
            void resp.send('KV.SET', `["feed",${sent++ % 1000}]`, `{"n":${sent},"t":"some text"}`);
        }
        await new Promise(next => setTimeout(next, Math.max(0, begin + sent * (1000 / Number(rate)) - Date.now())));
        if (Date.now() - begin < (minute + 1) * 60000) continue;
        minute++;
        if (minute !== 1 && minute % 5 !== 0 && minute !== Number(n)) continue;
        await cdp.send('HeapProfiler.collectGarbage');
        const m = await b.page.metrics();
        console.log(`minute ${minute}: ${sent} changes, heap ${(m.JSHeapUsedSize / 1e6).toFixed(1)} MB, ${m.Nodes} nodes, ${m.JSEventListeners} listeners`);
    }
}

const resp = await Resp.connect(Number(port));
const b = await Browser.start(executable, `http://127.0.0.1:${http}`);
await (what === 'open' ? open(b, resp) : feed(b, resp));
for (const complaint of b.complaints) console.log(`complaint: ${complaint}`);
await b.close();
process.exit(0);
