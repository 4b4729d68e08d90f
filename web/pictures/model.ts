// A model server for the pictures, with the protocol of OpenAI. It finds the part of the plan in the task of each request.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { numbered, ownCost, type Part } from './crew';

interface Message {
  readonly role: string;
  readonly content: unknown;
}

type Reply = ({ readonly text: string } | { readonly calls: readonly { name: string; input: unknown }[] }) & { readonly isHeld?: boolean };

const PURPOSES = ['Find out when the errors began', 'Compare what changed', 'Say what it costs', 'Prove it with a test', 'Read what is known', 'Repair it'];

/** The task of a part. Its number is at the end. */
function task(number: string): string {
  const sum = [...number].reduce((all, digit) => all + digit.charCodeAt(0), 0);
  return `${PURPOSES[sum % PURPOSES.length]} (part ${number})`;
}

/** The most that one reply costs, in sat. */
const REPLY_SAT_MAX = 8;
/** What the words of a reply cost: 120 tokens at 4 sat for a thousand. */
const WORDS_SAT = 0.48;
const LAST_REPLY_SAT = 1;

/** How many files a part reads before it hires. */
function readsOf(part: Part): number {
  return Math.ceil(ownCost(part) / REPLY_SAT_MAX);
}

/** What a part replies in a turn. `null` if it never replies; `held` if it waits until the test lets it go on. */
function reply(part: Part, number: string, turn: number): Reply | null {
  const reads = readsOf(part);
  if (turn < reads || part.end === 'runs dry') return { calls: [{ name: 'read_file', input: { path: `notes-${turn}.md` } }] };
  if (turn === reads && part.hires.length > 0) return { calls: hireCalls(part, number, part.hires, 0) };
  const hired = part.hires.filter((hire) => hire.end !== 'refused').length;
  if (part.later.length > 0 && !hasHiredLater(part, turn)) return { calls: hireCalls(part, number, part.later, hired), isHeld: true };
  return part.end === 'done' ? { text: `Done: nothing unusual in part ${number}.`, isHeld: part.isHeld } : null;
}

function hasHiredLater(part: Part, turn: number): boolean {
  return turn > readsOf(part) + (part.hires.length > 0 ? 1 : 0);
}

function hireCalls(part: Part, number: string, hires: readonly Part[], first: number): { name: string; input: unknown }[] {
  return hires.map((hire, index) => ({
    name: 'delegate_task',
    input: { specialty: hire.agent, task: task(`${number}.${first + index + 1}`), budget: hire.budget, background: part.isBackground },
  }));
}

function usage(part: Part, turn: number): { prompt_tokens: number; completion_tokens: number; total_tokens: number } {
  const reads = readsOf(part);
  const sat = part.end === 'runs dry' ? REPLY_SAT_MAX : turn < reads ? ownCost(part) / reads : LAST_REPLY_SAT;
  const tokens = Math.max(100, Math.round((sat - WORDS_SAT) * 1000));
  return { prompt_tokens: tokens, completion_tokens: 120, total_tokens: tokens + 120 };
}

function send(response: ServerResponse, said: Reply | null, part: Part, turn: number): void {
  const write = (chunk: object): void => void response.write(`data: ${JSON.stringify({ id: 'chat', object: 'chat.completion.chunk', model: 'crew', ...chunk })}\n\n`);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  if (said === null) {
    // The agent works for ever: its model writes, and does not end.
    write({ choices: [{ index: 0, delta: { role: 'assistant', content: 'So far: ' }, finish_reason: null }] });
    return;
  }
  const delta = 'text' in said
    ? { content: said.text }
    : { tool_calls: said.calls.map(({ name, input }, index) => ({ index, id: `call_${index}`, type: 'function', function: { name, arguments: JSON.stringify(input) } })) };
  write({ choices: [{ index: 0, delta: { role: 'assistant', ...delta }, finish_reason: null }] });
  write({ choices: [{ index: 0, delta: {}, finish_reason: 'text' in said ? 'stop' : 'tool_calls' }] });
  write({ choices: [], usage: usage(part, turn) });
  response.end('data: [DONE]\n\n');
}

/** A model that follows the plan that was set last. */
export class Model {
  readonly #server = createServer((request, response) => {
    let body = '';
    request.on('data', (bytes: Buffer) => (body += bytes.toString()));
    request.on('end', () => this.#answer(body, response));
  });
  #parts = new Map<string, Part>();
  /** Replies that wait for `release`, by the number of their part. */
  readonly #held = new Map<string, () => void>();
  /** The parts that write for ever. */
  readonly #silent = new Set<string>();

  async start(): Promise<string> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  follow(plan: Part): void {
    this.#parts = new Map([...numbered(plan)].map(([number, { part }]) => [number, part]));
    this.#held.clear();
    this.#silent.clear();
  }

  /** Whether a part has said all it says by itself: it writes for ever, or its reply waits. */
  isAtRest(number: string): boolean {
    return this.#silent.has(number) || this.#held.has(number);
  }

  /** Sends the reply that waits. */
  release(number: string): void {
    const send = this.#held.get(number);
    if (send === undefined) throw new Error(`no reply of part ${number} waits`);
    this.#held.delete(number);
    send();
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #answer(body: string, response: ServerResponse): void {
    if (body === '') return void response.end('{"object":"list","data":[]}');
    const { messages } = JSON.parse(body) as { messages: Message[] };
    const first = messages.find((message) => message.role === 'user');
    const number = /\(part ([\d.]+)\)/.exec(JSON.stringify(first?.content ?? ''))?.[1] ?? '1';
    const turn = messages.filter((message) => message.role === 'assistant').length;
    const part = this.#parts.get(number);
    if (part === undefined || (part.end === 'fails' && turn >= readsOf(part))) {
      response.writeHead(400, { 'content-type': 'application/json' });
      return void response.end('{"error":{"message":"no such file"}}');
    }
    const said = reply(part, number, turn);
    if (said === null) this.#silent.add(number);
    if (said?.isHeld === true) this.#held.set(number, () => send(response, said, part, turn));
    else send(response, said, part, turn);
  }
}
