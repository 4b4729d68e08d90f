// The ledger and the bill of a session, as the server keeps them.
import { useState } from 'preact/hooks';
import { satDigits, sats } from '../money';
import type { BillLine, Ledger, SessionView } from '../wire';
import { ProblemBox } from './problem';
import type { useReloaded } from './reload';

const LINES_STEP = 100;

function More({ left, onMore }: { left: number; onMore: () => void }) {
  if (left <= 0) return null;
  return (
    <button type="button" onClick={onMore}>
      Show {Math.min(LINES_STEP, left)} more of {left}
    </button>
  );
}

/** What each contract cost. */
export function Bill({ lines, nameOf, onSelect }: { lines: readonly BillLine[]; nameOf: (id: string) => string; onSelect: (id: string) => void }) {
  const [shown, setShown] = useState(LINES_STEP);
  const sum = (pick: (line: BillLine) => number) => lines.reduce((all, line) => all + pick(line), 0);
  const hasEstimates = lines.some((line) => line.estimated_msat > 0);
  const hasReserves = lines.some((line) => line.reserved_msat > 0);
  const hasFees = lines.some((line) => line.fee_msat > 0);
  const roots = lines.filter((line) => !line.contract.includes('.'));
  const whole = roots.reduce((all, line) => all + line.all_msat, 0);
  return (
    <div class="table-box" tabIndex={0} role="group" aria-label="Bill">
      <table>
        <thead>
          <tr>
            <th scope="col">Agent</th>
            <th scope="col" class="num">
              Calls
            </th>
            <th scope="col" class="num">
              Used
            </th>
            {hasEstimates && (
              <th scope="col" class="num">
                Estimated
              </th>
            )}
            {hasReserves && (
              <th scope="col" class="num">
                Reserved
              </th>
            )}
            {hasFees && (
              <th scope="col" class="num">
                Fee
              </th>
            )}
            <th scope="col" class="num">
              With all below
            </th>
          </tr>
        </thead>
        <tbody>
          {lines.slice(0, shown).map((line) => (
            <tr key={line.contract}>
              <th scope="row" class={`depth-${Math.min(6, line.contract.split('.').length - 1)}`}>
                <button type="button" class="link plain" onClick={() => onSelect(line.contract)}>
                  {nameOf(line.contract) || line.agent}
                </button>
              </th>
              <td class="num">{line.calls}</td>
              <td class="num">{satDigits(line.used_msat)}</td>
              {hasEstimates && <td class="num">{satDigits(line.estimated_msat)}</td>}
              {hasReserves && <td class="num">{satDigits(line.reserved_msat)}</td>}
              {hasFees && <td class="num">{satDigits(line.fee_msat)}</td>}
              <td class="num">{satDigits(line.all_msat)}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">Sum, in sat</th>
            <td class="num">{sum((line) => line.calls)}</td>
            <td class="num">{satDigits(sum((line) => line.used_msat))}</td>
            {hasEstimates && <td class="num">{satDigits(sum((line) => line.estimated_msat))}</td>}
            {hasReserves && <td class="num">{satDigits(sum((line) => line.reserved_msat))}</td>}
            {hasFees && <td class="num">{satDigits(sum((line) => line.fee_msat))}</td>}
            <td class="num">{satDigits(whole)}</td>
          </tr>
        </tfoot>
      </table>
      <More left={lines.length - shown} onMore={() => setShown(shown + LINES_STEP)} />
    </div>
  );
}

/** What the session has. */
export function MoneyFacts({ view }: { view: SessionView }) {
  return (
    <dl class="facts-list">
      <div>
        <dt>Free</dt>
        <dd>
          {sats(view.free_msat)} {view.money === 'play' && <span class="play">play money</span>}
        </dd>
      </div>
      <div>
        <dt>At work</dt>
        <dd>{sats(view.at_work_msat)}</dd>
      </div>
      <div>
        <dt>Spent</dt>
        <dd>{sats(view.spent_msat)}</dd>
      </div>
      {view.withdrawn_msat > 0 && (
        <div>
          <dt>Paid back</dt>
          <dd>{sats(view.withdrawn_msat)}</dd>
        </div>
      )}
    </dl>
  );
}

interface Props {
  readonly loaded: ReturnType<typeof useReloaded<Ledger>>;
  readonly view: SessionView;
  readonly nameOf: (id: string) => string;
  readonly onSelect: (id: string) => void;
}

export function LedgerView({ loaded: { value: ledger, problem, retry }, view, nameOf, onSelect }: Props) {
  const [shown, setShown] = useState(LINES_STEP);
  return (
    <div class="ledger">
      {problem !== null && <ProblemBox problem={problem} onRetry={retry} />}
      {ledger === null && problem === null && <p class="quiet-text">Loading…</p>}
      <section aria-label="Money of the session">
        <h2>Money of the session</h2>
        <MoneyFacts view={view} />
      </section>
      {ledger !== null && (
        <>
          {ledger.violations.length > 0 && (
            <div class="problem" role="alert">
              <p>
                <strong>The books do not add up.</strong> Tell the operator of this server.
              </p>
              <ul>
                {ledger.violations.slice(0, 20).map((line) => (
                  <li dir="auto">{line}</li>
                ))}
              </ul>
            </div>
          )}
          <section aria-label="Bill">
            <h2>Bill</h2>
            {ledger.bill.length === 0 ? <p class="quiet-text">Nothing has been charged yet.</p> : <Bill lines={ledger.bill} nameOf={nameOf} onSelect={onSelect} />}
            <p class="hint">Each line is the cost of one contract alone; the last column adds what its hires cost. Used is what a provider reported. Estimated is an upper limit where no report came. Reserved is held for calls that were lost or stopped.</p>
          </section>
          <section aria-label="Movements of money">
            <h2>Movements</h2>
            {ledger.postings.length === 0 ? (
              <p class="quiet-text">No money has moved yet.</p>
            ) : (
              <div class="table-box" tabIndex={0} role="group" aria-label="Movements">
                <table>
                  <thead>
                    <tr>
                      <th scope="col">What</th>
                      <th scope="col">From</th>
                      <th scope="col">To</th>
                      <th scope="col" class="num">
                        Sat
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {ledger.postings.slice(0, shown).map((line) => (
                      <tr>
                        <th scope="row">{line.what}</th>
                        <td>{line.from}</td>
                        <td>{line.to}</td>
                        <td class="num">{satDigits(line.amount_msat)}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
                <More left={ledger.postings.length - shown} onMore={() => setShown(shown + LINES_STEP)} />
              </div>
            )}
          </section>
          <section aria-label="Balances">
            <h2>Balances</h2>
            <dl class="facts-list">
              {ledger.balances.map((line) => (
                <div>
                  <dt dir="auto">{line.account}</dt>
                  <dd>{sats(line.balance_msat)}</dd>
                </div>
              ))}
            </dl>
            <p class="hint">House is what the server keeps to pay for models.</p>
          </section>
        </>
      )}
    </div>
  );
}
