// RSMQ: messages in a sorted set by the time when they are seen again, and a hash. One that was received and not
// deleted comes again: at least once.

import assert from "node:assert/strict";
import RedisSMQ from "rsmq";
import {
  allIsDone, becomes, done, isWorker, jobs, killAndStart, killInTheMiddle, server, sleep, steps,
} from "./common.js";

const rsmq = new RedisSMQ(server);
const qname = "work";

// What was asked when the connection broke is asked again.
async function repeated(ask) {
  for (;;) {
    try {
      return await ask();
    } catch {
      await sleep(20);
    }
  }
}

async function work() {
  for (;;) {
    const { id, message } = await repeated(() => rsmq.receiveMessageAsync({ qname, vt: 2 }));
    if (id) {
      await done(message);
      await repeated(() => rsmq.deleteMessageAsync({ qname, id }));
    } else {
      await sleep(20);
    }
  }
}

if (isWorker) {
  for (let i = 0; i < 5; i++) work();
} else {
  const counts = async () => {
    const { msgs, hiddenmsgs, totalsent } = await rsmq.getQueueAttributesAsync({ qname });
    return { msgs, hiddenmsgs, totalsent };
  };
  let id;

  await steps("RSMQ", {
    "1,000 messages are sent": async () => {
      await rsmq.createQueueAsync({ qname });
      await assert.rejects(rsmq.createQueueAsync({ qname }), { name: "queueExists" });
      const all = Array.from({ length: jobs }, (_, i) => rsmq.sendMessageAsync({ qname, message: `${i}` }));
      assert.equal(new Set(await Promise.all(all)).size, jobs);
      const { msgs, totalsent } = await counts(); // messages of this second count as hidden
      assert.deepEqual({ msgs, totalsent }, { msgs: jobs, totalsent: jobs });
    },
    "the server and a worker are killed with -9 while workers receive and delete": killInTheMiddle,
    "each message was received, and none is left": async () => {
      await allIsDone();
      await becomes({ msgs: 0, hiddenmsgs: 0, totalsent: jobs }, counts);
      const { totalrecv } = await rsmq.getQueueAttributesAsync({ qname });
      assert.ok(totalrecv >= jobs, String(totalrecv));
      const left = await new Promise((resolve) => rsmq.redis.hkeys("rsmq:work:Q", (_, names) => resolve(names)));
      const own = ["created", "delay", "maxsize", "modified", "totalrecv", "totalsent", "vt"];
      assert.deepEqual(left.sort(), own);
    },
    "one that was received is hidden, also after kill -9": async () => {
      await rsmq.createQueueAsync({ qname: "other", vt: 600 });
      id = await rsmq.sendMessageAsync({ qname: "other", message: "hello" });
      const first = await rsmq.receiveMessageAsync({ qname: "other" });
      assert.deepEqual([first.id, first.message, first.rc], [id, "hello", 1]);
      await killAndStart();
      assert.deepEqual(await repeated(() => rsmq.receiveMessageAsync({ qname: "other" })), {});
      assert.equal((await rsmq.getQueueAttributesAsync({ qname: "other" })).hiddenmsgs, 1);
    },
    "it comes again when its time is over": async () => {
      assert.equal(await rsmq.changeMessageVisibilityAsync({ qname: "other", id, vt: 1 }), 1);
      await becomes([id, 2], async () => {
        const again = await rsmq.receiveMessageAsync({ qname: "other", vt: 600 });
        return [again.id, again.rc];
      });
    },
    "one that is popped is gone, and so is a queue that is deleted": async () => {
      await rsmq.changeMessageVisibilityAsync({ qname: "other", id, vt: 0 });
      await becomes("hello", async () => (await rsmq.popMessageAsync({ qname: "other" })).message);
      assert.equal(await rsmq.deleteMessageAsync({ qname: "other", id }), 0);
      await rsmq.deleteQueueAsync({ qname: "other" });
      assert.deepEqual(await rsmq.listQueuesAsync(), [qname]);
    },
  });
}
