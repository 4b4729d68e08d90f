// Sessions of the real program, and pictures of its page.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { launch, open, Server, type Faults } from '../e2e/world';
import { AGENT_NAMES, agentFile, numbered, staysOpen, type End, type Part } from './crew';
import { Model } from './model';

interface Contract {
  readonly path: string;
  readonly state: string;
}

/** What the server says once a part has ended. */
const STATES: Readonly<Partial<Record<End, string>>> = { done: 'done', fails: 'failed', 'runs dry': 'ran_dry', 'is stopped': 'cancelled' };

export interface Shown {
  readonly session: string;
  readonly token: string;
}

export class Studio {
  readonly #model = new Model();
  #server: Server | null = null;
  #browser: Browser | null = null;

  async start(): Promise<void> {
    const url = await this.#model.start();
    const config = `
[providers.scripted]
wire = "openai"
base_url = "${url}"
window = 32768

[prices."crew"]
input = 1.0
output = 4.0

[offers.crew]
description = "A crew for pictures."
project = "project"
team = "agents"
agent = "contractor"
budget = "500sat"

[serve]
live_demo = true
new_sessions_per_minute = 1000
`;
    const server = new Server(config);
    mkdirSync(join(server.home, 'project'));
    mkdirSync(join(server.home, 'agents'));
    for (const name of AGENT_NAMES) writeFileSync(join(server.home, 'agents', `${name}.md`), agentFile(name));
    await server.start();
    this.#server = server;
    this.#browser = await launch();
  }

  async stop(): Promise<void> {
    await this.#browser?.close();
    await this.#server?.remove();
    this.#model.stop();
  }

  get origin(): string {
    return this.#server?.origin ?? '';
  }

  async post(path: string, body: unknown): Promise<Record<string, unknown>> {
    return this.#call('POST', path, body);
  }

  async #call(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.#server?.operatorToken()}` };
    if (body !== undefined) headers['content-type'] = 'application/json';
    const reply = await fetch(this.origin + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    if (!reply.ok) throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
    return (await reply.json()) as Record<string, unknown>;
  }

  /** Makes a session with money. */
  async fund(team: string, sats: number): Promise<Shown> {
    const made = await this.post('/api/sessions', { team, amount_sats: sats });
    const session = String(made['session']);
    await this.post(`/api/sessions/${session}/settle`, { invoice: '1' });
    return { session, token: String(made['owner_token']) };
  }

  /** Asks, without waiting. */
  async ask(shown: Shown, task: string, sats: number, plan: Part): Promise<void> {
    this.#model.follow(plan);
    await this.post(`/api/sessions/${shown.session}/requests`, { task, budget_sats: sats });
  }

  /** Runs a plan until everything is as the plan says, up to the replies that the model holds. */
  async play(task: string, plan: Part): Promise<Shown> {
    const shown = await this.fund('crew', plan.budget);
    await this.ask(shown, task, plan.budget, plan);
    const parts = [...numbered(plan)].filter(([, { part, isLater }]) => part.end !== 'refused' && !isLater).map(([path, { part }]) => ({ path, part }));
    await this.until(shown, (contracts) => contracts.size === parts.length);
    // Everybody has done their own work; who has open hires waits for them, or works beside them.
    const waits = (part: Part): boolean => !part.isBackground && part.hires.some((hire) => hire.end !== 'refused' && staysOpen(hire) && hire.end !== 'is stopped');
    const resting = parts.filter(({ part }) => staysOpen(part) && !waits(part));
    const toStop = parts.filter(({ part }) => part.end === 'is stopped');
    await this.until(shown, () => toStop.every(({ path }) => this.#model.isAtRest(path)));
    for (const { path } of toStop) await this.post(`/api/sessions/${shown.session}/stop`, { contract: path });
    await this.until(shown, (contracts) =>
      parts.every(({ path, part }) => part.isHeld || STATES[part.end] === undefined || contracts.get(path) === STATES[part.end]) &&
      resting.every(({ path }) => this.#model.isAtRest(path)) &&
      parts.every(({ path, part }) => part.end !== 'works' || contracts.get(path) === (waits(part) ? 'waits' : 'works')));
    return shown;
  }

  /** Lets a part go on that waits. */
  release(number: string): void {
    this.#model.release(number);
  }

  /** Ends the work of a session: agents that work for ever would take the calls of the next one. */
  async end(shown: Shown): Promise<void> {
    await this.post(`/api/sessions/${shown.session}/stop`, {});
    await this.until(shown, (states) => !['works', 'waits'].includes(states.get('1') ?? ''));
  }

  async until(shown: Shown, isReached: (states: Map<string, string>) => boolean): Promise<void> {
    const end = Date.now() + 60_000;
    let states = new Map<string, string>();
    while (Date.now() < end) {
      const tree = await this.#call('GET', `/api/sessions/${shown.session}/tree`);
      states = new Map((tree['contracts'] as Contract[]).map((contract) => [contract.path, contract.state]));
      if (isReached(states)) return;
      await new Promise((done) => setTimeout(done, 100));
    }
    throw new Error(`the session did not get there: ${JSON.stringify([...states])}`);
  }

  /**
   * Opens a page of the program. `pixelRatio`: how many pixels the hall has for each CSS pixel, each way. If its time stands, it moves
   * only when the test moves it.
   */
  async page(path: string, width: number, height: number, pixelRatio: number, time: 'runs' | 'stands'): Promise<{ page: Page; faults: Faults }> {
    if (this.#browser === null) throw new Error('the studio has not started');
    const { page, faults } = await open(this.#browser, this.origin, 'about:blank', { viewport: { width, height }, deviceScaleFactor: pixelRatio });
    // All timers must belong to the clock of the test, so it comes before the page.
    if (time === 'stands') {
      await page.clock.install();
      await page.clock.pauseAt(Date.now() + 60_000);
    }
    await page.goto(this.origin + path);
    return { page, faults };
  }
}
