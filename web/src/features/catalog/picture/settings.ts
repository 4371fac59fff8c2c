// A prior's picture with other settings: what was changed, as the page keeps it in its address and asks for it.
import type { QueryCodec } from '@/shared/router';
import type { CatalogOption } from '@/parts/catalog';

export interface Settings {
  options: Readonly<Record<string, unknown>>; // those that differ from their defaults
  rows: number;
  columns: number;
  heads: number;
  seed: number;
}

export const usualSettings: Settings = { options: {}, rows: 6, columns: 6, heads: 4, seed: 0 };

const whole = (value: unknown, fallback: number, least: number) =>
  typeof value === 'number' && Number.isInteger(value) && value >= least ? value : fallback;

export function readSettings(text: string | null): Settings {
  try {
    const found = JSON.parse(text ?? '{}') as Partial<Record<keyof Settings, unknown>>;
    const options = found.options;
    return {
      options:
        typeof options === 'object' && options !== null && !Array.isArray(options)
          ? (options as Record<string, unknown>)
          : {},
      rows: whole(found.rows, usualSettings.rows, 1),
      columns: whole(found.columns, usualSettings.columns, 1),
      heads: whole(found.heads, usualSettings.heads, 1),
      seed: whole(found.seed, usualSettings.seed, 0),
    };
  } catch {
    return usualSettings;
  }
}

export const isUsual = (settings: Settings) =>
  Object.keys(settings.options).length === 0 &&
  (['rows', 'columns', 'heads', 'seed'] as const).every((key) => settings[key] === usualSettings[key]);

export const settingsQuery: QueryCodec<Settings> = {
  read: readSettings,
  write: (settings) => (isUsual(settings) ? null : JSON.stringify(settings)),
};

// What a person wrote for an option, as the catalog's type; undefined where it is no such value.
export function optionValue(option: CatalogOption, written: string): unknown {
  const text = written.trim();
  const number = (part: string, integer: boolean) => {
    const value = Number(part);
    return part === '' || !Number.isFinite(value) || (integer && !Number.isInteger(value))
      ? undefined
      : value;
  };
  if (option.type === 'boolean') return text === 'true' ? true : text === 'false' ? false : undefined;
  if (option.type === 'integer' || option.type === 'number') return number(text, option.type === 'integer');
  if (option.type !== 'list') return text;
  if (text === '') return [];
  const parts = text.split(',').map((part) => part.trim());
  if (option.element !== 'integer' && option.element !== 'number') return parts;
  const values = parts.map((part) => number(part, option.element === 'integer'));
  return values.includes(undefined) ? undefined : values;
}

export const optionText = (value: unknown): string =>
  Array.isArray(value)
    ? value.map(String).join(', ')
    : value === null || value === undefined
      ? ''
      : String(value);

// The settings with an option changed; back at its default it is left out.
export function withOption(settings: Settings, option: CatalogOption, value: unknown): Settings {
  const options = { ...settings.options };
  if (JSON.stringify(value) === JSON.stringify(option.default)) delete options[option.name];
  else options[option.name] = value;
  return { ...settings, options };
}
