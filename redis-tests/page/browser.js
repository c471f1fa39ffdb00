// A browser for the tests of the page: what it does wrong is kept, what is looked for is waited
// for.
import puppeteer from 'puppeteer-core';
import axe from 'axe-core';

const WAIT_MS = 10000;

export class Browser {
    static async start(executable, base) {
        const b = new Browser();
        b.base = base;
        b.complaints = [];
        b.foreign = [];
        b.browser = await puppeteer.launch({
            executablePath: executable,
            args: [
                '--headless=new',
                '--no-sandbox',
                '--disable-dev-shm-usage',
                '--force-color-profile=srgb',
            ],
        });
        await b.newPage();
        return b;
    }

    async newPage() {
        this.page = await this.browser.newPage();
        await this.page.setViewport({width: 1200, height: 800});
        await this.theme('light');
        this.page.setDefaultTimeout(WAIT_MS);
        // A 401 is what asks for a password, and a test closes a stream: the browser notes both by
        // itself.
        const expected = m =>
            /status of 401/.test(m.text()) ||
            (/ERR_INCOMPLETE_CHUNKED/.test(m.text()) &&
                /\/(subscribe|watch)\//.test(m.location().url));
        this.page.on('console', m => {
            if (m.type() === 'error' && !expected(m))
                this.complaints.push(`${m.text()} ${m.location().url}`);
        });
        this.page.on('pageerror', e => this.complaints.push(e.stack || e.message));
        this.page.on('request', r => {
            if (!r.url().startsWith(this.base) && !r.url().startsWith('data:'))
                this.foreign.push(r.url());
        });
    }

    theme(value) {
        return this.page.emulateMediaFeatures([{name: 'prefers-color-scheme', value}]);
    }

    open(hash = '') {
        return this.page.goto(`${this.base}/ui/${hash}`, {waitUntil: 'load'});
    }

    /* Another screen, without loading the page anew. */
    go(hash) {
        return this.page.evaluate(to => {
            location.hash = to;
        }, hash);
    }

    async signIn(user, password) {
        await this.page.waitForSelector('#si-password');
        await this.page.$eval(
            '#si-user',
            (el, v) => {
                el.value = v;
            },
            user,
        );
        await this.page.$eval(
            '#si-password',
            (el, v) => {
                el.value = v;
            },
            password,
        );
        await this.page.click('.sign-in button');
    }

    /* Waits for an element that can be seen, and whose text contains `text`. */
    async sees(selector, text = '', ms = WAIT_MS) {
        await this.page
            .waitForFunction(
                (s, t) =>
                    [...document.querySelectorAll(s)].some(
                        el => el.checkVisibility() && el.textContent.includes(t),
                    ),
                {timeout: ms, polling: 20},
                selector,
                text,
            )
            .catch(() => {
                throw new Error(`not seen: ${selector} with '${text}'`);
            });
    }

    async gone(selector, text = '') {
        await this.page
            .waitForFunction(
                (s, t) =>
                    ![...document.querySelectorAll(s)].some(
                        el => el.checkVisibility() && el.textContent.includes(t),
                    ),
                {polling: 20},
                selector,
                text,
            )
            .catch(() => {
                throw new Error(`still there: ${selector} with '${text}'`);
            });
    }

    /* Clicks the element with that text. */
    async click(selector, text = '') {
        await this.sees(selector, text);
        await this.page.evaluate(
            (s, t) =>
                [...document.querySelectorAll(s)]
                    .find(el => el.checkVisibility() && el.textContent.includes(t))
                    .click(),
            selector,
            text,
        );
    }

    fill(selector, value) {
        return this.page.$eval(
            selector,
            (el, v) => {
                el.value = v;
                el.dispatchEvent(new Event('input', {bubbles: true}));
            },
            value,
        );
    }

    /* What axe finds wrong with the page as it is, a line each. */
    async violations() {
        await this.page.evaluate(`window.axe === undefined && (() => {${axe.source}})()`);
        const found = await this.page.evaluate(() =>
            window.axe.run(document, {resultTypes: ['violations']}),
        );
        return found.violations.flatMap(v =>
            v.nodes.map(
                n =>
                    `${v.id}: ${n.target.join(' ')}: ` +
                    (n.any[0] || n.all[0] || n.none[0] || {message: ''}).message,
            ),
        );
    }

    close() {
        return this.browser.close();
    }
}
