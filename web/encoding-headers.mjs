// The page of an encoding is made from its descriptor and from the comment that its C++ file opens with:
//   // Title (door: …). Paper.
//   //   equation
//   // notes: ranges, what it starts from, what it goes with
// A file without an equation, or without a paper, stops the build.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const name = 'virtual:encoding-headers';
const position = (path) => fileURLToPath(new URL(`../src/position/${path}`, import.meta.url));

/** @returns {{ equation: string[], notes: string }} */
export function readHeader(file, source) {
  const comment = /^(\/\/.*\n)+/.exec(source)?.[0].trimEnd().split('\n').map((line) => line.slice(2)) ?? [];
  const isEquation = (line) => line.startsWith('   ');
  const first = comment.findIndex(isEquation);
  if (first < 1) throw new Error(`${file} must open with a title and then its equation, in lines that begin with "//   "`);
  if (!/\.paper\s*=\s*"[^"]/.test(source)) throw new Error(`${file} names no paper`);
  const equation = comment.slice(first).filter(isEquation).map((line) => line.slice(3));
  return { equation, notes: comment.slice(first).filter((line) => !isEquation(line)).map((line) => line.trim()).join(' ') };
}

/** The headers of the whole catalogue, by name. */
export function readHeaders() {
  const names = [...readFileSync(position('catalogue.h'), 'utf8').matchAll(/^ {2}X\((\w+)\)/gm)].map((match) => match[1]);
  return Object.fromEntries(names.map((encoding) => {
    const file = `encodings/${encoding}.cpp`;
    return [encoding, readHeader(file, readFileSync(position(file), 'utf8'))];
  }));
}

/** @returns {import('vite').Plugin} */
export function encodingHeaders() {
  return {
    name: 'encoding-headers',
    resolveId: (id) => (id === name ? `\0${name}` : undefined),
    load: (id) => (id === `\0${name}` ? `export const headers = ${JSON.stringify(readHeaders())};` : undefined),
  };
}
