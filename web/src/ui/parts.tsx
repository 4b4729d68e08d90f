// Small parts that several screens use.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Sign } from './icons';

/** A modal dialog. Escape and the close button call `onClose`. */
export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ComponentChildren }) {
  const box = useRef<HTMLDialogElement>(null);
  const heading = useId();
  // Not `useEffect`, which runs a moment after the dialog is gone: a key that is pressed in that moment would go nowhere.
  useLayoutEffect(() => {
    const dialog = box.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={box}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <div class="dialog">
        <div class="dialog-head">
          <h2 id={heading}>{title}</h2>
          <button type="button" class="quiet icon-button" aria-label="Close" onClick={onClose}>
            <Sign name="close" />
          </button>
        </div>
        {children}
      </div>
    </dialog>
  );
}

/** A label, the field itself and a hint. The field names the hint: `aria-describedby={`${id}-hint`}`. */
export function Field({ id, label, hint, children }: { id: string; label: string; hint: ComponentChildren; children: ComponentChildren }) {
  return (
    <>
      <label for={id}>{label}</label>
      {children}
      <p class="hint" id={`${id}-hint`}>
        {hint}
      </p>
    </>
  );
}

export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [told, setTold] = useState<'no' | 'copied' | 'failed'>('no');
  useEffect(() => {
    if (told === 'no') return;
    const timer = setTimeout(() => setTold('no'), 2500);
    return () => clearTimeout(timer);
  }, [told]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setTold('copied');
    } catch {
      setTold('failed');
    }
  };
  return (
    <button type="button" onClick={() => void copy()}>
      <Sign name="copy" />
      <span aria-live="polite">{told === 'copied' ? 'Copied' : told === 'failed' ? 'Select the text and copy it' : label}</span>
    </button>
  );
}

/** A QR code. Its encoder is loaded only when there is something to pay. */
export function Qr({ text, label }: { text: string; label: string }) {
  const [code, setCode] = useState<{ size: number; path: string } | 'failed' | null>(null);
  useEffect(() => {
    let isGone = false;
    const draw = async () => {
      const { encode } = await import('uqr');
      // Upper case is shorter in a QR code, and wallets read both.
      const { data, size } = encode(text.toUpperCase(), { ecc: 'L', border: 2 });
      let path = '';
      data.forEach((row, y) => {
        for (let x = 0; x < size; x += 1) {
          if (!row[x]) continue;
          const from = x;
          while (x + 1 < size && row[x + 1]) x += 1;
          path += `M${from} ${y}h${x - from + 1}v1h${from - x - 1}z`;
        }
      });
      return { size, path };
    };
    // The encoder could not be loaded, or the text is too long for it.
    draw()
      .catch(() => 'failed' as const)
      .then((drawn) => {
        if (!isGone) setCode(drawn);
      });
    return () => {
      isGone = true;
    };
  }, [text]);
  if (code === 'failed') return <p role="alert">The QR code could not be made. Copy the invoice instead.</p>;
  return (
    <svg class="qr" role="img" aria-label={label} viewBox={code ? `0 0 ${code.size} ${code.size}` : '0 0 1 1'} shape-rendering="crispEdges">
      {code && <path d={code.path} />}
    </svg>
  );
}

/** Milliseconds until a moment, counted down each second. */
export function useCountdown(until: number | null): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (until === null) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [until]);
  return until === null ? 0 : Math.max(0, until - now);
}

export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${String(seconds % 60).padStart(2, '0')} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`;
}

/** A bar of parts that add up to a whole. It is set by the CSSOM, which a strict policy allows. */
export function Parts({ whole, parts }: { whole: number; parts: readonly { readonly name: string; readonly value: number }[] }) {
  return (
    <span class="parts" aria-hidden="true">
      {parts.map((part) => (
        <span class={`part part-${part.name}`} style={{ width: `${whole > 0 ? Math.min(100, (part.value / whole) * 100) : 0}%` }} />
      ))}
    </span>
  );
}

/** The size of an element, as it changes. */
export function useSize<T extends HTMLElement>(): [{ current: T | null }, { width: number; height: number }] {
  const box = useRef<T>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const read = () => setSize({ width: element.clientWidth, height: element.clientHeight });
    read();
    const watcher = new ResizeObserver(read);
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  return [box, size];
}

export function useMedia(query: string): boolean {
  const list = useMemo(() => window.matchMedia(query), [query]);
  const [matches, setMatches] = useState(list.matches);
  useEffect(() => {
    const read = () => setMatches(list.matches);
    read();
    list.addEventListener('change', read);
    return () => list.removeEventListener('change', read);
  }, [list]);
  return matches;
}
