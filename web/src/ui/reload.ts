// A value of the server that is loaded again as its subject changes.
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Problem } from '../api';
import { type Clock, systemClock } from '../stream';
import { asProblem } from './problem';

export interface Loaded<T> {
  /** What it is about. */
  readonly key: string;
  /** The newest value that came. `null` before the first. */
  readonly value: T | null;
  /** Why the newest request did not succeed. */
  readonly problem: Problem | null;
}

/** Changes come in bursts, and replies in any order: there is at most one request in each pause, and no reply replaces a newer one. */
export class Reloader<T> {
  readonly #clock: Clock;
  readonly #onLoaded: (loaded: Loaded<T>) => void;
  #loaded: Loaded<T> = { key: '', value: null, problem: null };
  #askedAt = Number.NEGATIVE_INFINITY;
  #asked = 0;
  #taken = 0;

  constructor(clock: Clock, onLoaded: (loaded: Loaded<T>) => void) {
    this.#clock = clock;
    this.#onLoaded = onLoaded;
  }

  /** Asks now, or at the end of the pause. Returns a function that ends the pause without asking: a request that was sent is not lost. */
  ask(key: string, pauseMs: number, load: () => Promise<T>): () => void {
    if (key !== this.#loaded.key) {
      this.#loaded = { key, value: null, problem: null };
      this.#askedAt = Number.NEGATIVE_INFINITY;
    }
    const wait = Math.max(0, this.#askedAt + pauseMs - this.#clock.now());
    return this.#clock.after(wait, () => {
      this.#askedAt = this.#clock.now();
      const mine = (this.#asked += 1);
      load().then(
        (value) => this.#take(mine, { key, value, problem: null }),
        (error: unknown) => this.#take(mine, { key, value: this.#loaded.value, problem: asProblem(error) }),
      );
    });
  }

  #take(mine: number, loaded: Loaded<T>): void {
    if (mine < this.#taken || loaded.key !== this.#loaded.key) return;
    this.#taken = mine;
    this.#loaded = loaded;
    this.#onLoaded(loaded);
  }
}

/** Loads a value, and again whenever `version` changes. `load` is `null` while nobody looks. */
export function useReloaded<T>(key: string, version: number, pauseMs: number, load: (() => Promise<T>) | null): Loaded<T> & { readonly retry: () => void } {
  const [loaded, setLoaded] = useState<Loaded<T> | null>(null);
  const [tries, setTries] = useState(0);
  const reloader = useMemo(() => new Reloader<T>(systemClock, setLoaded), []);
  useEffect(() => (load === null ? undefined : reloader.ask(key, pauseMs, load)), [key, version, tries, load === null]);
  const retry = () => setTries(tries + 1);
  // What was loaded about something else is not shown, not even for one frame.
  return loaded?.key === key ? { ...loaded, retry } : { key, value: null, problem: null, retry };
}
