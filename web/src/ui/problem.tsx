// What went wrong, and what to do next. Also: actions that a person starts, and can repeat safely after a failure.
import { useMemo, useState } from 'preact/hooks';
import { Api, newKey, Problem } from '../api';

/** What a person can do about a problem. The server's own words say what happened. */
export function advice(problem: Problem): string | null {
  switch (problem.code) {
    case 'network':
      return null;
    case 'unauthorized':
      return 'The token is wrong or was revoked. Ask the owner of the session for a new link.';
    case 'forbidden':
      return 'Ask the owner of the session for a link that allows this.';
    case 'balance_too_low':
      return 'Add money to the session, or choose a smaller amount.';
    case 'busy':
      return 'Wait for the answer, or stop the work first.';
    case 'not_at_work':
      return 'The work has ended. Ask a new question to go on.';
    case 'expired':
      return 'Make a new invoice.';
    case 'too_many_requests':
      return `Wait ${problem.retryAfter ?? 60} seconds, then try again.`;
    case 'too_many_streams':
    case 'too_much_work':
    case 'stopping':
    case 'team_unavailable':
      return 'Try again in a moment.';
    case 'team_gone':
      return 'This server no longer offers the team. Start a new session with another team.';
    case 'internal':
      return 'Try again. If it fails again, tell the operator of this server.';
    case 'too_long':
    case 'too_large':
      return 'Write a shorter text.';
    default:
      return null;
  }
}

export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem('page', error instanceof Error ? error.message : String(error), 0);
}

export function ProblemBox({ problem, onRetry }: { problem: Problem; onRetry?: (() => void) | undefined }) {
  const next = advice(problem);
  return (
    <div class="problem" role="alert">
      <p>
        <strong>Error: </strong>
        <span dir="auto">{problem.detail}</span>
      </p>
      {next !== null && <p>{next}</p>}
      {onRetry && (
        <div>
          <button type="button" onClick={onRetry}>
            Try again
          </button>
        </div>
      )}
    </div>
  );
}

/** An interface whose POSTs carry keys that follow from one key, in order: a repeated run repeats the same keys. */
export function keyedApi(token: string | null, key: string): Api {
  let posts = 0;
  return new Api({
    token,
    newKey: () => {
      posts += 1;
      return `${key}-${posts}`;
    },
  });
}

export interface ActionState {
  readonly isBusy: boolean;
  readonly problem: Problem | null;
}

const AT_REST: ActionState = { isBusy: false, problem: null };

/** Something that a person starts, and can start again. */
export class Action {
  readonly #onState: (state: ActionState) => void;
  #key: string | null = null;
  #runs = 0;

  constructor(onState: (state: ActionState) => void) {
    this.#onState = onState;
  }

  /** Runs it. After a failure, the next run has the same idempotency keys, so nothing is done twice. */
  run(perform: (key: string) => Promise<void>): void {
    const mine = (this.#runs += 1);
    this.#onState({ isBusy: true, problem: null });
    perform((this.#key ??= newKey())).then(
      () => {
        if (mine === this.#runs) this.reset();
      },
      (error: unknown) => {
        if (mine === this.#runs) this.#onState({ isBusy: false, problem: asProblem(error) });
      },
    );
  }

  /** The input has changed: the next run is a new one. */
  reset(): void {
    this.#runs += 1;
    this.#key = null;
    this.#onState(AT_REST);
  }
}

export type UsedAction = ActionState & Pick<Action, 'run' | 'reset'>;

export function useAction(): UsedAction {
  const [state, setState] = useState(AT_REST);
  const action = useMemo(() => new Action(setState), []);
  return { ...state, run: (perform) => action.run(perform), reset: () => action.reset() };
}
