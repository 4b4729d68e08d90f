import { describe, expect, test } from 'vitest';

import { firstWords, OutOfOrder, refusalWords, SessionLog, waitsWords } from '../../src/log';
import { eventsOf, isStored, logOf, recorded } from './recorded';
import { Script } from './script';

test('an_event_twice_counts_once_and_a_gap_is_an_error', () => {
  const events = eventsOf(recorded('poor').stream).filter(isStored);
  const log = new SessionLog();
  expect(log.add(events[0]!)).toBe(true);
  expect(log.add(events[0]!)).toBe(false);
  expect(() => log.add(events[2]!)).toThrow(OutOfOrder);
  expect(log.add(events[1]!)).toBe(true);
  expect(log.length).toBe(2);
});

test('status_lines_say_what_a_contract_has_come_to', () => {
  const script = new Script().open('1', { grant: { money: 90_000, heads: 9, depth: 9, deadline: null } });
  script.hire('1.1').hire('1.2').hire('1.3').hire('1.4').hire('1.5').hire('1.6');
  const line = (path: string): string => {
    const log = logOf(script.events);
    const moment = log.newest();
    return log.status(moment.get(path)!, moment);
  };
  expect(line('1')).toBe('waits for 6');
  const ask = script.ask('1.6', { model: { upto: 1, hears: [], tokens: 1, max_tokens: 1, turn: 'next' } }, 500);
  expect(line('1.6')).toBe('0 of 1 spent');
  script.fact('1.6', { answered: { id: ask, answer: 'lost', cost: 'unknown' } });
  expect(line('1.6')).toBe('0.5 of 1 spent');
  script.close('1.1');
  script.close('1.2', 'spent it all', { exhausted: 'purse' });
  script.close('1.3', 'the wrong\n\nkey  was used', 'failed');
  script.close('1.4', '', 'failed');
  script.close('1.5', 'stop', 'cancelled');
  expect(['1.1', '1.2', '1.3', '1.4', '1.5'].map(line)).toEqual([
    'reported, 0 sat spent', 'ran dry at 0 sat', 'failed: the wrong key was used', 'failed', 'cancelled at 0 sat',
  ]);
  expect(line('1')).toBe('waits for 1');
});

test('a_label_says_why_a_contract_failed_and_not_which_provider_said_so', () => {
  const line = (report: string): string => {
    const log = logOf(new Script().open('1').close('1', report, 'failed').events);
    return log.status(log.newest().get('1')!, log.newest());
  };
  expect(line('scripted refused: HTTP 401: the key is wrong')).toBe('failed: the key is wrong');
  expect(line('scripted refused: HTTP 401: the key is wrong. What to do: set another one')).toBe('failed: the key is wrong');
  expect(line("openai-eu can't be reached: no route to host")).toBe('failed: no route to host');
  expect(line('did not get a complete reply from scripted: the reply broke off')).toBe('failed: the reply broke off');
  expect(line('the prompt is too long for scripted: HTTP 400: 9 of 8 tokens')).toBe('failed: 9 of 8 tokens');
  expect(line('The mayor refused: no reason was given')).toBe('failed: The mayor refused: no reason was given');
});

test('an_invoice_is_paid_when_its_payment_has_come', () => {
  const log = logOf(new Script().account({ funded: { money: 5, root: null } }).account({ funded: { money: 7, root: null, payment: 'ab12' } }).events);
  expect([log.isPaid('ab12'), log.isPaid('cd34')]).toEqual([true, false]);
});

test('recorded_sessions_have_status_lines_and_refused_hires', () => {
  const log = logOf(eventsOf(recorded('poor').stream));
  const moment = log.newest();
  expect(moment.contracts.map((contract) => `${contract.path} ${log.status(contract, moment)}`)).toMatchInlineSnapshot(`
    [
      "1 ran dry at 12 sat",
      "1.1 ran dry at 0.519 sat",
    ]
  `);
  expect([...log.refusers].flatMap((path) => log.refused(path).map((hire) => `${hire.id} ${hire.agent} ${hire.why}`))).toMatchInlineSnapshot(`
    [
      "1.2 source-lead asks 2.368 sat, has 0 sat",
    ]
  `);
  const kinds = log.markers.map((marker) => marker.kind);
  expect(new Set(kinds)).toEqual(new Set(['request', 'hire', 'refusal', 'failure']));
});

test('a_refused_hire_is_known_from_its_event_on', () => {
  const money = { money: { asked: 40_000, free: 38_000, minimum: 12_000 } };
  const script = new Script().open('1').refuse('1', 'self_hire', 'worker').refuse('1', money, 'builder');
  // These are about tools.
  script.refuse('1', { no_power: { tool: 'sh', power: 'write' } }).hire('1.1').refuse('1.1', money);
  const log = logOf(script.events);
  expect(log.refused('1')).toEqual([
    { id: '1!1', hirer: '1', index: 1, agent: 'worker', why: 'can’t hire itself' },
    { id: '1!2', hirer: '1', index: 2, agent: 'builder', why: 'asks 40 sat, has 38 sat' },
  ]);
  expect(log.refused('1', 2)).toHaveLength(1);
  expect(log.refused('1', 1)).toHaveLength(0);
  expect(log.refused('1.1')).toHaveLength(0);
  expect(log.newest().get('1')?.refusals).toBe(3);
});

test('a_reason_that_is_not_known_is_shown_by_its_name', () => {
  expect(refusalWords({ name: 'out_of_season', fields: {} })).toBe('out of season');
  expect(refusalWords({ name: 'money', fields: {} })).toBe('asks about ? sat, has about ? sat');
  expect(refusalWords({ name: 'cycle', fields: { way: ['a', 'b', 'a'] } })).toBe('a cycle: a → b → a');
});

test('what_a_contract_waits_for_is_said_in_plain_words', () => {
  const hire = (contract: string): { kind: 'hire'; contract: string } => ({ kind: 'hire', contract });
  expect(waitsWords([])).toBe('');
  expect(waitsWords([{ kind: 'model' }])).toBe('the reply of its model');
  expect(waitsWords([hire('1.1'), { kind: 'tool', tool: 'search' }])).toBe('the tool search and the report of 1.1');
  expect(waitsWords([1, 2, 3, 4, 5].map((place) => hire(`1.${place}`)))).toBe('the reports of 1.1, 1.2, 1.3 and 2 more');
  expect(waitsWords([{ kind: 'person' }, { kind: 'person' }, { kind: 'hirer' }, { kind: 'check' }])).toBe(
    'a person, an answer of its hirer and a check of its report',
  );
});

test('a_name_is_the_label_or_else_the_agent_and_may_be_in_any_script', () => {
  const script = new Script();
  const label = script.text('חוקר ‏היומנים‏ 🏛', 'label');
  const long = script.text('x'.repeat(280), 'label');
  script.open('1', { label }).hire('1.1', { label: long }).hire('1.2', { label: script.text('  \n ', 'label') });
  const log = logOf(script.events);
  const name = (path: string): string => log.nameOf(log.newest().get(path)!);
  expect(name('1')).toBe('חוקר ‏היומנים‏ 🏛');
  expect(name('1.1')).toBe(`${'x'.repeat(80)}…`);
  expect(name('1.2')).toBe('worker');
  expect(firstWords('🏛'.repeat(100), 3)).toBe('🏛🏛🏛…');
});

test('an_activity_lasts_until_its_ask_is_answered', () => {
  const script = new Script().open('1');
  const ask = script.ask('1', { model: { upto: 1, hears: [], tokens: 1, max_tokens: 1, turn: 'next' } }, 5);
  const log = logOf(script.events);
  log.add({ kind: 'activity', contract: '1', ask, does: 'thinks' });
  log.add({ kind: 'activity', contract: '1', ask, does: 'juggles' });
  log.add({ kind: 'activity', contract: '9', ask, does: 'writes' });
  expect(log.activity('1')?.does).toBe('juggles');
  expect(log.activity('9')).toBeNull();
  script.fact('1', { answered: { id: ask, answer: 'lost', cost: 'unknown' } });
  log.add(script.events.at(-1)!);
  expect(log.activity('1')).toBeNull();
  log.add({ kind: 'activity', contract: '1', ask, does: 'writes' });
  expect(log.activity('1')).toBeNull();
});

describe('unknown_facts', () => {
  const script = new Script().open('1').hire('1.1').fact('1.1', { taught: { by: '<b>me</b>' } }).account({ lent: {} }).close('1.1');
  const log = logOf(script.events);

  test('are_listed_and_marked', () => {
    expect(log.unknown.map(({ contract, name }) => [contract, name])).toEqual([['1.1', 'taught'], [null, 'lent']]);
    expect(log.markers.filter((marker) => marker.kind === 'unknown').map((marker) => marker.words)).toEqual([
      'unknown fact: taught', 'unknown fact: lent',
    ]);
  });

  test('are_said_instead_of_a_number_that_may_be_wrong', () => {
    const moment = log.newest();
    expect(log.status(moment.get('1.1')!, moment)).toBe('unknown fact: taught');
    expect(log.status(moment.get('1')!, moment)).not.toContain('unknown');
    expect(moment.isDoubtful(null)).toBe(true);
    expect(log.moment(3).isDoubtful('1.1')).toBe(false);
  });
});

test('the_worst_session_is_folded_and_scrubbed_in_time', () => {
  const script = new Script().open('1');
  // 64 levels, then a crowd, then every contract with several facts: 100,000 events.
  let path = '1';
  for (let level = 0; level < 64; level += 1) {
    path = `${path}.1`;
    script.hire(path);
  }
  for (let place = 2; place <= 9_936; place += 1) script.hire(place % 3 === 0 ? `1.1.${place}` : `1.${place}`);
  const crowd = script.events.filter((event) => event.kind === 'fact' && event.fact.kind === 'opened').length;
  expect(crowd).toBe(10_000);
  for (let round = 0; script.events.length < 100_000; round += 1) {
    script.fact(`1.${2 + (round % 9000)}`, { nudged: 'empty' });
  }
  const started = performance.now();
  const log = logOf(script.events);
  const folded = performance.now() - started;
  let slowest = 0;
  for (const index of [1, 511, 512, 20_000, 19_999, 60_123, 99_999, 100_000, 75_000, 33]) {
    const before = performance.now();
    expect(log.moment(index).index).toBe(Math.min(index, log.length));
    slowest = Math.max(slowest, performance.now() - before);
  }
  const order = log.newest().contracts;
  expect(order[1]?.path).toBe('1.1');
  expect(order.at(-1)?.path).toBe('1.9935');
  console.log(`100,000 events folded in ${Math.round(folded)} ms; slowest scrub ${slowest.toFixed(1)} ms`);
  // Far more than it takes: other programs run on the same machine.
  expect(folded).toBeLessThan(10_000);
  expect(slowest).toBeLessThan(500);
}, 60_000);
