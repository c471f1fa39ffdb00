// The figures of all queues of a database. No command gives them at once, so they are asked for by as many
// requests as it takes, of which each is short.

import * as api from './api.js';
import {record} from './format.js';

const AT_ONCE = 100;

/* name -> figures, of those of `names` that are still there; told(done) after each request. */
export async function queueFigures(names, signal, told = () => {}) {
    const figures = new Map();
    for (let i = 0; i < names.length; i += AT_ONCE) {
        const some = names.slice(i, i + AT_ONCE);
        const answers = await api.pipeline(
            some.map(q => ['KV.QUEUE', 'STATS', q]),
            {signal},
        );
        answers.forEach((a, j) => {
            if (a.result) figures.set(some[j], record(a.result));
        });
        told(Math.min(i + AT_ONCE, names.length));
    }
    return figures;
}
