// A specification as text: read as YAML (of which JSON is a part), its fields found again by line.
import { Document, isCollection, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';

export interface Problem {
  line: number; // from 1
  field: string; // empty: the text itself
  message: string;
}

export interface ReadText {
  json: string | null; // null: it cannot be read
  problems: Problem[];
  lineOf: (field: string) => number;
}

type Step = string | number;

// "matrix.prior[2].violin" -> ["matrix", "prior", 2, "violin"].
export function stepsOf(field: string): Step[] {
  return [...field.matchAll(/([^.[\]]+)|\[(\d+)\]/g)].map((found) =>
    found[1] !== undefined ? found[1] : Number(found[2]),
  );
}

// The deepest line on the way to a field. A key may hold dots of its own ("train.lr" below "matrix"), so the
// longest key that fits is taken.
function lineIn(root: Node | null, steps: readonly Step[], lines: LineCounter): number {
  let line = 1;
  let node: unknown = root;
  const visit = (found: unknown) => {
    const range = (found as Node | null)?.range;
    if (range) line = lines.linePos(range[0]).line;
  };
  for (let i = 0; i < steps.length; ) {
    if (isSeq(node) && typeof steps[i] === 'number') {
      node = node.items[steps[i] as number];
      visit(node);
      i += 1;
      continue;
    }
    if (!isMap(node)) return line;
    const map = node;
    let taken = 0;
    for (let length = steps.length - i; length > 0 && taken === 0; length -= 1) {
      const key = steps.slice(i, i + length).join('.');
      const pair = map.items.find((each) => isScalar(each.key) && String(each.key.value) === key);
      if (!pair) continue;
      visit(pair.key);
      node = pair.value;
      taken = length;
    }
    if (taken === 0) return line;
    i += taken;
  }
  return line;
}

// Whole numbers that JavaScript would change silently.
function unsafeNumbers(document: Document.Parsed, lines: LineCounter): Problem[] {
  const problems: Problem[] = [];
  const walk = (node: unknown) => {
    if (isScalar(node)) {
      const { value, range } = node;
      if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value))
        problems.push({
          line: range ? lines.linePos(range[0]).line : 1,
          field: '',
          message: `${node.source ?? value} is too large to be exact here; submit it with the command line`,
        });
    } else if (isMap(node)) node.items.forEach((pair) => walk(pair.value));
    else if (isSeq(node)) node.items.forEach(walk);
  };
  walk(document.contents);
  return problems;
}

// Hostile text (endless nesting, bombs of aliases) is an error in it, not in the page.
export function readText(text: string): ReadText {
  try {
    return readDocument(text);
  } catch (error) {
    const message = error instanceof RangeError ? 'it is nested too deeply' : (error as Error).message;
    return { json: null, problems: [{ line: 1, field: '', message }], lineOf: () => 1 };
  }
}

function readDocument(text: string): ReadText {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, schema: 'core', prettyErrors: false });
  const lineOf = (field: string) => lineIn(document.contents, stepsOf(field), lines);
  const problems = document.errors.map((error) => ({
    line: lines.linePos(error.pos[0]).line,
    field: '',
    message: error.message,
  }));
  if (problems.length > 0) return { json: null, problems, lineOf };
  const unsafe = unsafeNumbers(document, lines);
  if (unsafe.length > 0) return { json: null, problems: unsafe, lineOf };
  if (!isMap(document.contents))
    return {
      json: null,
      problems: [{ line: 1, field: '', message: 'a specification is a list of keys with values' }],
      lineOf,
    };
  return { json: JSON.stringify(document.toJS({ maxAliasCount: 100 })), problems: [], lineOf };
}

const inlineMost = 88;

// A stored specification as YAML that reads like one written by hand: short groups on one line.
export function textOf(specJson: string, name?: string): string {
  const value = JSON.parse(specJson) as Record<string, unknown>;
  if (name !== undefined) value['name'] = name;
  const order = ['version', 'name', 'owner', 'description', 'dataset', 'task', 'model', 'train', 'prior'];
  const keys = [
    ...order.filter((key) => key in value),
    ...Object.keys(value).filter((k) => !order.includes(k)),
  ];
  const document = new Document(Object.fromEntries(keys.map((key) => [key, value[key]])));
  const tidy = (node: unknown): void => {
    if (!isCollection(node)) return;
    if (JSON.stringify(node).length <= inlineMost) node.flow = true;
    else if (isMap(node)) node.items.forEach((pair) => tidy(pair.value));
    else if (isSeq(node)) node.items.forEach(tidy);
  };
  if (isMap(document.contents)) document.contents.items.forEach((pair) => tidy(pair.value));
  return document.toString({ flowCollectionPadding: false, lineWidth: 110 });
}
