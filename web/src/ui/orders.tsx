// What an owner can do with running work: stop it, wrap it up, send a message, top it up. Each dialog says what will happen.
import { useState } from 'preact/hooks';
import { isolated } from '../log';
import { sats } from '../money';
import type { Order } from './details';
import type { AgentView } from './model';
import { Dialog, Field } from './parts';
import { AmountForm } from './pay';
import { keyedApi, ProblemBox, useAction } from './problem';

interface Props {
  readonly order: Order;
  readonly agent: AgentView;
  /** All contracts below it that still run. */
  readonly below: readonly AgentView[];
  readonly session: string;
  readonly token: string;
  /** The token for orders that move money. */
  readonly moneyToken: string;
  readonly freeMsat: number;
  readonly onClose: () => void;
  readonly onFund: () => void;
  readonly onDone: (words: string) => void;
}

const NAMES_MAX = 8;

function Names({ agents }: { agents: readonly AgentView[] }) {
  return (
    <ul class="names">
      {agents.slice(0, NAMES_MAX).map((agent) => (
        <li class="name" dir="auto">
          {agent.name} <span class="quiet-text small-text">{agent.id}</span>
        </li>
      ))}
      {agents.length > NAMES_MAX && <li class="quiet-text">and {agents.length - NAMES_MAX} more</li>}
    </ul>
  );
}

export function OrderDialog(props: Props) {
  switch (props.order) {
    case 'stop':
    case 'wrap_up':
      return <StopDialog {...props} isWrapUp={props.order === 'wrap_up'} />;
    case 'message':
      return <MessageDialog {...props} />;
    case 'top_up':
      return <TopUpDialog {...props} />;
  }
}

function StopDialog({ agent, below, session, token, isWrapUp, onClose, onDone }: Props & { isWrapUp: boolean }) {
  const action = useAction();
  const all = [agent, ...below];
  const name = isolated(agent.name);
  const what = all.length === 1 ? name : `${name} and ${below.length} below it`;
  const send = () =>
    action.run(async (key) => {
      await keyedApi(token, key).stop(session, agent.id, isWrapUp ? 'wrap_up' : 'cancel');
      onDone(isWrapUp ? `${what}: told to wrap up.` : `${what}: told to stop.`);
    });
  return (
    <Dialog title={isWrapUp ? `Wrap up ${name}?` : `Stop ${name}?`} onClose={onClose}>
      <p>
        {isWrapUp
          ? 'These contracts hire nobody new. Each makes one last report with the money that is kept for it.'
          : 'These contracts stop now and make no report. Calls that are under way are still charged; the rest of the money goes back.'}
      </p>
      <Names agents={all} />
      {agent.hirer === null && <p class="hint">This is the whole request.</p>}
      {action.problem !== null && <ProblemBox problem={action.problem} onRetry={send} />}
      <div class="actions">
        <button type="button" onClick={onClose}>
          Keep working
        </button>
        <button type="button" class={isWrapUp ? 'primary' : 'danger'} disabled={action.isBusy} onClick={send}>
          {isWrapUp ? 'Wrap up' : all.length === 1 ? 'Stop it' : `Stop all ${all.length}`}
        </button>
      </div>
    </Dialog>
  );
}

function MessageDialog({ agent, session, token, onClose, onDone }: Props) {
  const action = useAction();
  const [text, setText] = useState('');
  const send = () => {
    if (text.trim() === '') return;
    action.run(async (key) => {
      await keyedApi(token, key).message(session, text.trim(), agent.id);
      onDone(`Message sent to ${isolated(agent.name)}.`);
    });
  };
  return (
    <Dialog title={`Message to ${isolated(agent.name)}`} onClose={onClose}>
      <form
        class="field"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <Field id="message" label="Message" hint={`${isolated(agent.name)} reads it in its next turn.`}>
          <textarea
            id="message"
            dir="auto"
            value={text}
            aria-describedby="message-hint"
            onInput={(event) => {
              setText(event.currentTarget.value);
              action.reset();
            }}
          />
        </Field>
        {action.problem !== null && <ProblemBox problem={action.problem} onRetry={send} />}
        <div class="actions">
          <button type="submit" class="primary" disabled={action.isBusy || text.trim() === ''}>
            Send
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function TopUpDialog({ agent, session, moneyToken, freeMsat, onClose, onFund, onDone }: Props) {
  const action = useAction();
  const free = Math.floor(freeMsat / 1000);
  return (
    <Dialog title={`Top up ${isolated(agent.name)}`} onClose={onClose}>
      {free < 1 ? (
        <>
          <p>The session has {sats(freeMsat)} free. Add money to it first.</p>
          <div class="actions">
            <button type="button" class="primary" onClick={onFund}>
              Add money
            </button>
          </div>
        </>
      ) : (
        <AmountForm
          words="Top up"
          label="Amount"
          first={String(Math.min(free, 100))}
          max={free}
          hint={`The session has ${sats(freeMsat)} free. If the work ends before the money arrives, the money stays in the session.`}
          action={action}
          onSend={(amount) =>
            action.run(async (key) => {
              await keyedApi(moneyToken, key).topUp(session, amount, agent.id);
              onDone(`${amount} sat sent to ${isolated(agent.name)}.`);
            })
          }
        />
      )}
    </Dialog>
  );
}
