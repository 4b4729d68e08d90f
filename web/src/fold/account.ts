// The account of a session in its tree, as `crates/guildhall/src/tree/account.rs` folds it.

import type { AccountFact, Msat, Path, TreeAccount, TreeRoot } from '../wire';
import { difference, sum } from './amounts';

export class Account {
  kind: 'play' | 'wallet' = 'play';
  funded: Msat = 0;
  credited: Msat = 0;
  free: Msat = 0;
  atWork: Msat = 0;
  spent: Msat = 0;
  setAside: Msat = 0;
  withdrawn: Msat = 0;
  roots: readonly TreeRoot[] = [];
  #payments = new Map<string, Msat>();
  #corrected = new Set<string>();

  clone(): Account {
    const copy = Object.assign(new Account(), this);
    copy.#payments = new Map(this.#payments);
    copy.#corrected = new Set(this.#corrected);
    return copy;
  }

  view(): TreeAccount {
    const { kind, funded, credited, free, spent, withdrawn, roots } = this;
    return { kind, funded, credited, free, at_work: this.atWork, spent, set_aside: this.setAside, withdrawn, roots };
  }

  /** Takes a fact. The caller checks for unknown facts first. */
  apply(fact: Exclude<AccountFact, { kind: 'unknown' }>, at: number): void {
    switch (fact.kind) {
      case 'opened':
        this.kind = 'wallet';
        return;
      case 'funded':
        this.funded = sum(this.funded, fact.money);
        if (fact.root === null) this.free = sum(this.free, fact.money);
        else this.#raise(fact.root, fact.money);
        return;
      case 'granted':
        this.free = difference(this.free, fact.money);
        return this.#raise(fact.root, fact.money);
      case 'withdrawing':
        this.free = difference(this.free, fact.money);
        this.setAside = sum(this.setAside, fact.money);
        this.#payments.set(fact.payment, fact.money);
        return;
      case 'withdrawn': {
        const money = this.#payments.get(fact.payment) ?? fact.spent;
        this.#payments.delete(fact.payment);
        this.setAside = difference(this.setAside, money);
        this.withdrawn = sum(this.withdrawn, fact.spent);
        this.free = sum(this.free, difference(money, fact.spent));
        return;
      }
      case 'returned':
        this.free = difference(this.free, fact.money);
        this.withdrawn = sum(this.withdrawn, fact.money);
        return;
      case 'requested':
        return this.#request(fact.root, fact.money, at);
      case 'corrected':
        // The same correction twice counts once.
        if (this.#corrected.has(fact.ask)) return;
        this.#corrected.add(fact.ask);
        this.credited = sum(this.credited, fact.credit);
        this.free = sum(this.free, fact.credit);
        return;
      case 'ended':
        return this.#end(fact.root, fact.spent, at);
    }
  }

  #request(root: Path, money: Msat, at: number): void {
    this.free = difference(this.free, money);
    this.atWork = sum(this.atWork, money);
    const added: TreeRoot = { path: root, granted: money, spent: 0, state: 'at_work', requested_at: at, ended_at: null };
    this.roots = [...this.roots, added];
  }

  #raise(root: Path, money: Msat): void {
    this.atWork = sum(this.atWork, money);
    this.#change(root, (before) => ({ ...before, granted: sum(before.granted, money) }));
  }

  #end(root: Path, spent: Msat, at: number): void {
    const ended = this.#change(root, (before) => ({ ...before, spent, state: 'ended', ended_at: at }));
    if (ended === null) return;
    this.atWork = difference(this.atWork, ended.granted);
    this.spent = sum(this.spent, spent);
    this.free = sum(this.free, difference(ended.granted, spent));
  }

  #change(path: Path, change: (before: TreeRoot) => TreeRoot): TreeRoot | null {
    const roots = [...this.roots];
    const index = roots.map((root) => root.path).lastIndexOf(path);
    const before = roots[index];
    if (before === undefined) return null;
    const after = change(before);
    roots[index] = after;
    this.roots = roots;
    return after;
  }
}
