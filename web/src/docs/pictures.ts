// What there is to see of an encoding, door by door, computed by the library itself. Plain data; picture.ts draws it.
import type { Encoding, EncodingShape, Lengthwise } from 'lengthwise';
import type { Door } from '../theme.ts';
import { contentPictures } from './content.ts';

export type Axis = 'token' | 'position' | 'query' | 'key' | 'distance' | 'pair' | 'column' | 'number' | 'bias' | 'factor' | 'wavelength' | 'gain';
export type What = 'numbers' | 'distances' | 'distanceCurve' | 'vectors' | 'turns' | 'wavelengths' | 'gains' | 'biases' | 'hides' | 'biasCurves' | 'pattern' | 'scales'
  | 'weights' | 'term' | 'read';

interface Common { what: What; door: Door | 'none'; x: Axis; y: Axis; head?: number }
/** Rows go down. What is not finite (hidden keys) stays blank. */
export interface MapPicture extends Common { kind: 'map'; columns: number; rows: number; data: Float32Array | Uint8Array }
export interface CurvesPicture extends Common { kind: 'curves'; lines: Line[]; rules: number[]; log?: boolean; steps?: boolean }
export interface Line { name: string; points: [x: number, y: number][] }
/** Nothing to draw; the page has a sentence for each reason. */
export interface Sentence { kind: 'sentence'; reason: 'noDoor' | 'mixes' }
export type Picture = MapPicture | CurvesPicture | Sentence;

/** `tokens`: how many, unless the encoding reads tokens: then there are as many as `text` has bytes. */
export interface Scene { tokens: number; head: number; causal: boolean; text: string }
export interface Seen { pictures: Picture[]; readsTokens: boolean; letters: Letter[] }

export const trainedLength = 64;
export const heads = 4;
export const mostTokens = 256;
export const shape: EncodingShape = { heads, headDim: 32, width: 64, trainedLength };

/** A sample for encodings that look at which tokens there are: the bytes of a text. */
const tokensOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const sample = ({ text }: Scene): Uint8Array => tokensOf(text || ' ').subarray(0, mostTokens);

/** A character of that text, in the middle of its tokens: one of several bytes has several. */
export interface Letter { letter: string; token: number }

function lettersOf(text: string): Letter[] {
  let bytes = 0;
  return Array.from(new Intl.Segmenter().segment(text), ({ segment }) => {
    const first = bytes, last = (bytes += tokensOf(segment).length) - 1;
    return { letter: segment, token: (first + last) / 2 };
  });
}

export function make(lw: Lengthwise, spec: string, scene: Scene, changes: EncodingShape = {}): Encoding {
  const encoding = lw.encoding(spec, { ...shape, causal: scene.causal, ...changes });
  if (encoding.readsTokens) encoding.setTokens(sample(scene));
  return encoding;
}

/** Everything there is to see. @throws RangeError with the library's own sentence. */
export function pictures(lw: Lengthwise, spec: string, asked: Scene): Seen {
  const encoding = make(lw, spec, asked);
  const open = new Set(encoding.doors), { readsTokens } = encoding;
  const scene = readsTokens ? { ...asked, tokens: sample(asked).length } : asked;
  const all: Picture[] = [];
  try {
    if (open.size === 0) all.push({ kind: 'sentence', reason: 'noDoor' });
    if (open.has('ids')) all.push(...idsPictures(lw, encoding, spec, scene));
    if (open.has('input')) all.push(inputPicture(encoding, scene));
    if (open.has('rotation')) all.push(...rotationPictures(encoding, scene));
    if (open.has('bias')) all.push(...biasPictures(encoding, scene));
    if (open.has('content')) all.push(...contentPictures(lw, spec, scene));
    if (open.has('pattern') || open.size === 0) all.push(patternPicture(encoding, scene, open.size ? 'pattern' : 'none'));
    if (open.has('scale')) all.push(scalePicture(encoding, scene));
  } finally {
    encoding.dispose();
  }
  return { pictures: all, readsTokens, letters: readsTokens ? lettersOf(scene.text).filter(({ token }) => token < scene.tokens) : [] };
}

// What a wrapper does is seen through what it wraps: all pairs of rope:base=1 turn by the coordinate itself, and a bias of
// alibi with one head is the distance times a power of two. One column of a table that it may learn is enough for that.
function idsPictures(lw: Lengthwise, encoding: Encoding, spec: string, scene: Scene): Picture[] {
  const { tokens } = scene, narrow = encoding.learned ? { width: 1 } : {};
  const numbers = coordinates(lw, spec, scene, narrow) ?? [Array.from(encoding.positions(tokens))];
  const seen = distances(lw, spec, scene, narrow);
  if (seen.length && numbers[0]!.every((number, i) => number === i)) return seen; // the numbers stay, distances between them change
  const lines = numbers.map((line, i) => ({ name: numbers.length > 1 ? String(i + 1) : '', points: line.map((y, x): [number, number] => [x, y]) }));
  return [{ kind: 'curves', what: 'numbers', door: 'ids', x: 'token', y: 'number', lines, rules: [], steps: true }, ...seen.slice(0, 1)];
}

/** The lines of numbers that pairs turn by, where they differ; nothing where all pairs turn by one. */
function coordinates(lw: Lengthwise, spec: string, scene: Scene, changes: EncodingShape): number[][] | undefined {
  const slowness = 2 ** 14;
  const turning = make(lw, `${spec}+rope:base=1:factor=${slowness}`, scene, changes);
  const { cos, sin, pairs } = turning.rotation(scene.tokens);
  turning.dispose();
  const angle = (k: number) => Array.from({ length: scene.tokens }, (_, i) => Math.round(100 * slowness * Math.atan2(sin[i * pairs + k]!, cos[i * pairs + k]!)) / 100);
  const lines = new Map(Array.from({ length: pairs }, (_, k) => [angle(k).join(), angle(k)]));
  return lines.size > 1 ? [...lines.values()] : undefined;
}

function distances(lw: Lengthwise, spec: string, scene: Scene, changes: EncodingShape): Picture[] {
  const { tokens } = scene;
  let bias: Float32Array;
  try {
    const measure = make(lw, `${spec}+alibi`, scene, { ...changes, heads: 1 });
    bias = measure.bias(tokens);
    measure.dispose();
  } catch {
    return []; // it goes with a rotation only
  }
  const data = hidden(bias.map((b) => -b * 256), tokens, scene.causal);
  const last = data.subarray(-tokens), points = Array.from(last, (y, j): [number, number] => [tokens - 1 - j, y]);
  return [
    { kind: 'map', what: 'distances', door: 'ids', x: 'key', y: 'query', columns: tokens, rows: tokens, data },
    { kind: 'curves', what: 'distanceCurve', door: 'ids', x: 'distance', y: 'distance', lines: [{ name: '', points }], rules: [trainedLength], steps: true },
  ];
}

function inputPicture(encoding: Encoding, { tokens }: Scene): Picture {
  if (encoding.mixes) return { kind: 'sentence', reason: 'mixes' };
  const data = encoding.table(tokens);
  return { kind: 'map', what: 'vectors', door: 'input', x: 'column', y: 'position', columns: encoding.shape.width, rows: tokens, data };
}

function rotationPictures(encoding: Encoding, { tokens }: Scene): Picture[] {
  const { cos, sin, pairs } = encoding.rotation(tokens);
  const gain = cos.map((c, i) => Math.hypot(c, sin[i]!));
  const waves = encoding.inverseFrequencies({ length: tokens });
  const all: Picture[] = [
    { kind: 'map', what: 'turns', door: 'rotation', x: 'pair', y: 'position', columns: pairs, rows: tokens, data: cos.map((c, i) => c / gain[i]!) },
    { kind: 'curves', what: 'wavelengths', door: 'rotation', x: 'pair', y: 'wavelength', log: true, rules: [trainedLength],
      lines: [{ name: '', points: Array.from(waves, (f, k): [number, number] => [k, (2 * Math.PI) / f]).filter(([, y]) => Number.isFinite(y)) }] },
  ];
  if (gain.some((g) => Math.abs(g - 1) > 1e-5)) {
    const lines = Array.from({ length: pairs }, (_, k) => ({ name: String(k), points: Array.from({ length: tokens }, (_, p): [number, number] => [p, gain[p * pairs + k]!]) }));
    all.push({ kind: 'curves', what: 'gains', door: 'rotation', x: 'position', y: 'gain', lines: together(lines), rules: [] });
  }
  return all;
}

function biasPictures(encoding: Encoding, { tokens, head, causal }: Scene): Picture[] {
  const bias = encoding.bias(tokens);
  const ofHead = (h: number) => bias.subarray(h * tokens * tokens, (h + 1) * tokens * tokens);
  const query = causal ? tokens - 1 : tokens >> 1;
  const curve = (h: number) => Array.from({ length: causal ? tokens : tokens - 1 }, (_, j): [number, number] => [query - j, ofHead(h)[query * tokens + j]!])
    .filter(([, y]) => Number.isFinite(y));
  const map = { kind: 'map', door: 'bias', x: 'key', y: 'query', columns: tokens, rows: tokens } as const;
  const shown = hidden(ofHead(head), tokens, causal), every = Array.from({ length: heads }, (_, h) => hidden(ofHead(h), tokens, causal));
  const alike = every.every((one) => one.every((v, at) => v === shown[at] || Number.isNaN(v)));
  if (alike && shown.includes(-Infinity) && shown.every((v) => !v || v === -Infinity)) return [{ ...map, what: 'hides', data: shown.map((v) => (v === 0 ? 1 : v === -Infinity ? 0 : v)) }];
  return [
    { ...map, what: 'biases', data: shown, ...(alike ? {} : { head }) },
    { kind: 'curves', what: 'biasCurves', door: 'bias', x: 'distance', y: 'bias', lines: together(Array.from({ length: heads }, (_, h) => ({ name: String(h + 1), points: curve(h) }))), rules: [trainedLength] },
  ];
}

function patternPicture(encoding: Encoding, { tokens }: Scene, door: Door | 'none'): Picture {
  return { kind: 'map', what: 'pattern', door, x: 'key', y: 'query', columns: tokens, rows: tokens, data: encoding.pattern(tokens) };
}

function scalePicture(encoding: Encoding, { tokens }: Scene): Picture {
  const scale = encoding.scale(tokens);
  const line = (h: number): Line => ({ name: String(h + 1), points: Array.from(scale.subarray(h * tokens, (h + 1) * tokens), (y, x): [number, number] => [x, y]) });
  const lines = together(Array.from({ length: heads }, (_, h) => line(h)));
  return { kind: 'curves', what: 'scales', door: 'scale', x: 'query', y: 'factor', lines, rules: [trainedLength] };
}

/** One line without a name where all are the same. */
function together(lines: Line[]): Line[] {
  const same = lines.every(({ points }) => points.every(([, y], i) => Math.abs(y - lines[0]!.points[i]![1]) < 1e-5));
  return same ? [{ ...lines[0]!, name: '' }] : lines;
}

/** A copy in which the keys that a causal mask hides are blank. */
function hidden(map: Float32Array, tokens: number, causal: boolean): Float32Array {
  return map.map((v, at) => (causal && at % tokens > Math.floor(at / tokens) ? NaN : v));
}
