// Models as bytes: this package's safetensors files and llama2.c checkpoints.

import { bytes as checkBytes } from './check.js';
import { modelRequest, type ModelConfig, type TrainOptions } from './config.js';
import type { ModelRequest } from './core.js';
import { FormatError } from './errors.js';
import { readLlama2 } from './llama2.js';
import { readSafetensors, tensorFloats, writeSafetensors, type Tensor } from './safetensors.js';

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
  metadata: Record<string, string>,
): Uint8Array<ArrayBuffer> {
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
  file = checkBytes('file', file);
  const start = new TextDecoder('latin1').decode(file.subarray(0, 16));
  if (/^\s*<[!a-z?]/i.test(start)) throw new FormatError('not a model file: HTML was returned instead of it');
  if (start.startsWith('GGUF')) throw new FormatError('not a model file that can be read: GGUF is not supported');
  // In a llama2.c checkpoint bytes 4 to 7 are the feed-forward width, never 0; in safetensors they are the high half of
  // a header's length, and the header starts with a brace.
  if (start[8] === '{' || start.slice(4, 8) === '\0\0\0\0') return readOwn(file);
  const { config, tensors } = readLlama2(file);
  return { config, tensors: new Map([...tensors].map(([name, data]) => [name, { shape: undefined, data }])) };
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
  return { config, tensors: weights, training: { options: parse('training', metadata['training'] ?? ''), state: state.bytes.slice() } };
}

function readConfig(text: string): ModelRequest {
  const config = parse('config', text);
  try {
    return modelRequest(config as ModelConfig);
  } catch (error) {
    throw new FormatError(`the model file's config is wrong: ${(error as Error).message}`, { cause: error });
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
      throw new FormatError(`the model file's config asks for '${name}' of shape [${shape}]; the file has ${found ? `[${found.shape}]` : 'no such tensor'}`);
    }
  }
}
