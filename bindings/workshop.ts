// What a worker offers: runs of experiments, and encodings and models as `lengthwise/worker` shows them.

import type { Audit } from './audit.js';
import { proxy } from './comlink.mjs';
import type { ModelConfig, TrainOptions } from './config.js';
import { importFrom } from './custom.js';
import type { EncodingShape } from './encoding.js';
import type { AttentionOptions, EncodingFacts, Lengthwise } from './engine.js';
import { sendable } from './errors.js';
import { load, type LoadOptions } from './load.js';
import type { GenerateOptions, Model } from './model.js';
import { Bench } from './run.js';
import type { EncodingSpec } from './spec.js';

type Call = Omit<AttentionOptions, 'encoding'> & { encoding?: EncodingSpec };

/** A worker's whole interface. */
export class Workshop {
  readonly bench = new Bench();
  #lengthwise: Lengthwise | undefined;

  /** @returns how many threads there are */
  async load(options: LoadOptions): Promise<number> {
    this.#lengthwise = await load(options).catch((error) => { throw sendable(error); });
    return this.#lengthwise.threads;
  }

  memoryBytes(): number {
    return this.#lengthwise!.memoryBytes;
  }

  encodings(): EncodingFacts[] {
    return this.#lengthwise!.encodings();
  }

  audit(spec: EncodingSpec, shape?: EncodingShape): Audit {
    return this.#lengthwise!.audit(spec, shape);
  }

  /** @param address as `moduleAddress` gives it */
  async register(address: string, options?: { replace?: boolean }): Promise<string> {
    return this.#lengthwise!.register(await importFrom(address), options);
  }

  unregister(name: string): boolean {
    return this.#lengthwise!.unregister(name);
  }

  encoding(spec: EncodingSpec, shape?: EncodingShape) {
    return proxy(this.#lengthwise!.encoding(spec, shape));
  }

  attention(q: Float32Array, k: Float32Array, v: Float32Array, options: Call): Float32Array {
    return this.#lengthwise!.attention(q, k, v, options);
  }

  model(config?: ModelConfig, options?: { seed?: number }) {
    return proxy(new ModelHost(this.#lengthwise!.model(config, options)));
  }

  loadModel(file: Uint8Array) {
    return proxy(new ModelHost(this.#lengthwise!.loadModel(file)));
  }
}

/** A model in a worker. Tokens are handed to a callback, which answers whether to go on. */
export class ModelHost {
  readonly #model: Model;

  constructor(model: Model) {
    this.#model = model;
  }

  config() { return this.#model.config; }
  parameterCount() { return this.#model.parameterCount; }
  precision() { return this.#model.precision; }
  withEncoding(encoding: NonNullable<ModelConfig['encoding']>) { return proxy(new ModelHost(this.#model.withEncoding(encoding))); }
  quantize(precision: 'f16' | 'int8') { this.#model.quantize(precision); }
  logits(tokens: ArrayLike<number>) { return this.#model.logits(tokens); }
  losses(tokens: ArrayLike<number>) { return this.#model.losses(tokens); }
  save(options?: { training?: boolean; metadata?: Record<string, string> }) { return this.#model.save(options); }
  dispose() { this.#model.dispose(); }
  trainer(options?: TrainOptions) { return proxy(this.#model.trainer(options)); }

  async generate(prompt: ArrayLike<number>, options: Omit<GenerateOptions, 'signal'>, take: (token: number) => Promise<boolean>) {
    for await (const token of this.#model.generate(prompt, options)) {
      if (!await take(token)) return;
    }
  }
}
