// What the cells of an experiment differ in: the values of their assignments, as people write them.

export type Assignment = Readonly<Record<string, unknown>>;

export function assignmentOf(json: string): Assignment {
  try {
    return JSON.parse(json || '{}') as Assignment;
  } catch {
    return {};
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function optionText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return `[${value.map(optionText).join(', ')}]`;
  if (isObject(value) && typeof value['$chosen'] === 'string') return `chosen in ${value['$chosen']}`;
  if (isObject(value)) return `{${pairs(value)}}`;
  return JSON.stringify(value) ?? '';
}

const pairs = (options: Record<string, unknown>) =>
  Object.entries(options)
    .map(([name, value]) => `${name}: ${optionText(value)}`)
    .join(', ');

// {"violin": {"sigma": 0.1}} is an item with its options.
function itemText(value: unknown): string {
  const entries = isObject(value) ? Object.entries(value) : [];
  const [id, options] = entries[0] ?? [];
  if (entries.length !== 1 || id === undefined || !isObject(options)) return optionText(value);
  return Object.keys(options).length === 0 ? id : `${id} {${pairs(options)}}`;
}

// A factor's value: "0.003", "violin {sigma: 0.1}", "learned-absolute + violin"; empty where the cell names none.
export function valueText(value: unknown): string {
  if (value === undefined) return '';
  return Array.isArray(value) ? value.map(itemText).join(' + ') || 'none' : itemText(value);
}

// The value of a factor in a cell's assignment, as text.
export const factorValue = (assignmentJson: string, factor: string) =>
  valueText(assignmentOf(assignmentJson)[factor]);

interface Assigned {
  assignment_json: string;
}

// Every factor with its values in the order they first occur; a cell that does not name one has the value ''.
export function factorValues(cells: readonly Assigned[]): Map<string, string[]> {
  const assignments = cells.map((cell) => assignmentOf(cell.assignment_json));
  const factors = new Set(assignments.flatMap((assignment) => Object.keys(assignment)));
  return new Map(
    [...factors].map((factor) => [
      factor,
      [...new Set(assignments.map((assignment) => valueText(assignment[factor])))],
    ]),
  );
}

// Factors by which cells can be told apart.
export const varyingFactors = (cells: readonly Assigned[]): Map<string, string[]> =>
  new Map([...factorValues(cells)].filter(([, values]) => values.length > 1));

// Factors by which rows can be grouped: those with fewer values than there are rows.
export const groupingFactors = (rows: readonly Assigned[]): string[] =>
  [...factorValues(rows)].filter(([, values]) => values.length < rows.length).map(([factor]) => factor);
