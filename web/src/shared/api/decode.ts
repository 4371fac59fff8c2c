// Reads protobuf's JSON mapping as the server prints it (docs/formats/http.md) into plain typed values: defaults are
// printed, int64 is text, NaN and infinities are words. What lacks a field or has one of another kind is a DecodeError
// that names it: a default in its place would be a number that nobody measured.

export type Decoder<T> = (value: unknown, path: string) => T;
export type Decoded<D> = D extends Decoder<infer T> ? T : never;

export class DecodeError extends Error {
  constructor(
    private readonly path: string,
    private readonly wanted: string,
    private readonly found: unknown,
  ) {
    super(`${path}: expected ${wanted}, found ${JSON.stringify(found) ?? 'nothing'}`);
    this.name = 'DecodeError';
  }
  within(outer: string): DecodeError {
    const path = this.path === '' ? outer : `${outer}.${this.path}`;
    return new DecodeError(path, this.wanted, this.found);
  }
}

const isAbsent = (value: unknown): value is null | undefined => value === null || value === undefined;

export const text: Decoder<string> = (value, path) => {
  if (typeof value !== 'string') throw new DecodeError(path, 'text', value);
  return value;
};

export const flag: Decoder<boolean> = (value, path) => {
  if (typeof value !== 'boolean') throw new DecodeError(path, 'true or false', value);
  return value;
};

// int32.
export const integer: Decoder<number> = (value, path) => {
  if (!Number.isSafeInteger(value)) throw new DecodeError(path, 'an integer', value);
  return value as number;
};

// A page reads a hundred thousand of them: a loop is several times faster than a regular expression.
function isDigits(value: string): boolean {
  const first = value.charCodeAt(0) === 45 ? 1 : 0; // a minus
  if (value.length === first) return false;
  for (let i = first; i < value.length; i += 1) {
    const code = value.charCodeAt(i);
    if (code < 48 || code > 57) return false;
  }
  return true;
}

// int64, which comes as text. Beyond 2^53 the value would change silently, so it is refused.
export const long: Decoder<number> = (value, path) => {
  const number = typeof value === 'string' && isDigits(value) ? Number(value) : NaN;
  if (!Number.isSafeInteger(number)) throw new DecodeError(path, 'an integer as text', value);
  return number;
};

const words = new Map<unknown, number>([
  ['NaN', NaN],
  ['Infinity', Infinity],
  ['-Infinity', -Infinity],
]);

export const real: Decoder<number> = (value, path) => {
  if (typeof value === 'number') return value;
  const word = words.get(value);
  if (word === undefined) throw new DecodeError(path, 'a number', value);
  return word;
};

// RFC 3339 to milliseconds since the epoch.
export const timestamp: Decoder<number> = (value, path) => {
  const time = typeof value === 'string' ? Date.parse(value) : NaN;
  if (Number.isNaN(time)) throw new DecodeError(path, 'an RFC 3339 time', value);
  return time;
};

// The path of an item is only written out for one that fails: lists come long.
export function list<T>(item: Decoder<T>): Decoder<T[]> {
  return (value, path) => {
    if (!Array.isArray(value)) throw new DecodeError(path, 'a list', value);
    const out = new Array<T>(value.length);
    for (let i = 0; i < value.length; i += 1) {
      try {
        out[i] = item(value[i], '');
      } catch (error) {
        throw error instanceof DecodeError ? error.within(`${path}[${i}]`) : error;
      }
    }
    return out;
  };
}

function objectOf(value: unknown, path: string, wanted: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new DecodeError(path, wanted, value);
  return value as Record<string, unknown>;
}

export function dictionary<T>(item: Decoder<T>): Decoder<Record<string, T>> {
  return (value, path) =>
    Object.fromEntries(
      Object.entries(objectOf(value, path, 'an object')).map(([key, each]) => [
        key,
        item(each, `${path}.${key}`),
      ]),
    );
}

// What may be left out; null where it is.
export function optional<T>(inner: Decoder<T>): Decoder<T | null> {
  return (value, path) => (isAbsent(value) ? null : inner(value, path));
}

// What a document leaves out where it has nothing to say, as the catalog does.
export function withDefault<T>(inner: Decoder<T>, fallback: T): Decoder<T> {
  return (value, path) => (isAbsent(value) ? fallback : inner(value, path));
}

type Shape = Record<string, Decoder<unknown>>;
type Message<S extends Shape> = { [K in keyof S]: Decoded<S[K]> };

// Unknown fields are left alone: a newer server may say more. What was parsed is changed in place: a table of thousands
// of rows would else be made twice, and half of it thrown away at once.
export function message<S extends Shape>(shape: S): Decoder<Message<S>> {
  const fields = Object.entries(shape);
  return (value, path) => {
    const source = objectOf(value, path, 'a message');
    for (const [key, decode] of fields) {
      const found = source[key];
      const decoded = decode(found, path === '' ? key : `${path}.${key}`);
      if (decoded !== found) source[key] = decoded;
    }
    return source as Message<S>;
  };
}
