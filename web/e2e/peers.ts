// The world outside, for tests: a real LNbits server with fake money, and a provider of models that follows a script. Both are
// programs of this project, in processes of their own. They end when their stdin ends, so also when the tests are killed.
import { spawn, type ChildProcess } from 'node:child_process';

/** Starts a program and waits for its first line. */
async function start(variable: string, args: readonly string[], input = ''): Promise<{ child: ChildProcess; line: string }> {
  const program = process.env[variable];
  if (program === undefined) throw new Error(`${variable} must be the path of a program: run \`cargo xtask test\``);
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  // Who writes to a program that has ended is told by its exit, below.
  child.stdin.on('error', () => undefined);
  child.stdin.write(input);
  const line = await new Promise<string>((resolve, reject) => {
    let [output, errors] = ['', ''];
    child.stderr.on('data', (part: Buffer) => (errors += part.toString()));
    child.stdout.on('data', (part: Buffer) => {
      output += part.toString();
      if (output.includes('\n')) resolve(output.split('\n', 1)[0] ?? '');
    });
    child.on('error', reject);
    child.on('exit', (code) => reject(new Error(`${variable} ended with ${code}: ${errors}`)));
  });
  return { child, line };
}

export interface Wallet {
  readonly admin_key: string;
  readonly invoice_key: string;
}

/** An LNbits server with one wallet for each amount. */
export class Lnbits {
  private constructor(
    readonly url: string,
    readonly wallets: readonly Wallet[],
    readonly child: ChildProcess,
  ) {}

  /** `null` if this machine can't run LNbits. Then the reason was printed. In CI that is an error: there, nothing may stay untried. */
  static async start(...sats: readonly number[]): Promise<Lnbits | null> {
    try {
      const { child, line } = await start('LNBITS_PEER', sats.map(String));
      const { url, wallets } = JSON.parse(line) as { url: string; wallets: Wallet[] };
      return new Lnbits(url, wallets, child);
    } catch (error) {
      if (process.env['CI'] !== undefined) throw error;
      console.warn(`NOT TRIED: real money in a browser: ${String(error)}`);
      return null;
    }
  }

  async #call(method: string, path: string, key: string, body?: object): Promise<Record<string, unknown>> {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    const reply = await fetch(this.url + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    if (!reply.ok) throw new Error(`LNbits ${path}: ${reply.status} ${await reply.text()}`);
    return (await reply.json()) as Record<string, unknown>;
  }

  async pay(from: Wallet, invoice: string): Promise<void> {
    await this.#call('POST', '/api/v1/payments', from.admin_key, { out: true, bolt11: invoice });
  }

  async invoice(to: Wallet, sats: number): Promise<string> {
    const made = await this.#call('POST', '/api/v1/payments', to.invoice_key, { out: false, amount: sats, memo: 'back' });
    return String(made['bolt11']);
  }

  async balanceMsat(wallet: Wallet): Promise<number> {
    return Number((await this.#call('GET', '/api/v1/wallet', wallet.invoice_key))['balance']);
  }

  stop(): void {
    this.child.stdin?.end();
  }
}

/** A reply of a scripted model: a text, or calls of tools. */
export interface Said {
  readonly text?: string;
  readonly calls?: readonly { readonly name: string; readonly arguments: object }[];
  readonly pace?: { readonly headers_ms: number };
  readonly damage?: object;
}

interface Rule {
  readonly when: object;
  readonly then: { readonly reply: Said };
}

/** A rule for the requests of an agent that has a file of `agentFile`. */
export const rule = (agent: string, reply: Said, when = {}): Rule => ({ when: { agent: `You are the ${agent}.`, ...when }, then: { reply } });

/** The file of an agent that uses the model `test/scripted`, with further lines of front matter. */
export const agentFile = (name: string, more = ''): string => `---
name: ${name}
description: Knows dates.
model: test/scripted
tools: [read_file]
${more}---
You are the ${name}.
`;

/** A provider of models. `when` chooses requests: see the README of crates/model-server. */
export class Models {
  private constructor(
    readonly url: string,
    readonly child: ChildProcess,
  ) {}

  static async start(rules: readonly Rule[]): Promise<Models> {
    const script = { models: ['scripted'], rules };
    const { child, line } = await start('MODEL_SERVER', ['--port', '0', '--script', '-'], `${JSON.stringify(script)}\n`);
    return new Models(`http://${line.replace('listening on ', '')}`, child);
  }

  stop(): void {
    this.child.stdin?.end();
  }
}
