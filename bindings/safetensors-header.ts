// The JSON header of a safetensors file. JSON.parse would not do: it rounds integers past 2⁵³, takes 2.0 for 2 and keeps
// the last of duplicate keys. The header's grammar is so small that a reader of just that is shorter than a work-around.

import { shorten } from './check.js';
import { FormatError } from './errors.js';

/** A tensor as the header describes it; integers as in the file. */
export interface HeaderEntry {
  name: string;
  dtype: string;
  shape: bigint[];
  begin: bigint;
  end: bigint;
}

const BLANK = /[ \t\n\r]*/y;
const INTEGER = /(?:0|[1-9][0-9]*)(?![0-9.eE])/y;

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
      if (names.has(name)) throw new FormatError(`safetensors: the name '${shorten(name)}' appears twice`);
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
      else throw new FormatError(`safetensors: tensor '${shorten(name)}' has the unexpected key '${shorten(key)}'`);
    });
    const [begin, end] = offsets ?? [];
    if (dtype === undefined || !shape || begin === undefined || end === undefined || offsets?.length !== 2) {
      throw new FormatError(`safetensors: tensor '${shorten(name)}' needs dtype, shape and two data_offsets`);
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
      this.#match(BLANK);
      const digits = this.#match(INTEGER);
      if (!digits) throw this.#unexpected('a non-negative integer');
      if (digits.length > 16 || Number(digits) > Number.MAX_SAFE_INTEGER) throw new FormatError(`safetensors: ${shorten(digits)} is past 2^53 − 1`);
      list.push(BigInt(digits));
    } while (this.#accept(','));
    this.#expect(']');
    return list;
  }

  #string(): string {
    this.#match(BLANK);
    const end = this.#stringEnd();
    if (end < 0) throw this.#unexpected('a string');
    const source = this.#text.slice(this.#at, end);
    this.#at = end;
    try {
      return JSON.parse(source);
    } catch {
      throw new FormatError(`safetensors: ${shorten(source)} is not a JSON string`);
    }
  }

  /** Where the string that starts here ends, or −1. Not by a pattern: on long strings those overflow the stack. */
  #stringEnd(): number {
    if (this.#text[this.#at] !== '"') return -1;
    for (let i = this.#at + 1; ; i++) {
      const code = this.#text.charCodeAt(i);
      if (code === 0x22) return i + 1;
      if (code === 0x5c) i++;
      else if (!(code >= 0x20)) return -1; // a control character, or the end
    }
  }

  #expect(mark: string): void {
    if (!this.#accept(mark)) throw this.#unexpected(`'${mark}'`);
  }

  #accept(mark: string): boolean {
    this.#match(BLANK);
    if (this.#text[this.#at] !== mark) return false;
    this.#at++;
    return true;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    this.#at += found?.length ?? 0;
    return found;
  }

  #unexpected(wanted: string): FormatError {
    const found = JSON.stringify(this.#text.slice(this.#at, this.#at + 12));
    return new FormatError(`safetensors: the header has ${found} at ${this.#at} where ${wanted} should be`);
  }
}

/** Sets a property even when it is called __proto__. */
function define(object: Record<string, string>, key: string, value: string): void {
  if (Object.hasOwn(object, key)) throw new FormatError(`safetensors: the metadata '${shorten(key)}' appears twice`);
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}
