// How a request ends: the answer, the reports that it rests on, and the bill.
import type { Api } from '../api';
import { isolated } from '../log';
import { satDigits, sats } from '../money';
import type { Ledger, RequestView, SessionView, TextRef } from '../wire';
import { TextOf } from './details';
import { LookBadge, LOOK_WORDS, ZoneGlyph } from './icons';
import type { Look } from '../looks';
import { Bill } from './ledger';
import type { AgentView } from './model';

interface Props {
  readonly api: Api;
  readonly session: string;
  readonly view: SessionView;
  readonly agents: readonly AgentView[];
  readonly ledger: Ledger | null;
  readonly excerpt: (text: TextRef) => string | null;
  readonly nameOf: (id: string) => string;
  readonly onSelect: (id: string) => void;
}

export function AnswerView(props: Props) {
  const requests = [...props.view.requests].reverse();
  if (requests.length === 0) return <p class="empty">Nothing has been asked yet.</p>;
  return (
    <div class="answer">
      {requests.map((request, index) => (
        <RequestAnswer {...props} request={request} key={request.root} isNewest={index === 0} />
      ))}
    </div>
  );
}

function isLook(word: string): word is Look {
  return Object.hasOwn(LOOK_WORDS, word);
}

function RequestAnswer({ api, session, view, agents, ledger, excerpt, nameOf, onSelect, request, isNewest }: Props & { request: RequestView; isNewest: boolean }) {
  const root = agents.find((agent) => agent.id === request.root) ?? null;
  const report = root?.contract?.report ?? null;
  const text: TextRef | null = request.answer === null ? (report?.text ?? null) : { ...request.answer, kind: 'words' };
  const reports = agents.filter((agent) => agent.hirer === request.root && agent.contract?.report);
  const lines = ledger?.bill.filter((line) => line.contract === request.root || line.contract.startsWith(`${request.root}.`)) ?? [];
  // The state of the session may be older than the bill.
  const spent = lines.find((line) => line.contract === request.root)?.all_msat ?? request.spent_msat;
  const task = request.task?.excerpt ?? null;
  return (
    <article class="details-head">
      <section aria-label="Answer">
        <p class="eyebrow">{isNewest ? 'Answer' : `Request ${request.root}`}</p>
        {task !== null && <h2 dir="auto">{task}</h2>}
        <p>{isLook(request.state) ? <LookBadge look={request.state} {...(root !== null && !root.isLive && request.state === root.look ? { words: root.status } : {})} /> : <span class="quiet-text">{request.state}</span>}</p>
        {text === null ? (
          <p class="quiet-text">{root === null || root.isLive ? 'The team is at work. Its answer will be here.' : 'This request ended without an answer.'}</p>
        ) : (
          <div class="report-box">
            <TextOf key={text.hash} api={api} session={session} text={text} excerpt={request.answer?.excerpt ?? excerpt(text)} />
          </div>
        )}
      </section>
      {reports.length > 0 && (
        <section aria-label="Evidence">
          <h3>Evidence</h3>
          <p class="hint">The reports that {root === null ? 'the first agent' : isolated(root.name)} was given.</p>
          {reports.map((agent) => (
            <details class="evidence" key={agent.id}>
              <summary>
                <ZoneGlyph zone={agent.zone} />
                <span class="name" dir="auto">
                  {agent.name}
                </span>
                <LookBadge look={agent.look} />
                <span class="tree-money">{sats(agent.spent)}</span>
              </summary>
              <div>
                {agent.contract?.report && <TextOf key={agent.contract.report.text.hash} api={api} session={session} text={agent.contract.report.text} excerpt={excerpt(agent.contract.report.text)} />}
                <button type="button" class="small" onClick={() => onSelect(agent.id)}>
                  Show {isolated(agent.name)}
                </button>
              </div>
            </details>
          ))}
        </section>
      )}
      <section aria-label="Bill of this request">
        <h3>Bill</h3>
        <p class="bill-sum">
          <b>{satDigits(spent)}</b> of {sats(request.granted_msat)} spent {view.money === 'play' && <span class="play">play money</span>}
        </p>
        {lines.length > 0 && <Bill lines={lines} nameOf={nameOf} onSelect={onSelect} />}
      </section>
    </article>
  );
}
