// One contract of a session's tree, as `crates/guildhall/src/tree/contract.rs` folds it.

import type { Answer, Ask, Brief, ContractState, Cost, Fact, Lack, Msat, Path, QueuedHire, Report, TreeContract, Waits } from '../wire';
import { difference, Purse, sum } from './amounts';

interface OpenAsk {
  readonly money: Msat;
  readonly heads: number;
  /** Whether this is the request that the severance pays for. */
  readonly isLast: boolean;
  /** `null` if the contract only passes a message on. */
  readonly waits: Waits | null;
}

export class Contract {
  /** The fold that may change this contract. Other folds copy it first. */
  owner: object;
  readonly #brief: Brief;
  readonly #openedAt: number;
  #money: Purse;
  #heads: Purse;
  #requests = 0;
  #toolCalls = 0;
  #hires = 0;
  #refusals = 0;
  /** The hires that wait for money, by ordinal. */
  #queued = new Map<number, QueuedHire>();
  #closedAt: number | null = null;
  #report: Report | null = null;
  /** The part of the severance that is held. */
  #severance: Msat;
  #open = new Map<number, OpenAsk>();
  /** How many of the open asks are work of the contract itself. */
  #ownWork = 0;
  #awaitsMessage = false;
  /** The part of the spent money that hires cost. */
  #hired: Msat = 0;
  #view: TreeContract | null = null;

  constructor(brief: Brief, at: number, owner: object) {
    this.owner = owner;
    this.#brief = brief;
    this.#openedAt = at;
    this.#money = new Purse(brief.grant.money, 'money');
    this.#money.hold(brief.fee);
    this.#money.hold(brief.severance);
    this.#heads = new Purse(brief.grant.heads, 'heads');
    this.#severance = brief.severance;
  }

  /** A copy that belongs to this owner. */
  copy(owner: object): Contract {
    const copy = new Contract(this.#brief, this.#openedAt, owner);
    copy.#money = this.#money.clone();
    copy.#heads = this.#heads.clone();
    copy.#requests = this.#requests;
    copy.#toolCalls = this.#toolCalls;
    copy.#hires = this.#hires;
    copy.#refusals = this.#refusals;
    copy.#queued = new Map(this.#queued);
    copy.#closedAt = this.#closedAt;
    copy.#report = this.#report;
    copy.#severance = this.#severance;
    copy.#open = new Map(this.#open);
    copy.#ownWork = this.#ownWork;
    copy.#awaitsMessage = this.#awaitsMessage;
    copy.#hired = this.#hired;
    return copy;
  }

  get isExact(): boolean {
    return this.#money.isExact;
  }

  /** The hire that an open ask made. */
  hireOf(ask: number): Path | null {
    const waits = this.#open.get(ask)?.waits;
    return waits?.kind === 'hire' ? waits.contract : null;
  }

  #openRequest(): number | null {
    for (const [id, open] of this.#open) if (open.waits?.kind === 'model') return id;
    return null;
  }

  apply(fact: Exclude<Fact, { kind: 'unknown' | 'opened' }>, at: number): void {
    this.#view = null;
    switch (fact.kind) {
      case 'asked':
        return this.#asked(fact.id, fact.ask, fact.hold);
      case 'answered':
        return this.#answered(fact.id, fact.answer, fact.cost);
      case 'queued': {
        const agent = fact.inherits ? this.#brief.agent : fact.agent;
        const path = `${this.#brief.path}.${fact.ordinal}`;
        this.#queued.set(fact.ordinal, { path, agent, label: fact.label, task: fact.task });
        return;
      }
      case 'refused':
        this.#refusals += 1;
        if (fact.ordinal !== null) this.#queued.delete(fact.ordinal);
        return;
      case 'raised':
        return this.#raised(fact.hire, fact.by);
      case 'heard':
        if (fact.stimulus.kind === 'top_up') this.#money.raise(fact.stimulus.money);
        if (fact.stimulus.kind === 'message') this.#awaitsMessage = false;
        return;
      case 'closing':
        this.#awaitsMessage = false;
        return;
      case 'closed':
        return this.#closed(fact.report, at);
      case 'waiting':
      case 'woke':
      case 'nudged':
      case 'compacted':
        return;
    }
  }

  #raised(hire: number, by: Msat): void {
    this.#money.hold(by);
    const open = this.#open.get(hire);
    if (open !== undefined) this.#open.set(hire, { ...open, money: sum(open.money, by) });
  }

  #asked(id: number, ask: Ask, hold: { money: Msat; heads: number }): void {
    const isLast = ask.kind === 'model' && ask.turn === 'last';
    if (isLast) {
      // The severance pays for the last request, so it is available from here on.
      this.#money.settle(this.#severance, 0);
      this.#severance = 0;
    }
    this.#money.hold(hold.money);
    this.#heads.hold(hold.heads);
    const waits = this.#waitsFor(ask);
    if (isOwnWork(waits)) this.#ownWork += 1;
    this.#open.set(id, { ...hold, isLast, waits });
  }

  /** Counts an ask, and returns what the contract waits for. */
  #waitsFor(ask: Ask): Waits | null {
    switch (ask.kind) {
      case 'model':
        this.#requests += 1;
        this.#awaitsMessage = false;
        return { kind: 'model' };
      case 'tool':
        this.#toolCalls += 1;
        return { kind: 'tool', tool: ask.tool };
      case 'hire':
        this.#hires += 1;
        this.#queued.delete(Number(ask.brief.path.split('.').at(-1)));
        return { kind: 'hire', contract: ask.brief.path };
      case 'check':
        return { kind: 'check' };
      case 'question':
        return { kind: ask.to === 'owner' ? 'person' : 'hirer' };
      case 'draw':
        return { kind: 'money' };
      case 'tell':
        return null;
    }
  }

  #answered(id: number, answer: Answer, cost: Cost): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    this.#open.delete(id);
    if (isOwnWork(open.waits)) this.#ownWork -= 1;
    const charge = cost.kind === 'unknown' ? open.money : Math.min(cost.money, open.money);
    this.#money.settle(open.money, charge);
    if (open.waits?.kind === 'hire') this.#hired += charge;
    // A hire has used one head for itself, and those of its report.
    const heads = answer.kind === 'report' ? answer.report.heads + 1 : 0;
    this.#heads.settle(open.heads, Math.min(heads, open.heads));
    if (open.isLast) {
      // The part of the severance that the request did not use is held again.
      this.#severance = Math.min(difference(open.money, charge), this.#brief.severance);
      this.#money.hold(this.#severance);
    }
    if (answer.kind === 'said') this.#awaitsMessage = this.#brief.closeWhen === 'asked' && answer.calls === 0;
  }

  #closed(report: Report, at: number): void {
    this.#money.settle(this.#brief.fee, report.fee);
    this.#money.settle(this.#severance, 0);
    this.#severance = 0;
    this.#awaitsMessage = false;
    this.#closedAt = at;
    this.#report = report;
  }

  #state(): ContractState {
    if (this.#report !== null) {
      const { outcome } = this.#report;
      return typeof outcome === 'string' ? outcome : 'ran_dry';
    }
    const isIdle = this.#ownWork === 0 && (this.#awaitsMessage || this.#open.size > 0);
    return isIdle ? 'waits' : 'works';
  }

  /** What the contract waits for, in the order in which it asked. */
  #waits(): Waits[] {
    const waits: Waits[] = [];
    const ids = [...this.#open.keys()].sort((one, other) => one - other);
    for (const id of ids) {
      const of = this.#open.get(id)?.waits;
      if (of !== null && of !== undefined) waits.push(of);
    }
    if (this.#awaitsMessage) waits.push({ kind: 'person' });
    return waits;
  }

  /** The contract in the form of the server. The same object until the contract changes. */
  view(): TreeContract {
    if (this.#view !== null) return this.#view;
    const brief = this.#brief;
    const report = this.#report;
    this.#view = {
      path: brief.path,
      hirer: hirerOf(brief.path),
      agent: brief.agent,
      label: brief.label,
      standing: brief.standing,
      context: brief.context,
      depth: brief.grant.depth,
      task: brief.task,
      state: this.#state(),
      waits_for: this.#waits(),
      money: this.#money.view(),
      heads: this.#heads.view(),
      requests: this.#requests,
      tool_calls: this.#toolCalls,
      hires: this.#hires,
      queued: [...this.#queued.values()],
      refusals: this.#refusals,
      opened_at: this.#openedAt,
      closed_at: this.#closedAt,
      report:
        report === null
          ? null
          : { outcome: report.outcome, accepted: report.accepted, text: report.text, output: report.output, cut: report.cut, lack: lackOf(report) },
    };
    const own = difference(this.#money.spent, this.#hired);
    details.set(this.#view, { own, change: report?.change ?? 0, openRequest: this.#openRequest() });
    return this.#view;
  }
}

function lackOf(report: Report): Lack | null {
  if (report.outcome !== 'done') return null;
  if (!report.accepted) return 'acceptance';
  switch (report.undone) {
    case 'required_hire':
      return 'hire';
    case 'promised_hire':
    case 'no_hire':
      return report.undone;
    case 'unclear':
    case null:
      return null;
  }
}

/** What the fold knows of a contract besides the form of the server. */
export interface Details {
  /** What the contract itself has cost, without its hires. */
  readonly own: Msat;
  /** The money that came back when it closed. */
  readonly change: Msat;
  /** The request to its model that has no answer yet. */
  readonly openRequest: number | null;
}

const details = new WeakMap<TreeContract, Details>();

/** The details of a contract that a fold made. */
export function detailsOf(contract: TreeContract): Details {
  return details.get(contract) ?? { own: 0, change: 0, openRequest: null };
}

/** Whether an ask is work of the contract itself, not of another contract or a person. */
function isOwnWork(waits: Waits | null): boolean {
  return waits?.kind === 'model' || waits?.kind === 'tool' || waits?.kind === 'check';
}

export function hirerOf(path: Path): Path | null {
  const dot = path.lastIndexOf('.');
  return dot < 0 ? null : path.slice(0, dot);
}
