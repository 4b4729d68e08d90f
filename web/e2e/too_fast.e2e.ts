// A team that is faster than people can read, with names that are no names: the page shows it again, slower, and says so.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Browser } from 'playwright-core';
import { agentFile, Models, rule } from './peers';
import { hasEnded, launch, open, Server, until } from './world';

const NAMES = ['the quick one', '<img src=x onerror="window.hacked = 1">', 'W'.repeat(120), '\u202Egnirts desrever'];

let browser: Browser;
let models: Models;
let server: Server;

beforeAll(async () => {
  const hires = NAMES.map((name, number) => ({ name: 'delegate_task', arguments: { specialty: 'clerk', task: `Find date ${number}.`, budget: 20, name } }));
  models = await Models.start([rule('lead', { calls: hires }, { has_tool_result: false }), rule('lead', { text: 'On Tuesday.' }), rule('clerk', { text: 'Tuesday.' })]);
  server = new Server(`
[providers.test]
wire = "openai"
base_url = "${models.url}/v1"
window = 32768

[prices."scripted"]
input = 1
output = 5

[offers.fast]
description = "A fast team."
project = "project"
team = "agents"
agent = "lead"
budget = "500sat"
`);
  mkdirSync(join(server.home, 'project'));
  mkdirSync(join(server.home, 'agents'));
  writeFileSync(join(server.home, 'agents', 'lead.md'), agentFile('lead', 'delegation:\n  team: [clerk]\n'));
  writeFileSync(join(server.home, 'agents', 'clerk.md'), agentFile('clerk'));
  [browser] = await Promise.all([launch(), server.start()]);
});

afterAll(async () => {
  await browser?.close();
  await server?.remove();
  models?.stop();
});

/** The portals that are open, with the time of their start. Runs in the page. */
const openPortals = (): [string, number][] => (window.hall?.stage?.beats ?? []).flatMap((beat) => (beat.kind === 'portal' ? [[beat.figure, beat.start]] : []));

const isSlower = (): boolean => document.body.innerText.includes('Shown slower than it happened');

test('work that was too fast to read is shown again, slower, and hostile names stay names', async () => {
  const { page, faults } = await open(browser, server.origin, '/?quality=reduced', { viewport: { width: 1280, height: 800 } });
  // The first frame compiles all programs, which takes longer than the whole work.
  await until(page, () => (window.hall?.stats?.drawCalls ?? 0) > 0, null, 120_000);
  await page.getByRole('button', { name: 'Ask the hall' }).click();
  await page.locator('#task').fill('When are the meetings?');
  // From here on the time of the page stands still unless the test moves it: nothing is missed, however slow the machine is.
  await page.clock.install();
  await page.clock.pauseAt(await page.evaluate(() => Date.now() + 1000));
  await page.getByRole('button', { name: 'Ask with play money' }).click();
  const portals: Record<string, number> = {};
  const pass = async (isReached: () => Promise<boolean>): Promise<void> => {
    for (let steps = 0; !(await isReached()); steps += 1) {
      if (steps > 1000) throw new Error(`not within 100 s of the page: ${await page.evaluate(() => document.body.innerText)}`);
      await page.clock.fastForward(100);
      Object.assign(portals, Object.fromEntries(await page.evaluate(openPortals)));
    }
  };
  await pass(() => page.evaluate(isSlower));
  // It goes on to the end by itself.
  await pass(async () => !(await page.evaluate(isSlower)));
  await page.clock.resume();
  await until(page, hasEnded, null);
  await until(page, () => window.hall.stage?.figures.length === 5 && window.hall.stage.figures.every((figure) => figure.condition === 'done'), null);
  const starts = ['1.1', '1.2', '1.3', '1.4'].map((path) => portals[path] ?? Number.NaN);
  for (const [number, start] of starts.slice(1).entries()) expect(start - (starts[number] ?? 0)).toBeGreaterThanOrEqual(119);

  // The names are texts in the labels of the scene, each in its own place.
  await until(page, () => document.querySelectorAll('.label-layer .label-name').length >= 5, null);
  const labels = await page.locator('.label-layer .label-name').allTextContents();
  for (const name of NAMES) expect(labels.some((label) => name.startsWith(label.replace(/…$/, '').slice(1)) || label.includes(name.slice(1, 12))), `${name} of ${labels.join(' | ')}`).toBe(true);
  const { width } = (await page.locator('canvas').boundingBox()) ?? { width: 0 };
  for (const label of await page.locator('.label-layer .label-name').all()) expect((await label.boundingBox())?.width ?? 0).toBeLessThan(width / 3);
  expect(await page.locator('.label-layer img').count()).toBe(0);
  expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
  expect(faults.list).toEqual([]);
  await page.context().close();
}, 400_000);
