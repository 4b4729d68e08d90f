// The state of a session is a fold over its events. It must equal the server's `GET tree?at=` after every event, which
// `crates/guildhall/src/tree.rs` computes. Amounts are numbers: a session whose money can't be held exactly by a number (more
// than 90,000 bitcoin; the server takes at most 10,000 in one invoice) says so in `isExact`.

import { Account } from './fold/account';
import { Contract } from './fold/contract';
import { type Place, parseId, START } from './stream';
import type { Path, StoredEvent, Tree, TreeAccount, TreeContract } from './wire';

export { type Details, detailsOf, hirerOf } from './fold/contract';

/** Compares paths as the server does: 1.2 before 1.10, a contract before its hires. */
export function comparePaths(one: Path, other: Path): number {
  if (one === other) return 0;
  const [a, b] = [one.split('.'), other.split('.')];
  for (let level = 0; level < Math.min(a.length, b.length); level += 1) {
    const difference = Number(a[level]) - Number(b[level]);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** The contracts of a session in the order in which they opened, and in the order of their paths. Folds of one session share it. */
export class PathIndex {
  readonly #slots = new Map<Path, number>();
  /** Slots in the order of their paths. */
  readonly #order: number[] = [];
  readonly #paths: Path[] = [];

  slot(path: Path): number | undefined {
    return this.#slots.get(path);
  }

  get order(): readonly number[] {
    return this.#order;
  }

  /** Returns the slot of a contract that opens. */
  open(path: Path): number {
    const known = this.#slots.get(path);
    if (known !== undefined) return known;
    const slot = this.#paths.length;
    this.#slots.set(path, slot);
    this.#paths.push(path);
    let [low, high] = [0, this.#order.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#paths[this.#order[middle] ?? 0] ?? '';
      if (comparePaths(other, path) < 0) low = middle + 1;
      else high = middle;
    }
    this.#order.splice(low, 0, slot);
    return slot;
  }
}

/** A state that later events do not change. */
export interface Snapshot {
  readonly at: Place;
  readonly account: Account;
  readonly contracts: readonly Contract[];
  readonly doubts: ReadonlySet<Path | null>;
}

const EMPTY: Snapshot = { at: START, account: new Account(), contracts: [], doubts: new Set() };

export class Fold {
  #at: Place;
  #account: Account;
  #ownsAccount = false;
  #accountView: TreeAccount | null = null;
  readonly #contracts: Contract[];
  readonly #index: PathIndex;
  #doubts: ReadonlySet<Path | null>;
  /** Contracts of this owner can be changed in place. A snapshot takes them away. */
  #owner = {};

  /** Begins with a snapshot, or with a session without events. A snapshot needs the index that it was made with. */
  constructor(from: Snapshot = EMPTY, index: PathIndex = new PathIndex()) {
    this.#at = from.at;
    this.#account = from.account;
    this.#contracts = [...from.contracts];
    this.#doubts = from.doubts;
    this.#index = index;
  }

  /** The contracts (`null`: the account) with facts that this page does not know: their numbers may be wrong. */
  get doubts(): ReadonlySet<Path | null> {
    return this.#doubts;
  }

  /** How many contracts have opened. */
  get size(): number {
    return this.#contracts.length;
  }

  /** Takes the next event. */
  apply(event: StoredEvent): void {
    if (event.kind === 'fact') {
      this.#at = { ...this.#at, facts: this.#at.facts + 1 };
      if (event.fact.kind === 'unknown') return this.#doubt(event.contract);
      if (event.fact.kind === 'opened') return this.#open(event.contract, event.fact.brief, event.at);
      this.#own(event.contract)?.apply(event.fact, event.at);
    } else if (event.kind === 'account') {
      this.#at = { ...this.#at, account: this.#at.account + 1 };
      if (event.fact.kind === 'unknown') return this.#doubt(null);
      this.#ownAccount().apply(event.fact, event.at);
    } else {
      this.#at = parseId(event.id) ?? this.#at;
      this.#doubt(null);
    }
  }

  snapshot(): Snapshot {
    this.#owner = {};
    this.#ownsAccount = false;
    return { at: this.#at, account: this.#account, contracts: [...this.#contracts], doubts: this.#doubts };
  }

  /** The tree in the form of the server. Contracts that did not change are the same objects as before. */
  tree(): Tree {
    return { at: `${this.#at.facts}.${this.#at.account}`, account: this.account(), contracts: this.contracts() };
  }

  account(): TreeAccount {
    this.#accountView ??= this.#account.view();
    return this.#accountView;
  }

  /** All contracts, in the order of their paths. */
  contracts(): TreeContract[] {
    const all: TreeContract[] = [];
    for (const slot of this.#index.order) {
      const contract = this.#contracts[slot];
      if (contract !== undefined) all.push(contract.view());
    }
    return all;
  }

  contract(path: Path): Contract | null {
    const slot = this.#index.slot(path);
    return (slot === undefined ? undefined : this.#contracts[slot]) ?? null;
  }

  /** Whether every amount of the session is exact. */
  get isExact(): boolean {
    return Number.isSafeInteger(this.#account.funded) && this.#contracts.every((contract) => contract.isExact);
  }

  #open(path: Path, brief: Parameters<typeof makeContract>[0], at: number): void {
    this.#contracts[this.#index.open(path)] = makeContract(brief, at, this.#owner);
  }

  /** A contract that can be changed in place. */
  #own(path: Path): Contract | null {
    const slot = this.#index.slot(path);
    const contract = slot === undefined ? undefined : this.#contracts[slot];
    if (slot === undefined || contract === undefined) return null;
    if (contract.owner === this.#owner) return contract;
    const copy = contract.copy(this.#owner);
    this.#contracts[slot] = copy;
    return copy;
  }

  #ownAccount(): Account {
    if (!this.#ownsAccount) this.#account = this.#account.clone();
    this.#ownsAccount = true;
    this.#accountView = null;
    return this.#account;
  }

  #doubt(of: Path | null): void {
    if (!this.#doubts.has(of)) this.#doubts = new Set([...this.#doubts, of]);
  }
}

function makeContract(brief: ConstructorParameters<typeof Contract>[0], at: number, owner: object): Contract {
  return new Contract(brief, at, owner);
}
