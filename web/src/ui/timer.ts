// One wait that can be begun again and ended. Time is an argument, so that tests decide when it passes.
import type { Clock } from '../stream';

export class Timer {
  readonly #clock: Clock;
  #stop: (() => void) | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isSet(): boolean {
    return this.#stop !== null;
  }

  /** Calls back after this many milliseconds. A wait that was begun before ends. */
  set(ms: number, then: () => void): void {
    this.cancel();
    this.#stop = this.#clock.after(ms, () => {
      this.#stop = null;
      then();
    });
  }

  cancel(): void {
    this.#stop?.();
    this.#stop = null;
  }
}
