// The first minute: the lit, empty hall, one sentence and two buttons.
import { useEffect, useRef, useState } from 'preact/hooks';
import { Api, type Problem } from '../api';
import type { Stage } from '../stage';
import type { Offer, SessionMade } from '../wire';
import { Backdrop } from './backdrop';
import { Bar, ModeSwitch } from './bar';
import { useShared } from './context';
import { asProblem, keyedApi, ProblemBox, useAction } from './problem';
import { sessionHash } from './route';
import { SceneBox } from './scene_box';

/** The offer that anybody may try without money: the demo, or else the first in play money with an example. */
export function demoOffer(offers: readonly Offer[]): Offer | null {
  const free = offers.filter((offer) => offer.money === 'play' && !offer.needs_operator && offer.example !== null);
  return free.find((offer) => offer.team === 'demo') ?? free[0] ?? null;
}

const EMPTY_STAGE: Stage = { now: 0, figures: [], banners: [], beats: [], selected: null };

/** The empty hall: nothing moves. */
const watchNothing = (listener: (stage: Stage) => void) => {
  listener(EMPTY_STAGE);
  return () => undefined;
};

export function useOffers(): { offers: readonly Offer[] | null; problem: Problem | null; load: () => void } {
  const [state, setState] = useState<{ offers: readonly Offer[] | null; problem: Problem | null }>({ offers: null, problem: null });
  const load = () => {
    setState((before) => ({ ...before, problem: null }));
    new Api().offers().then(
      (offers) => setState({ offers, problem: null }),
      (error: unknown) => setState({ offers: null, problem: asProblem(error) }),
    );
  };
  useEffect(load, []);
  return { ...state, load };
}

/** Pays a session with play money and asks its team. A session that was not paid in time is gone: the next try makes another one. */
export async function payAndAsk(api: Api, made: { current: SessionMade | null }, task: string, budgetSats: number): Promise<void> {
  if (made.current === null) throw new Error('a session is made before it is paid');
  const { session, invoice } = made.current;
  try {
    await api.settle(session, invoice.invoice);
    await api.request(session, task, budgetSats);
  } catch (error) {
    if (['expired', 'not_found'].includes(asProblem(error).code)) made.current = null;
    throw error;
  }
}

export function Start() {
  const { vault, go, mode } = useShared();
  const { offers, problem, load } = useOffers();
  const action = useAction();
  const made = useRef<SessionMade | null>(null);
  const demo = offers === null ? null : demoOffer(offers);
  const recent = vault.sessions();

  const watch = () =>
    action.run(async (key) => {
      // The offers may not be here yet: one click is enough all the same.
      const offer = demo ?? demoOffer(await new Api().offers());
      if (offer === null || offer.example === null) throw new Error('This server offers no team in play money. Ask the hall instead.');
      const { example, budget_sats: budget } = offer;
      // A session can't be made twice by a repeated click: the first one is kept.
      const session = (made.current ??= await new Api().makeSession(offer.team, budget));
      vault.remember(session.session, { token: session.owner_token, role: 'owner', team: offer.team, money: session.money, task: example, isUnseen: true });
      await payAndAsk(keyedApi(session.owner_token, key), made, example, budget);
      go(sessionHash(session.session));
    });

  return (
    <div class="start">
      <div class="canvas-box" aria-hidden="true">
        {mode === '3d' ? <SceneBox watch={watchNothing} onSelect={() => undefined} onUnfold={() => undefined} /> : <Backdrop />}
      </div>
      <div class="start-shade" />
      <Bar>
        <ModeSwitch />
      </Bar>
      <main class="start-text" data-avoid-labels>
        <h1>
          Agents hire agents.
          <br />
          You see every step.
        </h1>
        <p class="lead">Ask a question: a team of AI agents hires specialists, pays them from your budget, and shows you who did what and what it cost.</p>
        <div class="start-buttons">
          <button type="button" class="primary big" disabled={action.isBusy || (offers !== null && demo === null)} onClick={watch}>
            {action.isBusy ? 'Starting the team…' : 'Watch a team work'}
          </button>
          <button type="button" class="big" onClick={() => go('#/ask')}>
            Ask the hall
          </button>
        </div>
        <p class="start-note">
          {offers !== null && demo === null ? (
            'This server has no demo in play money. Ask the hall to see its teams.'
          ) : (
            <>
              The demo takes about 40 seconds and runs on <span class="play">play money</span>. No account, no key.
            </>
          )}{' '}
          <a href="/assets/licences.txt">Licences</a>
        </p>
        {action.problem !== null && <ProblemBox problem={action.problem} onRetry={watch} />}
        {action.problem === null && problem !== null && <ProblemBox problem={problem} onRetry={load} />}
      </main>
      {recent.length > 0 && (
        <nav class="recent" aria-label="Sessions of this tab">
          <p class="field-label">Sessions of this tab</p>
          <ul>
            {recent.map((known) => (
              <li>
                <a href={sessionHash(known.session)}>
                  <span class="what" dir="auto">
                    {known.task ?? known.team ?? known.session}
                  </span>
                  {known.money === 'play' && <span class="play">play money</span>}
                  <span class="quiet-text small-text">{known.session}</span>
                </a>
              </li>
            ))}
          </ul>
        </nav>
      )}
    </div>
  );
}
