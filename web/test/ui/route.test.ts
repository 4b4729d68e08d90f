import { expect, test } from 'vitest';
import { linkWithToken, parseHash, parseSettings, sessionHash } from '../../src/ui/route';
import { memoryStore, SESSIONS_MAX, Vault } from '../../src/ui/vault';

test('links to a session', () => {
  const check = (hash: string, session: string, token: string | null) =>
    expect(parseHash(hash), hash).toEqual({ page: 'session', session, token });
  check('#/s/brisk-kiln-9824', 'brisk-kiln-9824', null);
  check('#/s/brisk-kiln-9824?k=gh_ab', 'brisk-kiln-9824', 'gh_ab');
  check('#session=brisk-kiln-9824&token=gh_ab', 'brisk-kiln-9824', 'gh_ab');
  check('#/s/a?k=<script>', 'a', null);
});

test('anything else is the first page', () => {
  for (const hash of ['', '#', '#/', '#/s/', '#/s/a/b', '#/s/%E0%A4%A', '#/s/..%2F..', '#session=', '#session=a b', '#x']) {
    expect(parseHash(hash), hash).toEqual({ page: 'start' });
  }
  expect(parseHash('#/ask')).toEqual({ page: 'ask' });
});

test('a made link is read back', () => {
  const link = linkWithToken('http://127.0.0.1:8787/?view=2d#/s/old', 'a-b-1', 'gh_1');
  expect(link).toBe('http://127.0.0.1:8787/?view=2d#/s/a-b-1?k=gh_1');
  expect(parseHash(link.slice(link.indexOf('#')))).toEqual({ page: 'session', session: 'a-b-1', token: 'gh_1' });
  expect(sessionHash('a-b-1')).toBe('#/s/a-b-1');
});

test('settings of the address', () => {
  expect(parseSettings('?view=2d&theme=day&quality=full')).toEqual({ view: '2d', theme: 'day', quality: 'full' });
  expect(parseSettings('?view=4d')).toEqual({ view: null, theme: null, quality: null });
});

test('the vault keeps the newest sessions of this tab, and survives damaged storage', () => {
  const store = memoryStore();
  const vault = new Vault(store);
  for (let at = 0; at < SESSIONS_MAX + 5; at += 1) vault.remember(`s${at}`, { token: 't' });
  expect(vault.sessions()).toHaveLength(SESSIONS_MAX);
  expect(vault.sessions()[0]?.session).toBe('s24');
  vault.remember('s20', { task: 'Why?' });
  expect(vault.find('s20')).toMatchObject({ token: 't', task: 'Why?' });
  expect(vault.sessions()[0]?.session).toBe('s24');
  vault.forget('s20');
  expect(vault.find('s20')).toBeNull();
  store.setItem('hall.sessions', '{"a"');
  expect(vault.sessions()).toEqual([]);
  store.setItem('hall.sessions', '[1, {"session": "a"}]');
  expect(vault.sessions()).toEqual([]);
});

test('a link to look at does not replace the token of the owner', () => {
  const vault = new Vault(memoryStore());
  vault.remember('s', { token: 'gh_owner', role: 'owner' });
  vault.takeToken('s', 'gh_viewer');
  expect(vault.find('s')).toMatchObject({ token: 'gh_owner', role: 'owner' });
  // The link of the owner replaces that of a viewer.
  vault.remember('t', { token: 'gh_viewer', role: 'viewer' });
  vault.takeToken('t', 'gh_owner');
  expect(vault.find('t')).toMatchObject({ token: 'gh_owner', role: 'unknown' });
  vault.takeToken('u', 'gh_new');
  expect(vault.find('u')).toMatchObject({ token: 'gh_new', role: 'unknown' });
});

test('sessions with real money are kept when others are forgotten', () => {
  const vault = new Vault(memoryStore());
  vault.remember('mine', { token: 't', role: 'owner', money: 'real' });
  vault.remember('seen', { token: 't', role: 'viewer', money: 'real' });
  for (let at = 0; at < SESSIONS_MAX + 5; at += 1) vault.remember(`s${at}`, { token: 't', role: 'owner', money: 'play' });
  expect(vault.sessions()).toHaveLength(SESSIONS_MAX);
  expect(vault.find('mine')).not.toBeNull();
  expect(vault.find('seen')).toBeNull();
  // The newest is never the one that is forgotten.
  for (let at = 0; at < SESSIONS_MAX; at += 1) vault.remember(`r${at}`, { token: 't', role: 'owner', money: 'real' });
  vault.remember('newest', { token: 't' });
  expect(vault.find('newest')).not.toBeNull();
  expect(vault.find('mine')).not.toBeNull();
});

test('a full storage loses nothing while the page is open', () => {
  const small = memoryStore();
  let isFull = false;
  const set = small.setItem;
  small.setItem = (key, value) => {
    if (isFull) throw new DOMException('full', 'QuotaExceededError');
    set(key, value);
  };
  const vault = new Vault(small);
  vault.remember('a', { token: 'gh_a' });
  vault.setOperator('gh_operator');
  isFull = true;
  vault.remember('b', { token: 'gh_b' });
  expect([vault.find('a')?.token, vault.find('b')?.token, vault.operator()]).toEqual(['gh_a', 'gh_b', 'gh_operator']);
  vault.setOperator('gh_other');
  expect(vault.operator()).toBe('gh_other');
});
