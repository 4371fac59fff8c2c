// What can be taken away of a figure: the picture as SVG and PNG, for light and for dark pages, and its data as CSV.
import { pngOf } from './raster';
import type { Scheme } from '@/shared/palette';
import { saveBlob, saveText } from '@/shared/ui/copy';
import { Popover } from '@/shared/ui/popover';
import { say } from '@/shared/ui/toast';

export interface FigureMenuProps {
  name: string; // of the files, without an ending
  svg: (scheme: Scheme) => string;
  csv: () => string;
}

const savePng = (name: string, svg: string) =>
  void pngOf(svg).then(
    (blob) => saveBlob(name, blob),
    (error: Error) => say(`No picture: ${error.message}`),
  );

export function FigureMenu({ name, svg, csv }: FigureMenuProps) {
  const choices = [
    ['SVG, light', () => saveText(`${name}.svg`, 'image/svg+xml', svg('light'))],
    ['PNG, light', () => savePng(`${name}.png`, svg('light'))],
    ['SVG, dark', () => saveText(`${name}-dark.svg`, 'image/svg+xml', svg('dark'))],
    ['PNG, dark', () => savePng(`${name}-dark.png`, svg('dark'))],
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
