// No text of a user, an agent or a server becomes code, markup, or a request to another host.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Browser, Page } from 'playwright-core';
import { type Block, type Inline, parseMarkdown } from '../src/ui/markdown';
import { CORPUS, traces, watchForCode } from './corpus';
import { POLICY } from './peer';
import { Peer, Script } from './synthetic';
import { type Faults, hasContracts, launch, makeSession, open, Server, until } from './world';

let browser: Browser;
let server: Server;
let peer: Peer;

beforeAll(async () => {
  server = new Server('[serve]\nnew_sessions_per_minute = 100\n');
  [browser, peer] = await Promise.all([launch(), Peer.start(), server.start()]);
});

afterAll(async () => {
  await browser?.close();
  await Promise.all([server?.remove(), peer?.stop()]);
});

/** Opens a page that is watched from its first moment on. */
async function watched(origin: string, path: string): Promise<{ page: Page; faults: Faults }> {
  const { page, faults } = await open(browser, origin, '/?view=2d', { viewport: { width: 1000, height: 700 } });
  page.on('dialog', (dialog) => {
    faults.list.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.context().on('page', (other) => faults.list.push(`a window opened: ${other.url()}`));
  await page.addInitScript(watchForCode);
  await page.goto('about:blank');
  await page.goto(`${origin}/?view=2d${path}`);
  return { page, faults };
}

/** What a text looks like in the page: control characters, those of direction and blanks are no matter. */
const plain = (text: string): string => text.replace(/[\s\u0000-\u001f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffd]+/g, '');

/** Waits until the page shows this text, with everything unfolded: whole texts are loaded. */
async function showsText(page: Page, selector: string, text: string): Promise<void> {
  const shown = async (): Promise<string> => {
    await openEverything(page);
    return plain((await page.locator(selector).allTextContents()).join(' '));
  };
  await expect.poll(shown, { timeout: 30_000 }).toContain(plain(text).slice(0, 200));
}

const wordsOf = (parts: readonly Inline[]): string => parts.map((part) => ('children' in part ? wordsOf(part.children) : part.text)).join('');

function textOf(block: Block): string {
  switch (block.kind) {
    case 'heading':
      return wordsOf(block.children);
    case 'paragraph':
      return block.lines.map(wordsOf).join('\n');
    case 'code':
      return block.text;
    case 'quote':
      return block.blocks.map(textOf).join('\n');
    case 'list':
      return block.items.map((item) => item.map(textOf).join('\n')).join('\n');
    case 'rule':
      return '';
  }
}

/** What is left of a text when its Markdown is drawn: without the marks of links and code. */
function reported(text: string): string {
  const words = parseMarkdown(text).map(textOf).join('\n');
  if (plain(words) === '') throw new Error(`nothing of this text would be seen: ${text}`);
  return words;
}

async function choose(page: Page, path: string): Promise<void> {
  await page.locator(`[id="row-${path}"]`).click();
  await page.locator('#tab-details').click();
  await until(page, (id) => document.querySelector('.details .facts-list')?.textContent?.includes(id) === true, path);
}

async function openEverything(page: Page): Promise<void> {
  await page.evaluate(() => {
    for (const summary of document.querySelectorAll<HTMLElement>('details:not([open]) > summary')) summary.click();
    for (const button of document.querySelectorAll<HTMLButtonElement>('.folded > button[aria-expanded=false]')) button.click();
  });
  await until(page, () => document.querySelector('.folded > button[aria-expanded=false]') === null, null);
}

test('the policy of the page forbids foreign hosts and inline code, and the peer of these tests has the same', async () => {
  const reply = await fetch(`${server.origin}/`);
  expect(reply.headers.get('content-security-policy')).toBe(POLICY);
  expect(POLICY).not.toContain('unsafe');
});

test('hostile tasks and messages are shown as text', async () => {
  // The server refuses nothing of this: a task is any text.
  const hostile = CORPUS.map((text, index) => `${index}: ${text}`).join('\n\n');
  const task = `Why is the payment API failing?\n\n${hostile}`;
  const session = await makeSession(server.origin, null);
  const { page, faults } = await watched(server.origin, session.link);
  await page.locator('#next-task').fill(task);
  await page.locator('.next .primary').click();
  await until(page, hasContracts, 1);
  await choose(page, '1');
  await page.locator('.orders').getByText('Message').click();
  await page.locator('#message').fill(hostile);
  await page.locator('dialog').getByText('Send').click();
  await page.locator('dialog').waitFor({ state: 'detached' });
  await until(page, () => [...document.querySelectorAll('.turn-shown')].some((turn) => turn.textContent?.includes('0: <script>')), null, 30_000);
  await showsText(page, '.turn', CORPUS[0] ?? '');
  await showsText(page, '.hud h1', '0: <script>window.pwned');
  expect(await traces(page)).toEqual([]);
  // The first page lists the session by its task.
  await page.locator('.hud .home').click();
  await page.locator('.recent a').waitFor();
  await showsText(page, '.recent', '0: <script>window.pwned');
  expect(await traces(page)).toEqual([]);
  expect(faults.list).toEqual([]);
  await page.context().close();
});

/** As many texts are in the report and the transcript of one contract. */
const GROUP = 6;
const groups = CORPUS.flatMap((_, index) => (index % GROUP === 0 ? [CORPUS.slice(index, index + GROUP)] : []));

/** A session in which every text of agents, tools and the server is hostile. */
function hostileSession(): Script {
  const cast = CORPUS.map((text) => ({ name: text.slice(0, 200), description: text, specialties: [text.slice(0, 80), 'logs'], model: text.slice(0, 80) }));
  const script = new Script('hostile', cast).fund().request(CORPUS[0] ?? '', CORPUS.join('\n\n'));
  groups.forEach((texts, group) => {
    const path = `1.${group + 1}`;
    script.hire(path, texts[0] ?? '', texts.join('\n\n'), texts[1] ?? null);
    texts.forEach((text, index) => {
      script.hire(`${path}.${index + 1}`, text, text, index % 3 === 0 ? null : text.slice(0, 500));
      script.ask(path, { tool: { tool: text, arguments: script.text(text) } });
      script.refuse(path, { unknown_agent: { agent: text } }, text);
      script.refuse('1', { [text]: { agent: text } }, text);
      script.fact(`${path}.${index + 1}`, { [text]: { value: text } });
    });
    script.transcripts[path] = texts.flatMap((text, index) => hostileLines(text, `${group}-${index}`)).join('\n');
    script.close(path, texts.join('\n\n'), group % 2 === 0 ? 'done' : 'failed');
  });
  return script;
}

function hostileLines(text: string, id: string): string[] {
  const content = [{ type: 'text', text }, { type: 'tool_use', id: `call-${id}`, name: text, input: { [text]: text, list: [text] } }];
  const result = [{ type: 'tool_result', tool_use_id: `call-${id}`, content: text, is_error: true }];
  const lines = [
    { type: 'user', uuid: `a-${id}`, message: { role: 'user', content: text }, stored: { seq: 1, fact: { opened: {} } } },
    { type: 'assistant', uuid: `b-${id}`, message: { role: 'assistant', model: text, content } },
    { type: 'user', uuid: `c-${id}`, message: { role: 'user', content: result } },
    { type: 'system', subtype: text, uuid: `d-${id}`, content: text, texts: { [text]: text } },
    { type: text },
  ];
  return [...lines.map((line) => JSON.stringify(line)), text.replaceAll('\n', ' ')];
}

test('hostile names, labels, reports, refusals and transcripts are shown as text', async () => {
  const script = hostileSession();
  const detail = CORPUS.slice(0, 30).join('\n');
  const link = await peer.serve(script.session({ view: { team: CORPUS[2] }, refusal: { status: 409, code: CORPUS[3] ?? '', detail } }));
  const { page, faults } = await watched(peer.origin, link);
  await until(page, hasContracts, CORPUS.length + groups.length + 1);
  await page.locator('[id="row-1.1"]').waitFor();
  await showsText(page, '[role=tree]', CORPUS[0] ?? '');
  const tree = page.locator('[role=tree]');
  await tree.press('Home');
  for (const [group, texts] of groups.entries()) {
    // Down to the next contract, past its hires and its refused hires.
    while ((await page.evaluate(() => window.hall.selected)) !== `1.${group + 1}`) await tree.press('ArrowDown');
    await page.locator('#tab-details').click();
    await until(page, (wanted) => document.querySelector('.details')?.textContent?.includes(`Contract${wanted}`) === true && document.querySelectorAll('.turn').length >= 20, `1.${group + 1}`);
    for (const text of texts) await showsText(page, '.turns', text);
    for (const text of texts) await showsText(page, 'section[aria-label=Report]', reported(text));
    expect(await traces(page)).toEqual([]);
  }
  await tree.press('End');
  await until(page, () => document.querySelector('.details .reason') !== null, null);
  // A reason that the page does not know is shown by its name.
  await showsText(page, '.details .reason', CORPUS.at(-1) ?? '');
  while (!/^1\.\d+!/.test((await page.evaluate(() => window.hall.selected)) ?? '')) await tree.press('ArrowUp');
  await showsText(page, '.details .reason', 'is not on its team');
  expect(await traces(page)).toEqual([]);
  for (const tab of ['ledger', 'answer']) {
    await page.locator(`#tab-${tab}`).click();
    await until(page, () => document.querySelector('#panel-body table') !== null, null);
    await openEverything(page);
    expect(await traces(page)).toEqual([]);
  }
  await tree.press('Home');
  await choose(page, '1');
  await page.locator('.orders').getByText('Message').click();
  await page.locator('#message').fill('hello');
  await page.locator('dialog').getByText('Send').click();
  await page.locator('.problem').waitFor();
  await showsText(page, '.problem', CORPUS[0] ?? '');
  expect(await traces(page)).toEqual([]);
  expect(faults.list).toEqual([]);
  await page.context().close();
});

test('hostile offers are shown as text', async () => {
  const cost = { requests: 3, median_msat: 1, percentile_90_msat: 2 };
  const offers = CORPUS.map((text, index) => ({ team: `${index} ${text.slice(0, 300)}`, description: text, example: text, agents: [], models: [text.slice(0, 300)], money: 'play', needs_operator: index % 2 === 1, budget_sats: 500, cost }));
  await peer.send({ kind: 'offers', offers });
  const { page, faults } = await watched(peer.origin, '#/ask');
  await until(page, (count) => document.querySelectorAll('.offer').length === count, CORPUS.length);
  await showsText(page, '.offers', CORPUS[0] ?? '');
  await page.locator('.offer').first().click();
  await page.getByText('Use the example').click();
  expect(await page.locator('#task').inputValue()).toBe(CORPUS[0]);
  expect(await traces(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(0);
  expect(faults.list).toEqual([]);
  await page.context().close();
});
