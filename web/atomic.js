// Atomic: checks and operations that happen together, or not at all. On a conflict it shows which
// check failed, and what is there now.

import {h, fill, icon} from './dom.js';
import * as api from './api.js';
import {go} from './router.js';
import {guessKey, keyText, parseKey} from './keys.js';
import {read, tryRead, pretty} from './json.js';
import {commandLine, guard} from './command.js';
import {toast} from './dialog.js';
import {sideBySide} from './diff.js';

/* What rows there are, by the server's own description of KV.ATOMIC: whether one has a key, what its
 * second field is, and which more words there may be. */
let OPS = null;

const START = {version: 'NONE', value: '{}', number: '1', array: '["a"]'};

function moreWords(members) {
    return members
        .filter(m => !m.required)
        .map(m => (m.type === 'flag' ? m.token : `${m.token} ${'.. '.repeat(m.words || 1)}`.trim()))
        .join(', ');
}

function rowOf({members}) {
    const [first, second] = members.filter(m => m.required);
    const more = moreWords(members);
    return {
        first: first.type === 'key' ? 'key' : first.name,
        ...(second === undefined ? {} : {second: second.type, start: START[second.type]}),
        ...(more === '' ? {} : {more}),
    };
}

async function loadOps() {
    const commands = await api.file('commands.json');
    const atomic = commands.find(c => c.name === 'kv.atomic');
    const {variants} = atomic.members.find(m => m.variants !== undefined);
    OPS = Object.fromEntries(variants.map(v => [v.token, rowOf(v)]));
}

let kept = null; // the rows of this visit: they are there when one comes back

api.on('user', () => {
    kept = null;
});

export function render(view) {
    const ready = OPS === null ? loadOps() : Promise.resolve();
    ready.then(
        () => show(view),
        e => fill(view.el, h('p', {class: 'empty'}, e.message)),
    );
}

function show(view) {
    if (kept === null || kept.db !== api.currentDatabase()) {
        kept = {
            db: api.currentDatabase(),
            rows: [
                {op: 'CHECK', key: '["users",1]', second: 'NONE', more: ''},
                {op: 'SET', key: '["users",1]', second: '{"name":"Ada"}', more: ''},
            ],
        };
    }
    new Atomic(view);
}

class Atomic {
    constructor(view) {
        this.view = view;
        this.list = h('div', {class: 'ops'});
        this.outcome = h('div', {class: 'outcome', role: 'status', hidden: true});
        this.line = commandLine(() => this.words());
        this.run = guard(
            h('button', {class: 'primary', title: 'Ctrl+Enter', onclick: () => this.go()}, 'Run'),
            () => ['KV.ATOMIC', 'CHECK', '["a"]', 'NONE'],
        );
        const add = op =>
            h(
                'button',
                {
                    class: 'small',
                    onclick: () => {
                        kept.rows.push({op, key: '[""]', second: OPS[op].start || '', more: ''});
                        this.draw();
                        this.list.lastChild.querySelector('.op-key').focus();
                    },
                },
                `+ ${op}`,
            );
        fill(
            view.el,
            h(
                'div',
                {class: 'head'},
                h('h1', {}, 'Atomic'),
                h('span', {class: 'dim'}, 'All of it happens, or nothing.'),
            ),
            this.list,
            h('div', {class: 'actions'}, Object.keys(OPS).map(add)),
            this.outcome,
            this.line.el,
            h(
                'div',
                {class: 'actions'},
                this.run,
                h(
                    'button',
                    {
                        onclick: () => {
                            kept.rows = [];
                            this.outcome.hidden = true;
                            this.draw();
                        },
                    },
                    'Clear',
                ),
            ),
        );
        view.el.addEventListener('keydown', e => {
            if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) this.go();
        });
        view.keys({
            r: [
                () => {
                    this.go();
                },
                'run',
            ],
        });
        this.draw();
    }

    draw() {
        this.els = kept.rows.map((r, i) => this.row(r, i));
        fill(
            this.list,
            kept.rows.length === 0
                ? h('p', {class: 'empty'}, 'Checks and operations would be here. Add one below.')
                : this.els,
        );
        this.look();
    }

    look() {
        this.line.update();
        this.run.disabled = this.words() === null || this.run.classList.contains('not-allowed');
    }

    row(r, i) {
        const o = OPS[r.op];
        const put = (name, input) => {
            input.value = r[name];
            input.addEventListener('input', () => {
                r[name] = input.value;
                this.clean(i);
                mark();
                this.look();
            });
            return input;
        };
        const op = h(
            'select',
            {
                'aria-label': `Kind of row ${i}`,
                onchange: () => {
                    r.op = op.value;
                    r.second = OPS[r.op].start || '';
                    this.draw();
                },
            },
            Object.keys(OPS).map(n => h('option', {value: n, selected: n === r.op}, n)),
        );
        const key = put(
            'key',
            h('input', {
                class: 'mono op-key',
                spellcheck: false,
                autocomplete: 'off',
                'aria-label': `${o.first[0].toUpperCase()}${o.first.slice(1)} of row ${i}`,
                placeholder: o.first === 'key' ? 'key: JSON, or path form' : o.first,
            }),
        );
        const second =
            o.second === undefined
                ? h('span')
                : put(
                      'second',
                      h('input', {
                          class: 'mono op-second',
                          spellcheck: false,
                          autocomplete: 'off',
                          placeholder:
                              o.second === 'version'
                                  ? 'versionstamp, or NONE'
                                  : 'value (typed JSON)',
                          'aria-label': `${o.second === 'version' ? 'Versionstamp' : 'Value'} of row ${i}`,
                      }),
                  );
        const more =
            o.more === undefined
                ? null
                : put(
                      'more',
                      h('input', {
                          class: 'mono',
                          spellcheck: false,
                          placeholder: `more words: ${o.more}`,
                          'aria-label': `More words of row ${i}`,
                      }),
                  );
        const use =
            o.second !== 'version'
                ? null
                : h(
                      'button',
                      {class: 'small', onclick: () => this.useCurrent(r)},
                      'Use current version',
                  );
        const remove = h(
            'button',
            {
                class: 'quiet icon-button op-remove',
                'aria-label': `Remove row ${i}`,
                onclick: () => {
                    kept.rows.splice(i, 1);
                    this.draw();
                },
            },
            icon('close'),
        );
        const result = h('div', {class: 'result', hidden: true});
        const mark = () => {
            key.setAttribute('aria-invalid', String(problem(r) === 'key'));
            if (o.second) second.setAttribute('aria-invalid', String(problem(r) === 'second'));
        };
        const el = h(
            'div',
            {class: 'op', role: 'group', 'aria-label': `Row ${i}`},
            h('span', {class: 'n'}, String(i)),
            h('div', {class: 'field'}, op),
            h('div', {class: 'field'}, key),
            h('div', {class: 'field'}, second),
            remove,
            more === null && use === null ? null : h('div', {class: 'op-more'}, more, use),
            result,
        );
        el.result = result;
        mark();
        return el;
    }

    clean(i) {
        const el = this.els[i];
        el.classList.remove('failed', 'good');
        el.result.hidden = true;
    }

    async useCurrent(r) {
        try {
            const pair = await api.call(['KV.GET', keyText(guessKey(r.key).parts), 'WITHVERSION']);
            r.second = pair === null ? 'NONE' : pair[1];
            this.draw();
        } catch (e) {
            toast(e.message, 'bad');
        }
    }

    words() {
        if (kept.rows.length === 0 || kept.rows.some(r => problem(r) !== '')) return null;
        return ['KV.ATOMIC', 'DETAILS', ...kept.rows.flatMap(opWords)];
    }

    async go() {
        const words = this.words();
        if (words === null || this.run.disabled) return;
        this.els.forEach((_, i) => this.clean(i));
        this.run.disabled = true;
        try {
            const [vs, details] = await api.call(words);
            if (vs === null) await this.showConflict(details);
            else this.showDone(vs, details);
        } catch (e) {
            this.showError(e);
        }
        this.look();
    }

    say(isBad, ...what) {
        this.outcome.className = `outcome ${isBad ? 'bad' : ''}`;
        fill(this.outcome, ...what);
        this.outcome.hidden = false;
    }

    showDone(vs, details) {
        this.say(false, 'Done: versionstamp ', h('span', {class: 'mono'}, vs));
        details.forEach((d, i) => {
            this.els[i].classList.add('good');
            if (d !== null) this.result(i, String(d));
        });
    }

    result(i, ...what) {
        const el = this.els[i].result;
        fill(el, ...what);
        el.hidden = false;
    }

    /* An error names the operation, as the server counts them: the same numbers as the rows. */
    showError(e) {
        this.say(true, `Nothing happened: ${e.message}`);
        const m = /operation (\d+)/.exec(e.message);
        if (m !== null && this.els[Number(m[1])]) this.els[Number(m[1])].classList.add('failed');
    }

    async showConflict(failed) {
        this.say(
            true,
            h(
                'strong',
                {},
                failed.length === 1
                    ? `Conflict: the check in row ${failed[0][0]} failed.`
                    : `Conflict: the checks in rows ${failed.map(f => f[0]).join(', ')} failed.`,
            ),
            ' Nothing happened.',
        );
        for (const [i, vs] of failed) {
            const r = kept.rows[i];
            this.els[i].classList.add('failed');
            if (OPS[r.op].second !== 'version') {
                this.result(
                    i,
                    'The delivery with this receipt has ended: it was acknowledged or refused, or its lease expired.',
                );
                continue;
            }
            const key = keyText(guessKey(r.key).parts);
            const now =
                vs === null
                    ? null
                    : await api.call(['KV.GET', key, 'WITHVERSION']).catch(() => null);
            this.result(i, ...this.whatIsThere(r, key, vs, now));
        }
    }

    whatIsThere(r, key, vs, now) {
        const checked = h('span', {class: 'mono'}, r.second);
        if (vs === null)
            return ['Checked for ', checked, '; there is no such entry now.', this.fix(r, 'NONE')];
        const set = kept.rows.find(o => OPS[o.op].second === 'value' && keyOf(o) === key);
        const mine = set === undefined ? null : tryRead(set.second);
        const theirs = now === null ? null : tryRead(now[0]);
        return [
            'Checked for ',
            checked,
            '; there now: ',
            h('span', {class: 'mono'}, vs),
            this.fix(r, vs),
            h(
                'button',
                {
                    class: 'small quiet',
                    onclick: () => go('entries', {p: keyText(parseKey(key).slice(0, -1)), k: key}),
                },
                'Open the entry',
            ),
            theirs === null
                ? null
                : mine === null
                  ? h('pre', {class: 'mono'}, pretty(theirs))
                  : sideBySide('Your value', pretty(mine), 'There now', pretty(theirs)),
        ];
    }

    fix(r, version) {
        return h(
            'button',
            {
                class: 'small quiet',
                onclick: () => {
                    r.second = version;
                    this.draw();
                    this.outcome.hidden = true;
                },
            },
            'Use this version',
        );
    }
}

function keyOf(r) {
    try {
        return keyText(guessKey(r.key).parts);
    } catch {
        return null;
    }
}

/* Which field of a row is wrong: 'key', 'second' or ''. */
function problem(r) {
    const o = OPS[r.op];
    if (r.key === '') return 'key';
    if (o.first === 'key' && (keyOf(r) === null || keyOf(r) === '[]')) return 'key';
    if (o.second === 'version')
        return /^(none|[0-9a-f]{20})$/i.test(r.second.trim()) ? '' : 'second';
    if (o.second !== undefined) {
        try {
            read(r.second);
        } catch {
            return 'second';
        }
    }
    return '';
}

function opWords(r) {
    const o = OPS[r.op];
    const key = o.first === 'key' ? keyOf(r) : r.key.trim();
    const more =
        o.more === undefined
            ? []
            : r.more
                  .trim()
                  .split(/\s+/)
                  .filter(w => w !== '');
    return [r.op, key, ...(o.second === undefined ? [] : [r.second.trim()]), ...more];
}
