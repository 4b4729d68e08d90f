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
  /** View-only links that were made in this tab. The server does not keep their tokens. */
  readonly viewers: readonly { readonly viewer: number; readonly link: string }[];
  /** Whether something was asked here, and nobody has seen how it was worked on. */
  readonly isUnseen: boolean;
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
  #store: Store;

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
    const before: Remembered = all[at] ?? { session, token: '', task: null, team: null, money: null, role: 'unknown', needsOperator: false, pending: null, viewers: [], isUnseen: false };
    const after: Remembered = { ...before, ...known };
    if (at === -1) all.unshift(after);
    else all[at] = after;
    this.#write(keepMost(all));
  }

  /** Takes a token that came with an address. One's own view-only link must not replace the token of the owner, which exists nowhere else. */
  takeToken(session: string, token: string): void {
    const known = this.find(session);
    if (known === null || (known.token !== token && known.role !== 'owner')) this.remember(session, { token, role: 'unknown' });
  }

  forget(session: string): void {
    this.#write(this.sessions().filter((known) => known.session !== session));
  }

  operator(): string | null {
    return this.#store.getItem(OPERATOR);
  }

  setOperator(token: string | null): void {
    if (token === null || token === '') this.#store.removeItem(OPERATOR);
    else this.#set(OPERATOR, token);
  }

  #write(all: readonly Remembered[]): void {
    this.#set(SESSIONS, JSON.stringify(all));
  }

  #set(key: string, value: string): void {
    try {
      this.#store.setItem(key, value);
    } catch {
      // The storage is full. From now on everything is kept in memory, until a reload.
      const memory = memoryStore();
      for (const other of [SESSIONS, OPERATOR]) {
        const kept = this.#store.getItem(other);
        if (kept !== null) memory.setItem(other, kept);
      }
      memory.setItem(key, value);
      this.#store = memory;
    }
  }
}

/** Drops the oldest sessions above the limit, but never the newest, nor one whose token is the only way to real money. */
function keepMost(all: readonly Remembered[]): Remembered[] {
  const kept = [...all];
  for (let at = kept.length - 1; at > 0 && kept.length > SESSIONS_MAX; at -= 1) {
    const { role, money } = kept[at] ?? {};
    if (role !== 'owner' || money !== 'real') kept.splice(at, 1);
  }
  return kept;
}

function isRemembered(value: unknown): value is Remembered {
  if (typeof value !== 'object' || value === null) return false;
  const known = value as Partial<Remembered>;
  return typeof known.session === 'string' && typeof known.token === 'string' && Array.isArray(known.viewers);
}
