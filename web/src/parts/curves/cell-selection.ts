// Which cells the parts of a page show.
import { useState } from 'preact/hooks';
import { numberSetQuery, useQuery } from '@/shared/router';

// What the cells of one page share: which are hidden (in the address) and which one the pointer is on.
export interface CellSelection {
  hidden: ReadonlySet<number>;
  toggle: (cell: number) => void;
  focus: number | null;
  setFocus: (cell: number | null) => void;
}

export function useCellSelection(): CellSelection {
  const [hidden, setHidden] = useQuery('hide', numberSetQuery);
  const [focus, setFocus] = useState<number | null>(null);
  const toggle = (cell: number) => {
    const next = new Set(hidden);
    if (!next.delete(cell)) next.add(cell);
    setHidden(next);
  };
  return { hidden, toggle, focus, setFocus };
}
