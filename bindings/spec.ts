// How an encoding is named: 'rope:base=500000+log_n', or the same as objects.

import { describe, shorten } from './check.js';

/** An encoding by name with its options, for instance `{ name: 'rope', base: 500000, pairing: 'half' }`. */
export interface EncodingTerm {
  name: string;
  [option: string]: string | number | boolean | readonly number[];
}

/**
 * One encoding, or several that work together in one layer: text (`'alibi'`, `'random_sorted:max=512+alibi'`), an object,
 * or an array of either.
 */
export type EncodingSpec = string | EncodingTerm | readonly (string | EncodingTerm)[];

/** What one run of an experiment goes through. */
export interface Phases {
  /** Trained with this encoding, */
  trained: string;
  /** then tested with this one; null: as trained. */
  tested: string | null;
  /** Steps of fine-tuning with it before the test. */
  fineTune: number;
}

/**
 * Reads 'rope', 'rope>yarn:factor=4' or 'rope>yarn:factor=4@100': trained with what stands before the >, tested with what
 * stands behind, after 100 steps of fine-tuning with it. The encodings themselves are not looked at.
 * @throws RangeError or TypeError
 */
export function phases(spec: string): Phases {
  if (typeof spec !== 'string') throw new TypeError(`spec must be a string, not ${describe(spec)}`);
  const fail = (allowed: string) => new RangeError(`encodings has '${shorten(spec)}'; allowed: ${allowed}`);
  const [trained, behind, ...more] = spec.split('>') as [string, ...string[]];
  if (more.length) throw fail('one >, trained with what stands before it, tested with what stands behind');
  const [tested, steps, ...others] = behind?.split('@') ?? [null];
  if (trained.includes('@') || others.length) throw fail('one @, behind the encoding that is put on after training: rope>rope@100');
  if (steps !== undefined && !/^\s*0*[1-9]\d{0,6}\s*$/.test(steps)) throw fail('behind the @ how many steps of fine-tuning, 1 to 9999999');
  if (tested !== null && !(trained.trim() && tested!.trim())) throw fail('an encoding on each side of >');
  return { trained: trained.trim(), tested: tested?.trim() ?? null, fineTune: Number(steps ?? 0) };
}

/** The text form of a spec, which the core reads. @throws TypeError or RangeError naming what cannot be written in it. */
export function specText(spec: EncodingSpec): string {
  if (typeof spec === 'string') return bounded(spec);
  if (Array.isArray(spec)) {
    if (spec.length === 0) throw new RangeError("encoding is an empty array; for no encoding at all write 'nope'");
    return spec.map((term) => specText(term)).join('+');
  }
  if (typeof spec !== 'object' || spec === null) throw new TypeError(`encoding must be a string, an object or an array of these, not ${describe(spec)}`);
  const { name, ...options } = spec as EncodingTerm;
  return [word('the name', name), ...Object.entries(options).map(([key, value]) => `${word('an option', key)}=${optionText(key, value)}`)].join(':');
}

/** The core has a limit of its own for each layer; this one keeps texts beyond memory away from it. */
function bounded(spec: string): string {
  if (spec.length > 2 ** 20) throw new RangeError(`encoding has ${spec.length} characters; allowed: at most 32768 in each layer`);
  return spec;
}

function word(what: string, text: unknown): string {
  if (typeof text !== 'string') throw new TypeError(`${what} of an encoding must be a string, not ${describe(text)}`);
  if (!/^[A-Za-z0-9_]+$/.test(text)) throw new RangeError(`'${shorten(text)}' is not ${what} of an encoding: letters, digits and _ only`);
  return text;
}

function optionText(key: string, value: unknown): string {
  if (typeof value === 'string') return word(`a value of ${key}`, value);
  if (Array.isArray(value) && value.length > 0) return value.map((number, i) => numberText(`${key}[${i}]`, number)).join(';');
  if (typeof value === 'boolean') return String(value);
  return numberText(key, value);
}

function numberText(key: string, value: unknown): string {
  if (typeof value !== 'number') throw new TypeError(`${key} must be a number, a string, true or false, or an array of numbers, not ${describe(value)}`);
  if (!Number.isFinite(value)) throw new RangeError(`${key} is ${value}; it must be finite`);
  return String(value).replace('e+', 'e'); // + joins encodings
}
