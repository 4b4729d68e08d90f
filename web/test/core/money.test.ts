import { expect, test } from 'vitest';

import { readSats, sats, satsDown, satsUp } from '../../src/money';

test('amounts_are_written_as_the_command_line_writes_them', () => {
  const written = [0, 1, 999, 1000, 1001, 12_500, 49_790, 49_798, 400_000, -500_000, 9_007_199_254_740_991].map(sats);
  expect(written).toEqual([
    '0 sat', '0.001 sat', '0.999 sat', '1 sat', '1.001 sat', '12.5 sat', '49.79 sat', '49.798 sat', '400 sat', '-500 sat',
    '9007199254740.991 sat',
  ]);
});

test('an_amount_that_is_not_exact_says_so', () => {
  expect(sats(2_100_000_000_000_000_000)).toBe('about 2100000000000000 sat');
  expect(sats(Number.NaN)).toBe('about ? sat');
});

test('a_cost_is_never_shown_smaller_and_a_balance_never_larger_than_it_is', () => {
  expect([0, 1, 999, 1000, 1001, 25_000, 25_001].map(satsUp)).toEqual(['0', '0.001', '0.999', '1', '2', '25', '26']);
  expect([0, 1, 999, 1000, 1001, 25_999].map(satsDown)).toEqual(['0', '0.001', '0.999', '1', '1', '25']);
});

test('what_a_person_types_is_an_amount_or_a_reason', () => {
  expect(['250', ' 250 sat ', '250sats', '1000000000000'].map(readSats)).toEqual([
    { sats: 250 }, { sats: 250 }, { sats: 250 }, { sats: 1_000_000_000_000 },
  ]);
  for (const wrong of ['', '0', '-1', '1.5', '1e3', '٣', '0x10', '1000000000001', '99999999999999999999', 'all']) {
    expect(readSats(wrong), wrong).toHaveProperty('wrong');
  }
});
