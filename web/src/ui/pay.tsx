// Paying an invoice: a QR code and a link for a Lightning wallet, or one button for play money.
import { useState } from 'preact/hooks';
import { readSats, sats } from '../money';
import type { Invoice, MoneyKind } from '../wire';
import { WrongWords } from './ask';
import { Copy, duration, Field, Qr, useCountdown } from './parts';
import { ProblemBox, type UsedAction } from './problem';

interface PayProps {
  readonly invoice: Invoice;
  readonly money: MoneyKind;
  readonly settle: UsedAction;
  readonly onSettle: () => void;
  readonly onNew: () => void;
}

/** One open or expired invoice. */
export function Pay({ invoice, money, settle, onSettle, onNew }: PayProps) {
  const left = useCountdown(invoice.state === 'open' ? invoice.expires_at : null);
  const isExpired = invoice.state === 'expired' || (invoice.state === 'open' && left === 0);
  if (money === 'play') {
    return (
      <div class="pay-side">
        <p>
          <span class="pay-amount">{sats(invoice.amount_msat)}</span> <span class="play">play money</span>
        </p>
        {settle.problem !== null && <ProblemBox problem={settle.problem} onRetry={onSettle} />}
        <div class="row">
          <button type="button" class="primary" disabled={settle.isBusy || isExpired} onClick={onSettle}>
            Pay with play money
          </button>
          {isExpired ? <button type="button" onClick={onNew}>Make a new invoice</button> : <span class="hint">Nothing costs real money.</span>}
        </div>
      </div>
    );
  }
  const request = invoice.payment_request;
  if (isExpired) {
    return (
      <div class="pay-side">
        <p>
          The invoice of <b>{sats(invoice.amount_msat)}</b> has expired. If you have paid it, the money still counts as soon as it arrives.
        </p>
        <div>
          <button type="button" class="primary" onClick={onNew}>
            Make a new invoice
          </button>
        </div>
      </div>
    );
  }
  return (
    <div class="pay">
      {request !== null && <Qr text={`lightning:${request}`} label={`QR code of the Lightning invoice of ${sats(invoice.amount_msat)}`} />}
      <div class="pay-side">
        <p class="pay-amount">{sats(invoice.amount_msat)}</p>
        <p role="status" class="row">
          <span class="pulse" aria-hidden="true" /> Waiting for the payment
        </p>
        <p class="hint">The invoice expires in {duration(left)}.</p>
        {request !== null && (
          <>
            <p class="request-text" tabIndex={0} role="group" aria-label="Payment request">
              {request}
            </p>
            <div class="row">
              <a class="button primary" href={`lightning:${request}`} rel="noreferrer">
                Open in a wallet
              </a>
              <Copy text={request} label="Copy invoice" />
            </div>
          </>
        )}
      </div>
    </div>
  );
}

/** Asks for an amount. */
export function AmountForm({
  words,
  label,
  hint,
  first,
  max,
  action,
  onSend,
}: {
  words: string;
  label: string;
  hint: string;
  first: string;
  max: number | null;
  action: UsedAction;
  onSend: (sats: number) => void;
}) {
  const [typed, setTyped] = useState(first);
  const [wrong, setWrong] = useState<string | null>(null);
  const send = () => {
    const read = readSats(typed);
    if ('wrong' in read) return setWrong(read.wrong);
    if (max !== null && read.sats > max) return setWrong(`The session has only ${max} sat free.`);
    setWrong(null);
    onSend(read.sats);
  };
  return (
    <form
      class="field"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <Field
        id="amount-form"
        label={label}
        hint={
          <>
            {wrong !== null && <WrongWords words={wrong} />}
            {hint}
          </>
        }
      >
        <div class="with-unit">
          <input
            id="amount-form"
            type="text"
            inputMode="numeric"
            autocomplete="off"
            value={typed}
            aria-invalid={wrong !== null}
            aria-describedby="amount-form-hint"
            onInput={(event) => {
              setTyped(event.currentTarget.value);
              setWrong(null);
              action.reset();
            }}
          />
          <span aria-hidden="true">sat</span>
        </div>
      </Field>
      {action.problem !== null && <ProblemBox problem={action.problem} onRetry={send} />}
      <div class="actions">
        <button type="submit" class="primary" disabled={action.isBusy}>
          {words}
        </button>
      </div>
    </form>
  );
}

