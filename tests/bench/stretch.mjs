// The measured curves of the README: train at 64, test up to 1024, 3 seeds, 3.07 million training tokens a run.
//   npm run build && node tests/bench/stretch.mjs [text|copy|recall] [folder]
// Each encoding is one `compare` of its own, kept in `folder` (default build/stretch): a job that was stopped goes on where
// it was. At the end: folder/<task>.json, <task>.svg and a table. `node --experimental-wasm-relaxed-simd` uses the faster
// binary (fused multiply-add: other roundings).
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [task = 'text', folder = 'build/stretch'] = process.argv.slice(2);
const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const encodings = {
  text: ['sinusoidal', 'learned:overflow=clamp', 'rope', 't5', 'alibi', 'window:width=32', 'nope'],
  copy: ['rope', 'alibi', 'nope', 'random_sorted+rope', 'sinusoidal', 't5'],
  recall: ['rope', 'alibi', 'nope', 'random_sorted+rope', 'sinusoidal', 't5'],
}[task];
const settings = ['--task', task, '--train-length', '64', '--test-lengths', '64,128,256,512,1024', '--steps', '3000', '--batch', '16',
  '--seeds', '3', '--layers', '2', '--width', '64', '--heads', '4', '--test-tokens', '65536', '--workers', '1'];

mkdirSync(folder, { recursive: true });
const results = encodings.map((encoding) => {
  const file = join(folder, `${task}-${encoding.replace(/[^a-z0-9_]/g, '-')}.json`);
  if (!existsSync(file)) {
    console.error(`${task}: ${encoding}`);
    const json = execFileSync(process.execPath, [...process.execArgv, cli, 'compare', '--encodings', encoding, ...settings, '--json'],
      { stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 1 << 28 });
    writeFileSync(`${file}.part`, json);
    renameSync(`${file}.part`, file);
  }
  return JSON.parse(readFileSync(file, 'utf8'));
});
const result = { ...results[0], encodings: results.flatMap((r) => r.encodings) };

// The numbers of the table, without the curves by step and position.
const short = { command: `node tests/bench/stretch.mjs ${task}`, ...result, encodings: result.encodings.map(({ encoding, parameters, tests }) => ({
  encoding, parameters, tests: tests.map(({ byPosition, ...test }) => test) })) };
writeFileSync(join(folder, `${task}.json`), `${JSON.stringify(short, null, 1)}\n`);
const { drawStretch } = await import(new URL('../../dist/cli/chart.js', import.meta.url));
writeFileSync(join(folder, `${task}.svg`), await drawStretch(result));
const shown = ({ mean, sd }, factor, digits) => `${(mean * factor).toFixed(digits)} ± ${(sd * factor).toFixed(digits)}`;
console.log(`| ${task} | ${result.testLengths.join(' | ')} |\n|---|${result.testLengths.map(() => '---').join('|')}|`);
for (const { encoding, tests } of result.encodings)
  console.log(`| ${encoding} | ${tests.map((t) => (t.refused ? '—' : task === 'text' ? shown(t.perplexity, 1, 2) : shown(t.accuracy, 100, 1))).join(' | ')} |`);
