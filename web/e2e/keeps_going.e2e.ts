// A session outlives a reload, a killed server and a stalled connection, and what is shown is always the state of the server.
import { connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Browser, Page } from 'playwright-core';
import type { Tree } from '../src/wire';
import { Client, eventCount, type Faults, hasContracts, hasEnded, launch, makeSession, open, scrub, Server, until } from './world';

const FLAT = { viewport: { width: 1000, height: 700 } };
const CONFIG = '[serve]\nnew_sessions_per_minute = 100\n';

/** Passes bytes on to a server, until it is told to keep back those of the event streams that are open. */
class Proxy {
  origin = '';
  readonly #server = createServer((near) => this.#join(near));
  readonly #streams = new Set<Socket>();
  readonly #all = new Set<Socket>();

  constructor(readonly target: string) {}

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
    this.origin = `http://127.0.0.1:${address.port}`;
  }

  #join(near: Socket): void {
    const { hostname, port } = new URL(this.target);
    const far = connect(Number(port), hostname);
    for (const socket of [near, far]) {
      this.#all.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => this.#all.delete(socket));
    }
    near.on('data', (bytes) => {
      if (/^GET \/api\/sessions\/[^/ ]+\/events /.test(bytes.toString('latin1'))) this.#streams.add(far);
      // The server takes requests only for its own address.
      const text = bytes.toString('latin1').replaceAll(this.origin, this.target).replaceAll(this.origin.slice(7), this.target.slice(7));
      far.write(Buffer.from(text, 'latin1'));
    });
    far.pipe(near);
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  }

  /** Nothing more comes out of the event streams that are open now. They stay open. Returns how many there were. */
  stall(): number {
    const count = this.#streams.size;
    for (const socket of this.#streams) socket.unpipe();
    this.#streams.clear();
    return count;
  }

  stop(): void {
    for (const socket of this.#all) socket.destroy();
    this.#server.close();
  }
}

let browser: Browser;
let server: Server;
let other: Server;
let proxy: Proxy;
let stalled: { page: Page; faults: Faults; session: Client; noticed: Promise<boolean> };
let session: Client;

beforeAll(async () => {
  [server, other] = [new Server(CONFIG), new Server(CONFIG)];
  [browser] = await Promise.all([launch(), server.start(), other.start()]);
  proxy = new Proxy(other.origin);
  await proxy.start();
  // Silence is noticed after 40 s, so the other tests run meanwhile.
  const quiet = await makeSession(other.origin);
  const { page, faults } = await open(browser, proxy.origin, `/?view=2d${quiet.link}`, FLAT);
  await until(page, hasContracts, 1);
  expect(proxy.stall()).toBe(1);
  const isSaid = (): boolean => /The server has been silent for too long/.test(document.querySelector('.strip')?.textContent ?? '');
  const noticed = until(page, isSaid, null, 120_000).catch(() => false);
  stalled = { page, faults, session: quiet, noticed };
  session = await makeSession(server.origin);
});

afterAll(async () => {
  await browser?.close();
  proxy?.stop();
  await Promise.all([server?.remove(), other?.remove()]);
});

const shownTree = (page: Page): Promise<Tree> => page.evaluate(() => window.hall.tree as Tree);

test('a reload in mid-run keeps the session, and no address ever has the token', async () => {
  const { page, faults } = await open(browser, server.origin, `/?view=2d${session.link}`, FLAT);
  const addresses: string[] = [];
  page.on('request', (request) => addresses.push(request.url()));
  await until(page, hasContracts, 2);
  expect(page.url()).toBe(`${server.origin}/?view=2d#/s/${session.session}`);
  await page.reload();
  await until(page, hasContracts, 2);
  expect(await page.evaluate(() => [window.hall.session, window.hall.role, window.hall.isLive])).toEqual([session.session, 'owner', true]);
  // The token still gives orders.
  await page.locator('[role=tree]').press('Home');
  await page.keyboard.press('Enter');
  await page.locator('.orders').getByText('Message').click();
  await page.locator('#message').fill('Look at the configuration, too.');
  await page.locator('dialog').getByText('Send').click();
  await page.locator('dialog').waitFor({ state: 'detached' });
  await page.goto(`${server.origin}/?view=2d`);
  await page.locator('.recent a').click();
  await until(page, hasContracts, 2);
  expect(addresses.filter((address) => address.includes(session.token))).toEqual([]);
  expect(await page.evaluate(() => JSON.stringify(history.state) + location.href + document.cookie + localStorage.length)).not.toContain(session.token);
  expect(faults.list).toEqual([]);
  await page.context().close();
});

test('a viewer can watch and change nothing, and a revoked link says so', async () => {
  const owner = await open(browser, server.origin, `/?view=2d${session.link}`, FLAT);
  // A link that was made elsewhere is listed, and can be revoked.
  await session.post('viewers', {});
  await owner.page.getByRole('button', { name: 'Share' }).click();
  const foreign = owner.page.locator('.links li', { hasText: 'Only the tab that made it can show it.' });
  await foreign.getByRole('button', { name: 'Revoke' }).click();
  await foreign.waitFor({ state: 'detached' });
  await owner.page.getByText('There is no link.').waitFor();
  await owner.page.getByText('Make a link').click();
  const link = (await owner.page.locator('.links .request-text').textContent()) ?? '';
  expect(link.startsWith(`${server.origin}/#/s/${session.session}?k=`)).toBe(true);
  expect(link).not.toContain(session.token);

  const viewer = await open(browser, server.origin, link.replace(server.origin, '').replace('/#', '/?view=2d#'), FLAT);
  await until(viewer.page, () => window.hall?.role === 'viewer' && (window.hall.tree?.contracts.length ?? 0) > 1, null);
  expect(await viewer.page.locator('.hud').textContent()).toContain('view only');
  await viewer.page.locator('[role=tree]').press('Home');
  await viewer.page.keyboard.press('Enter');
  await until(viewer.page, () => document.querySelectorAll('.turn').length > 0, null);
  const buttons = await viewer.page.locator('button').allInnerTexts();
  for (const word of ['Stop', 'Wrap up', 'Message', 'Top up', 'Share', 'Money', 'Ask']) expect(buttons.map((text) => text.trim())).not.toContain(word);
  expect(await viewer.page.locator('.orders, textarea, form').count()).toBe(0);

  await owner.page.locator('.links .danger').click();
  await until(viewer.page, () => /This link no longer works: its token was revoked/.test(document.querySelector('.strip')?.textContent ?? ''), null);
  expect(await viewer.page.evaluate(() => window.hall.tree?.contracts.length)).toBeGreaterThan(1);
  await viewer.page.reload();
  await until(viewer.page, () => document.querySelector('h1')?.textContent === 'This link does not open the session', null);
  expect([...owner.faults.list, ...viewer.faults.list]).toEqual([]);
  await owner.page.context().close();
  await viewer.page.context().close();
});

test('at every place of the timeline, the state equals the tree of the server', async () => {
  const { page, faults } = await open(browser, server.origin, `/?view=2d${session.link}`, FLAT);
  await until(page, hasEnded, null, 120_000);
  expect(await shownTree(page)).toEqual(await session.get<Tree>('tree'));
  const count = await eventCount(page);
  expect(count).toBeGreaterThan(100);
  // Not in order: the fold must go back, too.
  const places = [...Array(20).keys()].map((step) => (step * 53) % count);
  for (const place of new Set([count - 1, ...places, 0, 1, 2, 3])) {
    await scrub(page, place);
    const { cursor, tree } = await page.evaluate(() => ({ cursor: window.hall.cursor, tree: window.hall.tree }));
    const [facts, account] = (cursor ?? '').split('.').map(Number);
    expect((facts ?? 0) + (account ?? 0)).toBe(place);
    expect(tree).toEqual(await session.get<Tree>(`tree?at=${cursor}`));
  }
  expect(await page.locator('.hud').textContent()).toContain('in the past');
  await page.locator('.live').click();
  await until(page, () => window.hall.isLive && window.hall.cursor === window.hall.newest, null);
  expect(faults.list).toEqual([]);
  await page.context().close();
});

test('a server that is killed and started again is found again, and no event is missed or comes twice', async () => {
  const run = await makeSession(server.origin);
  const { page, faults } = await open(browser, server.origin, `/?view=2d${run.link}`, FLAT);
  await until(page, hasContracts, 3);
  await server.stop('SIGKILL');
  await until(page, () => /Nothing is lost\. Next try in/.test(document.querySelector('.strip')?.textContent ?? ''), null);
  expect(await page.evaluate(() => window.hall.tree?.contracts.length)).toBeGreaterThanOrEqual(3);
  await server.start();
  await until(page, () => window.hall.connection === 'live' && document.querySelector('.strip') === null, null);
  await until(page, hasContracts, 8);
  await run.post('stop', { how: 'cancel' });
  await until(page, hasEnded, null, 120_000);
  const tree = await run.get<Tree>('tree');
  expect(await shownTree(page)).toEqual(tree);
  const [facts, account] = tree.at.split('.').map(Number);
  expect(await eventCount(page)).toBe((facts ?? 0) + (account ?? 0));
  expect(faults.list).toEqual([]);
  await page.context().close();
});

test('a stream that stalls is noticed, said and opened again', async () => {
  const { page, faults, session: quiet, noticed } = stalled;
  expect(await noticed).toBe(true);
  await until(page, () => window.hall.connection === 'live', null);
  await until(page, hasEnded, null, 90_000);
  expect(await shownTree(page)).toEqual(await quiet.get<Tree>('tree'));
  expect(faults.list).toEqual([]);
  await page.context().close();
});
