// The tree of contracts as text: the same truth as the scene, by keyboard and for screen readers. Only the rows in view are
// in the page, so that 10,000 contracts scroll.
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { AgentView } from './model';
import { LookBadge, Sign, ZoneGlyph } from './icons';
import { Parts, useSize } from './parts';
import { listRows, NO_FOLDS, openAbove, openSiblings, plant, setOpen, treeKey, typeAhead, windowOf, type Row } from './rows';

const ROW_PX = 56;
const TYPED_MS = 700;

interface Props {
  readonly agents: readonly AgentView[];
  /** The agents now: a key may come before the newest are drawn. */
  readonly latest: () => readonly AgentView[];
  readonly selected: string | null;
  readonly onSelect: (id: string | null) => void;
  /** Enter or a second click: show the details. */
  readonly onChoose: (id: string) => void;
}

const rowId = (id: string) => `row-${id}`;

export function TreeView({ agents, latest, selected, onSelect, onChoose }: Props) {
  const [box, size] = useSize<HTMLDivElement>();
  const [scroll, setScroll] = useState(0);
  const [folds, setFolds] = useState(NO_FOLDS);
  const [focused, setFocused] = useState<string | null>(selected);
  const typed = useRef({ text: '', at: 0 });
  const forest = useMemo(() => plant(agents), [agents]);
  const rows = useMemo(() => listRows(forest, folds), [forest, folds]);
  const active = focused !== null && rows.some((row) => row.id === focused) ? focused : (rows[0]?.id ?? null);
  // Keys may come faster than the page is drawn.
  const current = useRef(active);
  current.current = focused ?? active;

  /** The row to scroll to as soon as it is on the page. Only a new selection scrolls: a hire does not take a person's place away. */
  const wanted = useRef<string | null>(null);
  const reveal = (): boolean => {
    const element = box.current;
    const at = rows.findIndex((row) => row.id === wanted.current);
    if (!element || at === -1) return false;
    const top = at * ROW_PX;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + ROW_PX > element.scrollTop + element.clientHeight) element.scrollTop = top + ROW_PX - element.clientHeight;
    setScroll(element.scrollTop);
    return true;
  };
  useLayoutEffect(() => {
    wanted.current = selected;
  }, [selected]);
  useLayoutEffect(() => {
    if (wanted.current !== null && reveal()) wanted.current = null;
  });

  // A figure that was chosen in the scene is shown here too, even in a folded part. Not `useEffect`, which may run after the next
  // key and take the place of the row that this key has chosen.
  useLayoutEffect(() => {
    if (selected === null) return;
    setFocused(selected);
    setFolds((before) => openAbove(forest, before, selected));
  }, [selected]);

  const fold = (id: string, isOpen: boolean) => setFolds((before) => setOpen(before, id, isOpen));
  const go = (id: string) => {
    current.current = id;
    wanted.current = id;
    setFocused(id);
    onSelect(id);
    reveal();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const now = latest();
    const newest = now === agents ? forest : plant(now);
    const all = now === agents ? rows : listRows(newest, folds);
    const page = Math.max(1, Math.floor(size.height / ROW_PX) - 1);
    const step = treeKey(event.key, all, current.current, (id) => newest.byId.get(id)?.hirer ?? null, page);
    if (step) {
      event.preventDefault();
      if (step.kind === 'go') go(step.id);
      else if (step.kind === 'open') fold(step.id, true);
      else if (step.kind === 'close') fold(step.id, false);
      else if (step.kind === 'open_all') setFolds((before) => openSiblings(newest, before, step.id));
      else if (step.kind === 'choose') onChoose(step.id);
      return;
    }
    if (event.key.length === 1 && event.key !== ' ') {
      const time = performance.now();
      typed.current = { text: (time - typed.current.at < TYPED_MS ? typed.current.text : '') + event.key, at: time };
      const found = typeAhead(typed.current.text, all, current.current, (id) => newest.byId.get(id)?.name ?? '');
      if (found !== null) go(found);
    }
  };

  const shown = windowOf(scroll, size.height || 600, ROW_PX, rows.length);
  const drawn = rows.slice(shown.from, shown.to);
  const activeRow = rows.findIndex((row) => row.id === active);
  // The active row stays in the page, because `aria-activedescendant` names it.
  const extra = activeRow !== -1 && (activeRow < shown.from || activeRow >= shown.to) ? rows[activeRow] : undefined;
  return (
    <div
      class="tree"
      role="tree"
      aria-label="Contracts"
      tabIndex={0}
      ref={box}
      aria-activedescendant={active === null ? undefined : rowId(active)}
      onScroll={(event) => setScroll(event.currentTarget.scrollTop)}
      onKeyDown={onKeyDown}
    >
      <div class="tree-rows" role="none" style={{ height: `${rows.length * ROW_PX}px` }}>
        {extra && <TreeRow key={extra.id} row={extra} at={activeRow} agent={forest.byId.get(extra.id)} isActive isSelected={extra.id === selected} onGo={go} onFold={fold} onChoose={onChoose} />}
        {drawn.map((row, index) => (
          <TreeRow
            key={row.id}
            row={row}
            at={shown.from + index}
            agent={forest.byId.get(row.id)}
            isActive={row.id === active}
            isSelected={row.id === selected}
            onGo={go}
            onFold={fold}
            onChoose={onChoose}
          />
        ))}
      </div>
    </div>
  );
}

interface RowProps {
  readonly row: Row;
  readonly at: number;
  readonly agent: AgentView | undefined;
  readonly isActive: boolean;
  readonly isSelected: boolean;
  readonly onGo: (id: string) => void;
  readonly onFold: (id: string, isOpen: boolean) => void;
  readonly onChoose: (id: string) => void;
}

function TreeRow({ row, at, agent, isActive, isSelected, onGo, onFold, onChoose }: RowProps) {
  if (!agent) return null;
  const indent = Math.min(row.level - 1, 12) * 18;
  return (
    <div
      id={rowId(row.id)}
      class={`tree-row${isActive ? ' is-active' : ''}${isSelected ? ' is-selected' : ''}`}
      role="treeitem"
      aria-level={row.level}
      aria-setsize={row.siblings}
      aria-posinset={row.place}
      aria-expanded={row.hires > 0 ? row.isOpen : undefined}
      aria-selected={isSelected}
      style={{ transform: `translateY(${at * ROW_PX}px)`, paddingInlineStart: `${indent + 6}px` }}
      onClick={() => (isSelected ? onChoose(row.id) : onGo(row.id))}
    >
      <span
        class={`twist${row.hires > 0 ? '' : ' is-leaf'}${row.isOpen ? ' is-open' : ''}`}
        aria-hidden="true"
        onClick={(event) => {
          if (row.hires === 0) return;
          event.stopPropagation();
          onFold(row.id, !row.isOpen);
        }}
      >
        <Sign name="right" size={12} />
      </span>
      <span class="tree-main">
        <span class="tree-line">
          <ZoneGlyph zone={agent.zone} />
          <span class="name tree-name" dir="auto">
            {agent.name}
          </span>
          {row.hires > 0 && !row.isOpen && <span class="count">{row.below} below</span>}
          <span class="tree-money">{agent.spend}</span>
        </span>
        <span class="tree-line tree-second">
          <LookBadge look={agent.look} words={agent.status} />
          {agent.money !== null && (
            <Parts
              whole={agent.money.granted}
              parts={[
                { name: 'spent', value: agent.spent },
                { name: 'held', value: agent.money.granted - agent.spent - agent.money.available },
              ]}
            />
          )}
        </span>
      </span>
    </div>
  );
}
