// Entries, Atomic, Queues, Indexes, Feed, Console: what a person does there.
import {b, resp, other, test, check, checkTime, picture, pause, ENTRY, PASSWORD} from './context.js';

export async function entries() {
    await test('the tree shows parts with their types and counts', async () => {
        await b.go('#/entries');
        await b.click('.side-head button', 'Refresh');
        await b.sees('.tree-row', 'users');
        await b.sees('.tree-row .count', '40');
        await b.click('.tree-row', 'mixed');
        await b.page.waitForFunction(
            () => document.querySelectorAll('.tree ul .tree-row').length === 7,
        );
        const marks = await b.page.$$eval('.tree ul .kind', els => els.map(el => el.title).join());
        check(marks, marks === 'bytes,text,bigint,number,number,boolean,boolean');
    });
    await test('text from the database is text', async () => {
        await b.click('.tree-row', '<img');
        await b.sees('.preview', '<b id=\\"injected\\">x</b>');
        check('an element was made', (await b.page.$('#content img, #injected')) === null);
        await resp.send('KV.DEL', '["<img src=x onerror=alert(1)>",1]');
    });
    await test('a filter finds by value, and a wrong one says why', async () => {
        await b.go('#/entries?p=%5B%22users%22%5D');
        await b.sees('.figures', 'all 40');
        await b.fill('.filter input', '{"age":{"$gte":55}}');
        await b.page.$eval('.filter', f => f.requestSubmit());
        await b.sees('.figures', 'all 6');
        await b.fill('.filter input', '{"age":{"$foo":1}}');
        await b.page.$eval('.filter', f => f.requestSubmit());
        await b.sees('.error-box', '$foo');
    });
    await test('an edit keeps expiry, order and digits', async () => {
        await b.go(ENTRY);
        await b.sees('.facts', 'in 60 min');
        await b.click('button', 'Edit');
        const text = await b.page.$eval('.editor textarea', el => el.value);
        await b.fill('.editor textarea', text.replace('"b": 1', '"b": 2'));
        await b.sees('.editor .command-text', 'KEEPTTL IFVERSION');
        await b.click('.editor button', 'Save');
        await b.gone('.editor');
        const value = await resp.send('KV.GET', '["mixed",1.5]');
        const wanted =
            '{"b":2,"a":2.5,"big":{"$bigint":"123456789012345678901234567890"},"deep":{"list":[1,2,{"y":null}]}}';
        check(value, value === wanted);
        const left = await resp.send('KV.PTTL', '["mixed",1.5]');
        check(`expires in ${left}`, left > 3000000 && left <= 3600000);
    });
    await test('an edit with a conflict shows both versions, and saves nothing', async () => {
        await b.go('#/entries?p=%5B%22users%22%5D&k=%5B%22users%22%2C1%5D&edit=1');
        await b.sees('.editor textarea');
        await other.send('KV.SET', '["users",1]', '{"name":"theirs","age":21}');
        await b.fill('.editor textarea', '{"name":"mine","age":21}');
        await b.click('.editor button', 'Save');
        await b.sees('.conflict', 'Another client changed it');
        await b.sees('.conflict td.mine', '"mine"');
        await b.sees('.conflict td.theirs', '"theirs"');
        check('saved', (await resp.send('KV.GET', '["users",1]')) === '{"name":"theirs","age":21}');
        await b.click('.conflict button', 'Keep mine');
        await b.click('.editor button', 'Save');
        await b.gone('.editor');
        check(
            'not saved',
            (await resp.send('KV.GET', '["users",1]')) === '{"name":"mine","age":21}',
        );
    });
    await test('a watched entry changes by itself', async () => {
        await b.click('button', 'Watch');
        await b.sees('.live', 'live');
        await other.send('KV.SET', '["users",1]', '{"name":"again"}');
        await b.sees('.value-tree', 'again');
    });
    await test('history and MessagePack of an entry', async () => {
        await b.click('[role=tab]', 'MessagePack');
        await b.sees('.hex', '81 a4 6e 61 6d 65');
        await b.click('[role=tab]', 'History');
        await b.click('button', 'Read the history');
        await b.sees('.history', '"mine"');
    });
    await test('deleting below a prefix counts, and wants it typed', async () => {
        await b.go('#/entries?p=%5B%22orders%22%2C7%5D');
        await b.sees('.figures', 'all 1');
        await b.click('button', 'Delete below');
        await b.sees('dialog .examples', '["orders",7,"lines",1]');
        await b.page.type('dialog input', '["orders"]');
        check('can be deleted', await b.page.$eval('dialog .danger', el => el.disabled));
        await b.fill('dialog input', '["orders",7]');
        await b.click('dialog .danger', 'Delete 1');
        await b.gone('dialog');
        await b.sees('.toast', '1 deleted');
        check(
            'too much is gone',
            (await resp.send(
                'KV.EXISTS',
                '["orders",7]',
                '["orders",8,"lines",1]',
                '["orders",7,"lines",1]',
            )) === 2,
        );
    });
    await test('a new entry is made, and not over one that is there', async () => {
        await b.go('#/entries?p=%5B%22users%22%5D');
        await b.sees('.figures', 'all 40');
        await b.click('button', 'New entry');
        await b.fill('#n-key', 'users/#2');
        await b.click('dialog .primary', 'Create');
        await b.sees('dialog .error-box', 'already exists');
        await b.fill('#n-key', 'users/#99');
        await b.fill('dialog textarea', '{"name":"new"}');
        await b.click('dialog .primary', 'Create');
        await b.sees('.key-title', '["users",99]');
        await b.sees('.facts', 'never');
    });
}

export async function atomic() {
    await test('a failing atomic shows which check failed, and what is there', async () => {
        await b.go('#/atomic');
        await b.click('button', '+ CHECK');
        const put = (row, cls, value) => b.fill(`.op:nth-child(${row}) .${cls}`, value);
        await put(1, 'op-key', '["nobody"]');
        await put(2, 'op-key', '["users",2]');
        await put(2, 'op-second', '{"name":"mine"}');
        await put(3, 'op-key', '["users",2]');
        await put(3, 'op-second', 'NONE');
        await b.click('.primary', 'Run');
        await b.sees('.outcome.bad', 'row 2 failed');
        await b.sees('.op.failed .result', 'there now');
        check('more than one row failed', (await b.page.$$('.op.failed')).length === 1);
        await b.sees('.op.failed td.theirs', 'Linus');
        await picture('atomic-conflict');
        await b.click('.op.failed button', 'Use this version');
        await b.click('.primary', 'Run');
        await b.sees('.outcome', 'Done');
        check('not written', (await resp.send('KV.GET', '["users",2]')) === '{"name":"mine"}');
    });
}

export async function queues() {
    await test('queues are seen at a glance', async () => {
        await b.go('#/queues');
        await b.sees('.queue', '27 ready');
        await b.sees('.queue .has-dead', '3 dead');
        await b.sees('.queue', '12 delayed');
        await b.sees('.queue', '3 leased');
        await picture('queues');
    });
    await test('a dead letter is seen, retried, edited, deleted', async () => {
        await b.go('#/queues?q=mail&tab=dead');
        await b.sees('.dead-letters', 'SMTP 550: mailbox 1 is unknown');
        await b.fill('[data-search]', 'mailbox 1');
        await b.sees('.table-head', '1 of 3');
        await b.click('.dead-letters button', 'Retry');
        await b.sees('.toast', '1 retried');
        await b.fill('[data-search]', '');
        await b.page.waitForFunction(
            () => document.querySelectorAll('.dead-letters tbody tr').length === 2,
        );
        await b.click('.dead-letters button', 'Edit');
        await b.fill('dialog textarea', '{"to":"right@example.org"}');
        await b.sees('dialog .command-text', 'MULTI');
        await b.click('dialog .primary', 'Retry');
        await b.sees('.toast', 'Added as');
        await b.page.waitForFunction(
            () => document.querySelectorAll('.dead-letters tbody tr').length === 1,
        );
        await b.click('.dead-letters button', 'Delete');
        await b.click('dialog .danger', 'Delete');
        await b.sees('.dead-letters', 'No dead letters');
        const peek = await resp.send('KV.QUEUE', 'PEEK', 'mail', 'COUNT', '100');
        check(
            `${peek.length} messages`,
            peek.length === 29 && peek.some(m => m[1] === '{"to":"right@example.org"}'),
        );
    });
    await test('purging wants the name typed', async () => {
        await b.go('#/queues?q=thumbnails');
        await b.click('button', 'Purge');
        await b.sees('dialog input');
        await b.fill('dialog input', 'thumbnails');
        await b.click('dialog .danger', 'Remove 7');
        await b.sees('.toast', '7 removed');
    });
}

export async function search() {
    await test('a search marks what was found', async () => {
        await b.go('#/indexes?i=books');
        await b.sees('.query', 'Search');
        await b.fill('#s-query', 'dog* OR fox');
        await b.sees('.query .command-text', 'KV.SEARCH books');
        await b.page.$eval('.query form', f => f.requestSubmit());
        await b.sees('.query', '2 found, best first');
        const marks = await b.page.$$eval('.hit mark', els =>
            els
                .map(el => el.textContent)
                .sort()
                .join(),
        );
        check(marks, marks === 'dog,dog,dogs,fox');
        await b.fill('#s-query', 'foo:bar');
        await b.page.$eval('.query form', f => f.requestSubmit());
        await b.sees('.query .error-box', "unknown path 'foo'");
    });
    await test('a find by value', async () => {
        await b.go('#/indexes?i=by_name');
        await b.sees('.query h2', 'Find in by_name');
        await b.fill('#s-v0', '"Grace"');
        await b.page.$eval('.query form', f => f.requestSubmit());
        await b.sees('.hit', '["users",7]');
    });
}

/* Writes through the page's own connection and tells how long after the answer the feed had it. */
function delayOfChange(n, authorization) {
    return b.page.evaluate(
        async (i, auth) => {
            const list = document.querySelector('.feed-list');
            const seen = new Promise(ok => {
                const look = () =>
                    list.textContent.includes(`["live",${i}]`) && ok(performance.now());
                new MutationObserver(look).observe(list, {childList: true, subtree: true});
                setTimeout(() => ok(Infinity), 3000);
            });
            await fetch('../', {
                method: 'POST',
                headers: {Authorization: auth},
                body: JSON.stringify(['KV.SET', `["live",${i}]`, '1']),
            });
            const acknowledged = performance.now();
            return Math.max(0, (await seen) - acknowledged);
        },
        n,
        authorization,
    );
}

export async function feed() {
    const auth = `Basic ${Buffer.from(`default:${PASSWORD}`).toString('base64')}`;
    await test('a change is in the feed, on an idle machine within 200 ms', async () => {
        await b.go('#/feed?p=%5B%5D');
        await b.sees('.live', 'live');
        const delays = [];
        for (let i = 0; i < 5; i++) delays.push(await delayOfChange(i, auth));
        checkTime(`changes after ${delays} ms`, Math.max(...delays) < 200);
    });
    await test('a feed that is lost says so, and misses nothing', async () => {
        await other.send('CLIENT', 'KILL', 'TYPE', 'PUBSUB');
        await b.sees('.live', 'lost');
        await other.send('KV.SET', '["while","lost"]', '1');
        await b.sees('.live', 'live again');
        await b.sees('.feed-row', '["while","lost"]');
    });
    await test('a feed goes on from a versionstamp', async () => {
        const from = await resp.send('KV.VERSION');
        await resp.send('KV.SET', '["from",1]', '1');
        await resp.send('KV.DEL', '["from",1]');
        await b.go(`#/feed?p=%5B%22from%22%5D&from=${from}`);
        await b.sees('.feed-row', 'deleted, or expired');
        check('rows', (await b.page.$$('.feed-row')).length === 2);
    });
    await test('500 changes a second: at most 10 drawings', async () => {
        await b.go('#/feed?p=%5B%22busy%22%5D');
        await b.sees('.live', 'live');
        let n = 0;
        const writer = setInterval(() => {
            for (let i = 0; i < 10; i++)
                other.send('KV.SET', `["busy",${n % 100}]`, `{"n":${n++}}`).catch(() => {});
        }, 20);
        await pause(1000);
        const [frames, draws, seconds] = await b.page.evaluate(async () => {
            const drawn = () => Number(document.querySelector('.feed-list').dataset.draws);
            const begin = performance.now(),
                before = drawn();
            let count = 0;
            while (performance.now() - begin < 4000) {
                await new Promise(requestAnimationFrame);
                count++;
            }
            return [count, drawn() - before, (performance.now() - begin) / 1000];
        });
        await b.sees('.feed-row', '{"n":');
        await picture('feed');
        clearInterval(writer);
        const rows = (await b.page.$$('.feed-row')).length;
        console.log(
            `# ${(frames / seconds).toFixed(1)} frames/s, ${(draws / seconds).toFixed(1)} drawings/s, ${n} changes`,
        );
        check(`${draws / seconds} drawings/s`, draws / seconds <= 10.5 && draws > 0);
        check(`${rows} rows`, rows === 200);
    });
    await test('paused, it stands still', async () => {
        await b.page.keyboard.press('p');
        const before = await b.page.$eval('.feed-list', el => el.textContent);
        await other.send('KV.SET', '["busy","later"]', '1');
        await pause(400);
        check('it moved', before === (await b.page.$eval('.feed-list', el => el.textContent)));
        await b.page.keyboard.press('p');
        await b.sees('.feed-row', '["busy","later"]');
    });
}

export async function consoleScreen() {
    await test('the console shows syntax, answers as trees, and asks before it writes', async () => {
        await b.go('#/console');
        await b.sees('.console-input input');
        const type = async text => {
            await b.fill('.console-input input', text);
            await b.page.focus('.console-input input');
        };
        await type('KV.GET ');
        await b.sees('.syntax', 'KV.GET key [WITHVERSION] [WITHEXPIRY]');
        await b.sees('.syntax b', 'key');
        await type('KV.GET ["book",1] WITHVERSION');
        await b.page.keyboard.press('Enter');
        await b.sees('.reply .v-string', 'The lazy dog');
        await type('KV.SET ["book",9] {"title":"made by the console"}');
        await b.page.keyboard.press('Enter');
        await b.sees('dialog', 'may change something');
        await b.click('dialog button', 'Cancel');
        check('written', (await resp.send('KV.EXISTS', '["book",9]')) === 0);
        await b.page.focus('.console-input input');
        await b.page.keyboard.press('Enter');
        await b.click('dialog button', 'Run it');
        await b.gone('dialog');
        await b.page.waitForFunction(() => document.querySelectorAll('.reply').length === 2);
        check('not written', (await resp.send('KV.EXISTS', '["book",9]')) === 1);
        await type('KV.DEL ["book",9]');
        await b.page.keyboard.press('Enter');
        await b.page.waitForFunction(() => document.querySelectorAll('.reply').length === 3);
        check(
            'asked again',
            (await b.page.$('dialog')) === null &&
                (await resp.send('KV.EXISTS', '["book",9]')) === 0,
        );
    });
}
