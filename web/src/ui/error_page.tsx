// A session that can't be shown: why, and what to do.
import type { Problem } from '../api';
import { Backdrop } from './backdrop';
import { Bar } from './bar';
import { useShared } from './context';
import { Field } from './parts';

const TITLES: Readonly<Record<number, string>> = {
  401: 'This link does not open the session',
  403: 'This link is for another session',
  404: 'This session is not here',
};

const NEXT: Readonly<Record<number, string>> = {
  401: 'The token in the link is wrong, or the owner of the session has revoked it. Ask the owner for a new link.',
  403: 'Check the link, or ask the owner of the session for a new one.',
  404: 'Check the link. A session that was never paid is removed after 15 minutes.',
};

export function ErrorPage({ problem, session }: { problem: Problem; session: string }) {
  const { vault, go } = useShared();
  return (
    <div class="error-page">
      <Backdrop />
      <Bar />
      <main class="card">
        <p class="eyebrow">{session}</p>
        <h1>{TITLES[problem.status] ?? 'The session can’t be shown'}</h1>
        <div role="alert" class="field">
          {NEXT[problem.status] !== undefined && <p>{NEXT[problem.status]}</p>}
          <p class="quiet-text small-text" dir="auto">
            The server says: {problem.detail}
          </p>
        </div>
        <div class="row">
          <button type="button" class="primary" onClick={() => go('#/')}>
            Go to the first page
          </button>
          <button type="button" onClick={() => window.location.reload()}>
            Try again
          </button>
          {vault.find(session) !== null && (
            <button
              type="button"
              class="quiet"
              onClick={() => {
                vault.forget(session);
                go('#/');
              }}
            >
              Forget this session
            </button>
          )}
        </div>
      </main>
    </div>
  );
}

/** A session whose token this tab does not have. */
export function NoToken({ session }: { session: string }) {
  const { go } = useShared();
  return (
    <div class="error-page">
      <Backdrop />
      <Bar />
      <main class="card">
        <p class="eyebrow">{session}</p>
        <h1>This tab has no token for the session</h1>
        <p>A session opens in the tab that made it, or with a link from its owner. A link carries the token behind the # sign.</p>
        <form
          class="field"
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            const field = event.currentTarget.elements.namedItem('token');
            const token = field instanceof HTMLInputElement ? field.value.trim() : '';
            if (token !== '') go(`#/s/${encodeURIComponent(session)}?k=${encodeURIComponent(token)}`);
          }}
        >
          <Field id="token" label="Token" hint="It begins with gh_. It stays in this tab.">
            <input id="token" name="token" type="password" autocomplete="off" aria-describedby="token-hint" />
          </Field>
          <div class="row">
            <button type="submit" class="primary">
              Open the session
            </button>
            <button type="button" onClick={() => go('#/')}>
              Go to the first page
            </button>
          </div>
        </form>
      </main>
    </div>
  );
}
