// Reads protobuf's JSON mapping into plain typed values: int64 arrives as a string, NaN and infinities as
// words, absent fields
// mean their default. What does not fit is a DecodeError that names the field.

export type Decoder<T> = (value: unknown, path: string) => T;
export type Decoded<D> = D extends Decoder<infer T> ? T : never;

export class DecodeError extends Error {
  constructor(path: string, wanted: string, found: unknown) {
    super(`${path}: expected ${wanted}, found ${JSON.stringify(found) ?? 'nothing'}`);
    this.name = 'DecodeError';
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

// int32 and int64. Beyond 2^53 the value would change silently, so it is refused.
export const integer: Decoder<number> = (value, path) => {
  if (isAbsent(value)) return 0;
  const number = typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value;
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
  if (isAbsent(value)) return 0;
  if (typeof value === 'number') return value;
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

export function list<T>(item: Decoder<T>): Decoder<T[]> {
  return (value, path) => {
    if (isAbsent(value)) return [];
    if (!Array.isArray(value)) throw new DecodeError(path, 'a list', value);
    return value.map((each, i) => {
      try {
        return item(each, '');
      } catch {
        return item(each, `${path}[${i}]`); // now with its path, for the message
      }
    });
  };
}

// Lists come long: the path of an item is only written out for the one that fails.
function numbers(item: Decoder<number>): Decoder<number[]> {
  return (value, path) => {
    if (isAbsent(value)) return [];
    if (!Array.isArray(value)) throw new DecodeError(path, 'a list', value);
    return value.map((each: unknown) => {
      try {
        return item(each, '');
      } catch {
        return item(each, `${path}[${value.indexOf(each)}]`);
      }
    });
  };
}
export const integers = numbers(integer);
export const reals = numbers(real);

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

type Shape = Record<string, Decoder<unknown>>;
type Message<S extends Shape> = { [K in keyof S]: Decoded<S[K]> };

// Unknown fields are ignored: a newer server may say more.
export function message<S extends Shape>(shape: S): Decoder<Message<S>> {
  const fields = Object.entries(shape);
  return (value, path) => {
    if (isAbsent(value)) value = {};
    if (typeof value !== 'object' || Array.isArray(value)) throw new DecodeError(path, 'a message', value);
    const source = value as Record<string, unknown>;
    const out: Record<string, unknown> = {};
    for (const [key, decode] of fields) out[key] = decode(source[key], path === '' ? key : `${path}.${key}`);
    return out as Message<S>;
  };
}
