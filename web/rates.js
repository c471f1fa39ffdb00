// Rates of queues, from two looks at their figures.

/* in and out per second, since the look before. */
export class Rates {
    constructor() {
        this.before = new Map();
    }

    of(name, stats) {
        const at = Date.now(),
            old = this.before.get(name);
        if (old === undefined || at - old.at > 500) this.before.set(name, {at, stats});
        if (old === undefined) return null;
        const s = (at - old.at) / 1000;
        return {
            in: Math.max(0, stats.enqueued - old.stats.enqueued) / s,
            out: Math.max(0, stats.acked - old.stats.acked) / s,
        };
    }
}
