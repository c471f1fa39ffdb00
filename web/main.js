// The shell: rail, top bar, sign-in, and which screen is shown.

import {h, fill, icon, setText} from './dom.js';
import * as api from './api.js';
import {route, go, address} from './router.js';
import {startShortcuts, setShortcuts, showHelp} from './shortcuts.js';
import {toast, errorBox, endDialogs} from './dialog.js';
import {guessKey, keyText} from './keys.js';
import {startSampling} from './samples.js';

const SCREENS = [
    ['overview', 'Overview', ['INFO']],
    ['entries', 'Entries', null],
    ['queues', 'Queues', ['KV.QUEUE', 'LIST']],
    ['indexes', 'Indexes', ['KV.INDEX', 'LIST']],
    ['feed', 'Feed', null],
    ['atomic', 'Atomic', null],
    ['console', 'Console', null],
    ['clients', 'Clients', ['CLIENT', 'LIST']],
    ['databases', 'Databases', ['KV.DB', 'LIST']],
    ['users', 'Users', ['ACL', 'LIST']],
];
const LETTERS = {
    overview: 'o',
    entries: 'e',
    queues: 'q',
    indexes: 's',
    feed: 'f',
    atomic: 'a',
    console: 'c',
    clients: 'l',
    databases: 'd',
    users: 'u',
};

const top = document.getElementById('top');
const rail = document.getElementById('rail');
const content = document.getElementById('content');

// --- the screen that is shown ---

let shown = null; // {screen, db, controller, update, isMissing, answers}
// isMissing: nothing in it was answered, as the server was not reached; answers: how many there were when it opened

const LOAD_AGAIN_MS = 2000;

class View {
    constructor(el, controller) {
        this.el = el;
        this.signal = controller.signal;
    }

    /* Runs f now and again so many milliseconds after it ended, until the screen is left. A tab
     * that is hidden does not ask. */
    every(ms, f) {
        const turn = async () => {
            if (this.signal.aborted) return;
            if (!document.hidden) await f();
            if (!this.signal.aborted) this.timer(turn, ms);
        };
        turn();
    }

    timer(f, ms) {
        const id = setTimeout(f, ms);
        this.signal.addEventListener('abort', () => clearTimeout(id), {once: true});
    }

    leave(f) {
        this.signal.addEventListener('abort', f, {once: true});
    }

    keys(keys) {
        setShortcuts(keys);
    }
}

async function showRoute() {
    endDialogs();
    if (!api.isSignedIn()) return;
    const {screen, params} = route();
    const db = params.get('db') || '0';
    api.setDatabase(db);
    lookRail(screen, db);
    if (shown !== null && shown.screen === screen && shown.db === db && shown.update) {
        shown.update(params);
        return;
    }
    leaveScreen();
    const known = SCREENS.find(s => s[0] === screen);
    document.title = known === undefined ? 'tupled' : `${known[1]} – tupled`;
    const controller = new AbortController();
    const here = (shown = {screen, db, controller, update: null, isMissing: !api.isReached(), answers: api.answerCount()});
    const el = h('div', {class: `screen screen-${screen}`});
    try {
        if (known === undefined) throw new Error(`Unknown screen ${screen}.`);
        const module = await load(screen, () => shown === here);
        if (shown !== here) return;
        if (!api.isReached()) here.isMissing = true;
        here.answers = api.answerCount();
        fill(content, el);
        here.update = module.render(new View(el, controller), params) || null;
    } catch (e) {
        if (shown === here) fill(content, h('div', {class: 'error-box', role: 'alert'}, e.message));
    }
}

/* The module of a screen; while the server does not give it, that is told, and it is asked again. A browser may
 * remember that a file could not be had: another name makes it ask. */
async function load(screen, isWanted) {
    for (let tries = 0; ; tries++) {
        try {
            return await import(`./${screen}.js${tries === 0 ? '' : `?${tries}`}`);
        } catch (e) {
            if (!(e instanceof TypeError)) throw e;
            if (!isWanted()) return null;
            fill(
                content,
                h(
                    'div',
                    {class: 'error-box', role: 'alert'},
                    'This screen cannot be loaded: the server cannot be reached. It is asked again every ' +
                        'few seconds.',
                ),
            );
            await new Promise(ok => setTimeout(ok, LOAD_AGAIN_MS));
            if (!isWanted()) return null;
        }
    }
}

function leaveScreen() {
    endDialogs();
    if (shown !== null) shown.controller.abort();
    shown = null;
    setShortcuts({});
}

// --- rail ---

function buildRail() {
    fill(
        rail,
        h(
            'ul',
            {},
            SCREENS.map(([id, name, needs]) => {
                const a = h(
                    'a',
                    {href: address(id), data: {screen: id}, title: `${name} (g ${LETTERS[id]})`},
                    icon(id),
                    h('span', {}, name),
                );
                if (needs !== null)
                    api.missing(needs).then(text => {
                        if (text === '') return;
                        a.classList.add('not-allowed');
                        a.title = `${name}: ${text}`;
                    });
                return h('li', {}, a);
            }),
        ),
    );
}

function lookRail(screen, db) {
    for (const a of rail.querySelectorAll('a')) {
        a.href = address(a.dataset.screen, {}, db === '0' ? null : db);
        if (a.dataset.screen === screen) a.setAttribute('aria-current', 'page');
        else a.removeAttribute('aria-current');
    }
}

// --- top bar ---

const picker = h('select', {
    'aria-label': 'Database',
    onchange: () => {
        const {screen} = route();
        go(screen, {}, picker.value === '0' ? null : picker.value);
    },
});
const goInput = h('input', {
    id: 'goto',
    class: 'mono',
    type: 'search',
    autocomplete: 'off',
    spellcheck: false,
    placeholder: 'Go to key   /',
    'aria-label': 'Go to key',
    'aria-describedby': 'goto-hint',
});
const goHint = h('span', {id: 'goto-hint', class: 'goto-hint', 'aria-live': 'polite'});
const reachState = h('span', {class: 'reach', role: 'status'});

function lookGoto() {
    const text = goInput.value.trim();
    goHint.classList.remove('bad');
    if (text === '') return setText(goHint, '');
    try {
        const guess = guessKey(text);
        setText(goHint, `${guess.as}: ${keyText(guess.parts)}`);
    } catch (e) {
        goHint.classList.add('bad');
        setText(goHint, e.message);
    }
}

async function goTo(e) {
    e.preventDefault();
    let parts;
    try {
        parts = guessKey(goInput.value).parts;
    } catch (error) {
        return toast(error.message, 'bad');
    }
    goInput.blur();
    const key = keyText(parts);
    let isThere = false;
    try {
        isThere = parts.length > 0 && (await api.call(['KV.EXISTS', key])) === 1;
    } catch (error) {
        toast(error.message, 'bad');
    }
    goInput.value = '';
    lookGoto();
    go('entries', isThere ? {k: key, p: keyText(parts.slice(0, -1))} : {p: key});
}

async function fillPicker() {
    const now = route().params.get('db') || '0';
    /** @type {[number, string][]} */
    let names = [[0, '0']];
    try {
        names = await api.call(['KV.DB', 'LIST'], {db: '0'});
    } catch {
        // A user who may not list them is told so on their screen; the picker has what is in use.
    }
    const ids = names.map(([n, name]) => (n === 0 ? ['0', name] : [String(name), name]));
    if (!ids.some(([id]) => id === now)) ids.push([now, now]);
    fill(
        picker,
        ids.map(([id, name]) =>
            h('option', {value: id}, /^\d+$/.test(name) ? `database ${name}` : name),
        ),
    );
    picker.value = now;
}
picker.addEventListener('focus', fillPicker);

const THEMES = {auto: 'as the system', light: 'light', dark: 'dark'};

function themeButton() {
    const button = h('button', {class: 'quiet icon-button'});
    const look = () => {
        const theme = document.documentElement.dataset.theme;
        fill(button, icon({auto: 'auto', light: 'sun', dark: 'moon'}[theme]));
        button.title = `Colours: ${THEMES[theme]}`;
        button.setAttribute('aria-label', `Colours: ${THEMES[theme]}. Change`);
    };
    button.addEventListener('click', () => {
        const names = Object.keys(THEMES);
        const next = names[(names.indexOf(document.documentElement.dataset.theme) + 1) % 3];
        document.documentElement.dataset.theme = next;
        try {
            localStorage.setItem('theme', next);
        } catch {
            // The choice is good for this visit.
        }
        look();
        dispatchEvent(new Event('themechange'));
    });
    look();
    return button;
}

function buildTop() {
    const who = h(
        'button',
        {class: 'quiet who', title: 'Sign out, or sign in as another user', onclick: () => api.signOut()},
        icon('users'),
        h('span', {}, api.currentUser()),
    );
    fill(
        top,
        h(
            'a',
            {class: 'brand', href: address('overview'), 'aria-label': 'tupled, overview'},
            h('img', {src: 'icon.svg', alt: '', width: 20, height: 20}),
            h('span', {}, 'tupled'),
        ),
        picker,
        h('form', {class: 'goto', role: 'search', onsubmit: goTo}, goInput, goHint),
        reachState,
        h(
            'button',
            {
                class: 'quiet icon-button',
                title: 'Keys (?)',
                'aria-label': 'Keys',
                onclick: showHelp,
            },
            '?',
        ),
        themeButton(),
        who,
    );
}
goInput.addEventListener('input', lookGoto);

// --- sign-in ---

function showSignIn(why = '') {
    leaveScreen();
    document.body.classList.add('signed-out');
    const box = errorBox();
    const name = h('input', {
        name: 'user',
        autocomplete: 'username',
        value: 'default',
        id: 'si-user',
    });
    const password = h('input', {
        name: 'password',
        type: 'password',
        id: 'si-password',
        autocomplete: 'current-password',
    });
    const button = h('button', {class: 'primary', type: 'submit'}, 'Sign in');
    const form = h(
        'form',
        {
            class: 'sign-in',
            onsubmit: async e => {
                e.preventDefault();
                box.clear();
                button.disabled = true;
                try {
                    await api.signIn(name.value, password.value);
                } catch (error) {
                    button.disabled = false;
                    box.show(signInError(error));
                    password.select();
                }
            },
        },
        h('h1', {}, 'tupled'),
        h('label', {for: 'si-user'}, 'User'),
        name,
        h('label', {for: 'si-password'}, 'Password'),
        password,
        box.el,
        button,
        h('p', {class: 'dim'}, "Kept in this tab's memory only: a reload asks again."),
    );
    if (why !== '') box.show(why);
    fill(top);
    fill(rail);
    fill(content, form);
    password.focus();
}

function signInError(e) {
    if (e.code === 'WRONGPASS') return 'Wrong user or password.';
    if (e.code === 'LOST') return 'The server cannot be reached.';
    return e.message;
}

// --- start ---

async function start() {
    try {
        await api.signIn(null);
    } catch (e) {
        const isAsked = e.code === 'NOAUTH' || e.code === 'WRONGPASS';
        showSignIn(isAsked ? '' : signInError(e));
    }
}

/* What was opened without a server, or shows that it could not ask, has nothing in it that could be lost. A form
 * that says so has: it stays. */
function openAgain() {
    const isTold = [...content.querySelectorAll('.error-box, [role=status]')].some(
        el =>
            el.checkVisibility() &&
            el.textContent.includes(api.LOST) &&
            el.closest('form, .editor') === null,
    );
    if (shown === null || !api.isReached() || !(shown.isMissing || isTold)) return;
    leaveScreen();
    showRoute();
}

// On every screen: what it shows may be nothing at all.
const lostBar = h(
    'div',
    {class: 'error-box lost-bar', role: 'alert', hidden: true},
    'The server cannot be reached: what is shown is old, or missing. It is asked again every few seconds.',
);
content.before(lostBar);

api.on('user', () => {
    document.body.classList.remove('signed-out');
    buildTop();
    buildRail();
    fillPicker();
    startSampling();
    leaveScreen();
    showRoute();
});
api.on('signin', () => showSignIn());
api.on('reach', ok => {
    document.body.classList.toggle('lost', !ok);
    setText(reachState, ok ? '' : 'Server not reached; what you see is old');
    lostBar.hidden = ok;
    if (!ok && shown !== null && shown.answers === api.answerCount()) {
        shown.isMissing = true;
    }
    if (!ok) return;
    toast('The server is available again.');
    setTimeout(openAgain, 100);
});
addEventListener('hashchange', () => {
    showRoute();
    const db = route().params.get('db') || '0';
    if (picker.value !== db) fillPicker();
});
startShortcuts(
    screen => go(screen),
    () => {
        const own = content.querySelector('[data-search]');
        (own || goInput).focus();
    },
);
document.querySelector('.skip').addEventListener('click', e => {
    e.preventDefault();
    content.focus();
});
start();
