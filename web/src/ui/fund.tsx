// The money of a session: paying its invoices, adding more, getting the rest back, and asking the next question.
import { useState } from 'preact/hooks';
import { readSats, sats } from '../money';
import type { Invoice, SessionView } from '../wire';
import { readTask, WrongWords } from './ask';
import { useShared } from './context';
import { MoneyFacts } from './ledger';
import { isAtWork } from './model';
import { Copy, Dialog, Field } from './parts';
import { AmountForm, Pay } from './pay';
import { keyedApi, ProblemBox, useAction } from './problem';
import { linkWithToken } from './route';
import type { SessionStore } from './session_store';

/** An invoice with the actions that belong to it. */
function InvoiceView({ store, view, invoice, onMade }: { store: SessionStore; view: SessionView; invoice: Invoice; onMade?: (invoice: Invoice) => void }) {
  const settle = useAction();
  const renew = useAction();
  const onSettle = () =>
    settle.run(async (key) => {
      await keyedApi(store.moneyToken, key).settle(store.session, invoice.invoice);
      store.refreshView(0);
    });
  const onNew = () =>
    renew.run(async (key) => {
      const made = await keyedApi(store.token, key).fund(store.session, Math.ceil(invoice.amount_msat / 1000));
      store.refreshView(0);
      onMade?.(made);
    });
  return (
    <>
      <Pay invoice={invoice} money={view.money} settle={settle} onSettle={onSettle} onNew={onNew} />
      {renew.problem !== null && <ProblemBox problem={renew.problem} onRetry={onNew} />}
    </>
  );
}

function newestUnpaid(view: SessionView): Invoice | null {
  const unpaid = view.invoices.filter((invoice) => invoice.state !== 'paid');
  return unpaid.filter((invoice) => invoice.state === 'open').at(-1) ?? unpaid.at(-1) ?? null;
}

/** A session in which nothing was asked yet: pay it, or ask. */
export function Unpaid({ store, view }: { store: SessionStore; view: SessionView }) {
  const { vault } = useShared();
  const pending = vault.find(store.session)?.pending ?? null;
  const invoice = newestUnpaid(view);
  if (view.free_msat > 0) {
    if (pending !== null && view.free_msat >= pending.budgetSats * 1000) {
      return (
        <section class="float card" role="status">
          <h2>Paid</h2>
          <p>
            {store.pendingProblem === null ? 'The question is being asked: ' : 'The question could not be asked: '}
            <b dir="auto">{pending.task.slice(0, 300)}</b>
          </p>
          {store.pendingProblem !== null && <ProblemBox problem={store.pendingProblem} onRetry={() => store.askNow()} />}
        </section>
      );
    }
    return <NextQuestion store={store} view={view} firstTask={pending?.task ?? ''} onFund={null} />;
  }
  return (
    <section class="float card" aria-label="Payment">
      <h2>{view.money === 'play' ? 'Pay with play money' : 'Pay the invoice to begin'}</h2>
      {pending !== null && (
        <p>
          Then the team is asked: <b dir="auto">{pending.task.slice(0, 300)}</b>
        </p>
      )}
      {pending !== null && invoice === null && <p>The invoice has expired. If you paid it, the money still counts.</p>}
      {invoice === null ? <FundForm store={store} view={view} firstSats={pending?.budgetSats ?? FIRST_SATS} /> : <InvoiceView store={store} view={view} invoice={invoice} key={invoice.invoice} />}
    </section>
  );
}

const FIRST_SATS = 500;

function FundForm({ store, view, firstSats, onMade }: { store: SessionStore; view: SessionView; firstSats: number; onMade?: (invoice: Invoice) => void }) {
  const action = useAction();
  return (
    <AmountForm
      words={view.money === 'play' ? 'Add play money' : 'Make an invoice'}
      label="Amount"
      first={String(firstSats)}
      max={null}
      hint={view.money === 'play' ? 'Play money costs nothing.' : 'You get a Lightning invoice to pay.'}
      action={action}
      onSend={(amount) =>
        action.run(async (key) => {
          const api = keyedApi(store.moneyToken, key);
          const made = await api.fund(store.session, amount);
          if (view.money === 'play') await api.settle(store.session, made.invoice);
          store.refreshView(0);
          onMade?.(made);
        })
      }
    />
  );
}

/** Adds money: one click for play money, an invoice for real money. */
export function FundDialog({ store, view, onClose }: { store: SessionStore; view: SessionView; onClose: () => void }) {
  const [made, setMade] = useState<Invoice | null>(null);
  // The server lists only open invoices: one that is not listed may be new, or expired.
  const invoice = made === null ? null : (view.invoices.find((known) => known.invoice === made.invoice) ?? made);
  const isPaid = made !== null && (view.money === 'play' || store.log.isPaid(made.invoice));
  return (
    <Dialog title="Add money" onClose={onClose}>
      <p>
        The session has {sats(view.free_msat)} free. {view.money === 'play' && <span class="play">play money</span>}
      </p>
      {made === null && <FundForm store={store} view={view} firstSats={FIRST_SATS} onMade={setMade} />}
      {invoice !== null && !isPaid && <InvoiceView store={store} view={view} invoice={invoice} key={invoice.invoice} onMade={setMade} />}
      {isPaid && (
        <div class="actions" role="status">
          <p>The money is there.</p>
          <button type="button" class="primary" onClick={onClose}>
            Done
          </button>
        </div>
      )}
    </Dialog>
  );
}

/** What the session has, and how to get the rest back. */
export function MoneyDialog({ store, view, onClose, onFund }: { store: SessionStore; view: SessionView; onClose: () => void; onFund: () => void }) {
  const action = useAction();
  const [invoice, setInvoice] = useState('');
  const [told, setTold] = useState<string | null>(null);
  const refund = () =>
    action.run(async (key) => {
      const back = await keyedApi(store.token, key).refund(store.session, view.money === 'play' ? undefined : invoice.trim());
      setTold(back.state === 'failed' ? 'The payment failed. The money is still in the session.' : `${sats(back.amount_msat)} ${back.state === 'paid' ? 'paid back' : 'on its way back'}.`);
      store.refreshView(0);
    });
  const open = newestUnpaid(view);
  return (
    <Dialog title="Money" onClose={onClose}>
      <MoneyFacts view={view} />
      {open !== null && view.requests.length > 0 && <InvoiceView store={store} view={view} invoice={open} key={open.invoice} />}
      <div class="row">
        <button type="button" class="primary" onClick={onFund}>
          Add money
        </button>
      </div>
      {view.free_msat > 0 && !isAtWork(view) && (
        <section class="field" aria-label="Get the rest back">
          <h3>Get the rest back</h3>
          {view.money === 'real' && (
            <Field id="refund" label="Lightning invoice that you want to be paid" hint={`At most ${sats(view.payable_msat)} can be paid: a part is kept for the fee of the payment.`}>
              <input
                id="refund"
                type="text"
                autocomplete="off"
                value={invoice}
                aria-describedby="refund-hint"
                onInput={(event) => {
                  setInvoice(event.currentTarget.value);
                  action.reset();
                }}
              />
            </Field>
          )}
          {action.problem !== null && <ProblemBox problem={action.problem} onRetry={refund} />}
          <div>
            <button type="button" disabled={action.isBusy || (view.money === 'real' && invoice.trim() === '')} onClick={refund}>
              {view.money === 'play' ? `Give ${sats(view.free_msat)} back` : 'Pay back'}
            </button>
          </div>
        </section>
      )}
      {told !== null && <p role="status">{told}</p>}
      {isAtWork(view) && <p class="hint">The rest can be paid back when the work has ended.</p>}
      {view.role === 'owner' && <OwnLink session={store.session} token={store.token} />}
    </Dialog>
  );
}

/** The token of the owner is only in this tab: whoever closes it without this link loses the money. */
function OwnLink({ session, token }: { session: string; token: string }) {
  const link = linkWithToken(window.location.origin + window.location.pathname, session, token);
  return (
    <section class="field" aria-label="Your own link">
      <h3>Your own link</h3>
      <p>Whoever has it can spend this money. Keep it to open the session again after this tab is closed.</p>
      <div>
        <Copy text={link} label="Copy your link" />
      </div>
      <details>
        <summary>Show it</summary>
        <p class="request-text" tabIndex={0} role="group" aria-label="Your own link">
          {link}
        </p>
      </details>
    </section>
  );
}

/** A line for the next question of the conversation. */
export function NextQuestion({ store, view, firstTask = '', onFund }: { store: SessionStore; view: SessionView; firstTask?: string; onFund: (() => void) | null }) {
  const { vault } = useShared();
  const action = useAction();
  const free = Math.floor(view.free_msat / 1000);
  const [task, setTask] = useState(firstTask);
  const [typed, setTyped] = useState<string | null>(null);
  const [wrong, setWrong] = useState<string | null>(null);
  const amount = typed ?? String(free);
  const send = () => {
    const asked = readTask(task);
    const read = readSats(amount);
    if ('wrong' in asked) return setWrong(asked.wrong);
    if ('wrong' in read) return setWrong(read.wrong);
    setWrong(null);
    action.run(async (key) => {
      await keyedApi(store.moneyToken, key).request(store.session, asked.task, read.sats);
      // A question that waited for its payment is not asked a second time.
      vault.remember(store.session, { pending: null });
      setTask('');
      setTyped(null);
      store.goLive();
      store.refreshView(0);
    });
  };
  if (free < 1) {
    return (
      <div class="next">
        <span class="quiet-text">The session has {sats(view.free_msat)} free.</span>
        {onFund !== null && (
          <button type="button" class="primary" onClick={onFund}>
            Add money to ask again
          </button>
        )}
      </div>
    );
  }
  return (
    <form
      class="next"
      data-avoid-labels
      noValidate
      aria-label="Next question"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <label class="sr" for="next-task">
        {view.requests.length === 0 ? 'Your question' : 'Next question'}
      </label>
      <input
        id="next-task"
        type="text"
        dir="auto"
        value={task}
        placeholder={view.requests.length === 0 ? 'Ask the team' : 'Ask the next question'}
        aria-invalid={wrong !== null}
        onInput={(event) => {
          setTask(event.currentTarget.value);
          setWrong(null);
          action.reset();
        }}
      />
      <label class="sr" for="next-budget">
        Budget in sat
      </label>
      <div class="with-unit">
        <input
          id="next-budget"
          type="text"
          inputMode="numeric"
          autocomplete="off"
          value={amount}
          onInput={(event) => {
            setTyped(event.currentTarget.value);
            setWrong(null);
            action.reset();
          }}
        />
        <span aria-hidden="true">sat</span>
      </div>
      <button type="submit" class="primary" disabled={action.isBusy}>
        Ask
      </button>
      {wrong !== null && <WrongWords words={wrong} />}
      {action.problem !== null && <ProblemBox problem={action.problem} onRetry={send} />}
    </form>
  );
}
