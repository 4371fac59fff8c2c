// A card whose contents are drawn on demand: nothing is asked of the server before somebody opens it.
import type { ComponentChildren } from 'preact';
import { Card } from '@/shared/ui/parts';

export interface DrawnCardProps {
  title: string;
  id: string;
  open: boolean;
  setOpen: (open: boolean) => void;
  note: ComponentChildren; // what opening it shows
  children: ComponentChildren;
}

export function DrawnCard({ title, id, open, setOpen, note, children }: DrawnCardProps) {
  const tools = (
    <button type="button" class="button button-small" aria-expanded={open} onClick={() => setOpen(!open)}>
      {open ? 'Hide' : 'Show'}
    </button>
  );
  return (
    <Card title={title} id={id} tools={tools}>
      {open ? children : <p class="card-note quiet">{note}</p>}
    </Card>
  );
}
