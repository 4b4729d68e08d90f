import { describe, expect, test } from 'vitest';

import { comparePaths, Fold } from '../../src/fold';
import { eventsOf, isStored, logOf, names, recorded, seeded } from './recorded';
import { Script } from './script';

describe.each(names)('%s', (name) => {
  const { stream, trees, view } = recorded(name);
  const events = eventsOf(stream);
  const stored = events.filter(isStored);

  test('the_fold_equals_the_tree_of_the_server_after_every_event', () => {
    const fold = new Fold();
    for (const event of stored) {
      fold.apply(event);
      expect(fold.tree(), `after ${event.id}`).toStrictEqual(trees[event.id]);
    }
    expect(Object.keys(trees)).toHaveLength(stored.length);
    expect(fold.doubts.size).toBe(0);
    expect(fold.isExact).toBe(true);
  });

  test('a_log_gives_the_same_tree_after_any_event_in_any_order', () => {
    const log = logOf(events);
    const indices = stored.map((_, index) => index);
    for (const index of [...indices, ...[...indices].reverse(), ...indices.filter((index) => index % 7 === 3)]) {
      const id = log.idAfter(index + 1);
      expect(log.moment(index + 1).tree, `after ${id}`).toStrictEqual(trees[id]);
    }
  });

  test('the_cost_of_each_contract_equals_the_bill', () => {
    const { ledger } = recorded(name);
    const moment = logOf(events).newest();
    const own = moment.contracts.map((contract) => [contract.path, moment.details(contract).own]);
    expect(own).toStrictEqual(ledger.bill.map((line) => [line.contract, line.used_msat + line.estimated_msat + line.reserved_msat]));
    expect(moment.at).toBe(view.newest_event);
  });
});

test('a_log_with_many_snapshots_gives_the_same_states_as_a_fold', () => {
  const random = seeded(7);
  const script = new Script().account({ funded: { money: 9_000_000, root: null } });
  script.account({ requested: { root: '1', money: 900_000, prices: script.text('', 'prices') } }).open('1');
  for (let place = 1; script.events.length < 1700; place += 1) {
    script.hire(`1.${place}`);
    const ask = script.ask(`1.${place}`, { tool: { tool: 'search', arguments: script.text('{}', 'arguments') } }, 100);
    if (random() < 0.5) script.fact(`1.${place}`, { answered: { id: ask, answer: 'lost', cost: 'unknown' } });
    const other = 1 + Math.floor(random() * place);
    if (random() < 0.3) script.fact(`1.${other}`, { heard: { from: { owner: { command: place } }, stimulus: { top_up: { to: '1', money: 7 } } } });
    if (random() < 0.1) script.account({ granted: { root: '1', money: 5 } });
    if (place > 30 && random() < 0.8) script.close(`1.${place - 30}`);
  }
  const stored = script.events.filter(isStored);
  const log = logOf(stored);
  const fold = new Fold();
  const trees = new Map([[0, JSON.stringify(fold.tree())]]);
  stored.forEach((event, index) => {
    fold.apply(event);
    if (random() < 0.1) trees.set(index + 1, JSON.stringify(fold.tree()));
  });
  const indices = [...trees.keys()].sort(() => random() - 0.5);
  for (const index of indices) {
    expect(JSON.stringify(log.moment(index).tree) === trees.get(index), `after ${index} events`).toBe(true);
  }
});

test('money_of_a_wallet_goes_in_and_out', () => {
  const script = new Script().account({ opened: {} }).account({ funded: { money: 900, root: null, payment: 'aa' } });
  script.account({ withdrawing: { payment: 'bb', money: 500 } });
  const account = (): unknown => {
    const fold = new Fold();
    for (const event of script.events.filter(isStored)) fold.apply(event);
    const { kind, funded, credited, free, set_aside, withdrawn } = fold.account();
    return { kind, funded, credited, free, set_aside, withdrawn };
  };
  const before = { kind: 'wallet', funded: 900, credited: 0, free: 400, set_aside: 500, withdrawn: 0 };
  expect(account()).toEqual(before);
  script.account({ withdrawn: { payment: 'bb', spent: 450 } });
  expect(account()).toEqual({ ...before, free: 450, set_aside: 0, withdrawn: 450 });
  script.account({ corrected: { ask: '1#7', credit: 30 } }).account({ corrected: { ask: '1#7', credit: 30 } });
  expect(account()).toEqual({ ...before, credited: 30, free: 480, set_aside: 0, withdrawn: 450 });
});

test('the_recordings_reach_every_kind_of_fact_but_one', () => {
  const seen = new Set<string>();
  for (const name of names) {
    for (const event of eventsOf(recorded(name).stream)) if (isStored(event)) seen.add(`${event.kind} ${event.fact.kind}`);
  }
  const facts = ['opened', 'asked', 'answered', 'refused', 'raised', 'heard', 'waiting', 'woke', 'nudged', 'closing', 'closed'];
  for (const fact of facts) expect(seen).toContain(`fact ${fact}`);
  for (const fact of ['funded', 'requested', 'granted', 'returned', 'ended']) expect(seen).toContain(`account ${fact}`);
});

test('paths_are_ordered_by_their_numbers', () => {
  const paths = ['2', '1.10', '1.2', '1', '1.2.1', '10', '1.1'];
  expect(paths.sort(comparePaths)).toEqual(['1', '1.1', '1.2', '1.2.1', '1.10', '2', '10']);
});
