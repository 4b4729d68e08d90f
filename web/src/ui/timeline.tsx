// The events of a session as a line: scrub back, step by one event, go back to live, or see it again.
import { useMemo } from 'preact/hooks';
import { Sign } from './icons';
import { duration } from './parts';

export type MarkKind = 'hired' | 'reported' | 'trouble' | 'told' | 'asked';

export interface Mark {
  /** The number of the event, from 1. */
  readonly at: number;
  readonly kind: MarkKind;
}

interface Props {
  readonly count: number;
  readonly cursor: number;
  readonly isLive: boolean;
  readonly isReplaying: boolean;
  /** Session time at the cursor, in milliseconds. */
  readonly time: number;
  /** The last thing worth a mark that happened at the cursor or before it. Has untrusted text in it. */
  readonly words: string;
  readonly marks: readonly Mark[];
  readonly onSeek: (at: number) => void;
  readonly onLive: () => void;
  readonly onReplay: () => void;
  readonly onPause: () => void;
  /** Whether the session's work goes on: otherwise "live" is its end. */
  readonly isAtWork: boolean;
}

const PLACES = 240;
const RANK: Readonly<Record<MarkKind, number>> = { trouble: 4, asked: 3, reported: 2, told: 1, hired: 0 };

/** At most one mark for each place of the line: the most important one. */
export function thin(marks: readonly Mark[], count: number, places = PLACES): Mark[] {
  const kept = new Map<number, Mark>();
  for (const mark of marks) {
    const place = Math.round((mark.at / Math.max(1, count)) * places);
    const before = kept.get(place);
    if (!before || RANK[mark.kind] > RANK[before.kind]) kept.set(place, mark);
  }
  return [...kept.values()];
}

export function Timeline({ count, cursor, isLive, isReplaying, time, words, marks, onSeek, onLive, onReplay, onPause, isAtWork }: Props) {
  const thinned = useMemo(() => thin(marks, count), [marks, count]);
  const at = isLive ? count : cursor;
  const button = isReplaying ? 'Pause' : isLive ? 'Replay the newest request' : 'Play from here';
  return (
    <section class="timeline" aria-label="Timeline">
      <button type="button" class="icon-button quiet" aria-label={button} title={button} disabled={count === 0} onClick={isReplaying ? onPause : onReplay}>
        <Sign name={isReplaying ? 'pause' : 'play'} />
      </button>
      <div class="timeline-line">
        <svg class="marks" viewBox="0 0 1000 20" preserveAspectRatio="none" aria-hidden="true">
          <rect class="marks-past" x="0" y="9" width={count === 0 ? 0 : (at / count) * 1000} height="2" />
          {thinned.map((mark) => (
            <rect key={`${mark.at}`} class={`mark mark-${mark.kind}`} x={(mark.at / Math.max(1, count)) * 1000 - 1} y={mark.kind === 'hired' ? 5 : 2} width="2" height={mark.kind === 'hired' ? 10 : 16} />
          ))}
        </svg>
        <input
          type="range"
          min={0}
          max={count}
          step={1}
          value={at}
          disabled={count === 0}
          aria-label="Event"
          aria-valuetext={`Event ${at} of ${count}: ${words}`}
          onInput={(event) => {
            const to = Number(event.currentTarget.value);
            if (to >= count) onLive();
            else onSeek(to);
          }}
        />
      </div>
      <p class="timeline-words">
        <span class="timeline-count">
          {at} / {count}
        </span>
        <span>{duration(time)}</span>
        <span class="timeline-fact" dir="auto">
          {words}
        </span>
      </p>
      <button type="button" class={`small live${isLive ? ' is-live' : ''}`} aria-pressed={isLive} disabled={isLive} onClick={onLive}>
        <span class="live-dot" aria-hidden="true" />
        {isAtWork ? 'Live' : 'End'}
      </button>
    </section>
  );
}
