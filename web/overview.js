// Overview: is it healthy?

import {h, fill, setText} from './dom.js';
import * as api from './api.js';
import {allSamples, latest, onSample} from './samples.js';
import {graph} from './graph.js';
import {freshness} from './fresh.js';
import {address} from './router.js';
import {number, short, bytes, duration, record} from './format.js';
import {commandLine} from './command.js';
import {parseClients} from './clients.js';
import {Rates} from './rates.js';

export function render(view) {
    const fresh = freshness(2000);
    const states = h('div', {class: 'states'});
    const server = h('span', {class: 'dim'});
    const refused = h('div', {class: 'error-box', hidden: true});
    const graphs = makeGraphs();
    const lists = new Lists();
    fill(
        view.el,
        h(
            'div',
            {class: 'head'},
            h('h1', {}, 'Overview'),
            server,
            h('span', {class: 'spring'}),
            fresh.el,
        ),
        refused,
        states,
        h(
            'div',
            {class: 'graphs'},
            graphs.map(g => g.el),
        ),
        lists.el,
        commandLine(() => [
            ['INFO', 'everything'],
            ['LATENCY', 'HISTOGRAM'],
        ]).el,
    );
    const more = {queues: null, late: null, durability: null};
    const look = () => {
        const {info, error} = latest();
        refused.hidden = error === null;
        if (error !== null) {
            setText(refused, `Cannot load these figures: ${error.message}`);
            fresh.failed();
        }
        if (info === null) return;
        if (error === null) fresh.done();
        setText(
            server,
            `tupled ${info.tupled_version}, up ${duration(Number(info.uptime_in_seconds) * 1000)}`,
        );
        fill(states, stateRow(info, more).map(drawState));
        for (const g of graphs) g.draw(allSamples());
    };
    view.leave(onSample(look));
    const redraw = () => graphs.forEach(g => g.draw(allSamples()));
    for (const event of ['resize', 'themechange']) {
        addEventListener(event, redraw, {signal: view.signal});
    }
    view.every(4000, async () => {
        await lists.ask(more, view.signal);
        look();
    });
    view.every(4000, async () => {
        await lists.askQueues(more, view.signal);
        look();
    });
    look();
}

function makeGraphs() {
    const ms = v => duration(v);
    const perSecond = v => short(v);
    return [
        graph(
            'Commands per second',
            [
                {name: 'read', key: 'reads'},
                {name: 'write', key: 'writes'},
            ],
            perSecond,
        ),
        graph(
            'Command time',
            [
                {name: 'p50', key: 'p50'},
                {name: 'p99', key: 'p99'},
                {name: 'p99.9', key: 'p999'},
            ],
            ms,
        ),
        graph(
            'Journal syncs',
            [
                {name: 'per second', key: 'syncs'},
                {name: 'each', key: 'syncMs', format: ms, hasOwnScale: true},
            ],
            perSecond,
        ),
        graph(
            'Not yet in tupled.db',
            [
                {name: 'unapplied', key: 'unapplied'},
                {name: 'transactions not synced', key: 'unsynced', format: short, isText: true},
            ],
            bytes,
        ),
    ];
}

// --- the row of states: {name, word, kind: '' | 'wait' | 'bad' | 'unknown', more} ---

function stateRow(info, more) {
    return [durable(info, more), disk(info), memory(info), oldest(info, more), certificates(info)];
}

function drawState(s) {
    return h(
        'div',
        {class: `state ${s.kind}`},
        h('div', {class: 'name'}, s.name),
        h('div', {class: 'word'}, s.word),
        h('div', {class: 'more'}, s.more),
    );
}

function durable(info, {durability}) {
    const waiting = Number(info.journal_unsynced_transactions);
    const name = 'Durable';
    if (info.health !== 'ok')
        return {name, word: info.health, kind: 'bad', more: "see the server's log"};
    const mode = durability === null ? '' : `durability ${durability}; `;
    if (durability !== null && durability !== 'always') {
        return {
            name,
            word: 'with a delay',
            kind: 'wait',
            more: `${mode}${number(waiting)} unsynced`,
        };
    }
    return {name, word: 'yes', kind: '', more: `${mode}${number(waiting)} being synced`};
}

function disk(info) {
    const name = 'Disk';
    if (info.journal_disk_full !== '0')
        return {name, word: 'full', kind: 'bad', more: 'writes are refused'};
    if (info.store_damage) return {name, word: 'damaged', kind: 'bad', more: info.store_damage};
    if (info.store_failing !== '0')
        return {name, word: 'failing', kind: 'bad', more: 'cannot write the database file'};
    const more =
        `journal ${bytes(Number(info.journal_bytes))}` +
        (info.store_bytes === undefined ? '' : `, store ${bytes(Number(info.store_bytes))}`);
    if (info.store_cleaning === '1') return {name, word: 'cleaning', kind: 'wait', more};
    return {name, word: 'fine', kind: '', more};
}

function memory(info) {
    const name = 'Memory';
    const used = Number(info.used_memory_rss),
        total = Number(info.total_system_memory);
    const clients = Number(info.mem_clients_normal || 0),
        clientsMax = Number(info.maxmemory_clients);
    const part = used / total;
    const more = `${Math.round(part * 100)} % of ${bytes(total)}; clients hold ${bytes(clients)}`;
    const kind =
        part > 0.9
            ? 'bad'
            : part > 0.75 || (clientsMax > 0 && clients > clientsMax / 2)
              ? 'wait'
              : '';
    return {name, word: bytes(used), kind, more};
}

/* The queue whose first message waits longest, in this database; dead letters are of all. */
function oldest(info, {queues, late}) {
    const name = 'Oldest in a queue';
    const dead =
        info.queue_dead === undefined
            ? ''
            : `${number(Number(info.queue_dead))} dead letters in all databases`;
    if (queues === null) return {name, word: '…', kind: 'unknown', more: dead};
    if (queues === 'none') {
        return {
            name,
            word: 'no queues',
            kind: 'unknown',
            more: `in database ${api.currentDatabase()}`,
        };
    }
    const ms = late === null ? 0 : late['oldest-ms'];
    const more = [ms > 0 ? late.name : '', dead].filter(t => t !== '').join('; ');
    return {name, word: ms > 0 ? duration(ms) : 'none waits', kind: ms > 60000 ? 'wait' : '', more};
}

function certificates(info) {
    const name = 'Certificates';
    const days = ['tls_cert_days_left', 'tls_ca_days_left', 'tls_client_ca_days_left']
        .map(k => info[k])
        .filter(v => v !== undefined)
        .map(Number);
    if (info.tls_port === '0' || days.length === 0)
        return {name, word: 'no TLS', kind: 'unknown', more: 'nothing can expire'};
    const left = Math.min(...days);
    return {
        name,
        word: left < 0 ? 'expired' : `${left} days left`,
        kind: left < 7 ? 'bad' : left < 30 ? 'wait' : '',
        more: 'the first to expire',
    };
}

// --- below: slowest commands, longest queues, biggest clients ---

class Lists {
    constructor() {
        this.slow = h('tbody');
        this.queues = h('tbody');
        this.clients = h('tbody');
        const panel = (title, link, body, empty) =>
            h(
                'section',
                {class: 'panel'},
                h('h2', {}, h('a', {href: address(link)}, title)),
                h('table', {}, body),
                empty,
            );
        this.el = h(
            'div',
            {class: 'three'},
            panel('Slowest commands', 'clients', this.slow),
            panel('Longest queues', 'queues', this.queues),
            panel('Biggest clients', 'clients', this.clients),
        );
        this.rates = new Rates();
    }

    async ask(more, signal) {
        try {
            const [slow, clients, conf] = await api.pipeline(
                [
                    ['SLOWLOG', 'GET', '100'],
                    ['CLIENT', 'LIST'],
                    ['CONFIG', 'GET', 'durability'],
                ],
                {signal},
            );
            this.drawSlow(slow);
            this.drawClients(clients);
            if (conf.result) more.durability = record(conf.result).durability ?? null;
        } catch {
            // The figures above say that the server is not reached.
        }
    }

    drawSlow({result, error}) {
        if (error) return fill(this.slow, note(error));
        const rows = result.sort((a, b) => b[2] - a[2]).slice(0, 5);
        return fill(
            this.slow,
            rows.length === 0
                ? note('None took longer than slowlog-log-slower-than.')
                : rows.map(r =>
                      row(r[3].slice(0, 3).join(' '), duration(r[2] / 1000), r[3].join(' ')),
                  ),
        );
    }

    drawClients({result, error}) {
        if (error) return fill(this.clients, note(error));
        const rows = parseClients(result)
            .sort((a, b) => b['tot-mem'] - a['tot-mem'])
            .slice(0, 5);
        return fill(
            this.clients,
            rows.map(c => row(c.name || c.addr, bytes(Number(c['tot-mem'])), c.cmd)),
        );
    }

    async askQueues(more, signal) {
        let answers;
        try {
            answers = await api.pipeline(
                [
                    ['KV.QUEUE', 'TOP', 'READY', 'COUNT', '5'],
                    ['KV.QUEUE', 'TOP', 'OLDEST', 'COUNT', '1'],
                    ['KV.QUEUE', 'LIST', 'LIMIT', '1'],
                ],
                {signal},
            );
        } catch {
            return undefined; // the figures above say that the server is not reached
        }
        const refused = answers.find(a => a.error);
        if (refused) {
            more.queues = 'none';
            return fill(this.queues, note(refused.error));
        }
        const [ready, late, some] = answers.map(a => a.result);
        more.queues = some.length === 0 ? 'none' : 'some';
        more.late = late.length === 0 ? null : {name: late[0][0], ...record(late[0][1])};
        return this.drawQueues(
            ready.map(([name, stats]) => ({name, ...record(stats)})),
            more.queues === 'none',
        );
    }

    drawQueues(queues, areNone) {
        if (areNone) return fill(this.queues, note('No queues. KV.ENQUEUE mail \'{"to":"ann"}\' makes one.'));
        if (queues.length === 0) return fill(this.queues, note('No message is ready.'));
        return fill(
            this.queues,
            queues.map(q => {
                const rate = this.rates.of(q.name, q);
                const text = rate === null ? '' : `${short(rate.in + rate.out)} /s`;
                return row(q.name, text, '', `${short(q.ready)} ready`);
            }),
        );
    }
}

function note(text) {
    return h('tr', {}, h('td', {class: 'dim', colspan: 3}, text));
}

function row(name, figure, title = '', more = null) {
    return h(
        'tr',
        {title},
        h('td', {class: 'mono'}, name),
        more === null ? null : h('td', {class: 'num dim'}, more),
        h('td', {class: 'num'}, figure),
    );
}
