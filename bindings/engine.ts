// What load() gives: the encodings, attention and models of one WebAssembly instance.

import { audit, type Audit } from './audit.js';
import * as check from './check.js';
import type { ModelConfig } from './config.js';
import type { Core } from './core.js';
import { register, type EncodingDefinition, type EncodingOptions } from './custom.js';
import { Encoding, SHAPE_KEYS, type Door, type EncodingShape } from './encoding.js';
import type { Loaded, Variant } from './load.js';
import { disposeKey, notWhileFilling } from './memory.js';
import { Model } from './model.js';
import type { EncodingSpec } from './spec.js';
import type { Threads } from './threads.js';

/** An option of an encoding. */
export interface OptionFacts {
  name: string;
  /** 'numbers': a list, none by default; in a spec an array, or text with ; between them. */
  kind: 'number' | 'integer' | 'flag' | 'choice' | 'numbers';
  default: number | string | boolean | number[];
  least: number;
  most: number;
  choices?: string[];
}

/** What an option does, in English and 中文. */
export interface OptionTexts {
  meaning: string;
  meaning_zh: string;
}

/** What the catalogue knows about an encoding. */
export interface EncodingFacts {
  name: string;
  doors: Door[];
  options: OptionFacts[];
  /** What is met past the trained length: 'same': by design nothing new; 'degrades': what was never trained, and most get worse; 'refuses': an error. */
  past: 'same' | 'degrades' | 'refuses';
  /** Options, as in a spec, that show it at a trained length of 64; empty where the defaults do. */
  example: string;
  /**
   * The spec with which an experiment shows it: that example, with rope where it only numbers tokens, and with `rope>` before
   * it where it is meant for models that were trained with rope.
   */
  experiment: string;
  /** Only with a causal mask. */
  causal_only: boolean;
  /** Learned parameters of its own in each layer. */
  per_layer: boolean;
  /** Has learned parameters. */
  learned: boolean;
}

/** What the catalogue says about an encoding to people, in English and 中文. */
export interface EncodingTexts {
  title: string;
  title_zh: string;
  paper: string;
  past_note: string;
  past_note_zh: string;
  /** How public implementations differ; empty where nothing is known. */
  differs: string;
  differs_zh: string;
}

export type OptionDescriptor = OptionFacts & OptionTexts;

/** Facts and texts. */
export type EncodingDescriptor = Omit<EncodingFacts, 'options'> & EncodingTexts & { options: OptionDescriptor[] };

/** By name: the texts of each encoding of the catalogue, as 'lengthwise/texts' exports them. */
export type CatalogueTexts = Readonly<Record<string, EncodingTexts & { options: Readonly<Record<string, OptionTexts>> }>>;

/** Facts with the texts that belong to them. Encodings of your own bring theirs along. */
export function withTexts(facts: EncodingFacts[], texts: CatalogueTexts): EncodingDescriptor[] {
  if (typeof texts !== 'object' || texts === null || !(facts[0]!.name in texts)) {
    throw new TypeError(`texts must be those that 'lengthwise/texts' exports, not ${check.describe(texts)}`);
  }
  return facts.map((encoding) => {
    const { options: meanings, ...own } = texts[encoding.name] ?? { options: {} };
    return { ...encoding, ...own, options: encoding.options.map((option) => ({ ...option, ...meanings[option.name] })) } as EncodingDescriptor;
  });
}

/** Shape of a single attention call, see {@link Lengthwise.attention}. */
export interface AttentionOptions extends EncodingShape {
  /** An encoding's spec, or one made before (then the shape is its own). Default 'nope': none at all. */
  encoding?: EncodingSpec | Encoding;
  offset?: number;
  positions?: ArrayLike<number>;
  x?: ArrayLike<number>;
  /** Which tokens they are, one for each position, for encodings that look at them; with a made encoding use its setTokens(). */
  tokens?: ArrayLike<number>;
}

/** One WebAssembly instance. Made by `load()`. */
export class Lengthwise {
  readonly #core: Core;
  readonly #threads: Threads | undefined;
  /** Which binary runs. */
  readonly variant: Variant;
  /** The compiled module, to hand to another `load({ wasmBinary, variant })`, for instance in a worker (with `threads` from 2 on where this has some). */
  readonly module: WebAssembly.Module;

  /** @internal */
  constructor({ core, variant, module, threads }: Loaded) {
    this.#core = core;
    this.#threads = threads;
    this.variant = variant;
    this.module = module;
  }

  /** How many threads compute: what was asked for, or 1 where memory cannot be shared. */
  get threads(): number {
    return this.#threads?.count ?? 1;
  }

  /** Ends all threads but the caller's. Everything works on, more slowly. (A Node process does not wait for threads.) */
  dispose(): void {
    this.#threads?.end();
  }

  [disposeKey](): void {
    this.dispose();
  }

  /** Bytes of WebAssembly memory now; it grows on demand and never shrinks. */
  get memoryBytes(): number {
    return this.#core.HEAPU8.length;
  }

  /**
   * The catalogue: every encoding with its doors and options; with titles, literature and what options mean too, if it is
   * given the texts: `import { texts } from 'lengthwise/texts'`. (They are a file of their own, which few programs need.)
   */
  encodings(): EncodingFacts[];
  encodings(texts: CatalogueTexts): EncodingDescriptor[];
  encodings(texts?: CatalogueTexts): EncodingFacts[] {
    const facts: EncodingFacts[] = JSON.parse(this.#core.catalogue());
    return texts === undefined ? facts : withTexts(facts, texts);
  }

  /**
   * Registers an encoding of your own under a name that every spec understands from then on, in this instance: encodings,
   * models, training. Registering under a name again needs `replace`; what was made with the old one stays as it was.
   * @returns the name
   * @throws TypeError or RangeError for a definition that is wrong. What its functions do wrong comes as an EncodingError
   * from whatever needed the table.
   */
  register<const O extends EncodingOptions = {}>(definition: EncodingDefinition<O>, options?: { replace?: boolean }): string {
    notWhileFilling();
    return register(this.#core, definition, options);
  }

  /** Takes a name back; what was made with it lives on. @returns whether it was registered */
  unregister(name: string): boolean {
    notWhileFilling();
    return this.#core.unregisterEncoding(check.text('name', name));
  }

  /**
   * Makes an encoding. Dispose of it when done.
   * @throws RangeError or TypeError naming an unknown name, an option, a size, what was given and what is allowed.
   */
  encoding(spec: EncodingSpec, shape?: EncodingShape): Encoding {
    notWhileFilling();
    return new Encoding(this.#core, spec, shape);
  }

  /**
   * Measures what textbooks ask of an encoding: unique, the same each time, beyond its length, mild to the content, cheap.
   * @throws as `encoding()`
   */
  audit(spec: EncodingSpec, shape?: EncodingShape): Audit {
    notWhileFilling();
    return audit(this.#core, spec, shape);
  }

  /**
   * Attention, once: `encoding(…).attention(q, k, v, …)`. For more than one call make the encoding and keep it.
   * @param q `[queries][heads][headDim]`
   * @param k `[keys][kvHeads][headDim]`
   * @param v as `k`
   * @returns `[queries][heads][headDim]`
   */
  attention(q: ArrayLike<number>, k: ArrayLike<number>, v: ArrayLike<number>, options: AttentionOptions = {}): Float32Array<ArrayBuffer> {
    check.keys('attention options', options, [...SHAPE_KEYS, 'encoding', 'offset', 'positions', 'x', 'tokens']);
    const { encoding = 'nope', offset, positions, x, tokens, ...shape } = options;
    const call = Object.fromEntries(Object.entries({ offset, positions, x }).filter(([, value]) => value !== undefined));
    if (encoding instanceof Encoding) {
      check.keys('attention options with a made encoding', tokens === undefined ? shape : { ...shape, tokens }, []);
      return encoding.attention(q, k, v, call);
    }
    const made = this.encoding(encoding, shape);
    try {
      if (tokens !== undefined) made.setTokens(tokens);
      return made.attention(q, k, v, call);
    } finally {
      made.dispose();
    }
  }

  /** Makes a transformer with fresh weights. @param options `seed` of the weights, an integer ≥ 0 (default 0). */
  model(config?: ModelConfig, options: { seed?: number } = {}): Model {
    notWhileFilling();
    check.keys('model options', options, ['seed']);
    return Model.create(this.#core, config, options.seed);
  }

  /**
   * Reads a model: one that `Model.save()` wrote, or a llama2.c checkpoint.
   * @throws FormatError when the file is truncated, is something else, or contradicts itself.
   */
  loadModel(file: Uint8Array): Model {
    notWhileFilling();
    return Model.load(this.#core, file);
  }
}
