// Time in tests: it passes only when a test says so.
import type { Clock } from '../../src/stream';

/** A clock that tests move. */
export class TestClock implements Clock {
  time = 1_000_000;
  timers = new Set<{ at: number; then: () => void }>();

  now(): number {
    return this.time;
  }

  after(ms: number, then: () => void): () => void {
    const timer = { at: this.time + ms, then };
    this.timers.add(timer);
    return () => this.timers.delete(timer);
  }

  /** Moves to the next timer that is due within this time, again and again. */
  async pass(ms: number): Promise<void> {
    const end = this.time + ms;
    for (;;) {
      await settled();
      const due = [...this.timers].filter((timer) => timer.at <= end).sort((one, other) => one.at - other.at)[0];
      if (due === undefined) break;
      this.time = Math.max(this.time, due.at);
      this.timers.delete(due);
      due.then();
    }
    this.time = end;
    await settled();
  }
}

/** Lets everything run that can run without time passing. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 30; turn += 1) await new Promise((done) => setImmediate(done));
}
