import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Stage } from '../../src/stage';
import type { Received, StreamOptions, StreamState } from '../../src/stream';
import { SessionStore } from '../../src/ui/session_store';
import { memoryStore, Vault } from '../../src/ui/vault';
import type { HallEvent, SessionView } from '../../src/wire';
import { settled, TestClock } from '../core/clock';
import { Script } from '../core/script';

const VIEW: SessionView = {
  session: 's', role: 'owner', team: 'demo', money: 'play', state: 'works', free_msat: 0, payable_msat: 0, at_work_msat: 0, spent_msat: 0,
  withdrawn_msat: 0, invoices: [], requests: [], newest_event: '0.0', agents: [],
};

/** A server whose replies the test gives, in any order. */
class FakeServer {
  readonly asked: { readonly url: string; readonly key: string | null; readonly body: unknown; reply(body: object, status?: number): Promise<void>; fail(): Promise<void> }[] = [];

  readonly fetch = (url: string, init?: RequestInit): Promise<Response> =>
    new Promise((resolve, reject) => {
      const key = (init?.headers as Record<string, string>)['idempotency-key'] ?? null;
      const body: unknown = typeof init?.body === 'string' ? JSON.parse(init.body) : null;
      this.asked.push({
        url,
        key,
        body,
        reply: (value, status = 200) => {
          resolve(new Response(JSON.stringify(value), { status }));
          return settled();
        },
        fail: () => {
          reject(new TypeError('Failed to fetch'));
          return settled();
        },
      });
    });

  at(index: number): FakeServer['asked'][number] {
    const found = this.asked.at(index);
    if (found === undefined) throw new Error(`request ${index} was not sent`);
    return found;
  }
}

let server: FakeServer;
let clock: TestClock;
let stream: StreamOptions | null;
let vault: Vault;

beforeEach(() => {
  server = new FakeServer();
  clock = new TestClock();
  stream = null;
  vault = new Vault(memoryStore());
  vi.stubGlobal('fetch', server.fetch);
});

afterEach(() => {
  vi.unstubAllGlobals();
});

async function opened(view: Partial<SessionView> = {}): Promise<SessionStore> {
  const openStream = (options: StreamOptions): { wake(): void; close(): void } => {
    stream = options;
    return { wake: () => undefined, close: () => undefined };
  };
  const store = new SessionStore('s', 'gh_owner', vault, { clock, openStream, onFrame: (then) => clock.after(16, then) });
  await settled();
  await server.at(-1).reply({ ...VIEW, ...view });
  return store;
}

const send = (events: readonly HallEvent[], isFresh: boolean): void => stream?.onEvents(events.map((event): Received => ({ event, isFresh })));
const say = (state: StreamState): void => stream?.onState(state);

test('history_that_comes_while_the_scene_is_behind_is_shown_in_the_end', async () => {
  const store = await opened();
  const stages: Stage[] = [];
  const script = new Script().open('1');
  // Long after the beginning of the session.
  script.at = 60_000;
  script.hire('1.9');
  send(script.events, false);
  store.watchStage((stage) => stages.push(stage));
  const first = script.events.length;
  script.hire('1.1').hire('1.2').hire('1.3');
  send(script.events.slice(first), true);
  await clock.pass(50);
  expect(store.director.behind(clock.now())).toBeGreaterThan(0);
  // The connection was lost for a moment: these are not fresh.
  const second = script.events.length;
  script.hire('1.4').close('1.1');
  send(script.events.slice(second), false);
  await clock.pass(5000);
  expect(store.cursor).toBe(script.events.length);
  expect(stages.at(-1)?.figures.map((figure) => `${figure.id} ${figure.condition}`)).toEqual(['1 waits', '1.1 done', '1.2 works', '1.3 works', '1.4 works', '1.9 works']);
  store.close();
});

test('work_that_was_asked_here_and_was_too_fast_is_shown_again_once_there_is_a_scene', async () => {
  vault.remember('s', { token: 'gh_owner', isUnseen: true });
  for (const isExpected of [true, false]) {
    const store = await opened();
    // It ended before the page could connect, and before the scene was loaded.
    send(new Script().open('1').hire('1.1').hire('1.2').close('1.1').close('1.2').close('1').events, false);
    await clock.pass(3000);
    store.watchStage(() => undefined);
    expect([store.isReplaying, store.isSpread]).toEqual([isExpected, isExpected]);
    store.close();
  }
});

test('without_a_scene_every_fact_is_shown_at_once', async () => {
  const store = await opened();
  send(new Script().open('1').hire('1.1').hire('1.2').events, true);
  expect([store.cursor, store.isLive, store.agents.length]).toEqual([5, true, 3]);
  store.close();
});

test('only_an_answer_is_announced_as_one', async () => {
  for (const [outcome, words] of [
    ['done', 'Reported: \u2068worker\u2069. The answer is there.'],
    [{ exhausted: 'purse' }, 'Ran dry: \u2068worker\u2069. The answer is there.'],
    ['failed', 'Failed: \u2068worker\u2069.'],
    ['cancelled', 'Cancelled: \u2068worker\u2069.'],
  ] as const) {
    const store = await opened();
    send(new Script().open('1').close('1', 'so it was', outcome).events, true);
    await clock.pass(2000);
    expect(store.notice).toBe(words);
    store.close();
  }
});

test('an_older_reply_does_not_replace_a_newer_one', async () => {
  const store = await opened();
  store.refreshView(0);
  await clock.pass(0);
  const old = server.at(-1);
  store.refreshView(0);
  await clock.pass(0);
  await server.at(-1).reply({ ...VIEW, spent_msat: 9000 });
  await old.reply({ ...VIEW, spent_msat: 4000 });
  expect(store.view?.spent_msat).toBe(9000);
  store.close();
});

test('a_view_that_could_not_be_loaded_is_asked_for_again_without_another_event', async () => {
  const store = await opened();
  store.refreshView(0);
  await clock.pass(0);
  const before = server.asked.length;
  await server.at(-1).reply({ code: 'internal', detail: 'Broken.' }, 500);
  await clock.pass(5000);
  expect(server.asked.length).toBe(before + 1);
  await server.at(-1).reply({ ...VIEW, state: 'ready', spent_msat: 5000 });
  expect(store.view?.spent_msat).toBe(5000);
  // A token that was revoked is not tried again.
  store.refreshView(0);
  await clock.pass(0);
  await server.at(-1).reply({ code: 'unauthorized', detail: 'No.' }, 401);
  const after = server.asked.length;
  await clock.pass(100_000);
  expect(server.asked.length).toBe(after);
  store.close();
});

test('work_that_has_stopped_is_noticed_without_an_event', async () => {
  const store = await opened();
  say({ kind: 'live' });
  await clock.pass(1000);
  await server.at(-1).reply(VIEW);
  const before = server.asked.length;
  await clock.pass(40_000);
  expect(server.asked.length).toBe(before + 1);
  await server.at(-1).reply({ ...VIEW, state: 'stopped' });
  expect(store.view?.state).toBe('stopped');
  await clock.pass(100_000);
  expect(server.asked.length).toBe(before + 1);
  store.close();
});

test('a_question_that_waits_for_its_payment_is_asked_once', async () => {
  vault.remember('s', { token: 'gh_owner', pending: { task: 'Why?', budgetSats: 5, key: 'k' } });
  const store = await opened({ state: 'unpaid' });
  const asks = (): FakeServer['asked'] => server.asked.filter((sent) => sent.url.endsWith('/requests'));
  expect(asks()).toHaveLength(0);
  for (let times = 0; times < 3; times += 1) {
    store.refreshView(0);
    await clock.pass(0);
    await server.asked.findLast((sent) => !sent.url.endsWith('/requests'))?.reply({ ...VIEW, state: 'ready', free_msat: 5000 });
  }
  expect(asks().map(({ key, body }) => [key, body])).toEqual([['k-1', { task: 'Why?', budget_sats: 5 }]]);
  // A refusal is said, and only a person tries again, with the same key.
  await asks()[0]?.reply({ code: 'busy', detail: 'The team is at work.' }, 409);
  expect([store.pendingProblem?.code, vault.find('s')?.pending?.task]).toEqual(['busy', 'Why?']);
  store.askNow();
  await settled();
  expect(asks().map(({ key }) => key)).toEqual(['k-1', 'k-1']);
  await asks()[1]?.reply({ root: '1' });
  expect([store.pendingProblem, vault.find('s')?.pending]).toEqual([null, null]);
  store.close();
});
