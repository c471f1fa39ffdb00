// The server by RESP, for what a test needs beside the page: loading data, changing things at the
// same time. Enough of the protocol for that.
import net from 'node:net';

export class Resp {
    static async connect(port) {
        const r = new Resp();
        r.waiting = [];
        r.rest = Buffer.alloc(0);
        r.socket = net.connect(port, '127.0.0.1');
        await new Promise((ok, fail) => r.socket.once('connect', ok).once('error', fail));
        r.socket.on('data', d => r.read(d));
        r.socket.on('close', () => r.waiting.splice(0).forEach(w => w.fail(new Error('closed'))));
        return r;
    }

    send(...words) {
        const parts = [`*${words.length}\r\n`];
        for (const w of words) parts.push(`$${Buffer.byteLength(String(w))}\r\n${w}\r\n`);
        this.socket.write(parts.join(''));
        return new Promise((ok, fail) => this.waiting.push({ok, fail}));
    }

    read(data) {
        this.rest = this.rest.length === 0 ? data : Buffer.concat([this.rest, data]);
        let at = 0;
        for (;;) {
            const r = reply(this.rest, at);
            if (r === null) break;
            const w = this.waiting.shift();
            if (r.value instanceof Error) w.fail(r.value);
            else w.ok(r.value);
            at = r.end;
        }
        this.rest = this.rest.subarray(at);
    }

    close() {
        this.socket.destroy();
    }
}

function reply(b, at) {
    const line = b.indexOf('\r\n', at);
    if (line < 0) return null;
    const text = b.toString('utf8', at + 1, line),
        end = line + 2,
        n = Number(text);
    switch (String.fromCharCode(b[at])) {
        case '+':
            return {value: text, end};
        case '-':
            return {value: new Error(text), end};
        case ':':
            return {value: n, end};
        case '$':
            if (n < 0) return {value: null, end};
            return b.length < end + n + 2
                ? null
                : {value: b.toString('utf8', end, end + n), end: end + n + 2};
        default:
            return array(b, end, n);
    }
}

function array(b, at, n) {
    if (n < 0) return {value: null, end: at};
    const value = [];
    for (let i = 0; i < n; i++) {
        const r = reply(b, at);
        if (r === null) return null;
        value.push(r.value);
        at = r.end;
    }
    return {value, end: at};
}
