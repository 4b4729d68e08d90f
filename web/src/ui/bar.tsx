// The switches at the top of every screen.
import type { ComponentChildren } from 'preact';
import { useShared } from './context';
import { Sign } from './icons';

export function ThemeSwitch() {
  const { theme, setTheme } = useShared();
  const isNight = theme === 'night';
  return (
    <button type="button" class="quiet icon-button" aria-label={isNight ? 'Switch to day' : 'Switch to night'} title={isNight ? 'Day' : 'Night'} onClick={() => setTheme(isNight ? 'day' : 'night')}>
      <Sign name={isNight ? 'sun' : 'moon'} size={17} />
    </button>
  );
}

export function ModeSwitch() {
  const { mode, setMode, no3d } = useShared();
  return (
    <div class="switch" role="group" aria-label="View">
      {(['3d', '2d'] as const).map((name) => (
        <button
          type="button"
          class="small"
          aria-pressed={mode === name}
          disabled={name === '3d' && no3d !== null}
          title={name === '3d' && no3d !== null ? no3d : undefined}
          onClick={() => setMode(name)}
        >
          {name.toUpperCase()}
        </button>
      ))}
    </div>
  );
}

export function Bar({ children }: { children?: ComponentChildren }) {
  return (
    <header class="bar">
      <a class="home eyebrow" href="#/">
        The Hall
      </a>
      <div class="row">
        {children}
        <ThemeSwitch />
      </div>
    </header>
  );
}
