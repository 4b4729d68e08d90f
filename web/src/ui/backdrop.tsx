// The lit, empty hall as a flat drawing: what is behind the first page until the scene is there, or if there is no WebGL.
import type { Zone } from '../stage';

const RINGS = [
  { x: 600, y: 318, lift: 0 },
  { x: 478, y: 252, lift: 22 },
  { x: 356, y: 187, lift: 44 },
  { x: 234, y: 122, lift: 66 },
  { x: 112, y: 58, lift: 92 },
] as const;

/** The sectors, clockwise from the back, as in the scene. */
const SECTORS: readonly Zone[] = ['library', 'counting', 'forge', 'assay', 'archive', 'workshop'];

function at(ring: { x: number; y: number; lift: number }, turn: number, scale = 1): [number, number] {
  const angle = (turn - 90) * (Math.PI / 180);
  return [Math.cos(angle) * ring.x * scale, Math.sin(angle) * ring.y * scale - ring.lift];
}

const point = ([x, y]: readonly [number, number]) => `${x.toFixed(1)} ${y.toFixed(1)}`;

function arc(ring: { x: number; y: number; lift: number }, from: number, to: number, scale: number): string {
  const radii = `${(ring.x * scale).toFixed(1)} ${(ring.y * scale).toFixed(1)}`;
  return `M${point(at(ring, from, scale))}A${radii} 0 0 1 ${point(at(ring, to, scale))}`;
}

/** Fixed places, so that the sky is the same each time. */
const STARS = Array.from({ length: 46 }, (_, index) => ({
  x: ((index * 397) % 1600) - 800,
  y: ((index * 211) % 560) - 450,
  r: 0.6 + ((index * 7) % 10) / 11,
}));

function Stair({ turn }: { turn: number }) {
  const steps = [];
  for (const [index, outer] of RINGS.slice(0, 4).entries()) {
    const inner = RINGS[index + 1] ?? outer;
    for (let step = 0; step < 4; step += 1) {
      const part = (step + 0.5) / 4.6;
      const x = outer.x + (inner.x - outer.x) * (0.62 + part * 0.38);
      const y = outer.y + (inner.y - outer.y) * (0.62 + part * 0.38);
      const ring = { x, y, lift: outer.lift + (inner.lift - outer.lift) * part };
      const width = 2100 / outer.x + 2.4;
      steps.push(<path class="bd-step" d={arc(ring, turn - width, turn + width, 1)} />);
    }
  }
  return <g>{steps}</g>;
}

function Lantern({ turn, zone }: { turn: number; zone: Zone }) {
  const outer = RINGS[0];
  const [x, y] = at(outer, turn, 0.93);
  return (
    <g transform={`translate(${x.toFixed(1)} ${y.toFixed(1)})`}>
      <circle class="bd-glow" cy="-104" r="120" fill="url(#bd-lamp)" />
      <ellipse class="bd-pool" cy="2" rx="86" ry="38" fill="url(#bd-lamp)" />
      <path class="bd-post" d="M-7 4H7L3.4-4V-84H-3.4V-4Z" />
      <path class={`bd-flag zone-${zone}`} d="M5-80H34V-36L19.500-46 5-36Z" fill="currentColor" />
      <path class="bd-brass" d="M3-81H38" />
      <path class="bd-post" d="M-11-84H11L8-88H-8ZM-13-116H13L0-130Z" />
      <path class="bd-flame" d="M-9-88-11-116H11L9-88Z" />
    </g>
  );
}

export function Backdrop() {
  const outer = RINGS[0];
  return (
    <svg class="backdrop" viewBox="-800 -450 1600 900" preserveAspectRatio="xMidYMid slice" aria-hidden="true" focusable="false">
      <defs>
        <radialGradient id="bd-lamp">
          <stop class="bd-lamp-in" offset="0" />
          <stop class="bd-lamp-mid" offset="0.35" />
          <stop class="bd-lamp-out" offset="1" />
        </radialGradient>
        <radialGradient id="bd-light" cx="0.5" cy="0.32" r="0.7">
          <stop class="bd-light-in" offset="0" />
          <stop class="bd-light-out" offset="1" />
        </radialGradient>
      </defs>
      <g class="bd-stars">
        {STARS.map((star) => (
          <circle cx={star.x} cy={star.y} r={star.r.toFixed(2)} />
        ))}
      </g>
      <g transform="translate(0 96)">
        <path class="bd-base" d={`M${-outer.x} 0A${outer.x} ${outer.y} 0 0 0 ${outer.x} 0V58A${outer.x} ${outer.y} 0 0 1 ${-outer.x} 58Z`} />
        <path class="bd-brass" d={`M${-outer.x} 58A${outer.x} ${outer.y} 0 0 0 ${outer.x} 58`} />
        {RINGS.map((ring, index) => (
          <g>
            {index > 0 && (
              <path class="bd-riser" d={`M${-ring.x} ${-ring.lift}A${ring.x} ${ring.y} 0 0 0 ${ring.x} ${-ring.lift}v22A${ring.x} ${ring.y} 0 0 1 ${-ring.x} ${22 - ring.lift}Z`} />
            )}
            <ellipse class={`bd-floor bd-floor-${index}`} cy={-ring.lift} rx={ring.x} ry={ring.y} />
            {index < 4 &&
              SECTORS.map((zone, sector) => (
                <path class={`bd-band zone-${zone}`} stroke="currentColor" d={arc(ring, sector * 60 - 26, sector * 60 + 26, 0.975)} />
              ))}
            <ellipse class="bd-brass" cy={-ring.lift} rx={ring.x} ry={ring.y} />
          </g>
        ))}
        <ellipse rx={outer.x} ry={outer.y} fill="url(#bd-light)" />
        {SECTORS.map((_, sector) => (
          <Stair turn={sector * 60 + 30} />
        ))}
        {[5, 0, 1, 4, 2, 3].map((sector) => (
          <Lantern turn={sector * 60} zone={SECTORS[sector] ?? 'workshop'} />
        ))}
        <path class="bd-star" transform="translate(0 -104) scale(3.1 1.7) translate(-7 -7)" d="M7 .4 8.7 4 12.7 3.7 10.4 7 12.7 10.3 8.7 10 7 13.6 5.3 10 1.3 10.3 3.6 7 1.3 3.7 5.3 4Z" />
      </g>
    </svg>
  );
}
