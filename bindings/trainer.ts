// Training steps of a model.

import * as check from './check.js';
import type { Core, ModelRequest, NativeTrainer } from './core.js';
import { succeed } from './errors.js';
import { borrow } from './memory.js';

/** What a training step reports. */
export interface StepInfo {
  /** Steps done so far. */
  step: number;
  /** Mean negative log-likelihood of the batch before the step, in nats. */
  loss: number;
  /** Norm of the gradient before clipping. */
  gradientNorm: number;
  learningRate: number;
}

/** What the tokens of a training step are. */
export interface StepShape {
  /** How many rows. */
  batch: number;
  /** Predictions in each. */
  length: number;
  /** `[batch][length]`, ≥ 0: weighs the predictions, 0 leaves one out. */
  mask?: ArrayLike<number>;
  /** Gradient accumulation: so many rows at a time (1 … `batch`, all of them by default), which is all that needs memory. The step is that of the whole batch. */
  microBatch?: number;
}

/** Trains a model in place. Made by {@link Model.trainer}; lives as long as the model, or until the next trainer of it. */
export class Trainer {
  readonly #core: Core;
  readonly #config: Readonly<ModelRequest>;
  readonly #native: () => NativeTrainer;
  readonly #changed: () => void;

  /** @internal @param native the core's, or throws why there is none; @param changed is told that the weights did */
  constructor(core: Core, config: Readonly<ModelRequest>, native: () => NativeTrainer, changed: () => void) {
    this.#core = core;
    this.#config = config;
    this.#native = native;
    this.#changed = changed;
  }

  /** The latest step. */
  get info(): StepInfo {
    return JSON.parse(this.#native().info());
  }

  /**
   * One step.
   * @param tokens `[batch][length + 1]`: each token but the first of a row is predicted from those before it.
   */
  step(tokens: ArrayLike<number>, shape: StepShape): StepInfo {
    check.keys('step options', shape ?? null, ['batch', 'length', 'mask', 'microBatch']);
    const batch = check.count('batch', shape.batch);
    const length = check.count('length', shape.length);
    const microBatch = shape.microBatch === undefined ? batch : check.count('microBatch', shape.microBatch, batch);
    const native = this.#native();
    const ids = check.tokens('tokens', tokens, this.#config.vocabulary);
    check.exactly('tokens', ids.length, batch * (length + 1), `[${batch}][${length + 1}]`);
    const mask = shape.mask === undefined ? undefined : check.floats('mask', shape.mask);
    if (mask) check.exactly('mask', mask.length, batch * length, `[${batch}][${length}]`);
    mask?.forEach((weight, i) => check.finite(`mask[${i}]`, weight, 0));
    if (mask?.every((weight) => weight === 0)) throw new RangeError('mask is 0 everywhere; a step must have something to predict');
    this.#changed();
    borrow(this.#core, (scratch) => {
      succeed(native.step(scratch.integers(ids), mask ? scratch.floats(mask) : 0, batch, length, microBatch));
    });
    return this.info;
  }
}
