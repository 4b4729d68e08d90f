// View-only links: made, copied and revoked. The server does not list them, so this tab remembers those that it made.
import { useState } from 'preact/hooks';
import { Api } from '../api';
import { useShared } from './context';
import { Copy, Dialog } from './parts';
import { asProblem, ProblemBox, useAction } from './problem';
import { linkWithToken } from './route';

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
  };
  const api = new Api({ token });
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
      {links.length === 0 ? (
        <p class="quiet-text">No link has been made in this tab.</p>
      ) : (
        <ul class="links">
          {links.map((known) => (
            <li key={known.viewer}>
              <p class="request-text" tabIndex={0} role="group" aria-label={`Link ${known.viewer}`}>
                {known.link}
              </p>
              <div class="row">
                <Copy text={known.link} label="Copy link" />
                <button type="button" class="danger" disabled={revoke.isBusy} onClick={() => onRevoke(known.viewer)}>
                  Revoke
                </button>
              </div>
            </li>
          ))}
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
