// The page where there is more than fits on it, where a screen is left while it asks something, and where the
// server cannot be reached.
import {b, resp, other, test, check, pause} from './context.js';

const QUEUES = 257,
    DEAD = 28;

/* Names in which the last queues have the dead letters, the longest wait and the most messages. */
async function loadQueues() {
    await resp.send('KV.DB', 'CREATE', 'many');
    await other.send('SELECT', 'many');
    for (let i = 0; i < QUEUES; i++) {
        const name = `q${String(i).padStart(3, '0')}`;
        await other.send('KV.ENQUEUE', name, '1');
        if (i >= QUEUES - DEAD) {
            const [[, , , , receipt]] = await other.send('KV.DEQUEUE', name);
            await other.send('KV.NACK', receipt, 'DEAD', 'ERROR', 'broken');
        }
    }
    for (let i = 0; i < 150; i++) await other.send('KV.ENQUEUE', 'q250', '3');
    await other.send('SELECT', '0');
}

const names = () => b.page.$$eval('.queue .name', els => els.map(el => el.textContent));

export async function many() {
    await test('257 queues are loaded', loadQueues);
    const total = async () => {
        const info = await resp.send('INFO', 'queues');
        return Number(/queue_dead:(\d+)/.exec(info)[1]);
    };
    await test('the overview counts the dead letters of all queues', async () => {
        const dead = await total();
        check(`${dead} dead`, dead >= DEAD);
        await b.go('#/overview?db=many');
        await b.sees('.state .more', `${dead} dead letters in all databases`);
    });
    await test('queues come in pages that say how many there are', async () => {
        await b.go('#/queues?db=many');
        await b.sees('.head', '1 to 100, more follow');
        await b.click('.pager button', 'Next 100');
        await b.sees('.head', '101 to 200, more follow');
        await b.click('.pager button', 'Next 100');
        await b.sees('.head', '201 to 257');
        await b.sees('.queue .name', 'q256');
        check('a fourth page', (await b.page.$('.pager button:not([hidden])')) !== null);
        await b.gone('.pager button', 'Next');
        await b.click('.pager button', 'Previous');
        await b.sees('.head', '101 to 200, more follow');
    });
    await test('the queues with the most dead letters come first, of all of them', async () => {
        await b.page.select('[aria-label="Order"]', 'dead');
        await b.page.waitForFunction(n => document.querySelectorAll('.queue').length === n, {polling: 20}, DEAD);
        const some = await names();
        check(some.join(), some.every(n => n >= `q${QUEUES - DEAD}`));
        await b.gone('.pager button:not([hidden])');
    });
    await test('... and those with the most that is ready', async () => {
        await b.page.select('[aria-label="Order"]', 'ready');
        await b.page.waitForFunction(() => document.querySelector('.queue .name')?.textContent === 'q250', {polling: 20});
        await b.sees('.head', 'the first 100');
    });
    await test('a part of a name is looked for by the server', async () => {
        await b.fill('[data-search]', '25');
        await b.page.waitForFunction(() => document.querySelector('.queue .name')?.textContent === 'q250', {polling: 20});
        await b.page.select('[aria-label="Order"]', 'name');
        await b.page.waitForFunction(() => document.querySelector('.queue .name')?.textContent === 'q025', {polling: 20});
        check((await names()).join(), (await names()).every(n => n.includes('25')));
        await b.fill('[data-search]', '*');
        await b.sees('.empty', 'No queue matches');
    });
    await test('the overview names the longest queues of all, and the one that waits longest', async () => {
        await b.go('#/overview?db=many');
        await b.sees('.panel td', 'q250');
        await b.sees('.state .more', 'q000');
    });
    await test('a queue shows a hundred messages, and more when asked', async () => {
        await b.go('#/queues?q=q250&db=many');
        await b.sees('[role=status]', 'first 100 of 15');
        await b.click('.pager button', '100 more');
        await b.sees('[role=status]', 'not taken yet');
    });
}

export async function leaving() {
    await test('a question ends with its screen, unanswered', async () => {
        await b.go('#/queues');
        await b.sees('.queue');
        await b.go('#/console');
        await b.sees('.console-input input');
        await b.fill('.console-input input', 'KV.SET ["left"] 1');
        await b.page.focus('.console-input input');
        await b.page.keyboard.press('Enter');
        await b.sees('dialog', 'may change something');
        await b.page.evaluate(() => history.back());
        await b.gone('dialog');
        await b.sees('.queue');
        check('it was run', (await resp.send('KV.EXISTS', '["left"]')) === 0);
    });
    await test('nor is one asked that comes after its screen', async () => {
        await b.go('#/queues?q=thumbnails');
        await b.sees('button', 'Purge');
        await b.page.evaluate(() => {
            [...document.querySelectorAll('button')].find(el => el.textContent.includes('Purge')).click();
            location.hash = '#/users';
        });
        await b.sees('.screen-users .head');
        await pause(300);
        check('a dialog', (await b.page.$('dialog')) === null);
    });
}

/* Every screen, opened for the first time while the server cannot be reached. */
export async function lost(screens, signIn) {
    const before = b.complaints.length;
    const session = await b.page.createCDPSession();
    await session.send('Network.enable');
    const block = urls => session.send('Network.setBlockedURLs', {urls});
    for (const screen of screens) {
        await test(`a lost server is told in words, and asked again: ${screen}`, async () => {
            await block([]);
            await b.page.goto('about:blank');
            await b.open(screen === 'overview' ? '#/queues' : '#/overview');
            await signIn();
            await b.sees('#rail a', 'Overview');
            await block(['*/pipeline', '*/subscribe/*', `*/ui/${screen}.js*`]);
            await b.go(`#/${screen}`);
            await b.sees('[role=alert]', 'The server cannot be reached');
            await b.sees('#content .error-box', 'cannot be reached');
            await block(['*/pipeline', '*/subscribe/*']);
            await b.sees(`.screen-${screen}`);
            await block([]);
            await b.gone('[role=alert]', 'cannot be reached').catch(async e => {
                throw new Error(`${e.message}: ${await b.page.$eval('#content', el => el.innerText)}`);
            });
            await b.sees(`.screen-${screen} h1`);
            const text = await b.page.$eval('#content', el => el.innerText);
            check(text, !text.includes('LOST') && !text.includes('cannot be reached'));
        });
    }
    await session.detach();
    const foreign = /ERR_BLOCKED_BY_(CLIENT|INSPECTOR)/;
    b.complaints.splice(before, Infinity, ...b.complaints.slice(before).filter(c => !foreign.test(c)));
}
