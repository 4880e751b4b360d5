// A transformer: logits, losses, generation, training, saving.

import * as check from './check.js';
import { modelRequest, modelSpec, trainRequest, type ModelConfig, type TrainOptions } from './config.js';
import type { Core, ModelRequest, NativeModel, NativeTrainer } from './core.js';
import { FormatError, made, succeed } from './errors.js';
import { borrow, filledFloats, Handle, notWhileFilling } from './memory.js';
import { checkState, describeNative, fileFault, modelFile, readModelFile, type NamedTensor, type SavedTraining } from './model-file.js';
import { breathe, takeBreath } from './pause.js';
import { Trainer } from './trainer.js';

/** How to choose the next token. */
export interface GenerateOptions {
  /** How many to generate (default 100). */
  tokens?: number;
  /** 0 takes the likeliest; 1 follows the model (default 1). */
  temperature?: number;
  /** Only the k likeliest; 0 for all (default 0). */
  topK?: number;
  /** Only the likeliest that make up this probability, 0 < p ≤ 1 (default 1). */
  topP?: number;
  /** An integer ≥ 0 (default 0): the same seed, the same tokens. */
  seed?: number;
  /** Ends the generation with an AbortError. */
  signal?: AbortSignal;
}

export const GENERATE_KEYS = ['tokens', 'temperature', 'topK', 'topP', 'seed', 'signal'] as const;

/** How weights are kept: see {@link Model.quantize}. */
export type Precision = 'f32' | 'f16' | 'int8';
export const PRECISIONS: readonly Precision[] = ['f32', 'f16', 'int8'];

/** A transformer. Made by {@link Lengthwise.model} or {@link Lengthwise.loadModel}. */
export class Model extends Handle<NativeModel> {
  readonly #core: Core;
  /** The full configuration. */
  readonly config: Readonly<ModelRequest>;
  readonly #tensors: readonly NamedTensor[];
  #generation = { ended: '' }; // the latest, and why it cannot go on
  #precision: Precision = 'f32';
  #saved: SavedTraining | undefined;             // from the file, until a trainer is made
  #trainer: { native: NativeTrainer; options: Required<TrainOptions>; ended: string } | undefined;

  private constructor(core: Core, native: NativeModel) {
    super(native, 'model');
    this.#core = core;
    const { config, tensors } = describeNative(native.describe());
    this.config = Object.freeze(config);
    this.#tensors = tensors;
  }

  /** @internal */
  static create(core: Core, config: ModelConfig | undefined, seed = 0): Model {
    const request = modelRequest(config);
    return new Model(core, made(core.Model.make(request, check.integer('seed', seed, 0)), core));
  }

  /** @internal */
  static load(core: Core, file: Uint8Array): Model {
    const { config, tensors, training } = readModelFile(file);
    // What a file asks for and the core refuses is the file's fault.
    const native = fileFault('the model file cannot be right', () => made(core.Model.make(config, 0), core));
    const model = new Model(core, native);
    try {
      model.#fill(tensors);
      if (training) checkState(training.state, model.parameterCount);
      model.#saved = training;
    } catch (error) {
      model.dispose();
      throw error;
    }
    return model;
  }

  /**
   * A model with the same weights and another encoding: what it does past its trained length with YaRN, with grouped
   * numbers, with a window, that it was not trained with. It is a model of its own, to be trained further or disposed of.
   * @param encoding as a whole: options such as `base` and `pairing` are not inherited. It may learn only what this model
   * has learned, in the same layer or for all.
   * @throws RangeError for an encoding that learns something else, and for quantized models
   */
  withEncoding(encoding: NonNullable<ModelConfig['encoding']>): Model {
    return new Model(this.#core, made(this.native.withEncoding(modelSpec(encoding)), this.#core));
  }

  /** How many weights there are. */
  get parameterCount(): number {
    return this.native.parameterCount();
  }

  /** One pass over a whole sequence. @returns `[tokens][vocabulary]`, the scores of what comes after each token. */
  logits(tokens: ArrayLike<number>): Float32Array<ArrayBuffer> {
    const native = this.native;
    const ids = check.tokens('tokens', tokens, this.config.vocabulary);
    return borrow(this.#core, (scratch) => {
      const at = scratch.integers(ids);
      return filledFloats(this.#core, ids.length * this.config.vocabulary, (out) => native.logits(at, ids.length, out));
    });
  }

  /** Negative log-likelihood of each token but the first, in nats, in one pass. @returns `[tokens − 1]` */
  losses(tokens: ArrayLike<number>): Float32Array<ArrayBuffer> {
    const native = this.native;
    const ids = check.tokens('tokens', tokens, this.config.vocabulary, 2);
    return borrow(this.#core, (scratch) => {
      const at = scratch.integers(ids);
      return filledFloats(this.#core, ids.length - 1, (out) => native.losses(at, ids.length, out));
    });
  }

  /**
   * Continues a prompt, token by token. One generation at a time: starting another, or training, ends this one with an
   * error. The model must be causal.
   * @param prompt at least one token.
   */
  async *generate(prompt: ArrayLike<number>, options: GenerateOptions = {}): AsyncGenerator<number, void, undefined> {
    check.keys('generate options', options, GENERATE_KEYS);
    if (!this.config.causal) throw new RangeError('causal is false; generate() needs a causal model (true), which does not see what is still to come');
    const vocabulary = this.config.vocabulary;
    const count = check.integer('tokens', options.tokens ?? 100, 0, check.MOST);
    const temperature = check.finite('temperature', options.temperature ?? 1, 0, 1e6);
    const topK = check.integer('topK', options.topK ?? 0, 0, check.MOST);
    const topP = check.finite('topP', options.topP ?? 1, Number.MIN_VALUE, 1);
    const seed = check.integer('seed', options.seed ?? 0, 0);
    let feed = check.tokens('prompt', prompt, vocabulary);
    const { signal } = options;
    check.signal(signal);
    signal?.throwIfAborted();

    const generation = this.#endGeneration('another generation was started on this model');
    this.native.seed(seed);
    this.native.cacheReset();
    for (let i = 0; i < count; i++) {
      if (generation.ended) throw new Error(`${generation.ended}: this one cannot go on`);
      const token = this.#next(feed, temperature, topK, topP);
      yield token;
      feed = Int32Array.of(token);
      if (takeBreath()) await breathe();
      signal?.throwIfAborted();
    }
  }

  /** Ends the generation under way, if there is one. @returns the mark of the next one */
  #endGeneration(why: string): { ended: string } {
    this.#generation.ended = why;
    return this.#generation = { ended: '' };
  }

  #next(tokens: Int32Array, temperature: number, topK: number, topP: number): number {
    const native = this.native;
    return borrow(this.#core, (scratch) => {
      const at = scratch.integers(tokens);
      const logits = scratch.space(this.config.vocabulary * 4);
      succeed(native.cacheFeed(at, tokens.length, logits));
      const token = native.sample(logits, temperature, topK, topP);
      if (token < 0) throw new RangeError('the scores of the next token are not finite; does the model hold NaN weights?');
      return token;
    });
  }

  /**
   * Gets ready to train. Without options a model loaded from a training checkpoint goes on exactly where it was saved;
   * otherwise training starts at step 0. A model has one trainer at a time: the one before cannot go on.
   */
  trainer(options?: TrainOptions): Trainer {
    const saved = options === undefined ? this.#saved : undefined;
    const { request, seed } = trainRequest(saved?.options ?? options);
    const make = () => made(this.#core.Trainer.make(this.native.transformer(), request, seed), this.#core);
    const native = saved ? fileFault("the model file's training options are wrong", make) : make();
    if (saved) {
      this.#core.HEAPU8.set(saved.state, native.state() >>> 0);
      native.stateChanged();
    }
    this.#saved = undefined;
    this.#endTrainer('another trainer was made for this model');
    const own = this.#trainer = { native, options: { ...request, seed }, ended: '' };
    return new Trainer(this.#core, this.config, () => {
      void this.native; // throws if the model was disposed of
      if (own.ended) throw new Error(`${own.ended}: this trainer cannot go on`);
      return native;
    }, () => void this.#endGeneration('the model was trained'));
  }

  #endTrainer(why: string): void {
    if (!this.#trainer) return;
    this.#trainer.native.delete();
    this.#trainer.ended = why;
    this.#trainer = undefined;
  }

  override dispose(): void {
    notWhileFilling();
    this.#endTrainer('the model was disposed of');
    super.dispose();
  }

  /** A copy of one weight tensor, by its name in the file that `save()` writes. */
  tensor(name: string): { shape: number[]; data: Float32Array<ArrayBuffer> } {
    const index = this.#tensors.findIndex((t) => t.name === check.text('name', name)), tensor = this.#tensors[index];
    if (!tensor) throw new RangeError(`the model has no tensor of the name '${check.shorten(name)}'; it has ${this.#tensors.map((t) => t.name).join(', ')}`);
    const { native } = this;
    return { shape: [...tensor.shape], data: filledFloats(this.#core, tensor.size, (out) => native.tensor(index, out)) };
  }

  /**
   * Rounds the linear maps and embeddings to fewer bits and gives the others' memory back: for generating, logits and
   * losses; a quantized model cannot be trained. Norms and what belongs to encodings stay f32.
   * @param precision `int8`: 1 byte a weight, in steps of 1/127 of the largest of its row; `f16`: 2 bytes, half precision.
   */
  quantize(precision: 'f16' | 'int8'): void {
    const bits = PRECISIONS.indexOf(check.choice<Precision>('precision', precision, ['f16', 'int8']));
    const { native } = this;
    succeed(native.quantise(bits));
    this.#endGeneration('the model was quantized');
    this.#endTrainer('the model was quantized');
    this.#saved = undefined;
    this.#precision = PRECISIONS[bits]!;
  }

  /** How the linear maps' weights are kept. */
  get precision(): Precision {
    return this.#precision;
  }

  /** Names of all weight tensors. */
  get tensorNames(): string[] {
    return this.#tensors.map((t) => t.name);
  }

  /**
   * The model as a safetensors file, its configuration in the metadata.
   * @param options `training` adds the optimiser's state, so that training can go on bit for bit; `metadata` adds texts
   * of your own.
   */
  save(options: { training?: boolean; metadata?: Record<string, string> } = {}): Uint8Array<ArrayBuffer> {
    check.keys('save options', options, ['training', 'metadata']);
    void this.native; // throws if disposed of
    let training: SavedTraining | undefined;
    if (check.flag('training', options.training ?? false)) {
      training = this.#saved;
      if (this.#trainer) {
        const { native, options } = this.#trainer, start = native.state() >>> 0;
        training = { options, state: this.#core.HEAPU8.slice(start, start + native.stateBytes()) };
      }
      if (!training) throw new RangeError('training is true; the model has no trainer, call trainer() first or leave it out');
    }
    const weights = new Map(this.#tensors.map(({ name, shape }) => [name, { shape, data: this.tensor(name).data }]));
    return modelFile(this.config, weights, training, options.metadata);
  }

  #fill(tensors: Map<string, { shape: number[] | undefined; data: Float32Array }>): void {
    const base = this.native.parameters() / 4;
    for (const { name, shape, offset, size } of this.#tensors) {
      const given = tensors.get(name);
      if (!given) throw new FormatError(`the model file has no tensor '${name}'`);
      if (given.data.length !== size || (given.shape && given.shape.join() !== shape.join())) {
        throw new FormatError(`tensor '${name}' has shape [${check.shorten(String(given.shape ?? given.data.length))}]; the configuration asks for [${shape}]`);
      }
      this.#core.HEAPF32.set(given.data, base + offset);
    }
    const known = new Set(this.#tensors.map((t) => t.name));
    for (const name of tensors.keys()) {
      if (!known.has(name)) throw new FormatError(`the model file has the unexpected tensor '${check.shorten(name)}'`);
    }
    this.native.parametersChanged();
  }
}
