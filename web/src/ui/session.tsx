// A session: the hall or the tree, the panel with its tabs, the timeline, and what its owner can do.
import { useEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks';
import { firstWords } from '../log';
import { satDigits, sats, satsUp } from '../money';
import type { Stage } from '../stage';
import { parseId } from '../stream';
import type { TextRef } from '../wire';
import { AnswerView } from './answer';
import { Backdrop } from './backdrop';
import { ModeSwitch, ThemeSwitch } from './bar';
import { useShared } from './context';
import { Details, type Order } from './details';
import { ErrorPage } from './error_page';
import { FundDialog, MoneyDialog, NextQuestion, Unpaid } from './fund';
import type { Look } from '../looks';
import { LookBadge, Sign } from './icons';
import { LedgerView } from './ledger';
import { countLooks, isAtWork, type AgentView } from './model';
import { OrderDialog } from './orders';
import { duration, useCountdown, useMedia } from './parts';
import { useReloaded } from './reload';
import { currentScene, SceneBox } from './scene_box';
import type { SessionStore } from './session_store';
import { ShareDialog } from './share';
import { Timeline, type Mark, type MarkKind } from './timeline';
import { TreeView } from './tree_view';

type Tab = 'tree' | 'details' | 'ledger' | 'answer';
type Open = { readonly kind: 'order'; readonly order: Order; readonly id: string } | { readonly kind: 'share' | 'fund' | 'money' } | null;

const TAB_WORDS: Readonly<Record<Tab, string>> = { tree: 'Tree', details: 'Details', ledger: 'Ledger', answer: 'Answer' };
const LEDGER_MS = 1500;
const LOOKS: readonly Look[] = ['works', 'waits', 'arrives', 'done', 'ran_dry', 'failed', 'cancelled', 'refused'];

/** Draws again after each change of the store, at most once for each frame. */
function useStore(store: SessionStore): void {
  const [, redraw] = useReducer<number, void>((count) => count + 1, 0);
  useEffect(() => {
    let frame = 0;
    const stop = store.subscribe(() => {
      if (frame !== 0) return;
      // A hidden page gets no frames; it is drawn again when it is seen.
      frame = requestAnimationFrame(() => {
        frame = 0;
        redraw();
      });
    });
    redraw();
    return () => {
      stop();
      cancelAnimationFrame(frame);
    };
  }, [store]);
}

const MARKS: Readonly<Record<string, MarkKind>> = { request: 'asked', hire: 'hired', report: 'reported', failure: 'trouble', refusal: 'trouble', order: 'told', unknown: 'trouble' };

export function SessionScreen({ store }: { store: SessionStore }) {
  useStore(store);
  const { mode } = useShared();
  const isPhone = useMedia('(max-width: 899px)');
  const is3d = mode === '3d' && !isPhone;
  const [tab, setTab] = useState<Tab>(() => (is3d || isPhone ? 'tree' : 'details'));
  const [open, setOpen] = useState<Open>(null);
  const watch = useMemo(() => (listener: (stage: Stage) => void) => store.watchStage(listener), [store]);
  const hadAnswer = useRef<string | null>(null);
  const [seenAnswer, setSeenAnswer] = useState<string | null>(null);
  const { view, log, moment } = store;
  const agents = store.agents;
  const byId = useMemo(() => new Map(agents.map((agent) => [agent.id, agent])), [agents]);
  const selected = store.selected === null ? null : (byId.get(store.selected) ?? null);
  const isWorking = isAtWork(view);
  const canChange = store.role === 'owner';
  const isBilled = view !== null && (tab === 'ledger' || tab === 'answer');
  const ledger = useReloaded(store.session, log.length, LEDGER_MS, isBilled ? () => store.api.ledger(store.session) : null);
  // The ledger and the answer are always of the newest state.
  const newestAgents = useMemo(() => (store.isLive || !isBilled ? agents : store.rows.at(log.newest(), false)), [agents, store.isLive, isBilled, log.length]);
  const newestById = useMemo(() => (newestAgents === agents ? byId : new Map(newestAgents.map((agent) => [agent.id, agent]))), [newestAgents, byId]);

  const marks: Mark[] = useMemo(() => log.markers.map((marker) => ({ at: marker.index + 1, kind: MARKS[marker.kind] ?? 'told' })), [log, log.markers.length]);
  // The transcript is loaded again when its contract has new facts: a contract that changed is another object.
  const newest = log.newest().get(selected?.id ?? moment.newestRoot?.path ?? '');
  const transcript = useRef({ of: newest, version: 0 });
  if (transcript.current.of !== newest) transcript.current = { of: newest, version: transcript.current.version + 1 };

  // In 2D on a wide page the tree is in the place of the hall.
  const tabs: Tab[] = is3d || isPhone ? ['tree', 'details', 'ledger', 'answer'] : ['details', 'ledger', 'answer'];
  const shownTab = tabs.includes(tab) ? tab : 'details';

  // The answer is shown when it comes, unless a person looks at something else.
  const lastRequest = view?.requests.at(-1) ?? null;
  const newestAnswer = lastRequest?.answer == null ? null : `${lastRequest.root} ${lastRequest.answer.hash}`;
  useEffect(() => {
    if (newestAnswer === null || newestAnswer === hadAnswer.current) return;
    hadAnswer.current = newestAnswer;
    if (store.selected === null || shownTab === 'tree') setTab('answer');
  }, [newestAnswer]);

  // Whoever came here by a button is at the beginning of the session, not at the end of the page.
  useEffect(() => {
    if (view !== null && (document.activeElement === null || document.activeElement === document.body)) document.querySelector('main')?.focus({ preventScroll: true });
  }, [view === null]);
  useEffect(() => {
    if (shownTab === 'answer') setSeenAnswer(newestAnswer);
  }, [shownTab, newestAnswer]);

  if (store.problem !== null) return <ErrorPage problem={store.problem} session={store.session} />;
  if (view === null) return <Opening store={store} />;

  const choose = (id: string) => {
    store.select(id);
    setTab('details');
    requestAnimationFrame(() => document.getElementById('panel-body')?.focus());
  };
  const root = moment.newestRoot;
  const task = (root === null ? null : log.excerpt(root.task)) ?? lastRequest?.task?.excerpt ?? null;
  const excerpt = (text: TextRef) => log.excerpt(text);
  const newestName = (id: string) => newestById.get(id)?.name ?? '';
  const shown = store.cursor;
  const money = root?.money ?? null;
  const spent = root === null ? 0 : moment.spent(root.path);
  const title = task === null ? (view.team ?? 'A new session') : firstWords(task, 160);
  const tree = <TreeView agents={agents} latest={() => store.agents} selected={store.selected} onSelect={(id) => store.select(id)} onChoose={choose} />;
  const isUnpaid = view.requests.length === 0;

  return (
    <div class={`session ${is3d ? 'is-3d' : 'is-2d'}`}>
      <a class="skip" href="#panel-body" onClick={(event) => { event.preventDefault(); document.getElementById('panel-body')?.focus(); }}>
        Go to the panel
      </a>
      <main class="stage" tabIndex={-1}>
        {is3d && <SceneBox watch={watch} onSelect={(id) => { store.select(id); if (id !== null) setTab('details'); }} onUnfold={(id) => store.unfold(id)} />}
        {!is3d && isUnpaid && <Backdrop />}
        <div class="hud" data-avoid-labels>
          <a class="home eyebrow" href="#/">
            The Hall
          </a>
          <h1 dir="auto" title={task ?? undefined}>
            {title}
          </h1>
          <p class="hud-money">
            {money !== null ? (
              <span>
                <b>{satsUp(spent)}</b> of {satDigits(money.granted)} sat spent
              </span>
            ) : (
              <span>{sats(view.free_msat)} free</span>
            )}
            {view.money === 'play' && <span class="play">play money</span>}
            {store.role === 'viewer' && <span class="badge">view only</span>}
            {!store.isLive && <span class="badge past">{store.isReplaying ? 'replay' : 'in the past'}</span>}
          </p>
        </div>
        <div class="stage-tools" data-avoid-labels>
          {canChange && (
            <>
              <button type="button" class="small" onClick={() => setOpen({ kind: 'money' })}>
                Money
              </button>
              <button type="button" class="small" onClick={() => setOpen({ kind: 'share' })}>
                <Sign name="link" /> Share
              </button>
            </>
          )}
          {is3d && (
            <button type="button" class="small icon-button" aria-label="Show the whole hall" title="Show the whole hall" onClick={() => currentScene()?.frameAll()}>
              <Sign name="frame" />
            </button>
          )}
          {is3d && <FullScreen />}
          {!isPhone && <ModeSwitch />}
          <ThemeSwitch />
        </div>
        <Legend agents={agents} steppingOut={store.steppingOut} />
        {!is3d && !isPhone && !isUnpaid && <div class="stage-tree">{tree}</div>}
        <Notes store={store} agents={agents} canChange={canChange && store.isLive} onShow={choose} onMessage={(id) => setOpen({ kind: 'order', order: 'message', id })} />
        {store.isSpread && <p class="stage-note">Shown slower than it happened, so that it can be read.</p>}
        {store.toast !== null && (
          <p class="toast" aria-hidden="true">
            {store.toast}
          </p>
        )}
        <Strip store={store} />
        {isUnpaid && canChange && <Unpaid store={store} view={view} />}
        {isUnpaid && !canChange && <p class={is3d ? 'stage-note' : ''}>Nothing has been asked yet.</p>}
        {!isUnpaid && !isWorking && canChange && store.isLive && <NextQuestion store={store} view={view} onFund={() => setOpen({ kind: 'fund' })} />}
      </main>
      <Panel tabs={tabs} tab={shownTab} onTab={setTab} hasNew={newestAnswer !== null && newestAnswer !== seenAnswer && shownTab !== 'answer'}>
        {shownTab === 'tree' && (agents.length === 0 ? <p class="empty">The first agent has not begun yet.</p> : tree)}
        {shownTab === 'details' && (
          <Details
            api={store.api}
            session={store.session}
            agent={selected ?? (root === null ? null : (byId.get(root.path) ?? null))}
            agents={byId}
            facts={parseId(moment.at)?.facts ?? 0}
            version={transcript.current.version}
            canOrder={canChange && store.isLive && isWorking}
            excerpt={excerpt}
            onSelect={(id) => store.select(id)}
            onOrder={(order, id) => setOpen({ kind: 'order', order, id })}
          />
        )}
        {!store.isLive && (shownTab === 'ledger' || shownTab === 'answer') && <p class="quiet-text">The timeline shows an earlier moment. This is the newest state.</p>}
        {shownTab === 'ledger' && <LedgerView loaded={ledger} view={view} nameOf={newestName} onSelect={choose} />}
        {shownTab === 'answer' && <AnswerView api={store.api} session={store.session} view={view} agents={newestAgents} ledger={ledger.value} excerpt={excerpt} nameOf={newestName} onSelect={choose} />}
      </Panel>
      <Timeline
        count={log.length}
        cursor={shown}
        isLive={store.isLive}
        isReplaying={store.isReplaying}
        time={log.timeAfter(shown)}
        words={log.markers.findLast((marker) => marker.index < shown)?.words ?? 'The beginning'}
        marks={marks}
        isAtWork={isWorking || isUnpaid}
        onSeek={(index) => store.seek(index)}
        onLive={() => store.goLive()}
        onReplay={() => store.replay()}
        onPause={() => store.pause()}
      />
      <p class="sr" role="status" aria-live="polite">
        {store.notice}
      </p>
      {open?.kind === 'order' && byId.has(open.id) && (
        <OrderDialog
          order={open.order}
          agent={byId.get(open.id) as AgentView}
          below={agents.filter((agent) => agent.isLive && agent.id.startsWith(`${open.id}.`))}
          session={store.session}
          token={store.token}
          moneyToken={store.moneyToken}
          freeMsat={view.free_msat}
          onClose={() => setOpen(null)}
          onFund={() => setOpen({ kind: 'fund' })}
          onDone={(words) => {
            setOpen(null);
            store.tell(words);
            store.refreshView();
          }}
        />
      )}
      {open?.kind === 'share' && <ShareDialog session={store.session} token={store.token} onClose={() => setOpen(null)} />}
      {open?.kind === 'fund' && <FundDialog store={store} view={view} onClose={() => setOpen(null)} />}
      {open?.kind === 'money' && <MoneyDialog store={store} view={view} onClose={() => setOpen(null)} onFund={() => setOpen({ kind: 'fund' })} />}
    </div>
  );
}

function Legend({ agents, steppingOut }: { agents: readonly AgentView[]; steppingOut: ReadonlySet<string> }) {
  const counts = countLooks(agents, steppingOut);
  if (agents.length === 0) return null;
  return (
    <ul class="legend" data-avoid-labels aria-label="Contracts by state">
      {LOOKS.filter((look) => counts.has(look)).map((look) => (
        <li key={look}>
          <LookBadge look={look} />
          <b>{counts.get(look)}</b>
        </li>
      ))}
    </ul>
  );
}

function Panel({ tabs, tab, onTab, hasNew, children }: { tabs: readonly Tab[]; tab: Tab; onTab: (tab: Tab) => void; hasNew: boolean; children: preact.ComponentChildren }) {
  const move = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    const to = event.key === 'Home' ? tabs[0] : event.key === 'End' ? tabs.at(-1) : step === 0 ? undefined : tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
    if (to === undefined) return;
    event.preventDefault();
    onTab(to);
    document.getElementById(`tab-${to}`)?.focus();
  };
  return (
    <aside class="panel" aria-label="Session details">
      <div class="tabs" role="tablist" aria-label="Views" onKeyDown={move}>
        {tabs.map((name) => (
          <button key={name} type="button" role="tab" id={`tab-${name}`} aria-selected={tab === name} aria-controls="panel-body" tabIndex={tab === name ? 0 : -1} onClick={() => onTab(name)}>
            {TAB_WORDS[name]}
            {name === 'answer' && hasNew && (
              <>
                <span class="dot" aria-hidden="true" />
                <span class="sr">(new)</span>
              </>
            )}
          </button>
        ))}
      </div>
      <div class={`panel-body${tab === 'tree' ? ' is-tree' : ''}`} id="panel-body" role="tabpanel" aria-labelledby={`tab-${tab}`} tabIndex={-1}>
        {children}
      </div>
    </aside>
  );
}

/** A button that shows the hall alone, on the full screen. */
function FullScreen() {
  const [isFull, setIsFull] = useState(document.fullscreenElement !== null);
  useEffect(() => {
    const note = () => setIsFull(document.fullscreenElement !== null);
    document.addEventListener('fullscreenchange', note);
    return () => document.removeEventListener('fullscreenchange', note);
  }, []);
  if (!document.fullscreenEnabled) return null;
  const words = isFull ? 'Leave the full screen' : 'Only the hall, on the full screen';
  // A browser may refuse. Then the page stays as it is.
  const toggle = () => void (isFull ? document.exitFullscreen() : document.querySelector('.stage')?.requestFullscreen())?.catch(() => undefined);
  return (
    <button type="button" class="small icon-button" aria-label={words} title={words} aria-pressed={isFull} onClick={toggle}>
      <Sign name="full" />
    </button>
  );
}

/** What a person should know or do: a question, stopped work, facts that this page does not know. */
function Notes({ store, agents, canChange, onShow, onMessage }: { store: SessionStore; agents: readonly AgentView[]; canChange: boolean; onShow: (id: string) => void; onMessage: (id: string) => void }) {
  const { lost3d } = useShared();
  const asking = agents.find((agent) => agent.isLive && agent.contract?.waits_for.some((wait) => wait.kind === 'person')) ?? null;
  const unknown = store.log.unknown.length;
  const isStopped = store.view?.state === 'stopped';
  if (asking === null && unknown === 0 && !isStopped && store.log.isExact && lost3d === null) return null;
  return (
    <div class="notes" role="status">
      {asking !== null && (
        <p>
          <span>
            <b dir="auto">{asking.name}</b> waits for a person.
          </span>
          <button type="button" class="small" onClick={() => onShow(asking.id)}>
            Show why
          </button>
          {canChange && (
            <button type="button" class="small primary" onClick={() => onMessage(asking.id)}>
              Reply
            </button>
          )}
        </p>
      )}
      {lost3d !== null && <p>{lost3d}</p>}
      {isStopped && <p>The work has stopped and is kept. The next order, or the next start of the server, continues it.</p>}
      {unknown > 0 && (
        <p>
          This page does not know {unknown === 1 ? 'one fact' : `${unknown} facts`} of this session, so some numbers may be wrong. Reload the page: the server may be newer.
        </p>
      )}
      {!store.log.isExact && <p>Some amounts are too large to be shown exactly.</p>}
    </div>
  );
}

/** A strip that says that the connection is lost, and when it is tried again. */
function Strip({ store }: { store: SessionStore }) {
  const { connection } = store;
  const left = useCountdown(connection.kind === 'waiting' ? connection.until : null);
  if (connection.kind === 'waiting') {
    return (
      <div class="strip is-bad" role="status">
        <span>
          {connection.why} Nothing is lost. Next try in {duration(left)}.
        </span>
        <button type="button" class="small" onClick={() => store.reconnect()}>
          Try now
        </button>
      </div>
    );
  }
  if (connection.kind === 'ended' && connection.why !== null) {
    return (
      <div class="strip is-bad" role="alert">
        <span>{connection.why.status === 401 || connection.why.status === 403 ? 'This link no longer works: its token was revoked. What you see is the last state.' : connection.why.detail}</span>
      </div>
    );
  }
  return null;
}

/** Before the first reply of the server. */
function Opening({ store }: { store: SessionStore }) {
  return (
    <div class="error-page">
      <header class="bar">
        <a class="home eyebrow" href="#/">
          The Hall
        </a>
      </header>
      <main class="card">
        <h1>Opening the session…</h1>
        <p class="quiet-text">{store.session}</p>
        <Strip store={store} />
      </main>
    </div>
  );
}
