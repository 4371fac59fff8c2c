// A text field with numbered lines, some of them marked. Tab leaves it, as everywhere on the page.
import type { RefObject } from 'preact';
import { useRef } from 'preact/hooks';
import type { Problem } from './specification-text';

export interface EditorProps {
  field: RefObject<HTMLTextAreaElement>;
  text: string;
  set: (text: string) => void;
  problems: readonly Problem[];
}

// Puts the caret on a line and shows it.
export function goToLine(field: HTMLTextAreaElement | null, line: number): void {
  if (!field) return;
  const lines = field.value.split('\n');
  const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  field.focus();
  field.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
}

// Puts text in the place of the selection, undoable where the browser allows it.
export function insertText(
  field: HTMLTextAreaElement | null,
  text: string,
  set: (text: string) => void,
): void {
  if (!field) return;
  field.focus();
  if (document.execCommand?.('insertText', false, text)) return;
  field.setRangeText(text, field.selectionStart, field.selectionEnd, 'end');
  set(field.value);
}

export function Editor({ field, text, set, problems }: EditorProps) {
  const gutter = useRef<HTMLOListElement>(null);
  const lines = text.split('\n').length;
  const marked = new Map(problems.map((problem) => [problem.line, problem.message]));
  const rows = Math.max(16, lines + 1);
  return (
    <div class="editor">
      <ol class="editor-lines" aria-hidden="true" ref={gutter}>
        {Array.from({ length: lines }, (_, i) => (
          <li key={i} class={marked.has(i + 1) ? 'editor-marked' : ''} title={marked.get(i + 1)}>
            {i + 1}
          </li>
        ))}
      </ol>
      <textarea
        ref={field}
        class="editor-text"
        aria-label="Specification"
        aria-invalid={problems.length > 0}
        aria-describedby="problems"
        rows={rows}
        value={text}
        spellcheck={false}
        autocapitalize="off"
        autocomplete="off"
        wrap="off"
        onInput={(event) => set(event.currentTarget.value)}
      />
    </div>
  );
}
