// The eight pictures of docs/hall: real sessions of the real program, drawn at full quality and checked. `HALL_PICTURES=write` also
// writes them.
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Box } from '../src/stage';
import { clipped, contrasts, decode, distance, dominant, overlaps, type Pixels, type Words } from './check';
import { SIXTY, TEN, TWENTY } from './crew';
import { Studio, type Shown } from './studio';

const OUT = fileURLToPath(new URL('../../docs/hall', import.meta.url));
const [WIDTH, HEIGHT] = [1600, 900];

/** Colours that may dominate: sky, night, stone, robes in shadow; by day paper and stone. */
const NIGHT = ['#0E1626', '#172031', '#2B3A54', '#2B3550', '#3A354E', '#42466E', '#121B2E', '#1B2440'];
const DAY = ['#F4EDE0', '#F1EEE7', '#C2B295', '#E4DCCB', '#FFFFFF', '#D8CFBC'];

const studio = new Studio();
beforeAll(() => studio.start());
afterAll(() => studio.stop());

const address = ({ session, token }: Shown, theme: 'night' | 'day'): string => `/?quality=full&theme=${theme}#/s/${session}?k=${token}`;

/** Waits until the scene has drawn so many figures and nothing moves. */
async function settled(page: Page, figures: number): Promise<void> {
  await page.waitForFunction(
    (count) => {
      const { stage, stats } = window.hall;
      return stats !== null && stats.drawCalls > 0 && stats.quality === 'full' && (stage?.figures.length ?? 0) >= count && (stage?.beats.length ?? 0) === 0;
    },
    figures,
    { timeout: 120_000, polling: 500 },
  );
  // The camera comes to rest: the boxes of two moments are the same.
  let before = '';
  for (let look = 0; look < 60; look += 1) {
    const now = await page.evaluate(() => JSON.stringify(window.hall.boxes?.figures));
    if (now === before) return;
    before = now;
    await page.waitForTimeout(700);
  }
  throw new Error('the camera does not rest');
}

interface Picture {
  readonly pixels: Pixels;
  readonly canvas: Box;
  readonly figures: Record<string, Box>;
  readonly labels: Record<string, Box>;
}

async function take(page: Page, name: string): Promise<Picture> {
  const png = await page.screenshot({ timeout: 120_000 });
  if (process.env['HALL_PICTURES'] === 'write') {
    mkdirSync(OUT, { recursive: true });
    writeFileSync(`${OUT}/${name}.png`, png);
  }
  const blank = await page.context().newPage();
  const pixels = await decode(blank, png);
  await blank.close();
  const canvas = (await page.locator('canvas').first().boundingBox()) ?? { x: 0, y: 0, width: WIDTH, height: HEIGHT };
  const boxes = (await page.evaluate(() => window.hall.boxes)) ?? { figures: {}, labels: {} };
  return { pixels, canvas, figures: boxes.figures, labels: boxes.labels };
}

/** All texts in the overlay of the scene, with their colours. */
function labelWords(page: Page): Promise<Words[]> {
  return page.evaluate(() => {
    const found: { text: string; colour: [number, number, number]; box: { x: number; y: number; width: number; height: number } }[] = [];
    for (const label of document.querySelectorAll<HTMLElement>('[class*="label-"]')) {
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

async function checkWords(page: Page, picture: Picture): Promise<void> {
  const poor = contrasts(picture.pixels, await labelWords(page)).filter(({ ratio }) => ratio < 4.5);
  expect(poor, 'texts with too little contrast').toEqual([]);
}

function checkFigures({ figures, canvas }: Picture, heightMin: number): void {
  for (const [id, box] of Object.entries(figures)) {
    expect(box.height, `the height of ${id}`).toBeGreaterThanOrEqual(heightMin);
    const isInside = box.x >= 0 && box.y >= 0 && box.x + box.width <= canvas.width && box.y + box.height <= canvas.height;
    expect(isInside, `${id} is inside the frame`).toBe(true);
  }
}

test('the first view is the lit, empty hall', async () => {
  const { page, faults } = await studio.page('/?quality=full&theme=night', WIDTH, HEIGHT);
  await settled(page, 0);
  checkLook(await take(page, '1-first-view'), NIGHT);
  expect(faults.list).toEqual([]);
  await page.context().close();
});

test('portals open and coins fly when agents are hired', async () => {
  const shown = await studio.play('Why is the payment API failing?', TEN);
  const { page, faults } = await studio.page(address(shown, 'night'), WIDTH, HEIGHT);
  await settled(page, 11);
  // From here on the time of the page stands still unless the test moves it, so that the picture shows one moment.
  await page.clock.install();
  await page.clock.pauseAt(Date.now() + 1000);
  await page.getByRole('button', { name: /replay/i }).first().click();
  const isMoment = (): boolean => {
    const { stage } = window.hall;
    const ages = stage?.beats.filter((beat) => beat.kind === 'portal').map((beat) => stage.now - beat.start) ?? [];
    const isFull = (stage?.figures.length ?? 0) >= 4;
    return isFull && ages.some((age) => age > 450 && age < 800) && stage?.beats.some((beat) => beat.kind === 'coins') === true;
  };
  for (let step = 0; step < 120 && !(await page.evaluate(isMoment)); step += 1) await page.clock.fastForward(150);
  expect(await page.evaluate(isMoment), 'a portal is open, and coins fly').toBe(true);
  checkLook(await take(page, '2-portals'), NIGHT);
  expect(faults.list).toEqual([]);
  await page.context().close();
  await studio.end(shown);
});

test('ten agents in every state, by night and by day', async () => {
  const shown = await studio.play('Why is the payment API failing?', TEN);
  for (const [theme, name, palette] of [['night', '3-ten', NIGHT], ['day', '4-day', DAY]] as const) {
    const { page, faults } = await studio.page(address(shown, theme), WIDTH, HEIGHT);
    await settled(page, 11);
    const picture = await take(page, name);
    checkLook(picture, palette);
    checkFigures(picture, 40);
    await checkWords(page, picture);
    expect(faults.list).toEqual([]);
    await page.context().close();
  }
  await studio.end(shown);
});

test('twenty agents are large enough, inside the frame, and named', async () => {
  const shown = await studio.play('Make the checkout twice as fast', TWENTY);
  const { page, faults } = await studio.page(address(shown, 'night'), WIDTH, HEIGHT);
  await settled(page, 20);
  const picture = await take(page, '5-twenty');
  checkLook(picture, NIGHT);
  checkFigures(picture, 40);
  await checkWords(page, picture);
  expect(faults.list).toEqual([]);
  await page.context().close();
  await studio.end(shown);
});

test('sixty agents can still be told apart', async () => {
  const shown = await studio.play('Port the billing service to Rust', SIXTY);
  const { page, faults } = await studio.page(address(shown, 'night'), WIDTH, HEIGHT);
  await settled(page, 59);
  const picture = await take(page, '6-sixty');
  checkLook(picture, NIGHT);
  checkFigures(picture, 25);
  expect(faults.list).toEqual([]);
  await page.context().close();
  await studio.end(shown);
});

test('a selected agent shows its work, and the end shows the answer', async () => {
  const shown = await studio.fund('demo', 500);
  await studio.ask(shown, 'Why is the payment API failing?', 400, TEN);
  await studio.until(shown, (states) => states.size === 10);
  const { page, faults } = await studio.page(address(shown, 'night'), WIDTH, HEIGHT);
  await settled(page, 10);
  // The row leaves when its details come, so it can't be waited for.
  await page.getByRole('treeitem', { name: /log-investigator/ }).first().dispatchEvent('click');
  await page.waitForFunction(() => window.hall.selected !== null);
  await page.locator('#tab-details').click();
  await page.waitForFunction(() => document.querySelectorAll('.turn').length >= 2, undefined, { polling: 300 });
  await settled(page, 10);
  checkLook(await take(page, '7-details'), NIGHT);
  await studio.until(shown, (states) => states.get('1') === 'done');
  await page.getByRole('tab', { name: /Answer/ }).click();
  await settled(page, 10);
  checkLook(await take(page, '8-answer'), NIGHT);
  expect(faults.list).toEqual([]);
  await page.context().close();
});
