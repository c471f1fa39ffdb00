// EventSource, as any page of the server's own origin may use it.
import {b, other, test, check, PASSWORD} from './context.js';

const PATH = '/keyval/api/watch/prefix';

/* Opens one in the page, with a ticket: what it hears is kept there, in window.heard. */
function open(path, auth) {
    return b.page.evaluate(
        async (to, authorization) => {
            const answer = await fetch('/ticket', {
                method: 'POST',
                headers: {Authorization: authorization},
                body: JSON.stringify({path: to}),
            });
            const {ticket} = await answer.json();
            const source = new EventSource(`${to}?prefix=source&initial=false&_ticket=${ticket}`);
            window.source = source;
            window.heard = {values: [], opened: 0, lost: 0, stale: 0};
            source.addEventListener('open', () => window.heard.opened++);
            source.addEventListener('error', () => window.heard.lost++);
            source.addEventListener('stale', () => window.heard.stale++);
            source.addEventListener('change', e => {
                for (const change of JSON.parse(e.data)) window.heard.values.push(change.value);
            });
        },
        path,
        auth,
    );
}

const heard = wanted =>
    b.page.waitForFunction(
        n => window.heard.values.includes(n),
        {timeout: 20000, polling: 20},
        wanted,
    );

const write = async (from, to) => {
    for (let n = from; n < to; n++) await other.send('KV.SET', '["source","key"]', `${n}`);
};

export async function eventSource() {
    const auth = `Basic ${Buffer.from(`default:${PASSWORD}`).toString('base64')}`;
    await test('EventSource connects again by itself and misses nothing', async () => {
        await open(PATH, auth);
        await b.page.waitForFunction(() => window.heard.opened === 1, {polling: 20});
        await write(0, 10);
        await heard(9);
        for (const round of [1, 2]) {
            await other.send('CLIENT', 'KILL', 'TYPE', 'PUBSUB');
            await write(round * 10, round * 10 + 10);
            await b.page.waitForFunction(n => window.heard.lost >= n, {polling: 20}, round);
            await heard(round * 10 + 9);
        }
        const found = await b.page.evaluate(() => {
            window.source.close();
            return window.heard;
        });
        // The last commit before the cut is told again, and nothing else.
        for (let n = 0; n < 30; n++) check(`${n} of ${found.values}`, found.values.includes(n));
        const again = found.values.filter((v, i) => found.values.indexOf(v) !== i);
        check(`again: ${again}`, again.every(v => v % 10 === 9) && again.length <= 2);
        check(`${found.opened} times`, found.opened === 3 && found.stale === 0);
    });
    await test('EventSource gets nothing without a ticket', async () => {
        const state = await b.page.evaluate(
            path =>
                new Promise(ok => {
                    const source = new EventSource(`${path}?prefix=source`);
                    source.onopen = () => ok('open');
                    source.onerror = () => ok(source.readyState);
                }),
            PATH,
        );
        check(`${state}`, state === 2); // closed for good: it does not ask again and again
    });
}
