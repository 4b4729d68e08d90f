// What the page costs: bytes before the first view, work for each frame, and nothing at all while nothing happens.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Browser, Page, Request } from 'playwright-core';
import type { FrameStats } from '../src/stage';
import { Peer, Script } from './synthetic';
import { eventCount, type Faults, hasContracts, launch, open, scrub, Server, until } from './world';

const FIRST_VIEW_BYTES_MAX = 120_000;
const SCENE_BYTES_MAX = 230_000;
const DRAW_CALLS_MAX = 80;
const TRIANGLES_MAX = 500_000;
/** A busy machine is slower than the target, and this is no benchmark: only a much slower scene fails. */
const UPDATE_MS_TARGET = 4;
const UPDATE_MS_MAX = 12;
const FRAME_MS = 120_000;

let browser: Browser;
let peer: Peer;
const server = new Server();
let opened: { page: Page; faults: Faults };
const script = new Script('crowd');
/** How many events lead to this many contracts. */
const places = new Map<number, number>([[0, 0]]);

interface Work {
  /** How many times something was drawn. */
  draws: number;
  /** Frames and short timers that are asked for: without them, nothing is drawn until something happens. */
  readonly pending: Set<string>;
}

/** Counts everything that is drawn, and what is still to come. Runs before the page's own code. */
function countWork(): void {
  const work: Work = { draws: 0, pending: new Set() };
  Object.assign(window, { work });
  const { requestAnimationFrame: frame, cancelAnimationFrame: cancelFrame, setTimeout: timeout, clearTimeout: clear } = window;
  window.requestAnimationFrame = (then) => {
    const id = frame((time) => {
      work.pending.delete(`frame ${id}`);
      then(time);
    });
    work.pending.add(`frame ${id}`);
    return id;
  };
  window.cancelAnimationFrame = (id) => {
    work.pending.delete(`frame ${id}`);
    cancelFrame(id);
  };
  // Longer ones look for a silent server, and draw nothing unless there is news.
  const shortMs = 20_000;
  const start = (then: () => void, ms = 0): number => {
    const id = timeout(() => {
      work.pending.delete(`timer ${id}`);
      then();
    }, ms);
    if (ms < shortMs) work.pending.add(`timer ${id}`);
    return id;
  };
  const stop = (id?: number): void => {
    work.pending.delete(`timer ${id}`);
    clear(id);
  };
  Object.assign(window, { setTimeout: start, clearTimeout: stop });
  const counted = WebGL2RenderingContext.prototype as unknown as Record<string, (...values: unknown[]) => unknown>;
  for (const name of ['drawArrays', 'drawElements', 'drawArraysInstanced', 'drawElementsInstanced']) {
    const draw = counted[name];
    counted[name] = function (...values: unknown[]) {
      work.draws += 1;
      return draw?.apply(this, values);
    };
  }
}

declare global {
  interface Window {
    readonly work: Work;
  }
}

beforeAll(async () => {
  [browser, peer] = await Promise.all([launch(), Peer.start()]);
  script.fund().request('boss', 'Do everything.');
  const note = (count: number): void => void places.set(count, script.frames.length - 1);
  for (let lead = 1; lead <= 4; lead += 1) script.hire(`1.${lead}`, `lead-${lead}`, `part ${lead}`);
  note(5);
  const pathOf = (count: number): string => `1.${1 + (count % 4)}.${Math.floor((count - 2) / 4)}`;
  for (let count = 6; count <= 1000; count += 1) {
    script.hire(pathOf(count), `worker-${count % 9}`, `piece ${count}`);
    if (count === 100) note(count);
  }
  // Trouble is named: there are as many labels as there can be.
  for (let count = 20; count <= 1000; count += 20) script.close(pathOf(count), 'no such file', 'failed');
  note(1000);
  const link = await peer.serve(script.session());
  opened = await open(browser, peer.origin, '/?view=2d', { viewport: { width: 920, height: 480 } });
  await opened.page.addInitScript(countWork);
  await opened.page.goto('about:blank');
  await opened.page.goto(`${peer.origin}/?quality=reduced${link}`);
});

afterAll(async () => {
  await browser?.close();
  await Promise.all([peer?.stop(), server.remove()]);
});

test('the first view and the 3D view are small', async () => {
  await server.start();
  const context = await browser.newContext({ viewport: { width: 920, height: 480 } });
  const page = await context.newPage();
  const requests: Request[] = [];
  page.on('requestfinished', (request) => requests.push(request));
  const bytes = async (of: readonly Request[]): Promise<number> => (await Promise.all(of.map((request) => request.sizes()))).reduce((sum, { responseBodySize }) => sum + responseBodySize, 0);
  await page.goto(`${server.origin}/?view=2d`);
  await page.getByText('Watch a team work').waitFor();
  await page.evaluate(() => document.fonts.ready);
  await page.waitForLoadState('networkidle');
  // What a session needs is loaded later, when the first view is there.
  const isLater = (request: Request): boolean => /session_page/.test(request.url());
  const first = requests.filter((request) => !isLater(request));
  expect(first.filter((request) => request.url().endsWith('.woff2')).length).toBe(3);
  const firstBytes = await bytes(first);
  await page.goto('about:blank');
  requests.length = 0;
  await page.goto(`${server.origin}/?view=3d&quality=reduced`);
  await until(page, () => window.hall?.stats, null, FRAME_MS);
  const known = new Set(first.map((request) => request.url()));
  const scene = requests.filter((request) => !known.has(request.url()) && !isLater(request));
  expect(scene.length).toBeGreaterThan(0);
  const sceneBytes = await bytes(scene);
  console.log(`first view ${firstBytes} bytes, 3D ${sceneBytes} bytes`);
  expect(firstBytes).toBeGreaterThan(40_000);
  expect(firstBytes).toBeLessThanOrEqual(FIRST_VIEW_BYTES_MAX);
  expect(sceneBytes).toBeGreaterThan(40_000);
  expect(sceneBytes).toBeLessThanOrEqual(SCENE_BYTES_MAX);
  await context.close();
});

interface MeasuredFrame {
  readonly stats: FrameStats;
  /** Until its pixels are there: the browser itself does not wait for them. */
  readonly ms: number;
}

/** How far the wheel turns. After a small turn, labels follow their figures. After a large turn, a search for new places begins, which takes several frames. */
const TURN = { small: 1, large: 40 } as const;

/** Moves the camera by the wheel, and measures the frames that this draws. */
function frames(page: Page, wanted: number, turn: keyof typeof TURN): Promise<MeasuredFrame[]> {
  return page.evaluate(async ({ wanted, delta }) => {
    const canvas = document.querySelector('canvas');
    const gl = canvas?.getContext('webgl2');
    if (!canvas || !gl) throw new Error('there is no canvas');
    const pixels = new Uint8Array(4);
    const finish = (): void => gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
    const { left, top, width, height } = canvas.getBoundingClientRect();
    const all: MeasuredFrame[] = [];
    for (let step = 0; step <= wanted; step += 1) {
      finish();
      const start = performance.now();
      canvas.dispatchEvent(new WheelEvent('wheel', { deltaY: step % 2 === 0 ? delta : -delta, clientX: left + width / 2, clientY: top + height / 2, cancelable: true }));
      await new Promise((resolve) => requestAnimationFrame(resolve));
      finish();
      const stats = window.hall.stats;
      // The first frame may have been asked for earlier.
      if (stats !== null && step > 0) all.push({ stats, ms: performance.now() - start });
    }
    return all;
  }, { wanted, delta: TURN[turn] });
}

const median = (values: readonly number[]): number => [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;

/** Unfolds banners by clicks until this many figures are drawn. */
async function unfold(page: Page, count: number): Promise<void> {
  const figures = (): number => window.hall.stage?.figures.length ?? 0;
  for (let tries = 0; tries < 40 && (await page.evaluate(figures)) < count; tries += 1) {
    const before = await page.evaluate(figures);
    const box = await until(page, () => Object.entries(window.hall.boxes?.labels ?? {}).find(([id]) => id.startsWith('banner/'))?.[1], null, FRAME_MS);
    const canvas = await page.locator('canvas').boundingBox();
    await page.mouse.click((canvas?.x ?? 0) + box.x + box.width / 2, (canvas?.y ?? 0) + box.y + box.height / 2);
    await until(page, (known) => (window.hall.stage?.figures.length ?? 0) > known, before, 5000).catch(() => undefined);
  }
  expect(await page.evaluate(figures)).toBe(count);
}

test('a thousand unfolded figures are cheap to draw', async () => {
  const { page, faults } = opened;
  await until(page, hasContracts, 1000, FRAME_MS);
  await until(page, () => (window.hall.stats?.drawCalls ?? 0) > 0, null, FRAME_MS);
  expect(await page.evaluate(() => window.hall.stage?.figures.length)).toBe(200);
  await unfold(page, 1000);
  const many = await frames(page, 15, 'small');
  const drawCalls = Math.max(...many.map(({ stats }) => stats.drawCalls));
  const triangles = Math.max(...many.map(({ stats }) => stats.triangles));
  // Other programs on the machine make single rounds slower, and none faster. The frames above were the first with this many figures.
  const updateMs = async (turn: keyof typeof TURN): Promise<number> => {
    let best = Infinity;
    for (let rounds = 0; rounds < 3 && best > UPDATE_MS_TARGET; rounds += 1) best = Math.min(best, median((await frames(page, 15, turn)).map(({ stats }) => stats.updateMs)));
    return best;
  };
  const times = { follow: await updateMs('small'), search: await updateMs('large') };
  const labels = await page.evaluate(() => Object.keys(window.hall.boxes?.labels ?? {}).length);
  console.log(`1,000 figures, ${labels} labels: ${drawCalls} draw calls, ${triangles} triangles, update ${times.follow.toFixed(1)} ms, ${times.search.toFixed(1)} ms during the search for places of labels`);
  expect(labels).toBeGreaterThan(10);
  expect(drawCalls).toBeLessThanOrEqual(DRAW_CALLS_MAX);
  expect(triangles).toBeLessThanOrEqual(TRIANGLES_MAX);
  expect(Math.max(times.follow, times.search)).toBeLessThanOrEqual(UPDATE_MS_MAX);
  // Eight seconds after the last turn the camera goes back, the last search ends, and nothing more is drawn.
  await rest(page);
  expect(faults.list).toEqual([]);
}, 240_000);

test('frame times are stated as ratios to the empty hall', async () => {
  const { page } = opened;
  const times = new Map<number, number>();
  for (const [count, place] of places) {
    await scrub(page, Math.min(place, (await eventCount(page)) - 1));
    times.set(count, median((await frames(page, 5, 'small')).map(({ ms }) => ms)));
  }
  const empty = times.get(0) ?? Number.NaN;
  for (const [count, ms] of times) console.log(`${count} figures: ${ms.toFixed(0)} ms, ${(ms / empty).toFixed(2)} times the empty hall`);
  expect([...times.values()].every((ms) => ms > 0)).toBe(true);
}, 240_000);

/** Waits until the page has nothing more to do, and returns how many times it has drawn. */
async function rest(page: Page): Promise<number> {
  const { draws } = await until(page, () => (window.work.pending.size === 0 ? { draws: window.work.draws } : null), null, FRAME_MS);
  return draws;
}

test('an idle page draws nothing, and a hidden page draws nothing even when something happens', async () => {
  const { page, faults } = opened;
  await scrub(page, places.get(5) ?? 0);
  const idle = await rest(page);
  expect(idle).toBeGreaterThan(0);
  const hide = (isHidden: boolean): Promise<void> =>
    page.evaluate((value) => {
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => value });
      Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => (value ? 'hidden' : 'visible') });
      document.dispatchEvent(new Event('visibilitychange'));
    }, isHidden);
  await hide(true);
  await scrub(page, places.get(100) ?? 0);
  await until(page, () => (window.hall.stage?.figures.length ?? 0) === 100, null);
  expect(await rest(page)).toBe(idle);
  await hide(false);
  await until(page, (before) => window.work.draws > before, idle, FRAME_MS);
  expect(faults.list).toEqual([]);
}, 240_000);
