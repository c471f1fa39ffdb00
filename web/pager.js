// Pages of a list that the page has as a whole: which of its rows are shown, and two buttons.

import {h} from './dom.js';
import {number} from './format.js';

/* changed(): another page is wanted. */
export class Pager {
    constructor(size, changed) {
        this.size = size;
        this.from = 0;
        const button = (text, step) =>
            h(
                'button',
                {
                    class: 'small',
                    hidden: true,
                    onclick: () => {
                        this.from = Math.max(0, this.from + step);
                        changed();
                    },
                },
                text,
            );
        this.before = button(`Previous ${size}`, -size);
        this.after = button(`Next ${size}`, size);
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
