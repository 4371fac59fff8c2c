// A term with its meaning at hand: shown on hover, focus and click, placed inside the window, closed by
// Escape.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Icon } from './icon';

const margin = 8;

function useDismissal(open: boolean, close: () => void): void {
  useEffect(() => {
    if (!open) return;
    const key = (event: KeyboardEvent) => event.key === 'Escape' && close();
    document.addEventListener('keydown', key);
    window.addEventListener('scroll', close, true);
    window.addEventListener('resize', close);
    return () => {
      document.removeEventListener('keydown', key);
      window.removeEventListener('scroll', close, true);
      window.removeEventListener('resize', close);
    };
  }, [open]);
}

// `term`: what is explained, for screen readers; the button shows `children`, or a question mark.
export function Explain({
  term,
  text,
  children,
}: {
  term: string;
  text: ComponentChildren | (() => ComponentChildren); // a function where there are many to say
  children?: ComponentChildren;
}) {
  const [open, setOpen] = useState(false);
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const bubble = useRef<HTMLDivElement>(null);
  useDismissal(open, () => setOpen(false));
  useLayoutEffect(() => {
    if (!open || !button.current || !bubble.current) return;
    const anchor = button.current.getBoundingClientRect();
    const size = bubble.current.getBoundingClientRect();
    const left = Math.min(
      Math.max(margin, anchor.left + anchor.width / 2 - size.width / 2),
      innerWidth - size.width - margin,
    );
    const below = anchor.bottom + 6;
    const top =
      below + size.height > innerHeight - margin ? Math.max(margin, anchor.top - size.height - 6) : below;
    bubble.current.style.left = `${left}px`;
    bubble.current.style.top = `${top}px`;
  }, [open]);
  return (
    <span class="explain" onMouseEnter={() => setOpen(true)} onMouseLeave={() => setOpen(false)}>
      <button
        ref={button}
        type="button"
        class={children === undefined ? 'explain-mark' : 'explain-term'}
        aria-label={children === undefined ? `What is ${term}?` : undefined}
        aria-describedby={open ? id : undefined}
        aria-expanded={open}
        onClick={() => setOpen(true)}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
      >
        {children ?? <Icon name="question" size={13} />}
      </button>
      {open && (
        <div ref={bubble} id={id} role="tooltip" class="bubble">
          {typeof text === 'function' ? text() : text}
        </div>
      )}
    </span>
  );
}
