import { expect, test } from 'vitest';
import { Problem } from '../../src/api';
import { Action, type ActionState } from '../../src/ui/problem';
import { type Loaded, Reloader } from '../../src/ui/reload';
import { settled, TestClock } from '../core/clock';

/** Promises that a test keeps or breaks, in any order. */
function promises<T>(): { readonly make: () => Promise<T>; readonly all: { keep(value: T): Promise<void>; fail(): Promise<void> }[] } {
  const all: { keep(value: T): Promise<void>; fail(): Promise<void> }[] = [];
  const make = (): Promise<T> =>
    new Promise((resolve, reject) => {
      all.push({
        keep: (value) => {
          resolve(value);
          return settled();
        },
        fail: () => {
          reject(new Problem('internal', 'Broken.', 500));
          return settled();
        },
      });
    });
  return { make, all };
}

function reloading(): { clock: TestClock; shown: string[]; ask: (key: string) => () => void; replies: ReturnType<typeof promises<string>>['all'] } {
  const clock = new TestClock();
  const shown: string[] = [];
  const { make, all } = promises<string>();
  const reloader = new Reloader<string>(clock, ({ key, value, problem }: Loaded<string>) => shown.push(`${key}: ${value} ${problem?.code ?? ''}`.trim()));
  return { clock, shown, replies: all, ask: (key) => reloader.ask(key, 700, make) };
}

test('replies_are_taken_even_if_changes_come_faster_than_they_do', async () => {
  const { clock, shown, replies, ask } = reloading();
  let stop = ask('1');
  for (let change = 0; change < 30; change += 1) {
    await clock.pass(100);
    stop();
    stop = ask('1');
  }
  // One request in each pause.
  expect(replies.length).toBe(5);
  await replies[0]?.keep('first');
  expect(shown).toEqual(['1: first']);
});

test('an_older_reply_does_not_replace_a_newer_one', async () => {
  const { clock, shown, replies, ask } = reloading();
  ask('1');
  await clock.pass(0);
  ask('1');
  await clock.pass(700);
  await replies[1]?.keep('new');
  await replies[0]?.keep('old');
  expect(shown).toEqual(['1: new']);
});

test('a_reply_about_something_else_is_dropped_and_a_new_subject_does_not_wait', async () => {
  const { clock, shown, replies, ask } = reloading();
  ask('1');
  await clock.pass(0);
  ask('1.2');
  await clock.pass(0);
  await replies[0]?.keep('of 1');
  await replies[1]?.keep('of 1.2');
  expect(shown).toEqual(['1.2: of 1.2']);
});

test('after_a_failure_the_last_value_stays_with_the_reason', async () => {
  const { clock, shown, replies, ask } = reloading();
  ask('1');
  await clock.pass(0);
  await replies[0]?.keep('first');
  ask('1');
  await clock.pass(700);
  await replies[1]?.fail();
  expect(shown).toEqual(['1: first', '1: first internal']);
});

test('the_end_of_a_run_that_was_given_up_changes_nothing', async () => {
  const states: ActionState[] = [];
  const action = new Action((state) => states.push(state));
  const { make, all } = promises<void>();
  const keys: string[] = [];
  const run = (): void => action.run((key) => (keys.push(key), make()));
  run();
  // The input has changed: another order, with another key.
  action.reset();
  run();
  await all[0]?.fail();
  expect(states.at(-1)).toEqual({ isBusy: true, problem: null });
  await all[1]?.fail();
  expect(states.at(-1)).toMatchObject({ isBusy: false, problem: { code: 'internal' } });
  // The second order is tried again with its own key.
  run();
  await all[2]?.keep();
  run();
  expect(keys[1]).not.toBe(keys[0]);
  expect(keys[2]).toBe(keys[1]);
  expect(keys[3]).not.toBe(keys[2]);
});
