// node-redis or ioredis by TLS, as a user with limited rights (tls.sh).
//
// usage: tls.js <redis or ioredis> <port> <CA> <another CA> <protocol: 2, 3 or default>
//     <suffix of the test names>
// Prints `ok - name` and `not ok - name` lines.
//
// What differs between the two is in `libraries`; the tests are the same.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createClient, ErrorReply } from "redis";
import Redis, { ReplyError } from "ioredis";

const [library, port, ca, otherCa, protocol, suffix] = process.argv.slice(2);
const open = [];

// ioredis says that it may not ask for INFO, and goes on.
console.warn = () => {};

const libraries = {
    redis: {
        async connect({ username = "app", password = "secret", authority = ca } = {}) {
            const r = createClient({
                username,
                password,
                socket: {
                    host: "localhost",
                    port: Number(port),
                    tls: true,
                    ca: readFileSync(authority),
                    reconnectStrategy: false,
                },
                ...(protocol === "default" ? {} : { RESP: Number(protocol) }),
            });
            r.on("error", () => {});
            await r.connect();
            open.push(() => r.destroy());
            return r;
        },
        refusal: ErrorReply,
        call: (r, ...words) => r.sendCommand(words),
        pipeline: (r, list) => Promise.all(list.map((words) => r.sendCommand(words))),
        transaction: (r, list) =>
            list.reduce((m, words) => m.addCommand(words), r.multi()).exec(),
        subscribe: (r, channel, heard) => r.subscribe(channel, heard),
    },
    ioredis: {
        async connect({ username = "app", password = "secret", authority = ca } = {}) {
            const r = new Redis({
                username,
                password,
                host: "localhost",
                port: Number(port),
                tls: { ca: readFileSync(authority) },
                lazyConnect: true,
                retryStrategy: null,
                maxRetriesPerRequest: 0,
                ...(protocol === "default" ? {} : { protocol: Number(protocol) }),
            });
            open.push(() => r.disconnect());
            let first;
            r.on("error", (error) => (first ??= error));
            try {
                await r.connect();
                await r.ping();
            } catch (error) {
                throw first ?? error;
            }
            return r;
        },
        refusal: ReplyError,
        call: (r, ...words) => r.call(...words),
        pipeline: async (r, list) => values(await r.pipeline(list.map(lower)).exec()),
        transaction: async (r, list) => values(await r.multi(list.map(lower)).exec()),
        subscribe: (r, channel, heard) => {
            r.on("message", (_, message) => heard(message));
            return r.subscribe(channel);
        },
    },
};
const lower = ([name, ...words]) => ["call", name, ...words];
const values = (pairs) => pairs.map(([error, value]) => {
    if (error) throw error;
    return value;
});
const { connect, call, pipeline, transaction, subscribe, refusal } = libraries[library];

const refused = (code, promise) =>
    assert.rejects(promise, (error) => {
        assert.ok(error instanceof refusal, `${error.name}: ${error}`);
        assert.ok(error.message.startsWith(`${code} `), error.message);
        return true;
    });

const tests = {
    async "is who he says"(r) {
        assert.equal(await call(r, "PING"), "PONG");
        assert.equal(await call(r, "ACL", "WHOAMI"), "app");
        const info = await call(r, "CLIENT", "INFO");
        assert.match(info, / user=app /);
        assert.match(info, protocol === "2" ? / resp=2 / : / resp=3 /);
    },
    async "sets and gets"(r) {
        assert.equal(await call(r, "SET", "app:plain", "text"), "OK");
        assert.equal(await call(r, "GET", "app:plain"), "text");
        const stamp = await call(r, "KV.SET", '["app",1]', '{"n":1}');
        assert.deepEqual(await call(r, "KV.GET", '["app",1]', "WITHVERSION"), ['{"n":1}', stamp]);
    },
    async "pipelines a thousand"(r) {
        const all = [...Array(1000).keys()].map(String);
        const stamps = await pipeline(r, all.map((n) => ["KV.SET", `["app","pipe",${n}]`, n]));
        assert.equal(new Set(stamps).size, 1000);
        assert.deepEqual(stamps, [...stamps].sort());
        assert.deepEqual(await pipeline(r, all.map((n) => ["KV.GET", `["app","pipe",${n}]`])), all);
    },
    async "has transactions"(r) {
        const done = await transaction(r, [
            ["SET", "app:a", "1"],
            ["KV.SET", '["app","b"]', "2"],
            ["GET", "app:a"],
        ]);
        assert.equal(done[0], "OK");
        assert.match(done[1], /^[0-9a-f]{20}$/);
        assert.equal(done[2], "1");
    },
    async "publishes and hears"(r) {
        const listener = await connect();
        let heard;
        const message = new Promise((resolve) => (heard = resolve));
        await subscribe(listener, "app:news", heard);
        assert.equal(await call(r, "PUBLISH", "app:news", "hello"), 1);
        assert.equal(await message, "hello");
        await refused("NOPERM", call(r, "PUBLISH", "news", "hello"));
        await refused("NOPERM", subscribe(await connect(), "news", () => {}));
    },
    async "may not use what is not his"(r) {
        await refused("NOPERM", call(r, "GET", "other"));
        await refused("NOPERM", call(r, "KV.SET", '["other",1]', "1"));
        await refused("NOPERM", call(r, "KV.ATOMIC", "SET", '["app",1]', "1", "DEL", '["other"]'));
        await refused("NOPERM", call(r, "CONFIG", "GET", "*"));
        assert.equal(await call(r, "PING"), "PONG");
    },
    async "needs his password"() {
        await refused("WRONGPASS", connect({ password: "wrong" }));
    },
    async "refuses a server of another authority"() {
        // The root of its chain is an unknown one that signed itself.
        await assert.rejects(connect({ authority: otherCa }), (error) => {
            assert.match(error.code ?? String(error), /CERT|VERIFY|SIGNATURE|ISSUER/);
            return true;
        });
    },
};

let failed = 0;
const r = await connect();
for (const [test, run] of Object.entries(tests)) {
    const name = `${library === "redis" ? "node-redis" : library} by TLS ${test} (${suffix})`;
    try {
        await run(r);
        console.log(`ok - ${name}`);
    } catch (error) {
        failed++;
        console.log(`not ok - ${name}\n  ${error.stack}`);
    }
}
for (const close of open) close();
process.exit(failed ? 1 : 0);
