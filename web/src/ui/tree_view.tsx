// The tree of contracts as text: the same truth as the scene, by keyboard and for screen readers. Only the rows in view are
// in the page, so that 10,000 contracts scroll.
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { AgentView } from './model';
import { LookBadge, Sign, ZoneGlyph } from './icons';
import { Parts, useSize } from './parts';
import { listRows, plant, treeKey, typeAhead, UNFOLDED_MAX, windowOf, type Row } from './rows';

export const ROW_PX = 56;
const TYPED_MS = 700;

interface Props {
  readonly agents: readonly AgentView[];
  readonly selected: string | null;
  readonly onSelect: (id: string | null) => void;
  /** Enter or a second click: show the details. */
  readonly onChoose: (id: string) => void;
}

const rowId = (id: string) => `row-${id}`;

export function TreeView({ agents, selected, onSelect, onChoose }: Props) {
  const [box, size] = useSize<HTMLDivElement>();
  const [scroll, setScroll] = useState(0);
  const [byHand, setByHand] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [focused, setFocused] = useState<string | null>(selected);
  const typed = useRef({ text: '', at: 0 });
  const forest = useMemo(() => plant(agents), [agents]);
  const isBig = agents.length > UNFOLDED_MAX;
  const rows = useMemo(() => listRows(forest, byHand, (_, level) => !isBig || level === 1), [forest, byHand, isBig]);
  const active = focused !== null && rows.some((row) => row.id === focused) ? focused : (rows[0]?.id ?? null);
  // Keys may come faster than the page is drawn.
  const current = useRef(active);
  current.current = active;

  const reveal = useCallback(
    (id: string) => {
      const element = box.current;
      const at = rows.findIndex((row) => row.id === id);
      if (!element || at === -1) return;
      const top = at * ROW_PX;
      if (top < element.scrollTop) element.scrollTop = top;
      else if (top + ROW_PX > element.scrollTop + element.clientHeight) element.scrollTop = top + ROW_PX - element.clientHeight;
      setScroll(element.scrollTop);
    },
    [rows, box],
  );

  // A figure that was chosen in the scene is shown here too, even in a folded part.
  useEffect(() => {
    if (selected === null) return;
    setFocused(selected);
    setByHand((before) => {
      const after = new Map(before);
      for (let up = forest.byId.get(selected)?.hirer ?? null; up !== null; up = forest.byId.get(up)?.hirer ?? null) {
        if (!(after.get(up) ?? (!isBig || forest.byId.get(up)?.hirer === null))) after.set(up, true);
      }
      return after.size === before.size ? before : after;
    });
  }, [selected]);
  useLayoutEffect(() => {
    if (selected !== null) reveal(selected);
  }, [selected, rows.length]);

  const fold = (id: string, isOpen: boolean) => setByHand((before) => new Map(before).set(id, isOpen));
  const go = (id: string) => {
    current.current = id;
    setFocused(id);
    onSelect(id);
    reveal(id);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(size.height / ROW_PX) - 1);
    if (event.key === '*') {
      const hirer = current.current === null ? null : (forest.byId.get(current.current)?.hirer ?? null);
      const siblings = hirer === null ? forest.roots : (forest.hires.get(hirer) ?? []);
      setByHand((before) => new Map([...before, ...siblings.map((node) => [node.id, true] as const)]));
      event.preventDefault();
      return;
    }
    const step = treeKey(event.key, rows, current.current, (id) => forest.byId.get(id)?.hirer ?? null, page);
    if (step) {
      event.preventDefault();
      if (step.kind === 'go') go(step.id);
      else if (step.kind === 'open') fold(step.id, true);
      else if (step.kind === 'close') fold(step.id, false);
      else if (step.kind === 'choose') onChoose(step.id);
      return;
    }
    if (event.key.length === 1 && event.key !== ' ') {
      const now = performance.now();
      typed.current = { text: (now - typed.current.at < TYPED_MS ? typed.current.text : '') + event.key, at: now };
      const found = typeAhead(typed.current.text, rows, current.current, (id) => forest.byId.get(id)?.name ?? '');
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
                { name: 'spent', value: agent.money.spent },
                { name: 'held', value: agent.money.held },
              ]}
            />
          )}
        </span>
      </span>
    </div>
  );
}
