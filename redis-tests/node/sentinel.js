// ioredis by Sentinel: finds the leader, goes on when it is killed.
//
// usage: sentinel.js <port of a Sentinel>...
// Says `ready` when the leader may be killed; prints `ok - name` and `not ok - name` lines.
import Redis from "ioredis";

const sentinels = process.argv.slice(2).map((port) => ({ host: "127.0.0.1", port: Number(port) }));
const check = (name, fact) => console.log(`${fact ? "ok" : "not ok"} - ioredis by Sentinel: ${name}`);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

(async () => {
  const options = { sentinels, name: "mymaster", commandTimeout: 2000 };
  const leader = new Redis(options);
  leader.on("error", () => {});
  await leader.set("by-ioredis", 0);
  check("reads what it wrote", (await leader.get("by-ioredis")) === "0");
  const before = leader.stream.remotePort;
  let acknowledged = 0;
  console.log("ready");
  const isElsewhere = () => leader.status === "ready" && ![undefined, before].includes(leader.stream.remotePort);
  for (const deadline = Date.now() + 30000; Date.now() < deadline && !isElsewhere(); ) {
    try {
      if (leader.status === "ready") acknowledged = await leader.incr("by-ioredis");
    } catch (e) {
      // It may have happened or not: the count below says.
    }
    await pause(5);
  }
  check("another node is the leader", isElsewhere());
  await leader.incr("by-ioredis");
  const value = Number(await leader.get("by-ioredis"));
  check(`nothing acknowledged is lost (${acknowledged}, ${value})`, value > acknowledged && acknowledged > 0);
  leader.disconnect();
})().catch((e) => {
  check(`an error: ${e}`, false);
  process.exit(1);
});
