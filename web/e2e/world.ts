// The real binary and a real browser, for tests. Everything runs on this machine, in directories that are removed afterwards.
import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import type {} from '../src/ui/window_hall';

const FLAGS = [
  '--no-sandbox',
  '--use-gl=angle',
  '--use-angle=swiftshader',
  '--enable-unsafe-swiftshader',
  '--ignore-gpu-blocklist',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** A server in a home of its own. */
export class Server {
  readonly home: string;
  #process: ChildProcess | null = null;
  #origin = '';

  constructor(
    config = '',
    readonly env: Readonly<Record<string, string>> = {},
  ) {
    this.home = mkdtempSync(join(tmpdir(), 'guildhall-page-'));
    if (config !== '') writeFileSync(join(this.home, 'config.toml'), config);
  }

  get origin(): string {
    return this.#origin;
  }

  /** Starts the server. After a stop it gets the same address again, so that open pages find it. */
  async start(): Promise<void> {
    const address = this.#origin === '' ? '127.0.0.1:0' : this.#origin.replace('http://', '');
    const child = this.#spawn('serve', '--addr', address);
    this.#process = child;
    this.#origin = await new Promise((resolve, reject) => {
      let output = '';
      const read = (part: Buffer): void => {
        output += part.toString();
        const found = /http:\/\/127\.0\.0\.1:\d+/.exec(output);
        if (found !== null) resolve(found[0]);
      };
      child.stdout.on('data', read);
      child.stderr.on('data', read);
      child.on('exit', (code) => reject(new Error(`the server ended with ${code}: ${output}`)));
    });
  }

  #spawn(...args: readonly string[]): ChildProcessByStdio<null, Readable, Readable> {
    const program = process.env['GUILDHALL'];
    if (program === undefined) throw new Error('GUILDHALL must be the path of the binary: run `cargo xtask test`');
    const env = { PATH: process.env['PATH'], HOME: this.home, GUILDHALL_HOME: this.home, ...this.env };
    return spawn(program, args, { cwd: this.home, env, stdio: ['ignore', 'pipe', 'pipe'] });
  }

  /** Runs another command of the program in the same home. */
  async run(...args: readonly string[]): Promise<void> {
    const child = this.#spawn(...args);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (output += part.toString()));
    const code = await new Promise((resolve) => child.once('close', resolve));
    if (code !== 0) throw new Error(`guildhall ${args.join(' ')} ended with ${String(code)}: ${output}`);
  }

  /** Ends the server as a crash would, or in order. */
  async stop(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    const child = this.#process;
    if (child === null || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await ended;
    this.#process = null;
  }

  operatorToken(): string {
    return readFileSync(join(this.home, 'operator-token'), 'utf8').trim();
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.home, { recursive: true, force: true });
  }
}

/** Starts a browser. */
export function launch(flags: readonly string[] = []): Promise<Browser> {
  const executablePath = process.env['CHROMIUM'] ?? 'chromium';
  return chromium.launch({ executablePath, headless: true, args: [...FLAGS, ...flags] });
}

/** What a page must never do: an error in its console, an exception, a request to another host, a file of its own that is missing. */
export interface Faults {
  readonly list: string[];
}

/** Opens a page and notes its faults. Failed requests to a server that is down are no faults of the page. */
export async function open(browser: Browser, origin: string, path = '/', options: BrowserContextOptions = {}): Promise<{ page: Page; faults: Faults }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(STEP_MS_MAX);
  const faults: Faults = { list: [] };
  page.on('pageerror', (error) => faults.list.push(`exception: ${error.message}`));
  page.on('console', (message) => {
    const text = message.text();
    const isNetwork = /Failed to load resource|net::ERR_/.test(text);
    if (message.type() === 'error' && !isNetwork) faults.list.push(`console: ${text}`);
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !url.startsWith('data:') && !url.startsWith('blob:')) faults.list.push(`foreign: ${url}`);
  });
  page.on('response', (response) => {
    const { origin: host, pathname } = new URL(response.url());
    if (host === origin && !pathname.startsWith('/api/') && response.status() >= 400) faults.list.push(`status ${response.status()}: ${pathname}`);
  });
  await page.goto(path === 'about:blank' ? path : origin + path);
  return { page, faults };
}

/** How long a step may take. Even the slowest takes a tenth of it on an idle machine. */
const STEP_MS_MAX = 150_000;

/** Waits until the page says so, and returns what it says. Not `waitForFunction`, which needs `eval`: the page's policy forbids it. */
export async function until<A, T>(page: Page, what: (argument: A) => T, argument: A, ms = STEP_MS_MAX): Promise<NonNullable<T>> {
  const end = Date.now() + ms;
  for (;;) {
    const value = await page.evaluate(what as never, argument);
    if (value) return value as NonNullable<T>;
    if (Date.now() > end) throw new Error(`not within ${ms} ms: ${String(what)} of ${JSON.stringify(argument)}: ${await said(page)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** What the page shows, for the message of a failed test. */
async function said(page: Page): Promise<string> {
  const words = await page.evaluate(() => document.body.innerText);
  return words.replace(/\s+/g, ' ').slice(0, 600);
}

/** A session of a server, asked over HTTP and not through the page. */
export class Client {
  constructor(
    readonly origin: string,
    readonly session: string,
    readonly token: string,
  ) {}

  /** The address of the session in the page. The token is behind `#`. */
  get link(): string {
    return `#/s/${this.session}?k=${this.token}`;
  }

  /** Reads a part of the session, or the session itself. */
  async get<T>(path = ''): Promise<T> {
    const reply = await fetch(`${this.origin}/api/sessions/${this.session}${path === '' ? '' : `/${path}`}`, { headers: { authorization: `Bearer ${this.token}` } });
    if (!reply.ok) throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
    return (await reply.json()) as T;
  }

  async post(path: string, body: unknown): Promise<void> {
    const headers = { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' };
    const reply = await fetch(`${this.origin}/api/sessions/${this.session}/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!reply.ok) throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
  }
}

/** The session that the page made last. */
export async function clientOf(page: Page, origin: string): Promise<Client> {
  const { session, token } = await page.evaluate(() => {
    const [known] = JSON.parse(sessionStorage.getItem('hall.sessions') ?? '[]') as { session: string; token: string }[];
    return { session: known?.session ?? '', token: known?.token ?? '' };
  });
  return new Client(origin, session, token);
}

/** A session of the live demo with play money. With a task, the team is at work. It works for about 40 s. */
export function makeSession(origin: string, task: string | null = 'Why is the payment API failing?'): Promise<Client> {
  return askTeam(origin, 'demo', task);
}

/** A session of a team with play money. With a task, the team is at work. A team whose model somebody pays for needs the operator. */
export async function askTeam(origin: string, team: string, task: string | null, operator?: string): Promise<Client> {
  const headers = { 'content-type': 'application/json', ...(operator === undefined ? {} : { authorization: `Bearer ${operator}` }) };
  const reply = await fetch(`${origin}/api/sessions`, { method: 'POST', headers, body: JSON.stringify({ team, amount_sats: 500 }) });
  if (!reply.ok) throw new Error(`${reply.status} ${await reply.text()}`);
  const made = (await reply.json()) as { session: string; owner_token: string; invoice: { invoice: string } };
  const client = new Client(origin, made.session, made.owner_token);
  const payer = operator === undefined ? client : new Client(origin, made.session, operator);
  await payer.post('settle', { invoice: made.invoice.invoice });
  if (task !== null) await payer.post('requests', { task, budget_sats: 400 });
  return client;
}

/** Moves the timeline, as a person does. */
export async function scrub(page: Page, index: number): Promise<void> {
  await page.locator('.timeline input').evaluate((input: HTMLInputElement, value) => {
    input.value = String(value);
    input.dispatchEvent(new Event('input', { bubbles: true }));
  }, index);
}

/** How many events the timeline has. */
export function eventCount(page: Page): Promise<number> {
  return page.locator('.timeline input').evaluate((input: HTMLInputElement) => Number(input.max));
}

/** Whether the newest request has ended, in the page. */
export const hasEnded = (): boolean => window.hall?.tree?.account.roots.at(-1)?.state === 'ended' && window.hall.isLive === true;

/** Whether the page shows this many contracts. */
export const hasContracts = (count: number): boolean => (window.hall?.tree?.contracts.length ?? 0) >= count;
