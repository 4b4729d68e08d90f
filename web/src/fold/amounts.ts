// Sums and differences with the limits of the server, so that facts which break a law give the same tree here as there.

import type { Amounts, Msat } from '../wire';

/** All money there is. */
const SUPPLY: Msat = 2_100_000_000_000_000_000;

/** Adds. Sums of lawful facts stay within the limit. */
export function sum(one: number, other: number, most = SUPPLY): number {
  return one + other > most ? one : one + other;
}

/** Subtracts. Differences of lawful facts are never negative. */
export function difference(one: number, other: number): number {
  return Math.max(0, one - other);
}

/** The largest number of heads. */
const HEADS_MAX = 0xffff_ffff;

/** An account of one quantity: `granted = available + held + spent`. */
export class Purse {
  granted: number;
  available: number;
  held = 0;
  spent = 0;
  readonly #most: number;

  constructor(granted: number, quantity: 'money' | 'heads') {
    this.granted = granted;
    this.available = granted;
    this.#most = quantity === 'money' ? SUPPLY : HEADS_MAX;
  }

  clone(): Purse {
    const copy = new Purse(this.granted, this.#most === SUPPLY ? 'money' : 'heads');
    copy.available = this.available;
    copy.held = this.held;
    copy.spent = this.spent;
    return copy;
  }

  view(): Amounts {
    return { granted: this.granted, available: this.available, held: this.held, spent: this.spent };
  }

  raise(by: number): void {
    this.granted = this.#sum(this.granted, by);
    this.available = this.#sum(this.available, by);
  }

  hold(amount: number): void {
    this.available = difference(this.available, amount);
    this.held = this.#sum(this.held, amount);
  }

  /** Ends a hold. The cost is spent, and the rest is available again. */
  settle(hold: number, cost: number): void {
    this.held = difference(this.held, hold);
    this.spent = this.#sum(this.spent, cost);
    this.available = this.#sum(this.available, difference(hold, cost));
  }

  /** Whether all amounts are exact: above 2^53 a number of JavaScript is not. */
  get isExact(): boolean {
    return Number.isSafeInteger(this.granted) && Number.isSafeInteger(this.spent);
  }

  #sum(one: number, other: number): number {
    return sum(one, other, this.#most);
  }
}
