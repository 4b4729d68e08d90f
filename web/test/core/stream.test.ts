import { describe, expect, test } from 'vitest';

import { type Clock, EventStream, follows, FrameReader, parseId, type Received, type StreamState } from '../../src/stream';
import { settled, TestClock } from './clock';
import { framesOf, isStored, recorded, seeded } from './recorded';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('the_reader_of_frames', () => {
  const text = [
    '\uFEFFretry: 1000\nevent: cast\ndata: {"a":"שלום 🏛"}\n\n',
    ': alive\n\n',
    ': durable 1794911610170\r\nid: 1.2\r\nevent: fact\r\ndata: {"x":\r\ndata:1}\r\n\r\n',
    'id: 2.2\rdata\r\rignored\n\nevent: empty\n\ndata: end\n\n',
  ].join('');
  const frames = [
    { name: 'cast', id: null, data: '{"a":"שלום 🏛"}', durable: null },
    { name: 'fact', id: '1.2', data: '{"x":\n1}', durable: 1794911610170 },
    { name: 'message', id: '2.2', data: '', durable: null },
    { name: 'message', id: null, data: 'end', durable: null },
  ];

  test('reads_the_same_events_however_the_bytes_are_cut_into_two', () => {
    const bytes = bytesOf(text);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const reader = new FrameReader();
      const read = [...reader.push(bytes.subarray(0, cut)), ...reader.push(bytes.subarray(cut))];
      expect(read, `cut at ${cut}`).toEqual(frames);
    }
  });

  test('reads_the_same_events_from_single_bytes_and_empty_parts', () => {
    const reader = new FrameReader();
    const read = [...bytesOf(text)].flatMap((byte) => [...reader.push(Uint8Array.of(byte)), ...reader.push(new Uint8Array())]);
    expect(read).toEqual(frames);
  });

  test('reads_a_recorded_stream_however_it_is_cut', () => {
    const { stream } = recorded('poor');
    const bytes = bytesOf(stream);
    const whole = framesOf(stream);
    for (let seed = 0; seed < 30; seed += 1) {
      const random = seeded(seed);
      const reader = new FrameReader();
      const read = [];
      for (let at = 0; at < bytes.length; ) {
        const next = at + 1 + Math.floor(random() * (seed < 10 ? 20 : 3000));
        read.push(...reader.push(bytes.subarray(at, next)));
        at = next;
      }
      expect(read).toEqual(whole);
    }
  });

  test('refuses_an_event_without_an_end', () => {
    const reader = new FrameReader();
    const part = bytesOf(`data: ${'x'.repeat(1024 * 1024)}`);
    expect(() => Array.from({ length: 10 }, () => reader.push(part))).toThrow('too long');
  });

  test('reads_a_stream_without_events_for_ever', () => {
    const reader = new FrameReader();
    const alive = bytesOf(': alive\n\n'.repeat(100_000));
    for (let hours = 0; hours < 20; hours += 1) expect(reader.push(alive)).toEqual([]);
  });
});

test('ids_follow_each_other_or_leave_a_gap', () => {
  const step = (last: string, next: string): string => follows(parseId(last)!, parseId(next)!);
  expect(step('5.2', '6.2')).toBe('next');
  expect(step('5.2', '5.3')).toBe('next');
  for (const known of ['5.2', '4.2', '5.1', '0.0']) expect(step('5.2', known), known).toBe('known');
  for (const gap of ['7.2', '6.3', '5.4', '6.1', '4.3', '4.4']) expect(step('5.2', gap), gap).toBe('gap');
  for (const junk of ['', '5', '5.2.1', '05.2', '-1.2', '5.2 ', '1e3.0']) expect(parseId(junk), junk).toBeNull();
});

interface Connection {
  readonly after: string | null;
  readonly headers: Record<string, string>;
  send(text: string): void;
  end(): void;
  fail(): void;
}

function fakeServer(answer: (connection: Connection, count: number) => Response | void): {
  fetch: (input: string, init?: RequestInit) => Promise<Response>;
  connections: Connection[];
} {
  const connections: Connection[] = [];
  const fetch = async (_: string, init?: RequestInit): Promise<Response> => {
    const headers = init?.headers as Record<string, string>;
    let control!: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({ start: (controller) => void (control = controller) });
    const connection: Connection = {
      after: headers['last-event-id'] ?? null,
      headers,
      send: (text) => control.enqueue(bytesOf(text)),
      end: () => control.close(),
      fail: () => control.error(new Error('cut')),
    };
    connections.push(connection);
    return answer(connection, connections.length) ?? new Response(body);
  };
  return { fetch, connections };
}

interface Watched {
  readonly stream: EventStream;
  readonly ids: string[];
  readonly states: StreamState[];
  readonly received: Received[];
}

function watch(fetch: (input: string, init?: RequestInit) => Promise<Response>, clock: Clock, wakes: (() => void)[] = []): Watched {
  const [ids, states, received]: [string[], StreamState[], Received[]] = [[], [], []];
  const stream = new EventStream({
    session: 'brave-otter',
    token: 'gh_secret',
    fetch,
    clock,
    onWake: (wake) => {
      wakes.push(wake);
      return () => undefined;
    },
    onEvents: (events) => {
      received.push(...events);
      for (const { event } of events) if (isStored(event)) ids.push(event.id);
    },
    onState: (state) => void states.push(state),
  });
  return { stream, ids, states, received };
}

const { stream: whole } = recorded('demo-steered');
const parts = whole.split('\n\n').filter((part) => part.includes('id: '));
const idOf = (part: string): string => /^id: (.+)$/m.exec(part)?.[1] ?? '';
const all = parts.map(idOf);

test('no_event_is_lost_or_doubled_under_random_interruptions', async () => {
  for (let seed = 1; seed <= 12; seed += 1) {
    const random = seeded(seed);
    const clock = new TestClock();
    const { fetch, connections } = fakeServer((connection) => {
      if (random() < 0.15) return new Response('busy', { status: 503 });
      let next = connection.after === null ? 0 : all.indexOf(connection.after) + 1;
      // A server that repeats itself, and one that leaves an event out.
      if (random() < 0.3) next = Math.max(0, next - Math.floor(random() * 4));
      const skipped = random() < 0.3 ? next + Math.floor(random() * 9) : -1;
      const count = Math.floor(random() * 40);
      let text = 'event: cast\ndata: {"session":"brave-otter","agents":[]}\n\n';
      for (let at = next; at < Math.min(parts.length, next + count); at += 1) {
        if (at !== skipped) text += `${parts[at]}\n\n`;
      }
      const bytes = text.slice(0, Math.floor(text.length * (0.5 + random())));
      connection.send(bytes);
      const how = random();
      if (how < 0.4) connection.end();
      else if (how < 0.8) connection.fail();
      return undefined;
    });
    const { stream, ids } = watch(fetch, clock);
    for (let turns = 0; turns < 400 && ids.length < all.length; turns += 1) await clock.pass(15_000);
    stream.close();
    expect(ids, `seed ${seed}`).toEqual(all);
    expect(connections.length).toBeGreaterThan(3);
  }
}, 60_000);

test('a_token_is_sent_in_the_header_and_an_old_stream_goes_on_after_its_last_id', async () => {
  const clock = new TestClock();
  const { fetch, connections } = fakeServer(() => undefined);
  const { stream } = watch(fetch, clock);
  await settled();
  expect(connections[0]?.headers['authorization']).toBe('Bearer gh_secret');
  expect(connections[0]?.after).toBeNull();
  connections[0]?.send(`${parts[0]}\n\n`);
  await settled();
  connections[0]?.end();
  await clock.pass(1000);
  expect(connections[1]?.after).toBe(all[0]);
  stream.close();
});

test('pauses_double_from_1_to_15_seconds_and_say_until_when_and_why', async () => {
  const clock = new TestClock();
  const { fetch } = fakeServer(() => new Response('{"code":"too_many_streams","detail":"Full."}', { status: 503 }));
  const { stream, states } = watch(fetch, clock);
  const pauses: number[] = [];
  for (let tries = 0; tries < 7; tries += 1) {
    await settled();
    const state = states.at(-1);
    if (state?.kind !== 'waiting') throw new Error(`it waits, but it is ${state?.kind}`);
    expect(state.why).toBe('Full.');
    pauses.push(state.until - clock.time);
    await clock.pass(state.until - clock.time);
  }
  expect(pauses).toEqual([1000, 2000, 4000, 8000, 15_000, 15_000, 15_000]);
  stream.close();
});

test('a_network_error_is_a_pause_in_plain_words', async () => {
  const clock = new TestClock();
  const { stream, states } = watch(() => Promise.reject(new TypeError('Failed to fetch')), clock);
  await settled();
  expect(states.map((state) => state.kind)).toEqual(['connecting', 'waiting']);
  expect(states[1]).toMatchObject({ why: 'The connection to the server was interrupted.' });
  stream.close();
});

test('a_page_that_becomes_visible_connects_at_once', async () => {
  const clock = new TestClock();
  const wakes: (() => void)[] = [];
  const { fetch, connections } = fakeServer((_, count) => (count === 1 ? new Response('', { status: 500 }) : undefined));
  const { stream, states } = watch(fetch, clock, wakes);
  await settled();
  expect(states.at(-1)?.kind).toBe('waiting');
  wakes[0]?.();
  await settled();
  connections[1]?.send(': alive\n\n');
  await settled();
  expect(states.at(-1)?.kind).toBe('live');
  await clock.pass(30_000);
  expect(connections).toHaveLength(2);
  stream.close();
});

test('a_stream_that_is_silent_for_40_seconds_is_replaced', async () => {
  const clock = new TestClock();
  const { fetch, connections } = fakeServer(() => undefined);
  const { stream, states } = watch(fetch, clock);
  await settled();
  connections[0]?.send(`${parts[0]}\n\n`);
  for (let count = 0; count < 8; count += 1) {
    await clock.pass(15_000);
    connections[0]?.send(': alive\n\n');
  }
  await settled();
  expect(states.at(-1)?.kind).toBe('live');
  await clock.pass(39_000);
  expect(connections).toHaveLength(1);
  await clock.pass(2_500);
  expect(states.some((state) => state.kind === 'waiting' && state.why.includes('silent'))).toBe(true);
  expect(connections[1]?.after).toBe(all[0]);
  stream.close();
});

test.each([401, 403, 404])('status_%i_ends_the_stream_for_good_with_the_reason', async (status) => {
  const clock = new TestClock();
  const problem = JSON.stringify({ status, code: 'unauthorized', detail: 'This needs a valid token.' });
  const { fetch, connections } = fakeServer(() => new Response(problem, { status }));
  const { states } = watch(fetch, clock);
  await clock.pass(600_000);
  expect(connections).toHaveLength(1);
  expect(states.at(-1)).toMatchObject({ kind: 'ended', why: { code: 'unauthorized', status, detail: 'This needs a valid token.' } });
  expect(clock.timers.size).toBe(0);
});

test('an_event_that_cannot_be_read_is_asked_for_again_and_not_skipped', async () => {
  const clock = new TestClock();
  const { fetch, connections } = fakeServer(() => undefined);
  const { stream, ids } = watch(fetch, clock);
  await settled();
  connections[0]?.send(`${parts[0]}\n\nid: ${all[1]}\nevent: account\ndata: {"n":2\n\n${parts[2]}\n\n`);
  await clock.pass(1000);
  expect(ids).toEqual([all[0]]);
  connections[1]?.send(`${parts[1]}\n\n`);
  await settled();
  expect(ids).toEqual([all[0], all[1]]);
  stream.close();
});

test('a_missing_event_is_asked_for_at_once', async () => {
  const clock = new TestClock();
  const { fetch, connections } = fakeServer(() => undefined);
  const { stream, ids, states } = watch(fetch, clock);
  await settled();
  connections[0]?.send(`${parts[0]}\n\n${parts[2]}\n\n`);
  await settled();
  expect(states.at(-1)).toMatchObject({ kind: 'waiting', why: 'An event is missing. Asking the server for it again.' });
  await clock.pass(1000);
  expect(connections[1]?.after).toBe(all[0]);
  expect(ids).toEqual([all[0]]);
  stream.close();
});

test('a_closed_stream_does_nothing_more', async () => {
  const clock = new TestClock();
  const { fetch, connections } = fakeServer(() => undefined);
  const { stream, ids, states } = watch(fetch, clock);
  await settled();
  stream.close();
  connections[0]?.send(`${parts[0]}\n\n`);
  await clock.pass(100_000);
  expect(ids).toEqual([]);
  expect(connections).toHaveLength(1);
  expect(states.at(-1)).toEqual({ kind: 'ended', why: null });
});

test('a_stream_that_is_closed_by_its_own_events_leaves_no_error_behind', async () => {
  const clock = new TestClock();
  const { fetch, connections } = fakeServer(() => undefined);
  const stream = new EventStream({
    session: 's',
    token: 't',
    fetch,
    clock,
    onWake: () => () => undefined,
    onEvents: () => {
      stream.close();
      connections[0]?.fail();
    },
    onState: () => undefined,
  });
  const errors: unknown[] = [];
  const note = (error: unknown): void => void errors.push(error);
  process.on('unhandledRejection', note);
  await settled();
  connections[0]?.send(`${parts[0]}\n\n`);
  await settled();
  process.off('unhandledRejection', note);
  expect(errors).toEqual([]);
});
