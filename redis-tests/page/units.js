// The page's modules that need no browser: keys and typed JSON.
import {
    parseKey,
    keyText,
    keyPath,
    parsePath,
    guessKey,
    afterSubtree,
    isBelow,
} from './web/keys.js';
import {read, compact, pretty, typeName} from './web/json.js';
import {diffLines} from './web/diff.js';
import {splitWords} from './web/syntax.js';
import {duration} from './web/format.js';

let failures = 0;

function same(name, wanted, got) {
    const [w, g] = [wanted, got].map(v => JSON.stringify(v));
    if (w === g) return console.log(`ok - ${name}`);
    failures++;
    return console.log(`not ok - ${name}\n  wanted: ${w}\n     got: ${g}`);
}

function fails(name, f) {
    try {
        f();
        failures++;
        console.log(`not ok - ${name}: nothing was thrown`);
    } catch (e) {
        same(name, 'string', typeof e.message);
    }
}

const every = '["a/b",42,-1.5,{"$bigint":"9007199254740993"},{"$bytes":"AP8="},true,"","#x","é"]';
same('a key is read and written', every, keyText(parseKey(every)));
same(
    'path form',
    'a%2fb/#42/#-1.5/#n9007199254740993/&00ff/!true/%/%23x/%c3%a9',
    keyPath(parseKey(every)),
);
same('path form, back', every, keyText(parsePath(keyPath(parseKey(every)))));
same(
    'special numbers',
    '[{"$number":"-0"},{"$number":"NaN"},{"$number":"-Infinity"}]',
    keyText(parsePath('#-0/#NaN/#-Infinity')),
);
same('a word', 'a word', guessKey('users').as);
same('a path', '["users",1]', keyText(guessKey('users/#1').parts));
same('JSON', 'JSON', guessKey('["a"]').as);
fails('an object is no part of a key', () => parseKey('[{"a":1}]'));
const after = json => {
    const p = afterSubtree(parseKey(json)[0]);
    return p === null ? null : keyText([p]);
};
same('after a text', '["a\\u0000"]', after('["a"]'));
same('after a number', '[1.0000000000000002]', after('[1]'));
same('after a negative number', '[-0.9999999999999999]', after('[-1]'));
same('after -0', '[0]', after('[{"$number":"-0"}]'));
same('after 0', '[5e-324]', after('[0]'));
same('after infinity', '[{"$number":"NaN"}]', after('[{"$number":"Infinity"}]'));
same('after a bigint', '[{"$bigint":"-4"}]', after('[{"$bigint":"-5"}]'));
same('after bytes', '[{"$bytes":"AAEA"}]', after('[{"$bytes":"AAE="}]'));
same('after false', '[true]', after('[false]'));
same('after true nothing', null, after('[true]'));
same('below', true, isBelow(parseKey('["a"]'), parseKey('["a",1]')));
same('not below', false, isBelow(parseKey('["a"]'), parseKey('["ab",1]')));

const long = '{"b":12345678901234567890.12345,"10":1,"2":[1.50,-0,1e400],"a":"x\\u0041"}';
same('numbers and order are kept', long, compact(read(long)));
same('also with lines between', long, compact(read(pretty(read(long)))));
same('type of a tag', 'bigint', typeName(read('{"$bigint":"5"}')));
same('type of what V8 wrote', 'V8 value', typeName(read('{"$v8":"/w95"}')));
same(
    'an object with a tag and more is an object',
    'object',
    typeName(read('{"$bigint":"5","a":1}')),
);
for (const bad of ['', '{', '[1,]', '{"a":1,}', '{a:1}', "'a'", '01', '[1] 2', '"\n"', 'nul']) {
    fails(`no JSON: ${JSON.stringify(bad)}`, () => read(bad));
}
same(
    'difference of lines',
    [
        ['a', 'a', true],
        ['b', 'x', false],
        ['c', 'c', true],
        [null, 'd', false],
    ],
    diffLines(['a', 'b', 'c'], ['a', 'x', 'c', 'd']),
);
same(
    'words',
    ['KV.SET', '["a b",1]', '{"x":"y z"}', 'a b', "it's"],
    splitWords('KV.SET ["a b",1] \'{"x":"y z"}\' "a b" "it\'s"'),
);
same('hours have at most 59 minutes', ['2 h 59 min', '3 h 0 min'], [duration(10750000), duration(10799600)]);
process.exit(failures === 0 ? 0 : 1);
