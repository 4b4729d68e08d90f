// A development page for the scene: ?n=10&theme=night&view=portal&select=1.2&quality=full&play=1&now=3200

import './lab.css';
import { mountScene } from '../src/scene/scene';
import { empty, many, mixed, ten, three } from './stages';
import type { LabStage } from './stages';

const query = new URLSearchParams(location.search);
const count = Number(query.get('n') ?? 10);
const theme = query.get('theme') === 'day' ? 'day' : 'night';
document.body.className = theme;

function pickStage(): LabStage {
  if (count === 0) return empty();
  if (count === 3) return three();
  if (query.has('mixed')) return mixed();
  return count === 10 ? ten() : many(count);
}

function element<T extends Element>(selector: string): T {
  const found = document.querySelector<T>(selector);
  if (!found) throw new Error(`${selector} is missing`);
  return found;
}

function paragraph(className: string, text: string, tag = 'div'): HTMLElement {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}

const lab = pickStage();
const stage = { ...lab, selected: query.get('select') ?? lab.selected, now: Number(query.get('now') ?? lab.now) };
if (query.get('view') === 'portal') {
  stage.beats = stage.beats.filter((beat) => beat.kind !== 'change' && beat.kind !== 'report');
  element('#head').remove();
  element('#legend').remove();
} else {
  element('#head').append(paragraph('hall', 'The Hall'), paragraph('', lab.title, 'h1'), paragraph('money', `${lab.money} · play money`));
  const counts = new Map<string, number>();
  for (const { condition } of stage.figures) counts.set(condition, (counts.get(condition) ?? 0) + 1);
  for (const [name, number] of counts) {
    const row = paragraph('', '');
    row.append(paragraph('', name.replace('_', ' '), 'span'), paragraph('', String(number), 'b'));
    element('#legend').append(row);
  }
}

const calls: string[] = [];
const canvas = element<HTMLCanvasElement>('canvas');
const scene = mountScene({
  canvas,
  overlay: element<HTMLElement>('#overlay'),
  theme,
  quality: query.get('quality') === 'reduced' ? 'reduced' : query.get('quality') === 'auto' ? null : 'full',
  onSelect: (id) => {
    calls.push(`select ${id}`);
    scene.show({ ...stage, selected: id });
  },
  onUnfold: (id) => calls.push(`unfold ${id}`),
  onView: () => {},
  onLost: () => calls.push('lost'),
});
Object.assign(window, { scene, stage, calls, isDone: false });
addEventListener('resize', () => scene.resize(innerWidth, innerHeight));

await Promise.all(['600 16px Fraunces', '400 12px Inter', '600 12px Inter'].map((font) => document.fonts.load(font)));
scene.show(stage);
const frames = (rest: number): void => {
  if (rest > 0) return void requestAnimationFrame(() => frames(rest - 1));
  Object.assign(window, { isDone: true });
};
if (query.get('view') === 'portal') {
  requestAnimationFrame(() => requestAnimationFrame(() => {
    const place = scene.placeOf(lab.portal) ?? { x: 0, y: 0, z: 0 };
    const radians = Math.PI / 180;
    scene.fixView({
      azimuth: Number(query.get('az') ?? 8) * radians,
      elevation: Number(query.get('el') ?? 17) * radians,
      distance: Number(query.get('dist') ?? 14.2),
      lens: 24,
      target: { x: place.x - 1.05, y: place.y + 2.12, z: place.z - 0.9 },
    });
    frames(3);
  }));
} else if (query.has('widen')) {
  // Half of the figures first; then the hall widens for the others: the picture is in the middle of that.
  const wait = (): Promise<void> => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())));
  scene.show({ ...stage, figures: stage.figures.slice(0, Number(query.get('widen'))) });
  await wait();
  scene.show({ ...stage, now: stage.now + 16 });
  await wait();
  scene.show({ ...stage, now: stage.now + Number(query.get('ms') ?? 330) });
  frames(2);
} else frames(2);
if (query.has('play')) {
  const begin = performance.now();
  const tick = (): void => {
    scene.show({ ...stage, now: stage.now + performance.now() - begin });
    requestAnimationFrame(tick);
  };
  tick();
}
