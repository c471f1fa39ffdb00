// How a key is named in Redis's own commands (HSET, LPUSH, ...), which know plain keys: one text, or
// one part of bytes that are not UTF-8. Other keys they take in path form, after CLIENT VIEW TUPLES
// in the same request (docs/guis.md).

import * as api from './api.js';
import {keyPath} from './keys.js';
import {asText} from './json.js';
import {word} from './bytes.js';

/* The word of a plain key, or null. */
function plainWord(key) {
    if (key.length !== 1) return null;
    if (key[0].k === 'text') return key[0].v;
    return key[0].k === 'bytes' && asText(key[0].v) === null ? word(key[0].v) : null;
}

/* Is the word the same key in both views? */
function isSame(key) {
    const name = plainWord(key);
    return typeof name === 'string' && /^[^#&!/%][^/%]*$/.test(name);
}

/* {before, words}: the words stand for the keys, in their order; `before` are commands that must run
 * first in the same request. Throws when the user may not run those: the words would name other keys. */
async function nameKeys(...keys) {
    const words = keys.map(plainWord);
    if (keys.every(isSame)) return {before: [], words};
    await api.call(['CLIENT', 'VIEW']);
    const isPlain = words.every(w => w !== null);
    return {
        before: [['CLIENT', 'VIEW', isPlain ? 'PLAIN' : 'TUPLES']],
        words: isPlain ? words : keys.map(keyPath),
    };
}

/* As nameKeys(), but a key that the user cannot name is null. */
export async function namesOf(keys) {
    try {
        return await nameKeys(...keys);
    } catch {
        return {before: [], words: keys.map(k => (isSame(k) ? plainWord(k) : null))};
    }
}

/* As nameKeys(), without asking: for a line that shows the commands. */
export function shownNames(...keys) {
    const words = keys.map(plainWord);
    if (words.every(w => w !== null)) return {before: [], words};
    return {before: [['CLIENT', 'VIEW', 'TUPLES']], words: keys.map(keyPath)};
}

/* Runs `make(...words)`, commands over the keys: their results. The first error is thrown. */
export async function run(keys, make, options) {
    const {before, words} = await nameKeys(...keys);
    const answers = await api.pipeline([...before, ...make(...words)], options);
    for (const a of answers) if (a.error !== undefined) throw new api.CommandError(a.error);
    return answers.slice(before.length).map(a => a.result);
}

/* What guard() asks for: whether the user may run `make(word)`. A key that is no plain one cannot be
 * asked about by its path: then it is whether the user may have the view. */
export function question(key, make) {
    const name = plainWord(key);
    return name === null ? ['CLIENT', 'VIEW', 'TUPLES'] : make(name);
}
