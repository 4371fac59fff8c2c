// A sentence about what was done, said once at the foot of the page and read aloud.
import { useEffect, useState } from 'preact/hooks';
import { Icon } from './icon';

const shownMs = 6000;
let said: { text: string; number: number } | null = null;
const listeners = new Set<() => void>();

export function say(text: string): void {
  said = { text, number: (said?.number ?? 0) + 1 };
  listeners.forEach((listener) => listener());
}

export function Toasts() {
  const [shown, setShown] = useState<typeof said>(null);
  useEffect(() => {
    const update = () => setShown(said);
    listeners.add(update);
    return () => {
      listeners.delete(update);
    };
  }, []);
  useEffect(() => {
    if (!shown) return;
    const timer = setTimeout(() => setShown(null), shownMs);
    return () => clearTimeout(timer);
  }, [shown?.number]);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown && (
        <p key={shown.number} class="toast">
          <Icon name="check" size={14} />
          {shown.text}
        </p>
      )}
    </div>
  );
}
