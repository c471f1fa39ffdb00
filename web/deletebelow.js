// Deleting below a prefix is slow on purpose: it counts, shows ten examples, and wants the prefix
// typed.

import {h} from './dom.js';
import * as api from './api.js';
import {keyText} from './keys.js';
import {number} from './format.js';
import {confirmTyped, screenNow, toast} from './dialog.js';
import {commandLine} from './command.js';

export async function deleteBelow(screen, prefix, where) {
    const p = keyText(prefix);
    const filter = where === '' ? [] : ['WHERE', where];
    const words =
        prefix.length === 0 && where === ''
            ? ['KV.DELRANGE', 'ALL']
            : ['KV.DELRANGE', 'PREFIX', p, ...filter];
    const since = screenNow();
    const waiting = toast('Counting…');
    let count, examples;
    try {
        count = await api.call(['KV.COUNT', 'PREFIX', p, ...filter]);
        examples = (
            await api.call(['KV.LIST', 'PREFIX', p, ...filter, 'KEYSONLY', 'LIMIT', '10'])
        )[1];
    } catch (e) {
        return toast(e.message, 'bad');
    } finally {
        waiting.remove();
    }
    if (count === 0) return toast('There is nothing to delete.');
    const ok = await confirmTyped(
        `Delete ${number(count)} ${count === 1 ? 'entry' : 'entries'}`,
        [
            h(
                'p',
                {},
                `Everything below ${p}`,
                where === '' ? '' : ` that matches ${where}`,
                ` is deleted. It cannot be taken back. `,
                examples.length < count ? 'Ten of them:' : 'These:',
            ),
            h(
                'ul',
                {class: 'examples mono'},
                examples.map(k => h('li', {}, k)),
            ),
        ],
        p,
        `Delete ${number(count)}`,
        commandLine(() => words).el,
        since,
    );
    if (!ok) return undefined;
    try {
        toast(`${number(await api.call(words))} deleted.`, 'good');
    } catch (e) {
        toast(e.message, 'bad');
    }
    return screen.changed();
}
