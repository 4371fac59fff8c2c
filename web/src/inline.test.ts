// The server's content security policy lets nothing inline run: what would need it is written nowhere.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const forbidden = new RegExp(
  String.raw`\b(inner|outer)HTML\s*=|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|` +
    String.raw`setAttribute\(\s*['"](style|on)|\beval\(|new Function\(`,
);

test('no module writes markup, inline styles or code', () => {
  const files = readdirSync(__dirname, { recursive: true, encoding: 'utf8' }).filter(
    (file) => /\.tsx?$/.test(file) && !/\.test\.tsx?$/.test(file),
  );
  expect(files.length).toBeGreaterThan(50);
  expect(files.filter((file) => forbidden.test(readFileSync(join(__dirname, file), 'utf8')))).toEqual([]);
});
