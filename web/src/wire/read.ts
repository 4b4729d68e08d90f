// Reads the events of the stream. Serde writes a variant as `"name"` or `{"name": value}`; here it becomes a union with a
// `kind`. Nothing is guessed: a fact with a part that is not understood is `unknown` as a whole.

import type {
  AccountFact,
  Answer,
  Ask,
  Brief,
  CastMember,
  Cost,
  Fact,
  HallEvent,
  Limit,
  Origin,
  Outcome,
  Refusal,
  Report,
  Stimulus,
  TextRef,
  UnknownFact,
} from '../wire';
import { parseJson } from './text';

type Fields = Readonly<Record<string, unknown>>;

/** A part of an event that this page does not understand. */
class NotUnderstood extends Error {}

function fail(what: string): never {
  throw new NotUnderstood(what);
}

function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : fail('an object');
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : fail('a list');
}

function string(value: unknown): string {
  return typeof value === 'string' ? value : fail('a text');
}

/** A whole number that is not negative. Above 2^53 it is not exact, and the fold says so. */
function number(value: unknown): number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : fail('a whole number');
}

function optional<T>(value: unknown, read: (value: unknown) => T): T | null {
  return value === null || value === undefined ? null : read(value);
}

/** A path has one spelling: numbers from 1, joined by dots. */
function path(value: unknown): string {
  const text = string(value);
  return /^[1-9]\d{0,9}(\.[1-9]\d{0,9}){0,64}$/.test(text) ? text : fail('the path of a contract');
}

/** The name and the value of a variant. */
function variant(value: unknown): [string, unknown] {
  if (typeof value === 'string') return [value, undefined];
  const entries = Object.entries(fields(value));
  const [only] = entries;
  return entries.length === 1 && only !== undefined ? only : fail('one variant');
}

function oneOf<T extends string>(value: unknown, ...names: readonly T[]): T {
  return names.find((name) => name === value) ?? fail(`one of ${names.join(', ')}`);
}

function text(value: unknown): TextRef {
  const ref = fields(value);
  return { hash: string(ref['hash']), bytes: number(ref['bytes']), kind: string(ref['kind']) };
}

function outcome(value: unknown): Outcome {
  if (typeof value === 'string') return oneOf(value, 'done', 'failed', 'cancelled');
  const [name, limit] = variant(value);
  if (name !== 'exhausted') fail('an outcome');
  return { exhausted: oneOf<Limit>(limit, 'purse', 'turns', 'deadline', 'asked', 'length') };
}

function context(value: unknown): Brief['context'] {
  const [name, of] = variant(value);
  if (name === 'after') return { after: path(fields(of)['root']) };
  return oneOf(name, 'fresh', 'fork');
}

function brief(value: unknown): Brief {
  const of = fields(value);
  const grant = fields(of['grant']);
  return {
    path: path(of['path']),
    agent: string(of['agent']),
    standing: string(of['standing']),
    label: optional(of['label'], text),
    task: text(of['task']),
    terms: list(of['terms']).map(text),
    grant: {
      money: number(grant['money']),
      heads: number(grant['heads']),
      depth: number(grant['depth']),
      deadline: optional(grant['deadline'], number),
    },
    fee: number(of['fee']),
    severance: number(of['severance']),
    context: context(of['context']),
    closeWhen: oneOf(of['close_when'], 'final_text', 'asked'),
  };
}

function report(value: unknown): Report {
  const of = fields(value);
  const [wording, words] = variant(of['text']);
  oneOf(wording, 'final', 'assembled');
  return {
    outcome: outcome(of['outcome']),
    text: text(words),
    output: optional(of['output'], text),
    accepted: oneOf(of['acceptance'], 'accepted', 'not_accepted') === 'accepted',
    cut: of['cut'] === true,
    undone: optional(of['undone'], (what) => oneOf(what, 'required_hire', 'promised_hire', 'unclear', 'no_hire')),
    spent: number(of['spent']),
    change: number(of['change']),
    fee: number(of['fee']),
    heads: number(of['heads']),
  };
}

function stimulus(value: unknown): Stimulus {
  const [name, of] = variant(value);
  switch (name) {
    case 'message':
    case 'question':
      return { kind: name, text: text(of) };
    case 'top_up':
      return { kind: name, to: path(fields(of)['to']), money: number(fields(of)['money']) };
    case 'hire':
      return { kind: name, agent: string(fields(of)['agent']), task: text(fields(of)['task']) };
    case 'draw':
      return { kind: name, least: number(fields(of)['least']) };
    case 'wrap_up':
    case 'cancel':
    case 'refuse_draw':
    case 'drop_hire':
    case 'out_of_tokens':
      return { kind: name };
    default:
      return fail('a stimulus');
  }
}

function ask(value: unknown): Ask {
  const [name, inner] = variant(value);
  const of = fields(inner);
  switch (name) {
    case 'model':
      return { kind: name, turn: oneOf(of['turn'], 'next', 'last') };
    case 'tool':
      return { kind: name, tool: string(of['tool']), arguments: text(of['arguments']) };
    case 'hire':
      return { kind: name, brief: brief(of['brief']), mode: string(of['mode']) };
    case 'check':
      return { kind: name, what: text(of['what']) };
    case 'question': {
      const [matter, about] = variant(of['matter']);
      const words = matter === 'text' ? text(about) : null;
      const tool = matter === 'approval' ? string(fields(about)['tool']) : null;
      if (words === null && tool === null) fail('the matter of a question');
      return { kind: name, to: oneOf(of['to'], 'hirer', 'owner'), text: words, tool };
    }
    case 'draw':
      return { kind: name, least: number(of['least']) };
    case 'tell':
      return { kind: name, to: path(of['to']), what: stimulus(of['what']) };
    default:
      return fail('an ask');
  }
}

function answer(value: unknown): Answer {
  const [name, of] = variant(value);
  switch (name) {
    case 'said': {
      const said = fields(of);
      const words = optional(said['words'], text);
      return { kind: name, reply: text(said['reply']), words, calls: number(said['calls']) };
    }
    case 'report':
      return { kind: name, report: report(of) };
    case 'text':
    case 'result':
    case 'failed_check':
    case 'failed':
      return { kind: name, text: text(of) };
    default:
      return { kind: oneOf(name, 'passed', 'approved', 'denied', 'no_reply', 'met', 'not_met', 'delivered', 'gone', 'lost', 'aborted') };
  }
}

function cost(value: unknown): Cost {
  const [name, money] = variant(value);
  return name === 'unknown' ? { kind: name } : { kind: oneOf(name, 'known', 'estimated'), money: number(money) };
}

/** The wording of a refusal may be new: only people read it. */
function refusal(value: unknown): Refusal {
  const [name, of] = variant(value);
  return { name, fields: typeof of === 'object' && of !== null ? (of as Fields) : { value: of } };
}

function origin(value: unknown): Origin {
  const [name] = variant(value);
  const known: readonly Origin[] = ['course', 'call', 'cascade', 'outside'];
  return known.find((origin) => origin === name) ?? 'unknown';
}

function knownFact(name: string, inner: unknown): Fact {
  if (name === 'nudged') return { kind: name, nudge: string(inner) };
  if (name === 'closing') return { kind: name, outcome: outcome(inner) };
  const of = fields(inner);
  switch (name) {
    case 'opened':
      return { kind: name, brief: brief(of) };
    case 'asked': {
      const hold = fields(of['hold']);
      const held = { money: number(hold['money']), heads: number(hold['heads']) };
      return { kind: name, id: number(of['id']), ask: ask(of['ask']), hold: held, origin: origin(of['origin']) };
    }
    case 'answered':
      return { kind: name, id: number(of['id']), answer: answer(of['answer']), cost: cost(of['cost']) };
    case 'queued': {
      const offer = fields(of['offer']);
      const [inherits] = variant(offer['inherit']);
      const label = optional(offer['label'], text);
      const named = { agent: string(offer['agent']), label, task: text(offer['task']) };
      return { kind: name, ordinal: number(of['ordinal']), inherits: inherits === 'fork', ...named };
    }
    case 'refused': {
      const ordinal = optional(of['ordinal'], number);
      return { kind: name, why: refusal(of['why']), agent: optional(of['agent'], string), ordinal };
    }
    case 'raised':
      return { kind: name, hire: number(of['hire']), by: number(of['by']) };
    case 'heard': {
      const [from] = variant(of['from']);
      return { kind: name, from: oneOf(from, 'owner', 'contract'), stimulus: stimulus(of['stimulus']) };
    }
    case 'waiting': {
      const until = optional(of['until'], number);
      return { kind: name, on: list(of['on']).map(number), need: string(of['need']), until };
    }
    case 'woke':
      return { kind: name, why: string(of['why']) };
    case 'compacted':
      return { kind: name };
    case 'closed':
      return { kind: name, report: report(of) };
    default:
      return fail('a fact');
  }
}

function knownAccountFact(name: string, inner: unknown): AccountFact {
  const of = fields(inner);
  switch (name) {
    case 'opened':
      return { kind: name };
    case 'funded':
      return { kind: name, money: number(of['money']), root: optional(of['root'], path), payment: optional(of['payment'], string) };
    case 'granted':
    case 'requested':
      return { kind: name, root: path(of['root']), money: number(of['money']) };
    case 'withdrawing':
      return { kind: name, payment: string(of['payment']), money: number(of['money']) };
    case 'withdrawn':
      return { kind: name, payment: string(of['payment']), spent: number(of['spent']) };
    case 'returned':
      return { kind: name, money: number(of['money']) };
    case 'corrected':
      return { kind: name, ask: string(of['ask']), credit: number(of['credit']) };
    case 'ended':
      return { kind: name, root: path(of['root']), spent: number(of['spent']) };
    default:
      return fail('a fact of the account');
  }
}

/** Reads a fact, or keeps it as it came. */
function readFact<T>(value: unknown, read: (name: string, inner: unknown) => T): T | UnknownFact {
  try {
    return read(...variant(value));
  } catch (why) {
    if (!(why instanceof NotUnderstood)) throw why;
    const name = typeof value === 'object' && value !== null ? Object.keys(value)[0] : value;
    return { kind: 'unknown', name: typeof name === 'string' ? name : 'fact', value };
  }
}

function cast(value: unknown): CastMember {
  const of = fields(value);
  return {
    name: string(of['name']),
    description: string(of['description']),
    specialties: list(of['specialties']).map(string),
    model: optional(of['model'], string),
  };
}

function texts(value: unknown): Record<string, string> {
  const found: Record<string, string> = {};
  if (value === undefined) return found;
  for (const [hash, excerpt] of Object.entries(fields(value))) found[hash] = string(excerpt);
  return found;
}

/** The form of stored facts that this page reads. */
const FORM = 4;

function storedFact(id: string, data: Fields): HallEvent {
  const isKnown = number(data['v']) === FORM;
  const fact = readFact(data['fact'], isKnown ? knownFact : () => fail('a fact of another form'));
  return { kind: 'fact', id, contract: path(data['contract']), at: number(data['at']), fact, texts: texts(data['texts']) };
}

/**
 * Reads an event of the stream. `null` for a kind of event without an id that this page does not know, which has no
 * lasting effect. Throws if the frame itself is broken.
 */
export function readEvent(name: string, id: string | null, data: string): HallEvent | null {
  const value = fields(parseJson(data));
  switch (name) {
    case 'cast':
      return { kind: 'cast', session: string(value['session']), agents: list(value['agents']).map(cast) };
    case 'activity': {
      const does = string(value['does']);
      return { kind: 'activity', contract: path(value['contract']), ask: number(value['ask']), does };
    }
    case 'fact':
      return storedFact(id ?? fail('an id'), value);
    case 'account': {
      const fact = readFact(value['fact'], knownAccountFact);
      return { kind: 'account', id: id ?? fail('an id'), at: number(value['at']), fact };
    }
    default:
      return id === null ? null : { kind: 'other', id, at: null, fact: { kind: 'unknown', name, value } };
  }
}
