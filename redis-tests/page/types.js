// Redis's types on the page: what is shown of a hash, list, set, sorted set and stream, in pages, and
// every change that can be made to one.
import {b, resp, other, test, check, picture, PASSWORD} from './context.js';

const MANY = 250;

export const HASH = address('types:hash');

function address(...key) {
    const text = v => encodeURIComponent(JSON.stringify(v));
    return `#/entries?p=${text(key.slice(0, -1))}&k=${text(key)}`;
}

/* The screen of that entry, and not what was there before. */
async function open(...key) {
    await b.go(address(...key));
    await b.sees('.key-title', JSON.stringify(key));
}

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

const same = (name, wanted, got) => {
    const [w, g] = [wanted, got].map(v => JSON.stringify(v));
    check(`${name}: ${g}, not ${w}`, w === g);
};

/* Clicks a button in the row whose first cell has that text. */
async function inRow(first, button) {
    await b.page
        .waitForFunction(
            (f, t) => {
                const tr = [...document.querySelectorAll('.elements tbody tr')].find(
                    x => x.firstChild.textContent === f,
                );
                const found = tr && [...tr.querySelectorAll('button')].find(x => x.textContent === t);
                if (!found) return false;
                found.click();
                return true;
            },
            {polling: 20},
            first,
            button,
        )
        .catch(() => {
            throw new Error(`no button ${button} in a row ${first}`);
        });
    await b.sees('dialog[open]');
}

async function send(text) {
    await b.click('dialog button[type=submit]', text);
    await b.gone('dialog');
}

const rows = () => b.page.$$eval('.elements tbody tr', els => els.length);

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
        await open('types', 7, 'hash');
        await b.sees('.elements td', 'f');
    });
    await test('an entry shows its type, length and expiry, and not how it is kept', async () => {
        await open('types:list');
        await b.sees('.facts', 'list');
        await b.sees('.facts', '250 elements');
        await b.sees('.facts', 'in 60 min');
        for (const what of ['JSON', 'MessagePack']) await b.gone('[role=tab]', what);
        for (const what of ['Copy value', 'Edit']) await b.gone('.entry-head button', what);
        await b.gone('.entry-body', '$collection');
    });
    await test('elements come in pages, by a cursor', async () => {
        for (const [key, first, last] of [
            ['types:list', '0', '200'],
            ['types:set', 'm1000', 'm1200'],
            ['types:zset', 'm1000', 'm1200'],
            ['types:stream', '1000-0', '1200-0'],
        ]) {
            await open(key);
            await b.sees('.figures', '1 to 100 of 250');
            same(key, 100, await rows());
            await b.sees('.elements td:first-child', first);
            await b.click('.pager button', 'Next page');
            await b.sees('.figures', '101 to 200 of 250');
            await b.click('.pager button', 'Next page');
            await b.sees('.figures', '201 to 250 of 250');
            await b.sees('.elements td:first-child', last);
            await b.gone('.pager button', 'Next page');
            await b.click('.pager button', 'Previous page');
            await b.sees('.figures', '101 to 200 of 250');
        }
    });
    await test('bytes are shown in hex, a long text by its beginning', async () => {
        await open('types:hash');
        await b.sees('.figures', '1 to 100 of 252 fields');
        await b.sees('.elements tr:nth-child(1)', 'bytesff0001 3 B');
        await b.sees('.elements tr:nth-child(2)', '… all 1.0 kB');
        await b.click('.elements tr:nth-child(2) button', '… all');
        await b.sees('.elements tr:nth-child(2)', 'x'.repeat(1000));
        await b.sees('.elements tr:nth-child(4)', 'in 60 min');
    });
    await test('a hash, for a picture', async () => {
        const user = ['mail', 'ada@example.org', 'name', 'Ada', 'token', 'c2Vzc2lvbg', 'visits', '12'];
        await resp.send('HSET', 'user:42', ...user);
        await resp.send('HPEXPIRE', 'user:42', '540000', 'FIELDS', '1', 'token');
        await resp.send('EVAL', "redis.call('HSET', KEYS[1], 'key', '\\255\\0\\1')", '1', 'user:42');
        await open('user:42');
        await b.click('.side-head button', 'Refresh');
        await b.sees('.tree-row .collection', 'hash 5');
        await b.sees('.figures', 'all 5 fields');
        await picture('hash');
        await resp.send('DEL', 'user:42');
    });
    await test('a page is found again when the collection has changed', async () => {
        await open('types:zset');
        await b.click('.pager button', 'Next page');
        await b.sees('.figures', '101 to 200 of 250');
        await other.send('ZADD', 'types:zset', '5000', 'late');
        await b.click('.pager button', 'Next page');
        await b.sees('.figures', '201 to 251 of 251');
        await b.sees('.elements td', 'late');
        await other.send('ZREM', 'types:zset', 'late');
    });
    await test('... and of one that has become shorter the last page, of a long one the first', async () => {
        const make = n => resp.send('RPUSH', 'types:long', ...Array.from({length: n}, (_, i) => String(i + 1)));
        await make(201);
        await open('types:long');
        await b.click('.pager button', 'Next page');
        await b.sees('.figures', '101 to 200 of 201');
        await b.click('.pager button', 'Next page');
        await b.sees('.figures', '201 to 201 of 201');
        await other.send('RPOP', 'types:long');
        await inRow('200', 'Delete');
        await send('Delete');
        await b.sees('.figures', '101 to 200 of 200');
        await make(10200);
        await b.page.keyboard.press('r');
        for (let n = 201; n <= 10101; n += 100) {
            await b.click('.pager button', 'Next page');
            await b.sees('.figures', `${n.toLocaleString('en')} to `);
        }
        await other.send('LPUSH', 'types:long', 'new');
        await b.click('.pager button', 'Next page');
        await b.sees('.figures', '1 to 100 of 10,401');
        await b.sees('.entry-body', 'these are its first elements again');
        await b.sees('.elements td', 'new');
        await resp.send('DEL', 'types:long');
    });
}

async function hash() {
    await test('hash: a field is set, edited with its time to live kept, and deleted', async () => {
        await open('types:hash');
        await b.click('.entry button', 'Set a field');
        await b.fill('#el-name', 'f00');
        await b.fill('#el-value', "it's\ntwo lines");
        await send('Set');
        await b.sees('.elements td', 'two lines');
        same('set', "it's\ntwo lines", await resp.send('HGET', 'types:hash', 'f00'));
        await inRow('f1001', 'Edit');
        await b.sees('dialog .command-text', 'HSETEX types:hash KEEPTTL FIELDS 1 f1001 v1001');
        await b.fill('#el-value', 'other');
        await send('Save');
        await b.sees('.elements td', 'other');
        same('value', 'other', await resp.send('HGET', 'types:hash', 'f1001'));
        const [left] = await resp.send('HPTTL', 'types:hash', 'FIELDS', '1', 'f1001');
        check(`expires in ${left}`, left > 3000000);
        await inRow('f00', 'Delete');
        await send('Delete');
        await b.gone('.elements td', 'two lines');
        same('gone', 0, await resp.send('HEXISTS', 'types:hash', 'f00'));
    });
    await test('hash: the time to live of a field is set and taken off', async () => {
        await inRow('f1002', 'Expiry');
        await b.fill('#x-amount', '2');
        await send('Set');
        await b.sees('.elements tr', 'in 120 min');
        const [left] = await resp.send('HPTTL', 'types:hash', 'FIELDS', '1', 'f1002');
        check(`expires in ${left}`, left > 7000000);
        await inRow('f1002', 'Expiry');
        await b.click('dialog button', 'Never');
        await b.gone('.elements tr', 'in 120 min');
        same('never', [-1], await resp.send('HPTTL', 'types:hash', 'FIELDS', '1', 'f1002'));
    });
    await test('hash: bytes stay bytes, and are typed in hex', async () => {
        await inRow('f0', 'Edit');
        same('as', 'ff0001', await b.page.$eval('#el-value', el => el.value));
        await b.sees('dialog .command-text', '--quoted-input');
        await b.fill('#el-value', 'ff00f');
        await b.sees('dialog .hint', 'Two hex digits');
        check('can be sent', await b.page.$eval('dialog .primary', el => el.disabled));
        await b.fill('#el-value', 'fe 00 0d0a');
        await send('Save');
        await b.sees('.elements tr', 'fe000d0a');
        const read = "return redis.call('HGET', KEYS[1], 'f0') == '\\254\\0\\r\\n' and 1 or 0";
        same('bytes', 1, await resp.send('EVAL', read, '1', 'types:hash'));
    });
    await test('hash: what another client changed is not overwritten unseen', async () => {
        await inRow('f1003', 'Edit');
        await other.send('HSET', 'types:hash', 'f1003', 'theirs');
        await b.fill('#el-value', 'mine');
        await b.click('dialog button', 'Save');
        await b.sees('dialog .error-box', 'now it is theirs');
        same('kept', 'theirs', await resp.send('HGET', 'types:hash', 'f1003'));
        await send('Save');
        await b.sees('.elements td', 'mine');
        same('saved', 'mine', await resp.send('HGET', 'types:hash', 'f1003'));
    });
}

async function list() {
    await test('list: pushed at both ends, set at a position', async () => {
        await open('types:list');
        for (const [end, value] of [
            ['LPUSH', 'first'],
            ['RPUSH', 'last'],
        ]) {
            await b.click('.entry button', 'Push an element');
            await b.fill('#el-value', value);
            await b.page.select('#el-end', end);
            await send('Push');
        }
        await b.sees('.figures', 'of 252');
        same('ends', ['first', 'last'], [
            await resp.send('LINDEX', 'types:list', '0'),
            await resp.send('LINDEX', 'types:list', '-1'),
        ]);
        await inRow('2', 'Edit');
        await b.fill('#el-value', 'twice');
        await send('Save');
        await b.sees('.elements td', 'twice');
        await inRow('3', 'Edit');
        await b.fill('#el-value', 'twice');
        await send('Save');
        await b.sees('.elements tr:nth-child(4)', 'twice');
        same('set', ['twice', 'twice'], await resp.send('LRANGE', 'types:list', '2', '3'));
    });
    await test('list: what moved meanwhile is not overwritten', async () => {
        await inRow('5', 'Edit');
        await other.send('LPUSH', 'types:list', 'new');
        await b.click('dialog button', 'Save');
        await b.sees('dialog .error-box', 'Another client changed it');
        await b.click('dialog button', 'Cancel');
        await other.send('LPOP', 'types:list');
    });
    await test('list: removed by what it is, on the page that is shown', async () => {
        await open('types:hash');
        await open('types:list');
        await inRow('2', 'Delete');
        await b.page.select('#el-which', '0');
        await b.sees('dialog .command-text', 'LREM types:list 0 twice');
        await send('Delete');
        await b.sees('.figures', 'of 250');
        await b.gone('.elements td', 'twice');
        await b.click('.pager button', 'Next page');
        await inRow('100', 'Delete');
        await send('Delete');
        await b.sees('.figures', '101 to 200 of 249');
        await b.sees(`.tree-row[title='["types:list"]'] .collection`, 'list 249');
    });
}

async function sets() {
    await test('set: added, refused when it is there, removed', async () => {
        await open('types:set');
        await b.click('.entry button', 'Add a member');
        await b.fill('#el-name', 'm1005');
        await b.click('dialog button', 'Add');
        await b.sees('dialog .error-box', 'already exists');
        await b.fill('#el-name', 'm0');
        await send('Add');
        await b.sees('.elements td', 'm0');
        same('added', 1, await resp.send('SISMEMBER', 'types:set', 'm0'));
        await inRow('m0', 'Delete');
        await send('Delete');
        await b.sees('.figures', 'of 250');
        same('removed', 0, await resp.send('SISMEMBER', 'types:set', 'm0'));
    });
    await test('sorted set: added, its score changed, removed', async () => {
        await open('types:zset');
        await b.click('.entry button', 'Add a member');
        await b.fill('#el-name', 'm1000');
        await b.fill('#el-score', 'many');
        check('no score', await b.page.$eval('dialog .primary', el => el.disabled));
        await b.fill('#el-score', '-1.5');
        await b.click('dialog button', 'Add');
        await b.sees('dialog .error-box', 'already exists');
        await b.fill('#el-name', 'low');
        await send('Add');
        await b.sees('.elements tr:nth-child(1)', 'low');
        await inRow('low', 'Score');
        await b.fill('#el-score', '-inf');
        await send('Save');
        await b.sees('.elements td', '-inf');
        same('score', '-inf', await resp.send('ZSCORE', 'types:zset', 'low'));
        await inRow('low', 'Delete');
        await send('Delete');
        await b.sees('.figures', 'of 250');
        same('removed', 250, await resp.send('ZCARD', 'types:zset'));
    });
    await test("stream: an entry is added and deleted; the server's error is told", async () => {
        await open('types:stream');
        await b.click('.entry button', 'Add an entry');
        await b.fill('#el-name-1', 'item');
        await b.fill('#el-value-1', 'book');
        await b.click('dialog button', '+ field');
        await b.fill('#el-name-2', 'count');
        await b.fill('#el-value-2', '2');
        await b.fill('#el-id', '1-1');
        await b.click('dialog button', 'Add');
        await b.sees('dialog .error-box', 'equal or smaller than the target stream top item');
        await b.fill('#el-id', '9000-1');
        await send('Add');
        await b.sees('.figures', 'of 251');
        const added = await resp.send('XRANGE', 'types:stream', '9000', '+');
        same('added', [['9000-1', ['item', 'book', 'count', '2']]], added);
        await inRow('1000-0', 'Delete');
        await send('Delete');
        await b.sees('.figures', 'of 250');
        same('deleted', [], await resp.send('XRANGE', 'types:stream', '1000-0', '1000-0'));
    });
}

async function whole() {
    await test('a collection expires, is renamed and deleted as other entries are', async () => {
        await open('types:set');
        await b.click('.facts button', 'change');
        await send('Set');
        await b.sees('.facts', 'in 60 min');
        await b.click('.entry-head button', 'Rename');
        await b.fill('#r-key', 'types:zset');
        await b.click('dialog .primary', 'Rename');
        await b.sees('dialog .error-box', 'already exists');
        await b.fill('#r-key', 'types/#8');
        await b.sees('dialog .command-text', 'CLIENT VIEW TUPLES');
        await send('Rename');
        await b.sees('.key-title', '["types",8]');
        await b.sees('.facts', 'in 60 min');
        await b.sees('.facts', '250 members');
        await b.click('.entry-head button', 'Delete');
        await b.click('dialog .danger', 'Delete');
        await b.sees('.toast', 'Deleted.');
        same('there', 0, await resp.send('KV.EXISTS', '["types",8]', '["types:set"]'));
    });
    await test('a key of several parts is written by its path, a slash in a plain one is none', async () => {
        await open('types', 7, 'hash');
        await inRow('f', 'Edit');
        await b.fill('#el-value', 'changed');
        await send('Save');
        await b.sees('.elements td', 'changed');
        await resp.send('HSET', 'types/x', 'f', 'v');
        await open('types/x');
        await b.sees('.key-title', '["types/x"]');
        await inRow('f', 'Delete');
        await send('Delete');
        await b.sees('.error-box', 'The entry ["types/x"] does not exist');
        same('there', 0, await resp.send('EXISTS', 'types/x'));
        await b.gone('.tree-row', 'types/x');
    });
    await test('a collection that is watched changes by itself', async () => {
        await open('types:hash');
        await b.click('button', 'Watch');
        await b.sees('.live', 'live');
        await other.send('HSET', 'types:hash', 'f01', 'seen');
        await b.sees('.elements td', 'seen');
        await b.click('[role=tab]', 'History');
        await b.click('button', 'Read the history');
        await b.sees('.history', 'hash of 253 fields');
        await other.send('HDEL', 'types:hash', 'f01');
        await b.click('[role=tab]', 'Elements');
        await b.gone('.elements td', 'seen');
    });
    await test('the feed says what has changed', async () => {
        await b.go('#/feed');
        await b.sees('.feed-list');
        await b.sees('.live', 'live');
        await other.send('SADD', 'types:fed', 'a', 'b');
        await b.sees('.feed-row', 'set of 2 members');
        await other.send('DEL', 'types:fed');
    });
    await test('a question about an element ends with its screen', async () => {
        await open('types:hash');
        await inRow('f1', 'Delete');
        await b.go('#/overview');
        await b.gone('dialog');
        same('there', 1, await resp.send('HEXISTS', 'types:hash', 'f1'));
    });
}

async function created() {
    await test('collections of every type are made, and not over an entry that is there', async () => {
        const make = async (key, kind, fields, ttl = '') => {
            await b.go('#/entries?p=%5B%5D');
            await b.click('button', 'New entry');
            await b.fill('#n-key', key);
            await b.page.select('#n-kind', kind);
            for (const [id, value] of Object.entries(fields)) await b.fill(`#${id}`, value);
            await b.fill('#n-ttl', ttl);
            await b.click('dialog .primary', 'Create');
        };
        await make('types:hash', 'hash', {'el-name': 'over', 'el-value': '1'});
        await b.sees('dialog .error-box', 'already exists');
        await b.page.keyboard.press('Escape');
        same('written', 0, await resp.send('HEXISTS', 'types:hash', 'over'));
        for (const [kind, fields] of [
            ['hash', {'el-name': 'f', 'el-value': 'v'}],
            ['list', {'el-value': 'e'}],
            ['set', {'el-name': 'm'}],
            ['zset', {'el-name': 'm', 'el-score': '2.5'}],
            ['stream', {'el-name-1': 'n', 'el-value-1': '1'}],
        ]) {
            await make(`types/#9/${kind}`, kind, fields, '3600');
            await b.sees('.key-title', `["types",9,"${kind}"]`);
            await b.sees('.figures', 'all 1 ');
            await b.sees('.facts', 'in 60 min');
        }
        await make('types:new', 'set', {'el-name': 'm'});
        await b.sees('.key-title', '["types:new"]');
        await b.sees('.facts', 'never');
        same('made', ['m'], await resp.send('SMEMBERS', 'types:new'));
        await resp.send('KV.DELRANGE', 'PREFIX', '["types"]');
        await resp.send('DEL', 'types:new');
    });
}

/* Makes a hash at the key, changes its field and deletes it. */
async function makeAndDelete(key) {
    const count = () => resp.send('KV.COUNT', 'PREFIX', '[]');
    const before = await count();
    await b.go('#/entries?p=%5B%5D');
    await b.click('button', 'New entry');
    await b.fill('#n-key', key);
    await b.page.select('#n-kind', 'hash');
    await b.fill('#el-name', 'f');
    await b.fill('#el-value', 'v');
    await b.click('dialog .primary', 'Create');
    await b.sees('.key-title', key);
    await inRow('f', 'Edit');
    await b.fill('#el-value', 'w');
    await send('Save');
    await b.sees('.elements td', 'w');
    same(key, [1, before + 1], [await resp.send('KV.EXISTS', key), await count()]);
    await inRow('f', 'Delete');
    await send('Delete');
    await b.sees('.error-box', 'does not exist');
    same(key, before, await count());
}

async function named() {
    const keys = ['[""]', '["a b"]', '["a/b"]', '["a%2fb"]', '["#x"]', '[{"$bytes":"/wA="}]', '[1,"x"]'];
    await test('a key of any parts is the key that is changed', async () => {
        for (const key of keys) await makeAndDelete(key);
    });
    await resp.send('ACL', 'SETUSER', 'gui', 'on', '>g', '~*', '&*', '+@all', 'view=tuples');
    await test('... also for a user who sees tuples', async () => {
        await b.page.click('.who');
        await b.signIn('gui', 'g');
        await b.sees('.who', 'gui');
        for (const key of keys) await makeAndDelete(key);
        await b.page.click('.who');
        await b.signIn('default', PASSWORD);
        await b.sees('.who', 'default');
    });
    await resp.send('ACL', 'DELUSER', 'gui');
}

async function rights() {
    await resp.send('ACL', 'SETUSER', 'types', 'on', '>t', '~types*', '+@read', '+acl|whoami', '+acl|dryrun');
    await test('who may only read sees the elements, and why they cannot be changed', async () => {
        await b.page.click('.who');
        await b.signIn('types', 't');
        await b.sees('.who', 'types');
        await open('types:hash');
        await b.sees('.elements td', 'f1002');
        for (const [text, command] of [
            ['Set a field', 'hset'],
            ['Edit', 'hset'],
            ['Expiry', 'hpexpire'],
            ['Delete', 'hdel'],
            ['Rename', 'renamenx'],
        ]) {
            await b.page.waitForFunction(
                (t, c) =>
                    [...document.querySelectorAll('.entry button.not-allowed')].some(
                        el => el.textContent === t && el.disabled && el.title.includes(`'${c}'`),
                    ),
                {polling: 20},
                text,
                command,
            );
        }
    });
    await resp.send('ACL', 'SETUSER', 'types', '-acl|dryrun');
    await test('... and where that cannot be asked, the server tells', async () => {
        await b.page.click('.who');
        await b.signIn('types', 't');
        await open('types:list');
        await inRow('1', 'Delete');
        await b.click('dialog button', 'Delete');
        await b.sees('dialog .error-box', "'lrem'");
        await b.page.keyboard.press('Escape');
        await b.page.click('.who');
        await b.signIn('default', PASSWORD);
        await b.sees('.who', 'default');
    });
    await resp.send('ACL', 'DELUSER', 'types');
}

export async function types() {
    await shown();
    await hash();
    await list();
    await sets();
    await whole();
    await created();
    await named();
    await rights();
}
