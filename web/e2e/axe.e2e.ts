// axe-core finds nothing on any screen, by night and by day, on a wide window and on a phone.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Browser, Page } from 'playwright-core';
import { checkAccessibility } from './accessibility';
import { Peer, Script } from './synthetic';
import { type Client, hasContracts, hasEnded, launch, makeSession, open, Server, until } from './world';

const SIZES = { wide: { width: 1280, height: 800 }, phone: { width: 360, height: 740 } } as const;

let browser: Browser;
let server: Server;
let peer: Peer;
let session: Client;

beforeAll(async () => {
  server = new Server('[serve]\nnew_sessions_per_minute = 100\n');
  [browser, peer] = await Promise.all([launch(), Peer.start(), server.start()]);
  session = await makeSession(server.origin);
});

afterAll(async () => {
  await browser?.close();
  await Promise.all([server?.remove(), peer?.stop()]);
});

/** Checks what is shown in both themes and both sizes. */
async function checkAll(page: Page, name: string): Promise<void> {
  for (const [size, viewport] of Object.entries(SIZES)) {
    await page.setViewportSize(viewport);
    for (const theme of ['day', 'night'] as const) {
      await page.locator(`[aria-label="Switch to ${theme}"]`).click();
      await until(page, (wanted) => document.documentElement.dataset['theme'] === wanted, theme);
      await checkAccessibility(page, `${name}, ${size}, ${theme}`);
    }
  }
  await page.setViewportSize(SIZES.wide);
}

/** A dialog covers the switch of the theme: it is checked as it is, in both sizes. */
async function checkDialog(page: Page, name: string): Promise<void> {
  await page.locator('dialog').waitFor();
  for (const [size, viewport] of Object.entries(SIZES)) {
    await page.setViewportSize(viewport);
    await checkAccessibility(page, `${name}, ${size}`);
  }
  await page.setViewportSize(SIZES.wide);
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
}

const visit = (path: string, origin = server.origin): ReturnType<typeof open> => open(browser, origin, `/?view=2d&theme=night${path}`, { viewport: SIZES.wide });

/** A session that is at work for as long as the test needs. */
function workingSession(): Script {
  const script = new Script('at-work').fund().request('lead', 'Why is the payment API failing?');
  script.hire('1.1', 'reader', 'Read the logs.').hire('1.2', 'coder', 'Read the code.').hire('1.3', 'tester', 'Run the tests.').hire('1.4', 'clerk', 'Count.');
  script.close('1.1', 'The logs say **why**.').close('1.3', 'out of reach', 'failed').close('1.4', 'spent', { exhausted: 'purse' });
  script.refuse('1', { money: { asked: 40_000, free: 38_000, minimum: 12_000 } }, 'helper');
  const call = [{ type: 'text', text: 'I look.' }, { type: 'tool_use', id: 'c', name: 'search', input: { words: 'payment' } }];
  const lines = [
    { type: 'user', uuid: 'a', message: { role: 'user', content: 'Why is the payment API failing?' }, stored: { seq: 1, fact: { opened: {} } } },
    { type: 'assistant', uuid: 'b', message: { role: 'assistant', model: 'peer', content: call } },
    { type: 'user', uuid: 'c', message: { role: 'user', content: 'Hurry.' }, stored: { seq: 2, fact: { heard: { from: { owner: { command: 1 } }, stimulus: { message: {} } } } } },
  ];
  script.transcripts['1'] = lines.map((line) => JSON.stringify(line)).join('\n');
  return script;
}

test('a session at work: the tree, details, dialogs, the ledger', async () => {
  const { page, faults } = await visit(await peer.serve(workingSession().session()), peer.origin);
  await until(page, hasContracts, 5);
  await checkAll(page, 'session at work');
  await page.locator('[role=tree]').press('Home');
  await page.keyboard.press('Enter');
  await until(page, () => document.querySelectorAll('.turn').length > 1, null);
  for (const order of ['Message', 'Top up', 'Wrap up', 'Stop']) {
    await page.locator('.orders').getByText(order, { exact: true }).click();
    await checkDialog(page, `dialog ${order}`);
  }
  await page.getByRole('button', { name: 'Money', exact: true }).click();
  await checkDialog(page, 'dialog Money');
  await checkAll(page, 'details');
  await page.locator('#tab-ledger').click();
  await until(page, () => document.querySelectorAll('.ledger table').length > 0, null);
  await checkAll(page, 'ledger');
  expect(faults.list).toEqual([]);
  await page.context().close();
});

test('the first page and the form of a question', async () => {
  const { page, faults } = await visit('');
  await page.getByText('Watch a team work').waitFor();
  await checkAll(page, 'landing');
  await page.getByText('Ask the hall').click();
  await page.locator('.offer').first().waitFor();
  await checkAll(page, 'ask form');
  await page.locator('#amount').fill('none');
  await page.locator('button[type=submit]').click();
  await page.locator('.wrong').first().waitFor();
  await checkAll(page, 'ask form with mistakes');
  expect(faults.list).toEqual([]);
  await page.context().close();
});

test('pages that say what is wrong', async () => {
  for (const [path, words] of [
    [`#/s/${session.session}?k=gh_wrong`, 'This link does not open the session'],
    ['#/s/no-such-session', 'This tab has no token for the session'],
  ] as const) {
    const { page, faults } = await visit(path);
    await until(page, (wanted) => document.querySelector('h1')?.textContent === wanted, words);
    await checkAll(page, words);
    expect(faults.list).toEqual([]);
    await page.context().close();
  }
});

test('a session that has ended, for its owner and for a viewer', async () => {
  const { page, faults } = await visit(session.link);
  await until(page, hasEnded, null, 120_000);
  await page.locator('#tab-answer').click();
  await until(page, () => (document.querySelector('.report-box')?.textContent?.length ?? 0) > 20 && document.querySelector('.answer table') !== null, null);
  await checkAll(page, 'ended');
  await page.getByRole('button', { name: 'Share' }).click();
  await page.getByText('Make a link').click();
  const link = (await page.locator('.links .request-text').textContent()) ?? '';
  await checkDialog(page, 'dialog Share');
  const viewer = await visit(link.slice(link.indexOf('#')));
  await until(viewer.page, () => window.hall?.role === 'viewer' && (window.hall.tree?.contracts.length ?? 0) > 1, null);
  await checkAll(viewer.page, 'viewer');
  expect([...faults.list, ...viewer.faults.list]).toEqual([]);
});
