// What all tests of the page share: the browser, two connections to the server, the report.
// Arguments of the program: <chromium> <HTTP port> <RESP port> [directory for screenshots]
import {writeFileSync} from 'node:fs';
import {Browser} from './browser.js';
import {Resp} from './resp.js';
import {withPalette} from './png.js';

const [, , chromium, httpPort, respPort, pictures] = process.argv;
export const PASSWORD = 'sécret: word';
export const ENTRY = '#/entries?p=%5B%22mixed%22%5D&k=%5B%22mixed%22%2C1.5%5D';
export const report = {failures: 0};
export const resp = await Resp.connect(Number(respPort));
export const other = await Resp.connect(Number(respPort));
export const b = await Browser.start(chromium, `http://127.0.0.1:${httpPort}`);
export const pause = ms => new Promise(ok => setTimeout(ok, ms));

export function fail(name, e) {
    report.failures++;
    const lines = (e.stack || e.message).split('\n').slice(0, 6);
    console.log(`not ok - ${name}\n  ${lines.join('\n  ')}`);
}

export async function test(name, f) {
    try {
        await f();
        console.log(`ok - ${name}`);
    } catch (e) {
        fail(name, e);
    }
}

export function check(what, isTrue) {
    if (!isTrue) throw new Error(what);
}

/* A bound of time is for a machine that has nothing else to do: `make turns` (TUPLED_STRICT_TURNS). */
export function checkTime(what, isTrue) {
    console.log(`# ${what}`);
    if (process.env.TUPLED_STRICT_TURNS) check(what, isTrue);
}

/* A picture of the screen, when pictures were asked for. */
export async function picture(name) {
    if (pictures === undefined) return;
    await b.page.evaluate(() => document.querySelector('.toasts')?.replaceChildren());
    await b.page.evaluate(() => document.activeElement?.blur());
    const data = await b.page.screenshot({type: 'png'});
    writeFileSync(`${pictures}/${name}.png`, withPalette(Buffer.from(data)));
}
