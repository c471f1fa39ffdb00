// Which of many keys are hashes, lists, sets, sorted sets or streams: without reading the values of the
// others, which may be large.

import * as api from './api.js';
import {keyText} from './keys.js';
import {tryRead, collectionOf, COLLECTIONS} from './json.js';
import {namesOf} from './rediskey.js';

/* Of each key {kind, length}, or null: it is none, or the user may not ask. */
export async function collectionKinds(keys, signal) {
    const out = keys.map(() => null);
    if (keys.length === 0) return out;
    try {
        const types = await typesOf(keys, signal);
        const at = types.flatMap((t, i) => (COLLECTIONS.includes(t) ? [i] : []));
        const values = await api.pipeline(
            at.map(i => ['KV.GET', keyText(keys[i])]),
            {signal},
        );
        values.forEach((v, i) => {
            if (typeof v.result === 'string') out[at[i]] = collectionOf(tryRead(v.result));
        });
    } catch {
        // Left, lost or not allowed: the keys are shown without it.
    }
    return out;
}

async function typesOf(keys, signal) {
    const {before, words} = await namesOf(keys);
    const at = words.flatMap((w, i) => (w === null ? [] : [i]));
    const answers = await api.pipeline([...before, ...at.map(i => ['TYPE', words[i]])], {signal});
    const out = keys.map(() => undefined);
    answers.slice(before.length).forEach((a, i) => {
        out[at[i]] = a.result;
    });
    return out;
}
