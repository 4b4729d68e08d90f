// Opens a session and shows it. This part is loaded after the first view.
import { useEffect, useState } from 'preact/hooks';
import { useShared } from './context';
import { SessionScreen } from './session';
import { SessionStore } from './session_store';
import { showStore } from './window_hall';

export function SessionPage({ session, token }: { session: string; token: string }) {
  const { vault } = useShared();
  const [store, setStore] = useState<SessionStore | null>(null);
  useEffect(() => {
    const next = new SessionStore(session, token, vault);
    setStore(next);
    showStore(next);
    return () => {
      next.close();
      showStore(null);
    };
  }, [session, token, vault]);
  return store === null ? <p class="loading">Opening the session…</p> : <SessionScreen store={store} key={store.session} />;
}
