// The line that shows which command a form will send: for redis-cli and for HTTP, ready to copy.

import {h, icon, fill, setText} from './dom.js';
import {endpoint, currentUser, currentDatabase, missing, on} from './api.js';
import {toast} from './dialog.js';

/* A word as a shell takes it. */
function quote(word) {
    const w = String(word);
    return /^[A-Za-z0-9_./:@%+,=-]+$/.test(w) ? w : `'${w.replaceAll("'", "'\\''")}'`;
}

const isBytes = word => typeof word === 'object';

/* A word as redis-cli reads it at its prompt, and with --quoted-input: bytes in escapes. */
function escaped(word) {
    if (!isBytes(word) && /^[A-Za-z0-9_./:@%+,=-]+$/.test(word)) return String(word);
    const data = isBytes(word)
        ? Array.from(atob(word.$bytes), c => c.charCodeAt(0))
        : [...new TextEncoder().encode(word)];
    const one = b => {
        const c = String.fromCharCode(b);
        if (c === '"' || c === '\\') return `\\${c}`;
        return b >= 32 && b < 127 ? c : `\\x${b.toString(16).padStart(2, '0')}`;
    };
    return `"${data.map(one).join('')}"`;
}

export function cliForm(words) {
    const db = currentDatabase();
    const select = db === '0' ? '' : ` -n ${quote(db)}`;
    if (!words.some(isBytes)) return `redis-cli${select} ${words.map(quote).join(' ')}`;
    return `redis-cli${select} --quoted-input ${words.map(w => quote(escaped(w))).join(' ')}`;
}

/* Several commands: one connection for all of them where one says how the others are read. */
function cliForms(commands, isTransaction) {
    const isView = commands[0][0] === 'CLIENT';
    if (!isTransaction && !isView) return commands.map(cliForm).join('\n');
    const all = isTransaction ? [['MULTI'], ...commands, ['EXEC']] : commands;
    const lines = all.map(c => c.map(escaped).join(' '));
    return `${cliForm([]).trim()} <<'END'\n${lines.join('\n')}\nEND`;
}

export function httpForm(commands, isTransaction = false) {
    const one = commands.length === 1;
    const isStream = one && commands[0][0] === 'SUBSCRIBE';
    const tail = one ? '' : isTransaction ? 'multi-exec' : 'pipeline';
    const name = currentUser();
    const sign = name === null || name === 'default' ? '' : `-u ${quote(name)} `;
    if (isStream)
        return `curl -N ${sign}${quote(endpoint(`subscribe/${encodeURIComponent(commands[0][1])}`))}`;
    return `curl ${sign}${quote(endpoint(tail))} -d ${quote(JSON.stringify(one ? commands[0] : commands))}`;
}

let shown = 'cli'; // which form people want to see; all lines follow

const lines = new Set();

/* A line for what `get()` returns: words, an array of such (a pipeline; a transaction when
 * `isTransaction`), or null for nothing. Call update() when it is another. */
export function commandLine(get, {isTransaction = false, label = 'Command'} = {}) {
    const code = h('code', {class: 'command-text', tabIndex: 0, 'aria-label': label});
    const which = h('button', {
        type: 'button',
        class: 'small quiet',
        title: 'Switch between redis-cli and HTTP',
        onclick: () => {
            shown = shown === 'cli' ? 'http' : 'cli';
            for (const l of lines) l.update();
        },
    });
    const copy = h(
        'button',
        {
            type: 'button',
            class: 'small quiet',
            title: 'Copy',
            'aria-label': 'Copy the command',
            onclick: () => copyText(code.textContent),
        },
        icon('copy', 14),
    );
    const el = h('div', {class: 'command-line'}, code, which, copy);
    const line = {
        el,
        update() {
            if (!el.isConnected && line.wasShown) lines.delete(line);
            line.wasShown = el.isConnected;
            let words;
            try {
                words = get();
            } catch {
                words = null;
            }
            el.hidden = words === null;
            if (words === null) return;
            const commands = Array.isArray(words[0]) ? words : [words];
            setText(
                code,
                shown === 'cli'
                    ? cliForms(commands, isTransaction)
                    : httpForm(commands, isTransaction),
            );
            fill(which, shown === 'cli' ? 'redis-cli' : 'HTTP');
            which.setAttribute(
                'aria-label',
                `Shown for ${shown === 'cli' ? 'redis-cli' : 'HTTP'}; change`,
            );
        },
    };
    lines.add(line);
    line.update();
    return line;
}

export async function copyText(text) {
    try {
        await navigator.clipboard.writeText(text);
        toast('Copied.');
    } catch {
        toast('The browser did not allow access to the clipboard.', 'bad');
    }
}

/* Shows a control disabled, with what is missing. */
export function deny(control, text) {
    control.disabled = true;
    control.classList.add('not-allowed');
    control.title = `Not allowed: ${text}`;
    control.setAttribute('aria-description', control.title);
}

/* Shows a control disabled, with what is missing, when the user may not run `words`. */
export function guard(control, words) {
    let off = () => {};
    const look = async () => {
        const text = await missing(words());
        if (text === '') return;
        off();
        deny(control, text);
    };
    off = on('refused', () => {
        if (control.isConnected) look();
        else off();
    });
    look();
    return control;
}
