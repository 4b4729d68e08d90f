// One open session: its events, its place on the timeline, its selection and its connection. The screens draw this and call its
// methods. It never loses what it has: a lost connection keeps the last state on the page.
import { Api, Problem } from '../api';
import { Director } from '../director';
import { SessionLog, type Moment } from '../log';
import type { Stage } from '../stage';
import { EventStream, type Received, type StreamState } from '../stream';
import type { Fact, SessionView } from '../wire';
import { Rows, type AgentView } from './model';
import { GATHER_MS, gather, type News } from './notices';
import { asProblem, keyedApi } from './problem';
import type { Vault } from './vault';

export type Role = 'owner' | 'viewer' | 'unknown';

const TOAST_MS = 5000;
/** A session that is younger than this is shown from its beginning. */
const YOUNG_MS = 3000;
/** A person needs about this long to see one contract come and go. */
const READ_MS = 500;
const VIEW_MS = 400;
const UNPAID_MS = 2500;
const RETRY_MS_MAX = 15_000;

export class SessionStore {
  readonly session: string;
  readonly token: string;
  readonly api: Api;
  readonly log = new SessionLog();
  readonly rows = new Rows(this.log);
  readonly director = new Director(this.log);
  view: SessionView | null = null;
  role: Role = 'unknown';
  connection: StreamState = { kind: 'connecting' };
  /** Why the session can't be shown at all. */
  problem: Problem | null = null;
  /** Why the question that waits for its payment could not be asked. */
  pendingProblem: Problem | null = null;
  selected: string | null = null;
  notice = '';
  /** What an order did, for a moment. */
  toast: string | null = null;
  /** Counts every change. */
  version = 0;
  readonly #vault: Vault;
  readonly #listeners = new Set<() => void>();
  #stream: EventStream | null = null;
  readonly #stages = new Set<(stage: Stage) => void>();
  #agents: { readonly moment: Moment; readonly key: string; readonly all: readonly AgentView[] } | null = null;
  /** What was drawn last: the cursor and the mode. */
  #drawn = '';
  #tickFrame = 0;
  #tickTimer: ReturnType<typeof setTimeout> | null = null;
  #news: { what: News; who: string }[] = [];
  #newsTimer: ReturnType<typeof setTimeout> | null = null;
  #viewTimer: ReturnType<typeof setTimeout> | null = null;
  #toastTimer: ReturnType<typeof setTimeout> | null = null;
  #retryTimer: ReturnType<typeof setTimeout> | null = null;
  #retryMs = 1000;
  #isClosed = false;
  #isAsking = false;

  constructor(session: string, token: string, vault: Vault) {
    this.session = session;
    this.token = token;
    this.#vault = vault;
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
    cancelAnimationFrame(this.#tickFrame);
    for (const timer of [this.#newsTimer, this.#viewTimer, this.#retryTimer, this.#tickTimer, this.#toastTimer]) if (timer !== null) clearTimeout(timer);
  }

  /** The token for orders that move money. Only the operator may give some of them. */
  get moneyToken(): string {
    return (this.#vault.find(this.session)?.needsOperator === true ? this.#vault.operator() : null) ?? this.token;
  }

  /** Whether what happens now is shown. */
  get isLive(): boolean {
    return this.director.mode(performance.now()).kind === 'live';
  }

  get isReplaying(): boolean {
    return this.director.mode(performance.now()).kind === 'replay';
  }

  /** Whether the session is shown slower than it happened. */
  get isSpread(): boolean {
    return this.director.spread(performance.now());
  }

  /** How many events lead to what is shown. */
  get cursor(): number {
    return this.director.cursor(performance.now());
  }

  get moment(): Moment {
    return this.director.moment(performance.now());
  }

  get agents(): readonly AgentView[] {
    const { moment, isLive } = this;
    const key = `${isLive ? this.log.version : 'past'}`;
    if (this.#agents?.moment !== moment || this.#agents.key !== key) this.#agents = { moment, key, all: this.rows.at(moment, isLive) };
    return this.#agents.all;
  }

  get stage(): Stage {
    return this.director.at(performance.now());
  }

  /** The figures whose portal is open. */
  get steppingOut(): ReadonlySet<string> {
    return new Set(this.stage.beats.flatMap((beat) => (beat.kind === 'portal' ? [beat.figure] : [])));
  }

  /** Calls with each stage that is to be drawn, while somebody draws. */
  watchStage(listener: (stage: Stage) => void): () => void {
    this.#stages.add(listener);
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
    const mode = this.director.mode(performance.now());
    const from = mode.kind === 'still' && mode.index < this.log.length ? mode.index : this.#newestRequest();
    this.director.replay(performance.now(), from);
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

  /** Draws the stage again while something moves, and sleeps until the next change. Nothing is drawn on a hidden page. */
  #tick(): void {
    cancelAnimationFrame(this.#tickFrame);
    if (this.#tickTimer !== null) clearTimeout(this.#tickTimer);
    this.#tickTimer = null;
    if (this.#isClosed) return;
    const now = performance.now();
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
    if (next <= now && this.#stages.size > 0) this.#tickFrame = requestAnimationFrame(() => this.#tick());
    else this.#tickTimer = setTimeout(() => this.#tick(), Math.min(1000, Math.max(50, next - now)));
  }

  /** Says what an order did, on the page and to screen readers. */
  tell(words: string): void {
    this.notice = words;
    this.toast = words;
    if (this.#toastTimer !== null) clearTimeout(this.#toastTimer);
    this.#toastTimer = setTimeout(() => {
      this.toast = null;
      this.#changed();
    }, TOAST_MS);
    this.#changed();
  }

  /** Connects at once, instead of after the pause. */
  reconnect(): void {
    if (this.#stream !== null) this.#stream.wake();
    else void this.load();
  }

  /** Loads the state of the session, then follows its events. */
  async load(): Promise<void> {
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    this.connection = { kind: 'connecting' };
    this.#changed();
    try {
      const view = await this.api.session(this.session);
      this.role = view.role === 'viewer' ? 'viewer' : 'owner';
      this.#take(view);
      this.#vault.remember(this.session, { role: this.role });
    } catch (error) {
      return this.#failed(asProblem(error));
    }
    if (this.#isClosed || this.#stream !== null) return;
    this.#retryMs = 1000;
    this.#stream = new EventStream({
      session: this.session,
      token: this.token,
      onEvents: (events) => this.#receive(events),
      onState: (state) => this.#connected(state),
    });
    this.#changed();
  }

  #failed(problem: Problem): void {
    if (this.#isClosed) return;
    if ([400, 401, 403, 404, 410].includes(problem.status)) {
      this.problem = problem;
      this.connection = { kind: 'ended', why: problem };
    } else {
      const until = Date.now() + this.#retryMs;
      this.connection = { kind: 'waiting', until, why: problem.detail };
      this.#retryTimer = setTimeout(() => void this.load(), this.#retryMs);
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
    let isMoney = false;
    let hasEnded = false;
    const heard: { contract: string; fact: Fact }[] = [];
    for (const { event, isFresh } of events) {
      if (!this.log.add(event)) continue;
      if (event.kind === 'account') isMoney = true;
      if (event.kind === 'fact') {
        if (event.fact.kind === 'closed' && !event.contract.includes('.')) {
          isMoney = true;
          hasEnded ||= isFresh;
        }
        if (isFresh) heard.push({ contract: event.contract, fact: event.fact });
      }
    }
    for (const { contract, fact } of heard) this.#hear(contract, fact);
    // Motion is for those who see the scene. In 2D every fact is shown at once.
    const isYoung = this.view?.state === 'works' && this.view.requests.length <= 1 && this.log.timeAfter(this.log.length) < YOUNG_MS;
    const isShown = this.#stages.size > 0 && events.some(({ isFresh, event }) => (isFresh || isYoung) && event.kind !== 'activity');
    if (isShown) this.director.feed(performance.now());
    else if (this.#stages.size === 0 || this.director.behind(performance.now()) === 0) this.director.skip();
    if (hasEnded && this.#stages.size > 0 && this.isLive && this.#wasTooFast()) this.director.replay(performance.now(), this.#newestRequest());
    if (isMoney) this.refreshView();
    this.#changed();
  }

  #hear(contract: string, fact: Fact): void {
    if (fact.kind !== 'opened' && fact.kind !== 'refused' && fact.kind !== 'closed') return;
    const state = this.log.newest().get(contract);
    const who = state === null ? contract : this.log.nameOf(state);
    if (fact.kind === 'opened' && state?.hirer != null) this.#news.push({ what: 'hired', who });
    else if (fact.kind === 'refused' && fact.agent !== null) this.#news.push({ what: 'refused', who: `${fact.agent} for ${who}` });
    else if (fact.kind === 'closed' && state !== null) {
      const what = state.state === 'done' ? 'reported' : state.state === 'works' || state.state === 'waits' ? null : state.state;
      if (what !== null) this.#news.push({ what, who });
    } else return;
    this.#newsTimer ??= setTimeout(() => {
      this.#newsTimer = null;
      const roots = this.log.newest().roots;
      const isOver = this.#news.some(({ what }) => what !== 'hired') && roots.length > 0 && roots.at(-1)?.report != null;
      this.notice = `${gather(this.#news)}${isOver ? ' The answer is there.' : ''}`;
      this.#news = [];
      this.#changed();
    }, GATHER_MS);
  }

  /** Loads the money and the requests of the session again, soon. */
  refreshView(after = VIEW_MS): void {
    if (this.#isClosed) return;
    if (this.#viewTimer !== null) clearTimeout(this.#viewTimer);
    this.#viewTimer = setTimeout(() => {
      this.#viewTimer = null;
      this.api.session(this.session).then(
        (view) => this.#take(view),
        // The stream tells of a lost connection; the view comes with the next event or the next try.
        () => this.#watchUnpaid(),
      );
    }, after);
  }

  #take(view: SessionView): void {
    if (this.#isClosed) return;
    this.view = view;
    const task = view.requests.at(-1)?.task?.excerpt ?? this.#vault.find(this.session)?.task ?? null;
    this.#vault.remember(this.session, { token: this.token, team: view.team, money: view.money, task });
    this.#changed();
    this.#askPending();
    this.#watchUnpaid();
  }

  /** Looks again while an invoice may be paid. */
  #watchUnpaid(): void {
    const isWatched = this.view?.invoices.some((invoice) => invoice.state !== 'paid') === true;
    if (isWatched && this.#viewTimer === null) this.refreshView(UNPAID_MS);
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
    this.version += 1;
    for (const listener of this.#listeners) listener();
  }
}
