// What the tests of the page look at.

const MANY = 1000000,
    PER_SHARD = 10000,
    PER_COMMAND = 1000;

/* ["items", shard, n]: a million small entries, in transactions that are sent many at a time. */
export async function loadMany(resp) {
    const pending = [];
    for (let n = 0; n < MANY; n += PER_COMMAND) {
        const words = ['KV.ATOMIC'];
        for (let i = n; i < n + PER_COMMAND; i++) {
            words.push(
                'SET',
                `["items",${Math.floor(i / PER_SHARD)},${i % PER_SHARD}]`,
                `{"n":${i},"on":${i % 3 === 0}}`,
            );
        }
        pending.push(resp.send(...words));
        if (pending.length >= 16) await pending.shift();
    }
    await Promise.all(pending);
    return MANY;
}

export async function loadFew(resp) {
    const set = (key, value, ...more) => resp.send('KV.SET', key, JSON.stringify(value), ...more);
    const names = ['Ada', 'Grace', 'Linus', 'Edsger', 'Barbara', 'Ken'];
    for (let i = 1; i <= 40; i++) {
        await set(`["users",${i}]`, {
            name: names[i % names.length],
            age: 20 + i,
            mail: `user${i}@example.org`,
            tags: ['dev', 'admin'].slice(i % 2),
        });
        await set(`["orders",${i},"lines",1]`, {sku: `s-${i}`, count: (i % 5) + 1});
        await set(`["orders",${i}]`, {state: i % 4 === 0 ? 'mailed' : 'new', sum: i * 1.5});
    }
    await resp.send(
        'KV.SET',
        '["mixed",1.5]',
        '{"b":1,"a":2.50,"big":{"$bigint":"123456789012345678901234567890"},"deep":{"list":[1,2,{"y":null}]}}',
        'EX',
        '3600',
    );
    for (const part of [
        '"text"',
        '-7',
        '{"$bigint":"12345678901234567890"}',
        '{"$bytes":"AAEC"}',
        'false',
        'true',
    ]) {
        await resp.send('KV.SET', `["mixed",${part}]`, '{"$date":"2024-01-01T00:00:00.000Z"}');
    }
    await resp.send(
        'KV.SET',
        '["<img src=x onerror=alert(1)>",1]',
        JSON.stringify('<b id="injected">x</b>'),
    );
    const books = [
        ['The lazy dog', ['dogs', 'sleep'], 1999],
        ['A quick brown fox and a dog', ['foxes'], 2005],
        ['On turtles', ['reptiles'], 2011],
        ['Foxes at night', ['foxes', 'night'], 2017],
        ['Cats of the world', ['cats'], 2020],
    ];
    for (const [i, [title, tags, year]] of books.entries())
        await set(`["book",${i + 1}]`, {title, tags, year});
    await resp.send(
        'KV.INDEX',
        'CREATE',
        'books',
        'PREFIX',
        '["book"]',
        'TEXT',
        '2',
        'title',
        'tags',
    );
    await resp.send('KV.INDEX', 'CREATE', 'by_name', 'PREFIX', '["users"]', 'ON', '1', 'name');
    await loadQueues(resp);
}

async function loadQueues(resp) {
    for (let i = 0; i < 30; i++)
        await resp.send(
            'KV.ENQUEUE',
            'mail',
            `{"to":"user${i}@example.org","template":"welcome"}`,
            'BACKOFF',
            '0',
        );
    for (let i = 0; i < 12; i++)
        await resp.send('KV.ENQUEUE', 'reports', `{"report":${i}}`, 'DELAY', '600000');
    for (let i = 0; i < 7; i++) await resp.send('KV.ENQUEUE', 'thumbnails', `{"image":${i}}`);
    for (let i = 0; i < 3; i++) {
        const [[, , , , receipt]] = await resp.send('KV.DEQUEUE', 'mail');
        await resp.send('KV.NACK', receipt, 'DEAD', 'ERROR', `SMTP 550: mailbox ${i} is unknown`);
    }
    await resp.send('KV.DEQUEUE', 'thumbnails', 'COUNT', '3', 'LEASE', '600000');
}
