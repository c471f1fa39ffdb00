// What this module needs of a client, from ioredis or from node-redis. Both send all commands of a client
// over one connection, so whatever waits gets one of its own: fork().

/** What is used of an ioredis client. */
export interface Ioredis {
  call(command: string, ...words: string[]): Promise<unknown>;
  duplicate(): Ioredis;
  disconnect(): void;
  on(event: "error", listener: () => void): unknown;
  readonly status: string;
  readonly options: { commandTimeout?: number | undefined; socketTimeout?: number | undefined };
}

/** What is used of a client of node-redis. */
export interface NodeRedis {
  sendCommand(words: string[]): Promise<unknown>;
  duplicate(): NodeRedis;
  connect(): Promise<unknown>;
  destroy?(): unknown;
  disconnect?(): unknown;
  on(event: "error", listener: () => void): unknown;
  readonly isOpen: boolean;
  readonly options?: object | undefined;
}

export type RedisClient = Ioredis | NodeRedis;

export interface Connection {
  send(words: string[]): Promise<unknown>;
  /** Another one with the same settings, for commands that wait. */
  fork(): Connection;
  close(): void;
  /** Closed by the program, so that nothing will come of trying again. */
  readonly isClosed: boolean;
  /** After how many milliseconds without a reply the library gives up. */
  readonly timeoutMs: number | undefined;
}

class IoredisConnection implements Connection {
  constructor(private readonly client: Ioredis) {}

  send([command = "", ...words]: string[]): Promise<unknown> {
    return this.client.call(command, ...words);
  }

  fork(): Connection {
    const client = this.client.duplicate();
    client.on("error", () => {}); // what becomes of its commands tells as much
    return new IoredisConnection(client);
  }

  close(): void {
    this.client.disconnect();
  }

  get isClosed(): boolean {
    return this.client.status === "end";
  }

  get timeoutMs(): number | undefined {
    return shorter(this.client.options.commandTimeout, this.client.options.socketTimeout);
  }
}

class NodeRedisConnection implements Connection {
  constructor(private readonly client: NodeRedis) {}

  send(words: string[]): Promise<unknown> {
    return this.client.sendCommand(words);
  }

  fork(): Connection {
    const client = this.client.duplicate();
    client.on("error", () => {});
    client.connect().catch(() => {}); // until then it keeps what is to be sent
    return new NodeRedisConnection(client);
  }

  close(): void {
    if (!this.client.isOpen) return;
    if (this.client.destroy) this.client.destroy();
    else void this.client.disconnect?.();
  }

  get isClosed(): boolean {
    return !this.client.isOpen;
  }

  get timeoutMs(): number | undefined {
    const options = this.client.options as
      | { socket?: { socketTimeout?: number }; commandOptions?: { timeout?: number } }
      | undefined;
    return shorter(options?.socket?.socketTimeout, options?.commandOptions?.timeout);
  }
}

function shorter(a: number | undefined, b: number | undefined): number | undefined {
  return a && b ? Math.min(a, b) : a || b || undefined;
}

export function connectionOf(client: RedisClient): Connection {
  return "call" in client ? new IoredisConnection(client) : new NodeRedisConnection(client);
}
