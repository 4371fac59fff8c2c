// A button that opens a small panel under it: closed by Escape, by a click elsewhere or when the focus leaves.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Icon, type IconName } from './icon';

const margin = 8; // to the edge of the window

export interface PopoverProps {
  label: string;
  icon?: IconName;
  note?: string; // beside the label, such as a count
  children: (close: () => void) => ComponentChildren;
}

export function Popover({ label, icon = 'chevron', note, children }: PopoverProps) {
  const [open, setOpen] = useState(false);
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  useLayoutEffect(() => {
    const node = panel.current;
    if (!open || !node) return;
    const { left } = node.getBoundingClientRect();
    if (left < margin) node.style.transform = `translateX(${margin - left}px)`;
  }, [open]);
  useEffect(() => {
    if (!open) return;
    const outside = (event: Event) => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    const key = (event: KeyboardEvent) => event.key === 'Escape' && close();
    document.addEventListener('pointerdown', outside);
    document.addEventListener('focusin', outside);
    document.addEventListener('keydown', key);
    return () => {
      document.removeEventListener('pointerdown', outside);
      document.removeEventListener('focusin', outside);
      document.removeEventListener('keydown', key);
    };
  }, [open]);
  return (
    <div class="popover" ref={box}>
      <button
        ref={button}
        type="button"
        class="button button-small"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        onClick={() => setOpen(!open)}
      >
        <Icon name={icon} size={14} />
        {label}
        {note !== undefined && <small>{note}</small>}
      </button>
      {open && (
        <div id={id} ref={panel} class="popover-panel">
          {children(close)}
        </div>
      )}
    </div>
  );
}
