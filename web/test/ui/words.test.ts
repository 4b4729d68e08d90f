import { expect, test } from 'vitest';
import { Api, newKey, Problem } from '../../src/api';
import { costWords, readTask } from '../../src/ui/ask';
import { isWholeText } from '../../src/ui/details';
import { gather } from '../../src/ui/notices';
import { duration } from '../../src/ui/parts';
import { advice, keyedApi } from '../../src/ui/problem';
import { demoOffer, payAndAsk } from '../../src/ui/start';
import { thin } from '../../src/ui/timeline';
import type { Offer, SessionMade } from '../../src/wire';

const OFFER: Offer = { team: 'a', description: '', example: 'Why?', agents: [], models: [], money: 'play', needs_operator: false, budget_sats: 5, cost: null };

test('the demo is the offer that anybody may try', () => {
  const paid: Offer = { ...OFFER, team: 'real', money: 'real' };
  const house: Offer = { ...OFFER, team: 'house', needs_operator: true };
  const mute: Offer = { ...OFFER, team: 'mute', example: null };
  expect(demoOffer([paid, house, mute])).toBeNull();
  expect(demoOffer([paid, OFFER, { ...OFFER, team: 'demo' }])?.team).toBe('demo');
  expect(demoOffer([house, OFFER])?.team).toBe('a');
});

test('a text that was cut is not taken for the whole', () => {
  expect(isWholeText('x'.repeat(280), 280)).toBe(true);
  expect(isWholeText('🏛'.repeat(280), 4 * 280)).toBe(true);
  expect(isWholeText('x'.repeat(280), 281)).toBe(false);
  // 283 bytes, as many as a text of 283 letters has.
  expect(isWholeText(`${'x'.repeat(280)}…`, 283)).toBe(false);
});

test('a question has words, and not too many', () => {
  expect(readTask('  Why? ')).toEqual({ task: 'Why?' });
  expect(readTask(' \n ')).toEqual({ wrong: 'Write a question.' });
  expect(readTask('é'.repeat(32 * 1024))).toHaveProperty('task');
  expect(readTask('é'.repeat(32 * 1024 + 1))).toHaveProperty('wrong');
});

test('what requests have cost', () => {
  expect(costWords({ ...OFFER, cost: { requests: 1, median_msat: 81_001, percentile_90_msat: 81_001 } })).toBe('One request so far: it cost 82 sat.');
  expect(costWords(OFFER)).toBe('No request has been paid here yet.');
  expect(costWords({ ...OFFER, cost: { requests: 12, median_msat: 81_001, percentile_90_msat: 200_000 } })).toBe(
    '12 requests so far: half cost up to 82 sat, 9 of 10 up to 200 sat',
  );
});

test('a session that was not paid in time is forgotten, and any other is tried again', async () => {
  const session: SessionMade = { session: 's', team: 'a', money: 'play', owner_token: 't', invoice: { invoice: '1', amount_msat: 5000, payment_request: null, expires_at: 0, state: 'open' } };
  for (const [code, isKept] of [['expired', false], ['not_found', false], ['too_many_requests', true]] as const) {
    const made: { current: SessionMade | null } = { current: session };
    const api = new Api({ fetch: async () => new Response(JSON.stringify({ code, detail: '' }), { status: 409 }) });
    await expect(payAndAsk(api, made, 'Why?', 5)).rejects.toMatchObject({ code });
    expect(made.current === session, code).toBe(isKept);
  }
});

test('many events are told in a few words', () => {
  expect(gather([{ what: 'hired', who: 'a' }, { what: 'reported', who: 'c' }, { what: 'hired', who: 'b' }])).toBe('Hired: a and b. Reported: c.');
  expect(gather(Array.from({ length: 90 }, (_, index) => ({ what: 'hired', who: `w${index}` }) as const))).toBe('Hired: w0, w1, w2 and 87 more.');
  expect(gather([])).toBe('');
});

test('a timeline has one mark for each place, the most important one', () => {
  const marks = Array.from({ length: 5000 }, (_, at) => ({ at, kind: at === 2500 ? 'trouble' : 'hired' }) as const);
  const kept = thin(marks, 5000, 100);
  expect(kept.length).toBeLessThanOrEqual(101);
  expect(kept.some((mark) => mark.kind === 'trouble')).toBe(true);
});

test('times', () => {
  expect([0, 999, 61_000, 3_700_000].map(duration)).toEqual(['0 s', '1 s', '1 min 01 s', '1 h 01 min']);
});

test('each problem that a person can do something about has advice', () => {
  for (const code of ['unauthorized', 'forbidden', 'balance_too_low', 'busy', 'not_at_work', 'expired', 'internal', 'too_long']) {
    expect(advice(new Problem(code, '', 400)), code).not.toBeNull();
  }
  expect(advice(new Problem('too_many_requests', '', 429, 7))).toContain('7 seconds');
});

test('a repeated run sends the same keys in the same order', async () => {
  const sent: string[][] = [];
  const key = newKey();
  expect(key).toMatch(/^[0-9a-f]{32}$/);
  const before = globalThis.fetch;
  try {
    for (let run = 0; run < 2; run += 1) {
      const keys: string[] = [];
      sent.push(keys);
      globalThis.fetch = (async (_: unknown, init?: RequestInit) => {
        keys.push((init?.headers as Record<string, string>)['idempotency-key'] ?? '');
        return new Response('{}');
      }) as typeof fetch;
      const api = keyedApi('t', key);
      await api.settle('s', '1');
      await api.request('s', 'Why?', 5);
    }
  } finally {
    globalThis.fetch = before;
  }
  expect(sent[0]).toEqual([`${key}-1`, `${key}-2`]);
  expect(sent[1]).toEqual(sent[0]);
});
