// The JSON header of a safetensors file. JSON.parse would not do: it rounds integers past 2⁵³, takes 2.0 for 2 and keeps
// the last of duplicate keys. The header's grammar is so small that a reader of just that is shorter than a work-around.

import { FormatError } from './errors.js';

/** A tensor as the header describes it; integers as in the file. */
export interface HeaderEntry {
  name: string;
  dtype: string;
  shape: bigint[];
  begin: bigint;
  end: bigint;
}

const TOKEN = /[ \t\n\r]*(?:([{}[\]:,])|("(?:[^"\\\u0000-\u001f]|\\.)*")|(0|[1-9][0-9]*)(?![0-9.eE]))/y;

export class HeaderReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): { metadata: Record<string, string>; entries: HeaderEntry[] } {
    const names = new Set<string>();
    const metadata: Record<string, string> = {};
    const entries: HeaderEntry[] = [];
    if (!this.#text.startsWith('{')) throw new FormatError('safetensors: the header does not start with {');
    this.#object((name) => {
      if (names.has(name)) throw new FormatError(`safetensors: the name '${name}' appears twice`);
      names.add(name);
      if (name === '__metadata__') this.#object((key) => define(metadata, key, this.#string()));
      else entries.push(this.#entry(name));
    });
    if (/[^ \t\n\r]/.test(this.#text.slice(this.#at))) throw new FormatError('safetensors: something follows the header');
    return { metadata, entries };
  }

  #entry(name: string): HeaderEntry {
    let dtype: string | undefined, shape: bigint[] | undefined, offsets: bigint[] | undefined;
    this.#object((key) => {
      if (key === 'dtype' && !dtype) dtype = this.#string();
      else if (key === 'shape' && !shape) shape = this.#integers();
      else if (key === 'data_offsets' && !offsets) offsets = this.#integers();
      else throw new FormatError(`safetensors: tensor '${name}' has the unexpected key '${key}'`);
    });
    const [begin, end] = offsets ?? [];
    if (dtype === undefined || !shape || begin === undefined || end === undefined || offsets?.length !== 2) {
      throw new FormatError(`safetensors: tensor '${name}' needs dtype, shape and two data_offsets`);
    }
    return { name, dtype, shape, begin, end };
  }

  #object(member: (key: string) => void): void {
    this.#expect('{');
    if (this.#accept('}')) return;
    do {
      const key = this.#string();
      this.#expect(':');
      member(key);
    } while (this.#accept(','));
    this.#expect('}');
  }

  #integers(): bigint[] {
    const list: bigint[] = [];
    this.#expect('[');
    if (this.#accept(']')) return list;
    do {
      const value = BigInt(this.#token(3, 'a non-negative integer'));
      if (value > Number.MAX_SAFE_INTEGER) throw new FormatError(`safetensors: ${value} is past 2^53 − 1`);
      list.push(value);
    } while (this.#accept(','));
    this.#expect(']');
    return list;
  }

  #string(): string {
    const source = this.#token(2, 'a string');
    try {
      return JSON.parse(source);
    } catch {
      throw new FormatError(`safetensors: ${source.slice(0, 40)} is not a JSON string`);
    }
  }

  #expect(mark: string): void {
    if (!this.#accept(mark)) throw this.#unexpected(`'${mark}'`);
  }

  #accept(mark: string): boolean {
    TOKEN.lastIndex = this.#at;
    if (TOKEN.exec(this.#text)?.[1] !== mark) return false;
    this.#at = TOKEN.lastIndex;
    return true;
  }

  #token(group: 2 | 3, what: string): string {
    TOKEN.lastIndex = this.#at;
    const found = TOKEN.exec(this.#text)?.[group];
    if (found === undefined) throw this.#unexpected(what);
    this.#at = TOKEN.lastIndex;
    return found;
  }

  #unexpected(wanted: string): FormatError {
    const found = JSON.stringify(this.#text.slice(this.#at, this.#at + 12));
    return new FormatError(`safetensors: the header has ${found} at ${this.#at} where ${wanted} should be`);
  }
}

/** Sets a property even when it is called __proto__. */
function define(object: Record<string, string>, key: string, value: string): void {
  if (Object.hasOwn(object, key)) throw new FormatError(`safetensors: the metadata '${key}' appears twice`);
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}
