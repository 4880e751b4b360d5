// Training steps of a model.

import * as check from './check.js';
import type { Core, ModelRequest, NativeModel } from './core.js';
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

/** Trains a model in place. Made by {@link Model.trainer}; lives as long as the model, or until the next trainer of it. */
export class Trainer {
  readonly #core: Core;
  readonly #config: Readonly<ModelRequest>;
  readonly #native: () => NativeModel;
  readonly #changed: () => void;

  /** @internal @param native the model's, or throws why there is none; @param changed is told that the weights did */
  constructor(core: Core, config: Readonly<ModelRequest>, native: () => NativeModel, changed: () => void) {
    this.#core = core;
    this.#config = config;
    this.#native = native;
    this.#changed = changed;
  }

  /** The latest step. */
  get info(): StepInfo {
    return JSON.parse(this.#native().trainInfo());
  }

  /**
   * One step.
   * @param tokens `[batch][length + 1]`: each token but the first of a row is predicted from those before it.
   * @param shape `batch` rows of `length` predictions; `mask` `[batch][length]` weighs the predictions, 0 leaves one out.
   */
  step(tokens: ArrayLike<number>, shape: { batch: number; length: number; mask?: ArrayLike<number> }): StepInfo {
    check.keys('step options', shape ?? null, ['batch', 'length', 'mask']);
    const batch = check.count('batch', shape.batch);
    const length = check.count('length', shape.length);
    const native = this.#native();
    const ids = check.tokens('tokens', tokens, this.#config.vocabulary);
    check.exactly('tokens', ids.length, batch * (length + 1), `[${batch}][${length + 1}]`);
    const mask = shape.mask === undefined ? undefined : check.floats('mask', shape.mask);
    if (mask) check.exactly('mask', mask.length, batch * length, `[${batch}][${length}]`);
    mask?.forEach((weight, i) => check.finite(`mask[${i}]`, weight, 0));
    this.#changed();
    borrow(this.#core, (scratch) => {
      succeed(native.trainStep(scratch.integers(ids), mask ? scratch.floats(mask) : 0, batch, length));
    });
    return this.info;
  }
}
