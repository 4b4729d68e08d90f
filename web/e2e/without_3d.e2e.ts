// Everything can be done without 3D: without WebGL, with reduced motion, on a phone, and by keyboard alone.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Browser, Page } from 'playwright-core';
import { agentFile, Models, rule } from './peers';
import { askTeam, hasContracts, hasEnded, launch, makeSession, open, Server, until } from './world';

const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

/** Without WebGL. */
let flat: Browser;
/** With WebGL. */
let able: Browser;
let server: Server;
let models: Models;

/** A hire that works until it is stopped. */
const RULES = [
  rule('manager', { calls: [{ name: 'delegate_task', arguments: { specialty: 'worker', task: 'Work.', budget: 100 } }] }, { has_tool_result: false }),
  rule('manager', { text: 'Nothing was done.' }),
  rule('worker', { text: 'Never said.', pace: { headers_ms: 3_600_000 } }),
];

beforeAll(async () => {
  models = await Models.start(RULES);
  server = new Server(
    `
[providers.test]
wire = "openai"
base_url = "${models.url}/v1"
key_env = "TEST_KEY"
window = 32768

[prices."scripted"]
input = 0
output = 0

[offers.held]
description = "A team at work until it is stopped."
project = "project"
team = "agents"
agent = "manager"
budget = "500sat"
money = "play"

[serve]
live_demo = true
new_sessions_per_minute = 100
`,
    { TEST_KEY: 'key' },
  );
  for (const folder of ['project', 'agents']) mkdirSync(join(server.home, folder));
  const files = { manager: 'delegation:\n  team: [worker]\n', worker: '' };
  for (const [name, more] of Object.entries(files)) writeFileSync(join(server.home, 'agents', `${name}.md`), agentFile(name, more));
  [flat, able] = await Promise.all([launch(['--disable-gpu', '--disable-3d-apis', '--disable-webgl']), launch(), server.start()]);
});

afterAll(async () => {
  await Promise.all([flat?.close(), able?.close()]);
  await server?.remove();
  models?.stop();
});

/** Presses Tab until the element with the focus matches. */
async function tabTo(page: Page, selector: string, words = ''): Promise<void> {
  for (let presses = 0; presses < 60; presses += 1) {
    const isThere = await page.evaluate(([wanted, text]) => document.activeElement?.matches(wanted ?? '') === true && (document.activeElement.textContent ?? '').includes(text ?? ''), [selector, words]);
    if (isThere) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`the key Tab does not lead to ${selector} ${words}`);
}

const overflow = (page: Page): Promise<number> => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);

test('without WebGL, a whole session is seen by keyboard alone', async () => {
  // A person may ask for 3D; without WebGL there is none.
  const { page, faults } = await open(flat, server.origin, '/?view=3d', { viewport: { width: 1000, height: 700 } });
  expect(await page.evaluate(() => document.createElement('canvas').getContext('webgl2'))).toBeNull();
  await until(page, () => window.hall?.mode === '2d', null);
  expect(await page.locator('canvas').count()).toBe(0);
  await tabTo(page, 'main button', 'Watch a team work');
  await page.keyboard.press('Enter');
  await until(page, hasContracts, 4);
  expect(await page.locator('.hud').textContent()).toContain('play money');

  // The tree: down to a contract, into its details, its transcript.
  await tabTo(page, '[role=tree]');
  await page.keyboard.press('Home');
  while ((await page.evaluate(() => window.hall.selected)) !== '1.2') await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await until(page, () => document.activeElement?.id === 'panel-body' && document.querySelectorAll('.turn').length > 0, null);

  // The timeline, the ledger, the answer.
  await tabTo(page, '.timeline input');
  const newest = await page.evaluate(() => window.hall.cursor);
  await page.keyboard.press('ArrowLeft');
  await until(page, (before) => window.hall.cursor !== before && window.hall.isLive === false, newest);
  await tabTo(page, '.live');
  await page.keyboard.press('Enter');
  await until(page, hasEnded, null, 90_000);
  await tabTo(page, '[role=tab]');
  await page.keyboard.press('Home');
  for (const tab of ['ledger', 'answer']) {
    await page.keyboard.press('ArrowRight');
    await until(page, (id) => document.activeElement?.id === `tab-${id}` && document.querySelector('#panel-body table') !== null, tab);
  }
  await until(page, () => (document.querySelector('.report-box')?.textContent?.length ?? 0) > 20, null);
  expect(faults.list).toEqual([]);
  await page.context().close();
});

test('by keyboard alone, a contract at work is stopped, and the focus comes back from a dialog', async () => {
  const session = await askTeam(server.origin, 'held', 'Do the work.', server.operatorToken());
  const { page, faults } = await open(flat, server.origin, `/${session.link}`, { viewport: { width: 1000, height: 700 } });
  await until(page, () => window.hall?.tree?.contracts.some((contract) => contract.path === '1.1' && contract.state === 'works'), null);
  await tabTo(page, '[role=tree]');
  await page.keyboard.press('End');
  await until(page, () => window.hall.selected === '1.1', null);
  await page.keyboard.press('Enter');
  await tabTo(page, '.orders button', 'Stop');
  await page.keyboard.press('Enter');
  await page.locator('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Stop');
  await page.keyboard.press('Enter');
  await tabTo(page, 'dialog .danger');
  await page.keyboard.press('Enter');
  await until(page, () => window.hall.tree?.contracts.find((contract) => contract.path === '1.1')?.state === 'cancelled', null);
  await until(page, hasEnded, null);
  expect(faults.list).toEqual([]);
  await page.context().close();
});

test('reduced motion gets 2D and no animations, and may still choose 3D', async () => {
  const { page, faults } = await open(able, server.origin, '/', { reducedMotion: 'reduce', viewport: { width: 1000, height: 700 } });
  await until(page, () => window.hall?.mode === '2d', null);
  const isStill = async (): Promise<void> => {
    expect(await page.locator('canvas').count()).toBe(0);
    expect(await page.evaluate(() => document.getAnimations().filter((animation) => animation.playState === 'running').length)).toBe(0);
    expect(await page.getByText('3D', { exact: true }).isEnabled()).toBe(true);
  };
  await isStill();
  // A team at work is as still as the first page.
  const session = await makeSession(server.origin);
  await page.goto(`${server.origin}/${session.link}`);
  await until(page, hasContracts, 4);
  await isStill();
  expect(faults.list).toEqual([]);
  await page.context().close();
});

test('at 360 px everything is there, and nothing scrolls sideways', async () => {
  const { page, faults } = await open(able, server.origin, '/', PHONE);
  await page.getByText('Watch a team work').waitFor();
  expect(await overflow(page)).toBeLessThanOrEqual(0);
  await page.goto(`${server.origin}/#/ask`);
  await page.locator('.offer').first().waitFor();
  expect(await overflow(page)).toBeLessThanOrEqual(0);
  const session = await makeSession(server.origin);
  await page.goto(`${server.origin}/${session.link}`);
  await until(page, hasContracts, 4);
  expect(await overflow(page)).toBeLessThanOrEqual(0);
  // The agent of the first level that works longest.
  const row = page.locator('[id="row-1.2"]');
  await row.tap();
  await row.tap();
  await until(page, () => document.querySelectorAll('.turn').length > 0 && window.hall.selected === '1.2', null);
  expect(await overflow(page)).toBeLessThanOrEqual(0);
  await page.locator('.orders').getByText('Stop').tap();
  await page.locator('dialog').waitFor();
  expect(await overflow(page)).toBeLessThanOrEqual(0);
  await page.locator('dialog .danger').tap();
  await until(page, () => window.hall.tree?.contracts.find((contract) => contract.path === '1.2')?.state === 'cancelled', null);
  for (const tab of ['ledger', 'answer', 'tree', 'details']) {
    await page.locator(`#tab-${tab}`).tap();
    await until(page, (id) => document.querySelector(`#tab-${id}`)?.getAttribute('aria-selected') === 'true' && (document.querySelector('#panel-body')?.textContent ?? '') !== '', tab);
    expect(await overflow(page)).toBeLessThanOrEqual(0);
  }
  expect(faults.list).toEqual([]);
  await page.context().close();
});
