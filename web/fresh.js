// "2 s ago": how old what is shown is. Amber when it should have been newer, red when asking
// failed.

import {h, setText} from './dom.js';
import {ago} from './format.js';

const shown = new Set();

/* `every_ms`: how often it is asked for; 0 = only when the user asks. */
export function freshness(every_ms) {
    const el = h('span', {class: 'fresh'}, '');
    const f = {
        el,
        at: 0,
        isFailed: false,
        done() {
            f.at = Date.now();
            f.isFailed = false;
            shown.add(f);
            look(f);
        },
        failed() {
            f.isFailed = true;
            look(f);
        },
        every_ms,
    };
    return f;
}

function look(f) {
    const late = f.every_ms > 0 && Date.now() - f.at > 3 * f.every_ms + 2000;
    f.el.classList.toggle('late', late);
    f.el.classList.toggle('bad', f.isFailed);
    setText(f.el, f.at === 0 ? '' : `${f.isFailed || late ? 'old: ' : ''}as of ${ago(f.at)}`);
}

setInterval(() => {
    for (const f of shown) {
        if (f.el.isConnected) look(f);
        else if (Date.now() - f.at > 60000) shown.delete(f);
    }
}, 1000);
