// Checks of what callers hand in. JavaScript's implicit conversions are silent (−1 becomes 4294967295 in C++), so every
// number is checked here, in all builds. Messages name the parameter, its value and what is allowed.

/** The largest count that sizes and positions may have: they are 32-bit integers in the core. */
export const MOST = 2 ** 31 - 1;

export function integer(name: string, value: unknown, least = -Number.MAX_SAFE_INTEGER, most = Number.MAX_SAFE_INTEGER): number {
  if (typeof value !== 'number') throw new TypeError(`${name} must be an integer, not ${describe(value)}`);
  if (!Number.isSafeInteger(value) || value < least || value > most) {
    throw new RangeError(`${name} is ${value}; it must be an integer from ${least} to ${most}`);
  }
  return value;
}

/** A size: an integer ≥ 1. */
export function count(name: string, value: unknown, most = MOST): number {
  return integer(name, value, 1, most);
}

export function finite(name: string, value: unknown, least = -Infinity, most = Infinity): number {
  if (typeof value !== 'number') throw new TypeError(`${name} must be a number, not ${describe(value)}`);
  if (!Number.isFinite(value) || value < least || value > most) {
    const range = most < Infinity ? `from ${least} to ${most}` : least > -Infinity ? `finite and at least ${least}` : 'finite';
    throw new RangeError(`${name} is ${value}; it must be ${range}`);
  }
  return value;
}

export function flag(name: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw new TypeError(`${name} must be true or false, not ${describe(value)}`);
  return value;
}

export function text(name: string, value: unknown): string {
  if (typeof value !== 'string') throw new TypeError(`${name} must be a string, not ${describe(value)}`);
  return value;
}

export function choice<T extends string>(name: string, value: unknown, choices: readonly T[]): T {
  if (!choices.includes(text(name, value) as T)) throw new RangeError(`${name} is '${shorten(value as string)}'; it must be one of ${choices.join(', ')}`);
  return value as T;
}

/** Whether it is one, of whatever realm: what comes from a frame, or under jsdom from Node, is no instance of this realm's class. */
export function isA(kind: 'Uint8Array' | 'Float32Array' | 'ArrayBuffer' | 'DataView' | 'BigInt64Array' | 'BigUint64Array' | 'URL' | 'WebAssembly.Module', value: unknown): boolean {
  return Object.prototype.toString.call(value) === `[object ${kind}]`;
}

/** A list of numbers: an array or a typed array, but not of BigInt. Elements are not looked at. */
export function numbers(name: string, value: unknown): ArrayLike<number> {
  const ok = Array.isArray(value) || (ArrayBuffer.isView(value) && !isA('DataView', value) && !isA('BigInt64Array', value) && !isA('BigUint64Array', value));
  if (!ok) throw new TypeError(`${name} must be an array of numbers, not ${describe(value)}`);
  if (ArrayBuffer.isView(value)) attached(name, value.buffer);
  return value as unknown as ArrayLike<number>;
}

/** Vectors: as Float32Array, with every element of a plain array checked to be a number. */
export function floats(name: string, value: unknown): Float32Array {
  const list = numbers(name, value);
  if (isA('Float32Array', list)) return list as Float32Array;
  for (let i = 0; i < list.length; i++) {
    if (typeof list[i] !== 'number') throw new TypeError(`${name}[${i}] must be a number, not ${describe(list[i])}`);
  }
  return Float32Array.from(list);
}

/**
 * A file's bytes. Node's Buffer becomes a plain Uint8Array: its slice() does not copy. What lies in shared or resizable
 * memory is copied: decoders and compilers of browsers refuse it, and it might change while it is read.
 */
export function bytes(name: string, value: unknown): Uint8Array {
  if (!isA('Uint8Array', value)) throw new TypeError(`${name} must be a Uint8Array, not ${describe(value)}`);
  const { buffer, byteOffset, byteLength } = value as Uint8Array;
  attached(name, buffer);
  const view = new Uint8Array(buffer, byteOffset, byteLength);
  const fixed = isA('ArrayBuffer', buffer) && !(buffer as { resizable?: boolean }).resizable;
  return fixed ? view : view.slice();
}

/** Whether they begin like a page (white space or a byte-order mark, then '<'): what servers answer for a file they lack. */
export function isHtml(bytes: Uint8Array): boolean {
  return /^[\s\uFEFF]*<[!a-z?]/i.test(new TextDecoder().decode(bytes.slice(0, 64)));
}

/** Positions: finite numbers, as doubles. They may be fractional. */
export function positions(name: string, value: unknown): Float64Array {
  const list = Float64Array.from(numbers(name, value), (p, i) => finite(`${name}[${i}]`, p, -(2 ** 53 - 1), 2 ** 53 - 1));
  if (list.length === 0) throw new RangeError(`${name} is empty; at least one position is needed`);
  return list;
}

/** Token ids: integers from 0 to vocabulary − 1. */
export function tokens(name: string, value: unknown, vocabulary: number, least = 1): Int32Array {
  const list = numbers(name, value);
  if (list.length < least) throw new RangeError(`${name} has ${list.length} tokens; at least ${least} are needed`);
  return Int32Array.from(list, (token, i) => integer(`${name}[${i}]`, token, 0, vocabulary - 1));
}

/** A buffer that was transferred elsewhere gives raw errors, or looks empty. */
export function attached(name: string, buffer: ArrayBufferLike): void {
  try {
    new Uint8Array(buffer, 0, 0);
  } catch (cause) {
    throw new TypeError(`${name} is detached: its buffer was transferred elsewhere; hand in a copy`, { cause });
  }
}

/** An array, of whatever. */
export function list(name: string, value: unknown, of: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new TypeError(`${name} must be an array of ${of}, not ${describe(value)}`);
  return value;
}

/** An object with methods, or undefined. */
export function capable(name: string, value: unknown, what: string, ...methods: string[]): void {
  if (value === undefined) return;
  const object = Object(value) as Record<string, unknown>;
  if (methods.some((method) => typeof object[method] !== 'function')) throw new TypeError(`${name} must be ${what}, not ${describe(value)}`);
}

export function signal(value: unknown): void {
  capable('signal', value, 'an AbortSignal', 'addEventListener', 'throwIfAborted');
}

/** A function, or undefined. */
export function callback(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') throw new TypeError(`${name} must be a function, not ${describe(value)}`);
}

export function object(name: string, value: unknown): asserts value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || ArrayBuffer.isView(value)) {
    throw new TypeError(`${name} must be an object, not ${describe(value)}`);
  }
}

/** Refuses keys that `allowed` does not name: a misspelt option must not be ignored. Undefined: no options at all. */
export function keys(name: string, value: unknown, allowed: readonly string[]): void {
  if (value === undefined) return;
  object(name, value);
  for (const key of Object.keys(value)) {
    if (!allowed.includes(key)) throw new TypeError(`${name} has no option '${shorten(key)}'; it may have ${allowed.join(', ') || 'none'}`);
  }
}

/** Checks that a list has the length that a shape asks for. */
export function exactly(name: string, length: number, wanted: number, shape: string): void {
  if (length !== wanted) throw new RangeError(`${name} has ${length} elements; ${shape} needs ${wanted}`);
}

/** At most 40 characters: what is echoed may come from a file and be huge. */
export function shorten(text: string): string {
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
}

/** A value in a sentence. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'string') return `the string '${shorten(value)}'`;
  if (typeof value === 'bigint') return `the BigInt ${shorten(String(value))}n`;
  if (typeof value === 'number' || typeof value === 'boolean') return `the ${typeof value} ${value}`;
  if (Array.isArray(value)) return 'an array';
  if (typeof value !== 'object') return `a ${typeof value}`;
  const name: unknown = Object(value.constructor).name; // of an object from JSON it can be anything
  return typeof name === 'string' && name ? shorten(name) : 'an object';
}
