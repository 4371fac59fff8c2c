// What can be taken away of a figure: the picture as SVG, for light and for dark pages, and its data as CSV.
import type { Scheme } from '@/shared/charts/palette';
import { saveText } from './copy';
import { Popover } from './popover';

export interface FigureMenuProps {
  name: string; // of the files, without an ending
  svg: (scheme: Scheme) => string;
  csv: () => string;
}

export function FigureMenu({ name, svg, csv }: FigureMenuProps) {
  const choices = [
    ['SVG, light', () => saveText(`${name}.svg`, 'image/svg+xml', svg('light'))],
    ['SVG, dark', () => saveText(`${name}-dark.svg`, 'image/svg+xml', svg('dark'))],
    ['Data as CSV', () => saveText(`${name}.csv`, 'text/csv', csv())],
  ] as const;
  return (
    <Popover label="Export" icon="download">
      {(close) => (
        <ul class="menu">
          {choices.map(([label, save]) => (
            <li key={label}>
              <button
                type="button"
                class="menu-item"
                onClick={() => {
                  save();
                  close();
                }}
              >
                {label}
              </button>
            </li>
          ))}
        </ul>
      )}
    </Popover>
  );
}
