// A model server for the pictures, with the protocol of OpenAI. It finds the part of the plan in the task of each request.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { numbered, type Part } from './crew';

interface Message {
  readonly role: string;
  readonly content: unknown;
}

type Reply = { readonly text: string } | { readonly calls: readonly { name: string; input: unknown }[] };

const PURPOSES = ['Find out when the errors began', 'Compare what changed', 'Say what it costs', 'Prove it with a test', 'Read what is known', 'Repair it'];

/** The task of a part. Its number is at the end. */
function task(number: string): string {
  const sum = [...number].reduce((all, digit) => all + digit.charCodeAt(0), 0);
  return `${PURPOSES[sum % PURPOSES.length]} (part ${number})`;
}

/** What a part replies in a turn, or `null` if it never replies. */
function reply(part: Part, number: string, turn: number): Reply | null {
  if (turn === 0 && part.hires.length > 0) {
    const calls = part.hires.map((hire, index) => ({
      name: 'delegate_task',
      input: { specialty: hire.agent, task: task(`${number}.${index + 1}`), budget: hire.budget },
    }));
    return { calls };
  }
  if (part.end === 'done') return { text: `Done: nothing unusual in part ${number}.` };
  if (part.end === 'runs dry') return { calls: [{ name: 'read_file', input: { path: `notes-${turn}.md` } }] };
  return null;
}

function usage(part: Part): { prompt_tokens: number; completion_tokens: number; total_tokens: number } {
  const tokens = part.end === 'runs dry' ? 7000 : 900 + part.agent.length * 350;
  return { prompt_tokens: tokens, completion_tokens: 120, total_tokens: tokens + 120 };
}

function send(response: ServerResponse, said: Reply | null, part: Part): void {
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
  write({ choices: [], usage: usage(part) });
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

  async start(): Promise<string> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  follow(plan: Part): void {
    this.#parts = numbered(plan);
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
    if (part === undefined || part.end === 'fails') {
      response.writeHead(400, { 'content-type': 'application/json' });
      return void response.end('{"error":{"message":"no such file","type":"invalid_request_error"}}');
    }
    send(response, reply(part, number, turn), part);
  }
}
