// One open session: its events, its place on the timeline, its selection and its connection. The screens draw this and call its
// methods. It never loses what it has: a lost connection keeps the last state on the page.
import { Api, Problem } from '../api';
import { Director } from '../director';
import { isolated, SessionLog, type Moment } from '../log';
import type { Stage } from '../stage';
import { type Clock, EventStream, FOR_GOOD, type Received, type StreamOptions, type StreamState, systemClock } from '../stream';
import type { Fact, SessionView } from '../wire';
import { Rows, type AgentView } from './model';
import { GATHER_MS, gather, type News } from './notices';
import { asProblem, keyedApi } from './problem';
import { Timer } from './timer';
import type { Remembered, Vault } from './vault';

const TOAST_MS = 5000;
/** A session that is younger than this is shown from its beginning. */
const YOUNG_MS = 3000;
/** A person needs about this long to see one contract come and go. */
const READ_MS = 500;
/** The scene is loaded within this time. */
const SCENE_MS_MAX = 20_000;
const VIEW_MS = 400;
const UNPAID_MS = 2500;
/** Work that stops leaves no event. */
const AT_WORK_MS = 30_000;
const RETRY_MS_MAX = 15_000;

/** What a store takes from the page. Tests have their own. */
export interface Surroundings {
  /** Milliseconds, as `performance.now` counts them. */
  readonly clock: Clock;
  /** Calls back with the next frame. Returns a function that prevents it. */
  readonly onFrame: (then: () => void) => () => void;
  readonly openStream: (options: StreamOptions) => Pick<EventStream, 'wake' | 'close'>;
}

const PAGE: Surroundings = {
  clock: { now: () => performance.now(), after: systemClock.after },
  onFrame: (then) => {
    const frame = requestAnimationFrame(then);
    return () => cancelAnimationFrame(frame);
  },
  openStream: (options) => new EventStream(options),
};

export class SessionStore {
  readonly session: string;
  readonly token: string;
  readonly api: Api;
  readonly log = new SessionLog();
  readonly rows = new Rows(this.log);
  readonly director = new Director(this.log);
  view: SessionView | null = null;
  role: Remembered['role'] = 'unknown';
  connection: StreamState = { kind: 'connecting' };
  /** Why the session can't be shown at all. */
  problem: Problem | null = null;
  /** Why the question that waits for its payment could not be asked. */
  pendingProblem: Problem | null = null;
  selected: string | null = null;
  notice = '';
  /** What an order did, for a moment. */
  toast: string | null = null;
  readonly #vault: Vault;
  readonly #surroundings: Surroundings;
  readonly #listeners = new Set<() => void>();
  #stream: Pick<EventStream, 'wake' | 'close'> | null = null;
  readonly #stages = new Set<(stage: Stage) => void>();
  #agents: { readonly moment: Moment; readonly key: string; readonly all: readonly AgentView[] } | null = null;
  /** What was drawn last: the cursor and the mode. */
  #drawn = '';
  #cancelFrame: (() => void) | null = null;
  readonly #tickTimer: Timer;
  #news: { what: News; who: string }[] = [];
  readonly #newsTimer: Timer;
  readonly #viewTimer: Timer;
  readonly #toastTimer: Timer;
  readonly #retryTimer: Timer;
  #retryMs = 1000;
  /** How many times the view was asked for, and which of these replies was taken last. */
  #viewsAsked = 0;
  #viewTaken = 0;
  /** Until when the newest request may be shown again, because it was too fast to read. */
  #replayUntil: number | null = null;
  #isClosed = false;
  #isAsking = false;

  constructor(session: string, token: string, vault: Vault, surroundings: Surroundings = PAGE) {
    this.session = session;
    this.token = token;
    this.#vault = vault;
    this.#surroundings = surroundings;
    const timer = (): Timer => new Timer(surroundings.clock);
    [this.#tickTimer, this.#newsTimer, this.#viewTimer, this.#toastTimer, this.#retryTimer] = [timer(), timer(), timer(), timer(), timer()];
    this.api = new Api({ token });
    void this.load();
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  close(): void {
    this.#isClosed = true;
    this.#stream?.close();
    this.#cancelFrame?.();
    for (const timer of [this.#newsTimer, this.#viewTimer, this.#retryTimer, this.#tickTimer, this.#toastTimer]) timer.cancel();
  }

  get #now(): number {
    return this.#surroundings.clock.now();
  }

  /** The token for orders that move money. Only the operator may give some of them. */
  get moneyToken(): string {
    return (this.#vault.find(this.session)?.needsOperator === true ? this.#vault.operator() : null) ?? this.token;
  }

  /** Whether what happens now is shown. */
  get isLive(): boolean {
    return this.director.mode(this.#now).kind === 'live';
  }

  get isReplaying(): boolean {
    return this.director.mode(this.#now).kind === 'replay';
  }

  /** Whether the session is shown slower than it happened. */
  get isSpread(): boolean {
    return this.director.spread(this.#now);
  }

  /** How many events lead to what is shown. */
  get cursor(): number {
    return this.director.cursor(this.#now);
  }

  get moment(): Moment {
    return this.director.moment(this.#now);
  }

  get agents(): readonly AgentView[] {
    const { moment, isLive } = this;
    const key = `${isLive ? this.log.version : 'past'}`;
    if (this.#agents?.moment !== moment || this.#agents.key !== key) this.#agents = { moment, key, all: this.rows.at(moment, isLive) };
    return this.#agents.all;
  }

  get stage(): Stage {
    return this.director.at(this.#now);
  }

  /** The figures whose portal is open. */
  get steppingOut(): ReadonlySet<string> {
    return new Set(this.stage.beats.flatMap((beat) => (beat.kind === 'portal' ? [beat.figure] : [])));
  }

  /** Calls with each stage that is to be drawn, while somebody draws. */
  watchStage(listener: (stage: Stage) => void): () => void {
    this.#stages.add(listener);
    this.#replayWhatWasTooFast();
    listener(this.stage);
    this.#tick();
    return () => void this.#stages.delete(listener);
  }

  select(id: string | null): void {
    this.selected = id;
    this.director.select(id);
    this.#changed();
  }

  unfold(id: string): void {
    this.director.unfold(id);
    this.#changed();
  }

  seek(index: number): void {
    this.director.scrub(index);
    this.#changed();
  }

  goLive(): void {
    this.director.toLive();
    this.#changed();
  }

  /** Plays on from a place in the past, or the newest request again. */
  replay(): void {
    const mode = this.director.mode(this.#now);
    const from = mode.kind === 'still' && mode.index < this.log.length ? mode.index : this.#newestRequest();
    this.director.replay(this.#now, from);
    this.#changed();
  }

  pause(): void {
    this.seek(this.cursor);
  }

  /** How many events there are before the newest request. */
  #newestRequest(): number {
    let from = 0;
    for (const marker of this.log.markers) if (marker.kind === 'request') from = marker.index;
    return from;
  }

  /** Whether the newest request ended before anybody could read what happened. */
  #wasTooFast(): boolean {
    const root = this.log.newest().newestRoot;
    const contracts = root === null ? 0 : this.log.newest().subtree(root.path).length;
    return contracts > 1 && (root?.closed_at ?? Number.POSITIVE_INFINITY) - (root?.opened_at ?? 0) < contracts * READ_MS;
  }

  /** Work that was too fast to read is shown again, if somebody sees the scene, or soon will. */
  #replayWhatWasTooFast(): void {
    if (this.#replayUntil === null || this.#stages.size === 0) return;
    if (this.#now <= this.#replayUntil) this.director.replay(this.#now, this.#newestRequest());
    this.#replayUntil = null;
  }

  /** Draws the stage again while something moves, and sleeps until the next change. Nothing is drawn on a hidden page. */
  #tick(): void {
    this.#cancelFrame?.();
    this.#cancelFrame = null;
    this.#tickTimer.cancel();
    if (this.#isClosed) return;
    const now = this.#now;
    if (this.#stages.size > 0) {
      const stage = this.director.at(now);
      for (const listener of this.#stages) listener(stage);
    }
    const drawn = `${this.director.cursor(now)} ${this.director.mode(now).kind}`;
    if (drawn !== this.#drawn) {
      this.#drawn = drawn;
      this.#redraw();
    }
    const next = this.director.nextChange(now);
    if (next === null) return;
    if (next <= now && this.#stages.size > 0) this.#cancelFrame = this.#surroundings.onFrame(() => this.#tick());
    else this.#tickTimer.set(Math.min(1000, Math.max(50, next - now)), () => this.#tick());
  }

  /** Says what an order did, on the page and to screen readers. */
  tell(words: string): void {
    this.notice = words;
    this.toast = words;
    this.#toastTimer.set(TOAST_MS, () => {
      this.toast = null;
      this.#changed();
    });
    this.#changed();
  }

  /** Connects at once, instead of after the pause. */
  reconnect(): void {
    if (this.#stream !== null) this.#stream.wake();
    else void this.load();
  }

  /** Loads the state of the session, then follows its events. */
  async load(): Promise<void> {
    this.#retryTimer.cancel();
    this.connection = { kind: 'connecting' };
    this.#changed();
    try {
      await this.#loadView();
    } catch (error) {
      return this.#failed(asProblem(error));
    }
    if (this.#isClosed || this.#stream !== null) return;
    this.#retryMs = 1000;
    this.#stream = this.#surroundings.openStream({
      session: this.session,
      token: this.token,
      onEvents: (events) => this.#receive(events),
      onState: (state) => this.#connected(state),
    });
    this.#changed();
  }

  #failed(problem: Problem): void {
    if (this.#isClosed) return;
    if (FOR_GOOD.includes(problem.status)) {
      this.problem = problem;
      this.connection = { kind: 'ended', why: problem };
    } else {
      const until = Date.now() + this.#retryMs;
      this.connection = { kind: 'waiting', until, why: problem.detail };
      this.#retryTimer.set(this.#retryMs, () => void this.load());
      this.#retryMs = Math.min(RETRY_MS_MAX, this.#retryMs * 2);
    }
    this.#changed();
  }

  #connected(state: StreamState): void {
    this.connection = state;
    if (state.kind === 'live') this.refreshView();
    this.#changed();
  }

  #receive(events: readonly Received[]): void {
    let [isMoney, hasEnded, hasNew, hasFresh] = [false, false, false, false];
    const heard: { contract: string; fact: Fact }[] = [];
    for (const { event, isFresh } of events) {
      if (!this.log.add(event)) continue;
      hasNew = true;
      hasFresh ||= isFresh;
      if (event.kind === 'account') isMoney = true;
      if (event.kind === 'fact') {
        if (event.fact.kind === 'closed' && !event.contract.includes('.')) {
          isMoney = true;
          hasEnded ||= isFresh || this.#vault.find(this.session)?.isUnseen === true;
        }
        if (isFresh) heard.push({ contract: event.contract, fact: event.fact });
      }
    }
    for (const { contract, fact } of heard) this.#hear(contract, fact);
    // Motion is for those who see the scene. In 2D every fact is shown at once.
    const isYoung = this.view?.state === 'works' && this.view.requests.length <= 1 && this.log.timeAfter(this.log.length) < YOUNG_MS;
    const now = this.#now;
    // History that comes while older events are still to be shown must wait for them.
    const isMoving = this.#stages.size > 0 && (hasFresh || isYoung || this.director.behind(now) > 0);
    if (hasNew && isMoving) this.director.feed(now);
    else if (hasNew) this.director.skip();
    if (hasEnded) {
      this.#vault.remember(this.session, { isUnseen: false });
      this.#replayUntil = this.isLive && this.#wasTooFast() ? now + SCENE_MS_MAX : null;
      this.#replayWhatWasTooFast();
    }
    if (isMoney) this.refreshView();
    this.#changed();
  }

  #hear(contract: string, fact: Fact): void {
    if (fact.kind !== 'opened' && fact.kind !== 'refused' && fact.kind !== 'closed') return;
    const state = this.log.newest().get(contract);
    const who = isolated(state === null ? contract : this.log.nameOf(state));
    if (fact.kind === 'opened' && state?.hirer != null) this.#news.push({ what: 'hired', who });
    else if (fact.kind === 'refused' && fact.agent !== null) this.#news.push({ what: 'refused', who: `${isolated(fact.agent)} for ${who}` });
    else if (fact.kind === 'closed' && state !== null) {
      const what = state.state === 'done' ? 'reported' : state.state === 'works' || state.state === 'waits' ? null : state.state;
      if (what !== null) this.#news.push({ what, who });
    } else return;
    if (this.#newsTimer.isSet) return;
    this.#newsTimer.set(GATHER_MS, () => {
      const state = this.log.newest().newestRoot?.state;
      const isAnswered = this.#news.some(({ what }) => what !== 'hired') && (state === 'done' || state === 'ran_dry');
      this.notice = `${gather(this.#news)}${isAnswered ? ' The answer is there.' : ''}`;
      this.#news = [];
      this.#changed();
    });
  }

  /** Loads the money and the requests of the session again, soon. */
  refreshView(after = VIEW_MS): void {
    if (this.#isClosed) return;
    this.#viewTimer.set(after, () => {
      // The stream tells of a lost connection.
      this.#loadView().catch((error: unknown) => {
        if (!FOR_GOOD.includes(asProblem(error).status)) this.#refreshLater(UNPAID_MS);
      });
    });
  }

  #refreshLater(after: number): void {
    if (!this.#viewTimer.isSet) this.refreshView(after);
  }

  /** Loads the view. A reply that comes after a newer one is dropped. */
  async #loadView(): Promise<void> {
    const mine = (this.#viewsAsked += 1);
    const view = await this.api.session(this.session);
    if (this.#isClosed || mine < this.#viewTaken) return;
    this.#viewTaken = mine;
    this.#take(view);
  }

  #take(view: SessionView): void {
    // A page on which nothing happens draws nothing.
    const hasChanged = JSON.stringify(view) !== JSON.stringify(this.view);
    this.view = view;
    this.role = view.role === 'viewer' ? 'viewer' : 'owner';
    const task = view.requests.at(-1)?.task?.excerpt ?? this.#vault.find(this.session)?.task ?? null;
    this.#vault.remember(this.session, { token: this.token, role: this.role, team: view.team, money: view.money, task });
    if (hasChanged) this.#changed();
    this.#askPending();
    if (view.invoices.some((invoice) => invoice.state !== 'paid')) this.#refreshLater(UNPAID_MS);
    else if (view.state === 'works') this.#refreshLater(AT_WORK_MS);
  }

  /** Asks the question that waited for its payment. */
  #askPending(): void {
    const pending = this.#vault.find(this.session)?.pending ?? null;
    if (pending === null || this.#isAsking || this.view?.state !== 'ready' || this.pendingProblem !== null) return;
    if (this.view.free_msat < pending.budgetSats * 1000) return;
    this.askNow();
  }

  /** Tries again to ask the question that waited for its payment, with the same key. */
  askNow(): void {
    const pending = this.#vault.find(this.session)?.pending ?? null;
    if (pending === null) return;
    this.#isAsking = true;
    this.pendingProblem = null;
    keyedApi(this.moneyToken, pending.key)
      .request(this.session, pending.task, pending.budgetSats)
      .then(
        () => {
          this.#vault.remember(this.session, { pending: null });
          this.refreshView();
        },
        (error: unknown) => {
          this.pendingProblem = asProblem(error);
        },
      )
      .finally(() => {
        this.#isAsking = false;
        this.#changed();
      });
  }

  #changed(): void {
    this.#redraw();
    this.#tick();
  }

  #redraw(): void {
    for (const listener of this.#listeners) listener();
  }
}
