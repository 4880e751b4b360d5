// Model and training configurations: their defaults, and the checks that need more than a range.

import * as check from './check.js';
import type { ModelRequest, TrainRequest } from './core.js';
import { specText, type EncodingSpec } from './spec.js';

/** A decoder-only, pre-norm transformer. */
export interface ModelConfig {
  /** Token ids are 0 … vocabulary − 1 (default 256: bytes). */
  vocabulary?: number;
  /** Width of the residual stream (default 64). */
  width?: number;
  /** Default 4. */
  layers?: number;
  /** Query heads (default 4); a divisor of `width`. */
  heads?: number;
  /** Key/value heads, a divisor of `heads` (default `heads`). */
  kvHeads?: number;
  /** Width inside the feed-forward layer (default 4·width for gelu, ⌈8/3·width⌉ for swiglu). */
  hidden?: number;
  /** Length trained on (default 64). */
  trainedLength?: number;
  norm?: 'rms' | 'layer';
  normEpsilon?: number;
  /** In the feed-forward layer: gelu in its tanh form (default), or swiglu. */
  activation?: 'gelu' | 'swiglu';
  /** The output head is the embedding (default true). */
  tied?: boolean;
  causal?: boolean;
  /** How tokens know where they are (default 'rope'); `{ layers: [...] }` gives each layer its own. */
  encoding?: EncodingSpec | { layers: readonly EncodingSpec[] };
}

/** How to train: AdamW, warm-up, then a cosine down to a fraction. */
export interface TrainOptions {
  /** Peak learning rate, 0 … 1 (default 3e-3). */
  learningRate?: number;
  /** Steps of linear warm-up (default 20). */
  warmup?: number;
  /** Step at which the cosine reaches its end (default 1000). */
  steps?: number;
  /** Learning rate at the end, as a fraction of the peak (default 0.1). */
  minimumRatio?: number;
  beta1?: number;
  beta2?: number;
  epsilon?: number;
  weightDecay?: number;
  /** Largest norm of the gradient; 0 leaves it alone (default 1). */
  clip?: number;
  /** Factor on the learning rate of position parameters (default 1). */
  encodingRate?: number;
  /** Seed of what encodings draw while training, an integer ≥ 0 (default 0). */
  seed?: number;
}

export const MODEL_KEYS = ['vocabulary', 'width', 'layers', 'heads', 'kvHeads', 'hidden', 'trainedLength', 'norm', 'normEpsilon',
  'activation', 'tied', 'causal', 'encoding'] as const;
export const TRAIN_DEFAULTS: TrainRequest = {
  learningRate: 3e-3, warmup: 20, steps: 1000, minimumRatio: 0.1, beta1: 0.9, beta2: 0.99, epsilon: 1e-8,
  weightDecay: 0.1, clip: 1, encodingRate: 1,
};

export const TRAIN_KEYS: readonly string[] = [...Object.keys(TRAIN_DEFAULTS), 'seed'];

/** The core's form of a model configuration. @throws RangeError or TypeError */
export function modelRequest(config: ModelConfig = {}): ModelRequest {
  check.keys('config', config, MODEL_KEYS);
  const width = check.count('width', config.width ?? 64);
  const activation = check.choice('activation', config.activation ?? 'gelu', ['gelu', 'swiglu']);
  const heads = check.count('heads', config.heads ?? 4);
  if (width % heads) throw new RangeError(`heads is ${heads}; it must divide width (${width})`);
  return {
    width, activation, heads,
    vocabulary: check.count('vocabulary', config.vocabulary ?? 256),
    layers: check.count('layers', config.layers ?? 4),
    kvHeads: check.count('kvHeads', config.kvHeads ?? heads),
    hidden: check.count('hidden', config.hidden ?? (activation === 'gelu' ? 4 * width : Math.ceil((8 * width) / 3))),
    trainedLength: check.count('trainedLength', config.trainedLength ?? 64),
    norm: check.choice('norm', config.norm ?? 'rms', ['rms', 'layer']),
    normEpsilon: check.finite('normEpsilon', config.normEpsilon ?? 1e-5),
    tied: check.flag('tied', config.tied ?? true),
    causal: check.flag('causal', config.causal ?? true),
    encoding: modelSpec(config.encoding ?? 'rope'),
  };
}

/** An encoding, or one for each layer, as the core reads it. */
export function modelSpec(encoding: EncodingSpec | { layers: readonly EncodingSpec[] }): string {
  if (typeof encoding !== 'object' || encoding === null || !('layers' in encoding)) return specText(encoding as EncodingSpec);
  check.keys('encoding with layers', encoding, ['layers']);
  const layers = check.list('encoding.layers', encoding.layers, 'encodings') as readonly EncodingSpec[];
  if (layers.length === 0) throw new RangeError('encoding.layers is empty; it must have one encoding for each layer');
  return layers.map(specText).join('|');
}

/** The core's form of training options, and the seed. @throws RangeError or TypeError */
export function trainRequest(options: TrainOptions = {}): { request: TrainRequest; seed: number } {
  check.keys('training options', options, TRAIN_KEYS);
  const { seed = 0, ...rest } = options;
  const request = { ...TRAIN_DEFAULTS };
  for (const key of Object.keys(TRAIN_DEFAULTS) as (keyof TrainRequest)[]) {
    request[key] = check.finite(key, rest[key] ?? TRAIN_DEFAULTS[key]);
  }
  return { request, seed: check.integer('seed', seed, 0) };
}
