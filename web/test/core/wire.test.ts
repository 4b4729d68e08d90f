import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

import { Fold } from '../../src/fold';
import { readEvent, type StoredEvent } from '../../src/wire';

const golden = fileURLToPath(new URL('../../../crates/kernel/tests/golden/', import.meta.url));

function lines(file: string): unknown[] {
  return readFileSync(`${golden}${file}.jsonl`, 'utf8').trim().split('\n').map((line) => JSON.parse(line) as unknown);
}

function fact(stored: object): StoredEvent {
  const event = readEvent('fact', '1.0', JSON.stringify(stored));
  if (event?.kind !== 'fact') throw new Error('a fact');
  return event;
}

const frame = { v: 4, seq: 1, contract: '1', at: 5, cause: 'tick' };

test.each(['fact', 'ask', 'answer', 'stimulus', 'refusal'])('every_stored_form_of_%s_is_understood', (file) => {
  for (const stored of lines(file)) {
    const event = fact(stored as object);
    expect(event.fact.kind, JSON.stringify(stored)).toBe(Object.keys((stored as { fact: object }).fact)[0]);
    // Facts that do not follow each other change nothing that could not be shown.
    expect(() => new Fold().apply(event)).not.toThrow();
  }
});

test('every_stored_form_of_a_fact_of_the_account_is_understood', () => {
  for (const file of ['session_fact']) {
    for (const stored of lines(file)) {
      const event = readEvent('account', '0.1', JSON.stringify({ n: 1, after: 0, at: 0, fact: stored }));
      if (event?.kind !== 'account') throw new Error('a fact of the account');
      expect(event.fact.kind, JSON.stringify(stored)).not.toBe('unknown');
    }
  }
});

test('a_kind_of_fact_that_is_not_known_is_kept_as_it_came', () => {
  const value = { taught: { to: '1.2', money: 5 } };
  expect(fact({ ...frame, fact: value }).fact).toEqual({ kind: 'unknown', name: 'taught', value });
});

test.each([
  ['an ask', { asked: { id: 1, ask: { dream: {} }, hold: { money: 1, heads: 0 }, origin: 'course' } }],
  ['an answer', { answered: { id: 1, answer: { sung: {} }, cost: { known: 1 } } }],
  ['a cost', { answered: { id: 1, answer: 'passed', cost: { guessed: 1 } } }],
  ['a stimulus', { heard: { from: { owner: { command: 1 } }, stimulus: { gift: 1 } } }],
  ['an outcome', { closing: 'retired' }],
  ['a limit', { closing: { exhausted: 'patience' } }],
  ['a negative amount', { raised: { hire: 1, by: -5 } }],
  ['a broken amount', { raised: { hire: 1, by: 1.5 } }],
  ['an amount in a text', { raised: { hire: 1, by: '5' } }],
  ['nothing', null],
  ['a list', []],
])('a_fact_with_%s_that_is_not_known_is_unknown_as_a_whole', (_, value) => {
  expect(fact({ ...frame, fact: value }).fact.kind).toBe('unknown');
});

test('a_fact_of_another_form_is_unknown', () => {
  for (const v of [3, 5]) expect(fact({ ...frame, v, fact: { raised: { hire: 1, by: 5 } } }).fact.kind).toBe('unknown');
});

test('an_unknown_fact_puts_its_contract_in_doubt_and_no_other', () => {
  const [opened] = lines('fact') as [{ fact: object }];
  const fold = new Fold();
  fold.apply(fact({ ...opened, contract: '1.2.1' }));
  expect([...fold.doubts]).toEqual([]);
  fold.apply(fact({ ...frame, contract: '1.2.1', fact: { taught: {} } }));
  expect([...fold.doubts]).toEqual(['1.2.1']);
  expect(fold.tree().at).toBe('2.0');
  expect(fold.contracts()).toHaveLength(1);
});

test('a_stored_event_of_an_unknown_kind_is_kept_and_counted', () => {
  const event = readEvent('treaty', '0.1', '{"a":1}');
  expect(event).toEqual({ kind: 'other', id: '0.1', at: null, fact: { kind: 'unknown', name: 'treaty', value: { a: 1 } } });
  const fold = new Fold();
  fold.apply(event as StoredEvent);
  expect(fold.tree().at).toBe('0.1');
  expect([...fold.doubts]).toEqual([null]);
});

test('an_event_without_an_id_of_an_unknown_kind_is_left_out', () => {
  expect(readEvent('weather', null, '{"rain":true}')).toBeNull();
});

test('money_that_a_number_cannot_hold_exactly_is_not_called_exact', () => {
  const fund = (money: string): boolean => {
    const fold = new Fold();
    fold.apply(readEvent('account', '0.1', `{"n":1,"after":0,"at":0,"fact":{"funded":{"money":${money},"root":null}}}`) as StoredEvent);
    return fold.isExact;
  };
  expect(fund('9007199254740991')).toBe(true);
  expect(fund('9007199254740993')).toBe(false);
  expect(fund('2100000000000000000')).toBe(false);
});

test('an_event_never_has_characters_that_turn_the_direction_of_a_text', () => {
  const event = readEvent('cast', null, '{"session":"s","agents":[{"name":"\u202eevil","description":"\\u2066","specialties":[],"model":null}]}');
  expect(event).toMatchObject({ agents: [{ name: '\ufffdevil', description: '\ufffd' }] });
});
