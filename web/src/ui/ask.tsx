// Ask the hall: choose a team, write a question, set a budget.
import { useRef, useState } from 'preact/hooks';
import { Api, newKey } from '../api';
import { readSats, satsUp } from '../money';
import type { Offer, SessionMade } from '../wire';
import { Backdrop } from './backdrop';
import { Bar } from './bar';
import { useShared } from './context';
import { Field } from './parts';
import { keyedApi, ProblemBox, useAction } from './problem';
import { sessionHash } from './route';
import { payAndAsk, useOffers } from './start';

/** The server takes no longer task. */
const TASK_BYTES_MAX = 64 * 1024;

/** Reads a question that a person typed. A text that can't be asked gives the reason. */
export function readTask(typed: string): { readonly task: string } | { readonly wrong: string } {
  const task = typed.trim();
  if (task === '') return { wrong: 'Write a question.' };
  if (new TextEncoder().encode(task).length > TASK_BYTES_MAX) return { wrong: 'The question is too long: at most 64 KiB.' };
  return { task };
}

export function costWords(offer: Offer): string {
  const { cost } = offer;
  if (cost === null) return 'No request has been paid here yet.';
  if (cost.requests === 1) return `One request so far: it cost ${satsUp(cost.median_msat)} sat.`;
  return `${cost.requests} requests so far: half cost up to ${satsUp(cost.median_msat)} sat, 9 of 10 up to ${satsUp(cost.percentile_90_msat)} sat`;
}

function OfferCard({ offer, isChosen, onChoose }: { offer: Offer; isChosen: boolean; onChoose: () => void }) {
  return (
    <label class="offer">
      <input type="radio" name="offer" checked={isChosen} onChange={onChoose} />
      <span class="head">
        <span class="name" dir="auto">
          {offer.team}
        </span>
        {offer.money === 'play' ? <span class="play">play money</span> : <span class="play">real money</span>}
        {offer.needs_operator && <span class="quiet-text small-text">operator only</span>}
      </span>
      <span dir="auto">{offer.description}</span>
      <span class="facts">
        <span>
          {offer.agents.length} {offer.agents.length === 1 ? 'agent' : 'agents'}
        </span>
        <span>
          {offer.models.length === 1 ? 'model' : 'models'} {offer.models.join(', ')}
        </span>
        <span>{costWords(offer)}</span>
      </span>
    </label>
  );
}

export function Ask() {
  const { vault, go } = useShared();
  const { offers, problem, load } = useOffers();
  const [team, setTeam] = useState<string | null>(null);
  const [task, setTask] = useState('');
  const [typed, setTyped] = useState<string | null>(null);
  const [operator, setOperator] = useState(() => vault.operator() ?? '');
  const [wrong, setWrong] = useState<{ task?: string; amount?: string; operator?: string }>({});
  const action = useAction();
  const made = useRef<SessionMade | null>(null);
  const offer = offers?.find((known) => known.team === team) ?? offers?.[0] ?? null;
  const amount = typed ?? String(offer?.budget_sats ?? '');

  const change = () => {
    made.current = null;
    action.reset();
    setWrong({});
  };

  const ask = () => {
    if (offer === null) return;
    const asked = readTask(task);
    const read = readSats(amount);
    const found: typeof wrong = {};
    if ('wrong' in asked) found.task = asked.wrong;
    if ('wrong' in read) found.amount = read.wrong;
    if (offer.needs_operator && operator.trim() === '') found.operator = 'This team needs the operator’s token.';
    setWrong(found);
    if (Object.keys(found).length > 0 || 'wrong' in asked || 'wrong' in read) return;
    const [words, budget] = [asked.task, read.sats];
    action.run(async (key) => {
      const secret = offer.needs_operator ? operator.trim() : null;
      if (secret !== null) vault.setOperator(secret);
      const session = (made.current ??= await new Api({ token: secret }).makeSession(offer.team, budget));
      vault.remember(session.session, {
        token: session.owner_token,
        role: 'owner',
        team: offer.team,
        money: session.money,
        task: words,
        needsOperator: offer.needs_operator,
        isUnseen: true,
        pending: session.money === 'real' ? { task: words, budgetSats: budget, key: newKey() } : null,
      });
      if (session.money === 'play') await payAndAsk(keyedApi(secret ?? session.owner_token, key), made, words, budget);
      go(sessionHash(session.session));
    });
  };

  return (
    <div class="ask">
      <Backdrop />
      <Bar />
      <main class="ask-form">
        <h1>Ask the hall</h1>
        {problem !== null && <ProblemBox problem={problem} onRetry={load} />}
        {offers === null && problem === null && <p class="quiet-text">Loading the teams…</p>}
        {offers !== null && offers.length === 0 && <p>This server offers no team. Its operator can add one to the config file.</p>}
        {offer !== null && offers !== null && (
          <form
            class="card"
            noValidate
            onSubmit={(event) => {
              event.preventDefault();
              ask();
            }}
          >
            <fieldset class="field">
              <legend class="field-label">Team</legend>
              <div class="offers">
                {offers.map((known) => (
                  <OfferCard
                    offer={known}
                    isChosen={known.team === offer.team}
                    onChoose={() => {
                      setTeam(known.team);
                      setTyped(null);
                      change();
                    }}
                  />
                ))}
              </div>
            </fieldset>
            {offer.needs_operator && (
              <div class="field">
                <Field
                  id="operator"
                  label="Operator’s token"
                  hint={
                    <>
                      {wrong.operator !== undefined && <WrongWords words={wrong.operator} />}
                      This team uses a model that somebody pays for, while the session is in play money. Only the operator of this server may use it. The token is in the file
                      that guildhall serve prints. It stays in this tab.
                    </>
                  }
                >
                  <input
                    id="operator"
                    type="password"
                    autocomplete="off"
                    value={operator}
                    aria-describedby="operator-hint"
                    aria-invalid={wrong.operator !== undefined}
                    onInput={(event) => {
                      setOperator(event.currentTarget.value);
                      change();
                    }}
                  />
                </Field>
              </div>
            )}
            <div class="field">
              <label for="task">Your question</label>
              <textarea
                id="task"
                value={task}
                dir="auto"
                placeholder={offer.example ?? 'What should the team find out?'}
                aria-invalid={wrong.task !== undefined}
                aria-describedby="task-hint"
                onInput={(event) => {
                  setTask(event.currentTarget.value);
                  change();
                }}
              />
              <p class="hint" id="task-hint">
                {wrong.task !== undefined && <WrongWords words={wrong.task} />}
                {offer.example !== null && (
                  <button
                    type="button"
                    class="link"
                    onClick={() => {
                      setTask(offer.example ?? '');
                      change();
                    }}
                  >
                    Use the example
                  </button>
                )}
              </p>
            </div>
            <div class="field">
              <label for="amount">Budget</label>
              <div class="amounts">
                <div class="with-unit">
                  <input
                    id="amount"
                    type="text"
                    inputMode="numeric"
                    autocomplete="off"
                    value={amount}
                    aria-invalid={wrong.amount !== undefined}
                    aria-describedby="amount-hint"
                    onInput={(event) => {
                      setTyped(event.currentTarget.value);
                      change();
                    }}
                  />
                  <span aria-hidden="true">sat</span>
                </div>
                <p class="hint" id="amount-hint">
                  {wrong.amount !== undefined && <WrongWords words={wrong.amount} />}
                  The team never spends more than this. What it does not use stays in your session. 1 sat is a hundred-millionth of a bitcoin.
                </p>
              </div>
            </div>
            {action.problem !== null && <ProblemBox problem={action.problem} onRetry={ask} />}
            <div class="row">
              <button type="submit" class="primary big" disabled={action.isBusy}>
                {action.isBusy ? 'One moment…' : offer.money === 'play' ? 'Ask with play money' : 'Make an invoice'}
              </button>
              <span class="hint">{offer.needs_operator ? 'The provider of the model bills the operator of this server.' : offer.money === 'play' ? 'Nothing costs real money.' : 'The work begins as soon as the Lightning invoice is paid.'}</span>
            </div>
          </form>
        )}
      </main>
    </div>
  );
}

export function WrongWords({ words }: { words: string }) {
  return (
    <strong class="wrong" role="alert">
      {words}{' '}
    </strong>
  );
}
