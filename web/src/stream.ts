// The live stream of a session's events, read by `fetch`, because a browser's `EventSource` can't send a token. It comes back
// after every interruption with the id of its last event, so that no event is lost and none comes twice.

import { type Fetch, Problem, problemOf } from './api';
import { FrameReader } from './stream/frames';
import { type HallEvent, readEvent } from './wire';

export { type Frame, FrameReader } from './stream/frames';

export type StreamState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  /** `until` is the time of the next try, by the stream's clock (milliseconds since 1970). */
  | { readonly kind: 'waiting'; readonly until: number; readonly why: string }
  /** For good: the token is not valid any more, the session does not exist, or the page closed the stream. */
  | { readonly kind: 'ended'; readonly why: Problem | null };

/** An event as it came. */
export interface Received {
  readonly event: HallEvent;
  /** Whether the server stored the event while this stream watched. */
  readonly isFresh: boolean;
}

export interface Clock {
  now(): number;
  /** Calls back after this many milliseconds. Returns a function that prevents it. */
  after(ms: number, then: () => void): () => void;
}

export interface StreamOptions {
  readonly session: string;
  readonly token: string;
  readonly onEvents: (events: readonly Received[]) => void;
  readonly onState: (state: StreamState) => void;
  readonly fetch?: Fetch;
  readonly clock?: Clock;
  /** Calls back when the page becomes visible or online. Returns a function that ends this. */
  readonly onWake?: (wake: () => void) => () => void;
}

const BACKOFF_MS_MIN = 1000;
const BACKOFF_MS_MAX = 15_000;
/** The server shows every 15 s that it lives. */
const SILENCE_MS_MAX = 40_000;
/** A connection that lasted this long was a good one: the next pause is short again. */
const GOOD_MS = 10_000;

/** The statuses after which another try is of no use. */
export const FOR_GOOD: readonly number[] = [400, 401, 403, 404, 410];

/** The place of an event: how many facts, and how many facts of the account, there are after it. */
export interface Place {
  readonly facts: number;
  readonly account: number;
}

export const START: Place = { facts: 0, account: 0 };

export function parseId(id: string): Place | null {
  const found = /^(0|[1-9]\d{0,14})\.(0|[1-9]\d{0,14})$/.exec(id);
  return found === null ? null : { facts: Number(found[1]), account: Number(found[2]) };
}

/** Whether the event with the second id comes directly after the first, is known already, or leaves a gap. */
export function follows(last: Place, next: Place): 'next' | 'known' | 'gap' {
  if (next.facts <= last.facts && next.account <= last.account) return 'known';
  const steps = next.facts - last.facts + (next.account - last.account);
  return steps === 1 && next.facts >= last.facts && next.account >= last.account ? 'next' : 'gap';
}

/** Why a connection ended, in plain words. */
class Interrupted extends Error {}

export class EventStream {
  readonly #options: StreamOptions;
  readonly #fetch: Fetch;
  readonly #clock: Clock;
  #last: Place = START;
  #lastId: string | null = null;
  #state: StreamState = { kind: 'connecting' };
  #backoff = BACKOFF_MS_MIN;
  /** Ends the connection that is open, or the pause. */
  #abort: AbortController | null = null;
  #stopTimer: (() => void) | null = null;
  #heardAt = 0;
  readonly #stopWaking: () => void;

  /** Connects at once. */
  constructor(options: StreamOptions) {
    this.#options = options;
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
    this.#clock = options.clock ?? systemClock;
    this.#stopWaking = (options.onWake ?? onPageWake)(() => this.wake());
    void this.#connect();
  }

  /** Ends the stream. */
  close(): void {
    this.#finish(null);
  }

  /** The page became visible or online: a pause ends, and a silent connection is replaced. */
  wake(): void {
    if (this.#state.kind === 'waiting') return void this.#connect();
    const isSilent = this.#clock.now() - this.#heardAt >= SILENCE_MS_MAX;
    if (this.#state.kind !== 'ended' && isSilent) this.#abort?.abort(new Interrupted(SILENT));
  }

  async #connect(): Promise<void> {
    this.#cancelTimer();
    const abort = new AbortController();
    this.#abort = abort;
    this.#set({ kind: 'connecting' });
    const since = this.#clock.now();
    let pause: number | null = null;
    let why = 'The connection to the server was interrupted.';
    try {
      await this.#read(abort);
    } catch (error) {
      if (error instanceof Problem && FOR_GOOD.includes(error.status)) return this.#finishIf(abort, error);
      const reason: unknown = abort.signal.aborted ? abort.signal.reason : error;
      if (reason instanceof Interrupted) why = reason.message;
      if (reason instanceof Problem) [why, pause] = [reason.detail, (reason.retryAfter ?? 0) * 1000];
    }
    if (this.#abort !== abort || this.#state.kind === 'ended') return;
    abort.abort();
    if (this.#clock.now() - since >= GOOD_MS) this.#backoff = BACKOFF_MS_MIN;
    this.#pause(Math.max(this.#backoff, pause ?? 0), why);
    this.#backoff = Math.min(this.#backoff * 2, BACKOFF_MS_MAX);
  }

  #pause(ms: number, why: string): void {
    this.#cancelTimer();
    this.#set({ kind: 'waiting', until: this.#clock.now() + ms, why });
    this.#stopTimer = this.#clock.after(ms, () => void this.#connect());
  }

  async #read(abort: AbortController): Promise<void> {
    this.#listen(abort);
    const headers: Record<string, string> = {
      accept: 'text/event-stream',
      authorization: `Bearer ${this.#options.token}`,
    };
    if (this.#lastId !== null) headers['last-event-id'] = this.#lastId;
    const path = `/api/sessions/${encodeURIComponent(this.#options.session)}/events`;
    const init: RequestInit = { headers, cache: 'no-store', credentials: 'omit', signal: abort.signal };
    const response = await until(abort.signal, this.#fetch(path, init));
    if (!response.ok) throw await problemOf(response);
    if (response.body === null) throw new Interrupted('The server sent no events.');
    this.#listen(abort);
    const body = response.body.getReader();
    const frames = new FrameReader();
    try {
      for (;;) {
        const { done, value } = await until(abort.signal, body.read());
        if (done) return;
        this.#listen(abort);
        if (this.#state.kind === 'connecting') this.#set({ kind: 'live' });
        this.#take(frames.push(value));
      }
    } finally {
      // The connection is over in any case; whether it could be told so does not matter.
      void body.cancel().catch(() => undefined);
    }
  }

  /** Bytes came: the connection lives. Silence for too long ends it. */
  #listen(abort: AbortController): void {
    this.#heardAt = this.#clock.now();
    this.#cancelTimer();
    this.#stopTimer = this.#clock.after(SILENCE_MS_MAX, () => abort.abort(new Interrupted(SILENT)));
  }

  /** Hands over the events up to the first that is missing or broken. */
  #take(frames: readonly { name: string; id: string | null; data: string; durable: number | null }[]): void {
    const batch: Received[] = [];
    try {
      for (const frame of frames) {
        const isNew = frame.id === null || this.#isNext(frame.id);
        if (!isNew) continue;
        const event = read(frame);
        if (frame.id !== null) this.#advance(frame.id);
        if (event === null) continue;
        batch.push({ event, isFresh: frame.durable !== null });
      }
    } finally {
      if (batch.length > 0) this.#handOver(batch);
    }
  }

  /** An error of the page must not look like an error of the connection. */
  #handOver(batch: readonly Received[]): void {
    try {
      this.#options.onEvents(batch);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  }

  #isNext(id: string): boolean {
    const place = parseId(id);
    const step = place === null ? 'gap' : follows(this.#last, place);
    if (step === 'gap') throw new Interrupted('An event is missing. Asking the server for it again.');
    return step === 'next';
  }

  #advance(id: string): void {
    this.#last = parseId(id) ?? this.#last;
    this.#lastId = id;
    this.#backoff = BACKOFF_MS_MIN;
  }

  #finishIf(abort: AbortController, why: Problem): void {
    if (this.#abort === abort) this.#finish(why);
  }

  #finish(why: Problem | null): void {
    if (this.#state.kind === 'ended') return;
    this.#cancelTimer();
    this.#stopWaking();
    this.#set({ kind: 'ended', why });
    this.#abort?.abort();
  }

  #cancelTimer(): void {
    this.#stopTimer?.();
    this.#stopTimer = null;
  }

  #set(state: StreamState): void {
    if (this.#state.kind === 'ended') return;
    this.#state = state;
    this.#options.onState(state);
  }
}

const SILENT = 'The server has been silent for too long. Connecting again.';

function read(frame: { name: string; id: string | null; data: string }): HallEvent | null {
  try {
    return readEvent(frame.name, frame.id, frame.data);
  } catch {
    throw new Interrupted('An event of the server can’t be read. Asking for it again.');
  }
}

/** Waits for a promise, but not longer than until the signal is aborted: a read that hangs must not hold up the rest. */
function until<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(new Interrupted('The connection was closed.'));
    if (signal.aborted) {
      // Nobody waits for it any more, so its error is of no use.
      promise.catch(() => undefined);
      return stop();
    }
    signal.addEventListener('abort', stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, then) {
    const timer = setTimeout(then, ms);
    return () => clearTimeout(timer);
  },
};

function onPageWake(wake: () => void): () => void {
  if (typeof document === 'undefined') return () => undefined;
  const onVisible = (): void => {
    if (document.visibilityState === 'visible') wake();
  };
  document.addEventListener('visibilitychange', onVisible);
  window.addEventListener('online', wake);
  return () => {
    document.removeEventListener('visibilitychange', onVisible);
    window.removeEventListener('online', wake);
  };
}
