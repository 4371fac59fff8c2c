// Which folder may import which, and that no import leads back to where it came from. The graph is read with
// TypeScript's own scanner: type imports and import() count.
import { readdirSync, readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';

// A folder and those it may import besides itself; "features/*" is each page's folder, which sees no other page's.
const rooms: Record<string, readonly string[]> = {
  shared: [],
  'shared/api': ['shared'],
  'shared/ui': ['shared', 'shared/api'],
  'shared/charts': ['shared', 'shared/api', 'shared/ui'],
  'shared/tables': ['shared', 'shared/api', 'shared/ui'],
  'shared/annotations': ['shared', 'shared/api', 'shared/ui'],
  parts: ['shared', 'shared/*'],
  'features/*': ['parts', 'shared', 'shared/*'],
  app: ['features/*', 'parts', 'shared', 'shared/*'],
};

type Graph = ReadonlyMap<string, readonly string[]>; // files, and what each imports

function roomOf(file: string): string {
  const [first, second, third] = file.split('/') as [string, string, string?];
  const inner = `${first}/${second}`;
  return third !== undefined && (first === 'features' || inner in rooms) ? inner : first;
}

const matches = (room: string, pattern: string) =>
  pattern.endsWith('/*') ? room.startsWith(pattern.slice(0, -1)) : room === pattern;

function trespasses(graph: Graph): string[] {
  return [...graph].flatMap(([file, targets]) => {
    const room = roomOf(file);
    const allowed = Object.entries(rooms).find(([pattern]) => matches(room, pattern))?.[1];
    if (!allowed) return [`${file} is in no folder of the table`];
    return targets
      .filter((target) => roomOf(target) !== room && !allowed.some((each) => matches(roomOf(target), each)))
      .map((target) => `${file} imports ${target}`);
  });
}

// Every circle that a walk through the graph closes, as the files on it.
function circles(graph: Graph): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, way: readonly string[]) => {
    const from = way.indexOf(file);
    if (from >= 0) found.push([...way.slice(from), file].join(' → '));
    if (from >= 0 || done.has(file)) return;
    for (const target of graph.get(file) ?? []) visit(target, [...way, file]);
    done.add(file);
  };
  for (const file of graph.keys()) visit(file, []);
  return found;
}

const isSource = (file: string) => /\.tsx?$/.test(file) && !/\.test\.|(^|\/)test-/.test(file);

function readGraph(root: string): Graph {
  const files = (readdirSync(root, { recursive: true }) as string[]).filter(isSource);
  const known = new Set(files);
  const importsOf = (file: string) =>
    ts
      .preProcessFile(readFileSync(join(root, file), 'utf8'))
      .importedFiles.map(({ fileName }) => fileName)
      .filter((name) => /^(@\/|\.)/.test(name) && !name.endsWith('.css'))
      .map((name) => normalize(name.startsWith('@/') ? name.slice(2) : join(file, '..', name)))
      .map(
        (path) => [path, `${path}.ts`, `${path}.tsx`].find((each) => known.has(each)) ?? `missing/${path}`,
      );
  return new Map(files.map((file) => [file, importsOf(file)]));
}

const graph = readGraph('src');

describe('the dashboard', () => {
  test('has no circle of imports', () => expect(circles(graph)).toEqual([]));
  test('imports only from the folders below', () => expect(trespasses(graph)).toEqual([]));
  test('is read whole: the entry reaches every page', () => {
    const seen = new Set<string>();
    const visit = (file: string): void => {
      if (seen.has(file)) return;
      seen.add(file);
      graph.get(file)?.forEach(visit);
    };
    visit('app/main.tsx');
    expect([...graph.keys()].filter((file) => /-page\.tsx$/.test(file) && !seen.has(file))).toEqual([]);
  });
});

describe('the check', () => {
  test('tells a circle by the files on it', () => {
    const planted = new Map([
      ['app/main.tsx', ['shared/a.ts']],
      ['shared/a.ts', ['shared/b.ts']],
      ['shared/b.ts', ['shared/a.ts']],
    ]);
    expect(circles(planted)).toEqual(['shared/a.ts → shared/b.ts → shared/a.ts']);
  });
  test('tells an import from above, from another page and from nowhere', () => {
    const planted = new Map([
      ['shared/ui/a.ts', ['app/shell.tsx', 'shared/format.ts']],
      ['features/trial/a.ts', ['features/compare/b.ts', 'features/trial/c.ts', 'missing/x']],
    ]);
    expect(trespasses(planted)).toEqual([
      'shared/ui/a.ts imports app/shell.tsx',
      'features/trial/a.ts imports features/compare/b.ts',
      'features/trial/a.ts imports missing/x',
    ]);
  });
});
