// What the WebAssembly module offers (embind.cpp): the contract between the C++ and the classes users see.
//
// All pointers are byte addresses. Every number crosses as a double and is checked on both sides. A method that returns
// a string returns '' when all went well and otherwise the sentence to throw: see `succeed` in errors.ts.

export interface ShapeRequest {
  heads: number;
  kvHeads: number;
  headDim: number;
  width: number;
  trainedLength: number;
  causal: boolean;
}

/** A model's configuration, complete: `Model.config`. */
export interface ModelRequest {
  vocabulary: number;
  width: number;
  layers: number;
  heads: number;
  kvHeads: number;
  hidden: number;
  trainedLength: number;
  norm: 'rms' | 'layer';
  normEpsilon: number;
  activation: 'gelu' | 'swiglu';
  tied: boolean;
  causal: boolean;
  encoding: string;
}

export interface TrainRequest {
  learningRate: number;
  warmup: number;
  steps: number;
  minimumRatio: number;
  beta1: number;
  beta2: number;
  epsilon: number;
  weightDecay: number;
  clip: number;
  encodingRate: number;
}

export interface RunRequest {
  train: TrainRequest;
  task: string;
  batch: number;
  length: number;
  seed: number;
}

export interface NativeEncoder {
  describe(): string;
  /** Builds the plan the getters below read: numbers (double) of `length` tokens, or 0 for 0 … length − 1. */
  plan(positions: number, length: number, present: number): string;
  /** Which tokens the next plans are about: `count` int32 at `values`. */
  tokens(values: number, count: number): string;
  positions(out: number): void;
  input(out: number): void;
  rotation(cosine: number, sine: number, key: boolean): void;
  /** Angles at position 1 while `present` tokens are there, as doubles. */
  frequencies(out: number, present: number): void;
  bias(out: number, queries: number, keys: number, offset: number): void;
  pattern(out: number, queries: number, keys: number, offset: number): void;
  scale(out: number): void;
  rotate(x: number, count: number, heads: number, first: number, key: boolean, adjoint: boolean): string;
  /** The plan holds the positions that `count` tokens were rotated for, then those that they go to. */
  turnOn(x: number, count: number, heads: number, key: boolean): void;
  attention(q: number, k: number, v: number, x: number, out: number, queries: number, keys: number, offset: number): string;
  parameters(): number;
  parameterCount(): number;
  delete(): void;
}

export interface NativeModel {
  describe(): string;
  parameters(): number;
  parameterCount(): number;
  parametersChanged(): void;
  withEncoding(encoding: string): NativeModel | null;
  /** 1: f16, 2: int8. */
  quantise(precision: number): string;
  /** Tensor `index` of describe(), as floats. */
  tensor(index: number, out: number): void;
  logits(tokens: number, count: number, out: number): string;
  losses(tokens: number, count: number, out: number): string;
  cacheReset(): void;
  cacheFeed(tokens: number, count: number, out: number): string;
  cacheLength(): number;
  sample(logits: number, temperature: number, topK: number, topP: number): number;
  seed(seed: number): void;
  /** Where the transformer itself is, for Trainer.make(); another one after quantise(). */
  transformer(): number;
  delete(): void;
}

/** To be deleted before its model, or when that was quantised. */
export interface NativeTrainer {
  step(tokens: number, mask: number, batch: number, length: number, microBatch: number): string;
  info(): string;
  state(): number;
  stateBytes(): number;
  stateChanged(): void;
  delete(): void;
}

export interface NativeRun {
  setText(train: number, trainBytes: number, test: number, testBytes: number): string;
  train(steps: number): string;
  losses(): number;
  /** Another run, which begins with these weights under another encoding; null, and `lastError`, if it cannot be put on them. */
  withEncoding(encoding: string, run: RunRequest): NativeRun | null;
  test(length: number, tokens: number): string;
  testInfo(): string;
  testByPosition(): number;
  testByPositionCount(): number;
  parameterCount(): number;
  delete(): void;
}

/** A number in the core's terms: `kind` as there (number, integer, flag, choice), choices joined by |. */
export interface NativeOption {
  name: string;
  kind: number;
  initial: number;
  least: number;
  most: number;
  choices: string;
  meaning: string;
}

/** Fills tables at addresses; '' when all went well. `positions`, `distances` and `out` are doubles, `seen` of scale integers, of pattern bytes. */
export interface NativeTables {
  ids(positions: number, count: number): string;
  input(positions: number, count: number, out: number): string;
  rotation(positions: number, count: number, out: number): string;
  bias(query: number, distances: number, count: number, out: number): string;
  pattern(query: number, keys: number, seen: number): string;
  scale(seen: number, count: number, out: number): string;
}

export interface NativeDefinition {
  name: string;
  title: string;
  titleZh: string;
  /** A bit for each door. */
  doors: number;
  byRow: boolean;
  /** 0: all. */
  pairs: number;
  half: boolean;
  options: NativeOption[];
  tables(shape: ShapeRequest, values: number[]): NativeTables;
}

export interface Core {
  // Re-read after every call that may allocate: growing memory detaches them.
  HEAPU8: Uint8Array<ArrayBuffer>;
  HEAP32: Int32Array<ArrayBuffer>;
  HEAPF32: Float32Array<ArrayBuffer>;
  HEAPF64: Float64Array<ArrayBuffer>;
  /** After a trap: every call but those that give memory back throws (guard.ts). */
  readonly spoilt?: boolean;
  /** 0 when memory has run out. */
  _malloc(bytes: number): number;
  _free(pointer: number): void;
  catalogue(): string;
  /** The numbers of an audit and `error` ('' is fine), as JSON. */
  audit(spec: string, shape: ShapeRequest): string;
  registerEncoding(definition: NativeDefinition, replace: boolean): string;
  unregisterEncoding(name: string): boolean;
  /** Sets how many threads share work; gives the address of [what another thread runs, where it says that it failed]. See threads.ts. */
  threads(count: number): number;
  /** Why the latest make() returned null. */
  lastError(): string;
  Encoder: { make(spec: string, shape: ShapeRequest, seed: number): NativeEncoder | null };
  Model: { make(config: ModelRequest, seed: number): NativeModel | null };
  /** @param transformer as the model tells */
  Trainer: { make(transformer: number, options: TrainRequest, seed: number): NativeTrainer | null };
  Run: { make(config: ModelRequest, run: RunRequest): NativeRun | null };
}

/** As the loader gives it: its classes are there once they were described, which guard.ts sees to. The module for inference has neither training nor audit. */
export interface BareCore extends Omit<Core, 'audit'>, Partial<Pick<Core, 'audit'>> {
  describeEncoder(): void;
  describeModels(): void;
  describeTraining?(): void;
}

export interface CoreOptions {
  wasmMemory: WebAssembly.Memory;
  printErr?: (text: string) => void;
  instantiateWasm?: (
    imports: WebAssembly.Imports,
    done: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
  ) => object;
}

export type CoreFactory = (options: CoreOptions) => Promise<BareCore>;
