// One run of an experiment: one encoding, one seed, trained short and tested long. Runs in a worker or in place.

import { modelRequest, TRAIN_DEFAULTS, trainRequest, type ModelConfig, type TrainOptions } from './config.js';
import type { Core, NativeRun } from './core.js';
import { importFrom, register, type EncodingDefinition } from './custom.js';
import { errorFrom, made, sendable, succeed } from './errors.js';
import { loadCore, type LoadOptions } from './load.js';
import { borrow, readFloats } from './memory.js';
import { breathe, takeBreath } from './pause.js';
import type { TextSplit } from './text.js';
import type { Threads } from './threads.js';

export type Task = 'text' | 'copy' | 'recall';

/** One training, and the runs that it serves: those that differ only in the encoding that is put on for tests. Plain data, so that it can be sent to a worker. */
export interface RunPlan {
  /** tested: null: as trained; fineTune: steps of training with it before the test. */
  runs: { run: number; tested: string | null; fineTune: number }[];
  encoding: string;
  seed: number;
  task: Task;
  model: Omit<ModelConfig, 'encoding' | 'vocabulary'>;
  training: TrainOptions;
  steps: number;
  batch: number;
  trainLength: number;
  testLengths: number[];
  testTokens: number;
  /** Test after every so many steps of training (not of fine-tuning), not only at the end; 0: only at the end. */
  testEvery: number;
  /** Tokens in a sequence of fine-tuning, and its peak learning rate. */
  fineTuning: { length: number; learningRate: number };
}

/** A test at one length. */
export interface TestResult {
  length: number;
  /** Sequences tested, and targets that counted in them. */
  sequences: number;
  tokens: number;
  /** Mean negative log-likelihood of those targets, in nats. */
  loss: number;
  /** e^loss */
  perplexity: number;
  /** loss / ln 2: bits per byte for text. */
  bitsPerToken: number;
  /** Share of targets that were the likeliest token. */
  accuracy: number;
  /** Mean loss at each position, `[length]`; NaN where no target counted. */
  byPosition: Float32Array;
}

/** What happens during an experiment. `run` is an index into `Experiment.runs`. */
export type ExperimentEvent =
  | { type: 'start'; run: number; parameters: number }
  /** Training went on: `losses` are those of the steps since the previous event, the last of them of step `step`; steps of fine-tuning count on. */
  | { type: 'train'; run: number; step: number; steps: number; losses: Float32Array; stepsPerSecond: number }
  /** A test after `step` steps. */
  | { type: 'test'; run: number; step: number; length: number; result: TestResult }
  /** A test that this encoding refuses, for instance past a learned table. */
  | { type: 'refused'; run: number; step: number; length: number; message: string }
  | { type: 'end'; run: number; seconds: number; stepsPerSecond: number }
  /** The run broke off; the others go on. */
  | { type: 'failed'; run: number; message: string };

type PlannedRun = RunPlan['runs'][number];
type Emit = (event: ExperimentEvent) => void | Promise<void>;

const REPORT_EVERY = 100; // milliseconds

/** A place where runs are made, one after the other: a worker's whole interface. */
export class Bench {
  #core: Core | undefined;
  #threads: Threads | undefined;
  #options: LoadOptions = {};
  #own: readonly (string | EncodingDefinition<any>)[] = [];
  #text: TextSplit | undefined;
  #paused: Promise<void> | undefined;
  #resume: (() => void) | undefined;
  #cancelled = false;

  /** @param own encodings to register: where their modules are, or in this thread themselves */
  async prepare(options: LoadOptions, text: TextSplit | undefined, own: readonly (string | EncodingDefinition<any>)[]): Promise<void> {
    this.#options = options;
    this.#own = own;
    this.#text = text;
    await this.#load().catch((error) => { throw sendable(error); });
  }

  async #load(): Promise<void> {
    this.#threads?.end();
    const { core, threads } = await loadCore(this.#options);
    this.#threads = threads;
    for (const each of this.#own) register(core, typeof each === 'string' ? await importFrom(each) : each);
    this.#core = core;
  }

  pause(): void {
    this.#paused ??= new Promise((resolve) => { this.#resume = resolve; });
  }

  resume(): void {
    this.#resume?.();
    this.#paused = undefined;
  }

  cancel(): void {
    this.#cancelled = true;
    this.resume();
    this.#threads?.end();
  }

  /** Makes a run and throws it away. @throws what is wrong with the plan */
  async check(plan: RunPlan): Promise<void> {
    const run = this.#make(plan);
    try {
      // One step of fine-tuning tells whether there is memory for it, and whether text and encoding reach so far.
      for (const each of plan.runs) {
        if (this.#cancelled) return;
        await this.#under(run, plan, each, (own) => { if (each.fineTune) succeed(own.train(1)); });
        await this.#turn();
      }
    } finally {
      run.delete();
    }
  }

  /** Trains and tests. Resolves when done or cancelled. */
  async perform(plan: RunPlan, emit: Emit): Promise<void> {
    const started = performance.now();
    // After a trap in another run the instance cannot be trusted.
    if (this.#core?.spoilt) await this.#load();
    const run = this.#make(plan);
    try {
      for (const each of plan.runs) await emit({ type: 'start', run: each.run, parameters: run.parameterCount() });
      const training = await this.#train(run, plan, plan.runs, 0, plan.steps, emit);
      if (this.#cancelled) return;
      const stepsPerSecond = training > 0 ? (plan.steps / training) * 1000 : 0;
      for (const each of plan.runs) {
        try {
          await this.#under(run, plan, each, async (own) => {
            await this.#train(own, plan, [each], plan.steps, each.fineTune, emit);
            await this.#test(own, plan, each, plan.steps + each.fineTune, emit);
          });
          if (this.#cancelled) return;
          await emit({ type: 'end', run: each.run, seconds: (performance.now() - started) / 1000, stepsPerSecond });
        } catch (error) {
          if (this.#core!.spoilt) throw error;
          await emit({ type: 'failed', run: each.run, message: error instanceof Error ? error.message : String(error) });
        }
      }
    } finally {
      run.delete();
    }
  }

  /** What stands behind a > has a run of its own, for as long as `work` takes: the same weights under that encoding. @throws if it cannot be put on them */
  async #under(run: NativeRun, plan: RunPlan, { tested, fineTune }: PlannedRun, work: (own: NativeRun) => void | Promise<void>): Promise<void> {
    if (tested === null) return work(run);
    const { fineTuning: { length, learningRate }, batch, trainLength, training } = plan;
    const warmup = Math.min(training.warmup ?? TRAIN_DEFAULTS.warmup, Math.floor(fineTune / 5));
    const { request } = trainRequest({ ...training, learningRate, warmup, steps: Math.max(fineTune, 1) });
    // As many tokens in a step as in training.
    const shape = { task: plan.task, batch: Math.max(1, Math.round((batch * trainLength) / length)), length, seed: plan.seed };
    const own = made(run.withEncoding(tested, { train: request, ...shape }), this.#core!);
    try {
      await work(own);
    } finally {
      own.delete();
    }
  }

  #make(plan: RunPlan): NativeRun {
    const core = this.#core!;
    const { model, task, batch, trainLength, seed } = plan;
    const config = modelRequest({ ...model, encoding: plan.encoding, trainedLength: trainLength });
    const { request } = trainRequest({ ...plan.training, steps: plan.steps });
    const run = made(core.Run.make(config, { train: request, task, batch, length: trainLength, seed }), core);
    try {
      if (this.#text) {
        const { train, test } = this.#text;
        borrow(core, (s) => succeed(run.setText(s.bytes(train), train.length, s.bytes(test), test.length)));
      }
      return run;
    } catch (error) {
      run.delete();
      throw error;
    }
  }

  /** `steps` after `from` others, told to all `runs`. @returns milliseconds spent training */
  async #train(run: NativeRun, plan: RunPlan, runs: PlannedRun[], from: number, steps: number, emit: Emit): Promise<number> {
    let told = 0, spent = 0, toldAt = 0;
    for (let step = 0; step < steps && !this.#cancelled;) {
      const before = performance.now();
      succeed(run.train(1));
      step++;
      spent += performance.now() - before;
      const testing = plan.testEvery > 0 && from === 0 && step % plan.testEvery === 0 && step < steps;
      if (spent - toldAt >= REPORT_EVERY || step === steps || testing) {
        const losses = readFloats(this.#core!, run.losses() + 4 * told, step - told);
        const stepsPerSecond = ((step - told) / (spent - toldAt)) * 1000;
        [told, toldAt] = [step, spent];
        for (const each of runs) await emit({ type: 'train', run: each.run, step: from + step, steps: plan.steps + each.fineTune, losses: losses.slice(), stepsPerSecond });
      }
      if (testing) for (const each of runs) await this.#under(run, plan, each, (own) => this.#test(own, plan, each, step, emit));
      await this.#turn();
    }
    return spent;
  }

  async #test(run: NativeRun, plan: RunPlan, { run: index }: PlannedRun, step: number, emit: Emit): Promise<void> {
    for (const length of plan.testLengths) {
      if (this.#cancelled) return;
      const message = run.test(length, plan.testTokens);
      if (message) await emit({ type: 'refused', run: index, step, length, message: errorFrom(message).message });
      else {
        const byPosition = readFloats(this.#core!, run.testByPosition(), run.testByPositionCount());
        await emit({ type: 'test', run: index, step, length, result: { ...JSON.parse(run.testInfo()), byPosition } });
      }
      await this.#turn();
    }
  }

  async #turn(): Promise<void> {
    if (takeBreath()) await breathe();
    while (this.#paused) await this.#paused;
  }
}
