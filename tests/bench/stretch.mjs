// The measured curves of the README and of the page of the encodings: train at 64, test up to 1024, 3 seeds.
//   npm run build && node tests/bench/stretch.mjs [text|copy|recall|fine-tune] [--all [--anew]] [--folder build/stretch]
// fine-tune: text again, under encodings that are put on after training, before and after some steps on sequences of 256.
// A few encodings, 3.07 million training tokens a run: folder/<task>.json, <task>.svg and a table. With --all every encoding of
// the catalogue, as its `experiment` says, 0.61 million, as much as the lab page begins with: those that are not yet, or with
// --anew all, are put into results/all-<task>.json here and drawn in web/pictures. Each training is a `compare` of its own, kept
// in the folder: a job that was stopped goes on where it was.
// `node --experimental-wasm-relaxed-simd` uses the faster binary (fused multiply-add: other roundings).
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { drawStretch } from '../../dist/cli/chart.js';
import { load } from '../../dist/index.js';
import { drawAll } from './stretch-chart.mjs';

const { positionals: [kind = 'text'], values: { all, anew, folder } } = parseArgs({
  allowPositionals: true, options: { all: { type: 'boolean', default: false }, anew: { type: 'boolean', default: false }, folder: { type: 'string', default: 'build/stretch' } },
});
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const cli = here('../../dist/cli.js'), task = kind === 'fine-tune' ? 'text' : kind, record = here(`results/all-${task}.json`);
const some = ['rope', 'alibi', 'nope', 'random_sorted+rope', 'sinusoidal', 't5'];
const put = ['rope', 'interpolated:factor=4+rope', 'ntk:factor=4', 'yarn:factor=4'].map((spec) => `rope>${spec}`);
const few = { 'fine-tune': ['rope', ...put.slice(1), ...put.map((spec) => `${spec}@100`)], text: ['sinusoidal', 'learned:overflow=clamp', 'rope', 't5', 'alibi', 'window:width=32', 'nope'], copy: some, recall: some };
if (!few[kind]) throw new Error(`${kind} is no task; there are ${Object.keys(few).join(', ')}`);
if (all && kind !== task) throw new Error(`--all cannot be given with ${kind}`);
const catalogue = (await load()).encodings();
const encodings = all ? catalogue.map((d) => d.experiment) : few[kind];
const settings = ['--task', task, '--train-length', '64', '--test-lengths', '64,128,256,512,1024', '--steps', all ? '600' : '3000', '--batch', '16',
  '--seeds', '3', '--layers', '2', '--width', '64', '--heads', '4', '--test-tokens', all ? '32768' : '65536', '--workers', '1'];

const known = all && !anew && existsSync(record) ? JSON.parse(readFileSync(record, 'utf8')).encodings.filter(({ encoding }) => encodings.includes(encoding)) : [];
const missing = encodings.filter((encoding) => !known.some((e) => e.encoding === encoding));

// What is trained alike is trained once: "rope" and "rope>yarn" are one job.
const jobs = new Map();
for (const encoding of missing) jobs.set(encoding.split('>')[0], [...jobs.get(encoding.split('>')[0]) ?? [], encoding]);

mkdirSync(folder, { recursive: true });
const results = [...jobs].map(([trained, specs], i) => {
  const file = join(folder, `${all ? 'all-' : ''}${kind}-${trained.replace(/[^a-z0-9_]/g, '-')}.json`);
  const kept = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
  if (specs.every((spec) => kept?.encodings.some(({ encoding }) => encoding === spec))) return kept;
  console.error(`${kind}: ${specs.join(' ')} (${i + 1} of ${jobs.size})`);
  const json = execFileSync(process.execPath, [...process.execArgv, cli, 'compare', '--encodings', specs.join(), ...settings, '--json'],
    { stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 1 << 28 });
  writeFileSync(`${file}.part`, json);
  renameSync(`${file}.part`, file);
  return JSON.parse(json);
});

// The numbers of the table, without the curves by step and position.
const measure = task === 'text' ? 'perplexity' : 'accuracy';
const short = ({ encoding, parameters, tests }) => ({ encoding, parameters,
  tests: tests.map(({ byPosition, ...test }) => (all && !test.refused ? { length: test.length, [measure]: test[measure] } : test)) });
const place = ({ encoding }) => encodings.indexOf(encoding);
const { task: _, trainLength, testLengths, steps, seeds, fineTuning } = results[0] ?? JSON.parse(readFileSync(record, 'utf8'));
const result = { command: `node tests/bench/stretch.mjs ${kind}${all ? ' --all' : ''}`, task, trainLength, testLengths, steps, seeds, ...(kind === task ? {} : { fineTuning }),
  encodings: [...known, ...results.flatMap((r) => r.encodings).filter(({ encoding }) => missing.includes(encoding)).map(short)].sort((a, b) => place(a) - place(b)) };
writeFileSync(all ? record : join(folder, `${kind}.json`), `${JSON.stringify(result, null, all ? 0 : 1)}\n`);
if (all) writeFileSync(here(`../../web/pictures/all-${task}.svg`), await drawAll(result, Object.fromEntries(catalogue.map((d) => [d.experiment, d.doors[0]]))));
else writeFileSync(join(folder, `${kind}.svg`), await drawStretch(result));
const shown = ({ mean, sd }, factor, digits) => `${(mean * factor).toFixed(digits)} ± ${(sd * factor).toFixed(digits)}`;
console.log(`| ${kind} | ${result.testLengths.join(' | ')} |\n|---|${result.testLengths.map(() => '---').join('|')}|`);
for (const { encoding, tests } of result.encodings)
  console.log(`| ${encoding} | ${tests.map((t) => (t.refused ? '—' : task === 'text' ? shown(t.perplexity, 1, 2) : shown(t.accuracy, 100, 1))).join(' | ')} |`);
