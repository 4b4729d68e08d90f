// Records sessions of a real server as fixtures for the tests: the stream as it came, and the tree after every event.
//
//     node test/core/record.mjs PATH/TO/guildhall [NAME…]
//
// It starts the server in a new directory with the teams of examples/, and writes test/core/fixtures/NAME.json.gz.

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import { startModel, team as scriptedTeam } from './model.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const examples = resolve(here, '../../../examples');
const [binary, ...wanted] = process.argv.slice(2);
if (binary === undefined) throw new Error('usage: node record.mjs PATH/TO/guildhall [NAME…]');

/** The teams that are offered besides the live demo. */
const teams = ['payment', 'research', 'travel', 'travel-flat', 'workshop'];

/** What is recorded: the team, the money, and what happens. */
const scenarios = {
  demo: { team: 'demo', fund: 500, run: (hall) => hall.ask('Why is the payment API failing?', 400) },
  'demo-stopped': {
    team: 'demo',
    fund: 500,
    run: async (hall) => {
      await hall.ask('Why is the payment API failing?', 400, { wait: false });
      await hall.until(() => hall.opened.has('1.1.1') && hall.opened.has('1.2.1'));
      await hall.post('stop', { contract: '1.2' });
      await hall.ended(1);
      await hall.post('refund', {});
    },
  },
  'demo-steered': {
    team: 'demo',
    fund: 500,
    run: async (hall) => {
      await hall.ask('Why is the payment API failing?', 200, { wait: false });
      await hall.until(() => hall.opened.has('1.1.1'));
      await hall.post('topup', { amount_sats: 50, contract: '1.1.1' });
      await hall.post('message', { text: 'Look at the newest log first. שלום', contract: '1.1' });
      await hall.until(() => hall.opened.has('1.2.1'));
      await hall.post('stop', { contract: '1.2.1', how: 'wrap_up' });
      await hall.ended(1);
    },
  },
  poor: { team: 'payment', fund: 60, run: (hall) => hall.ask('Why is the payment API failing?', 12) },
  'poor-deep': { team: 'payment', fund: 60, run: (hall) => hall.ask('Why is the payment API failing?', 25) },
  twice: {
    team: 'payment',
    fund: 800,
    run: async (hall) => {
      await hall.ask('Why is the payment API failing?', 300);
      await hall.ask('And what should be changed?', 300);
      await hall.fund(100);
      await hall.post('refund', {});
    },
  },
  research: { team: 'research', fund: 900, run: (hall) => hall.ask('What was decided about retries, and why?', 800) },
  travel: { team: 'travel', fund: 2000, run: (hall) => hall.ask('A week in Lisbon in May for two.', 1800) },
  'travel-flat': { team: 'travel-flat', fund: 2000, run: (hall) => hall.ask('A week in Lisbon in May for two.', 1800) },
  workshop: { team: 'workshop', fund: 2000, run: (hall) => hall.ask('Build a safe bench.', 1500) },
  scripted: { team: 'scripted', fund: 9000, run: (hall) => hall.ask('Do what the script says. عمل جيد', 8000) },
  'workshop-poor': { team: 'workshop', fund: 500, run: (hall) => hall.ask('Build a safe bench.', 200) },
};

const home = mkdtempSync(join(tmpdir(), 'hall-record-'));
const port = 20000 + (process.pid % 20000);
const base = `http://127.0.0.1:${port}`;

const model = await startModel();

function config() {
  const scripted = `
[providers.scripted]
wire = "openai"
base_url = "${model.url}"
window = 32768

[offers.scripted]
description = "A team whose replies are written in model.mjs."
project = "${home}/scripted"
team = "${home}/scripted/agents"
agent = "boss"
budget = "500sat"
`;
  const prices = Object.keys(scriptedTeam).map((file) => `[prices."${file.replace('.md', '')}"]\ninput = 0.05\noutput = 0.2\n`);
  const offer = (team) =>
    [`[offers.${team}]`, `description = "The team of examples/${team}."`, `project = "${examples}/${team}"`,
      `team = "${examples}/${team}/agents"`, 'model = "rehearsal"', 'budget = "500sat"', ''].join('\n');
  return `${prices.join('\n')}${scripted}${teams.map(offer).join('\n')}\n[serve]\nlive_demo = true\nnew_sessions_per_minute = 100\n`;
}

function startServer() {
  writeFileSync(join(home, 'config.toml'), config());
  mkdirSync(join(home, 'scripted', 'agents'), { recursive: true });
  for (const [file, text] of Object.entries(scriptedTeam)) writeFileSync(join(home, 'scripted', 'agents', file), text);
  const env = { PATH: process.env.PATH, HOME: home, GUILDHALL_HOME: home };
  const stdio = ['ignore', 'ignore', openSync(join(home, 'server.log'), 'w')];
  return spawn(binary, ['serve', '--addr', `127.0.0.1:${port}`], { env, cwd: home, stdio });
}

async function healthy() {
  for (let tries = 0; tries < 100; tries += 1) {
    const reply = await fetch(`${base}/healthz`).catch(() => null);
    if (reply?.ok) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`the server did not start: ${readFileSync(join(home, 'server.log'), 'utf8')}`);
}

async function call(path, token, body) {
  const headers = { ...(token && { authorization: `Bearer ${token}` }), ...(body && { 'content-type': 'application/json' }) };
  const reply = await fetch(base + path, { method: body ? 'POST' : 'GET', headers, body: body && JSON.stringify(body) });
  if (!reply.ok) throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
  return reply.json();
}

/** A session that is recorded. */
class Hall {
  stream = '';
  opened = new Set();
  #ended = 0;
  #wake = () => {};
  #abort = new AbortController();

  async open(team, sats) {
    const operator = readFileSync(join(home, 'operator-token'), 'utf8').trim();
    const made = await call('/api/sessions', operator, { team, amount_sats: sats });
    this.path = `/api/sessions/${made.session}`;
    // Only the operator can use a model with prices in play money.
    this.token = operator;
    await this.post('settle', { invoice: made.invoice.invoice });
    this.reading = this.#read();
  }

  post(route, body) {
    return call(`${this.path}/${route}`, this.token, body);
  }

  async fund(sats) {
    const { invoice } = await this.post('fund', { amount_sats: sats });
    await this.post('settle', { invoice });
  }

  async ask(task, budget, { wait = true } = {}) {
    const before = this.#ended;
    await this.post('requests', { task, budget_sats: budget });
    if (wait) await this.ended(before + 1);
  }

  ended(roots) {
    return this.until(() => this.#ended >= roots);
  }

  async until(condition) {
    while (!condition()) await new Promise((done) => (this.#wake = done));
  }

  async #read() {
    const headers = { authorization: `Bearer ${this.token}` };
    const reply = await fetch(`${base}${this.path}/events`, { headers, signal: this.#abort.signal });
    const decoder = new TextDecoder();
    try {
      for await (const part of reply.body) {
        this.stream += decoder.decode(part, { stream: true });
        for (const [, contract] of this.stream.matchAll(/"contract":"([\d.]+)"[^\n]*"fact":\{"opened"/g)) this.opened.add(contract);
        this.#ended = [...this.stream.matchAll(/"fact":\{"ended"/g)].length;
        this.#wake();
      }
    } catch (why) {
      if (!this.#abort.signal.aborted) throw why;
    }
  }

  /** The tree after every event, and the newest tree. */
  async close() {
    const newest = await call(`${this.path}/tree`, this.token);
    await this.until(() => this.stream.includes(`id: ${newest.at}\n`));
    await new Promise((done) => setTimeout(done, 300));
    this.#abort.abort();
    await this.reading;
    const trees = {};
    for (const [, id] of this.stream.matchAll(/^id: (.+)$/gm)) {
      trees[id] = await call(`${this.path}/tree?at=${id}`, this.token);
    }
    const view = await call(this.path, this.token);
    const ledger = await call(`${this.path}/ledger`, this.token);
    return { stream: this.stream, trees, view, ledger };
  }
}

const server = startServer();
try {
  await healthy();
  const names = wanted.length > 0 ? wanted : Object.keys(scenarios);
  await Promise.all(
    names.map(async (name) => {
      const { team, fund, run } = scenarios[name];
      const hall = new Hall();
      try {
        await hall.open(team, fund);
        await run(hall);
      } catch (why) {
        // A request that is refused as a whole leaves nothing to record.
        console.error(`${name}: ${why.message}`);
        return;
      }
      const recorded = JSON.stringify(await hall.close());
      for (const secret of [home, examples, hall.token, 'gh_']) {
        if (recorded.includes(secret)) throw new Error(`${name}: the recording contains ${secret}`);
      }
      const bytes = gzipSync(recorded, { level: 9 });
      mkdirSync(join(here, 'fixtures'), { recursive: true });
      writeFileSync(join(here, 'fixtures', `${name}.json.gz`), bytes);
      const kinds = [...hall.stream.matchAll(/"fact":\{"(\w+)"/g)].map(([, kind]) => kind);
      console.log(name, `${kinds.length} events`, `${bytes.length} bytes`, [...new Set(kinds)].join(' '));
    }),
  );
} finally {
  const exited = new Promise((done) => server.once('exit', done));
  if (server.exitCode === null && server.kill('SIGTERM')) await exited;
  model.stop();
  rmSync(home, { recursive: true, force: true });
}
