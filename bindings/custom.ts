// Encodings of your own: functions that fill the tables of the doors they open. They are called when a plan is made, for
// a whole table or a row of one at a time, and never while attention runs.

import * as check from './check.js';
import type { Core, NativeDefinition, NativeOption, NativeTables } from './core.js';
import type { EncodingShape, Pairing } from './encoding.js';
import { EncodingError, rememberCause } from './errors.js';
import { withoutReentry } from './memory.js';

/** A number that can be set in a spec, with its range. */
export interface OptionDefinition {
  default: number;
  least?: number;
  most?: number;
  /** Whole numbers only. */
  integer?: boolean;
  meaning?: string;
}

/** Options of an encoding of your own: a default number or truth value, a list of words (the first is the default). */
export type EncodingOptions = Readonly<Record<string, number | boolean | readonly string[] | OptionDefinition>>;

type OptionValue<T> = T extends boolean ? boolean : T extends readonly (infer Word)[] ? Word : number;

/** What every function gets as its last argument: the shape, and the values of the options. */
export type EncodingContext<O extends EncodingOptions = {}> =
  Readonly<Required<Omit<EncodingShape, 'seed'>> & { [K in keyof O]: OptionValue<O[K]> }>;

/**
 * An encoding of your own: one function for each door it opens. What a function returns must depend on its arguments
 * alone, because tables are kept. Nothing is learned; the doors `content` and `value` are not for functions.
 */
export interface EncodingDefinition<O extends EncodingOptions = {}> {
  /** How specs call it: a to z first, then a to z, 0 to 9 and _. */
  name: string;
  title?: string;
  title_zh?: string;
  options?: O;
  /** ids: the number that a token at `position` carries. */
  ids?(position: number, context: EncodingContext<O>): number;
  /** input: the vector `[width]` added to the embedding of a token at `position`. */
  input?(position: number, context: EncodingContext<O>): ArrayLike<number>;
  /** rotation: the angle, in radians, by which pair `pair` of q and k turns at `position`. */
  rotation?(position: number, pair: number, context: EncodingContext<O>): number;
  /** How many pairs turn (default: all, headDim / 2), and which dimensions form one (default 'interleaved'). */
  pairs?: number;
  pairing?: Pairing;
  /** bias: what is added to the score of head 0, 1, … at `distance` = query − key (negative without a causal mask). */
  bias?(head: number, distance: number, context: EncodingContext<O>): number;
  /** bias of query `i` and key `j`, the numbers that they carry, where the distance alone does not tell it. */
  biasAt?(head: number, i: number, j: number, context: EncodingContext<O>): number;
  /** pattern: whether token `i` may see token `j`, both counted from 0; the causal mask is applied afterwards. */
  pattern?(i: number, j: number, context: EncodingContext<O>): boolean;
  /** scale: the factor on the scores of a row that may see `seen` keys. */
  scale?(head: number, seen: number, context: EncodingContext<O>): number;
}

/** A module whose default export is an encoding: its address, or its text. For workers, where functions cannot be sent. */
export type EncodingModule = URL | string;

const DOORS = { ids: 1, input: 2, rotation: 4, bias: 8, biasAt: 8, pattern: 32, scale: 64 } as const;
const FUNCTIONS = Object.keys(DOORS) as (keyof typeof DOORS)[];
const KEYS = ['name', 'title', 'title_zh', 'options', ...FUNCTIONS, 'pairs', 'pairing'];
const SHAPE = ['heads', 'kvHeads', 'headDim', 'width', 'trainedLength', 'causal'];
const KINDS = { number: 0, integer: 1, flag: 2, choice: 3 } as const; // as in the core

/** Registers an encoding. @returns its name */
export function register(core: Core, definition: EncodingDefinition<any>, options: { replace?: boolean } = {}): string {
  check.keys('register options', options, ['replace']);
  const replace = check.flag('replace', options.replace ?? false);
  const native = nativeDefinition(core, definition);
  const sentence = core.registerEncoding(native, replace);
  if (sentence) throw new RangeError(sentence);
  return native.name;
}

function nativeDefinition(core: Core, definition: EncodingDefinition<any>): NativeDefinition {
  if (typeof definition !== 'object' || definition === null) throw new TypeError(`an encoding must be an object { name, … }, not ${check.describe(definition)}`);
  const name = check.text('name', definition.name);
  check.keys(`the encoding ${name}`, definition, KEYS);
  for (const door of FUNCTIONS) {
    const given: unknown = definition[door];
    if (given !== undefined && typeof given !== 'function') throw new TypeError(`${name}:${door} must be a function, not ${check.describe(given)}`);
  }
  if (definition.pairs !== undefined && !definition.rotation) throw new TypeError(`${name} has pairs but no rotation; allowed: pairs beside rotation`);
  if (definition.bias && definition.biasAt) throw new TypeError(`${name} has both bias and biasAt; allowed: one of them`);
  // Methods of a class are not its own properties, and may want their object.
  const doors = Object.fromEntries(FUNCTIONS.map((door) => [door, definition[door]?.bind(definition)]));
  const fixed = Object.freeze({ ...definition, ...doors }) as typeof definition;
  const options = Object.entries(definition.options ?? {}).map(([key, value]) => nativeOption(name, key, value));
  const title = check.text('title', definition.title ?? name);
  return {
    name, title, options,
    titleZh: check.text('title_zh', definition.title_zh ?? title),
    doors: FUNCTIONS.reduce((doors, door) => doors | (definition[door] ? DOORS[door] : 0), 0),
    byRow: definition.biasAt !== undefined,
    pairs: definition.pairs === undefined ? 0 : check.count('pairs', definition.pairs),
    half: check.choice('pairing', definition.pairing ?? 'interleaved', ['interleaved', 'half']) === 'half',
    tables(shape, values) {
      const settings = options.map((option, i) => [option.name, optionValue(option, values[i]!)]);
      return tables(core, fixed, Object.freeze({ ...shape, ...Object.fromEntries(settings) }));
    },
  };
}

function nativeOption(encoding: string, name: string, given: unknown): NativeOption {
  const what = `${encoding}:options.${name}`;
  if (name === 'name') throw new RangeError(`${what} is how a spec names the encoding; allowed: other names`);
  if (SHAPE.includes(name)) throw new RangeError(`${what} is a word of the shape; allowed: other names than ${SHAPE.join(', ')}`);
  const option = { name, kind: KINDS.number as number, initial: 0, least: -1e300, most: 1e300, choices: '', meaning: '' };
  if (typeof given === 'boolean') return { ...option, kind: KINDS.flag, initial: Number(given), least: 0, most: 1 };
  if (Array.isArray(given)) {
    const words = given.map((word, i) => check.text(`${what}[${i}]`, word));
    const bad = words.find((word) => !/^[A-Za-z0-9_]+$/.test(word));
    if (words.length === 0 || bad !== undefined) throw new RangeError(`${what} is [${words.join(', ')}]; allowed: words of letters, digits and _, at least one`);
    const twice = words.find((word, i) => words.indexOf(word) < i);
    if (twice !== undefined) throw new RangeError(`${what} has ${twice} twice; allowed: each word once`);
    return { ...option, kind: KINDS.choice, least: 0, most: words.length - 1, choices: words.join('|') };
  }
  if (typeof given === 'number') return { ...option, initial: check.finite(what, given, option.least, option.most) };
  check.object(what, given);
  check.keys(what, given, ['default', 'least', 'most', 'integer', 'meaning']);
  const { default: initial, least = option.least, most = option.most, integer = false, meaning = '' } = given as OptionDefinition;
  return {
    ...option, meaning: check.text(`${what}.meaning`, meaning),
    kind: check.flag(`${what}.integer`, integer) ? KINDS.integer : KINDS.number,
    least: check.finite(`${what}.least`, least), most: check.finite(`${what}.most`, most),
    initial: integer ? check.integer(`${what}.default`, initial, least, most) : check.finite(`${what}.default`, initial, least, most),
  };
}

function optionValue({ kind, choices }: NativeOption, value: number): number | boolean | string {
  return kind === KINDS.flag ? value !== 0 : kind === KINDS.choice ? choices.split('|')[value]! : value;
}

/** What a function returned is not what its door takes. */
class Unusable {
  constructor(readonly what: string, readonly allowed: string) {}
}

function number(value: unknown): number {
  if (typeof value !== 'number') throw new Unusable(check.describe(value), 'a number');
  return value;
}

/** What was thrown, as text, whatever it is. */
function thrown(error: unknown): string {
  try { return String(error); } catch { return 'an object without a text'; }
}

/** The tables for one shape and one choice of options. */
function tables(core: Core, own: EncodingDefinition<any>, context: EncodingContext): NativeTables {
  const { heads, headDim, width } = context;
  const pairs = own.pairs ?? headDim / 2;
  const doubles = (at: number, length: number) => core.HEAPF64.slice(at / 8, at / 8 + length);

  /** Calls a function for each cell; `cell` names the arguments of the one at which it failed. */
  const work = (door: keyof typeof DOORS, cell: () => unknown[], fill: () => void): string => {
    try {
      withoutReentry(`${own.name}:${door}`, fill);
      return '';
    } catch (error) {
      const call = `Encoding: ${own.name}:${door}(${cell().join(', ')})`;
      if (error instanceof Unusable) return `${call} is ${error.what}; allowed: ${error.allowed}`;
      return rememberCause(`${call} threw ${thrown(error)}`, error);
    }
  };
  // Results are gathered in an array of their own: if a function made the memory grow, a view of it would be gone.
  const [positionsOf, give] = [doubles, (values: Float64Array, at: number) => core.HEAPF64.set(values, at / 8)];

  return {
    ids(at, count) {
      const positions = positionsOf(at, count);
      let n = 0;
      return work('ids', () => [positions[n]], () => {
        give(Float64Array.from(positions, (p, i) => number(own.ids!(p, (n = i, context)))), at);
      });
    },
    input(at, count, out) {
      const [positions, values] = [positionsOf(at, count), new Float64Array(count * width)];
      let n = 0;
      return work('input', () => [positions[n]], () => {
        for (n = 0; n < count; n++) values.set(vector(own.input!(positions[n]!, context), width), n * width);
        give(values, out);
      });
    },
    rotation(at, count, out) {
      const [positions, values] = [positionsOf(at, count), new Float64Array(count * pairs)];
      let n = 0, pair = 0;
      return work('rotation', () => [positions[n], pair], () => {
        for (n = 0; n < count; n++) {
          for (pair = 0; pair < pairs; pair++) values[n * pairs + pair] = number(own.rotation!(positions[n]!, pair, context));
        }
        give(values, out);
      });
    },
    bias(query, at, count, out) {
      const [distances, values] = [doubles(at, count), new Float64Array(heads * count)];
      let head = 0, n = 0;
      const { bias, biasAt } = own;
      return work(bias ? 'bias' : 'biasAt', () => [head, ...(bias ? [distances[n]] : [query, query - distances[n]!])], () => {
        for (head = 0; head < heads; head++) {
          for (n = 0; n < count; n++) {
            const value = bias ? own.bias!(head, distances[n]!, context) : biasAt!.call(own, head, query, query - distances[n]!, context);
            values[head * count + n] = number(value);
          }
        }
        give(values, out);
      });
    },
    pattern(query, keys, out) {
      const values = new Uint8Array(keys);
      let key = 0;
      return work('pattern', () => [query, key], () => {
        for (key = 0; key < keys; key++) {
          const seen: unknown = own.pattern!(query, key, context);
          if (typeof seen !== 'boolean') throw new Unusable(check.describe(seen), 'true, false');
          values[key] = Number(seen);
        }
        core.HEAPU8.set(values, out);
      });
    },
    scale(at, count, out) {
      const [seen, values] = [core.HEAP32.slice(at / 4, at / 4 + count), new Float64Array(heads * count)];
      let head = 0, n = 0;
      return work('scale', () => [head, seen[n]], () => {
        for (head = 0; head < heads; head++) {
          for (n = 0; n < count; n++) values[head * count + n] = number(own.scale!(head, seen[n]!, context));
        }
        give(values, out);
      });
    },
  };
}

function vector(value: unknown, width: number): ArrayLike<number> {
  const list = Array.isArray(value) || (ArrayBuffer.isView(value) && 'length' in value) ? (value as ArrayLike<unknown>) : undefined;
  if (!list) throw new Unusable(check.describe(value), `an array of ${width} numbers`);
  if (list.length !== width) throw new Unusable(`an array of ${list.length} numbers`, `${width}, the width of the model`);
  for (let i = 0; i < width; i++) if (typeof list[i] !== 'number') throw new Unusable(`an array with ${check.describe(list[i])} at ${i}`, 'numbers');
  return list as ArrayLike<number>;
}

/** The address by which a worker imports a module: text becomes a data URL, which has the same meaning everywhere. */
export function moduleAddress(module: EncodingModule): string {
  if (check.isA('URL', module)) return (module as URL).href;
  if (typeof module !== 'string') {
    const hint = typeof module === 'object' ? ': functions cannot be sent to a worker, and need no import' : '';
    throw new TypeError(`an encoding must be the URL or the text of a module, not ${check.describe(module)}${hint}`);
  }
  if (!/\bexport\b/.test(module)) throw new RangeError('the text of an encoding exports nothing; allowed: export default { name, … }; for an address pass a URL object');
  return `data:text/javascript;charset=utf-8,${encodeURIComponent(module)}`;
}

/**
 * Imports an encoding, for `Lengthwise.register`: the default export of a module, from its URL or its text.
 * @throws EncodingError saying what a policy must allow; TypeError or RangeError for what is no module
 */
export async function importEncoding(module: EncodingModule): Promise<EncodingDefinition> {
  return importFrom(moduleAddress(module));
}

/** The same from an address that `moduleAddress` gave. */
export async function importFrom(address: string): Promise<EncodingDefinition> {
  const shown = address.startsWith('data:') ? 'its text' : address;
  let module: { default?: EncodingDefinition };
  try {
    module = await import(/* webpackIgnore: true */ /* @vite-ignore */ address);
  } catch (cause) {
    // What browsers say of a module that did not arrive; they do not tell why.
    const said = thrown(cause).replaceAll(address, shown), stopped = /dynamically imported module|importing a module script/i.test(said);
    const hint = stopped ? '. (A Content-Security-Policy must allow it in script-src: data: for a text, the origin of the module for a URL.)' : '';
    throw new EncodingError(`an encoding could not be imported from ${shown}: ${said.length > 400 ? `${said.slice(0, 400)}…` : said}${hint}`, { cause });
  }
  if (module.default === undefined) throw new EncodingError(`the module of an encoding (${shown}) has no default export; allowed: export default { name, … }`);
  return module.default;
}
