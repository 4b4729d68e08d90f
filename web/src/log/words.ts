// Facts in plain words, for labels and rows. All texts of a session are untrusted: they are shown as text, never as markup.

import { sats, satsDown, satsUp } from '../money';
import type { Limit, Path, Refusal, TreeContract, Waits } from '../wire';

/** The longest part of a report in a status line, in characters. */
const EXCERPT_CHARS_MAX = 80;
/** How many things a list names. */
const NAMED_MAX = 3;

/** The beginning of a text, on one line. */
export function firstWords(text: string, most = EXCERPT_CHARS_MAX): string {
  const line = text.replace(/\s+/gu, ' ').trim();
  const letters = [...line.slice(0, 4 * most)];
  return letters.length > most ? `${letters.slice(0, most).join('').trimEnd()}…` : line;
}

/** A name inside a sentence: a name that is written from right to left does not turn the sentence around. */
export function isolated(name: string): string {
  return `\u2068${name}\u2069`;
}

/** What a contract waits for: `the reports of 1.1 and 1.2`. Empty if it waits for nothing. */
export function waitsWords(waits: readonly Waits[], nameOf: (path: Path) => string = (path) => path): string {
  const words: string[] = [];
  const hires: string[] = [];
  for (const wait of waits) {
    if (wait.kind === 'hire') hires.push(nameOf(wait.contract));
    else words.push(waitWords(wait));
  }
  if (hires.length > 0) words.push(`${hires.length === 1 ? 'the report' : 'the reports'} of ${listed(hires)}`);
  return listed([...new Set(words)]);
}

function waitWords(wait: Exclude<Waits, { kind: 'hire' }>): string {
  switch (wait.kind) {
    case 'model':
      return 'the reply of its model';
    case 'tool':
      return `the tool ${wait.tool}`;
    case 'check':
      return 'a check of its report';
    case 'person':
      return 'a person';
    case 'hirer':
      return 'an answer of its hirer';
    case 'money':
      return 'more money from its hirer';
  }
}

/** `a, b and c`, or `a, b, c and 4 more`. */
export function listed(words: readonly string[]): string {
  const more = words.length - NAMED_MAX;
  const named = more > 1 ? [...words.slice(0, NAMED_MAX), `${more} more`] : words;
  return named.length < 2 ? (named[0] ?? '') : `${named.slice(0, -1).join(', ')} and ${named.at(-1)}`;
}

/** What the label of a contract says under its name. `spent`: with all below it. `report` is the beginning of its report, if it is known. */
export function statusLine(contract: TreeContract, spent: number, report: string | null): string {
  const { granted } = contract.money;
  switch (contract.state) {
    case 'works':
      return `${satsUp(spent)} of ${satsDown(granted)} spent`;
    case 'waits':
      return waitsBriefly(contract.waits_for);
    case 'done':
      return contract.report?.accepted === false ? `not accepted, ${satsUp(spent)} sat spent` : `reported, ${satsUp(spent)} sat spent`;
    case 'ran_dry':
      return `${ranOut(contract)} at ${satsUp(spent)} sat${isCut(contract) ? ', report cut' : ''}`;
    case 'failed':
      return report === null || report.trim() === '' ? 'failed' : `failed: ${firstWords(report.replace(FROM_PROVIDER, '').replace(ADVICE, ''))}`;
    case 'cancelled':
      return `cancelled at ${satsUp(spent)} sat`;
  }
}

/** Which provider failed, before why: a label has no room for it. `crates/agent/src/model.rs` has the words. */
const FROM_PROVIDER = /^(?:\S+ refused|\S+ can't be reached|did not get a complete reply from \S+|the prompt is too long for \S+): (?:HTTP \d+: )?/u;

/** What a person can do about a failure, after what happened. */
const ADVICE = /\. What to do: [\s\S]*$/u;

function waitsBriefly(waits: readonly Waits[]): string {
  const hires = waits.filter((wait) => wait.kind === 'hire').length;
  if (waits.some((wait) => wait.kind === 'person')) return 'waits for a person';
  if (waits.some((wait) => wait.kind === 'hirer')) return 'waits for its hirer';
  if (waits.some((wait) => wait.kind === 'money')) return 'waits for money';
  return hires === 0 ? 'waits' : `waits for ${hires}`;
}

const RAN_OUT: Readonly<Record<Limit, string>> = {
  purse: 'ran dry',
  turns: 'out of turns',
  deadline: 'out of time',
  asked: 'wrapped up',
  length: 'report cut',
};

/** Whether the report is cut: its model could not finish it, and the limit does not say so. */
function isCut({ report }: TreeContract): boolean {
  const outcome = report?.outcome;
  return report?.cut === true && !(typeof outcome === 'object' && outcome.exhausted === 'length');
}

function ranOut(contract: TreeContract): string {
  const outcome = contract.report?.outcome;
  return typeof outcome === 'object' ? RAN_OUT[outcome.exhausted] : 'ran dry';
}

/** Why something was refused: `asks 40 sat, has 38 sat`. A reason that this page does not know is shown by its name. */
export function refusalWords({ name, fields }: Refusal): string {
  const text = (key: string): string => String(fields[key] ?? '?');
  const amount = (key: string): string => sats(Number(fields[key] ?? Number.NaN));
  switch (name) {
    case 'money':
      return Number(fields['minimum']) > Number(fields['asked'])
        ? `needs ${satsUp(Number(fields['minimum']))} sat, offered ${satsDown(Number(fields['asked']))}`
        : `asks ${amount('asked')}, has ${amount('free')}`;
    case 'cant_hire':
      return 'can’t hire anyone';
    case 'self_hire':
      return 'can’t hire itself';
    case 'unknown_agent':
      return `${text('agent')} is not on its team`;
    case 'cycle':
      return `a cycle: ${namesOf(fields['way']).join(' → ')}`;
    case 'same_task':
      return `${text('agent')} has this task already`;
    case 'too_deep':
      return 'too many levels of hires';
    case 'no_heads':
      return `asks ${text('asked')} hires, has ${text('free')}`;
    case 'deadline':
      return 'not enough time';
    case 'powers':
      return `may not grant the power ${text('power')}`;
    case 'brief_too_long':
      return 'the brief is too long';
    case 'stays_open':
      return 'only a root can stay open';
    case 'unworkable':
      return 'nobody can work on this brief';
    case 'bad_amount':
      return 'the budget is not an amount';
    case 'bad_name':
      return 'the name is not valid';
    default:
      return name.replaceAll('_', ' ');
  }
}

function namesOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
