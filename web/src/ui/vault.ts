// What this tab remembers, in `sessionStorage`: tokens, and the sessions that can be opened again. Nothing is written where
// another tab or a later visit could read it. Without storage (some private windows) everything is kept until a reload.

export interface Remembered {
  readonly session: string;
  readonly token: string;
  readonly task: string | null;
  readonly team: string | null;
  readonly money: 'play' | 'real' | null;
  /** What the token allows, as far as it is known. */
  readonly role: 'owner' | 'viewer' | 'unknown';
  /** Whether only the operator may settle, ask and top up: play money with a model that somebody bills. */
  readonly needsOperator: boolean;
  /** A question that is asked as soon as the session is paid. `key` makes it safe to ask again after a reload. */
  readonly pending: { readonly task: string; readonly budgetSats: number; readonly key: string } | null;
  /** View-only links that were made in this tab: the server does not list them. */
  readonly viewers: readonly { readonly viewer: number; readonly link: string }[];
}

const SESSIONS = 'hall.sessions';
const OPERATOR = 'hall.operator';
export const SESSIONS_MAX = 20;

export interface Store {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

export function memoryStore(): Store {
  const values = new Map<string, string>();
  return {
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => void values.set(key, value),
    removeItem: (key) => void values.delete(key),
  };
}

function tabStore(): Store {
  try {
    const store = globalThis.sessionStorage;
    store.setItem('hall.probe', '1');
    store.removeItem('hall.probe');
    return store;
  } catch {
    return memoryStore();
  }
}

export class Vault {
  readonly #store: Store;

  constructor(store: Store = tabStore()) {
    this.#store = store;
  }

  /** The newest first. */
  sessions(): Remembered[] {
    try {
      const found: unknown = JSON.parse(this.#store.getItem(SESSIONS) ?? '[]');
      return Array.isArray(found) ? found.filter(isRemembered) : [];
    } catch {
      return [];
    }
  }

  find(session: string): Remembered | null {
    return this.sessions().find((known) => known.session === session) ?? null;
  }

  /** Adds what is known about a session, and puts it first if it is new. */
  remember(session: string, known: Partial<Omit<Remembered, 'session'>>): void {
    const all = this.sessions();
    const at = all.findIndex((other) => other.session === session);
    const before: Remembered = all[at] ?? { session, token: '', task: null, team: null, money: null, role: 'unknown', needsOperator: false, pending: null, viewers: [] };
    const after: Remembered = { ...before, ...known };
    if (at === -1) all.unshift(after);
    else all[at] = after;
    this.#write(all.slice(0, SESSIONS_MAX));
  }

  forget(session: string): void {
    this.#write(this.sessions().filter((known) => known.session !== session));
  }

  operator(): string | null {
    return this.#store.getItem(OPERATOR);
  }

  setOperator(token: string | null): void {
    if (token === null || token === '') this.#store.removeItem(OPERATOR);
    else this.#store.setItem(OPERATOR, token);
  }

  #write(all: readonly Remembered[]): void {
    try {
      this.#store.setItem(SESSIONS, JSON.stringify(all));
    } catch {
      // The storage is full. The open page goes on with what it has in memory; only a reload would need this.
    }
  }
}

function isRemembered(value: unknown): value is Remembered {
  if (typeof value !== 'object' || value === null) return false;
  const known = value as Partial<Remembered>;
  return typeof known.session === 'string' && typeof known.token === 'string' && Array.isArray(known.viewers);
}
