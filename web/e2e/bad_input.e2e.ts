// Sessions that are huge, deep, empty, broken or newer than the page: the page is never blank and never wrong.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Browser, Page } from 'playwright-core';
import { Peer, Script } from './synthetic';
import { type Faults, hasContracts, launch, open, scrub, until } from './world';

let browser: Browser;
let peer: Peer;

beforeAll(async () => {
  [browser, peer] = await Promise.all([launch(), Peer.start()]);
});

afterAll(async () => {
  await browser?.close();
  await peer?.stop();
});

async function visit(script: Script, more: Parameters<Script['session']>[0] = {}): Promise<{ page: Page; faults: Faults }> {
  const link = await peer.serve(script.session(more));
  return open(browser, peer.origin, `/?view=2d${link}`, { viewport: { width: 1000, height: 700 } });
}

async function close({ page, faults }: { page: Page; faults: Faults }): Promise<void> {
  expect(faults.list).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(0);
  await page.context().close();
}

/** The longest time in milliseconds for which the page did not react, from now on. */
function watchFreezes(page: Page): Promise<void> {
  return page.evaluate(() => {
    const freeze = { longest: 0 };
    Object.assign(window, { freeze });
    let last = performance.now();
    setInterval(() => {
      const now = performance.now();
      freeze.longest = Math.max(freeze.longest, now - last);
      last = now;
    }, 20);
  });
}

/** How long this machine needs just now to write and read the tree of a session once: the floor for a limit of time. */
const copyMs = (page: Page): Promise<number> =>
  page.evaluate(() => {
    const begin = performance.now();
    JSON.parse(JSON.stringify(window.hall.tree));
    return performance.now() - begin;
  });

const longestFreeze = (page: Page): Promise<number> => page.evaluate(() => (window as unknown as { freeze: { longest: number } }).freeze.longest);

test('ten thousand contracts can be scrolled, scrubbed and chosen, and the longest freeze is a small multiple of a copy of the tree', async () => {
  const script = new Script('crowd').fund().request('boss', 'Do everything.');
  for (let lead = 1; lead <= 100; lead += 1) {
    script.hire(`1.${lead}`, `lead-${lead}`, `part ${lead}`);
    for (let worker = 1; worker < 100; worker += 1) {
      script.hire(`1.${lead}.${worker}`, 'worker', `piece ${worker}`);
      if (worker % 2 === 0) script.close(`1.${lead}.${worker}`, 'all is well', worker % 10 === 0 ? 'failed' : 'done');
    }
  }
  const link = await peer.serve(script.session());
  const opened = await open(browser, peer.origin, '/?view=2d', { viewport: { width: 1000, height: 700 } });
  const { page } = opened;
  await watchFreezes(page);
  await page.evaluate((hash) => void (location.hash = hash), link);
  await until(page, hasContracts, 10_001);
  await page.locator('[id="row-1.2"]').waitFor();
  expect(await page.locator('.legend').textContent()).toMatch(/failed/);
  const tree = page.locator('[role=tree]');
  // The tree begins folded. A key unfolds all leads, and the rows on the page stay few.
  await tree.press('Home');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('*');
  await until(page, () => (document.querySelector('.tree-rows')?.clientHeight ?? 0) > 500_000, null);
  await page.keyboard.press('End');
  await until(page, () => window.hall.selected === '1.100.99', null);
  await page.locator('[id="row-1.100.99"]').waitFor();
  expect(await page.locator('.tree-row').count()).toBeLessThan(100);
  await page.mouse.move(300, 400);
  await page.mouse.wheel(0, -200_000);
  await until(page, () => (document.querySelector('.tree')?.scrollTop ?? 0) < 450_000 && document.querySelectorAll('.tree-row').length > 5, null);
  await page.locator('#tab-ledger').click();
  await page.getByText('Show 100 more').waitFor();
  await scrub(page, 5000);
  await until(page, () => window.hall.cursor === '4998.2', null);
  await page.locator('.live').click();
  await until(page, hasContracts, 10_001);
  // About 10 times on an idle machine.
  const floor = Math.max(await copyMs(page), await copyMs(page), await copyMs(page));
  expect(await longestFreeze(page)).toBeLessThan(60 * floor);
  await close(opened);
});

test('depth 64 is shown to its end', async () => {
  const script = new Script('deep').fund().request('level-0', 'Dig.');
  for (let depth = 1; depth <= 64; depth += 1) script.hire(`1${'.1'.repeat(depth)}`, `level-${depth}`, 'Dig deeper.');
  const opened = await visit(script);
  const { page } = opened;
  await until(page, hasContracts, 65);
  await page.locator('[role=tree]').press('End');
  await page.keyboard.press('Enter');
  await until(page, () => document.querySelector('.details-name')?.textContent === 'level-64', null);
  const row = page.locator('.tree-row.is-selected');
  expect(await row.getAttribute('aria-level')).toBe('65');
  expect((await row.boundingBox())?.width).toBeGreaterThan(200);
  // An indent that grows without end would push the name out of its row.
  const name = await row.locator('.tree-name').boundingBox();
  expect(name?.width).toBeGreaterThan(30);
  await close(opened);
});

test('the longest names and right-to-left texts stay in their places, and empty reports are said to be empty', async () => {
  const [long, arabic] = ['x'.repeat(64 * 1024), 'تقرير عن السجلات: ١٢٣ خطأ'];
  const script = new Script('words').fund().request('a'.repeat(200), long);
  script.hire('1.1', 'b'.repeat(200), long, long).hire('1.2', 'عامل', arabic, arabic).hire('1.3', 'quiet', '', '  ');
  script.close('1.1', long).close('1.2', arabic).close('1.3', '');
  const opened = await visit(script);
  const { page } = opened;
  await until(page, hasContracts, 4);
  const width = await page.locator('.tree').evaluate((tree) => tree.scrollWidth - tree.clientWidth);
  expect(width).toBeLessThanOrEqual(0);
  const names = await page.locator('.tree-name').allTextContents();
  // A blank label is no name.
  expect(names).toEqual(['a'.repeat(200), `${'x'.repeat(80)}…`, arabic, 'quiet']);
  await page.locator('[id="row-1.2"]').click();
  await page.locator('#tab-details').click();
  const report = page.locator('section[aria-label=Report] .md');
  expect(await report.evaluate((element) => getComputedStyle(element).direction)).toBe('rtl');
  await page.locator('[id="row-1.3"]').click();
  await until(page, () => document.querySelector('section[aria-label=Report]')?.textContent?.includes('The text is empty.') === true, null);
  await page.locator('[id="row-1.1"]').click();
  await until(page, () => (document.querySelector('section[aria-label=Report]')?.textContent?.length ?? 0) > 1000, null);
  await close(opened);
});

test('unknown facts and events are shown as such, and all that is known stays right', async () => {
  const script = new Script('newer').fund().request('boss', 'Look ahead.').hire('1.1', 'worker', 'Work.').hire('1.2', 'helper', 'Help.');
  script.fact('1', { pondered: {} });
  script.fact('1.1', { teleported: { to: 'elsewhere' } });
  script.fact('1.2', { closed: { outcome: 'vanished' } });
  script.passing('weather', '{"rain": true}').passing('activity', '{"contract":"1.2","ask":1,"does":"sings"}');
  script.account({ gilded: { money: 1 } });
  script.hire('1.3', 'last', 'Come last.').close('1.3', 'I came.');
  const opened = await visit(script);
  const { page } = opened;
  await until(page, hasContracts, 4);
  await page.locator('[id="row-1.3"]').waitFor();
  const rows = await page.locator('.tree-row').allTextContents();
  expect(rows[0]).toContain('unknown fact: pondered');
  expect(rows[1]).toContain('unknown fact: teleported');
  expect(rows[2]).toContain('unknown fact: closed');
  expect(rows[3]).toContain('reported');
  expect(await page.evaluate(() => [window.hall.connection, window.hall.cursor === window.hall.newest])).toEqual(['live', true]);
  await close(opened);
});

test('an event that can’t be read is asked for again, and the session goes on', async () => {
  const script = new Script('broken').fund().request('boss', 'Go on.').hire('1.1', 'worker', 'Work.').breakLast('{"v":2,"seq":', 'once');
  script.hire('1.2', 'helper', 'Help.');
  const opened = await visit(script);
  const { page } = opened;
  const isSaid = (): boolean => /An event of the server can’t be read/.test(document.querySelector('.strip')?.textContent ?? '');
  await until(page, isSaid, null);
  await until(page, hasContracts, 3);
  await until(page, () => window.hall.connection === 'live' && document.querySelector('.strip') === null, null);
  await close(opened);
});

test('an event that stays broken is said, and the state before it stays', async () => {
  const script = new Script('stuck').fund().request('boss', 'Go on.').hire('1.1', 'worker', 'Work.').hire('1.2', 'helper', 'Help.').breakLast('[]', 'always');
  const opened = await visit(script);
  const { page } = opened;
  await until(page, hasContracts, 2);
  await until(page, () => /can’t be read.* Nothing is lost/.test(document.querySelector('.strip')?.textContent ?? ''), null);
  expect(await page.locator('.tree-name').allTextContents()).toEqual(['boss', 'worker']);
  await close(opened);
});

test('an empty session and a session that is not there say so', async () => {
  const empty = await visit(new Script('empty'), { view: { state: 'unpaid', free_msat: 0 } });
  await until(empty.page, () => window.hall?.connection === 'live', null);
  await empty.page.getByRole('heading', { name: 'Pay with play money' }).waitFor();
  await empty.page.locator('#tab-answer').click();
  expect(await empty.page.locator('#panel-body').textContent()).toContain('Nothing has been asked yet.');
  await close(empty);
  const missing = await open(browser, peer.origin, '/?view=2d#/s/no-such-session?k=gh_peer', { viewport: { width: 1000, height: 700 } });
  await until(missing.page, () => document.querySelector('h1')?.textContent === 'This session is not here', null);
  await close(missing);
});

test('a session whose team is gone is shown, and a new question says why it can’t be asked', async () => {
  const script = new Script('orphan').fund().request('boss', 'What was it?').close('1', 'It was nothing.');
  const detail = 'This server no longer offers the team of the session.';
  const opened = await visit(script, { view: { team: null, state: 'ready', agents: [] }, refusal: { status: 409, code: 'team_gone', detail } });
  const { page } = opened;
  await until(page, hasContracts, 1);
  await page.locator('#next-task').fill('And now?');
  await page.locator('.next .primary').click();
  await page.locator('.problem').waitFor();
  expect(await page.locator('.problem').textContent()).toMatch(/no longer offers the team.*Start a new session/);
  await close(opened);
});

test('an invoice is called paid when its payment has come, and not before', async () => {
  const script = new Script('paying').fund().request('boss', 'What was it?').close('1', 'It was nothing.');
  const count = script.frames.length;
  script.account({ funded: { money: 7000, root: null, payment: 'ab12' } });
  const [paid] = script.cut(count);
  const invoice = { invoice: 'ab12', amount_msat: 7000, payment_request: 'lnbc70n1peer', expires_at: Date.now() + 900_000, state: 'open' };
  // The server lists the invoice neither now nor later.
  const opened = await visit(script, { view: { money: 'real', state: 'ready' }, replies: { fund: invoice } });
  const { page } = opened;
  await page.getByRole('button', { name: 'Money', exact: true }).click();
  await page.locator('dialog').getByRole('button', { name: 'Copy your link' }).waitFor();
  await page.locator('dialog').getByRole('button', { name: 'Add money' }).click();
  await page.getByRole('button', { name: 'Make an invoice' }).click();
  await page.getByText('Waiting for the payment').waitFor();
  await page.locator('.qr path').waitFor();
  expect(await page.getByText('The money is there.').count()).toBe(0);
  if (paid === undefined) throw new Error('there is no payment');
  await peer.send({ kind: 'event', session: 'paying', frame: paid });
  await page.getByText('The money is there.').waitFor();
  await close(opened);
});
