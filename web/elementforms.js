// Dialogs that change one element of a collection (elements.js), by Redis's own commands. Each shows its
// commands, and resolves with true when it has written.

import {h} from './dom.js';
import {commandLine} from './command.js';
import {dialog, errorBox, toast} from './dialog.js';
import {bytesField, briefly, fromReply, sameBytes, shownBytes, exactText, word} from './bytes.js';
import {run, shownNames} from './rediskey.js';
import {newElement, scoreField} from './elementfields.js';
import {askExpiry} from './expiry.js';

/* Commands over the key of `list`, as a line shows them. */
function shown(list, commands) {
    const {before, words} = shownNames(list.key);
    return [...before, ...commands(...words)];
}

/* A form: build(changed) makes {el, commands(key), isGood()}, and may have check(), which throws when it
 * must not be sent, and told(results), which says why nothing was done. */
function writeDialog(list, title, how) {
    return dialog(title, close => writeForm(list, how, close), {class: 'wide'});
}

function writeForm(list, {button, build, isDanger = false}, close) {
    const error = errorBox();
    const send = h(
        'button',
        {class: isDanger ? 'danger' : 'primary', type: 'submit', title: 'Ctrl+Enter'},
        button,
    );
    const look = () => {
        send.disabled = !part.isGood();
        line.update();
    };
    const part = build(() => look());
    const line = commandLine(() => (part.isGood() ? shown(list, part.commands) : null));
    const submit = async e => {
        e.preventDefault();
        if (send.disabled) return;
        error.clear();
        send.disabled = true;
        try {
            const wrong = await write(list, part);
            if (wrong === '') return void close(true);
            error.show(wrong);
        } catch (failure) {
            error.show(failure);
        }
        send.disabled = false;
    };
    look();
    return h(
        'form',
        {onsubmit: submit, onkeydown: e => e.key === 'Enter' && (e.ctrlKey || e.metaKey) && submit(e)},
        part.el,
        error.el,
        line.el,
        h('div', {class: 'actions'}, send, h('button', {onclick: () => close()}, 'Cancel')),
    );
}

/* '' when it was written, else why not. */
async function write(list, part) {
    if (part.check) await part.check();
    const results = await run([list.key], part.commands);
    return part.told ? part.told(results) : '';
}

const ADD_TITLES = {
    hash: ['Set a field', 'Set'],
    list: ['Push an element', 'Push'],
    set: ['Add a member', 'Add'],
    zset: ['Add a member', 'Add'],
    stream: ['Add an entry', 'Add'],
};

export function addElement(list) {
    const [title, button] = ADD_TITLES[list.kind];
    return writeDialog(list, title, {button, build: changed => newElement(list.kind, changed)});
}

// --- one that is there ---

const EDITORS = {hash: editField, list: editPosition, zset: editScore};

export function editElement(list, x) {
    return EDITORS[list.kind](list, x);
}

/* What `commands` read must be what was read before, else it is told, and the next try is onto that. */
function checkSame(list, commands, data) {
    let base = data;
    return async () => {
        const [now] = await run([list.key], commands, {encoding: 'base64'});
        if (now === null) throw new Error('It no longer exists. Nothing was saved.');
        const read = fromReply(now);
        if (sameBytes(read, base)) return;
        base = read;
        throw new Error(
            `Another client changed it: now it is ${briefly(read)}. Nothing was saved. Save again to ` +
                'overwrite it.',
        );
    };
}

function fact(name, ...what) {
    return h('p', {}, h('span', {class: 'dim'}, `${name} `), h('span', {class: 'mono break'}, ...what));
}

function editField(list, x) {
    const field = word(x.name);
    const build = changed => {
        const value = bytesField('el-value', 'Value', changed, {data: x.value, first: true});
        return {
            el: [fact('Field', shownBytes(x.name)), value.el],
            isGood: value.isGood,
            check: checkSame(list, k => [['HGET', k, field]], x.value),
            commands: k => [
                x.expires === null
                    ? ['HSET', k, field, value.word()]
                    : ['HSETEX', k, 'KEEPTTL', 'FIELDS', '1', field, value.word()],
            ],
        };
    };
    return writeDialog(list, 'Set a field', {button: 'Save', build});
}

function editPosition(list, x) {
    const at = String(x.position);
    const build = changed => {
        const value = bytesField('el-value', 'Value', changed, {data: x.value, first: true});
        return {
            el: [fact('Position', at), value.el],
            isGood: value.isGood,
            check: checkSame(list, k => [['LINDEX', k, at]], x.value),
            commands: k => [['LSET', k, at, value.word()]],
        };
    };
    return writeDialog(list, 'Set an element', {button: 'Save', build});
}

function editScore(list, x) {
    const member = word(x.name);
    const build = changed => {
        const score = scoreField(changed, x.score);
        return {
            el: [fact('Member', shownBytes(x.name)), score.el],
            isGood: score.isGood,
            check: checkSame(list, k => [['ZSCORE', k, member]], new TextEncoder().encode(x.score)),
            commands: k => [['ZADD', k, 'XX', score.value(), member]],
        };
    };
    return writeDialog(list, 'Change the score', {button: 'Save', build});
}

const REMOVERS = {
    hash: (k, x) => ['HDEL', k, word(x.name)],
    set: (k, x) => ['SREM', k, word(x.name)],
    zset: (k, x) => ['ZREM', k, word(x.name)],
    stream: (k, x) => ['XDEL', k, x.id],
};

const gone = ([count]) => {
    if (count === 0) toast('It no longer exists.');
    return '';
};

export function removeElement(list, x) {
    if (list.kind === 'list') return removeFromList(list, x);
    const what = x.id === undefined ? shownBytes(x.name) : x.id;
    return writeDialog(list, `Delete the ${{hash: 'field', stream: 'entry'}[list.kind] || 'member'}?`, {
        button: 'Delete',
        isDanger: true,
        build: () => ({
            el: [fact('', what)],
            isGood: () => true,
            told: gone,
            commands: k => [REMOVERS[list.kind](k, x)],
        }),
    });
}

/* By what it is, not by its place: that may be another's by now. */
function removeFromList(list, x) {
    const build = changed => {
        const which = h(
            'select',
            {id: 'el-which', onchange: changed},
            h('option', {value: '1'}, 'the first equal element'),
            h('option', {value: '-1'}, 'the last equal element'),
            h('option', {value: '0'}, 'all equal elements'),
        );
        return {
            el: [fact('', shownBytes(x.value)), h('label', {for: 'el-which'}, 'Of equal elements'), which],
            isGood: () => true,
            told: gone,
            commands: k => [['LREM', k, which.value, word(x.value)]],
        };
    };
    return writeDialog(list, 'Delete the element?', {button: 'Delete', isDanger: true, build});
}

/* The time to live of a field of a hash. */
export async function fieldExpiry(list, x) {
    const field = word(x.name);
    const make = ms => k => [
        ms === null
            ? ['HPERSIST', k, 'FIELDS', '1', field]
            : ['HPEXPIRE', k, String(ms), 'FIELDS', '1', field],
    ];
    const title = `When ${exactText(x.name) === null ? 'the field' : briefly(x.name)} expires`;
    const ms = await askExpiry(title, x.expires !== null, n => shown(list, make(n)));
    if (ms === undefined) return false;
    try {
        const [[done]] = await run([list.key], make(ms));
        if (done === -2) toast('The field no longer exists.', 'bad');
    } catch (e) {
        toast(e.message, 'bad');
    }
    return true;
}
