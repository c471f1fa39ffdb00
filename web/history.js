// What happened to one key, from the change feed, as far back as the journal is kept. The feed is
// read from its beginning, page by page; it can be stopped.

import {h, setText} from './dom.js';
import * as api from './api.js';
import {keyText} from './keys.js';
import {number, dateTime} from './format.js';
import {tryRead, pretty, collectionOf, collectionText} from './json.js';
import {commandLine} from './command.js';

const PAGE = 2000;
const KEPT = 50; // of the newest changes

export function history(key, signal) {
    const prefix = keyText(key.slice(0, -1));
    const json = keyText(key);
    const status = h(
        'p',
        {class: 'dim', role: 'status'},
        'The change feed is read from its beginning.',
    );
    const list = h('ol', {class: 'history'});
    let reading = null;
    const button = h(
        'button',
        {
            class: 'small',
            onclick: () => {
                if (reading !== null) return reading.abort();
                reading = new AbortController();
                button.textContent = 'Stop';
                readAll({
                    prefix,
                    json,
                    status,
                    list,
                    signal: api.anySignal([signal, reading.signal]),
                }).finally(() => {
                    reading = null;
                    button.textContent = 'Read again';
                });
                return undefined;
            },
        },
        'Read the history',
    );
    return h(
        'div',
        {},
        status,
        button,
        list,
        commandLine(() => ['KV.CHANGES', '0', 'PREFIX', prefix, 'COUNT', String(PAGE)]).el,
    );
}

async function readAll({prefix, json, status, list, signal}) {
    let from = '0',
        seen = 0,
        note = '';
    const found = [];
    const end = await api.call(['KV.VERSION'], {signal}).catch(() => '');
    const say = more =>
        setText(
            status,
            `${number(seen)} changes below ${prefix} read, ` +
                `${number(found.length)} of this key${found.length === KEPT ? ' (the newest)' : ''}. ${note}${more}`,
        );
    try {
        for (;;) {
            let next, rows;
            try {
                [next, rows] = await api.call(
                    ['KV.CHANGES', from, 'PREFIX', prefix, 'COUNT', String(PAGE)],
                    {signal},
                );
            } catch (e) {
                if (e.code !== 'STALE' || note !== '') throw e;
                from = e.message.split(' ')[1];
                note = 'Older ones are no longer kept. ';
                continue;
            }
            seen += rows.length;
            for (const r of rows) if (r[0] === json || r[0] === null) found.push(r);
            found.splice(0, Math.max(0, found.length - KEPT));
            if (rows.length > 0) say('Reading…');
            if ((rows.length === 0 && next === from) || (end !== '' && next >= end)) break;
            from = next;
        }
        say('');
    } catch (e) {
        say(e.name === 'AbortError' ? 'Stopped.' : e.message);
    }
    list.replaceChildren(...found.reverse().map(row));
}

function row([key, value, vs, endsAt]) {
    const node = value === null ? null : tryRead(value);
    const collection = collectionOf(node);
    const what =
        key === null
            ? 'the database was flushed'
            : value === null
              ? 'deleted, or expired'
              : collection !== null
                ? collectionText(collection)
                : h('pre', {class: 'mono'}, node === null ? value : pretty(node));
    return h(
        'li',
        {},
        h('div', {class: 'mono dim'}, vs, endsAt === null ? '' : `, expires ${dateTime(endsAt)}`),
        h('div', {}, what),
    );
}
