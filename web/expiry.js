// A form for when something expires: an entry, or a field of a hash.

import {h} from './dom.js';
import {commandLine} from './command.js';
import {dialog} from './dialog.js';

const UNITS = {seconds: 1000, minutes: 60000, hours: 3600000, days: 86400000};

/* Resolves with milliseconds from now, null for never, undefined when it was cancelled. `commands(ms)`
 * is what the line shows. */
export function askExpiry(title, expires, commands) {
    return dialog(title, close => expiryForm(expires, commands, close));
}

function expiryForm(expires, commands, close) {
    const amount = h('input', {
        type: 'number',
        min: 1,
        value: 1,
        id: 'x-amount',
        oninput: () => line.update(),
    });
    const unit = h(
        'select',
        {'aria-label': 'Unit', onchange: () => line.update()},
        Object.keys(UNITS).map(u => h('option', {value: u, selected: u === 'hours'}, u)),
    );
    const ms = () => Math.round(Number(amount.value) * UNITS[unit.value]);
    const line = commandLine(() => commands(ms()));
    return h(
        'form',
        {
            onsubmit: e => {
                e.preventDefault();
                close(ms());
            },
        },
        h('label', {for: 'x-amount'}, 'From now'),
        h('div', {class: 'row'}, amount, unit),
        line.el,
        h(
            'div',
            {class: 'actions'},
            h('button', {class: 'primary', type: 'submit'}, 'Set'),
            h('button', {type: 'button', disabled: !expires, onclick: () => close(null)}, 'Never'),
            h('button', {type: 'button', onclick: () => close()}, 'Cancel'),
        ),
    );
}
