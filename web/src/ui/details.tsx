// One contract: its state, its money, its task, its transcript, and what its owner can do with it.
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Api } from '../api';
import { isolated } from '../log';
import { satDigits, sats } from '../money';
import type { Lack, TextRef } from '../wire';
import { LookBadge, ZONE_WORDS, ZoneGlyph } from './icons';
import { Folded } from './markdown_view';
import type { AgentView } from './model';
import { Parts } from './parts';
import { ProblemBox } from './problem';
import { useReloaded } from './reload';
import { readTranscript, type Call, type Speaker, type Turn } from './transcript';

export type Order = 'stop' | 'wrap_up' | 'message' | 'top_up';

interface Props {
  readonly api: Api;
  readonly session: string;
  readonly agent: AgentView | null;
  readonly agents: ReadonlyMap<string, AgentView>;
  /** How many facts there are at the cursor: later lines of a transcript are not shown. */
  readonly facts: number;
  /** Changes whenever the contract has new facts. */
  readonly version: number;
  /** Whether orders can be given: by an owner, while the newest state is shown. */
  readonly canOrder: boolean;
  readonly excerpt: (text: TextRef) => string | null;
  readonly onSelect: (id: string) => void;
  readonly onOrder: (order: Order, id: string) => void;
}

export function Details(props: Props) {
  const { agent, agents, onSelect } = props;
  if (agent === null) return <p class="empty">Choose an agent in the tree or in the hall to see its task, its money and its transcript.</p>;
  const hirer = agent.hirer === null ? null : (agents.get(agent.hirer) ?? null);
  return (
    <div class="details">
      <header class="details-head">
        <h2 class="details-name">
          <ZoneGlyph zone={agent.zone} size={16} />
          <span dir="auto">{agent.name}</span>
        </h2>
        <LookBadge look={agent.look} words={agent.status} />
      </header>
      <dl class="facts-list">
        {agent.agent !== agent.name && (
          <div>
            <dt>Agent</dt>
            <dd dir="auto">{agent.agent}</dd>
          </div>
        )}
        <div>
          <dt>Contract</dt>
          <dd>{agent.id}</dd>
        </div>
        {agent.zone !== null && (
          <div>
            <dt>Place</dt>
            <dd>{ZONE_WORDS[agent.zone]}</dd>
          </div>
        )}
        <div>
          <dt>Hired by</dt>
          <dd>
            {hirer === null ? (
              (agent.hirer ?? 'the owner of the session')
            ) : (
              <button type="button" class="link" onClick={() => onSelect(hirer.id)}>
                {hirer.name}
              </button>
            )}
          </dd>
        </div>
        {agent.waitsFor.length > 0 && (
          <div>
            <dt>Waits for</dt>
            <dd class="waits-list">
              {agent.waitsFor.slice(0, 12).map((what) =>
                what.contract === null ? (
                  <span>{what.words}</span>
                ) : (
                  <button type="button" class="link" onClick={() => onSelect(what.contract ?? '')}>
                    {what.words}
                  </button>
                ),
              )}
              {agent.waitsFor.length > 12 && <span>and {agent.waitsFor.length - 12} more</span>}
            </dd>
          </div>
        )}
        {agent.isFork && (
          <div>
            <dt>Context</dt>
            <dd>a copy of its hirer, with what that hirer knows</dd>
          </div>
        )}
      </dl>
      {agent.money !== null && <Purse money={agent.money} />}
      {agent.reason !== null && (
        <p class="reason">
          <strong>Refused: </strong>
          <span dir="auto">{agent.reason}</span>
        </p>
      )}
      {agent.contract === null && agent.look === 'waits' && <Waiting {...props} agent={agent} />}
      {agent.contract !== null && <Body {...props} agent={agent} contract={agent.contract} />}
    </div>
  );
}

function Purse({ money }: { money: NonNullable<AgentView['money']> }) {
  return (
    <section class="purse" aria-label="Money">
      <p>
        <b>{satDigits(money.spent)}</b> of {sats(money.granted)} spent
      </p>
      <Parts
        whole={money.granted}
        parts={[
          { name: 'spent', value: money.spent },
          { name: 'held', value: money.held },
        ]}
      />
      <p class="quiet-text small-text">
        {sats(money.held)} held for calls and hires, {sats(money.available)} free
      </p>
    </section>
  );
}

/** A hire that waits for money: it has no contract that could be told anything yet. */
function Waiting({ agent, canOrder, onOrder }: Props & { readonly agent: AgentView }) {
  return (
    <>
      <p>This hire begins when other work returns enough money, or when its hirer gets more.</p>
      {canOrder && (
        <div class="orders" role="group" aria-label={`Orders for ${isolated(agent.name)}`}>
          <button type="button" class="small danger" onClick={() => onOrder('stop', agent.id)}>
            Stop
          </button>
        </div>
      )}
    </>
  );
}

const LACK_WORDS: Readonly<Record<Lack, string>> = {
  acceptance: 'A check of this report failed.',
  hire: 'It hired nobody, although its file requires a hire.',
  promised_hire: 'The report promises a hire that was not made.',
  no_hire: 'It has a team of its own, but hired nobody.',
};

type BodyProps = Props & { readonly agent: AgentView; readonly contract: NonNullable<AgentView['contract']> };

function Body({ api, session, agent, agents, contract, facts, version, canOrder, excerpt, onSelect, onOrder }: BodyProps) {
  return (
    <>
      {canOrder && agent.isLive && (
        <div class="orders" role="group" aria-label={`Orders for ${isolated(agent.name)}`}>
          <button type="button" class="small" onClick={() => onOrder('message', agent.id)}>
            Message
          </button>
          <button type="button" class="small" onClick={() => onOrder('top_up', agent.id)}>
            Top up
          </button>
          <button type="button" class="small" onClick={() => onOrder('wrap_up', agent.id)}>
            Wrap up
          </button>
          <button type="button" class="small danger" onClick={() => onOrder('stop', agent.id)}>
            Stop
          </button>
        </div>
      )}
      <section aria-label="Task">
        <h3>Task</h3>
        <TextOf key={contract.task.hash} api={api} session={session} text={contract.task} excerpt={excerpt(contract.task)} />
      </section>
      {contract.report !== null && (
        <section aria-label="Report">
          <h3>{contract.state === 'cancelled' ? 'What it had when it was cancelled' : 'Report'}</h3>
          {contract.report.lack !== null && <p class="small-text look-ran_dry">{LACK_WORDS[contract.report.lack]}</p>}
          {contract.report.cut && <p class="small-text look-ran_dry">This text is cut: the agent could not finish it.</p>}
          <TextOf key={contract.report.text.hash} api={api} session={session} text={contract.report.text} excerpt={excerpt(contract.report.text)} />
        </section>
      )}
      <section aria-label="Transcript">
        <h3>Transcript</h3>
        <TranscriptView api={api} session={session} contract={agent.id} facts={facts} version={version} nameOf={(id) => agents.get(id)?.name ?? id} onSelect={onSelect} />
      </section>
    </>
  );
}

const texts = new Map<string, string>();
const TEXTS_MAX = 300;

/** As many characters of a text come with its fact. A longer text is cut there, and `…` follows. */
const EXCERPT_CHARS_MAX = 280;

export function isWholeText(excerpt: string, bytes: number): boolean {
  return [...excerpt].length <= EXCERPT_CHARS_MAX && new TextEncoder().encode(excerpt).length === bytes;
}

/** A whole text: the beginning that came with the fact at once, the rest from the server. */
export function TextOf({ api, session, text, excerpt }: { api: Api; session: string; text: TextRef; excerpt: string | null }) {
  // A text that is stored under a hash never changes.
  const key = `${session} ${text.hash}`;
  const known = excerpt !== null && isWholeText(excerpt, text.bytes) ? excerpt : (texts.get(key) ?? null);
  const load = async (): Promise<string> => {
    const whole = await api.text(session, text.hash);
    if (texts.size >= TEXTS_MAX) texts.clear();
    texts.set(key, whole);
    return whole;
  };
  const { value, problem, retry } = useReloaded(key, 0, 0, known === null ? load : null);
  const shown = known ?? value ?? excerpt;
  return (
    <>
      {shown !== null && (shown.trim() === '' ? <p class="quiet-text">The text is empty.</p> : <Folded text={shown} />)}
      {shown === null && problem === null && <p class="quiet-text">Loading…</p>}
      {problem !== null && <ProblemBox problem={problem} onRetry={retry} />}
    </>
  );
}

const REFRESH_MS = 700;

function isBefore(line: unknown, facts: number): boolean {
  const stored = typeof line === 'object' && line !== null && 'stored' in line ? line.stored : null;
  const seq = typeof stored === 'object' && stored !== null && 'seq' in stored ? stored.seq : null;
  return typeof seq !== 'number' || seq <= facts;
}

const TURNS_STEP = 60;

interface TranscriptProps {
  readonly api: Api;
  readonly session: string;
  readonly contract: string;
  readonly facts: number;
  readonly version: number;
  readonly nameOf: (id: string) => string;
  readonly onSelect: (id: string) => void;
}

function TranscriptView({ api, session, contract, facts, version, nameOf, onSelect }: TranscriptProps) {
  const { value: lines, problem, retry } = useReloaded(contract, version, REFRESH_MS, () => api.transcript(session, contract));
  const turns = useMemo(() => (lines === null ? [] : readTranscript(lines.filter((line) => isBefore(line, facts)))), [lines, facts]);
  const [shown, setShown] = useState(TURNS_STEP);
  useEffect(() => setShown(TURNS_STEP), [contract]);
  return (
    <>
      {problem !== null && <ProblemBox problem={problem} onRetry={retry} />}
      {lines === null && problem === null && <p class="quiet-text">Loading…</p>}
      {lines !== null && turns.length === 0 && <p class="quiet-text">Nothing has been said yet.</p>}
      <ol class="turns">
        {turns.slice(0, shown).map((turn) => (
          <li key={turn.id} class={`turn turn-${turn.kind}`}>
            <TurnView turn={turn} nameOf={nameOf} onSelect={onSelect} />
          </li>
        ))}
      </ol>
      {turns.length > shown && (
        <button type="button" onClick={() => setShown(shown + TURNS_STEP)}>
          Show {Math.min(TURNS_STEP, turns.length - shown)} more of {turns.length - shown}
        </button>
      )}
    </>
  );
}

const NOTE_WORDS: Readonly<Record<string, string>> = {
  heard: 'Told',
  refused: 'Refused',
  nudged: 'Reminded',
  waiting: 'Waits',
  woke: 'Goes on',
  raised: 'More money for a hire',
  compacted: 'Shortened',
  closing: 'Ends',
  asked: 'Asked',
  answered: 'Answered',
  unreadable: 'A line that can’t be read',
  cut: 'Cut',
};

function shownWords(from: Speaker | null, nameOf: (id: string) => string): string {
  switch (from?.kind) {
    case 'owner':
      return 'Message from the owner';
    case 'contract':
      return `Message from ${isolated(nameOf(from.path))}`;
    case 'runtime':
      return 'Reminder from the runtime';
    case undefined:
      return 'Was shown';
  }
}

function TurnView({ turn, nameOf, onSelect }: { turn: Turn; nameOf: (id: string) => string; onSelect: (id: string) => void }) {
  switch (turn.kind) {
    case 'task':
      return (
        <>
          <p class="turn-who">Was asked</p>
          <Folded text={turn.text} />
        </>
      );
    case 'shown':
      return (
        <>
          <p class="turn-who">{shownWords(turn.from, nameOf)}</p>
          <Folded text={turn.text} />
        </>
      );
    case 'reply':
      return (
        <>
          <p class="turn-who">
            Replied{turn.model !== null && <span class="quiet-text"> · {turn.model}</span>}
          </p>
          {turn.text.trim() !== '' && <Folded text={turn.text} />}
          {turn.calls.map((call) => (
            <CallView call={call} nameOf={nameOf} onSelect={onSelect} />
          ))}
          {turn.text.trim() === '' && turn.calls.length === 0 && <p class="quiet-text">The reply is empty.</p>}
        </>
      );
    case 'report':
      return (
        <>
          <p class="turn-who">Reported</p>
          <p>{turn.summary}</p>
          {turn.text.trim() !== '' && <Folded text={turn.text} />}
        </>
      );
    case 'note':
      return (
        <>
          <p class="turn-who">{NOTE_WORDS[turn.subtype] ?? `Fact of a new kind: ${turn.subtype}`}</p>
          <Folded text={turn.text} plain />
        </>
      );
  }
}

function CallView({ call, nameOf, onSelect }: { call: Call; nameOf: (id: string) => string; onSelect: (id: string) => void }) {
  const [first] = call.input;
  const hint = first === undefined ? '' : first[1].replace(/\s+/g, ' ').slice(0, 90);
  return (
    <details class="call">
      <summary>
        <span class="call-name">{call.hired === null ? call.name : `hired ${isolated(nameOf(call.hired))}`}</span>
        <span class="call-hint" dir="auto">
          {hint}
        </span>
        {call.isError && <span class="look-failed">failed</span>}
        {call.result === null && <span class="quiet-text">no result yet</span>}
      </summary>
      <div class="call-body">
        {call.hired !== null && (
          <button type="button" class="small" onClick={() => onSelect(call.hired ?? '')}>
            Go to contract {call.hired}
          </button>
        )}
        {call.input.map(([name, value]) => (
          <div>
            {name !== '' && <p class="field-label">{name}</p>}
            <Folded text={value} plain />
          </div>
        ))}
        {call.result !== null && (
          <div>
            <p class="field-label">{call.isError ? 'Error' : 'Result'}</p>
            {call.result.trim() === '' ? <p class="quiet-text">The result is empty.</p> : <Folded text={call.result} plain />}
          </div>
        )}
      </div>
    </details>
  );
}
