// Amounts as people read them, in the form of the command line: `12.5 sat`. Millisatoshis are whole numbers, so a text is made
// by cutting digits, never by dividing floats.

import type { Msat } from './wire';

/** The digits of an amount in satoshis, without a unit: `12.5`. All digits are shown, none is rounded. */
export function satDigits(msat: Msat): string {
  if (!Number.isSafeInteger(msat)) return Number.isFinite(msat) ? BigInt(Math.trunc(msat / 1000)).toString() : '?';
  const sign = msat < 0 ? '-' : '';
  const size = Math.abs(msat);
  const rest = size % 1000;
  const fraction = rest === 0 ? '' : `.${String(rest).padStart(3, '0').replace(/0+$/, '')}`;
  return `${sign}${(size - rest) / 1000}${fraction}`;
}

/** An amount in satoshis, as the command line writes it: `12.5 sat`. Amounts that a number can't hold exactly say so. */
export function sats(msat: Msat): string {
  const about = Number.isSafeInteger(msat) ? '' : 'about ';
  return `${about}${satDigits(msat)} sat`;
}

/**
 * An amount in whole satoshis, for labels. Rounded up, so that a cost never looks smaller than it is; an amount below one
 * satoshi keeps its digits.
 */
export function satsUp(msat: Msat): string {
  return wholeDigits(msat, (rest) => (rest > 0 ? 1 : 0));
}

/** An amount in whole satoshis, rounded down: for money that is there to be spent. */
export function satsDown(msat: Msat): string {
  return wholeDigits(msat, () => 0);
}

function wholeDigits(msat: Msat, carry: (rest: number) => number): string {
  if (!Number.isSafeInteger(msat) || Math.abs(msat) < 1000) return satDigits(msat);
  const rest = ((msat % 1000) + 1000) % 1000;
  return String((msat - rest) / 1000 + carry(rest));
}

/** Reads an amount that a person typed, in whole satoshis. A text that is not an amount gives the reason. */
export function readSats(typed: string): { readonly sats: number } | { readonly wrong: string } {
  const digits = typed.trim().replace(/\s*sats?$/i, '');
  if (!/^\d+$/.test(digits)) return { wrong: 'Write a whole number of sats, such as 250.' };
  const sats = Number(digits);
  if (sats < 1) return { wrong: 'An amount is at least 1 sat.' };
  if (sats > SATS_MAX) return { wrong: `An amount is at most ${SATS_MAX} sat.` };
  return { sats };
}

/** The largest amount that the server takes. */
const SATS_MAX = 1_000_000_000_000;
