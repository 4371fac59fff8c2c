// A formula typeset from plain text: "lambda_c^|pi_c(i) - pi_c(j)|" with Greek letters, raised and lowered
// parts. What it does not know stays as written.
import { type ComponentChildren, Fragment } from 'preact';

const greek: Record<string, string> = {
  alpha: 'α', beta: 'β', gamma: 'γ', delta: 'δ', epsilon: 'ε', eps: 'ε', eta: 'η', theta: 'θ', kappa: 'κ',
  lambda: 'λ', mu: 'μ', nu: 'ν', xi: 'ξ', pi: 'π', rho: 'ρ', sigma: 'σ', tau: 'τ', phi: 'φ', psi: 'ψ',
  omega: 'ω', Delta: 'Δ', Gamma: 'Γ', Lambda: 'Λ', Sigma: 'Σ', Omega: 'Ω',
}; // prettier-ignore
const words: Record<string, string> = { sqrt: '√', infinity: '∞', sum: '∑', prod: '∏', in: '∈' };
const signs: readonly [string, string][] = [
  ['->', '→'],
  ['<=', '≤'],
  ['>=', '≥'],
  ['!=', '≠'],
  ['...', '…'],
  ['+-', '±'],
  ['-', '−'],
  ['*', '·'],
  ["'", '′'],
];
const closing: Record<string, string> = { '(': ')', '{': '}', '[': ']', '|': '|' };

// The index just past the bracket that closes the one at `from`; the end when none does.
function pastBracket(text: string, from: number): number {
  const open = text[from]!;
  const close = closing[open]!;
  let depth = 0;
  for (let i = from; i < text.length; i += 1) {
    if (open !== close && text[i] === open) depth += 1;
    else if (text[i] === close && i > from) {
      if (open === close) return i + 1;
      depth -= 1;
      if (depth === 0) return i + 1;
    }
  }
  return text.length;
}

// What is raised or lowered after the sign at `at`: a bracket, a number, or one word with its own argument.
function script(text: string, at: number): { inner: string; end: number } {
  const first = text[at] ?? '';
  if (first in closing) {
    const end = pastBracket(text, at);
    const bare = first === '{' || first === '(';
    return { inner: bare ? text.slice(at + 1, end - 1) : text.slice(at, end), end };
  }
  const found = /^(-?[A-Za-z0-9]+'?)/.exec(text.slice(at));
  return found ? { inner: found[1]!, end: at + found[1]!.length } : { inner: '', end: at };
}

function word(name: string): ComponentChildren {
  const letter = greek[name] ?? words[name];
  if (letter !== undefined) return greek[name] ? <i>{letter}</i> : letter;
  return name.length === 1 ? <i>{name}</i> : name;
}

export function typeset(text: string): ComponentChildren[] {
  const out: ComponentChildren[] = [];
  for (let i = 0; i < text.length; ) {
    const sign = text[i]!;
    if ((sign === '_' || sign === '^') && i > 0) {
      const { inner, end } = script(text, i + 1);
      if (end > i + 1) {
        out.push(sign === '_' ? <sub>{typeset(inner)}</sub> : <sup>{typeset(inner)}</sup>);
        i = end;
        continue;
      }
    }
    const name = /^[A-Za-z]+/.exec(text.slice(i))?.[0];
    if (name) {
      const prose = name === 'in' && /^ +[a-z]{2,}/.test(text.slice(i + name.length)); // "in the field of view"
      out.push(prose ? name : word(name));
      i += name.length;
      continue;
    }
    const found = signs.find(([plain]) => text.startsWith(plain, i));
    out.push(found ? found[1] : sign);
    i += found ? found[0].length : 1;
  }
  return out;
}

export function Formula({ text }: { text: string }) {
  return (
    <span class="formula" role="math" aria-label={text}>
      {typeset(text).map((part, i) => (
        <Fragment key={i}>{part}</Fragment>
      ))}
    </span>
  );
}
