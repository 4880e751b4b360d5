// The main job: train short, test long, for several encodings and seeds, and say how each behaves past its length.

import * as check from './check.js';
import { proxy, type Remote } from './comlink.mjs';
import { MODEL_KEYS, modelRequest, TRAIN_DEFAULTS, TRAIN_KEYS, trainRequest, type ModelConfig, type TrainOptions } from './config.js';
import { moduleAddress, type EncodingDefinition, type EncodingModule } from './custom.js';
import { revive } from './errors.js';
import { locate, type LoadOptions, type WorkerOptions } from './load.js';
import { Bench, type ExperimentEvent, type RunPlan, type Task } from './run.js';
import { phases, specText, type EncodingSpec } from './spec.js';
import { summarise, type EncodingSummary, type RunRecord } from './summary.js';
import { checkSplit, splitText, type TextSplit } from './text.js';
import { startWorker, type Station } from './workers.js';

export interface ExperimentOptions extends Omit<LoadOptions, 'inferenceOnly'>, WorkerOptions {
  /** The encodings to compare; each gives `seeds` runs. 'rope>yarn:factor=4' is trained with the one and tested with the other ({@link Model.withEncoding}); what is written alike before the > is trained once. 'rope>yarn:factor=4@100' is fine-tuned for 100 steps before it is tested. */
  encodings: readonly EncodingSpec[];
  /**
   * Encodings of your own, which `encodings` may then name. For workers: the URL or the text of a module (see
   * `RemoteLengthwise.register`); with `workers: 0` the encoding itself will do.
   */
  register?: readonly (EncodingModule | EncodingDefinition<any>)[];
  /** 'text': next byte; 'copy': repeat what came before a mark; 'recall': values of keys. Default 'text'. */
  task?: Task;
  /** For 'text': one text, documents, or a split made before (see `splitText`); its parts may be texts too. */
  text?: string | Uint8Array | readonly string[] | { train: string | Uint8Array; test: string | Uint8Array };
  /** Default 64. */
  trainLength?: number;
  /** Default 1, 2, 4 and 8 times `trainLength`. */
  testLengths?: readonly number[];
  /** Training steps of each run (default 1000). */
  steps?: number;
  /** How many seeds (default 1), or which. */
  seeds?: number | readonly number[];
  /** Sequences per step (default 16). */
  batch?: number;
  /** The transformer, but for encoding, vocabulary and trained length; causal. */
  model?: Omit<ModelConfig, 'encoding' | 'vocabulary' | 'trainedLength'>;
  /** The optimiser, but for `steps` and `seed`. */
  training?: Omit<TrainOptions, 'steps' | 'seed'>;
  /**
   * How those that end in @steps are fine-tuned: on sequences of `length` tokens (default 4 × `trainLength`), as many in a
   * step as make the tokens of a training step, at least one; from a peak of `learningRate` (default a third of training's).
   */
  fineTuning?: { length?: number; learningRate?: number };
  /** Tokens in each test, about (default 16384). */
  testTokens?: number;
  /** Also test after every so many steps of training (default 0: only at the end); what is to be fine-tuned is tested then as it is before. */
  testEvery?: number;
  /** How many workers (default: one less than there are cores); 0 runs everything in this thread. Each has `threads`. */
  workers?: number;
  /** Cancels the experiment. */
  signal?: AbortSignal;
  /** Is told everything that happens. */
  onProgress?: (event: ExperimentEvent) => void;
}

/** What came out. */
export interface ExperimentResult {
  task: Task;
  trainLength: number;
  testLengths: number[];
  steps: number;
  /** How those that end in @steps were fine-tuned. */
  fineTuning: { length: number; learningRate: number };
  seeds: number[];
  encodings: EncodingSummary[];
}

const KEYS = ['encodings', 'register', 'task', 'text', 'trainLength', 'testLengths', 'steps', 'seeds', 'batch', 'model', 'training',
  'fineTuning', 'testTokens', 'testEvery', 'workers', 'signal', 'onProgress', 'wasmUrl', 'wasmBinary', 'variant', 'threads', 'createWorker'];

// The fewest tokens in which a task can be put. A shorter test is told as refused, since the others make sense.
const SHORTEST = { text: 1, copy: 2, recall: 8 };
const LONGEST = 1 << 20; // that the core trains on

/** Something that performs runs: a worker, or this thread. */
interface Place {
  bench: Bench | Remote<Bench>;
  died: Promise<never>;
  end(): void;
}

/**
 * Starts an experiment. Everything is checked before the first step of training.
 * @throws RangeError or TypeError for what can be seen at once; other faults reject `finished`.
 */
export function experiment(options: ExperimentOptions): Experiment {
  return new Experiment(options);
}

/** An experiment under way. */
export class Experiment {
  /** The runs, in the order in which they are started: events name them by index. */
  readonly runs: readonly { encoding: string; seed: number }[];
  /** The result; rejects with an AbortError after `cancel()`, and with what went wrong if nothing could be run. */
  readonly finished: Promise<ExperimentResult>;
  readonly #plans: RunPlan[];
  readonly #records: RunRecord[];
  readonly #options: ExperimentOptions;
  readonly #text: TextSplit | undefined;
  readonly #own: (string | EncodingDefinition<any>)[];
  readonly #abort = new AbortController();
  #places: Place[] = [];
  #paused = false;

  /** @internal */
  constructor(options: ExperimentOptions) {
    const { runs, plans } = planned(options);
    this.#plans = plans;
    this.#options = options;
    this.#text = textOf(options);
    const { length } = plans[0]!.fineTuning, bytes = this.#text?.train.length ?? Infinity;
    if (length >= bytes && plans.some((plan) => plan.runs.some(({ fineTune }) => fineTune))) {
      throw new RangeError(`fineTuning.length is ${length}; it must be less than the ${bytes} bytes of the training text`);
    }
    this.#own = (options.register ?? []).map((own) =>
      (options.workers === 0 && !check.isA('URL', own) && typeof own === 'object' ? own as EncodingDefinition<any> : moduleAddress(own as EncodingModule)));
    this.runs = runs;
    this.#records = this.runs.map((run) => ({
      ...run, parameters: null, stepsPerSecond: null, losses: [], tests: new Map(), refused: new Map(), failed: null,
    }));
    const { signal } = options;
    const cancel = () => this.#abort.abort(signal?.reason);
    signal?.addEventListener('abort', cancel, { once: true });
    if (signal?.aborted) cancel();
    this.finished = this.#perform().finally(() => signal?.removeEventListener('abort', cancel));
    this.finished.catch(() => {}); // whoever cancels need not wait for it
  }

  get paused(): boolean { return this.#paused; }

  /** Stops after the step under way, until `resume()`. */
  pause(): void {
    this.#paused = true;
    for (const { bench } of this.#places) void bench.pause();
  }

  resume(): void {
    this.#paused = false;
    for (const { bench } of this.#places) void bench.resume();
  }

  /** Ends all runs now. What is known so far stays in `result`. */
  cancel(): void {
    this.#abort.abort();
  }

  /** What is known so far. */
  get result(): ExperimentResult {
    const { task, trainLength, testLengths, steps, fineTuning } = this.#plans[0]!;
    const names = [...new Set(this.runs.map((run) => run.encoding))];
    return {
      task, trainLength, testLengths: [...testLengths], steps, fineTuning: { ...fineTuning },
      seeds: [...new Set(this.runs.map((run) => run.seed))],
      encodings: names.map((name) => summarise(name, this.#records.filter((run) => run.encoding === name), testLengths)),
    };
  }

  async #perform(): Promise<ExperimentResult> {
    const { signal } = this.#abort;
    const aborted = new Promise<never>((_, reject) => {
      if (signal.aborted) reject(signal.reason);
      signal.addEventListener('abort', () => reject(signal.reason));
    });
    aborted.catch(() => {});
    try {
      return await Promise.race([aborted, this.#work()]);
    } finally {
      for (const place of this.#places) place.end();
      this.#places = [];
    }
  }

  async #work(): Promise<ExperimentResult> {
    const { wasmUrl, wasmBinary, variant, threads, createWorker } = this.#options;
    const wasm = await locate({ wasmUrl, wasmBinary, variant, threads });
    if (this.#abort.signal.aborted) throw this.#abort.signal.reason;
    const count = this.#options.workers ?? defaultWorkers();
    this.#places = Array.from({ length: Math.min(count, this.#plans.length) }, () => remotePlace(startWorker({ createWorker })));
    if (count === 0) this.#places.push(localPlace());
    await Promise.all(this.#places.map(({ bench, died }) => Promise.race([died, bench.prepare(wasm, this.#text, this.#own)])).map(revived));

    // A misspelt encoding should not come to light an hour into the experiment.
    const first = this.#places[0]!;
    for (const plan of this.#plans.filter(({ seed }) => seed === this.#plans[0]!.seed)) await revived(Promise.race([first.died, first.bench.check(plan)]));
    if (this.#paused) this.pause();

    const waiting = [...this.#plans];
    await Promise.all(this.#places.map(async (place) => {
      let alive = true;
      place.died.catch(() => { alive = false; });
      while (alive && waiting.length && !this.#abort.signal.aborted) await this.#run(place, waiting.shift()!);
    }));
    if (!this.#abort.signal.aborted) for (const { run } of waiting.flatMap(({ runs }) => runs)) this.#tell({ type: 'failed', run, message: 'no worker was left to run it' });
    const failures = this.#records.map((record) => record.failed);
    if (failures.every((message) => message !== null)) throw new Error(`every run failed: ${failures[0]}`);
    return this.result;
  }

  async #run({ bench, died }: Place, plan: RunPlan): Promise<void> {
    // Nothing is told any more once cancelled, even if a worker had something on its way.
    const emit = (event: ExperimentEvent) => { if (!this.#abort.signal.aborted) this.#tell(event); };
    try {
      await Promise.race([died, bench instanceof Bench ? bench.perform(plan, emit) : bench.perform(plan, proxy(emit))]);
    } catch (error) {
      const { message } = revive(error);
      for (const { run } of plan.runs) if (this.#records[run]!.stepsPerSecond === null && this.#records[run]!.failed === null) emit({ type: 'failed', run, message });
    }
  }

  #tell(event: ExperimentEvent): void {
    const record = this.#records[event.run]!;
    if (event.type === 'start') record.parameters = event.parameters;
    else if (event.type === 'train') for (const loss of event.losses) record.losses.push(loss);
    else if (event.type === 'test') record.tests.set(event.length, event.result);
    else if (event.type === 'refused') record.refused.set(event.length, event.message);
    else if (event.type === 'end') record.stepsPerSecond = event.stepsPerSecond;
    else record.failed = event.message;
    this.#options.onProgress?.(event);
  }
}

function planned(options: ExperimentOptions): { runs: Experiment['runs']; plans: RunPlan[] } {
  check.keys('experiment options', options ?? null, KEYS);
  check.signal(options.signal);
  check.callback('onProgress', options.onProgress);
  check.callback('createWorker', options.createWorker);
  if (options.workers !== undefined) check.integer('workers', options.workers, 0, 1024);
  const task = check.choice('task', options.task ?? 'text', ['text', 'copy', 'recall']);
  const trainLength = check.integer('trainLength', options.trainLength ?? 64, SHORTEST[task], check.MOST);
  const testLengths = options.testLengths === undefined ? [1, 2, 4, 8].map((times) => times * trainLength)
    : [...new Set(check.list('testLengths', options.testLengths, 'lengths').map((length, i) => check.count(`testLengths[${i}]`, length)))];
  if (testLengths.length === 0) throw new RangeError('testLengths is empty; at least one length is needed');
  const common = {
    task, trainLength, testLengths,
    steps: check.count('steps', options.steps ?? 1000),
    batch: check.count('batch', options.batch ?? 16),
    testTokens: check.count('testTokens', options.testTokens ?? 16384),
    testEvery: check.integer('testEvery', options.testEvery ?? 0, 0),
    model: modelOf(options.model),
    training: trainingOf(options.training),
    fineTuning: fineTuningOf(options, task, trainLength),
  };
  const encodings = check.list('encodings', options.encodings, 'encodings');
  if (encodings.length === 0) throw new TypeError('encodings is empty; it must have at least one encoding');
  const specs = [...new Set((encodings as readonly EncodingSpec[]).map(specText))];
  const seeds = seedsOf(options.seeds ?? 1);
  const read = new Map(specs.map((spec) => [spec, phases(spec)]));
  // Seed by seed, so that a first picture of all encodings is there early. What is written alike is trained once.
  const runs = seeds.flatMap((seed) => specs.map((encoding) => Object.freeze({ encoding, seed })));
  const plans = new Map<string, RunPlan>();
  runs.forEach(({ encoding, seed }, run) => {
    const { trained, tested, fineTune } = read.get(encoding)!, key = `${seed} ${trained}`;
    if (!plans.has(key)) plans.set(key, { ...common, encoding: trained, seed, runs: [] });
    plans.get(key)!.runs.push({ run, tested, fineTune });
  });
  return { runs, plans: [...plans.values()] };
}

/** What the experiment itself decides must not be given, and be ignored, in another place. */
function keysBut(name: string, value: unknown, allowed: readonly string[], elsewhere: Record<string, string>): void {
  if (value === undefined) return;
  for (const [key, place] of Object.entries(elsewhere)) {
    if (Object.hasOwn(Object(value) as object, key)) throw new TypeError(`${name}.${key} cannot be given: ${place}`);
  }
  check.keys(name, value, allowed.filter((key) => !Object.hasOwn(elsewhere, key)));
}

function modelOf(model: ExperimentOptions['model']): RunPlan['model'] {
  keysBut('model', model, MODEL_KEYS, {
    encoding: "the experiment's encodings name them", vocabulary: "the task decides it", trainedLength: "it is the experiment's trainLength",
  });
  modelRequest(model);
  // Every task predicts each token from those before it: a model that sees what follows would copy the answer.
  if (model?.causal === false) throw new RangeError('model.causal is false; an experiment needs a causal model (true), since otherwise the tokens to predict can be seen');
  return model ?? {};
}

function trainingOf(training: ExperimentOptions['training']): RunPlan['training'] {
  keysBut('training', training, TRAIN_KEYS, { steps: "they are the experiment's steps", seed: "they are the experiment's seeds" });
  trainRequest(training);
  return training ?? {};
}

function fineTuningOf({ fineTuning = {}, training }: ExperimentOptions, task: Task, trainLength: number): RunPlan['fineTuning'] {
  check.keys('fineTuning', fineTuning, ['length', 'learningRate']);
  return {
    length: fineTuning.length === undefined ? Math.min(4 * trainLength, LONGEST) : check.integer('fineTuning.length', fineTuning.length, SHORTEST[task], LONGEST),
    learningRate: fineTuning.learningRate === undefined ? (training?.learningRate ?? TRAIN_DEFAULTS.learningRate) / 3 : check.finite('fineTuning.learningRate', fineTuning.learningRate, 0, 1),
  };
}

function seedsOf(seeds: number | readonly number[]): number[] {
  if (typeof seeds === 'number') return Array.from({ length: check.count('seeds', seeds, 1000) }, (_, i) => i + 1);
  if (!Array.isArray(seeds) || seeds.length === 0) throw new TypeError('seeds must be a number or an array of at least one seed');
  return [...new Set(seeds.map((seed, i) => check.integer(`seeds[${i}]`, seed, 0)))];
}

function textOf({ task = 'text', text }: ExperimentOptions): TextSplit | undefined {
  if (task !== 'text') {
    if (text !== undefined) throw new TypeError(`text cannot be given: the task '${task}' makes its own`);
    return undefined;
  }
  if (text === undefined) throw new TypeError("text is missing; the task 'text' needs it");
  const isSplit = typeof text === 'object' && text !== null && !Array.isArray(text) && !ArrayBuffer.isView(text);
  return isSplit ? checkSplit(text) : splitText(text as string | Uint8Array | readonly string[]);
}

function defaultWorkers(): number {
  const cores = typeof navigator === 'object' ? navigator.hardwareConcurrency : globalThis.process?.getBuiltinModule('node:os').availableParallelism();
  return Math.max((cores || 2) - 1, 1);
}

function remotePlace(station: Station): Place {
  return { bench: station.workshop.bench as unknown as Remote<Bench>, died: station.died, end: station.end };
}

function localPlace(): Place {
  const bench = new Bench();
  return { bench, died: new Promise<never>(() => {}), end: () => bench.cancel() };
}

async function revived<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw revive(error);
  }
}
