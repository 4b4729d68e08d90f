// What moves money or steers work, as people do it in the page: a real Lightning invoice, its payment and the refund, a team that
// only the operator may ask, a message, a top-up, an early end. In 2D, which has everything and is fast.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Browser, Page } from 'playwright-core';
import type { Tree } from '../src/wire';
import { agentFile, Lnbits, Models, rule } from './peers';
import { clientOf, hasEnded, launch, open, Server, until } from './world';

let browser: Browser;
let lnbits: Lnbits | null;
let models: Models;
let server: Server;

const RULES = [
  rule('lead', { calls: [{ name: 'delegate_task', arguments: { specialty: 'clerk', task: 'Find the date.', budget: 100 } }] }, { has_tool_result: false }),
  rule('lead', { text: 'The meeting is on **Tuesday**.' }),
  rule('clerk', { text: 'Tuesday.' }),
  // It reads until it is told more.
  rule('reader', { text: 'Then it is on Friday.' }, { last_user: 'The one about the roof.' }),
  rule('reader', { calls: [{ name: 'read_file', arguments: { path: 'notes.txt' } }], pace: { headers_ms: 700 } }),
  rule('manager', { calls: [{ name: 'delegate_task', arguments: { specialty: 'worker', task: 'Work.', budget: 100 } }] }, { has_tool_result: false }),
  rule('manager', { text: 'All is done.' }),
  // Every reply but the last is a call, so that the worker has more turns.
  rule('worker', { calls: [{ name: 'read_file', arguments: { path: 'notes.txt' } }], pace: { headers_ms: 1500 } }, { nth_of_agent: { from: 1, to: 40 } }),
];

const offer = (name: string, agent: string, money: 'wallet' | 'play'): string => `
[offers.${name}]
description = "A team that asks ${agent}."
project = "project"
team = "agents"
agent = "${agent}"
budget = "1500sat"
money = "${money}"
`;

beforeAll(async () => {
  [browser, lnbits, models] = await Promise.all([launch(), Lnbits.start(0, 50_000), Models.start(RULES)]);
  const [treasury] = lnbits?.wallets ?? [];
  const config = `
rate = { usd_per_btc = 100000, date = "2099-01-01" }

[providers.test]
wire = "openai"
base_url = "${models.url}/v1"
key_env = "TEST_KEY"
window = 32768

[prices."scripted"]
input = 1
output = 5
${lnbits === null ? '' : offer('paid', 'lead', 'wallet')}${offer('reading', 'reader', 'play')}${offer('managed', 'manager', 'play')}
[serve]
live_demo = true
`;
  server = new Server(config, { LNBITS_INVOICE_KEY: treasury?.invoice_key ?? '', LNBITS_ADMIN_KEY: treasury?.admin_key ?? '', TEST_KEY: 'key' });
  mkdirSync(join(server.home, 'project'));
  mkdirSync(join(server.home, 'agents'));
  writeFileSync(join(server.home, 'project', 'notes.txt'), 'The meeting is on Tuesday.\n');
  const files = { lead: 'delegation:\n  team: [clerk]\n', clerk: '', reader: '', manager: 'delegation:\n  team: [worker]\n', worker: '' };
  for (const [name, more] of Object.entries(files)) writeFileSync(join(server.home, 'agents', `${name}.md`), agentFile(name, more));
  if (lnbits !== null) {
    await server.run('wallet', 'connect', lnbits.url);
    await server.run('wallet', 'payouts', 'on');
  }
  await server.start();
}, 600_000);

afterAll(async () => {
  await browser?.close();
  await server?.remove();
  lnbits?.stop();
  models?.stop();
});

/** Asks a team in the page, up to the button. */
async function fill(page: Page, team: string, task: string, budget: number): Promise<void> {
  await page.locator('.offer', { has: page.locator('.name', { hasText: new RegExp(`^${team}$`) }) }).click();
  await page.locator('#task').fill(task);
  await page.locator('#amount').fill(String(budget));
}

const saysIn = ([place, words]: readonly [string, string]): boolean => document.querySelector(place)?.textContent?.includes(words) === true;

test('a Lightning invoice is shown, paid, worked for, and the rest is paid back', async ({ skip }) => {
  if (lnbits === null) return skip('this machine has no LNbits');
  const { page, faults } = await open(browser, server.origin, '/?view=2d#/ask');
  const [, person] = lnbits.wallets;
  if (person === undefined) throw new Error('two wallets were made');
  await fill(page, 'paid', 'When is the meeting?', 1500);
  expect(await page.locator('.ask-form').textContent()).toContain('real money');
  await page.getByRole('button', { name: 'Make an invoice' }).click();

  // The invoice, as a code and as a text. Nothing says that it was paid.
  const request = (await page.locator('.request-text').textContent({ timeout: 60_000 }))?.trim() ?? '';
  expect(request).toMatch(/^lnbc15u/);
  expect(await page.locator('a', { hasText: 'Open in a wallet' }).getAttribute('href')).toBe(`lightning:${request}`);
  await until(page, () => document.querySelector('.pay svg') !== null, null);
  expect(await page.getByText('Waiting for the payment').count()).toBe(1);
  expect(await page.getByText('play money').count()).toBe(0);

  // The question is asked by itself once the money is there.
  await lnbits.pay(person, request);
  await until(page, hasEnded, null, 90_000);
  await page.locator('#tab-answer').click();
  await until(page, saysIn, ['.report-box', 'The meeting is on Tuesday.'] as const);
  const client = await clientOf(page, server.origin);
  const view = await client.get<{ money: string; free_msat: number; payable_msat: number; spent_msat: number }>();
  expect(view).toMatchObject({ money: 'real', free_msat: 1_500_000 - view.spent_msat });

  // More money: the page waits for the payment, and says that it came only after it came.
  await page.getByRole('button', { name: 'Money' }).click();
  await page.locator('dialog').getByRole('button', { name: 'Add money' }).click();
  await page.locator('dialog #amount-form').fill('300');
  await page.locator('dialog').getByRole('button', { name: 'Make an invoice' }).click();
  const more = (await page.locator('dialog .request-text').textContent({ timeout: 60_000 }))?.trim() ?? '';
  expect(more).toMatch(/^lnbc3u/);
  expect(await page.getByText('The money is there.').count()).toBe(0);
  await lnbits.pay(person, more);
  await page.getByText('The money is there.').waitFor({ timeout: 60_000 });
  await page.getByRole('button', { name: 'Done' }).click();

  // The rest goes back to an invoice of the person.
  const [before, { payable_msat }] = [await lnbits.balanceMsat(person), await client.get<{ payable_msat: number }>()];
  const sats = Math.floor(payable_msat / 1000);
  await page.getByRole('button', { name: 'Money' }).click();
  await page.locator('#refund').fill('lnbc1nonsense');
  await page.getByRole('button', { name: 'Pay back' }).click();
  await page.locator('dialog [role=alert]').waitFor();
  await page.locator('#refund').fill(await lnbits.invoice(person, sats));
  await page.getByRole('button', { name: 'Pay back' }).click();
  await until(page, (words) => new RegExp(words).test(document.querySelector('dialog')?.textContent ?? ''), `${sats} sat (on its way|paid) back`);
  for (let tries = 0; (await lnbits.balanceMsat(person)) !== before + sats * 1000; tries += 1) {
    if (tries > 300) throw new Error('the refund did not arrive');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await until(page, (words) => document.querySelector('dialog .facts-list')?.textContent?.includes(words), `Paid back${sats} sat`);
  expect(faults.list).toEqual([]);
  await page.context().close();
}, 300_000);

test('a team with a priced model in play money needs the operator, and its agent gets a message', async () => {
  const { page, faults } = await open(browser, server.origin, '/?view=2d#/ask');
  await fill(page, 'reading', 'When is the meeting?', 500);
  const ask = page.getByRole('button', { name: 'Ask with play money' });
  await ask.click();
  await page.getByText('This team needs the operator’s token.').waitFor();
  await page.locator('#operator').fill('gh_wrong');
  await ask.click();
  await page.locator('.problem').waitFor();
  await page.locator('#operator').fill(server.operatorToken());
  await ask.click();

  await page.locator('[id="row-1"]').click({ timeout: 60_000 });
  await page.locator('.orders').getByText('Message').click();
  await page.locator('#message').fill('The one about the roof.');
  await page.getByRole('button', { name: 'Send' }).click();
  await until(page, hasEnded, null, 60_000);
  await until(page, saysIn, ['.details', 'The one about the roof.'] as const);
  await page.locator('#tab-answer').click();
  await until(page, saysIn, ['.report-box', 'Then it is on Friday.'] as const);
  expect(faults.list).toEqual([]);
  await page.context().close();
}, 180_000);

test('a running agent is topped up, wrapped up, and its rest returns', async () => {
  const { page, faults } = await open(browser, server.origin, '/?view=2d#/ask');
  await fill(page, 'managed', 'Do the work.', 500);
  await page.locator('#operator').fill(server.operatorToken());
  await page.getByRole('button', { name: 'Ask with play money' }).click();
  await page.locator('[id="row-1.1"]').click({ timeout: 60_000 });
  const client = await clientOf(page, server.origin);
  const granted = async (): Promise<number> => (await client.get<Tree>('tree')).contracts.find((contract) => contract.path === '1.1')?.money.granted ?? 0;
  const before = await granted();

  // The session has no free money: the dialog says so and leads to the one that adds it.
  const orders = page.locator('.orders');
  await orders.getByText('Top up').click();
  await page.locator('dialog').getByRole('button', { name: 'Add money' }).click();
  await page.locator('dialog #amount-form').fill('70');
  await page.locator('dialog').getByRole('button', { name: 'Add play money' }).click();
  await page.getByRole('button', { name: 'Done' }).click();
  await orders.getByText('Top up').click();
  await page.locator('dialog #amount-form').fill('50');
  await page.locator('dialog').getByRole('button', { name: 'Top up' }).click();
  await page.locator('dialog').waitFor({ state: 'detached' });
  for (let tries = 0; (await granted()) !== before + 50_000; tries += 1) {
    if (tries > 300) throw new Error(`the top-up did not arrive: ${await granted()} of ${before} + 50000`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }

  await orders.getByText('Wrap up').click();
  await page.locator('dialog').getByRole('button', { name: 'Wrap up' }).click();
  await page.locator('dialog').waitFor({ state: 'detached' });
  await until(page, hasEnded, null, 90_000);
  const { contracts } = await client.get<Tree>('tree');
  expect(contracts.map(({ path, state }) => `${path} ${state}`)).toEqual(['1 done', '1.1 ran_dry']);
  expect(faults.list).toEqual([]);
  await page.context().close();
}, 180_000);
