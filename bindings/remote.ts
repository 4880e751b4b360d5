// The same objects as in the main module, living in a worker: every method gives a promise.

import type { Audit } from './audit.js';
import * as check from './check.js';
import { proxy, type Remote } from './comlink.mjs';
import type { ModelConfig, TrainOptions } from './config.js';
import type { ModelRequest } from './core.js';
import { moduleAddress, type EncodingModule } from './custom.js';
import { withTexts, type AttentionOptions, type CatalogueTexts, type EncodingDescriptor, type EncodingFacts } from './engine.js';
import { Encoding, type EncodingShape } from './encoding.js';
import { revive } from './errors.js';
import { LOAD_KEYS, locate, type LoadOptions, type Variant, type WorkerOptions } from './load.js';
import { disposeKey, Handle } from './memory.js';
import { GENERATE_KEYS, type GenerateOptions, type Precision } from './model.js';
import type { EncodingSpec } from './spec.js';
import type { StepInfo, StepShape, Trainer } from './trainer.js';
import { startWorker, terminated, type Station } from './workers.js';
import type { ModelHost } from './workshop.js';

export type { LoadOptions, WorkerOptions } from './load.js';

/** An encoding in a worker: the methods of {@link Encoding}, each giving a promise. */
export type RemoteEncoding = {
  [K in keyof Encoding]: Encoding[K] extends (...args: infer A) => infer R ? (...args: A) => Promise<R> : Promise<Encoding[K]>;
};

/** Starts a worker and loads the WebAssembly module in it. @throws as `load()` of the main module */
export async function load(options: LoadOptions & WorkerOptions = {}): Promise<RemoteLengthwise> {
  check.keys('load options', options, [...LOAD_KEYS, 'createWorker']);
  const { createWorker, ...loadOptions } = options;
  const wasm = await locate(loadOptions);
  const station = startWorker({ createWorker });
  try {
    return new RemoteLengthwise(station, wasm.variant, await ask(station, () => station.workshop.load(wasm)));
  } catch (error) {
    station.end();
    throw error;
  }
}

/** One WebAssembly instance in a worker. */
export class RemoteLengthwise {
  readonly #station: Station;
  /** Which binary runs. */
  readonly variant: Variant;
  /** How many threads compute, the worker's own among them. */
  readonly threads: number;

  /** @internal */
  constructor(station: Station, variant: Variant, threads: number) {
    this.#station = station;
    this.variant = variant;
    this.threads = threads;
  }

  /** Bytes of WebAssembly memory now, as {@link Lengthwise.memoryBytes}. */
  memoryBytes(): Promise<number> {
    return ask(this.#station, () => this.#station.workshop.memoryBytes());
  }

  encodings(): Promise<EncodingFacts[]>;
  encodings(texts: CatalogueTexts): Promise<EncodingDescriptor[]>;
  async encodings(texts?: CatalogueTexts): Promise<EncodingFacts[]> {
    const facts = await ask(this.#station, () => this.#station.workshop.encodings());
    return texts === undefined ? facts : withTexts(facts, texts);
  }

  /**
   * Registers an encoding of your own in the worker, as {@link Lengthwise.register}. Functions cannot be sent to a worker,
   * so it is the default export of a module: pass its address as a URL object, or its text. A Content-Security-Policy must
   * allow the import in `script-src`: the module's origin for a URL, `data:` for a text.
   * @returns its name
   */
  async register(module: EncodingModule, options?: { replace?: boolean }): Promise<string> {
    const address = moduleAddress(module);
    return ask(this.#station, () => this.#station.workshop.register(address, options));
  }

  audit(spec: EncodingSpec, shape?: EncodingShape): Promise<Audit> {
    return ask(this.#station, () => this.#station.workshop.audit(spec, shape));
  }

  unregister(name: string): Promise<boolean> {
    return ask(this.#station, () => this.#station.workshop.unregister(name));
  }

  async encoding(spec: EncodingSpec, shape?: EncodingShape): Promise<RemoteEncoding> {
    return mirror(this.#station, await ask(this.#station, () => this.#station.workshop.encoding(spec, shape)) as unknown as Remote<Encoding>);
  }

  attention(
    q: Float32Array, k: Float32Array, v: Float32Array,
    options: Omit<AttentionOptions, 'encoding'> & { encoding?: EncodingSpec } = {},
  ): Promise<Float32Array> {
    return ask(this.#station, () => this.#station.workshop.attention(q, k, v, options));
  }

  async model(config?: ModelConfig, options?: { seed?: number }): Promise<RemoteModel> {
    return new RemoteModel(this.#station, await ask(this.#station, () => this.#station.workshop.model(config, options)) as unknown as Remote<ModelHost>);
  }

  async loadModel(file: Uint8Array): Promise<RemoteModel> {
    return new RemoteModel(this.#station, await ask(this.#station, () => this.#station.workshop.loadModel(file)) as unknown as Remote<ModelHost>);
  }

  /** Ends the worker and everything in it, its threads too. */
  terminate(): void {
    this.#station.end();
  }
}

/** A model in a worker. */
export class RemoteModel {
  readonly #station: Station;
  readonly #host: Remote<ModelHost>;

  /** @internal */
  constructor(station: Station, host: Remote<ModelHost>) {
    this.#station = station;
    this.#host = host;
  }

  config(): Promise<Readonly<ModelRequest>> { return ask(this.#station, () => this.#host.config()); }
  parameterCount(): Promise<number> { return ask(this.#station, () => this.#host.parameterCount()); }
  precision(): Promise<Precision> { return ask(this.#station, () => this.#host.precision()); }
  quantize(precision: 'f16' | 'int8'): Promise<void> { return ask(this.#station, () => this.#host.quantize(precision)); }
  logits(tokens: ArrayLike<number>): Promise<Float32Array> { return ask(this.#station, () => this.#host.logits(tokens)); }
  losses(tokens: ArrayLike<number>): Promise<Float32Array> { return ask(this.#station, () => this.#host.losses(tokens)); }
  save(options?: { training?: boolean; metadata?: Record<string, string> }): Promise<Uint8Array> { return ask(this.#station, () => this.#host.save(options)); }
  dispose(): Promise<void> { return release(this.#station, () => this.#host.dispose()); }

  /** The same weights under another encoding, as {@link Model.withEncoding}. */
  async withEncoding(encoding: NonNullable<ModelConfig['encoding']>): Promise<RemoteModel> {
    return new RemoteModel(this.#station, await ask(this.#station, () => this.#host.withEncoding(encoding)) as unknown as Remote<ModelHost>);
  }

  /** Gets ready to train, as {@link Model.trainer}. */
  async trainer(options?: TrainOptions): Promise<{ step(tokens: ArrayLike<number>, shape: StepShape): Promise<StepInfo> }> {
    const trainer = await ask(this.#station, () => this.#host.trainer(options)) as unknown as Remote<Trainer>;
    return { step: (tokens, shape) => ask(this.#station, () => trainer.step(tokens, shape)) };
  }

  /** Continues a prompt, as {@link Model.generate}. */
  async *generate(prompt: ArrayLike<number>, options: GenerateOptions = {}): AsyncGenerator<number, void, undefined> {
    check.keys('generate options', options, GENERATE_KEYS);
    check.signal(options.signal);
    const { signal, ...rest } = options;
    const ready: number[] = [];
    let wake = () => {};
    let over = false;
    const finished = ask(this.#station, () => this.#host.generate(prompt, rest, proxy((token: number) => {
      ready.push(token);
      wake();
      return Promise.resolve(!over && !signal?.aborted);
    }))).finally(() => { over = true; wake(); });
    finished.catch(() => {});
    try {
      while (!over || ready.length) {
        signal?.throwIfAborted();
        if (ready.length) yield ready.shift()!;
        else await new Promise<void>((resolve) => { wake = resolve; });
      }
      await finished;
    } finally {
      over = true; // the next token is answered with "enough"
    }
  }
}

/** What Encoding has, asked for in the worker: methods stay methods, properties become promises. */
function mirror(station: Station, remote: Remote<Encoding>): RemoteEncoding {
  const far = remote as unknown as Record<string, ((...args: unknown[]) => Promise<unknown>) & Promise<unknown>>;
  const near = {};
  for (const [name, { value }] of [Handle, Encoding].flatMap((c) => Object.entries(Object.getOwnPropertyDescriptors(c.prototype)))) {
    if (['constructor', 'native', 'dispose', 'rotate'].includes(name)) continue;
    const method = { value: (...args: unknown[]) => ask(station, () => far[name]!(...args)) };
    Object.defineProperty(near, name, typeof value === 'function' ? method : { get: () => ask(station, () => far[name]!) });
  }
  const dispose = { value: () => release(station, () => remote.dispose()) };
  return Object.defineProperties(near, { dispose, [disposeKey]: dispose, rotate: { value: rotate } }) as RemoteEncoding;

  // The worker has a copy of x.
  async function rotate(...[x, positions, options]: Parameters<Encoding['rotate']>): Promise<Float32Array> {
    const result = await ask(station, () => far.rotate!(x, positions, options)) as Float32Array;
    if (!options?.inPlace) return result;
    (x as Float32Array).set(result);
    return x as Float32Array;
  }
}

/** Where the worker has been ended nothing is left to dispose of. */
async function release(station: Station, question: () => Promise<void>): Promise<void> {
  if (!station.ended) await ask(station, question);
}

async function ask<T>(station: Station, question: () => Promise<T>): Promise<T> {
  if (station.ended) throw terminated();
  try {
    return await Promise.race([station.died, question()]);
  } catch (error) {
    throw revive(error);
  }
}
