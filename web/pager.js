// Pages of a list: which of its rows are shown, and two buttons.

import {h} from './dom.js';
import {number} from './format.js';

function buttons(size, step) {
    const button = (text, by) => h('button', {class: 'small', hidden: true, onclick: () => step(by)}, text);
    return [button(`Previous ${size}`, -1), button(`Next ${size}`, 1)];
}

/* Of a list that the page has as a whole. changed(): another page is wanted. */
export class Pager {
    constructor(size, changed) {
        this.size = size;
        this.from = 0;
        const [before, after] = buttons(size, by => {
            this.from = Math.max(0, this.from + by * size);
            changed();
        });
        this.before = before;
        this.after = after;
        this.el = h('div', {class: 'pager'}, this.before, this.after);
    }

    first() {
        this.from = 0;
    }

    /* Those of the rows that are to be shown. */
    of(rows) {
        if (this.from >= rows.length)
            this.from = Math.max(0, Math.floor((rows.length - 1) / this.size) * this.size);
        this.before.hidden = this.from === 0;
        this.after.hidden = this.from + this.size >= rows.length;
        return rows.slice(this.from, this.from + this.size);
    }

    /* "101 to 200 of 257", or only how many there are. */
    text(count) {
        if (count <= this.size) return number(count);
        const to = Math.min(this.from + this.size, count);
        return `${number(this.from + 1)} to ${number(to)} of ${number(count)}`;
    }
}

/* Of a list that the server has, in the order of names: a page is asked for by the name before it, with one
 * more than is shown. */
export class NamePager {
    constructor(size, changed) {
        this.size = size;
        this.first();
        const [before, next] = buttons(size, by => {
            if (by > 0) this.names.push(this.last);
            else this.names.pop();
            changed();
        });
        this.before = before;
        this.next = next;
        this.el = h('div', {class: 'pager'}, this.before, this.next);
    }

    first() {
        this.names = [];
    }

    /* The name before the page; null = it is the first. */
    get after() {
        return this.names.length === 0 ? null : this.names[this.names.length - 1];
    }

    /* Those of the names that are to be shown. */
    of(names) {
        const shown = names.slice(0, this.size);
        this.last = shown[shown.length - 1];
        this.before.hidden = this.names.length === 0;
        this.next.hidden = names.length <= this.size;
        return shown;
    }

    /* There is one page only. */
    hide() {
        this.before.hidden = this.next.hidden = true;
    }

    /* "101 to 200, more follow", or only how many there are. */
    text(names) {
        const from = this.names.length * this.size;
        const count = Math.min(names.length, this.size);
        const more = names.length > this.size ? ', more follow' : '';
        if (from === 0 && more === '') return number(count);
        return count === 0 ? 'none here any more' : `${number(from + 1)} to ${number(from + count)}${more}`;
    }
}
