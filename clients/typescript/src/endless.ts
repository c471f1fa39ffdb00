// What goes on until stop() is called, over lost connections, with a connection of its own: workers, feeds,
// live views.

import type { Tupled } from "./client.js";
import type { Call } from "./commands.js";
import type { Connection } from "./connection.js";
import { typed } from "./errors.js";

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export abstract class Endless {
  isStopping = false;
  private own: Connection | undefined;
  private waiting = 0;

  constructor(protected readonly db: Tupled) {}

  /** It ends within the time that a command waits; a second later if there is no server to answer it. */
  stop(): void {
    this.isStopping = true;
    if (this.waiting === 0) this.release();
    else setTimeout(() => this.release(), this.db.blockMs + 1000).unref();
  }

  protected async wait<T>(call: Call<T>): Promise<T> {
    this.own ??= this.db.connection.fork();
    this.waiting++;
    try {
      return await this.db.run(call, this.own);
    } finally {
      this.waiting--;
    }
  }

  /** Until it succeeds; null: stopped. Errors of the server are thrown. */
  protected async insist<T>(attempt: () => Promise<T>): Promise<T | null> {
    while (!this.isStopping) {
      try {
        return await attempt();
      } catch (error) {
        if (typed(error) || this.db.connection.isClosed) throw error;
        if (!this.isStopping) await sleep(500);
      }
    }
    return null;
  }

  protected release(): void {
    this.own?.close();
    this.own = undefined;
  }
}
