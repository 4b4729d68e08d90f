// Reads a transcript, as the server sends it, as turns that a person can read. Every field is untrusted: a line
// of an unknown form becomes a note and is never dropped silently.

export interface Call {
  readonly id: string;
  readonly name: string;
  /** The arguments: one line for each name. */
  readonly input: readonly (readonly [name: string, value: string])[];
  readonly result: string | null;
  readonly isError: boolean;
  /** The contract that this call hired. */
  readonly hired: string | null;
}

/** Who said what an agent was shown. */
export type Speaker = { readonly kind: 'owner' | 'runtime' } | { readonly kind: 'contract'; readonly path: string };

export type Turn = { readonly id: string; readonly at: string | null } & (
  | { readonly kind: 'task'; readonly text: string }
  | { readonly kind: 'reply'; readonly text: string; readonly calls: readonly Call[]; readonly model: string | null }
  | { readonly kind: 'shown'; readonly text: string; readonly from: Speaker | null }
  | { readonly kind: 'report'; readonly text: string; readonly summary: string }
  | { readonly kind: 'note'; readonly subtype: string; readonly text: string }
);

const TRANSCRIPT_LINES_MAX = 20_000;

type Json = Record<string, unknown>;
type Open = { -readonly [K in keyof Call]: Call[K] };

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const inside = (value: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>((part, name) => (isObject(part) ? part[name] : undefined), value);
const words = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** A value of an argument as text: strings as they are, the rest as JSON. */
function shown(value: unknown): string {
  if (typeof value === 'string') return value;
  return JSON.stringify(value, null, 1) ?? '';
}

function inputOf(value: unknown): [string, string][] {
  if (isObject(value)) return Object.entries(value).map(([name, part]) => [name, shown(part)]);
  return value === undefined ? [] : [['', shown(value)]];
}

/** The text of a `content` field: a string, or blocks. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((block) => words(inside(block, 'text')) ?? '')
    .filter((text) => text !== '')
    .join('\n\n');
}

const blocksOf = (line: Json): unknown[] => {
  const content = inside(line, 'message', 'content');
  if (Array.isArray(content)) return content;
  return typeof content === 'string' ? [{ type: 'text', text: content }] : [];
};

/** Facts that only repeat what the replies and results of a conversation show. */
function isPlumbing(line: Json): boolean {
  const ask = inside(line, 'stored', 'fact', 'asked', 'ask');
  return isObject(ask) && ('model' in ask || 'tool' in ask);
}

function speakerOf(fact: unknown): Speaker | null {
  if (inside(fact, 'nudged') !== undefined) return { kind: 'runtime' };
  const from = inside(fact, 'heard', 'from');
  if (inside(from, 'owner') !== undefined) return { kind: 'owner' };
  // An ask of a contract, such as `1.2#7`.
  const ask = words(inside(from, 'contract'));
  return ask === null ? null : { kind: 'contract', path: ask.replace(/#.*$/, '') };
}

/** Takes one value for each line; a line that was not JSON is a text. */
export function readTranscript(lines: readonly unknown[]): Turn[] {
  const turns: Turn[] = [];
  const open = new Map<string, Open>();
  /** The calls of each reply, by the id of its ask, in order: facts name a call by its place. */
  const replies = new Map<number, Open[]>();
  lines.slice(0, TRANSCRIPT_LINES_MAX).forEach((line, index) => {
    if (!isObject(line)) {
      turns.push({ kind: 'note', id: `line-${index}`, at: null, subtype: 'unreadable', text: shown(line).slice(0, 400) });
      return;
    }
    const id = words(line['uuid']) ?? `line-${index}`;
    const at = words(line['timestamp']);
    const fact = inside(line, 'stored', 'fact');
    if (line['type'] === 'assistant') {
      const blocks = blocksOf(line);
      const calls = blocks
        .filter((block) => inside(block, 'type') === 'tool_use')
        .map((block): Open => ({
          id: words(inside(block, 'id')) ?? '',
          name: words(inside(block, 'name')) ?? '?',
          input: inputOf(inside(block, 'input')),
          result: null,
          isError: false,
          hired: null,
        }));
      for (const call of calls) open.set(call.id, call);
      const ask = inside(fact, 'answered', 'id');
      if (typeof ask === 'number') replies.set(ask, calls);
      turns.push({ kind: 'reply', id, at, text: textOf(blocks), calls, model: words(inside(line, 'message', 'model')) });
      return;
    }
    if (line['type'] === 'user') {
      const isTask = isObject(fact) && 'opened' in fact;
      for (const block of blocksOf(line)) {
        const result = inside(block, 'type') === 'tool_result' ? textOf(inside(block, 'content')) : null;
        const call = result === null ? undefined : open.get(words(inside(block, 'tool_use_id')) ?? '');
        if (call && result !== null) {
          call.result = result;
          call.isError = inside(block, 'is_error') === true;
        } else {
          const said = result ?? textOf([block]);
          if (said === '') continue;
          const turn = { id: `${id}-${turns.length}`, at, text: said };
          turns.push(isTask ? { kind: 'task', ...turn } : { kind: 'shown', ...turn, from: speakerOf(fact) });
        }
      }
      return;
    }
    const content = words(line['content']) ?? '';
    const subtype = words(line['subtype']) ?? words(line['type']) ?? 'unknown';
    const hired = words(inside(fact, 'asked', 'ask', 'hire', 'brief', 'path'));
    const origin = inside(fact, 'asked', 'origin', 'call');
    if (hired !== null && isObject(origin)) {
      const call = replies.get(Number(origin['reply']))?.[Number(origin['index'])];
      if (call) {
        call.hired = hired;
        return;
      }
    }
    if (isPlumbing(line)) return;
    if (subtype === 'closed') {
      const text = inside(fact, 'closed', 'text');
      const final = words(inside(text, 'final', 'hash')) ?? words(inside(text, 'assembled', 'hash'));
      const last = [...turns].reverse().find((turn) => turn.kind === 'reply');
      const told = final === null ? null : words(inside(line['texts'], final));
      // The report is usually the last reply: it is not shown twice.
      const isRepeated = last?.kind === 'reply' && told !== null && last.text.trim() === told.trim();
      turns.push({ kind: 'report', id, at, summary: content, text: isRepeated ? '' : (told ?? '') });
      return;
    }
    const heard = Object.values(isObject(line['texts']) ? line['texts'] : {}).filter((part) => typeof part === 'string');
    turns.push({ kind: 'note', id, at, subtype, text: [content, ...heard].filter((part) => part !== '').join('\n') });
  });
  if (lines.length > TRANSCRIPT_LINES_MAX) {
    const left = lines.length - TRANSCRIPT_LINES_MAX;
    turns.push({ kind: 'note', id: 'cut', at: null, subtype: 'cut', text: `${left} more lines are not shown.` });
  }
  return turns;
}
