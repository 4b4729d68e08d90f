// The eight pictures of docs/hall: real sessions of the real program, drawn at full quality and checked. `HALL_PICTURES=write` also
// writes them.
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { GAP_MS } from '../src/director';
import type { Box } from '../src/stage';
import { clipped, contrasts, decode, distance, dominant, overlaps, type Pixels, type Words } from './check';
import { SIXTY, TEN, TWENTY } from './crew';
import { until, type Faults } from '../e2e/world';
import { Studio, type Shown } from './studio';

const OUT = fileURLToPath(new URL('../../docs/hall', import.meta.url));
const [WIDTH, HEIGHT] = [1600, 900];
/** Pixels for each pixel of the picture, each way: while a test waits, and for the picture itself. Software WebGL draws slowly. */
const [COARSE, FINE] = [0.25, 2];

/** Colours that may dominate: sky, night, stone, robes in shadow; by day paper and stone. */
const NIGHT = ['#0E1626', '#172031', '#2B3A54', '#2B3550', '#3A354E', '#42466E', '#121B2E', '#1B2440'];
/** Near the lanterns, much of the picture is stone in their light. */
const NEAR = [...NIGHT, '#6D7590'];
const DAY = ['#F4EDE0', '#F1EEE7', '#C2B295', '#E4DCCB', '#FFFFFF', '#D8CFBC'];

const studio = new Studio();
beforeAll(() => studio.start());
afterAll(() => studio.stop());

const address = ({ session, token }: Shown, theme: 'night' | 'day'): string => `/?quality=full&theme=${theme}#/s/${session}?k=${token}`;

/** Waits until the scene has drawn so many figures and nothing moves. */
async function settled(page: Page, figures: number, time: 'runs' | 'stands' = 'runs'): Promise<void> {
  const isShown = (count: number): boolean => {
    const { stage, stats } = window.hall;
    return stats !== null && stats.drawCalls > 0 && stats.quality === 'full' && (stage?.figures.length ?? 0) >= count && (stage?.beats.length ?? 0) === 0;
  };
  const boxes = (): Promise<string> => page.evaluate(() => JSON.stringify(window.hall.boxes?.figures));
  const twoFrames = (): Promise<unknown> => page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  const end = Date.now() + 120_000;
  // The camera comes to rest: the boxes of two moments are the same.
  for (let before = ''; ; ) {
    await (time === 'stands' ? page.clock.fastForward(150) : twoFrames());
    const now = await boxes();
    if (now === before && (await page.evaluate(isShown, figures))) return;
    before = now;
    if (Date.now() > end) throw new Error(`the hall does not come to rest: ${await page.evaluate(() => JSON.stringify(window.hall.stats))}`);
  }
}

/** The hall alone, over the whole page, as its button shows it. */
async function fillPage(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Only the hall, on the full screen' }).click();
  await page.evaluate(() => document.activeElement instanceof HTMLElement && document.activeElement.blur());
  await until(page, (width) => document.querySelector('canvas')?.clientWidth === width, WIDTH);
}

/** Moves the time of the page on, with few frames: software WebGL draws slowly. */
async function advance(page: Page, ms: number): Promise<void> {
  for (let gone = 0; gone < ms; gone += 80) await page.clock.fastForward(Math.min(80, ms - gone));
}

const hasContract = (path: string): boolean => window.hall.tree?.contracts.some((contract) => contract.path === path) === true;
const hasReported = (path: string): boolean => window.hall.tree?.contracts.find((contract) => contract.path === path)?.state === 'done';

/** Opens hires and lets one report on all these pages, up to the moment at which the newcomers are most of the way out of their portals. */
async function playMoment(pages: readonly Page[], hires: Readonly<Record<string, string>>, report: string, halfway: () => Promise<void> = async () => {}): Promise<void> {
  for (const [hirer, hire] of Object.entries(hires)) {
    studio.release(hirer);
    for (const page of pages) {
      await until(page, hasContract, hire);
      // The next portal opens no sooner.
      await advance(page, GAP_MS);
    }
  }
  for (const page of pages) await advance(page, 400 - GAP_MS);
  await halfway();
  studio.release(report);
  for (const page of pages) {
    await until(page, hasReported, report);
    await advance(page, 480);
  }
}

interface Picture {
  readonly pixels: Pixels;
  readonly canvas: Box;
  readonly figures: Record<string, Box>;
  readonly labels: Record<string, Box>;
  readonly words: readonly Words[];
  /** The ids of the figures with an emblem. */
  readonly emblems: readonly string[];
  /** Whether the counts by state are to be seen. */
  readonly hasCounts: boolean;
}

/** Takes a picture: one frame with two pixels for each pixel of the picture, each way. */
async function take(page: Page, name: string, time: 'runs' | 'stands' = 'runs'): Promise<Picture> {
  const browser = await page.context().newCDPSession(page);
  const shoot = (width: number, height: number): Promise<{ data: string }> =>
    browser.send('Page.captureScreenshot', { format: 'png', clip: { x: 0, y: 0, width, height, scale: 1 / FINE } });
  const setPixels = async (ratio: number): Promise<void> => {
    await browser.send('Emulation.setDeviceMetricsOverride', { width: WIDTH, height: HEIGHT, deviceScaleFactor: ratio, mobile: false });
    // A page at rest notices its new pixels when it is painted.
    await shoot(8, 8);
    await until(page, (wanted) => window.devicePixelRatio === wanted && [...document.querySelectorAll('canvas.scene-canvas')].every((canvas) => canvas instanceof HTMLCanvasElement && canvas.width === Math.floor(canvas.clientWidth * wanted)), ratio);
  };
  await setPixels(FINE);
  if (time === 'stands') await page.clock.runFor(20);
  else await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  const png = Buffer.from((await shoot(WIDTH, HEIGHT)).data, 'base64');
  if (process.env['HALL_PICTURES'] === 'write') {
    mkdirSync(OUT, { recursive: true });
    writeFileSync(`${OUT}/${name}.png`, png);
  }
  const blank = await page.context().newPage();
  const pixels = await decode(blank, png);
  await blank.close();
  expect([pixels.width, pixels.height]).toEqual([WIDTH, HEIGHT]);
  const canvas = (await page.locator('canvas').first().boundingBox()) ?? { x: 0, y: 0, width: WIDTH, height: HEIGHT };
  const boxes = (await page.evaluate(() => window.hall.boxes)) ?? { figures: {}, labels: {} };
  const [words, emblems] = [await labelWords(page), await emblemIds(page)];
  const hasCounts = await page.evaluate(() => [...document.querySelectorAll('.legend')].some((legend) => getComputedStyle(legend).opacity !== '0'));
  // Only now, because other pixels move the labels.
  await setPixels(COARSE);
  await browser.detach();
  return { pixels, canvas, figures: boxes.figures, labels: boxes.labels, words, emblems, hasCounts };
}

/** All texts in the overlay of the scene, with their colours. */
function labelWords(page: Page): Promise<Words[]> {
  return page.evaluate(() => {
    const found: { text: string; colour: [number, number, number]; box: { x: number; y: number; width: number; height: number } }[] = [];
    for (const label of document.querySelectorAll<HTMLElement>('.label-layer .label, .label-layer .label *')) {
      const text = label.textContent?.trim() ?? '';
      const style = getComputedStyle(label);
      const { x, y, width, height } = label.getBoundingClientRect();
      if (label.children.length > 0 || text === '' || width === 0 || style.visibility === 'hidden' || Number(style.opacity) < 0.5) continue;
      const [red, green, blue] = (style.color.match(/[\d.]+/g) ?? []).map(Number);
      found.push({ text, colour: [red ?? 0, green ?? 0, blue ?? 0], box: { x, y, width, height } });
    }
    return found;
  });
}

function checkLook(picture: Picture, palette: readonly string[]): void {
  expect(overlaps(picture.labels), 'labels that overlap').toEqual([]);
  expect(clipped(picture.pixels, picture.canvas), 'burnt or drowned pixels').toBeLessThanOrEqual(0.01);
  for (const colour of dominant(picture.pixels, picture.canvas, 3)) {
    expect(distance(colour, palette), `dominant colour ${colour.map(Math.round).join(',')}`).toBeLessThan(40);
  }
}

function checkWords({ pixels, words }: Picture): void {
  const poor = contrasts(pixels, words).filter(({ ratio }) => ratio < 4.5);
  expect(poor, 'texts with too little contrast').toEqual([]);
}

function checkFigures({ figures, canvas }: Picture, heightMin: number): void {
  for (const [id, box] of Object.entries(figures)) {
    expect(box.height, `the height of ${id}`).toBeGreaterThanOrEqual(heightMin);
    const isInside = box.x >= 0 && box.y >= 0 && box.x + box.width <= canvas.width && box.y + box.height <= canvas.height;
    expect(isInside, `${id} is inside the frame`).toBe(true);
  }
}

/** A label must not hide who another figure is. An emblem is at the top of the box of its figure. */
function checkEmblems({ figures, labels, emblems: ids }: Picture): void {
  const emblems = ids.map((id) => [id, figures[id]] as const).flatMap(([id, box]) => (box === undefined ? [] : [[id, emblemOf(box)] as const]));
  const hidden = emblems.flatMap(([id, emblem]) =>
    Object.entries(labels).filter(([label, box]) => label !== id && overlaps({ emblem, box }).length > 0).map(([label]) => `${label} over ${id}`));
  expect(hidden, 'labels over emblems').toEqual([]);
}

function emblemOf({ x, y, width }: Box): Box {
  return { x: x + width * 0.36, y: y + width * 0.06, width: width * 0.28, height: width * 0.28 };
}

function checkLabels({ labels, figures, canvas }: Picture): void {
  for (const [id, box] of Object.entries(labels)) {
    const isInside = box.x >= 0 && box.y >= 0 && box.x + box.width <= canvas.width && box.y + box.height <= canvas.height;
    expect(isInside, `the label of ${id} is inside the frame`).toBe(true);
    const figure = figures[id];
    const isNamedInside = figure === undefined || (figure.x + figure.width / 2 >= 0 && figure.x + figure.width / 2 <= canvas.width && figure.y <= canvas.height);
    expect(isNamedInside, `${id}, which has a label, is inside the frame`).toBe(true);
  }
}

/** The ids of the figures with an emblem. */
function emblemIds(page: Page): Promise<string[]> {
  return page.evaluate(() => window.hall.stage?.figures.filter(({ condition }) => condition !== 'cancelled' && condition !== 'refused').map(({ id }) => id) ?? []);
}

function checkAll(picture: Picture, palette: readonly string[], heightMin: number): void {
  expect(picture.words.length, 'texts in the picture').toBeGreaterThan(0);
  checkLook(picture, palette);
  checkLabels(picture);
  checkFigures(picture, heightMin);
  checkEmblems(picture);
  checkWords(picture);
}

test('the first view is the lit, empty hall', async () => {
  const { page, faults } = await studio.page('/?quality=full&theme=night', WIDTH, HEIGHT, COARSE, 'runs');
  await settled(page, 0);
  checkAll(await take(page, '1-first-view'), NIGHT, 0);
  expect(faults.list).toEqual([]);
  await page.context().close();
});

test('ten agents in every state while a portal opens, near, by night and by day', async () => {
  const shown = await studio.play('Why is the payment API failing?', TEN);
  const open = async (theme: 'night' | 'day'): Promise<{ page: Page; faults: Faults }> => {
    const opened = await studio.page(address(shown, theme), WIDTH, HEIGHT, COARSE, 'stands');
    await settled(opened.page, 10, 'stands');
    await fillPage(opened.page);
    await settled(opened.page, 10, 'stands');
    return opened;
  };
  const [near, night, day] = [await open('night'), await open('night'), await open('day')];
  await comeNear(near.page);
  let close: Picture | null = null;
  await playMoment([near.page, night.page, day.page], { '1': '1.4' }, '1.1.1.1', async () => {
    // The newcomer is halfway out of its portal.
    await advance(near.page, 400);
    close = await take(near.page, '2-portals', 'stands');
  });
  const ten = await take(night.page, '3-ten', 'stands');
  checkAll(ten, NIGHT, 40);
  expect(ten.hasCounts, 'counts of the whole hall').toBe(true);
  checkAll(await take(day.page, '4-day', 'stands'), DAY, 40);
  if (close === null) throw new Error('there is no picture of the portal');
  checkNear(close);
  for (const { page, faults } of [near, night, day]) {
    expect(faults.list).toEqual([]);
    await page.context().close();
  }
  await studio.end(shown);
});

/** Turns and lowers the camera, so that nobody stands behind the coins, and comes near, as a hand does. */
async function comeNear(page: Page): Promise<void> {
  const middle = { x: WIDTH / 2, y: HEIGHT / 2 };
  await page.mouse.move(middle.x, middle.y);
  await page.mouse.down();
  await page.mouse.move(middle.x - 55, middle.y - 90, { steps: 4 });
  await page.mouse.up();
  await advance(page, 1600);
  // The wheel keeps what is under the hand where it is: in at the top and out at the bottom leaves room above.
  const wheel = async (y: number, turns: number): Promise<void> => {
    await page.mouse.move(1010, y);
    for (let rest = Math.abs(turns); rest > 0; rest -= 1) await page.mouse.wheel(0, -25 * Math.sign(turns) * Math.min(1, rest));
    await advance(page, 1600);
  };
  await wheel(10, 5.4);
  await wheel(HEIGHT - 20, -1.2);
}

function checkNear(picture: Picture): void {
  checkLook(picture, NEAR);
  checkLabels(picture);
  checkEmblems(picture);
  checkWords(picture);
  expect(picture.figures['1.4']?.height, 'the height of the newcomer').toBeGreaterThanOrEqual(150);
  expect(picture.hasCounts, 'counts in the close view').toBe(false);
  expect(picture.words.map(({ text }) => text), 'the sum and who gets it').toEqual(expect.arrayContaining(['60 sat →', 'tester']));
}

test('twenty agents are large enough, inside the frame, and named', async () => {
  const shown = await studio.play('Make the checkout twice as fast', TWENTY);
  const { page, faults } = await studio.page(address(shown, 'night'), WIDTH, HEIGHT, COARSE, 'runs');
  await settled(page, 20);
  checkAll(await take(page, '5-twenty'), NIGHT, 40);
  expect(faults.list).toEqual([]);
  await page.context().close();
  await studio.end(shown);
});

test('sixty agents can still be told apart', async () => {
  const shown = await studio.play('Port the billing service to Rust', SIXTY);
  const { page, faults } = await studio.page(address(shown, 'night'), WIDTH, HEIGHT, COARSE, 'stands');
  await settled(page, 58, 'stands');
  await fillPage(page);
  await settled(page, 58, 'stands');
  await playMoment([page], { '1.2.3': '1.2.3.2', '1.4.2': '1.4.2.2' }, '1.6.1.1');
  checkAll(await take(page, '6-sixty', 'stands'), NIGHT, 25);
  expect(faults.list).toEqual([]);
  await page.context().close();
  await studio.end(shown);
});

test('a selected agent shows its work, and the end shows the answer', async () => {
  const shown = await studio.fund('demo', 500);
  await studio.ask(shown, 'Why is the payment API failing?', 400, TEN);
  await studio.until(shown, (states) => states.size === 10);
  const { page, faults } = await studio.page(address(shown, 'night'), WIDTH, HEIGHT, COARSE, 'runs');
  await settled(page, 10);
  // If the session has ended, its answer is shown.
  await page.locator('#tab-tree').click();
  // The row leaves when its details come, so it can't be waited for.
  await page.getByRole('treeitem', { name: /log-investigator/ }).first().dispatchEvent('click');
  await until(page, () => window.hall.selected !== null, undefined);
  await page.locator('#tab-details').click();
  await until(page, () => document.querySelectorAll('.turn').length >= 2, undefined);
  await settled(page, 10);
  checkAll(await take(page, '7-details'), NIGHT, 40);
  await studio.until(shown, (states) => states.get('1') === 'done');
  await page.getByRole('tab', { name: /Answer/ }).click();
  await settled(page, 10);
  checkAll(await take(page, '8-answer'), NIGHT, 40);
  expect(faults.list).toEqual([]);
  await page.context().close();
});
