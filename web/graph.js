// Graphs of the last 15 minutes: thin lines, faint gridlines, gaps where nothing was asked, the
// same time axis for all. The last value stands in the legend.

import {h, setText} from './dom.js';
import {KEPT_MS} from './samples.js';

const GAP_MS = 9000; // samples further apart are not joined
const LEFT = 52,
    BOTTOM = 18,
    TOP = 6;

/* A graph of `series` [{name, key}] of samples; `format` writes a value. One with isText is of
 * another unit: it stands in the legend only. One with hasOwnScale has its scale at the right. */
export function graph(title, series, format) {
    const values = series.map(() => h('b', {}, '–'));
    const legend = h(
        'div',
        {class: 'legend'},
        series.map((s, i) =>
            h(
                'span',
                {},
                s.isText ? null : h('span', {class: `swatch s${i}`}),
                `${s.name} `,
                values[i],
            ),
        ),
    );
    const canvas = h('canvas', {role: 'img', 'aria-label': title});
    const el = h(
        'section',
        {class: 'graph'},
        h('div', {class: 'graph-head'}, h('h2', {}, title), legend),
        canvas,
    );
    return {
        el,
        draw(samples) {
            const last = samples.length === 0 ? null : samples[samples.length - 1];
            series.forEach((s, i) => {
                const v = last === null ? null : last[s.key];
                setText(values[i], v === null || v === undefined ? '–' : (s.format || format)(v));
            });
            canvas.setAttribute('aria-label', `${title}: ${legend.textContent}`);
            draw(
                canvas,
                samples,
                series.filter(s => !s.isText),
                format,
            );
        },
    };
}

function draw(canvas, samples, series, format) {
    const ratio = devicePixelRatio || 1;
    const width = canvas.clientWidth,
        height = canvas.clientHeight;
    if (width === 0) return;
    if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
    if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
    const c = canvas.getContext('2d');
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, height);
    const style = getComputedStyle(document.documentElement);
    const colour = name => style.getPropertyValue(name).trim();
    const own = series.find(s => s.hasOwnScale);
    const box = {x: LEFT, y: TOP, w: width - LEFT - (own ? LEFT : 4), h: height - TOP - BOTTOM};
    const top = scaleTop(
        samples,
        series.filter(s => s !== own),
    );
    const ownTop = own ? scaleTop(samples, [own]) : 0;
    const now = Date.now();
    grid(c, box, top, format, colour);
    if (own) rightScale(c, box, ownTop, own.format, colour('--second'));
    const colours = [colour('--accent'), colour('--second'), colour('--amber-fill')];
    series.forEach((s, i) => {
        c.strokeStyle = colours[i];
        c.setLineDash(i === 2 ? [4, 3] : []);
        line(c, box, s === own ? ownTop : top, samples, s.key, now);
    });
    c.setLineDash([]);
}

/* The smallest of 1, 2, 5 times a power of ten that is not below any value. */
function scaleTop(samples, series) {
    let max = 0;
    for (const s of samples) for (const {key} of series) max = Math.max(max, s[key] || 0);
    if (max === 0) return 1;
    const power = 10 ** Math.floor(Math.log10(max));
    return [1, 2, 5, 10].map(m => m * power).find(v => v >= max);
}

function grid(c, box, top, format, colour) {
    c.font = '11px system-ui, sans-serif';
    c.lineWidth = 1;
    c.strokeStyle = colour('--line');
    c.fillStyle = colour('--dim');
    c.textBaseline = 'middle';
    c.textAlign = 'right';
    for (const part of [0, 0.5, 1]) {
        const y = Math.round(box.y + box.h * (1 - part)) + 0.5;
        c.beginPath();
        c.moveTo(box.x, y);
        c.lineTo(box.x + box.w, y);
        c.stroke();
        c.fillText(format(top * part), box.x - 6, y);
    }
    c.textBaseline = 'alphabetic';
    for (const minutes of [15, 10, 5, 0]) {
        const x = box.x + box.w * (1 - minutes / 15);
        c.textAlign = minutes === 15 ? 'left' : minutes === 0 ? 'right' : 'center';
        c.fillText(minutes === 0 ? 'now' : `−${minutes} min`, x, box.y + box.h + 14);
    }
}

function rightScale(c, box, top, format, colour) {
    c.fillStyle = colour;
    c.textBaseline = 'middle';
    c.textAlign = 'left';
    for (const part of [0, 0.5, 1]) {
        c.fillText(format(top * part), box.x + box.w + 6, box.y + box.h * (1 - part));
    }
    c.textBaseline = 'alphabetic';
}

function line(c, box, top, samples, key, now) {
    c.lineWidth = 1.25;
    c.lineJoin = 'round';
    c.beginPath();
    let last = null;
    for (const s of samples) {
        const v = s[key];
        if (v === null || v === undefined) {
            last = null;
            continue;
        }
        const x = box.x + box.w * (1 - (now - s.at) / KEPT_MS);
        const y = box.y + box.h * (1 - v / top);
        if (last === null || s.at - last > GAP_MS) {
            c.moveTo(x - 1, y); // a point alone is a dot
            c.lineTo(x, y);
        } else c.lineTo(x, y);
        last = s.at;
    }
    c.stroke();
}
