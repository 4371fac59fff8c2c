// CSV as RFC 4180 has it: numbers as computed, text quoted where it must be.

// Quotes what needs it; a leading formula sign is kept from running in a spreadsheet.
export function csvField(text: string): string {
  const safe = /^[=+@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

export type CsvValue = string | number | boolean | undefined;

const written = (value: CsvValue) =>
  value === undefined ? '' : typeof value === 'string' ? csvField(value) : String(value);

export function csvOf(head: readonly string[], rows: readonly (readonly CsvValue[])[]): string {
  return [head, ...rows].map((row) => `${row.map(written).join(',')}\r\n`).join('');
}
