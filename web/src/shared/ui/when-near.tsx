// What is far below is not drawn, and so not read, before the window comes near it.
import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { useSeen } from './hooks';

export function WhenNear({ children }: { children: ComponentChildren }) {
  const place = useRef<HTMLDivElement>(null);
  const seen = useSeen(place);
  return seen ? <>{children}</> : <div ref={place} class="when-near" />;
}
