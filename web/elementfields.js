// The fields of a form for a new element of a collection: {el, commands(key), isGood(), told(results)}.
// told() says why nothing was done, '' = it was.

import {h, fill} from './dom.js';
import {bytesField} from './bytes.js';

const THERE = 'It already exists. Nothing was changed.';

export function newElement(kind, changed) {
    return {hash: newField, list: newListElement, set: newMember, zset: newScored, stream: newStreamEntry}[
        kind
    ](changed);
}

function newField(changed) {
    const name = bytesField('el-name', 'Field', changed, {first: true});
    const value = bytesField('el-value', 'Value', changed);
    const ttl = h('input', {
        type: 'number',
        min: 1,
        id: 'el-ttl',
        placeholder: 'never',
        oninput: changed,
    });
    return {
        el: [
            name.el,
            value.el,
            h('label', {for: 'el-ttl'}, 'Time to live of the field in seconds'),
            ttl,
        ],
        isGood: () => name.isGood() && value.isGood(),
        commands: k => [
            ttl.value === ''
                ? ['HSET', k, name.word(), value.word()]
                : ['HSETEX', k, 'EX', ttl.value, 'FIELDS', '1', name.word(), value.word()],
        ],
    };
}

function newListElement(changed) {
    const value = bytesField('el-value', 'Element', changed, {first: true});
    const end = h(
        'select',
        {id: 'el-end', onchange: changed},
        h('option', {value: 'RPUSH'}, 'at the tail'),
        h('option', {value: 'LPUSH'}, 'at the head'),
    );
    return {
        el: [value.el, h('label', {for: 'el-end'}, 'Where'), end],
        isGood: value.isGood,
        commands: k => [[end.value, k, value.word()]],
    };
}

function newMember(changed) {
    const name = bytesField('el-name', 'Member', changed, {first: true});
    return {
        el: [name.el],
        isGood: name.isGood,
        told: ([count]) => (count === 0 ? THERE : ''),
        commands: k => [['SADD', k, name.word()]],
    };
}

/* {el, isGood(), value()} */
export function scoreField(changed, score = '0') {
    const input = h('input', {
        class: 'mono',
        id: 'el-score',
        value: score,
        autocomplete: 'off',
        oninput: changed,
    });
    const value = () => input.value.trim();
    return {
        el: [h('label', {for: 'el-score'}, 'Score: a number, inf or -inf'), input],
        isGood: () => /^[+-]?(inf|infinity|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)$/i.test(value()),
        value,
    };
}

function newScored(changed) {
    const name = bytesField('el-name', 'Member', changed, {first: true});
    const score = scoreField(changed);
    return {
        el: [name.el, score.el],
        isGood: () => name.isGood() && score.isGood(),
        told: ([count]) => (count === 0 ? `${THERE} Its score is changed in its row.` : ''),
        commands: k => [['ZADD', k, 'NX', score.value(), name.word()]],
    };
}

function newStreamEntry(changed) {
    const id = h('input', {class: 'mono', id: 'el-id', value: '*', autocomplete: 'off', oninput: changed});
    const rows = h('div', {class: 'pairs'});
    const pairs = [];
    const add = () => {
        const n = pairs.length + 1;
        const pair = [
            bytesField(`el-name-${n}`, `Field ${n}`, changed, {first: n === 1}),
            bytesField(`el-value-${n}`, `Value ${n}`, changed),
        ];
        pairs.push(pair);
        fill(rows, pairs.flat().map(f => f.el));
    };
    const another = h(
        'button',
        {
            class: 'small',
            onclick: () => {
                add();
                pairs.at(-1)[0].input.focus();
                changed();
            },
        },
        '+ field',
    );
    add();
    return {
        el: [rows, another, h('label', {for: 'el-id'}, 'Id (* = the time now)'), id],
        isGood: () => id.value.trim() !== '' && pairs.flat().every(f => f.isGood()),
        commands: k => [['XADD', k, id.value.trim(), ...pairs.flat().map(f => f.word())]],
    };
}
