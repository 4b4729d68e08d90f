// The address of a page. Everything is behind `#`, which a browser does not send. A token is taken from the address at once
// and kept in `sessionStorage`: see `vault.ts`.

export type Route =
  | { readonly page: 'start' }
  | { readonly page: 'ask' }
  | { readonly page: 'session'; readonly session: string; readonly token: string | null };

/** Sessions have names such as `brisk-kiln-9824`. */
const SESSION = /^[A-Za-z0-9_-]{1,80}$/;
const TOKEN = /^[A-Za-z0-9_-]{1,200}$/;

function token(text: string | null): string | null {
  return text !== null && TOKEN.test(text) ? text : null;
}

/** Reads `#/s/ID?k=TOKEN`, and `#session=ID&token=TOKEN` as the server writes it for viewers. */
export function parseHash(hash: string): Route {
  const text = hash.replace(/^#/, '');
  const session = /^\/s\/([^?/]+)\/?(?:\?(.*))?$/.exec(text);
  if (session) {
    const id = decode(session[1] ?? '');
    if (id === null || !SESSION.test(id)) return { page: 'start' };
    return { page: 'session', session: id, token: token(new URLSearchParams(session[2] ?? '').get('k')) };
  }
  if (text === '/ask') return { page: 'ask' };
  if (text.includes('session=')) {
    const named = new URLSearchParams(text);
    const id = named.get('session') ?? '';
    if (SESSION.test(id)) return { page: 'session', session: id, token: token(named.get('token')) };
  }
  return { page: 'start' };
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

export function sessionHash(session: string): string {
  return `#/s/${encodeURIComponent(session)}`;
}

/** A whole link that carries a token behind `#`. */
export function linkWithToken(base: string, session: string, secret: string): string {
  return `${base.replace(/#.*$/, '')}${sessionHash(session)}?k=${encodeURIComponent(secret)}`;
}

/** What the part of the address before `#` may set: for tests and for people who prefer 2D. */
export interface Settings {
  readonly quality: 'full' | 'reduced' | null;
  readonly view: '2d' | '3d' | null;
  readonly theme: 'night' | 'day' | null;
}

export function parseSettings(search: string): Settings {
  const named = new URLSearchParams(search);
  const pick = <T extends string>(name: string, allowed: readonly T[]): T | null =>
    allowed.find((value) => value === named.get(name)) ?? null;
  return {
    quality: pick('quality', ['full', 'reduced']),
    view: pick('view', ['2d', '3d']),
    theme: pick('theme', ['night', 'day']),
  };
}
