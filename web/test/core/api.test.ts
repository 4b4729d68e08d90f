import { expect, test } from 'vitest';

import { Api, Problem } from '../../src/api';

interface Call {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: unknown;
}

function recorder(answer: (count: number) => Response | Error): { api: Api; calls: Call[]; pauses: number[] } {
  const calls: Call[] = [];
  const pauses: number[] = [];
  let keys = 0;
  const api = new Api({
    token: 'gh_secret',
    newKey: () => `key-${(keys += 1)}`,
    sleep: async (ms) => void pauses.push(ms),
    fetch: async (url, init) => {
      const body: unknown = typeof init?.body === 'string' ? JSON.parse(init.body) : null;
      calls.push({ method: init?.method ?? 'GET', url, headers: init?.headers as Record<string, string>, body });
      const reply = answer(calls.length);
      if (reply instanceof Error) throw reply;
      return reply;
    },
  });
  return { api, calls, pauses };
}

const ok = (body: unknown = {}): Response => new Response(JSON.stringify(body));

test('every_route_has_its_method_path_and_body', async () => {
  const { api, calls } = recorder(() => ok());
  await api.offers();
  await api.makeSession('demo', 500);
  await api.session('a b');
  await api.ledger('s');
  await api.transcript('s', '1.2');
  await api.text('s', 'ab');
  await api.request('s', 'why?', 400);
  await api.request('s', 'why?');
  await api.stop('s', '1.2');
  await api.stop('s', undefined, 'wrap_up');
  await api.message('s', 'hi', '1.1');
  await api.topUp('s', 50, '1.1');
  await api.topUp('s', 50);
  await api.fund('s', 100);
  await api.settle('s', '1');
  await api.refund('s');
  await api.refund('s', 'lnbc1');
  await api.addViewer('s');
  await api.revokeViewer('s', 3);
  expect(calls.map(({ method, url, body }) => `${method} ${url} ${JSON.stringify(body)}`)).toEqual([
    'GET /api/offers null',
    'POST /api/sessions {"team":"demo","amount_sats":500}',
    'GET /api/sessions/a%20b null',
    'GET /api/sessions/s/ledger null',
    'GET /api/sessions/s/transcript/1.2 null',
    'GET /api/sessions/s/texts/ab null',
    'POST /api/sessions/s/requests {"task":"why?","budget_sats":400}',
    'POST /api/sessions/s/requests {"task":"why?"}',
    'POST /api/sessions/s/stop {"contract":"1.2","how":"cancel"}',
    'POST /api/sessions/s/stop {"how":"wrap_up"}',
    'POST /api/sessions/s/message {"text":"hi","contract":"1.1"}',
    'POST /api/sessions/s/topup {"amount_sats":50,"contract":"1.1"}',
    'POST /api/sessions/s/topup {"amount_sats":50}',
    'POST /api/sessions/s/fund {"amount_sats":100}',
    'POST /api/sessions/s/settle {"invoice":"1"}',
    'POST /api/sessions/s/refund {}',
    'POST /api/sessions/s/refund {"invoice":"lnbc1"}',
    'POST /api/sessions/s/viewers {}',
    'DELETE /api/sessions/s/viewers/3 null',
  ]);
});

test('the_token_is_in_the_header_and_never_in_the_address', async () => {
  const { api, calls } = recorder(() => ok());
  await api.session('s');
  await api.message('s', 'hi');
  expect(calls.map((call) => call.headers['authorization'])).toEqual(['Bearer gh_secret', 'Bearer gh_secret']);
  expect(calls.map((call) => call.url).join()).not.toContain('gh_');
});

test('a_repeated_request_has_the_same_key_and_a_new_one_another', async () => {
  const { api, calls, pauses } = recorder((count) => (count < 3 ? new TypeError('Failed to fetch') : ok({ root: '1' })));
  await expect(api.request('s', 'why?', 5)).resolves.toEqual({ root: '1' });
  await api.request('s', 'why?', 5);
  expect(calls.map((call) => call.headers['idempotency-key'])).toEqual(['key-1', 'key-1', 'key-1', 'key-2']);
  expect(pauses).toEqual([400, 800]);
});

test('requests_without_a_key_are_not_repeated', async () => {
  for (const send of [(api: Api) => api.makeSession('demo', 5), (api: Api) => api.addViewer('s')]) {
    const { api, calls } = recorder(() => new TypeError('Failed to fetch'));
    await expect(send(api)).rejects.toMatchObject({ code: 'network', status: 0 });
    expect(calls).toHaveLength(1);
    expect(calls[0]?.headers['idempotency-key']).toBeUndefined();
  }
});

test('a_network_error_is_said_in_plain_words', async () => {
  const { api, calls } = recorder(() => new TypeError('NetworkError when attempting to fetch resource.'));
  const why = await api.ledger('s').catch((error: unknown) => error);
  expect(why).toBeInstanceOf(Problem);
  expect((why as Problem).detail).toContain('can’t be reached');
  expect(calls).toHaveLength(4);
});

test('a_refusal_of_the_server_is_a_problem_with_its_code', async () => {
  const body = { status: 402, code: 'balance_too_low', title: 'Payment Required', detail: 'Fund the session.' };
  const { api, calls } = recorder(() => new Response(JSON.stringify(body), { status: 402, headers: { 'retry-after': '10' } }));
  const why = await api.request('s', 'why?').catch((error: unknown) => error);
  expect(why).toMatchObject({ code: 'balance_too_low', detail: 'Fund the session.', status: 402, retryAfter: 10 });
  expect(calls).toHaveLength(1);
});

test('the_page_of_a_proxy_is_not_shown_as_a_reason', async () => {
  const { api } = recorder(() => new Response('<html><script>alert(1)</script>', { status: 502 }));
  await expect(api.offers()).rejects.toMatchObject({ code: 'http', detail: 'The server replied with status 502.' });
  const { api: other } = recorder(() => new Response('<html>'));
  await expect(other.offers()).rejects.toMatchObject({ code: 'not_understood' });
});

test('a_transcript_is_a_list_of_lines', async () => {
  const { api } = recorder(() => new Response('{"type":"user"}\n\n{"type":"assistant"}\nbroken {\n'));
  await expect(api.transcript('s', '1')).resolves.toEqual([{ type: 'user' }, { type: 'assistant' }, 'broken {']);
});

test('a_request_without_a_reply_ends_after_a_time_and_is_tried_again', async () => {
  const signals: (AbortSignal | null | undefined)[] = [];
  const api = new Api({
    sleep: async () => undefined,
    fetch: async (_, init) => {
      signals.push(init?.signal);
      if (signals.length === 1) throw new DOMException('signal timed out', 'TimeoutError');
      return ok([]);
    },
  });
  await expect(api.offers()).resolves.toEqual([]);
  expect(signals.map((signal) => signal?.aborted)).toEqual([false, false]);
  expect(signals[0]).not.toBe(signals[1]);
});

test('a_key_needs_no_page_with_tls', async () => {
  const keys: string[] = [];
  const api = new Api({
    fetch: async (_, init) => {
      keys.push((init?.headers as Record<string, string>)['idempotency-key'] ?? '');
      return ok();
    },
  });
  const randomUUID = crypto.randomUUID;
  Object.defineProperty(crypto, 'randomUUID', { configurable: true, value: undefined });
  try {
    await api.message('s', 'hi');
  } finally {
    Object.defineProperty(crypto, 'randomUUID', { configurable: true, value: randomUUID });
  }
  expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)]);
});

test('characters_that_turn_the_direction_of_a_text_are_never_shown', async () => {
  const OVERRIDES = /[\u202a-\u202e\u2066-\u2069]/;
  const line = (text: string): string => JSON.stringify({ [text]: text });
  // As JSON.stringify writes them, as the server writes them in a transcript, and behind a backslash.
  const sent = `${line('\u202egnp.exe')}\n{"\\u202Egnp":"a\\\\\\u2066b"}\n${line('C:\\u202e')}\nbroken \u2067`;
  const { api } = recorder(() => new Response(sent));
  const lines = await api.transcript('s', '1');
  expect(lines).toEqual([{ '\ufffdgnp.exe': '\ufffdgnp.exe' }, { '\ufffdgnp': 'a\\\ufffdb' }, { 'C:\\u202e': 'C:\\u202e' }, 'broken \ufffd']);
  expect(await recorder(() => new Response('a\u202eb')).api.text('s', 'h')).toBe('a\ufffdb');
  expect(JSON.stringify(await recorder(() => ok([{ team: '\u202e' }])).api.offers())).not.toMatch(OVERRIDES);
  const refused = recorder(() => new Response(line('x').replace(/.*/, '{"code":"busy","detail":"\u202ex"}'), { status: 409 }));
  await expect(refused.api.offers()).rejects.toMatchObject({ detail: '\ufffdx' });
});
