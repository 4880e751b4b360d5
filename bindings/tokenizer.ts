// Text to token ids and back: bytes as they are, and the vocabularies of llama2.c models.

import * as check from './check.js';
import { FormatError } from './errors.js';
import TinyQueue from './tinyqueue.mjs';

export interface Tokenizer {
  /** How many ids there are. */
  readonly vocabulary: number;
  /** Ids of a text. `begin` (default true) puts the begin-of-text id first where the vocabulary has one. */
  encode(text: string, options?: { begin?: boolean }): number[];
  /** The text of ids. Bytes that are no UTF-8 become U+FFFD, the valid part around them is kept. */
  decode(tokens: ArrayLike<number>): string;
}

/** One id per byte of UTF-8: 256 ids, no begin-of-text. */
export class ByteTokenizer implements Tokenizer {
  readonly vocabulary = 256;

  encode(text: string, options?: { begin?: boolean }): number[] {
    checkEncode(text, options);
    return [...new TextEncoder().encode(text)];
  }

  decode(tokens: ArrayLike<number>): string {
    return new TextDecoder().decode(Uint8Array.from(check.tokens('tokens', tokens, this.vocabulary, 0)));
  }
}

const BEGIN = 1; // ids 0, 1, 2 are unknown, begin and end of text; 3 … 258 the bytes
const FIRST_BYTE = 3;
const BYTE_PIECE = /^<0x([0-9A-F]{2})>$/;

interface Merge {
  score: number;
  at: number;
  left: number;   // ids when the merge was found: it is stale when they have changed
  right: number;
  id: number;
}

/** The tokenizer.bin of llama2.c: SentencePiece BPE with scores, a dummy space in front, and single bytes as a last resort. */
export class Llama2Tokenizer implements Tokenizer {
  readonly vocabulary: number;
  readonly #pieces: Uint8Array[] = [];
  readonly #texts: string[] = []; // pieces as Latin-1, so that joining texts joins bytes
  readonly #scores: number[] = [];
  readonly #ids = new Map<string, number>();

  /**
   * @param file int32 longest piece, then for each id: float32 score, int32 length, that many bytes.
   * @param vocabulary how many ids the file must have; by default as many as it has.
   * @throws FormatError when the file is truncated or is something else.
   */
  constructor(file: Uint8Array, vocabulary?: number) {
    file = check.bytes('file', file);
    const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
    const longest = file.length >= 4 ? view.getInt32(0, true) : 0;
    if (longest < 1 || longest > 65536) {
      if (check.isHtml(file)) throw new FormatError('not a llama2.c tokenizer: HTML was returned instead of it');
      throw new FormatError(`not a llama2.c tokenizer: its longest piece would have ${longest} bytes`);
    }
    for (let at = 4; at < file.length;) {
      const length = at + 8 <= file.length ? view.getInt32(at + 4, true) : -1;
      if (length < 0 || length > longest || at + 8 + length > file.length) {
        throw new FormatError(`not a whole llama2.c tokenizer: piece ${this.#pieces.length} does not fit in the file`);
      }
      const score = view.getFloat32(at, true);
      if (Number.isNaN(score)) throw new FormatError(`llama2.c tokenizer: the score of piece ${this.#pieces.length} is not a number`);
      this.#add(file.slice(at + 8, at + 8 + length), score);
      at += 8 + length;
    }
    this.vocabulary = this.#pieces.length;
    const least = FIRST_BYTE + 256;
    if (this.vocabulary < least) throw new FormatError(`not a whole llama2.c tokenizer: ${this.vocabulary} pieces, at least ${least} are needed`);
    if (vocabulary !== undefined && check.count('vocabulary', vocabulary) !== this.vocabulary) {
      throw new FormatError(`the tokenizer has ${this.vocabulary} pieces, the model ${vocabulary}`);
    }
  }

  #add(piece: Uint8Array, score: number): void {
    const text = latin1(piece);
    const id = this.#pieces.length;
    const byte = id >= FIRST_BYTE && id < FIRST_BYTE + 256 ? BYTE_PIECE.exec(text) : null;
    this.#pieces.push(byte ? Uint8Array.of(parseInt(byte[1]!, 16)) : piece);
    this.#texts.push(text);
    this.#scores.push(score);
    // No text becomes a piece for control or a byte, however it is spelt.
    if (text && !byte && id >= FIRST_BYTE && !this.#ids.has(text)) this.#ids.set(text, id);
  }

  encode(text: string, options?: { begin?: boolean }): number[] {
    const ids: number[] = checkEncode(text, options) ? [BEGIN] : [];
    if (!text) return ids;
    const start: number[] = [];
    const space = this.#ids.get(' ');
    if (space !== undefined) start.push(space);
    for (const character of text) {
      const bytes = new TextEncoder().encode(character);
      const whole = this.#ids.get(latin1(bytes));
      if (whole !== undefined) start.push(whole);
      else for (const byte of bytes) start.push(FIRST_BYTE + byte);
    }
    return ids.concat(this.#merge(start));
  }

  /** Joins the neighbours whose union scores highest (the leftmost of equals) until no union is a piece. */
  #merge(ids: number[]): number[] {
    const next = ids.map((_, i) => i + 1);
    const previous = ids.map((_, i) => i - 1);
    const queue = new TinyQueue<Merge>([], (a, b) => b.score - a.score || a.at - b.at);
    const propose = (at: number) => {
      const right = next[at]!;
      if (at < 0 || right >= ids.length) return;
      const id = this.#ids.get(this.#texts[ids[at]!]! + this.#texts[ids[right]!]!);
      if (id !== undefined) queue.push({ score: this.#scores[id]!, at, left: ids[at]!, right: ids[right]!, id });
    };
    for (let i = 0; i + 1 < ids.length; i++) propose(i);
    for (let merge = queue.pop(); merge; merge = queue.pop()) {
      const { at, left, right, id } = merge;
      const gone = next[at]!;
      if (ids[at] !== left || gone >= ids.length || ids[gone] !== right) continue;
      ids[at] = id;
      ids[gone] = -1;
      next[at] = next[gone]!;
      if (next[at]! < ids.length) previous[next[at]!] = at;
      propose(previous[at]!);
      propose(at);
    }
    return ids.filter((id) => id >= 0);
  }

  decode(tokens: ArrayLike<number>): string {
    const parts: Uint8Array[] = [];
    check.tokens('tokens', tokens, this.vocabulary, 0).forEach((id, i, ids) => {
      if (id < FIRST_BYTE) return; // unknown, begin and end have no text
      const piece = this.#pieces[id]!;
      // The dummy space of encode() is taken off again after a begin-of-text.
      parts.push(i > 0 && ids[i - 1] === BEGIN && piece[0] === 0x20 ? piece.subarray(1) : piece);
    });
    return new TextDecoder().decode(concatenate(parts));
  }
}

/** @returns whether the begin-of-text id is wanted */
function checkEncode(text: unknown, options: { begin?: boolean } | undefined): boolean {
  check.text('text', text);
  check.keys('encode options', options, ['begin']);
  return check.flag('begin', options?.begin ?? true);
}

function latin1(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}

function concatenate(parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
