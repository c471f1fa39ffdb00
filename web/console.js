// Console: any command, with its syntax as one types. Commands that change something ask once a
// visit.

import {h, fill} from './dom.js';
import * as api from './api.js';
import {record, duration} from './format.js';
import {confirm} from './dialog.js';
import {commandLine} from './command.js';
import {tryRead} from './json.js';
import {valueTree} from './valuetree.js';
import {splitWords, syntaxOf} from './syntax.js';

const LINES = 100; // answers that are kept on the screen
const TREE_ROWS = 200;

let commands = null; // name -> {summary, arguments, flags}
let mayWrite = false; // was asked in this visit
const history = [];
const log = h('div', {class: 'console-log', role: 'log', 'aria-label': 'Answers'});

// The next user who signs in sees nothing of what was asked before, and is asked again.
api.on('user', () => {
    fill(log);
    history.length = 0;
    mayWrite = false;
    commands = null;
});

export function render(view) {
    new Console(view);
}

class Console {
    constructor(view) {
        this.view = view;
        this.at = history.length;
        this.syntax = h('div', {class: 'syntax', id: 'c-syntax', 'aria-live': 'polite'});
        this.choices = h('div', {class: 'choices'});
        this.input = h('input', {
            class: 'mono wide',
            spellcheck: false,
            autocomplete: 'off',
            'data-search': true,
            'aria-label': 'Command',
            'aria-describedby': 'c-syntax',
            placeholder: 'KV.GET \'["users",1]\'',
            oninput: () => this.look(),
            onkeydown: e => this.key(e),
        });
        this.line = commandLine(() => {
            const words = splitWords(this.input.value);
            return words.length === 0 ? null : words;
        });
        const empty = h(
            'p',
            {class: 'empty', hidden: log.childElementCount > 0},
            'Answers would be here. Begin to type a command; its syntax is shown as you go. ',
            'Keys and values stand in single quotes. Tab completes, arrows bring back.',
        );
        this.empty = empty;
        fill(
            view.el,
            h(
                'div',
                {class: 'head'},
                h('h1', {}, 'Console'),
                h('span', {class: 'spring'}),
                h(
                    'button',
                    {
                        class: 'small',
                        onclick: () => {
                            fill(log);
                            empty.hidden = false;
                        },
                    },
                    'Clear',
                ),
            ),
            empty,
            log,
            h(
                'form',
                {
                    class: 'console-input',
                    onsubmit: e => {
                        e.preventDefault();
                        this.run();
                    },
                },
                this.input,
                this.choices,
                this.syntax,
                this.line.el,
            ),
        );
        this.learn().then(() => this.look());
        this.input.focus();
    }

    async learn() {
        if (commands !== null) return;
        try {
            const [docs, table] = await api.pipeline([['COMMAND', 'DOCS'], ['COMMAND']], {db: '0'});
            if (docs.error !== undefined) return;
            const found = new Map();
            readDocs(docs.result, found);
            readFlags(table.result || [], found);
            commands = found;
        } catch {
            // Without the documentation the console works, with no help.
        }
    }

    /* The command that the words begin with: two words for those with subcommands. */
    known(words) {
        if (commands === null || words.length === 0) return null;
        const one = words[0].toLowerCase();
        return (
            (words.length > 1 && commands.get(`${one}|${words[1].toLowerCase()}`)) ||
            commands.get(one) ||
            null
        );
    }

    look() {
        this.line.update();
        const text = this.input.value;
        const words = splitWords(text);
        const command = this.known(words);
        const start = text.trimStart().toLowerCase();
        const fits =
            commands === null || start === ''
                ? []
                : [...commands.keys()]
                      .map(n => n.replace('|', ' '))
                      .filter(n => n.startsWith(start) && n !== start)
                      .slice(0, 8);
        this.fits = fits;
        fill(
            this.choices,
            fits.map(n =>
                h(
                    'button',
                    {
                        type: 'button',
                        class: 'small quiet mono',
                        tabIndex: -1,
                        onclick: () => this.complete(n),
                    },
                    n.toUpperCase(),
                ),
            ),
        );
        if (command === null) return fill(this.syntax, '');
        return fill(
            this.syntax,
            syntaxOf(command, words.length - (/\s$/.test(text) ? 0 : 1)),
            h('div', {}, command.summary),
        );
    }

    complete(name) {
        this.input.value = `${name.toUpperCase()} `;
        this.input.focus();
        this.look();
    }

    key(e) {
        if (e.key === 'Tab' && !e.shiftKey && this.fits && this.fits.length > 0) {
            e.preventDefault();
            this.complete(this.fits[0]);
        } else if (e.key === 'ArrowUp' && this.at > 0) {
            e.preventDefault();
            this.recall(this.at - 1);
        } else if (e.key === 'ArrowDown' && this.at < history.length) {
            e.preventDefault();
            this.recall(this.at + 1);
        }
    }

    recall(at) {
        this.at = at;
        this.input.value = at === history.length ? '' : history[at];
        this.look();
    }

    async run() {
        const text = this.input.value.trim();
        const words = splitWords(text);
        if (words.length === 0) return;
        if (!(await this.allowed(words))) return;
        history.push(text);
        if (history.length > 500) history.shift();
        this.at = history.length;
        this.input.value = '';
        this.look();
        await this.ask(text, words);
    }

    /* What is not known to read only might write. */
    async allowed(words) {
        const command = this.known(words);
        const reads =
            command !== null &&
            !command.flags.includes('write') &&
            !command.flags.includes('admin');
        if (mayWrite || reads) return true;
        mayWrite = await confirm(
            'This may change something',
            'Commands that write or administer run at once, from now on ' +
                'in this visit. There is no way back from what they do.',
            {yes: 'Run it', danger: true, command: commandLine(() => words).el},
        );
        this.input.focus();
        return mayWrite;
    }

    async ask(text, words) {
        this.empty.hidden = true;
        const begin = performance.now();
        let answer,
            isBad = false;
        try {
            answer = await api.call(words);
        } catch (e) {
            answer = e.message;
            isBad = true;
        }
        const took = duration(performance.now() - begin);
        log.append(
            h('div', {class: 'asked'}, text, h('span', {class: 'dim'}, `   ${took}`)),
            h('div', {class: `reply ${isBad ? 'bad' : ''}`}, isBad ? answer : replyTree(answer)),
        );
        while (log.childElementCount > 2 * LINES) log.firstChild.remove();
        this.input.scrollIntoView({block: 'nearest'});
    }
}

function readDocs(flat, found) {
    for (const [name, fields] of Object.entries(record(flat))) {
        const doc = record(fields);
        found.set(name, {
            name: name.replace('|', ' '),
            summary: doc.summary || '',
            arguments: doc.arguments || [],
            flags: [],
        });
        if (doc.subcommands) readDocs(doc.subcommands, found);
    }
}

function readFlags(table, found) {
    for (const c of table) {
        const command = found.get(c[0]);
        if (command !== undefined) command.flags = c[2];
        readFlags(c[9] || [], found);
    }
}

/* An answer as a tree: arrays as numbered lists, JSON as values. */
export function replyTree(answer) {
    if (answer === null) return h('span', {class: 'dim'}, '(nil)');
    if (typeof answer === 'number') return h('span', {class: 'v-number'}, String(answer));
    if (Array.isArray(answer)) return arrayTree(answer, 0);
    const node = /^[[{]/.test(answer) ? tryRead(answer) : null;
    if (node !== null) return valueTree(node, {depth: 2});
    return h('span', {}, answer);
}

function arrayTree(items, from) {
    if (items.length === 0) return h('span', {class: 'dim'}, '(empty)');
    const list = h(
        'ol',
        {start: from + 1},
        items.slice(0, TREE_ROWS).map(a => h('li', {}, replyTree(a))),
    );
    if (items.length <= TREE_ROWS) return list;
    const more = h(
        'button',
        {
            type: 'button',
            class: 'small quiet',
            onclick: () => more.replaceWith(arrayTree(items.slice(TREE_ROWS), from + TREE_ROWS)),
        },
        `${items.length - TREE_ROWS} more`,
    );
    return h('div', {}, list, more);
}
