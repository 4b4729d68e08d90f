// The HTTP interface of the server. A token leaves the page in the header `Authorization` alone, never in an address.

import type {
  Invoice,
  Ledger,
  Offer,
  Path,
  Refund,
  SessionMade,
  SessionView,
  Viewer,
  ViewerAdded,
} from './wire';
import { inOrder, parseJson } from './wire/text';

/** Why a request did not succeed: a refusal of the server, or a network error. */
export class Problem extends Error {
  /** A word for programs. `network` if no reply came, `not_understood` if the reply is not what this page knows. */
  readonly code: string;
  /** What happened, for people. Shown as text. */
  readonly detail: string;
  /** The HTTP status, or 0 if no reply came. */
  readonly status: number;
  /** How many seconds to wait before trying again. */
  readonly retryAfter: number | null;

  constructor(code: string, detail: string, status: number, retryAfter: number | null = null) {
    super(detail);
    this.name = 'Problem';
    this.code = code;
    this.detail = detail;
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

export type Fetch = (input: string, init?: RequestInit) => Promise<Response>;

export interface ApiOptions {
  readonly token?: string | null;
  readonly fetch?: Fetch;
  /** Waits before a repeated try. Tests replace it. */
  readonly sleep?: (ms: number) => Promise<void>;
  readonly newKey?: () => string;
}

/** How often a request is tried again after a network error, and how long the first pause is. */
const RETRIES_MAX = 3;
const RETRY_MS = 400;
/** A reply that takes longer does not come. */
const REPLY_MS_MAX = 60_000;

const NETWORK = 'The server can’t be reached. Check that it runs and that this device is online, then try again.';

interface Sent {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  /** Whether the same request may be sent again when no reply came. */
  readonly isRepeatable: boolean;
  readonly key?: string;
}

/** The routes of a server, with one token. */
export class Api {
  readonly token: string | null;
  readonly #fetch: Fetch;
  readonly #sleep: (ms: number) => Promise<void>;
  readonly #newKey: () => string;

  constructor(options: ApiOptions = {}) {
    this.token = options.token ?? null;
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
    this.#sleep = options.sleep ?? ((ms) => new Promise((done) => setTimeout(done, ms)));
    this.#newKey = options.newKey ?? newKey;
  }

  offers(): Promise<readonly Offer[]> {
    return this.#get('/api/offers');
  }

  /** Makes a session. It has no idempotency key, so it is not tried again: a lost reply would leave a second session. */
  makeSession(team: string, amountSats: number): Promise<SessionMade> {
    const body = { team, amount_sats: amountSats };
    return this.#json({ method: 'POST', path: '/api/sessions', body, isRepeatable: false });
  }

  session(id: string): Promise<SessionView> {
    return this.#get(of(id));
  }

  ledger(id: string): Promise<Ledger> {
    return this.#get(of(id, 'ledger'));
  }

  /** What an agent was shown and replied: one value for each line. A line that is not JSON is kept as a text. */
  async transcript(id: string, contract: Path): Promise<readonly unknown[]> {
    const lines = await this.#body({ method: 'GET', path: of(id, `transcript/${encodeURIComponent(contract)}`), isRepeatable: true });
    return lines.split('\n').filter((line) => line.trim() !== '').map(parsed);
  }

  /** A whole text that a fact of the session names. */
  async text(id: string, hash: string): Promise<string> {
    return inOrder(await this.#body({ method: 'GET', path: of(id, `texts/${encodeURIComponent(hash)}`), isRepeatable: true }));
  }

  /** Asks the team. Without a budget, all free money is granted. */
  request(id: string, task: string, budgetSats?: number): Promise<{ readonly root: Path }> {
    return this.#post(of(id, 'requests'), budgetSats === undefined ? { task } : { task, budget_sats: budgetSats });
  }

  /** Stops a contract with all below it, or the whole request. */
  stop(id: string, contract?: Path, how: 'cancel' | 'wrap_up' = 'cancel'): Promise<{ readonly order: number }> {
    return this.#post(of(id, 'stop'), contract === undefined ? { how } : { contract, how });
  }

  message(id: string, text: string, contract?: Path): Promise<{ readonly order: number }> {
    return this.#post(of(id, 'message'), contract === undefined ? { text } : { text, contract });
  }

  topUp(id: string, amountSats: number, contract?: Path): Promise<{ readonly order: number }> {
    const amount = { amount_sats: amountSats };
    return this.#post(of(id, 'topup'), contract === undefined ? amount : { ...amount, contract });
  }

  fund(id: string, amountSats: number): Promise<Invoice> {
    return this.#post(of(id, 'fund'), { amount_sats: amountSats });
  }

  settle(id: string, invoice: string): Promise<Invoice> {
    return this.#post(of(id, 'settle'), { invoice });
  }

  /** Pays free money back: all of it in play money, or to a Lightning invoice. */
  refund(id: string, invoice?: string): Promise<Refund> {
    return this.#post(of(id, 'refund'), invoice === undefined ? {} : { invoice });
  }

  /** The viewers whose tokens are valid. */
  async viewers(id: string): Promise<readonly Viewer[]> {
    return (await this.#json<{ readonly viewers: readonly Viewer[] }>({ method: 'GET', path: of(id, 'viewers'), isRepeatable: true })).viewers;
  }

  /** Makes a token that allows to read. The route takes no idempotency key, so it is not tried again. */
  addViewer(id: string): Promise<ViewerAdded> {
    return this.#json({ method: 'POST', path: of(id, 'viewers'), body: {}, isRepeatable: false });
  }

  async revokeViewer(id: string, viewer: number): Promise<void> {
    await this.#send({ method: 'DELETE', path: of(id, `viewers/${viewer}`), isRepeatable: false });
  }

  #get<T>(path: string): Promise<T> {
    return this.#json({ method: 'GET', path, isRepeatable: true });
  }

  #post<T>(path: string, body: unknown): Promise<T> {
    return this.#json({ method: 'POST', path, body, isRepeatable: true, key: this.#newKey() });
  }

  async #body(sent: Sent): Promise<string> {
    const response = await this.#send(sent);
    return response.text().catch(() => {
      throw new Problem('network', NETWORK, 0);
    });
  }

  async #json<T>(sent: Sent): Promise<T> {
    const text = await this.#body(sent);
    try {
      return parseJson(text) as T;
    } catch {
      throw new Problem('not_understood', 'The server’s reply can’t be read. Reload this page: the server may have been updated.', 200);
    }
  }

  /** Sends a request, again after a network error if that is safe, with the same key. */
  async #send(sent: Sent): Promise<Response> {
    const headers: Record<string, string> = { accept: 'application/json' };
    if (this.token !== null) headers['authorization'] = `Bearer ${this.token}`;
    if (sent.body !== undefined) headers['content-type'] = 'application/json';
    if (sent.key !== undefined) headers['idempotency-key'] = sent.key;
    const init: RequestInit = { method: sent.method, headers, cache: 'no-store', credentials: 'omit' };
    if (sent.body !== undefined) init.body = JSON.stringify(sent.body);
    for (let tries = 0; ; tries += 1) {
      const signal = AbortSignal.timeout(REPLY_MS_MAX);
      const response = await this.#fetch(sent.path, { ...init, signal }).catch(() => null);
      if (response?.ok === true) return response;
      if (response !== null) throw await problemOf(response);
      if (!sent.isRepeatable || tries >= RETRIES_MAX) throw new Problem('network', NETWORK, 0);
      await this.#sleep(RETRY_MS * 2 ** tries);
    }
  }
}

/** A random key. Not `randomUUID`, which is missing on pages without TLS. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

function of(session: string, rest?: string): string {
  const path = `/api/sessions/${encodeURIComponent(session)}`;
  return rest === undefined ? path : `${path}/${rest}`;
}

function parsed(line: string): unknown {
  try {
    return parseJson(line);
  } catch {
    return inOrder(line);
  }
}

/** Reads why the server refused. A proxy's page of HTML must not be shown as a reason. */
export async function problemOf(response: Response): Promise<Problem> {
  const after = Number(response.headers.get('retry-after') ?? Number.NaN);
  const retryAfter = Number.isFinite(after) ? after : null;
  const body: unknown = await response.json().catch(() => null);
  if (typeof body === 'object' && body !== null && 'code' in body && 'detail' in body) {
    return new Problem(String(body.code), inOrder(String(body.detail)), response.status, retryAfter);
  }
  return new Problem('http', `The server replied with status ${response.status}.`, response.status, retryAfter);
}
