// Sessions written by hand, in the form of the stream, for what no recording reaches.

import { Director } from '../../src/director';
import { SessionLog } from '../../src/log';
import { type HallEvent, readEvent, type TextRef } from '../../src/wire';

const hash = (text: string): string => {
  let sum = 0;
  for (const letter of text) sum = (Math.imul(sum, 31) + (letter.codePointAt(0) ?? 0)) >>> 0;
  return sum.toString(16).padStart(8, '0').repeat(8);
};

/** Writes the events of a session. */
export class Script {
  readonly events: HallEvent[] = [];
  at = 0;
  #facts = 0;
  #account = 0;
  #asks = new Map<string, number>();
  readonly #hires = new Map<string, number>();
  #texts: Record<string, string> = {};

  text(words: string, kind = 'words'): TextRef {
    this.#texts[hash(words)] = words;
    return { hash: hash(words), bytes: new TextEncoder().encode(words).length, kind };
  }

  fact(contract: string, fact: unknown): this {
    this.#facts += 1;
    const data = { v: 4, seq: this.#facts, contract, at: this.at, cause: 'tick', fact, texts: this.#texts };
    this.#texts = {};
    return this.#push('fact', data);
  }

  account(fact: unknown): this {
    this.#account += 1;
    return this.#push('account', { n: this.#account, after: this.#facts, at: this.at, fact });
  }

  cast(...names: readonly string[]): this {
    const agents = names.map((name) => ({ name, description: '', specialties: [], model: null }));
    return this.#push('cast', { session: 'by-hand', agents });
  }

  #push(name: string, data: object): this {
    const id = name === 'cast' ? null : `${this.#facts}.${this.#account}`;
    const event = readEvent(name, id, JSON.stringify(data));
    if (event !== null) this.events.push(event);
    return this;
  }

  brief(path: string, more: object = {}): object {
    const [agent, task] = ['worker', this.text(`task of ${path}`, 'task')];
    const grant = { money: 1000, heads: 0, depth: 0, deadline: null };
    const rest = { terms: [], adds: [], fee: 0, severance: 0, context: 'fresh', hiring: null, checks: [], close_when: 'final_text' };
    return { path, agent, standing: 'listed', task, grant, ...rest, ...more };
  }

  ask(contract: string, ask: object, money = 0): number {
    const id = (this.#asks.get(contract) ?? 0) + 1;
    this.#asks.set(contract, id);
    this.fact(contract, { asked: { id, ask, hold: { money, heads: 0 }, origin: 'course' } });
    return id;
  }

  open(path: string, more: object = {}): this {
    return this.fact(path, { opened: this.brief(path, more) });
  }

  /** A hire: the ask of the hirer, and the contract that opens. */
  hire(path: string, more: object = {}): this {
    const hirer = path.slice(0, path.lastIndexOf('.'));
    const id = this.ask(hirer, { hire: { brief: this.brief(path, more), mode: 'blocking' } }, 1000);
    this.#hires.set(path, id);
    return this.open(path, more);
  }

  report(words: string, outcome: unknown = 'done', more: object = {}): object {
    const rest = { ignored_nudge: null, unheard: [], spent: 400, change: 600, fee: 0, reserved: 0, estimated: 0, heads: 0 };
    return { outcome, text: { final: this.text(words) }, output: null, acceptance: 'accepted', ...rest, ...more };
  }

  /** A contract closes, and its hirer gets the report. */
  close(path: string, words = 'all is well', outcome: unknown = 'done'): this {
    this.fact(path, { closed: this.report(words, outcome) });
    const id = this.#hires.get(path);
    if (id === undefined) return this;
    const hirer = path.slice(0, path.lastIndexOf('.'));
    return this.fact(hirer, { answered: { id, answer: { report: this.report(words, outcome) }, cost: { known: 400 } } });
  }

  /** Refuses a call. With an agent, it is a hire. */
  refuse(path: string, why: unknown, agent?: string): this {
    return this.fact(path, { refused: { why, origin: { call: { reply: 1, index: 0 } }, agent } });
  }
}

/** A director of these events, which come now. `null`: all of them happened before. */
export function directed(script: Script, now: number | null): Director {
  const log = new SessionLog();
  for (const event of script.events) log.add(event);
  const director = new Director(log);
  if (now === null) director.skip();
  else director.feed(now);
  return director;
}
