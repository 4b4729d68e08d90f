// The first minute of somebody who has no account and no key, in 3D, with the real server as it comes.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Browser, Page } from 'playwright-core';
import { satDigits } from '../src/money';
import type { Box } from '../src/stage';
import type { Ledger, Tree } from '../src/wire';
import { changedShare, pictureReader } from './pixels';
import { clientOf, eventCount, type Faults, hasContracts, hasEnded, launch, open, scrub, Server, until } from './world';

// Software rendering is slow: a small window with reduced quality, and time for the first frame, which compiles all programs.
const SMALL = { viewport: { width: 920, height: 600 } };
const FRAME_MS = 120_000;

let browser: Browser;
let server: Server;
/** The page of the first test. The other tests go on with it, because a new one compiles all programs again. */
let opened: { page: Page; faults: Faults };

beforeAll(async () => {
  server = new Server();
  [browser] = await Promise.all([launch(), server.start()]);
});

afterAll(async () => {
  await browser?.close();
  await server?.remove();
});

const hasFrame = (): boolean => (window.hall?.stats?.drawCalls ?? 0) > 0;

/** Where the canvas is on the page. */
async function canvasPlace(page: Page): Promise<Box> {
  const place = await page.locator('canvas').boundingBox();
  if (place === null) throw new Error('there is no canvas');
  return place;
}

/** A place on the page at which this figure, and nothing that is nearer, is clicked. Runs in the page. */
const pointOf = (figure: string): { x: number; y: number } | null => {
  const [canvas, boxes] = [document.querySelector('canvas'), window.hall.boxes];
  const box = boxes?.figures[figure];
  if (canvas === null || boxes === null || box === undefined) return null;
  const { left, top } = canvas.getBoundingClientRect();
  const others = [...Object.entries(boxes.labels), ...Object.entries(boxes.figures)].filter(([id]) => id !== figure).map(([, other]) => other);
  for (let step = 1; step < 25; step += 1) {
    const [x, y] = [box.x + (box.width * (1 + (step % 5))) / 6, box.y + (box.height * (1 + Math.floor(step / 5))) / 6];
    const isHidden = others.some((other) => x >= other.x && x <= other.x + other.width && y >= other.y && y <= other.y + other.height);
    if (!isHidden && document.elementFromPoint(left + x, top + y) === canvas) return { x: left + x, y: top + y };
  }
  return null;
};

/** Clicks one of these figures in the canvas, as a person does, and returns which. Figures move, so that a click may miss. */
async function clickFigure(page: Page, ids: readonly string[]): Promise<string> {
  for (let tries = 0; tries < 20; tries += 1) {
    const id = ids[tries % ids.length] ?? '';
    const point = await until(page, pointOf, id, 3000).catch(() => null);
    if (point === null) continue;
    await page.mouse.click(point.x, point.y);
    if (await until(page, isSelected, id, 3000).catch(() => false)) return id;
  }
  throw new Error(`none of ${ids.join(', ')} could be selected in the canvas`);
}

/** Whether the page and the scene have this contract selected. */
const isSelected = (path: string): boolean => window.hall.selected === path && window.hall.stage?.selected === path;

async function saysPlayMoney(page: Page): Promise<void> {
  await page.getByText('play money').first().waitFor();
}

test('the whole first minute: one click, a team at work, its figures, the answer and the bill', async () => {
  opened = await open(browser, server.origin, '/?quality=reduced', SMALL);
  const { page, faults } = opened;
  await until(page, hasFrame, null, FRAME_MS);
  expect(await page.evaluate(() => window.hall.mode)).toBe('3d');
  // One sentence, two buttons, and what it costs.
  expect(await page.locator('main .lead').count()).toBe(1);
  expect(await page.locator('main button').allTextContents()).toEqual(['Watch a team work', 'Ask the hall']);
  await saysPlayMoney(page);
  await page.getByText('Watch a team work').click();

  // Made, paid and asked by one click.
  await until(page, hasContracts, 1);
  await saysPlayMoney(page);
  const client = await clientOf(page, server.origin);
  expect((await client.get<Tree>('tree')).account).toMatchObject({ kind: 'play', funded: 500_000 });

  // A figure in the canvas and its row in the tree are the same contract. Its transcript can be read.
  await until(page, hasContracts, 3, FRAME_MS);
  expect(await clickFigure(page, ['1'])).toBe('1');
  await page.locator('#tab-tree').click();
  expect(await page.locator('.tree-row.is-selected').getAttribute('id')).toBe('row-1');
  await page.locator('[id="row-1.2"]').click();
  await until(page, isSelected, '1.2');
  const hire = await clickFigure(page, ['1.1', '1.1.1', '1.1.2']);
  const { agent } = (await client.get<Tree>('tree')).contracts.find((contract) => contract.path === hire) ?? {};
  await until(page, (name) => document.querySelector('.details-name')?.textContent === name, agent);
  await until(page, () => document.querySelectorAll('.turn').length >= 2, null);
  expect(await page.locator('.turn').first().textContent()).toMatch(/^Was asked/);
  await saysPlayMoney(page);

  // The end: an answer, evidence, and a bill that is the server's.
  await until(page, hasEnded, null, FRAME_MS);
  await page.locator('#tab-answer').click();
  await until(page, () => (document.querySelector('.report-box')?.textContent?.length ?? 0) > 100, null);
  expect(await page.locator('.evidence').count()).toBe(2);
  await saysPlayMoney(page);
  const ledger = await client.get<Ledger>('ledger');
  await until(page, (lines) => document.querySelectorAll('.answer tbody tr').length === lines, ledger.bill.length);
  const rows = await page.locator('.answer tbody tr').evaluateAll((all) => all.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent)));
  expect(rows).toEqual(ledger.bill.map((line) => [`${line.calls}`, satDigits(line.used_msat), satDigits(line.all_msat)]));
  const spent = ledger.bill.find((line) => line.contract === '1')?.all_msat ?? 0;
  await until(page, (words) => document.querySelector('.bill-sum')?.textContent?.includes(words), `${satDigits(spent)} of 500 sat spent`);
  expect(faults.list).toEqual([]);
}, 360_000);

test('a contract is stopped with all below it, and the past stays as it was', async () => {
  const { page, faults } = opened;
  const client = await clientOf(page, server.origin);
  await page.locator('#next-task').fill('Why is the payment API failing?');
  await page.locator('.next .primary').click();
  await page.locator('#tab-tree').click();
  await page.locator('[id="row-2.2"]').click();
  await until(page, isSelected, '2.2');
  await page.locator('#tab-details').click();
  // It has hires of its own by now.
  await until(page, () => window.hall.tree?.contracts.some((contract) => contract.path.startsWith('2.2.') && contract.state === 'works'), null);
  await page.locator('.orders').getByText('Stop').click();
  await page.locator('dialog').getByText(/^Stop all/).click();
  await page.locator('dialog').waitFor({ state: 'detached' });
  await until(page, () => window.hall.stage?.figures.find((figure) => figure.id === '2.2')?.condition === 'cancelled', null);
  const states = await page.evaluate(() => window.hall.tree?.contracts.filter(({ path }) => path === '2.2' || path.startsWith('2.2.')).map(({ path, state }) => `${path} ${state}`));
  expect(states?.filter((state) => !/ (cancelled|done)$/.test(state))).toEqual([]);
  expect(states?.filter((state) => /^2\.2\..* cancelled$/.test(state))).not.toEqual([]);
  await until(page, () => /cancelled/.test(document.querySelector('.details-head')?.textContent ?? ''), null);
  await saysPlayMoney(page);

  // Back to the past, which is as it was, and to what happens now.
  const place = await placeBefore(page, '2.2');
  await scrub(page, place + 1);
  const { cursor, tree, isLive, figures } = await page.evaluate(() => ({ cursor: window.hall.cursor, tree: window.hall.tree, isLive: window.hall.isLive, figures: window.hall.stage?.figures }));
  expect(isLive).toBe(false);
  expect(tree).toEqual(await client.get<Tree>(`tree?at=${cursor}`));
  expect(figures?.find((figure) => figure.id === '2.2')?.condition).toBe('works');
  await page.locator('.live').click();
  await until(page, () => window.hall.isLive && window.hall.stage?.figures.find((figure) => figure.id === '2.2')?.condition === 'cancelled', null);
  // The rest of the work is stopped, too, so that these tests need not wait for it. It may have ended already.
  await client.post('stop', { how: 'cancel' }).catch(() => undefined);
  await until(page, hasEnded, null, FRAME_MS);
  expect(faults.list).toEqual([]);
}, 240_000);

/** Notes when each beat is first on the stage. Runs in the page. */
function noteBeats(): void {
  const seen: Record<string, number> = {};
  Object.assign(window, { seen });
  setInterval(() => {
    const stage = window.hall.stage;
    for (const beat of stage?.beats ?? []) {
      if (beat.start > (stage?.now ?? 0)) continue;
      const figure = beat.kind === 'coins' ? beat.to : 'figure' in beat ? beat.figure : beat.from;
      seen[`${beat.kind} ${figure}`] ??= beat.start;
    }
  }, 30);
}

test('a portal opens, a figure steps out, walks to its place, gets its grant and reports', async () => {
  const { page, faults } = opened;
  await until(page, hasEnded, null);
  await page.evaluate(noteBeats);
  // Again from the moment before a hire that reports soon.
  await scrub(page, await placeBefore(page, '1.2.3'));
  await page.locator('[aria-label="Play from here"]').click();
  const seenAll = (names: readonly string[]): boolean => names.every((name) => name in (window as unknown as { seen: object }).seen);
  await until(page, seenAll, ['portal 1.2.3', 'walk 1.2.3', 'coins 1.2.3', 'report 1.2.3'], FRAME_MS);
  const seen = await page.evaluate(() => (window as unknown as { seen: Record<string, number> }).seen);
  const order = ['portal 1.2.3', 'coins 1.2.3', 'walk 1.2.3', 'report 1.2.3'].map((name) => seen[name] ?? Number.NaN);
  expect(order).toEqual([...order].sort((one, other) => one - other));
  const figure = await page.evaluate(() => window.hall.stage?.figures.find((known) => known.id === '1.2.3'));
  expect(figure).toMatchObject({ name: 'docs-investigator', hirer: '1.2', depth: 2, zone: 'library', condition: 'done' });
  expect(faults.list).toEqual([]);
}, 240_000);

test('an open portal is seen in the picture', async () => {
  const { page, faults } = opened;
  const reader = await pictureReader(browser);
  await scrub(page, await placeBefore(page, '1.1'));
  // Time stands still from here on, however slow the machine is.
  await page.clock.install();
  await page.clock.pauseAt(await page.evaluate(() => Date.now() + 1000));
  // A hand on the camera holds it for 8 s.
  const canvas = await canvasPlace(page);
  const [x, y] = [canvas.x + canvas.width / 2, canvas.y + canvas.height * 0.8];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + 12, y, { steps: 2 });
  await page.mouse.up();
  for (let frames = 0; frames < 6; frames += 1) await page.clock.fastForward(500);
  const before = await page.screenshot();
  const held = await page.evaluate(rootPlace);
  await page.locator('[aria-label="Play from here"]').click();
  for (let frames = 0; frames < 6 && !(await page.evaluate(hasPortal)); frames += 1) await page.clock.fastForward(200);
  await page.clock.fastForward(300);
  const during = await page.screenshot();
  expect(await page.evaluate(rootPlace)).toEqual(held);
  const portal = await page.evaluate(() => window.hall.boxes?.portals['1.1']);
  if (portal === undefined) throw new Error('no portal is open');
  const inside = await changedShare(reader, before, during, { ...portal, x: portal.x + canvas.x, y: portal.y + canvas.y });
  expect(inside).toBeGreaterThan(0.15);
  expect(faults.list).toEqual([]);
}, 240_000);

/** Where the feet of the root are: there they stay unless the camera moves. */
const rootPlace = (): readonly number[] => {
  const box = window.hall.boxes?.figures['1'] ?? { x: 0, y: 0, width: 0, height: 0 };
  return [box.x, box.width, box.y + box.height].map((value) => Math.round(value));
};

const hasPortal = (): boolean => window.hall.boxes?.portals['1.1'] !== undefined;

/** How many events there are before a contract opens. */
async function placeBefore(page: Page, path: string): Promise<number> {
  const count = await eventCount(page);
  for (let [low, high] = [0, count]; ; ) {
    const middle = (low + high) >> 1;
    await scrub(page, middle);
    const isThere = await page.evaluate((wanted) => window.hall.tree?.contracts.some((contract) => contract.path === wanted) === true, path);
    [low, high] = isThere ? [low, middle] : [middle, high];
    if (high - low <= 1) return low;
  }
}
