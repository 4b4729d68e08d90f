// The state of a session after some of its events. A moment never changes.

import { type Details, detailsOf, type Fold } from '../fold';
import type { Path, Tree, TreeAccount, TreeContract } from '../wire';

export class Moment {
  /** How many events lead to this state. */
  readonly index: number;
  /** The id of the newest of these events, such as `12.3`. */
  readonly at: string;
  readonly account: TreeAccount;
  /** In the order of their paths: each contract before its hires. */
  readonly contracts: readonly TreeContract[];
  /** The contracts (`null`: the account) with facts that this page does not know. Their numbers may be wrong. */
  readonly doubts: ReadonlySet<Path | null>;
  #byPath: ReadonlyMap<Path, TreeContract> | null = null;
  #hires: ReadonlyMap<Path, readonly TreeContract[]> | null = null;
  #spent: ReadonlyMap<Path, number> | null = null;

  constructor(index: number, fold: Fold) {
    const { at, account, contracts } = fold.tree();
    this.index = index;
    this.at = at;
    this.account = account;
    this.contracts = contracts;
    this.doubts = fold.doubts;
  }

  /** The state in the form of `GET tree?at=`. */
  get tree(): Tree {
    return { at: this.at, account: this.account, contracts: this.contracts };
  }

  get(path: Path): TreeContract | null {
    this.#byPath ??= new Map(this.contracts.map((contract) => [contract.path, contract]));
    return this.#byPath.get(path) ?? null;
  }

  /** The direct hires of a contract, in the order of their paths. */
  children(path: Path): readonly TreeContract[] {
    this.#hires ??= byHirer(this.contracts);
    return this.#hires.get(path) ?? [];
  }

  /**
   * What a contract and all contracts below it have spent so far, in msat. A purse counts the cost of a hire only once the hire has
   * reported.
   */
  spent(path: Path): number {
    this.#spent ??= sums(this.contracts);
    return this.#spent.get(path) ?? 0;
  }

  /** A contract and all contracts below it. */
  subtree(path: Path): readonly TreeContract[] {
    const start = this.contracts.findIndex((contract) => contract.path === path);
    if (start < 0) return [];
    const prefix = `${path}.`;
    let end = start + 1;
    while (this.contracts[end]?.path.startsWith(prefix) === true) end += 1;
    return this.contracts.slice(start, end);
  }

  get roots(): readonly TreeContract[] {
    return this.contracts.filter((contract) => contract.hirer === null);
  }

  /** The root of the newest request that has begun. */
  get newestRoot(): TreeContract | null {
    return this.roots.at(-1) ?? null;
  }

  /** Own cost, change and open request of a contract. */
  details(contract: TreeContract): Details {
    return detailsOf(contract);
  }

  isDoubtful(path: Path | null): boolean {
    return this.doubts.has(path);
  }
}

function sums(contracts: readonly TreeContract[]): Map<Path, number> {
  const spent = new Map<Path, number>();
  const add = (path: Path, more: number): void => void spent.set(path, (spent.get(path) ?? 0) + more);
  // Each contract comes before its hires, so that from the end on each sum is complete before it is added to that of the hirer.
  for (const contract of contracts.toReversed()) {
    add(contract.path, detailsOf(contract).own);
    if (contract.hirer !== null) add(contract.hirer, spent.get(contract.path) ?? 0);
  }
  return spent;
}

function byHirer(contracts: readonly TreeContract[]): Map<Path, TreeContract[]> {
  const hires = new Map<Path, TreeContract[]>();
  for (const contract of contracts) {
    if (contract.hirer === null) continue;
    const known = hires.get(contract.hirer);
    if (known === undefined) hires.set(contract.hirer, [contract]);
    else known.push(contract);
  }
  return hires;
}
