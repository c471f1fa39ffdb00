// For the programs of this folder: steps, a server that is killed (../steps.mjs), and
//
//   ioredis(), nodeRedis()   connections that get on again by themselves

import { Redis } from "ioredis";
import { createClient } from "redis";

export * from "../steps.mjs";

export const port = Number(process.argv[2]);

export function ioredis(more = {}) {
  const retry = { retryStrategy: () => 20, maxRetriesPerRequest: null }; // however long a start takes
  const client = new Redis({ host: "127.0.0.1", port, ...retry, ...more });
  client.on("error", () => {});
  return client;
}

export async function nodeRedis(more = {}) {
  const socket = { host: "127.0.0.1", port, reconnectStrategy: () => 20 };
  const client = createClient({ socket, ...more });
  client.on("error", () => {});
  await client.connect();
  return client;
}
