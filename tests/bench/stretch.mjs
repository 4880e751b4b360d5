// The measured curves of the README and of the page of the encodings: train at 64, test up to 1024, 3 seeds.
//   npm run build && node tests/bench/stretch.mjs [text|copy|recall] [--all] [--folder build/stretch]
// A few encodings, 3.07 million training tokens a run; with --all every encoding of the catalogue, as its `experiment` says,
// 0.61 million, as much as the lab page begins with. Each encoding is one `compare` of its own, kept in the folder: a job that
// was stopped goes on where it was. At the end: folder/<task>.json and .svg, with --all all-<task>.json and .svg, and a table.
// `node --experimental-wasm-relaxed-simd` uses the faster binary (fused multiply-add: other roundings).
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { drawStretch } from '../../dist/cli/chart.js';
import { load } from '../../dist/index.js';
import { drawAll } from './stretch-chart.mjs';

const { positionals: [task = 'text'], values: { all, folder } } = parseArgs({
  allowPositionals: true, options: { all: { type: 'boolean', default: false }, folder: { type: 'string', default: 'build/stretch' } },
});
const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const some = ['rope', 'alibi', 'nope', 'random_sorted+rope', 'sinusoidal', 't5'];
const few = { text: ['sinusoidal', 'learned:overflow=clamp', 'rope', 't5', 'alibi', 'window:width=32', 'nope'], copy: some, recall: some };
if (!few[task]) throw new Error(`${task} is no task; there are ${Object.keys(few).join(', ')}`);
const catalogue = (await load()).encodings();
const encodings = all ? catalogue.map((d) => d.experiment) : few[task];
const settings = ['--task', task, '--train-length', '64', '--test-lengths', '64,128,256,512,1024', '--steps', all ? '600' : '3000', '--batch', '16',
  '--seeds', '3', '--layers', '2', '--width', '64', '--heads', '4', '--test-tokens', all ? '32768' : '65536', '--workers', '1'];

mkdirSync(folder, { recursive: true });
const results = encodings.map((encoding, i) => {
  const file = join(folder, `${all ? 'all-' : ''}${task}-${encoding.replace(/[^a-z0-9_]/g, '-')}.json`);
  if (!existsSync(file)) {
    console.error(`${task}: ${encoding} (${i + 1} of ${encodings.length})`);
    const json = execFileSync(process.execPath, [...process.execArgv, cli, 'compare', '--encodings', encoding, ...settings, '--json'],
      { stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 1 << 28 });
    writeFileSync(`${file}.part`, json);
    renameSync(`${file}.part`, file);
  }
  return JSON.parse(readFileSync(file, 'utf8'));
});
const result = { ...results[0], encodings: results.flatMap((r) => r.encodings) };

// The numbers of the table, without the curves by step and position.
const measure = task === 'text' ? 'perplexity' : 'accuracy';
const short = { command: `node tests/bench/stretch.mjs ${task}${all ? ' --all' : ''}`, ...result, encodings: result.encodings.map(({ encoding, parameters, tests }) => ({
  encoding, parameters, tests: tests.map(({ byPosition, ...test }) => (all && !test.refused ? { length: test.length, [measure]: test[measure] } : test)) })) };
writeFileSync(join(folder, `${all ? 'all-' : ''}${task}.json`), `${JSON.stringify(short, null, all ? 0 : 1)}\n`);
writeFileSync(join(folder, `${all ? 'all-' : ''}${task}.svg`), all ? await drawAll(result, Object.fromEntries(catalogue.map((d) => [d.experiment, d.doors[0]]))) : await drawStretch(result));
const shown = ({ mean, sd }, factor, digits) => `${(mean * factor).toFixed(digits)} ± ${(sd * factor).toFixed(digits)}`;
console.log(`| ${task} | ${result.testLengths.join(' | ')} |\n|---|${result.testLengths.map(() => '---').join('|')}|`);
for (const { encoding, tests } of result.encodings)
  console.log(`| ${encoding} | ${tests.map((t) => (t.refused ? '—' : task === 'text' ? shown(t.perplexity, 1, 2) : shown(t.accuracy, 100, 1))).join(' | ')} |`);
