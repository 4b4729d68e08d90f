// The page: which screen is shown, the theme, and whether there is a 3D view.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Theme } from '../stage';
import { Ask } from './ask';
import { SharedContext, type Shared } from './context';
import { NoToken } from './error_page';
import { useMedia } from './parts';
import { parseHash, parseSettings, sessionHash, type Route } from './route';
import { Start } from './start';
import { Vault } from './vault';
import { exposeHall } from './window_hall';

type SessionPage = typeof import('./session_page').SessionPage;

/** Takes a token out of the address at once: it goes to the vault, and the address is written again without it. */
function takeRoute(vault: Vault): Route {
  const route = parseHash(window.location.hash);
  if (route.page === 'session' && route.token !== null) {
    vault.takeToken(route.session, route.token);
    window.history.replaceState(null, '', `${window.location.pathname}${window.location.search}${sessionHash(route.session)}`);
  }
  return route;
}

function hasWebGl(): boolean {
  try {
    return document.createElement('canvas').getContext('webgl2') !== null;
  } catch {
    return false;
  }
}

export function App() {
  const vault = useMemo(() => new Vault(), []);
  const settings = useMemo(() => parseSettings(window.location.search), []);
  const [route, setRoute] = useState<Route>(() => takeRoute(vault));
  const isLight = useMedia('(prefers-color-scheme: light)');
  const isStill = useMedia('(prefers-reduced-motion: reduce)');
  const isPhone = useMedia('(max-width: 899px)');
  const [chosenTheme, setTheme] = useState<Theme | null>(settings.theme);
  const [chosenMode, setMode] = useState<'2d' | '3d' | null>(settings.view);
  const [lost, setNo3d] = useState<string | null>(null);
  const isAble = useMemo(hasWebGl, []);
  const theme: Theme = chosenTheme ?? (isLight ? 'day' : 'night');
  const no3d = lost ?? (isAble ? (isPhone ? 'The 3D view needs a wider window.' : null) : 'This browser has no WebGL. The 2D view shows the same.');
  const mode = no3d !== null ? '2d' : (chosenMode ?? (isStill ? '2d' : '3d'));

  useEffect(() => {
    document.documentElement.dataset['theme'] = theme;
  }, [theme]);
  useEffect(() => {
    const onHash = () => setRoute(takeRoute(vault));
    window.addEventListener('hashchange', onHash);
    return () => window.removeEventListener('hashchange', onHash);
  }, [vault]);

  const session = route.page === 'session' ? route.session : null;
  const token = session === null ? null : (vault.find(session)?.token ?? null);
  const [page, setPage] = useState<{ readonly show: SessionPage } | 'failed' | null>(null);
  const loadPage = () => {
    setPage((before) => (before === 'failed' ? null : before));
    import('./session_page').then(
      ({ SessionPage }) => setPage((before) => (before !== null && before !== 'failed' ? before : { show: SessionPage })),
      () => setPage('failed'),
    );
  };
  useEffect(() => {
    // The first view comes first; a session needs its part at once.
    if (session !== null) return loadPage();
    const timer = setTimeout(loadPage, 1200);
    return () => clearTimeout(timer);
  }, [session === null]);
  useEffect(() => exposeHall(() => ({ theme, mode })), [theme, mode]);
  useEffect(() => {
    document.title = session === null ? 'The Hall' : `${vault.find(session)?.task ?? session} · The Hall`;
  }, [session, page]);

  const isFirst = useRef(true);
  useEffect(() => {
    if (isFirst.current) {
      isFirst.current = false;
      return;
    }
    const main = document.querySelector('main');
    if (main === null) return;
    main.tabIndex = -1;
    main.focus({ preventScroll: true });
  }, [route.page]);

  const shared: Shared = {
    vault,
    settings,
    theme,
    setTheme,
    mode,
    setMode,
    no3d,
    lost3d: lost,
    setNo3d,
    go: (hash) => {
      window.location.hash = hash;
    },
  };
  return (
    <SharedContext.Provider value={shared}>
      {route.page === 'start' && <Start />}
      {route.page === 'ask' && <Ask />}
      {route.page === 'session' && <SessionRoute session={route.session} token={token} page={page} onRetry={loadPage} />}
    </SharedContext.Provider>
  );
}

function SessionRoute({ session, token, page, onRetry }: { session: string; token: string | null; page: { readonly show: SessionPage } | 'failed' | null; onRetry: () => void }) {
  if (token === null || token === '') return <NoToken session={session} />;
  if (page === 'failed') {
    return (
      <main class="loading">
        <div class="card">
          <h1>The page could not be loaded</h1>
          <p>The server can’t be reached, or it was updated. Your session goes on.</p>
          <div class="row">
            <button type="button" class="primary" onClick={onRetry}>
              Try again
            </button>
            <button type="button" onClick={() => window.location.reload()}>
              Reload
            </button>
          </div>
        </div>
      </main>
    );
  }
  if (page === null) return <p class="loading">Opening the session…</p>;
  const Page = page.show;
  return <Page session={session} token={token} key={session} />;
}
