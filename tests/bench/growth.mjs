// How time and memory grow (run by npm run bench -- growth, which builds what it needs). Each curve has a law: the exponent
// that the work grows by; beside each point stands the exponent from the point before it. Table to stdout, progress to stderr.
//   --longest 65536              of the lengths 256, 512, …         --clock cpu    processor time: for a machine that others use
//   --out file.json --pictures folder/    results, and a chart of them
import { readFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { cpus, hostname, totalmem } from 'node:os';
import { dirname } from 'node:path';
import { meter } from '../../bindings/toolchain/host.mjs';
import { load } from '../../dist/index.js';
import { drawGrowth } from './growth-chart.mjs';
import { loadKernels } from './kernels.mjs';
import { clock, given, refuse } from './options.mjs';
import { numbers } from './peers/numbers.mjs';

const options = given({
  longest: { type: 'string', default: '65536' }, clock: { type: 'string', default: 'wall' }, out: { type: 'string' }, pictures: { type: 'string' } },
  { clock: ['wall', 'cpu'] });
const longest = Number(options.longest), now = clock(options.clock);
if (!(longest >= 256 && longest <= 2 ** 20)) refuse(`--longest is ${options.longest}; allowed: 256 to ${2 ** 20}`);

const doubling = (from, to) => Array.from({ length: Math.floor(Math.log2(to / from)) + 1 }, (_, i) => from * 2 ** i);

const lw = await load();
const kernels = await loadKernels(readFileSync(new URL(`../../build/${lw.variant === 'relaxed' ? 'wasm-relaxed' : 'wasm'}/kernels.wasm`, import.meta.url)));
const { wasm } = kernels;
const progress = meter('growth:');

const lengths = doubling(256, longest), halfway = 512;
const attention = (spec, law, note) => ({ by: 'length', spec, law, note, xs: lengths, setting: '1 head of 64', work: (length) => attending(spec, { length, heads: 1, headDim: 64 }) });
const curves = [
  { id: 'full', ...attention('nope', 2, 'past 4096 keys are packed tile by tile: memory falls, and stays') },
  { id: 'window', ...attention('window:width=256', 1, 'until the window is full it is full attention') },
  { id: 'linear', ...attention('rope+linear_attention', 1, 'one matrix for each head, whatever the length') },
  { id: 'decode', by: 'tokens before', spec: 'nope', law: 1, note: 'memory is read once: where a cache ends the time bends', xs: lengths,
    setting: 'attention of one more token, 8 heads of 64', work: (length) => attending('nope', { length, heads: 8, headDim: 64, queries: 1 }) },
  { id: 'heads', by: 'heads', spec: 'nope', law: 1, xs: doubling(1, 32), setting: `length ${halfway}, heads of 64`, work: (heads) => attending('nope', { length: halfway, heads, headDim: 64 }) },
  { id: 'width', by: 'width of a head', spec: 'nope', law: 1, note: 'exponentials cost the same at any width', xs: doubling(8, 256),
    setting: `length ${halfway}, 8 heads`, work: (headDim) => attending('nope', { length: halfway, heads: 8, headDim }) },
  { id: 'model', by: 'parameters', spec: 'rope', law: 1, note: 'attention and norms grow with the root of that', xs: doubling(32, 256),
    setting: '2 layers 32 to 256 wide, 16 × 64 tokens', work: training },
];

/** One pass over q, k and v of ordinary size, checked; by all queries or, from a cache, by the last. */
function attending(spec, { length, heads, headDim, queries = length }) {
  const width = heads * headDim, first = length - queries, [q, k, v] = [1, 2, 3].map((seed) => numbers(length * width, seed));
  const site = kernels.site(spec, { heads, headDim, length });
  const cached = (x) => x.map((_, n) => x[Math.floor(n / headDim) % length * width + Math.floor(n / headDim / length) * headDim + n % headDim]);
  const blocks = [q.subarray(first * width), ...(first ? [cached(k), cached(v)] : [k, v])].map((values) => kernels.place(values));
  blocks.push(kernels.space(queries * width));
  if (!wasm.plan(site, length)) throw new Error('out of memory');
  const attend = first ? wasm.attend_next : wasm.attend;
  return {
    run() { if (!attend(site, length, ...blocks)) throw new Error('out of memory'); },
    check() {
      const out = kernels.view(blocks[3], queries * width);
      for (const row of new Set([first, first + (queries >> 1), length - 1])) for (const head of new Set([0, heads - 1])) {
        const exact = exactRow(spec, row, { q, k, v, width, headDim, at: head * headDim });
        const error = Math.max(...exact.map((value, d) => Math.abs(value - out[(row - first) * width + head * headDim + d])));
        if (!(error < 2e-5)) throw new Error(`${spec} of ${length}: row ${row} is off by ${error}`);
      }
    },
    memory: () => wasm.scratch_floats(site),
    dispose() { kernels.release(...blocks), wasm.site_release(site); },
  };
}

/** A row of the result in doubles. */
function exactRow(spec, i, { q, k, v, width, headDim, at }) {
  const linear = spec.includes('linear'), first = spec.startsWith('window') ? Math.max(0, i - 255) : 0;
  const feature = (x) => (x > 0 ? x + 1 : Math.exp(x));
  const dot = (j, of = (x) => x) => {
    let sum = 0;
    for (let d = 0; d < headDim; d++) sum += of(q[i * width + at + d]) * of(k[j * width + at + d]);
    return sum;
  };
  const turned = (j) => { // products of what rope has turned
    let sum = 0;
    for (let d = 0; d < headDim; d += 2) {
      const angle = (i - j) * 10000 ** (-d / headDim), c = Math.cos(angle), s = Math.sin(angle);
      const [a, b, x, y] = [q[i * width + at + d], q[i * width + at + d + 1], k[j * width + at + d], k[j * width + at + d + 1]].map(feature);
      sum += c * (a * x + b * y) + s * (a * y - b * x);
    }
    return sum;
  };
  const keys = Array.from({ length: i + 1 - first }, (_, n) => first + n);
  const scores = linear ? keys.map(turned) : keys.map((j) => Math.exp(dot(j) / Math.sqrt(headDim)));
  const total = linear ? keys.reduce((sum, j) => sum + dot(j, feature), 0) : scores.reduce((a, b) => a + b);
  return Array.from({ length: headDim }, (_, d) => scores.reduce((sum, score, n) => sum + score * v[(first + n) * width + at + d], 0) / total);
}

function training(width) {
  const [batch, length, vocabulary] = [16, 64, 256];
  const tokens = Int32Array.from({ length: batch * (length + 1) }, (_, i) => (i * 7919) % vocabulary);
  const model = lw.model({ vocabulary, width, layers: 2, heads: 4, trainedLength: length, encoding: 'rope' }, { seed: 1 });
  const trainer = model.trainer({ steps: 1000 });
  const losses = [], run = () => { losses.push(trainer.step(tokens, { batch, length }).loss); };
  return {
    at: model.parameterCount, run,
    check() {
      while (losses.length < 20) run();
      if (!(losses.at(-1) < losses[0])) throw new Error(`width ${width}: the loss does not fall: ${losses.join(' ')}`);
    },
    dispose() { model.dispose(); },
  };
}

const [turn, rounds, slow, patience] = [60, 9, 2000, 12_000]; // ms, times, ms of a run that is not repeated in a turn, ms of its turns

function time(run, times) {
  const started = now();
  for (let i = 0; i < times; i++) run();
  return (now() - started) / times;
}

/** Runs once, for the check; then long enough for the engine to compile what is hot with care. */
function prepare(task) {
  task.times = [time(task.run, 1)];
  task.check();
  if (task.times[0] > slow) return Object.assign(task, { repeat: 1 });
  const warm = time(task.run, Math.ceil(200 / Math.max(task.times[0], 0.05)));
  Object.assign(task, { times: [], repeat: Math.ceil(turn / Math.max(warm, 1e-3)) });
}

const spent = ({ times, repeat }) => times.reduce((sum, each) => sum + each, 0) * repeat;

/** All points of a curve take turns, so that a machine that slows down for a while leaves its shape alone. */
function measure({ id, xs, work }) {
  const tasks = [];
  try {
    for (const x of xs) {
      progress.show(`${id} ${x}`);
      tasks.push({ at: x, ...work(x) });
      prepare(tasks.at(-1));
    }
    for (let round = 0; round < rounds; round++) {
      progress.show(`${id}, round ${round + 1} of ${rounds}`);
      for (const { run, times, repeat } of tasks) if (spent({ times, repeat }) < patience) times.push(time(run, repeat));
    }
    return pointsOf(tasks);
  } finally {
    for (const { dispose } of tasks) dispose();
  }
}

/** Milliseconds of a run: median and quartiles; bytes; the exponent from the point before. */
function pointsOf(tasks) {
  const points = [];
  for (const { at, times, repeat, memory } of tasks) {
    times.sort((a, b) => a - b);
    const [low, median, high] = [0.25, 0.5, 0.75].map((q) => times[Math.floor(q * times.length)]), before = points.at(-1);
    points.push({ x: at, median, low, high, runs: repeat * times.length, ...(memory && { scratchBytes: 4 * memory() }),
      ...(before && { exponent: Math.log(median / before.median) / Math.log(at / before.x) }) });
  }
  return points;
}

const number = (value) => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value >= 1 ? value.toFixed(2) : value.toFixed(3));
function print({ id, spec, by, law, setting, note, points }) {
  const lines = points.map(({ x, median, low, high, scratchBytes, exponent }) => `  ${x.toLocaleString('en').padStart(11)}  ${number(median).padStart(8)} ms  ` +
    `±${(50 * (high - low) / median).toFixed(0).padStart(3)} %  ${(exponent?.toFixed(2) ?? '').padStart(6)}${scratchBytes === undefined ? '' : `  ${(scratchBytes / 1024).toFixed(1).padStart(8)} KB beside`}`);
  console.log([`${id} (${spec}) by ${by}, exponent ${law}: ${setting}${note ? `; ${note}` : ''}`, ...lines].join('\n'));
}

const measured = [];
for (const { work, xs, ...curve } of curves) {
  measured.push({ ...curve, points: measure({ ...curve, work, xs }) });
  progress.end();
  print(measured.at(-1));
}
const result = {
  machine: { host: hostname(), cpu: cpus()[0].model.trim(), cores: cpus().length, gigabytes: Math.round(totalmem() / 2 ** 30) },
  date: new Date().toISOString().slice(0, 10), engine: `Node ${process.version}`, variant: lw.variant, clock: options.clock, curves: measured,
};
if (options.out) {
  mkdirSync(dirname(options.out), { recursive: true });
  writeFileSync(options.out, `${JSON.stringify(result, null, 1)}\n`);
}
if (options.pictures) writeFileSync(`${options.pictures}/growth.svg`, await drawGrowth(result));
