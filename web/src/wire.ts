// What the server sends. Replies are typed as they are; events are read here, once, into unions with a `kind`. A fact that
// this page does not know (a newer server) becomes `unknown`: it is kept and shown as such, and never guessed.

/** Millisatoshis. A whole number; exact up to `Number.MAX_SAFE_INTEGER`, which is 90,000 bitcoin. */
export type Msat = number;
/** The path of a contract, such as `1.2`. */
export type Path = string;
export type MoneyKind = 'play' | 'real';

export interface CastMember {
  readonly name: string;
  readonly description: string;
  readonly specialties: readonly string[];
  readonly model: string | null;
}

export interface Offer {
  readonly team: string;
  readonly description: string;
  readonly example: string | null;
  readonly agents: readonly CastMember[];
  readonly models: readonly string[];
  readonly money: MoneyKind;
  readonly needs_operator: boolean;
  readonly budget_sats: number;
  readonly cost: { readonly requests: number; readonly median_msat: Msat; readonly percentile_90_msat: Msat } | null;
}

export interface Invoice {
  readonly invoice: string;
  readonly amount_msat: Msat;
  /** What a Lightning wallet pays. `null` for play money. */
  readonly payment_request: string | null;
  /** Milliseconds since 1970. */
  readonly expires_at: number;
  readonly state: 'open' | 'paid' | 'expired';
}

export interface SessionMade {
  readonly session: string;
  readonly team: string;
  readonly money: MoneyKind;
  readonly owner_token: string;
  readonly invoice: Invoice;
}

export interface TextView {
  readonly hash: string;
  readonly bytes: number;
  readonly excerpt: string | null;
}

export interface RequestView {
  readonly root: Path;
  readonly task: TextView | null;
  /** `works`, `waits`, `done`, `ran_dry`, `failed`, `cancelled`, or `starts` before its first fact. */
  readonly state: string;
  readonly granted_msat: Msat;
  readonly spent_msat: Msat;
  readonly answer: TextView | null;
}

export interface SessionView {
  readonly session: string;
  /** What the token allows. */
  readonly role: 'operator' | 'owner' | 'viewer';
  readonly team: string | null;
  readonly money: MoneyKind;
  readonly state: 'unpaid' | 'ready' | 'works' | 'awaits_person' | 'stopped';
  readonly free_msat: Msat;
  readonly payable_msat: Msat;
  readonly at_work_msat: Msat;
  readonly spent_msat: Msat;
  readonly withdrawn_msat: Msat;
  readonly invoices: readonly Invoice[];
  readonly requests: readonly RequestView[];
  /** The id of the newest event. Events up to this id are history. */
  readonly newest_event: string;
  readonly agents: readonly CastMember[];
}

export interface Ledger {
  readonly postings: readonly {
    readonly at: number | null;
    readonly after: number | null;
    readonly from: string;
    readonly to: string;
    readonly amount_msat: Msat;
    readonly what: string;
  }[];
  readonly balances: readonly { readonly account: string; readonly balance_msat: Msat }[];
  readonly bill: readonly BillLine[];
  readonly violations: readonly string[];
}

export interface BillLine {
  readonly contract: Path;
  readonly agent: string;
  readonly granted_msat: Msat;
  readonly used_msat: Msat;
  readonly estimated_msat: Msat;
  readonly reserved_msat: Msat;
  readonly fee_msat: Msat;
  readonly all_msat: Msat;
  readonly calls: number;
}

export interface Refund {
  readonly payment: string | null;
  readonly amount_msat: Msat;
  readonly state: 'under_way' | 'paid' | 'failed';
}

/** A viewer whose token is valid. */
export interface Viewer {
  readonly viewer: number;
  /** In milliseconds since 1970. */
  readonly made_at: number;
}

export interface ViewerAdded {
  readonly viewer: number;
  readonly token: string;
  /** The part of a link that carries the token, behind `#`. */
  readonly link: string;
}

export interface TextRef {
  readonly hash: string;
  readonly bytes: number;
  readonly kind: string;
}

export type ContractState = 'works' | 'waits' | 'done' | 'ran_dry' | 'failed' | 'cancelled';
export type Limit = 'purse' | 'turns' | 'deadline' | 'asked' | 'length';
export type Outcome = 'done' | 'failed' | 'cancelled' | { readonly exhausted: Limit };

export type Waits =
  | { readonly kind: 'model' | 'check' | 'person' | 'hirer' | 'money' }
  | { readonly kind: 'tool'; readonly tool: string }
  | { readonly kind: 'hire'; readonly contract: Path };

export interface Amounts {
  readonly granted: number;
  readonly available: number;
  readonly held: number;
  readonly spent: number;
}

export interface TreeReport {
  readonly outcome: Outcome;
  readonly accepted: boolean;
  readonly text: TextRef;
  readonly output: TextRef | null;
  /** Whether the text is cut: its model could not finish it. */
  readonly cut: boolean;
  /** What the report lacks, if the contract is done. */
  readonly lack: Lack | null;
}

export type Lack = 'acceptance' | 'hire' | 'promised_hire' | 'no_hire';

/** A hire that waits for money and has no contract yet. */
export interface QueuedHire {
  readonly path: Path;
  readonly agent: string;
  readonly label: TextRef | null;
  readonly task: TextRef;
}

export interface TreeContract {
  readonly path: Path;
  readonly hirer: Path | null;
  readonly agent: string;
  readonly label: TextRef | null;
  readonly standing: string;
  readonly context: 'fresh' | 'fork' | { readonly after: Path };
  /** How many levels of hires it may have below it. */
  readonly depth: number;
  readonly task: TextRef;
  readonly state: ContractState;
  readonly waits_for: readonly Waits[];
  readonly money: Amounts;
  readonly heads: Amounts;
  readonly requests: number;
  readonly tool_calls: number;
  readonly hires: number;
  /** The hires that wait for money, in order. */
  readonly queued: readonly QueuedHire[];
  readonly refusals: number;
  /** Session time, in milliseconds. */
  readonly opened_at: number;
  readonly closed_at: number | null;
  readonly report: TreeReport | null;
}

export interface TreeRoot {
  readonly path: Path;
  readonly granted: Msat;
  readonly spent: Msat;
  readonly state: 'at_work' | 'ended';
  readonly requested_at: number;
  readonly ended_at: number | null;
}

export interface TreeAccount {
  readonly kind: 'play' | 'wallet';
  readonly funded: Msat;
  readonly credited: Msat;
  readonly free: Msat;
  readonly at_work: Msat;
  readonly spent: Msat;
  readonly set_aside: Msat;
  readonly withdrawn: Msat;
  readonly roots: readonly TreeRoot[];
}

/** The reply of `GET tree`. */
export interface Tree {
  readonly at: string;
  readonly account: TreeAccount;
  /** In the order of their paths: each contract before its hires. */
  readonly contracts: readonly TreeContract[];
}

export interface Brief {
  readonly path: Path;
  readonly agent: string;
  readonly standing: string;
  readonly label: TextRef | null;
  readonly task: TextRef;
  readonly terms: readonly TextRef[];
  readonly grant: { readonly money: Msat; readonly heads: number; readonly depth: number; readonly deadline: number | null };
  readonly fee: Msat;
  readonly severance: Msat;
  readonly context: 'fresh' | 'fork' | { readonly after: Path };
  /** Whether it closes with its final text, or stays open for messages of its owner. */
  readonly closeWhen: 'final_text' | 'asked';
}

export interface Report {
  readonly outcome: Outcome;
  readonly text: TextRef;
  readonly output: TextRef | null;
  readonly accepted: boolean;
  readonly cut: boolean;
  readonly undone: 'required_hire' | 'promised_hire' | 'unclear' | 'no_hire' | null;
  readonly spent: Msat;
  readonly change: Msat;
  readonly fee: Msat;
  readonly heads: number;
}

export type Stimulus =
  | { readonly kind: 'message' | 'question'; readonly text: TextRef }
  | { readonly kind: 'top_up'; readonly to: Path; readonly money: Msat }
  | { readonly kind: 'hire'; readonly agent: string; readonly task: TextRef }
  | { readonly kind: 'draw'; readonly least: Msat }
  | { readonly kind: 'wrap_up' | 'cancel' | 'refuse_draw' | 'drop_hire' | 'out_of_tokens' };

export type Ask =
  | { readonly kind: 'model'; readonly turn: 'next' | 'last' }
  | { readonly kind: 'tool'; readonly tool: string; readonly arguments: TextRef }
  | { readonly kind: 'hire'; readonly brief: Brief; readonly mode: string }
  | { readonly kind: 'check'; readonly what: TextRef }
  | { readonly kind: 'question'; readonly to: 'hirer' | 'owner'; readonly text: TextRef | null; readonly tool: string | null }
  | { readonly kind: 'draw'; readonly least: Msat }
  | { readonly kind: 'tell'; readonly to: Path; readonly what: Stimulus };

export type Answer =
  | { readonly kind: 'said'; readonly reply: TextRef; readonly words: TextRef | null; readonly calls: number }
  | { readonly kind: 'result' | 'failed_check' | 'text' | 'failed'; readonly text: TextRef }
  | { readonly kind: 'report'; readonly report: Report }
  | { readonly kind: 'passed' | 'approved' | 'denied' | 'no_reply' | 'met' | 'not_met' | 'delivered' | 'gone' | 'lost' | 'aborted' };

export type Cost = { readonly kind: 'known' | 'estimated'; readonly money: Msat } | { readonly kind: 'unknown' };

/** Why something was refused: the name of the reason, and its fields. */
export interface Refusal {
  readonly name: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Why something was asked or refused. */
export type Origin = 'course' | 'call' | 'cascade' | 'outside' | 'unknown';

/** A fact that this page can't read: its kind is new, or a part of it is. */
export interface UnknownFact {
  readonly kind: 'unknown';
  /** The name that the server gave it. Untrusted text. */
  readonly name: string;
  readonly value: unknown;
}

export type Fact =
  | { readonly kind: 'opened'; readonly brief: Brief }
  | {
      readonly kind: 'asked';
      readonly id: number;
      readonly ask: Ask;
      readonly hold: { readonly money: Msat; readonly heads: number };
      readonly origin: Origin;
    }
  | { readonly kind: 'answered'; readonly id: number; readonly answer: Answer; readonly cost: Cost }
  | {
      readonly kind: 'queued';
      readonly ordinal: number;
      readonly agent: string;
      readonly inherits: boolean;
      readonly label: TextRef | null;
      readonly task: TextRef;
    }
  /** The agent that was not hired: `null` if this is not about a hire. `ordinal`: of a hire that had waited for money. */
  | { readonly kind: 'refused'; readonly why: Refusal; readonly agent: string | null; readonly ordinal: number | null }
  | { readonly kind: 'raised'; readonly hire: number; readonly by: Msat }
  | { readonly kind: 'heard'; readonly from: 'owner' | 'contract'; readonly stimulus: Stimulus }
  | { readonly kind: 'waiting'; readonly on: readonly number[]; readonly need: string; readonly until: number | null }
  | { readonly kind: 'woke'; readonly why: string }
  | { readonly kind: 'nudged'; readonly nudge: string }
  | { readonly kind: 'compacted' }
  | { readonly kind: 'closing'; readonly outcome: Outcome }
  | { readonly kind: 'closed'; readonly report: Report }
  | UnknownFact;

export type AccountFact =
  | { readonly kind: 'opened' }
  /** The payment of a Lightning invoice: `null` for play money. */
  | { readonly kind: 'funded'; readonly money: Msat; readonly root: Path | null; readonly payment: string | null }
  | { readonly kind: 'granted'; readonly root: Path; readonly money: Msat }
  | { readonly kind: 'withdrawing'; readonly payment: string; readonly money: Msat }
  | { readonly kind: 'withdrawn'; readonly payment: string; readonly spent: Msat }
  | { readonly kind: 'returned'; readonly money: Msat }
  | { readonly kind: 'requested'; readonly root: Path; readonly money: Msat }
  | { readonly kind: 'corrected'; readonly ask: string; readonly credit: Msat }
  | { readonly kind: 'ended'; readonly root: Path; readonly spent: Msat }
  | UnknownFact;

export type Does = 'asks' | 'thinks' | 'writes' | 'calls' | 'waits';

/** An event that is stored and has an id. */
export type StoredEvent =
  | {
      readonly kind: 'fact';
      readonly id: string;
      readonly contract: Path;
      /** Session time, in milliseconds. */
      readonly at: number;
      readonly fact: Fact;
      /** The first 280 characters of each text that the fact names, by hash. Untrusted texts. */
      readonly texts: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'account'; readonly id: string; readonly at: number; readonly fact: AccountFact }
  // A kind of stored event that only a newer server knows.
  | { readonly kind: 'other'; readonly id: string; readonly at: null; readonly fact: UnknownFact };

export interface CastEvent {
  readonly kind: 'cast';
  readonly session: string;
  readonly agents: readonly CastMember[];
}

export interface ActivityEvent {
  readonly kind: 'activity';
  readonly contract: Path;
  readonly ask: number;
  /** What the agent does. A newer server may have more words. */
  readonly does: Does | (string & {});
}

export type HallEvent = StoredEvent | CastEvent | ActivityEvent;

export { readEvent } from './wire/read';
