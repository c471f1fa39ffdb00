// Words as redis-cli splits them, and the syntax of commands from COMMAND DOCS.

import {h} from './dom.js';
import {record} from './format.js';

const ESCAPES = {n: '\n', r: '\r', t: '\t', b: '\b', a: '\u0007'};

/* The words of a line: blanks between, 'single' and "double quotes" as redis-cli takes them. JSON
 * that begins with [ or { may stand without quotes up to the bracket that closes it. */
export function splitWords(line) {
    const words = [];
    let at = 0;
    while (at < line.length) {
        if (/\s/.test(line[at])) {
            at++;
            continue;
        }
        const [word, next] = '[{'.includes(line[at]) ? bracketed(line, at) : oneWord(line, at);
        words.push(word);
        at = next;
    }
    return words;
}

function bracketed(line, start) {
    let depth = 0,
        inText = false;
    for (let at = start; at < line.length; at++) {
        const c = line[at];
        if (inText) {
            if (c === '\\') at++;
            else if (c === '"') inText = false;
        } else if (c === '"') inText = true;
        else if (c === '[' || c === '{') depth++;
        else if ((c === ']' || c === '}') && --depth === 0)
            return [line.slice(start, at + 1), at + 1];
    }
    return [line.slice(start), line.length];
}

function oneWord(line, at) {
    let word = '';
    while (at < line.length && !/\s/.test(line[at])) {
        const c = line[at];
        if (c === "'" || c === '"') {
            const [text, next] = quoted(line, at + 1, c);
            word += text;
            at = next;
        } else {
            word += c;
            at++;
        }
    }
    return [word, at];
}

function quoted(line, at, quote) {
    let text = '';
    for (; at < line.length && line[at] !== quote; at++) {
        if (line[at] !== '\\' || (quote === "'" && line[at + 1] !== "'")) text += line[at];
        else {
            at++;
            text +=
                quote === '"' && ESCAPES[line[at]] !== undefined
                    ? ESCAPES[line[at]]
                    : line[at] || '';
        }
    }
    return [text, at + 1];
}

/* The syntax line, as docs/commands.md writes it; what is to be typed next is in bold. `typed` is
 * the number of words that are complete. */
export function syntaxOf(command, typed) {
    const args = command.arguments.map(a => argument(record(a)));
    const next = typed - command.name.split(' ').length;
    return h(
        'div',
        {},
        command.name.toUpperCase(),
        args.map((text, i) => [' ', i === Math.max(0, next) ? h('b', {}, text) : text]),
    );
}

function argument(a) {
    const flags = a.flags === undefined ? [] : Array.isArray(a.flags) ? a.flags : [a.flags];
    const isOptional = flags.includes('optional');
    let text = body(a);
    if (flags.includes('multiple') && a.token === undefined) {
        text = isOptional ? `${text} ...` : `${text} [${text} ...]`;
    } else if (flags.includes('multiple')) text += ' ...';
    return isOptional ? `[${text}]` : text;
}

function body(a) {
    const inner = (a.arguments || []).map(x => argument(record(x)));
    let text =
        a.type === 'oneof'
            ? inner.join(' | ')
            : a.type === 'block'
              ? inner.join(' ')
              : a['display_text'] || a.name;
    if (a.type === 'pure-token') return a.token;
    const flags = a.flags === undefined ? [] : a.flags;
    if (a.type === 'oneof' && (!flags.includes('optional') || a.token !== undefined))
        text = `<${text}>`;
    return a.token === undefined ? text : `${a.token} ${text}`;
}
