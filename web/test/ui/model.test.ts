import { expect, test } from 'vitest';
import { spentSoFar } from '../../src/ui/model';
import type { TreeContract } from '../../src/wire';

const contract = (path: string, spent: number, hasReported: boolean): TreeContract =>
  ({ path, money: { granted: 100, available: 0, held: 0, spent }, report: hasReported ? {} : null }) as unknown as TreeContract;

test('the_money_of_a_hire_is_counted_once_before_and_after_its_report', () => {
  const live = [contract('1', 5, false), contract('1.1', 7, false), contract('1.1.1', 2, false), contract('2', 50, false), contract('10', 9, false)];
  expect(spentSoFar(live, '1')).toBe(14);
  // A hire that has reported is part of what its hirer spent.
  const reported = [contract('1', 5, false), contract('1.1', 9, false), contract('1.1.1', 2, true)];
  expect(spentSoFar(reported, '1')).toBe(14);
});
