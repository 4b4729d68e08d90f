// The 3D view in the page. three.js is loaded here, after the first view. Until the scene is there, and if it can't be, the
// drawn hall is shown. The canvas is hidden from screen readers: the 2D view says the same.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Quality, Scene, Stage, Theme } from '../stage';
import { Backdrop } from './backdrop';
import { useShared } from './context';
import { useSize } from './parts';

interface Listener {
  readonly onSelect: (id: string | null) => void;
  readonly onUnfold: (id: string) => void;
  readonly onLost: () => void;
}

/** A scene with its canvas. It moves from screen to screen, because a hall takes long to build. */
class Host {
  readonly element = document.createElement('div');
  readonly scene: Promise<Scene>;
  /** The scene that is built. */
  built: Scene | null = null;
  listener: Listener | null = null;
  readonly #avoided: HTMLElement[] = [];
  #isOver = false;
  #leaving: ReturnType<typeof setTimeout> | null = null;

  constructor(theme: Theme, quality: Quality | null) {
    const canvas = document.createElement('canvas');
    const overlay = document.createElement('div');
    this.element.className = 'scene-host';
    canvas.className = 'scene-canvas';
    overlay.className = 'scene-overlay';
    for (const part of [this.element, canvas, overlay]) part.ariaHidden = 'true';
    this.element.append(canvas, overlay);
    this.scene = import('../scene/scene').then(({ mountScene }) => {
      if (this.#isOver) throw new Error('the scene is not wanted any more');
      this.built = mountScene({
        canvas,
        overlay,
        theme,
        quality,
        onSelect: (id) => this.listener?.onSelect(id),
        onUnfold: (id) => this.listener?.onUnfold(id),
        onView: (view) => this.element.classList.toggle('is-near', view === 'near'),
        // A scene that no screen shows is built again by the next one.
        onLost: () => (this.listener === null ? this.end() : this.listener.onLost()),
      });
      return this.built;
    });
  }

  /** Puts the scene into a box of the page. */
  enter(box: HTMLElement, listener: Listener): void {
    if (this.#leaving !== null) clearTimeout(this.#leaving);
    this.#leaving = null;
    this.listener = listener;
    box.append(this.element);
  }

  /** Tells the scene where the page stands over the canvas. It looks for marked elements beside its own labels, so these are copies. */
  avoid(elements: readonly Element[]): void {
    const origin = this.element.getBoundingClientRect();
    const places = elements.map((element) => element.getBoundingClientRect());
    while (this.#avoided.length > places.length) this.#avoided.pop()?.remove();
    places.forEach((place, index) => {
      const copy = (this.#avoided[index] ??= this.element.appendChild(document.createElement('div')));
      copy.className = 'scene-avoided';
      copy.dataset['avoidLabels'] = '';
      copy.style.left = `${place.left - origin.left}px`;
      copy.style.top = `${place.top - origin.top}px`;
      copy.style.width = `${place.width}px`;
      copy.style.height = `${place.height}px`;
    });
  }

  /** Takes the scene out of a box. The next screen takes it, or it is removed. */
  leave(box: HTMLElement): void {
    if (this.element.parentElement !== box) return;
    this.element.remove();
    this.listener = null;
    this.#leaving = setTimeout(() => this.end(), LEFT_MS_MAX);
  }

  end(): void {
    this.#isOver = true;
    this.built?.dispose();
    if (host === this) host = null;
  }
}

/** How long a scene waits for the next screen: long enough to write a question. */
const LEFT_MS_MAX = 10 * 60_000;
let host: Host | null = null;

/** The scene that is on the page, for `window.hall`. */
export const currentScene = (): Scene | null => (host?.listener == null ? null : host.built);

interface Props {
  /** Calls with each stage that is to be drawn. */
  readonly watch: (listener: (stage: Stage) => void) => () => void;
  readonly onSelect: (id: string | null) => void;
  readonly onUnfold: (id: string) => void;
}

export function SceneBox({ watch, onSelect, onUnfold }: Props) {
  const { theme, settings, setNo3d } = useShared();
  const [box, size] = useSize<HTMLDivElement>();
  const [scene, setScene] = useState<Scene | null>(null);
  const calls = useRef({ onSelect, onUnfold });
  calls.current = { onSelect, onUnfold };

  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const mine = (host ??= new Host(theme, settings.quality));
    let isGone = false;
    mine.enter(element, {
      onSelect: (id) => calls.current.onSelect(id),
      onUnfold: (id) => calls.current.onUnfold(id),
      onLost: () => {
        mine.end();
        setNo3d('The browser took the 3D view away. The 2D view shows the same.');
      },
    });
    mine.scene.then(
      (built) => {
        if (!isGone) setScene(built);
      },
      (error: unknown) => {
        mine.end();
        if (isGone) return;
        // A chunk that could not be loaded is an error of the network; everything else is one of the scene.
        const isNetwork = error instanceof TypeError && /import|module|fetch/i.test(error.message);
        if (!isNetwork) console.error(error);
        setNo3d(isNetwork ? 'The 3D view could not be loaded. Reload the page to try again.' : 'The 3D view failed. The 2D view shows the same.');
      },
    );
    return () => {
      isGone = true;
      mine.leave(element);
    };
  }, []);

  // After every change of the page, because the title and the legend change with the session.
  useLayoutEffect(() => {
    const page = box.current?.closest('.stage, .start');
    if (page) host?.avoid([...page.querySelectorAll('[data-avoid-labels]:not(.scene-avoided)')]);
  });
  useEffect(() => {
    if (scene && size.width > 0 && size.height > 0) scene.resize(size.width, size.height);
  }, [scene, size.width, size.height]);
  useEffect(() => scene?.setTheme(theme), [scene, theme]);
  useEffect(() => (scene ? watch((stage) => scene.show(stage)) : undefined), [scene, watch]);

  return (
    <div class={`scene${scene ? ' is-there' : ''}`} aria-hidden="true">
      <Backdrop />
      <div class="scene-place" ref={box} />
    </div>
  );
}
