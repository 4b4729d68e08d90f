import { expect, test } from 'vitest';
import { Rows } from '../../src/ui/model';
import { logOf } from '../core/recorded';
import { Script } from '../core/script';

const MODEL = { model: { upto: 1, hears: [], tokens: 1, max_tokens: 1, turn: 'next' } };

/** A request of a contract to its model, which costs this much. */
function spend(script: Script, path: string, money: number): void {
  const id = script.ask(path, MODEL, money);
  script.fact(path, { answered: { id, answer: 'lost', cost: { known: money } } });
}

test('the_money_of_a_hire_is_counted_once_before_and_after_its_report', () => {
  const grant = { grant: { money: 9000, heads: 9, depth: 9, deadline: null } };
  const script = new Script().open('1', grant).hire('1.1', grant);
  const sum = (): number => logOf(script.events).newest().spent('1');
  spend(script, '1', 50);
  spend(script, '1.1', 400);
  expect(sum()).toBe(450);
  // The hire has closed, and its hirer has not heard of it yet.
  script.fact('1.1', { closed: script.report('all is well') });
  expect(sum()).toBe(450);
  script.fact('1', { answered: { id: 1, answer: { report: script.report('all is well') }, cost: { known: 400 } } });
  expect(sum()).toBe(450);
  // Another request is not part of it.
  script.open('10', grant);
  spend(script, '10', 7);
  expect(sum()).toBe(450);
});

test('a_contract_in_doubt_says_so_whatever_its_state', () => {
  const script = new Script().open('1').hire('1.1').hire('1.2');
  script.fact('1', { taught: {} }).fact('1.1', { taught: {} }).fact('1.2', { taught: {} }).close('1.2');
  const log = logOf(script.events);
  const rows = new Rows(log).at(log.newest(), true);
  expect(rows.map((row) => [row.look, row.status])).toEqual([
    ['waits', 'unknown fact: taught'],
    ['works', 'unknown fact: taught'],
    ['done', 'unknown fact: taught'],
  ]);
});

test('a_contract_that_did_not_change_is_the_same_row', () => {
  const script = new Script().cast('worker').open('1').hire('1.1').hire('1.2');
  const log = logOf(script.events);
  const rows = new Rows(log);
  const before = rows.at(log.newest(), true);
  expect(before.map((row) => `${row.id} ${row.status} ${row.spend}`)).toEqual(['1 waits for \u2068worker\u2069 and \u2068worker\u2069 0 of 1 sat', '1.1 works 0 of 1 sat', '1.2 works 0 of 1 sat']);
  script.refuse('1.2', 'self_hire', 'helper');
  const refusal = script.events.at(-1);
  if (refusal !== undefined) log.add(refusal);
  const after = rows.at(log.newest(), true);
  expect(after[0]).toBe(before[0]);
  expect(after[1]).toBe(before[1]);
  expect(after.at(-1)).toMatchObject({ id: '1.2!1', hirer: '1.2', look: 'refused', name: 'helper', reason: 'can’t hire itself' });
});

test('a_hire_that_waits_for_money_has_a_row_from_the_start_which_it_keeps_when_it_begins', () => {
  const script = new Script().cast('worker').open('1').hire('1.1');
  const offer = { agent: 'worker', task: script.text('Look.', 'task'), inherit: 'fresh' };
  script.fact('1', { queued: { origin: { call: { reply: 1, index: 0 } }, ordinal: 2, offer, context: 'fresh' } });
  const log = logOf(script.events);
  const rows = new Rows(log);
  const waiting = rows.at(log.newest(), true).find((row) => row.id === '1.2');
  expect(waiting).toMatchObject({ hirer: '1', look: 'waits', status: 'waits for money', isLive: true, contract: null, reason: null });
  expect(rows.at(log.newest(), true).find((row) => row.id === '1.2')).toBe(waiting);
  const before = script.events.length;
  script.hire('1.2');
  for (const event of script.events.slice(before)) log.add(event);
  expect(rows.at(log.newest(), true).filter((row) => row.id === '1.2').map((row) => row.status)).toEqual(['works']);
});

test('a_cut_report_says_so', () => {
  const script = new Script().open('1').hire('1.1');
  script.fact('1.1', { closing: { exhausted: 'purse' } }).fact('1.1', { closed: { ...script.report('half a sen'), outcome: { exhausted: 'purse' }, cut: true } });
  const log = logOf(script.events);
  const row = new Rows(log).at(log.newest(), true).find((row) => row.id === '1.1');
  expect(row?.status).toMatch(/^ran dry at .* sat, report cut$/u);
});
