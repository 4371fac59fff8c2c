// The way from picked rows to their comparison.
import { hrefs } from '@/shared/hrefs';
import { Icon } from './icon';

export function CompareLink({ items, what }: { items: readonly string[]; what: string }) {
  if (items.length < 2)
    return (
      <span class="quiet compare-hint">
        {items.length === 0 ? `Pick ${what} to compare` : 'Pick one more to compare'}
      </span>
    );
  return (
    <a class="button button-small button-primary" href={hrefs.compare(items)}>
      <Icon name="compare" size={14} />
      Compare {items.length}
    </a>
  );
}
