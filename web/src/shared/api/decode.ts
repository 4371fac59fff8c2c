// Reads protobuf's JSON mapping into plain typed values: int64 arrives as a string, NaN and infinities as
// words, absent fields
// mean their default. What does not fit is a DecodeError that names the field.

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
  if (isAbsent(value)) return '';
  if (typeof value !== 'string') throw new DecodeError(path, 'text', value);
  return value;
};

export const flag: Decoder<boolean> = (value, path) => {
  if (isAbsent(value)) return false;
  if (typeof value !== 'boolean') throw new DecodeError(path, 'true or false', value);
  return value;
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

// int32 and int64. Beyond 2^53 the value would change silently, so it is refused.
export const integer: Decoder<number> = (value, path) => {
  if (isAbsent(value)) return 0;
  const number = typeof value === 'string' && isDigits(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isSafeInteger(number))
    throw new DecodeError(path, 'an integer', value);
  return number;
};

const words = new Map<unknown, number>([
  ['NaN', NaN],
  ['Infinity', Infinity],
  ['-Infinity', -Infinity],
]);

export const real: Decoder<number> = (value, path) => {
  if (typeof value === 'number') return value;
  if (isAbsent(value)) return 0;
  const word = words.get(value);
  if (word !== undefined) return word;
  if (typeof value === 'string' && value.trim() !== '' && !Number.isNaN(Number(value))) return Number(value);
  throw new DecodeError(path, 'a number', value);
};

// RFC 3339 to milliseconds since the epoch; null when the message is absent.
export const timestamp: Decoder<number | null> = (value, path) => {
  if (isAbsent(value)) return null;
  const time = typeof value === 'string' ? Date.parse(value) : NaN;
  if (Number.isNaN(time)) throw new DecodeError(path, 'an RFC 3339 time', value);
  return time;
};

// The path of an item is only written out for one that fails: lists come long.
export function list<T>(item: Decoder<T>): Decoder<T[]> {
  return (value, path) => {
    if (isAbsent(value)) return [];
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

export const integers = list(integer);
export const reals = list(real);

export function dictionary<T>(item: Decoder<T>): Decoder<Record<string, T>> {
  return (value, path) => {
    if (isAbsent(value)) return {};
    if (typeof value !== 'object' || Array.isArray(value)) throw new DecodeError(path, 'an object', value);
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, item(each, `${path}.${key}`)]),
    );
  };
}

export function optional<T>(inner: Decoder<T>): Decoder<T | null> {
  return (value, path) => (isAbsent(value) ? null : inner(value, path));
}

// What the server always says: left out, it is a fault, not a default.
export function required<T>(inner: Decoder<T>): Decoder<T> {
  return (value, path) => {
    if (isAbsent(value)) throw new DecodeError(path, 'a value', value);
    return inner(value, path);
  };
}

type Shape = Record<string, Decoder<unknown>>;
type Message<S extends Shape> = { [K in keyof S]: Decoded<S[K]> };

// Unknown fields are left alone: a newer server may say more. What was parsed is changed in place: a table of thousands
// of rows would else be made twice, and half of it thrown away at once.
export function message<S extends Shape>(shape: S): Decoder<Message<S>> {
  const fields = Object.entries(shape);
  return (value, path) => {
    if (isAbsent(value)) value = {};
    if (typeof value !== 'object' || Array.isArray(value)) throw new DecodeError(path, 'a message', value);
    const source = value as Record<string, unknown>;
    for (const [key, decode] of fields) {
      const found = source[key];
      const decoded = decode(found, path === '' ? key : `${path}.${key}`);
      if (decoded !== found) source[key] = decoded;
    }
    return source as Message<S>;
  };
}
