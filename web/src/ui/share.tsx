// View-only links: listed, made, copied and revoked. The server does not keep their tokens, so only the tab that made a link can
// show it again.
import { useState } from 'preact/hooks';
import { Api } from '../api';
import { useShared } from './context';
import { Copy, Dialog } from './parts';
import { asProblem, ProblemBox, useAction } from './problem';
import { useReloaded } from './reload';
import { linkWithToken } from './route';

function LinkText({ name, link, madeAt }: { name: string; link: string | null; madeAt: number }) {
  if (link === null) {
    return (
      <p>
        {name}, made {new Date(madeAt).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' })}. Only the tab that made it can show it.
      </p>
    );
  }
  return (
    <p class="request-text" tabIndex={0} role="group" aria-label={name}>
      {link}
    </p>
  );
}

export function ShareDialog({ session, token, onClose }: { session: string; token: string; onClose: () => void }) {
  const { vault } = useShared();
  const [links, setLinks] = useState(() => vault.find(session)?.viewers ?? []);
  const make = useAction();
  const revoke = useAction();
  /** Links may be made and revoked at the same time: each change begins with what is known now. */
  const change = (to: (before: typeof links) => typeof links) => {
    const all = to(vault.find(session)?.viewers ?? []);
    vault.remember(session, { viewers: all });
    setLinks(all);
    setChanges((before) => before + 1);
  };
  const api = new Api({ token });
  const [changes, setChanges] = useState(0);
  const { value: viewers, problem, retry } = useReloaded(session, changes, 0, () => api.viewers(session));
  const onMake = () =>
    make.run(async () => {
      const added = await api.addViewer(session);
      const link = linkWithToken(window.location.origin + window.location.pathname, session, added.token);
      change((before) => [...before, { viewer: added.viewer, link }]);
    });
  const onRevoke = (viewer: number) =>
    revoke.run(async () => {
      await api.revokeViewer(session, viewer).catch((error: unknown) => {
        // A link that the server does not know is revoked already.
        if (asProblem(error).status !== 404) throw error;
      });
      change((before) => before.filter((known) => known.viewer !== viewer));
    });
  return (
    <Dialog title="View-only links" onClose={onClose}>
      <p>Whoever has such a link can watch this session and read everything in it, but can change nothing. A revoked link stops at once.</p>
      {problem !== null && <ProblemBox problem={problem} onRetry={retry} />}
      {viewers?.length === 0 && <p class="quiet-text">There is no link.</p>}
      {viewers !== null && viewers.length > 0 && (
        <ul class="links">
          {viewers.map(({ viewer, made_at }) => {
            const link = links.find((known) => known.viewer === viewer)?.link ?? null;
            return (
              <li key={viewer}>
                <LinkText name={`Link ${viewer}`} link={link} madeAt={made_at} />
                <div class="row">
                  {link !== null && <Copy text={link} label="Copy link" />}
                  <button type="button" class="danger" disabled={revoke.isBusy} onClick={() => onRevoke(viewer)}>
                    Revoke
                  </button>
                </div>
              </li>
            );
          })}
        </ul>
      )}
      {revoke.problem !== null && <ProblemBox problem={revoke.problem} />}
      {make.problem !== null && <ProblemBox problem={make.problem} onRetry={onMake} />}
      <div class="actions">
        <button type="button" class="primary" disabled={make.isBusy} onClick={onMake}>
          Make a link
        </button>
      </div>
    </Dialog>
  );
}
