// Redis's types on the page: what is shown of a hash, list, set, sorted set and stream.
import {b, resp, other, test} from './context.js';

const MANY = 250;

async function load() {
    const fill = async (n, ...words) => {
        for (let i = 0; i < n; i++) await resp.send(...words.map(w => w.replace('#', String(1000 + i))));
    };
    await fill(MANY, 'HSET', 'types:hash', 'f#', 'v#');
    await fill(MANY, 'RPUSH', 'types:list', 'e#');
    await fill(MANY, 'SADD', 'types:set', 'm#');
    await fill(MANY, 'ZADD', 'types:zset', '#', 'm#');
    await fill(MANY, 'XADD', 'types:stream', '#-0', 'n', '#');
    await resp.send('HPEXPIRE', 'types:hash', '3600000', 'FIELDS', '1', 'f1001');
    const odd = "redis.call('HSET', KEYS[1], 'f0', '\\255\\0\\1', 'f1', string.rep('x', 1000))";
    await resp.send('EVAL', odd, '1', 'types:hash');
    await resp.send('EXPIRE', 'types:list', '3600');
    await resp.send('CLIENT', 'VIEW', 'TUPLES');
    await resp.send('HSET', 'types/#7/hash', 'f', 'v');
    await resp.send('HSET', 'types', 'a', '1');
    await resp.send('CLIENT', 'VIEW', 'PLAIN');
}

async function shown() {
    await test('the tree and the list show what is a collection, and how much is in it', async () => {
        await load();
        await b.go('#/entries?p=%5B%5D');
        await b.click('.side-head button', 'Refresh');
        for (const [key, kind, count] of [
            ['types:hash', 'hash 252', '252 fields'],
            ['types:list', 'list 250', '250 elements'],
            ['types:set', 'set 250', '250 members'],
            ['types:zset', 'sorted set 250', '250 members'],
            ['types:stream', 'stream 250', '250 entries'],
        ]) {
            await b.sees(`.tree-row[title='["${key}"]'] .collection`, kind);
            await b.sees(`tr[data-key='["${key}"]'] .preview`, count);
        }
        await b.gone('.entries-table', '$collection');
    });
    await test('a key may be a hash and have others below it', async () => {
        await b.sees(`.tree-row[title='["types"]'] .collection`, 'hash 1');
        await b.sees(`.tree-row[title='["types"]'] .count`, '1');
    });
    await test('the feed says what has changed', async () => {
        await b.go('#/feed');
        await b.sees('.feed-list');
        await b.sees('.live', 'live');
        await other.send('SADD', 'types:fed', 'a', 'b');
        await b.sees('.feed-row', 'set of 2 members');
        await other.send('DEL', 'types:fed');
    });
}

export async function types() {
    await shown();
}
