// The canvas is only a picture: it says nothing to screen readers, and losing it loses nothing.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Browser, Page } from 'playwright-core';
import { checkAccessibility } from './accessibility';
import { changedShare, pictureReader } from './pixels';
import { Peer, Script } from './synthetic';
import { type Faults, hasContracts, launch, open, until } from './world';

let browser: Browser;
let peer: Peer;
let opened: { page: Page; faults: Faults };

beforeAll(async () => {
  [browser, peer] = await Promise.all([launch(), Peer.start()]);
  const script = new Script('picture').fund().request('boss', 'Draw.').hire('1.1', 'worker', 'Work.').hire('1.2', 'helper', 'Help.');
  const link = await peer.serve(script.session());
  opened = await open(browser, peer.origin, `/?quality=reduced${link}`, { viewport: { width: 920, height: 500 } });
});

afterAll(async () => {
  await browser?.close();
  await peer?.stop();
});

const hasFrame = (): boolean => (window.hall?.stats?.drawCalls ?? 0) > 0 && Object.keys(window.hall.boxes?.figures ?? {}).length === 3;

/** Takes the context away from the scene, as a browser does, or gives it back. */
function context(page: Page, what: 'loseContext' | 'restoreContext'): Promise<void> {
  return page.evaluate((act) => {
    const keep = window as unknown as { lost: { loseContext(): void; restoreContext(): void } | undefined };
    keep.lost ??= document.querySelector('canvas')?.getContext('webgl2')?.getExtension('WEBGL_lose_context') ?? undefined;
    keep.lost?.[act]();
  }, what);
}

test('the canvas and its labels are hidden from screen readers', async () => {
  const { page } = opened;
  await until(page, hasFrame, null, 120_000);
  expect(await page.evaluate(() => window.hall.mode)).toBe('3d');
  expect(await page.locator('canvas').evaluate((canvas) => canvas.closest('[aria-hidden=true]') !== null && canvas.tabIndex === -1)).toBe(true);
  expect(await page.locator('.scene-overlay').evaluate((overlay) => overlay.closest('[aria-hidden=true]') !== null)).toBe(true);
  expect(await page.locator('[role=treeitem]').count()).toBe(3);
  await checkAccessibility(page, 'session in 3D');
});

test('a context that comes back is drawn again', async () => {
  const { page } = opened;
  const reader = await pictureReader(browser);
  const canvas = await page.locator('canvas').boundingBox();
  if (canvas === null) throw new Error('there is no canvas');
  const before = await page.screenshot();
  const share = async (): Promise<number> => changedShare(reader, before, await page.screenshot(), canvas);
  await context(page, 'loseContext');
  await until(page, () => document.querySelector('canvas')?.getContext('webgl2')?.isContextLost(), null);
  // Meanwhile there is another picture, and all facts are still on the page.
  expect(await share()).toBeGreaterThan(0.2);
  expect(await page.locator('[role=treeitem]').count()).toBe(3);
  await context(page, 'restoreContext');
  await until(page, () => document.querySelector('canvas')?.getContext('webgl2')?.isContextLost() === false, null);
  await expect.poll(share, { timeout: 120_000, interval: 500 }).toBeLessThan(0.05);
  expect(await page.evaluate(() => window.hall.mode)).toBe('3d');
});

test('a context that does not come back gives way to 2D, which says why', async () => {
  const { page, faults } = opened;
  await context(page, 'loseContext');
  await until(page, () => window.hall.mode === '2d', null, 30_000);
  expect(await page.locator('canvas').count()).toBe(0);
  await until(page, hasContracts, 3);
  expect(await page.locator('[role=treeitem]').count()).toBe(3);
  expect(await page.getByText('3D', { exact: true }).getAttribute('title')).toContain('The browser took the 3D view away');
  expect(faults.list.filter((fault) => !/CONTEXT_LOST|context lost/i.test(fault))).toEqual([]);
});
