// Two texts side by side, line by line.

import {h} from './dom.js';

const LINES_MAX = 2000; // beyond this, lines are compared only where both texts begin and end alike

/* Rows [left line or null, right line or null, is the same] of a longest common subsequence. */
export function diffLines(a, b) {
    let start = 0;
    while (start < a.length && start < b.length && a[start] === b[start]) start++;
    let end = 0;
    while (
        end < a.length - start &&
        end < b.length - start &&
        a[a.length - 1 - end] === b[b.length - 1 - end]
    )
        end++;
    const rows = a.slice(0, start).map(l => [l, l, true]);
    rows.push(...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)));
    rows.push(...a.slice(a.length - end).map(l => [l, l, true]));
    return rows;
}

function middle(a, b) {
    if (a.length * b.length > LINES_MAX * LINES_MAX) return pair(a, b);
    const width = b.length + 1;
    const best = new Uint32Array((a.length + 1) * width);
    for (let i = a.length - 1; i >= 0; i--) {
        for (let j = b.length - 1; j >= 0; j--) {
            best[i * width + j] =
                a[i] === b[j]
                    ? best[(i + 1) * width + j + 1] + 1
                    : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
        }
    }
    const rows = [];
    let i = 0,
        j = 0,
        left = [],
        right = [];
    const flush = () => {
        rows.push(...pair(left, right));
        left = [];
        right = [];
    };
    while (i < a.length || j < b.length) {
        if (i < a.length && j < b.length && a[i] === b[j]) {
            flush();
            rows.push([a[i++], b[j++], true]);
        } else if (
            j >= b.length ||
            (i < a.length && best[(i + 1) * width + j] >= best[i * width + j + 1])
        )
            left.push(a[i++]);
        else right.push(b[j++]);
    }
    flush();
    return rows;
}

function pair(left, right) {
    const n = Math.max(left.length, right.length);
    return Array.from({length: n}, (_, i) => [left[i] ?? null, right[i] ?? null, false]);
}

/* A table of two texts; what differs is marked by colour and by a sign. */
export function sideBySide(leftTitle, left, rightTitle, right) {
    const rows = diffLines(left.split('\n'), right.split('\n'));
    const cell = (line, same, sign, cls) => [
        h('td', {class: 'sign'}, same || line === null ? '' : sign),
        h('td', {class: same || line === null ? '' : cls}, line === null ? '' : line),
    ];
    return h(
        'div',
        {
            class: 'scroll-x',
            tabIndex: 0,
            role: 'region',
            'aria-label': `${leftTitle} and ${rightTitle}`,
        },
        h(
            'table',
            {class: 'diff mono'},
            h(
                'colgroup',
                {},
                ['sign', '', 'sign', ''].map(c => h('col', {class: c})),
            ),
            h(
                'thead',
                {},
                h(
                    'tr',
                    {},
                    h('th', {colspan: 2, scope: 'col'}, leftTitle),
                    h('th', {colspan: 2, scope: 'col'}, rightTitle),
                ),
            ),
            h(
                'tbody',
                {},
                rows.map(([l, r, same]) =>
                    h('tr', {}, ...cell(l, same, '−', 'mine'), ...cell(r, same, '+', 'theirs')),
                ),
            ),
        ),
    );
}
