// One contract: its state, its money, its task, its transcript, and what its owner can do with it.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Api, Problem } from '../api';
import { satDigits, sats } from '../money';
import type { TextRef } from '../wire';
import { LookBadge, ZONE_WORDS, ZoneGlyph } from './icons';
import { Folded } from './markdown_view';
import type { AgentView } from './model';
import { Parts } from './parts';
import { asProblem, ProblemBox } from './problem';
import { readTranscript, type Call, type Turn } from './transcript';

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
              'you'
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

type BodyProps = Props & { readonly agent: AgentView; readonly contract: NonNullable<AgentView['contract']> };

function Body({ api, session, agent, contract, facts, version, canOrder, excerpt, onSelect, onOrder }: BodyProps) {
  return (
    <>
      {canOrder && agent.isLive && (
        <div class="orders" role="group" aria-label={`Orders for ${agent.name}`}>
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
        <TextOf api={api} session={session} text={contract.task} excerpt={excerpt(contract.task)} />
      </section>
      {contract.report !== null && (
        <section aria-label="Report">
          <h3>{contract.state === 'cancelled' ? 'What it had when it was stopped' : 'Report'}</h3>
          {!contract.report.accepted && contract.state === 'done' && <p class="small-text look-ran_dry">A check of this report failed.</p>}
          <TextOf api={api} session={session} text={contract.report.text} excerpt={excerpt(contract.report.text)} />
        </section>
      )}
      <section aria-label="Transcript">
        <h3>Transcript</h3>
        <TranscriptView api={api} session={session} contract={agent.id} facts={facts} version={version} onSelect={onSelect} />
      </section>
    </>
  );
}

const texts = new Map<string, string>();
const TEXTS_MAX = 300;

/** A whole text: the beginning that came with the fact at once, the rest from the server. */
export function TextOf({ api, session, text, excerpt }: { api: Api; session: string; text: TextRef; excerpt: string | null }) {
  // A text that is stored under a hash never changes.
  const key = `${session} ${text.hash}`;
  const isWhole = excerpt !== null && new TextEncoder().encode(excerpt).length === text.bytes;
  const [words, setWords] = useState<string | null>(() => texts.get(key) ?? null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [tries, setTries] = useState(0);
  useEffect(() => {
    const known = isWhole ? excerpt : texts.get(key);
    setProblem(null);
    setWords(known ?? null);
    if (known !== undefined) return;
    let isGone = false;
    api.text(session, text.hash).then(
      (whole) => {
        if (texts.size >= TEXTS_MAX) texts.clear();
        texts.set(key, whole);
        if (!isGone) setWords(whole);
      },
      (error: unknown) => {
        if (!isGone) setProblem(asProblem(error));
      },
    );
    return () => {
      isGone = true;
    };
  }, [api, key, isWhole, tries]);
  const shown = words ?? excerpt;
  return (
    <>
      {shown !== null && (shown.trim() === '' ? <p class="quiet-text">The text is empty.</p> : <Folded text={shown} />)}
      {shown === null && problem === null && <p class="quiet-text">Loading…</p>}
      {problem !== null && <ProblemBox problem={problem} onRetry={() => setTries(tries + 1)} />}
    </>
  );
}

const REFRESH_MS = 700;

function useTranscript(api: Api, session: string, contract: string, version: number) {
  const [state, setState] = useState<{ contract: string; lines: readonly unknown[] | null; problem: Problem | null }>({ contract, lines: null, problem: null });
  const last = useRef(0);
  const [tries, setTries] = useState(0);
  useEffect(() => {
    let isGone = false;
    const isOther = state.contract !== contract;
    if (isOther) setState({ contract, lines: null, problem: null });
    // Facts may come in bursts: at most one request in each pause.
    const pause = isOther ? 0 : Math.max(0, last.current + REFRESH_MS - performance.now());
    const timer = setTimeout(() => {
      last.current = performance.now();
      api.transcript(session, contract).then(
        (lines) => {
          if (!isGone) setState({ contract, lines, problem: null });
        },
        (error: unknown) => {
          if (!isGone) setState((before) => ({ ...before, problem: asProblem(error) }));
        },
      );
    }, pause);
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, [api, session, contract, version, tries]);
  return { ...state, retry: () => setTries(tries + 1) };
}

function isBefore(line: unknown, facts: number): boolean {
  const stored = typeof line === 'object' && line !== null && 'stored' in line ? line.stored : null;
  const seq = typeof stored === 'object' && stored !== null && 'seq' in stored ? stored.seq : null;
  return typeof seq !== 'number' || seq <= facts;
}

const TURNS_STEP = 60;

function TranscriptView({ api, session, contract, facts, version, onSelect }: { api: Api; session: string; contract: string; facts: number; version: number; onSelect: (id: string) => void }) {
  const { lines, problem, retry } = useTranscript(api, session, contract, version);
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
            <TurnView turn={turn} onSelect={onSelect} />
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

function TurnView({ turn, onSelect }: { turn: Turn; onSelect: (id: string) => void }) {
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
          <p class="turn-who">Was shown</p>
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
            <CallView call={call} onSelect={onSelect} />
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

function CallView({ call, onSelect }: { call: Call; onSelect: (id: string) => void }) {
  const [first] = call.input;
  const hint = first === undefined ? '' : first[1].replace(/\s+/g, ' ').slice(0, 90);
  return (
    <details class="call">
      <summary>
        <span class="call-name">{call.hired === null ? call.name : `hired ${call.hired}`}</span>
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
