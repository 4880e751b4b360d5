// Texts for training and testing.

import * as check from './check.js';

/** Bytes to train on and bytes never trained on. */
export interface TextSplit {
  train: Uint8Array;
  test: Uint8Array;
}

/** A split that somebody made: texts become bytes. */
export function checkSplit(split: object): TextSplit {
  check.keys('text', split, ['train', 'test']);
  const { train, test } = split as Record<string, unknown>;
  const part = (name: string, text: unknown) => (typeof text === 'string' ? new TextEncoder().encode(text) : check.bytes(`${name}, unless it is a string,`, text));
  return { train: part('text.train', train), test: part('text.test', test) };
}

/**
 * Splits a text into a training and a test part. Of several documents whole ones go to the test, evenly spread; one text
 * is cut once, after a line end or a space where there is one nearby.
 * @param text documents, or one text: as strings or as bytes.
 * @param testShare the test's share, 0 < share < 1 (default 0.1): of documents, or of the text's length.
 */
export function splitText(text: string | Uint8Array | readonly string[], options: { testShare?: number } = {}): TextSplit {
  check.keys('split options', options, ['testShare']);
  const testShare = check.finite('testShare', options.testShare ?? 0.1, Number.EPSILON, 1 - Number.EPSILON);
  if (Array.isArray(text)) return splitDocuments(text, testShare);
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : check.bytes('text, unless it is a string or an array of strings,', text);
  if (bytes.length < 2) throw new RangeError(`text has ${bytes.length} bytes; at least 2 are needed`);
  const cut = nearbyBreak(bytes, Math.min(Math.max(Math.round(bytes.length * (1 - testShare)), 1), bytes.length - 1));
  return { train: bytes.slice(0, cut), test: bytes.slice(cut) };
}

function splitDocuments(documents: readonly string[], testShare: number): TextSplit {
  if (documents.length < 2) throw new RangeError(`text has ${documents.length} documents; at least 2 are needed to split by document`);
  const tests = Math.min(Math.max(Math.round(documents.length * testShare), 1), documents.length - 1);
  const train: string[] = [], test: string[] = [];
  // Document i goes to the test whenever i·tests/n passes a half: the middle of each of `tests` equal stretches.
  documents.forEach((document, i) => {
    if (typeof document !== 'string') throw new TypeError(`text[${i}] must be a string, not ${check.describe(document)}`);
    const passes = Math.floor((i + 1) * tests / documents.length + 0.5) > Math.floor(i * tests / documents.length + 0.5);
    (passes ? test : train).push(document);
  });
  const encode = (parts: string[]) => new TextEncoder().encode(parts.join('\n'));
  return { train: encode(train), test: encode(test) };
}

/** The place after the first line end, else space, in the 200 bytes from `at`, or a tenth of what is left; else `at`. */
function nearbyBreak(bytes: Uint8Array, at: number): number {
  const near = bytes.subarray(at, at + Math.min(200, Math.floor((bytes.length - at) / 10)));
  for (const mark of [0x0a, 0x20]) {
    const found = near.indexOf(mark);
    if (found >= 0) return at + found + 1;
  }
  return at;
}
