// Models as bytes: this package's safetensors files and llama2.c checkpoints.

import * as check from './check.js';
import { modelRequest, trainRequest, type ModelConfig, type TrainOptions } from './config.js';
import type { ModelRequest } from './core.js';
import { FormatError } from './errors.js';
import { readLlama2 } from './llama2.js';
import { checkMetadata, readSafetensors, tensorFloats, writeSafetensors, type Tensor } from './safetensors.js';
import { Llama2Tokenizer } from './tokenizer.js';

/** A weight tensor of a model: where it lies among the parameters, in floats. */
export interface NamedTensor {
  name: string;
  shape: number[];
  offset: number;
  size: number;
}

/** What is needed to go on training: the options and the optimiser's opaque state. */
export interface SavedTraining {
  options: TrainOptions;
  state: Uint8Array;
}

interface ModelFile {
  config: ModelRequest;
  tensors: Map<string, { shape: number[] | undefined; data: Float32Array }>;
  training?: SavedTraining;
}

const OWN_METADATA = ['format', 'config', 'training'];
const TRAINING_TENSOR = 'training.state';

/** Takes the core's description of a model apart. */
export function describeNative(json: string): { config: ModelRequest; tensors: NamedTensor[] } {
  const { tensors, parameters: _count, ...config } = JSON.parse(json) as ModelRequest & { parameters: number; tensors: Omit<NamedTensor, 'size'>[] };
  return { config, tensors: tensors.map((t) => ({ ...t, size: t.shape.reduce((a, b) => a * b, 1) })) };
}

/** Writes a model. */
export function modelFile(
  config: ModelRequest,
  weights: Map<string, { shape: number[]; data: Float32Array }>,
  training: SavedTraining | undefined,
  metadata: Record<string, string> = {},
): Uint8Array<ArrayBuffer> {
  checkMetadata(metadata);
  for (const key of OWN_METADATA) if (Object.hasOwn(metadata, key)) throw new RangeError(`metadata.${key} cannot be given: save() writes it`);
  const tensors = new Map<string, Tensor>();
  for (const [name, { shape, data }] of weights) {
    tensors.set(name, { dtype: 'F32', shape, bytes: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) });
  }
  const texts: Record<string, string> = { ...metadata, format: 'lengthwise', config: JSON.stringify(config) };
  if (training) {
    texts['training'] = JSON.stringify(training.options);
    tensors.set(TRAINING_TENSOR, { dtype: 'U8', shape: [training.state.length], bytes: training.state });
  }
  return writeSafetensors({ metadata: texts, tensors });
}

/** Reads a model of either format. @throws FormatError */
export function readModelFile(file: Uint8Array): ModelFile {
  file = check.bytes('file', file);
  try {
    return readEither(file);
  } catch (error) {
    if (isTokenizer(file)) throw new FormatError('not a model file: it is a llama2.c tokenizer', { cause: error });
    throw error;
  }
}

function readEither(file: Uint8Array): ModelFile {
  const start = new TextDecoder('latin1').decode(file.subarray(0, 16));
  if (check.isHtml(file)) throw new FormatError('not a model file: HTML was returned instead of it');
  if (start.startsWith('GGUF')) throw new FormatError('not a model file that can be read: GGUF is not supported');
  // In a llama2.c checkpoint bytes 4 to 7 are the feed-forward width, never 0; in safetensors they are the high half of
  // a header's length, and the header starts with a brace.
  if (start[8] === '{' || start.slice(4, 8) === '\0\0\0\0') return readOwn(file);
  const { config, tensors } = readLlama2(file);
  return { config, tensors: new Map([...tensors].map(([name, data]) => [name, { shape: undefined, data }])) };
}

function isTokenizer(file: Uint8Array): boolean {
  try {
    return new Llama2Tokenizer(file).vocabulary > 0;
  } catch {
    return false;
  }
}

function readOwn(file: Uint8Array): ModelFile {
  const { metadata, tensors } = readSafetensors(file);
  if (metadata['config'] === undefined) throw new FormatError("not a model of this package: the file's metadata has no config");
  const config = readConfig(metadata['config']);
  checkClaims(config, tensors);
  const state = tensors.get(TRAINING_TENSOR);
  tensors.delete(TRAINING_TENSOR);
  const weights = new Map([...tensors].map(([name, t]) => [name, { shape: t.shape, data: tensorFloats(name, t) }]));
  if (!state) return { config, tensors: weights };
  if (state.dtype !== 'U8') throw new FormatError(`tensor '${TRAINING_TENSOR}' is ${state.dtype}; it must be U8`);
  const options: TrainOptions = parse('training', metadata['training'] ?? '');
  fileFault("the model file's training options are wrong", () => trainRequest(options));
  return { config, tensors: weights, training: { options, state: state.bytes.slice() } };
}

const STATE_HEADER = 64; // int64 steps, four 64-bit words of random generators, three doubles of the latest step

/** The optimiser's state, which the core takes as it is: a header, then the moments, the second of them squares. */
export function checkState(state: Uint8Array, parameters: number): void {
  const wanted = STATE_HEADER + 8 * parameters;
  if (state.length !== wanted) throw new FormatError(`the training state has ${state.length} bytes; this model's has ${wanted}`);
  const view = new DataView(state.buffer, state.byteOffset, state.byteLength);
  const step = view.getBigInt64(0, true);
  if (step < 0n || step > Number.MAX_SAFE_INTEGER) throw new FormatError(`the training state is damaged: it is of step ${step}`);
  // An even increment makes a generator that goes in small circles, where drawing need not end.
  if ([16, 32].some((at) => !(view.getUint8(at) & 1))) throw new FormatError('the training state is damaged: a random generator is none');
  const latest = [40, 48, 56].map((at) => view.getFloat64(at, true));
  const moments = new Float32Array(state.slice(STATE_HEADER).buffer);
  if (!latest.every(Number.isFinite) || !moments.every(Number.isFinite)) throw new FormatError('the training state is damaged: it holds numbers that are not finite');
  if (moments.subarray(parameters).some((square) => square < 0)) throw new FormatError('the training state is damaged: a mean square is negative');
}

function readConfig(text: string): ModelRequest {
  const config = parse('config', text);
  return fileFault("the model file's config is wrong", () => modelRequest(config as ModelConfig));
}

/** What is wrong with a parameter that came from a file is wrong with the file. */
export function fileFault<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError) throw new FormatError(`${what}: ${error.message}`, { cause: error });
    throw error;
  }
}

function parse(name: string, text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // fall through to the one sentence below
  }
  throw new FormatError(`the model file's ${name} is not a JSON object`);
}

/** The sizes that decide how much is allocated must be borne out by tensors that are there. */
function checkClaims(config: ModelRequest, tensors: Map<string, Tensor>): void {
  const last = `layers.${config.layers - 1}`;
  const claims: [string, number[]][] = [
    ['embedding', [config.vocabulary, config.width]],
    [`${last}.wq`, [config.width, config.width]],
    [`${last}.w2`, [config.width, config.hidden]],
  ];
  if (tensors.size < config.layers) throw new FormatError(`the model file has ${tensors.size} tensors for ${config.layers} layers`);
  for (const [name, shape] of claims) {
    const found = tensors.get(name);
    if (found?.shape.join() !== shape.join()) {
      throw new FormatError(`the model file's config asks for '${name}' of shape [${shape}]; the file has ${found ? `[${check.shorten(String(found.shape))}]` : 'no such tensor'}`);
    }
  }
}
