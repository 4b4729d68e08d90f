// The rows of the 2D view, made from the state at the cursor. A row of a contract that did not change is the same object as
// before, so that a list of 10,000 is cheap to bring up to date.
import type { Look } from '../looks';
import { firstWords, isolated, listed, waitsWords, type Moment, type SessionLog } from '../log';
import { satsDown, satsUp } from '../money';
import type { Zone } from '../stage';
import type { Amounts, Path, QueuedHire, SessionView, TreeContract } from '../wire';
import { zonesOf } from '../zones';
import type { TreeNode } from './rows';

export interface Wanted {
  readonly words: string;
  readonly contract: Path | null;
}

/** A contract, a hire that waits for money, or a hire that was refused, as lists show it. Names and words are untrusted texts. */
export interface AgentView extends TreeNode {
  readonly agent: string;
  readonly zone: Zone | null;
  readonly look: Look;
  /** The state in words, such as `waits for coder and tester`. */
  readonly status: string;
  /** What it and all below it have spent, in msat. */
  readonly spent: number;
  /** Such as `52 of 90 sat`. */
  readonly spend: string;
  readonly waitsFor: readonly Wanted[];
  readonly money: Amounts | null;
  readonly isFork: boolean;
  /** Whether it still runs. */
  readonly isLive: boolean;
  /** `null` for a hire that waits for money and for a refused one. */
  readonly contract: TreeContract | null;
  /** Why a hire was refused. */
  readonly reason: string | null;
}

/** Makes the rows of one session. */
export class Rows {
  readonly #log: SessionLog;
  #cast: SessionLog['cast'] | null = null;
  #zones: (agent: string) => Zone = () => 'workshop';
  #known = new WeakMap<TreeContract, { readonly key: string; readonly view: AgentView }>();
  #queued = new WeakMap<QueuedHire, AgentView>();

  constructor(log: SessionLog) {
    this.#log = log;
  }

  /** All rows at a moment. `isLive` adds what agents do right now. */
  at(moment: Moment, isLive: boolean): AgentView[] {
    if (this.#cast !== this.#log.cast) {
      this.#cast = this.#log.cast;
      this.#zones = zonesOf(this.#log.cast);
      this.#known = new WeakMap();
      this.#queued = new WeakMap();
    }
    const rows: AgentView[] = [];
    for (const contract of moment.contracts) rows.push(this.#contract(contract, moment, isLive));
    // Hires that wait and refused ones come last, so that they are listed after the hires of the same contract.
    for (const contract of moment.contracts) for (const hire of contract.queued) rows.push(this.#waiting(hire, contract.path));
    for (const path of this.#log.refusers) rows.push(...this.#refused(path, moment.index));
    return rows;
  }

  #contract(contract: TreeContract, moment: Moment, isLive: boolean): AgentView {
    const log = this.#log;
    // `null` for a contract with a fact that this page does not know: what else is said of it may be wrong.
    const does = moment.isDoubtful(contract.path) ? null : isLive ? (log.activity(contract.path)?.does ?? '') : '';
    const { money, state } = contract;
    // The name of a hire is known only after it has begun.
    const waits = state === 'waits' ? waiting(contract, log, moment) : '';
    const spent = moment.spent(contract.path);
    const key = `${spent} ${does} ${waits}`;
    const known = this.#known.get(contract);
    if (known?.key === key) return known.view;
    const view: AgentView = {
      id: contract.path,
      hirer: contract.hirer,
      name: log.nameOf(contract),
      agent: contract.agent,
      zone: contract.hirer === null ? null : this.#zones(contract.agent),
      look: state,
      status: statusOf(contract, does, waits) ?? log.status(contract, moment),
      spent,
      spend: `${satsUp(spent)} of ${satsDown(money.granted)} sat`,
      waitsFor: contract.waits_for.map((wait) => ({
        words: wait.kind === 'hire' ? nameAt(wait.contract, log, moment) : waitsWords([wait]),
        contract: wait.kind === 'hire' ? wait.contract : null,
      })),
      money,
      isFork: contract.context === 'fork',
      isLive: state === 'works' || state === 'waits',
      contract,
      reason: null,
    };
    this.#known.set(contract, { key, view });
    return view;
  }

  /** A hire that has its id and no contract yet. */
  #waiting(hire: QueuedHire, hirer: Path): AgentView {
    const known = this.#queued.get(hire);
    if (known !== undefined) return known;
    const label = this.#log.excerpt(hire.label);
    const name = label === null || label.trim() === '' ? hire.agent : firstWords(label);
    const view = { ...this.#without(hire.path, hirer, hire.agent), name, look: 'waits', status: 'waits for money', isLive: true } as const;
    this.#queued.set(hire, view);
    return view;
  }

  #refused(hirer: Path, index: number): AgentView[] {
    return this.#log.refused(hirer, index).map((hire) => ({
      ...this.#without(hire.id, hirer, hire.agent),
      look: 'refused',
      status: `refused: ${hire.why}`,
      reason: hire.why,
    }));
  }

  /** What all hires without a contract have in common. */
  #without(id: string, hirer: Path, agent: string) {
    return { id, hirer, name: agent, agent, zone: this.#zones(agent), spent: 0, spend: '', waitsFor: [], money: null, isFork: false, isLive: false, contract: null, reason: null };
  }
}

function nameAt(path: Path, log: SessionLog, moment: Moment): string {
  const contract = moment.get(path);
  return contract === null ? path : log.nameOf(contract);
}

function statusOf({ state, waits_for }: TreeContract, does: string | null, waits: string): string | null {
  if (does === null) return null;
  return state === 'works' ? doing(does, waits_for) : state === 'waits' ? waits : null;
}

function waiting(contract: TreeContract, log: SessionLog, moment: Moment): string {
  const name = (path: Path): string => isolated(nameAt(path, log, moment));
  const hires = contract.waits_for.flatMap((wait) => (wait.kind === 'hire' ? [name(wait.contract)] : []));
  const words = hires.length === contract.waits_for.length ? listed(hires) : waitsWords(contract.waits_for, name);
  return words === '' ? 'waits' : `waits for ${words}`;
}

const DOES: Readonly<Record<string, string>> = { asks: 'works: sends a request', thinks: 'works: its model thinks', writes: 'works: its model writes', calls: 'works: its model calls tools', waits: 'works' };

function doing(does: string, waits: TreeContract['waits_for']): string {
  const tools = waits.filter((wait) => wait.kind === 'tool');
  if (tools.length > 0) return `works: ${waitsWords(tools)}`;
  return DOES[does] ?? 'works';
}

/** Whether the newest request has not ended. Work that has stopped continues with the next order. */
export function isAtWork(view: SessionView | null): boolean {
  return view?.state === 'works' || view?.state === 'awaits_person' || view?.state === 'stopped';
}

/** How many contracts and refused hires have each look. */
export function countLooks(rows: readonly AgentView[], steppingOut: ReadonlySet<string>): Map<Look, number> {
  const counts = new Map<Look, number>();
  for (const row of rows) {
    const look: Look = steppingOut.has(row.id) && row.isLive ? 'arrives' : row.look;
    counts.set(look, (counts.get(look) ?? 0) + 1);
  }
  return counts;
}
