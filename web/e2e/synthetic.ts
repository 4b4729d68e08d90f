// Sessions that a test writes, and the peer that serves them.
import { fork, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformWithOxc } from 'vite';
import type { CastMember, TextRef } from '../src/wire';
import type { Frame, FromPeer, PeerSession, ToPeer } from './peer';

/** As many characters of a text come with a fact. */
const EXCERPT_CHARS = 280;

/** Writes a session event by event, in the form of the stream. Money is enough for what the tests look at: it does not add up. */
export class Script {
  readonly frames: Frame[] = [];
  readonly texts: Record<string, string> = {};
  readonly transcripts: Record<string, string> = {};
  readonly #opened: { path: string; agent: string }[] = [];
  readonly #asks = new Map<string, number>();
  readonly #hires = new Map<string, number>();
  #excerpts: Record<string, string> = {};
  #facts = 0;
  #account = 0;
  #at = 0;

  constructor(
    readonly id: string,
    readonly cast: readonly CastMember[] = [],
  ) {
    this.frames.push({ id: null, text: `event: cast\ndata: ${JSON.stringify({ session: id, agents: cast })}\n\n` });
  }

  text(words: string, kind = 'words'): TextRef {
    const hash = createHash('sha256').update(words).digest('hex');
    this.texts[hash] = words;
    const letters = [...words];
    this.#excerpts[hash] = letters.length > EXCERPT_CHARS ? `${letters.slice(0, EXCERPT_CHARS).join('')}…` : words;
    return { hash, bytes: Buffer.byteLength(words), kind };
  }

  fact(contract: string, fact: unknown): this {
    this.#facts += 1;
    this.#at += 40;
    const data = { v: 4, seq: this.#facts, contract, at: this.#at, cause: 'tick', fact, texts: this.#excerpts };
    this.#excerpts = {};
    return this.event('fact', JSON.stringify(data));
  }

  account(fact: unknown): this {
    this.#account += 1;
    return this.event('account', JSON.stringify({ n: this.#account, after: this.#facts, at: this.#at, fact }));
  }

  /** Any event with the next id. */
  event(name: string, data: string): this {
    const id = `${this.#facts}.${this.#account}`;
    this.frames.push({ id, text: `id: ${id}\nevent: ${name}\ndata: ${data}\n\n` });
    return this;
  }

  /** An event that has no id and is not kept. */
  passing(name: string, data: string): this {
    this.frames.push({ id: null, text: `event: ${name}\ndata: ${data}\n\n` });
    return this;
  }

  /** The event that comes last is sent with this data the first time, or always. */
  breakLast(data: string, when: 'once' | 'always'): this {
    const last = this.frames.pop();
    if (last === undefined) throw new Error('there is no event');
    const broken = last.text.replace(/^data: .*$/m, () => `data: ${data}`);
    this.frames.push(when === 'once' ? { ...last, firstText: broken } : { ...last, text: broken });
    return this;
  }

  fund(msat = 500_000): this {
    return this.account({ funded: { money: msat, root: null } });
  }

  /** A request: its root opens. */
  request(agent: string, task: string, more: object = {}): this {
    this.account({ requested: { root: '1', money: 400_000 } });
    return this.#open('1', this.#brief('1', agent, task, { hiring: {}, ...more }), agent);
  }

  #brief(path: string, agent: string, task: string, more: object): object {
    const grant = { money: 1000 * (1 + (path.length % 7)), heads: 1, depth: 4, deadline: null };
    const rest = { terms: [], fee: 0, severance: 0, context: 'fresh', hiring: null, close_when: 'final_text' };
    return { path, agent, standing: 'listed', task: this.text(task, 'task'), grant, ...rest, ...more };
  }

  #open(path: string, brief: object, agent: string): this {
    this.#opened.push({ path, agent });
    return this.fact(path, { opened: brief });
  }

  ask(contract: string, ask: object): number {
    const id = (this.#asks.get(contract) ?? 0) + 1;
    this.#asks.set(contract, id);
    this.fact(contract, { asked: { id, ask, hold: { money: 10, heads: 0 }, origin: 'course' } });
    return id;
  }

  hire(path: string, agent: string, task: string, label: string | null = null): this {
    const brief = this.#brief(path, agent, task, { hiring: {}, ...(label === null ? {} : { label: this.text(label, 'label') }) });
    const id = this.ask(path.slice(0, path.lastIndexOf('.')), { hire: { brief, mode: 'background' } });
    this.#hires.set(path, id);
    return this.#open(path, brief, agent);
  }

  /** A hire of this agent is refused. */
  refuse(contract: string, why: unknown, agent: string): this {
    return this.fact(contract, { refused: { why, origin: { call: { reply: 1, index: 0 } }, agent } });
  }

  /** A contract closes, and its hirer gets the report. */
  close(path: string, words: string, outcome: unknown = 'done'): this {
    const report = (): object => {
      const rest = { output: null, acceptance: 'accepted', spent: 400, change: 600, fee: 0, heads: 0 };
      return { outcome, text: { final: this.text(words) }, ...rest };
    };
    this.fact(path, { closed: report() });
    const id = this.#hires.get(path);
    if (id === undefined) return this.account({ ended: { root: path, spent: 400 } });
    return this.fact(path.slice(0, path.lastIndexOf('.')), { answered: { id, answer: { report: report() }, cost: { known: 4 } } });
  }

  /** The events after this many frames, to be sent later. */
  cut(count: number): Frame[] {
    return this.frames.splice(count);
  }

  /** The session as the peer serves it. `view` and `ledger` follow from the events as far as the tests need it. */
  session(more: { readonly view?: object; readonly refusal?: PeerSession['refusal']; readonly replies?: PeerSession['replies'] } = {}): PeerSession {
    const root = this.frames.find((frame) => frame.text.includes('"requested"'));
    const opened = this.frames.find((frame) => frame.text.includes('"opened"'));
    const task = opened === undefined ? null : (JSON.parse(/^data: (.*)$/m.exec(opened.text)?.[1] ?? '{}') as { fact: { opened: { task: TextRef } } }).fact.opened.task;
    const excerpt = task === null ? null : (this.texts[task.hash] ?? '').slice(0, EXCERPT_CHARS);
    const request = { root: '1', task: task === null ? null : { ...task, excerpt }, state: 'works', granted_msat: 400_000, spent_msat: 12_000, answer: null };
    const money = { free_msat: 100_000, payable_msat: 100_000, at_work_msat: 400_000, spent_msat: 0, withdrawn_msat: 0 };
    const requests = root === undefined ? [] : [request];
    const state = root === undefined ? 'ready' : 'works';
    const view = { session: this.id, role: 'owner', team: 'peer', money: 'play', state, ...money, invoices: [], requests, newest_event: this.frames.at(-1)?.id ?? '0.0', agents: this.cast };
    const line = { granted_msat: 1000, used_msat: 400, estimated_msat: 0, reserved_msat: 0, fee_msat: 0, all_msat: 400, calls: 1 };
    const bill = this.#opened.map(({ path, agent }) => ({ contract: path, agent, ...line }));
    const ledger = { postings: [], balances: [], bill, violations: [] };
    return { id: this.id, view: { ...view, ...more.view }, ledger, frames: this.frames, texts: this.texts, transcripts: this.transcripts, ...(more.refusal && { refusal: more.refusal }), ...(more.replies && { replies: more.replies }) };
  }
}

/** The peer, in a process of its own. */
export class Peer {
  readonly #directory: string;
  readonly #child: ChildProcess;
  origin = '';

  private constructor(directory: string, child: ChildProcess) {
    this.#directory = directory;
    this.#child = child;
  }

  static async start(): Promise<Peer> {
    const directory = mkdtempSync(join(tmpdir(), 'guildhall-peer-'));
    const source = fileURLToPath(new URL('peer.ts', import.meta.url));
    // Node 20 can't read TypeScript.
    const { code } = await transformWithOxc(readFileSync(source, 'utf8'), source);
    const program = join(directory, 'peer.mjs');
    writeFileSync(program, code);
    const dist = fileURLToPath(new URL('../dist', import.meta.url));
    const peer = new Peer(directory, fork(program, [dist], { execArgv: [], env: { PATH: process.env['PATH'] } }));
    const ready = await peer.#reply();
    if (ready.kind !== 'ready') throw new Error('the peer did not start');
    peer.origin = `http://127.0.0.1:${ready.port}`;
    return peer;
  }

  #reply(): Promise<FromPeer> {
    return new Promise((resolve, reject) => {
      const ended = (code: number | null): void => reject(new Error(`the peer ended with ${code}`));
      this.#child.once('exit', ended);
      this.#child.once('message', (message) => {
        this.#child.off('exit', ended);
        resolve(message as FromPeer);
      });
    });
  }

  async send(message: ToPeer): Promise<void> {
    const reply = this.#reply();
    this.#child.send(message);
    await reply;
  }

  /** Serves a session. Returns its address in the page. */
  async serve(session: PeerSession): Promise<string> {
    await this.send({ kind: 'session', session });
    return `#/s/${session.id}?k=gh_peer`;
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.disconnect();
    await ended;
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
