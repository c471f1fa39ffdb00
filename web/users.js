// Users: who may do what, and what was refused.

import {h, fill, setText} from './dom.js';
import * as api from './api.js';
import {number, record, dateTime, duration} from './format.js';
import {freshness} from './fresh.js';
import {commandLine, guard} from './command.js';
import {listKeys} from './shortcuts.js';
import {confirmTyped, dialog, errorBox, toast} from './dialog.js';
import {splitWords} from './syntax.js';

export function render(view) {
    const screen = new Users(view);
    view.every(5000, () => screen.ask());
}

class Users {
    constructor(view) {
        this.view = view;
        this.fresh = freshness(5000);
        this.error = errorBox();
        this.place = h('span', {role: 'status'});
        this.body = h('tbody');
        this.log = h('tbody');
        const create = guard(
            h('button', {class: 'primary small', onclick: () => this.edit(null)}, 'New user'),
            () => ['ACL', 'SETUSER', 'x'],
        );
        const save = guard(
            h(
                'button',
                {
                    class: 'small',
                    onclick: () => this.run(['ACL', 'SAVE'], 'Written to the aclfile.'),
                },
                'Save to the ACL file',
            ),
            () => ['ACL', 'SAVE'],
        );
        const forget = guard(
            h(
                'button',
                {class: 'small', onclick: () => this.run(['ACL', 'LOG', 'RESET'], 'Forgotten.')},
                'Forget these',
            ),
            () => ['ACL', 'LOG', 'RESET'],
        );
        fill(
            view.el,
            h(
                'div',
                {class: 'head'},
                h('h1', {}, 'Users'),
                this.place,
                h('span', {class: 'spring'}),
                save,
                create,
                this.fresh.el,
            ),
            this.error.el,
            h(
                'div',
                {class: 'panel'},
                h(
                    'div',
                    {
                        class: 'scroll-x',
                        tabIndex: 0,
                        role: 'region',
                        'aria-label': 'Table of users',
                    },
                    h(
                        'table',
                        {},
                        h(
                            'thead',
                            {},
                            h(
                                'tr',
                                {},
                                ['User', 'State', 'Rules', 'Change'].map(t =>
                                    h('th', {scope: 'col'}, t),
                                ),
                            ),
                        ),
                        this.body,
                    ),
                ),
                commandLine(() => ['ACL', 'LIST']).el,
            ),
            dryRun(),
            h(
                'section',
                {class: 'panel'},
                h('div', {class: 'table-head'}, h('h2', {}, 'What was refused'), forget),
                h(
                    'div',
                    {
                        class: 'scroll-x',
                        tabIndex: 0,
                        role: 'region',
                        'aria-label': 'Table of refusals',
                    },
                    h(
                        'table',
                        {},
                        h(
                            'thead',
                            {},
                            h(
                                'tr',
                                {},
                                ['When', 'User', 'Why', 'What', 'Times'].map(t =>
                                    h('th', {scope: 'col'}, t),
                                ),
                            ),
                        ),
                        this.log,
                    ),
                ),
                commandLine(() => ['ACL', 'LOG', '30']).el,
            ),
        );
        this.keys = listKeys(
            () => [...this.body.children],
            el => el.querySelector('button')?.click(),
        );
        view.keys({
            ...this.keys.keys,
            n: [
                () => {
                    this.edit(null);
                },
                'new user',
            ],
        });
    }

    async ask() {
        try {
            const [list, log] = await api.pipeline(
                [
                    ['ACL', 'LIST'],
                    ['ACL', 'LOG', '30'],
                ],
                {signal: this.view.signal},
            );
            if (list.error !== undefined) throw new Error(list.error);
            this.fresh.done();
            this.error.clear();
            const users = list.result.map(readUser);
            setText(this.place, number(users.length));
            const text = JSON.stringify(users);
            if (text !== this.drawn)
                fill(
                    this.body,
                    users.map(u => this.row(u)),
                );
            this.drawn = text;
            this.drawLog(log);
        } catch (e) {
            if (e.name === 'AbortError') return;
            this.error.show(e);
            this.fresh.failed();
        }
    }

    row(u) {
        const state = u.isOn
            ? h(
                  'span',
                  {class: `badge ${u.hasNoPassword ? 'wait' : 'on'}`},
                  u.hasNoPassword ? 'on, no password' : 'on',
              )
            : h('span', {class: 'badge'}, 'off');
        const remove =
            u.name === 'default'
                ? null
                : guard(
                      h(
                          'button',
                          {
                              class: 'small danger-quiet',
                              'aria-label': `Delete ${u.name}`,
                              onclick: () => this.remove(u),
                          },
                          'Delete…',
                      ),
                      () => ['ACL', 'DELUSER', u.name],
                  );
        const edit = guard(
            h(
                'button',
                {class: 'small', 'aria-label': `Edit ${u.name}`, onclick: () => this.edit(u)},
                'Edit',
            ),
            () => ['ACL', 'SETUSER', u.name],
        );
        return h(
            'tr',
            {},
            h('td', {class: 'mono'}, u.name),
            h('td', {}, state),
            h('td', {class: 'mono break'}, u.rules.join(' ')),
            h('td', {}, h('div', {class: 'row'}, edit, remove)),
        );
    }

    drawLog({result, error}) {
        fill(
            this.log,
            error !== undefined || result.length === 0
                ? h(
                      'tr',
                      {},
                      h(
                          'td',
                          {colspan: 5, class: 'dim'},
                          error ||
                              'Commands that were refused, and logins that failed, would be here.',
                      ),
                  )
                : result.map(r => {
                      const e = record(r);
                      const ms = Number(e['age-seconds']) * 1000;
                      return h(
                          'tr',
                          {},
                          h(
                              'td',
                              {class: 'num', title: dateTime(Date.now() - ms)},
                              `${duration(Math.max(1000, ms))} ago`,
                          ),
                          h('td', {class: 'mono'}, e.username),
                          h('td', {}, e.reason),
                          h('td', {class: 'mono break'}, e.object),
                          h('td', {class: 'num'}, number(e.count)),
                      );
                  }),
        );
    }

    async run(words, done) {
        try {
            await api.call(words);
            toast(done, 'good');
        } catch (e) {
            toast(e.message, 'bad');
        }
        this.ask();
    }

    async edit(u) {
        const words = await dialog(
            u === null ? 'New user' : `Change ${u.name}`,
            close => userForm(u, close),
            {class: 'wide'},
        );
        if (words !== undefined)
            this.run(words, u === null ? 'Created.' : 'Changed; it applies at once.');
    }

    async remove(u) {
        const words = ['ACL', 'DELUSER', u.name];
        const ok = await confirmTyped(
            `Delete ${u.name}`,
            h('p', {}, 'Clients that are signed in as this user are disconnected.'),
            u.name,
            'Delete',
            commandLine(() => words).el,
        );
        if (ok) this.run(words, 'Deleted.');
    }
}

/* "user ann on #hash ~a/* +@read": passwords are told as their SHA-256, which is not shown.
 */
function readUser(line) {
    const [, name, ...rules] = line.split(' ');
    return {
        name,
        isOn: rules.includes('on'),
        hasNoPassword: rules.includes('nopass'),
        rules: rules.filter(
            r =>
                !['on', 'off', 'nopass'].includes(r) &&
                !r.startsWith('#') &&
                !r.startsWith('incarnation='),
        ),
    };
}

const EXAMPLES = [
    ['reads everything', '~* &* +@read -@dangerous'],
    ['works on users/ and its queue', '~users/* ~!queue/mail &kv:* +@all -@dangerous'],
    ['watches the server', '+info +slowlog|get +client|list +latency +config|get +ping'],
    ['may do everything', '~* &* +@all'],
];

function userForm(u, close) {
    const error = errorBox();
    const name = h('input', {
        class: 'mono wide',
        id: 'u-name',
        required: true,
        oninput: () => line.update(),
    });
    const password = h('input', {
        class: 'mono wide',
        id: 'u-pass',
        type: 'text',
        autocomplete: 'off',
        placeholder: u === null ? '' : 'as it is',
        oninput: () => line.update(),
    });
    const rules = h('textarea', {
        class: 'mono',
        rows: 4,
        spellcheck: false,
        id: 'u-rules',
        value: u === null ? '~* &* +@read -@dangerous' : u.rules.join(' '),
        oninput: () => line.update(),
    });
    const isOn = h('input', {
        type: 'checkbox',
        checked: u === null || u.isOn,
        onchange: () => line.update(),
    });
    const words = (secret = password.value) => [
        'ACL',
        'SETUSER',
        u === null ? name.value || 'name' : u.name,
        isOn.checked ? 'on' : 'off',
        ...(secret === '' ? [] : ['resetpass', `>${secret}`]),
        'resetkeys',
        'resetchannels',
        'alldbs',
        'clearselectors',
        '-@all',
        ...(rules.value.match(/\([^)]*\)|\S+/g) || []),
    ];
    const line = commandLine(() => words(password.value === '' ? '' : '<password>'));
    const generate = h(
        'button',
        {
            type: 'button',
            class: 'small',
            onclick: async () => {
                try {
                    password.value = await api.call(['ACL', 'GENPASS', '128']);
                    line.update();
                } catch (e) {
                    error.show(e);
                }
            },
        },
        'Make one',
    );
    return h(
        'form',
        {
            onsubmit: e => {
                e.preventDefault();
                close(words());
            },
        },
        u === null ? [h('label', {for: 'u-name'}, 'Name'), name] : null,
        h('label', {for: 'u-pass'}, 'Password'),
        h('div', {class: 'row'}, h('div', {class: 'grow'}, password), generate),
        h('p', {class: 'hint'}, 'Shown once, here. The server keeps its SHA-256.'),
        h('label', {class: 'inline'}, isOn, 'may sign in'),
        h(
            'label',
            {for: 'u-rules'},
            'Rules: keys ~users/*, channels &kv:*, commands +@read, databases db=shop',
        ),
        rules,
        h(
            'div',
            {class: 'row'},
            EXAMPLES.map(([text, value]) =>
                h(
                    'button',
                    {
                        type: 'button',
                        class: 'small quiet',
                        onclick: () => {
                            rules.value = value;
                            line.update();
                        },
                    },
                    text,
                ),
            ),
        ),
        error.el,
        line.el,
        h(
            'div',
            {class: 'actions'},
            h('button', {class: 'primary', type: 'submit'}, u === null ? 'Create' : 'Change'),
            h('button', {type: 'button', onclick: () => close()}, 'Cancel'),
        ),
    );
}

/* May a user run a command? Nothing is run. */
function dryRun() {
    const user = h('input', {
        class: 'mono',
        id: 'dr-user',
        value: api.currentUser(),
        oninput: () => line.update(),
    });
    const command = h('input', {
        class: 'mono wide',
        id: 'dr-words',
        spellcheck: false,
        placeholder: 'KV.GET ["users",1]',
        oninput: () => line.update(),
    });
    const answer = h('p', {role: 'status'});
    const words = () => ['ACL', 'DRYRUN', user.value, ...splitWords(command.value)];
    const line = commandLine(() => (words().length < 4 ? null : words()));
    return h(
        'details',
        {class: 'panel'},
        h('summary', {}, 'May a user run a command?'),
        h(
            'form',
            {
                onsubmit: async e => {
                    e.preventDefault();
                    try {
                        const text = await api.call(words());
                        setText(answer, text === 'OK' ? 'Yes.' : text);
                    } catch (failure) {
                        setText(answer, failure.message);
                    }
                },
            },
            h(
                'div',
                {class: 'row'},
                h('div', {}, h('label', {for: 'dr-user'}, 'User'), user),
                h('div', {class: 'grow'}, h('label', {for: 'dr-words'}, 'Command'), command),
            ),
            line.el,
            answer,
            h('div', {class: 'actions'}, h('button', {type: 'submit'}, 'Ask')),
        ),
    );
}
