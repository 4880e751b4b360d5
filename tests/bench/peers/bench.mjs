// The bench against peers (run by npm run bench, which builds what it needs first). Medians go to stdout, progress to stderr.
//   --only product,attention     groups of rows (peak, threads, model, ready …)  --contenders simd,ort   who takes part
//   --seconds 1                  for each, in a row       --clock cpu             processor time: for a machine that others use
//   --quick                      without the rows that take minutes
//   --browsers                   in Chromium and Firefox too, all in one page
//   --out file.json --pictures folder/    results, and charts of them
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, hostname, totalmem } from 'node:os';
import { dirname } from 'node:path';
import { meter } from '../../../bindings/toolchain/host.mjs';
import { clock, given, listed, refuse } from '../options.mjs';
import { inBrowsers } from './browser.mjs';
import { drawPeers } from './chart.mjs';
import { contenders as known, loadContenders } from './contenders.mjs';
import { compete, entriesOf } from './measure.mjs';
import { memoryOf, readiness, wireSizes } from './ready.mjs';
import { expected, rows as allRows } from './rows.mjs';
import { table } from './table.mjs';

process.once('SIGINT', () => process.exit(130)); // browsers end with us

const groups = [...new Set(allRows.map(({ group }) => group)), 'memory', 'ready'];
const options = given({
  only: { type: 'string' }, contenders: { type: 'string' }, seconds: { type: 'string', default: '1' }, clock: { type: 'string', default: 'wall' },
  quick: { type: 'boolean' }, browsers: { type: 'boolean' }, out: { type: 'string' }, pictures: { type: 'string' } },
  { only: groups, contenders: Object.keys(known), clock: ['wall', 'cpu'] });
const only = listed(options.only), chosen = listed(options.contenders), seconds = Number(options.seconds);
if (!(seconds > 0)) refuse(`--seconds is ${options.seconds}; a number above 0 is wanted`);

const budget = { warmUp: 500, turn: 60, seconds, now: clock(options.clock) };
const rows = allRows.filter(({ group, long }) => (!only || only.includes(group)) && !(long && options.quick));

const dist = new URL('../../../dist/', import.meta.url);
const assets = {
  kernels: (variant) => readFileSync(new URL(`../../../build/${variant === 'relaxed' ? 'wasm-relaxed' : 'wasm'}/kernels.wasm`, import.meta.url)),
  async threadedKernels(variant) {
    const folder = new URL(`../../../build/${variant === 'relaxed' ? 'wasm-relaxed' : 'wasm'}/threads/`, import.meta.url);
    const [{ default: create }, { startThreads }] = await Promise.all([new URL('kernels.mjs', folder), new URL('threads.js', dist)].map((url) => import(url)));
    return { create, startThreads, module: await WebAssembly.compile(readFileSync(new URL('kernels.wasm', folder))) };
  },
  lengthwise: () => import(new URL('index.js', dist)),
  worker: () => import(new URL('remote.js', dist)),
};

const progress = meter('bench:');
const told = (text) => progress.show(text);
function print(text) {
  progress.end();
  console.log(text);
}
const show = (row) => print(table(row));

async function inNode() {
  const contenders = await loadContenders(assets, chosen, told);
  for (const { name, fault } of contenders) if (fault) print(`${name} ${fault}`);
  const measured = [];
  for (const row of rows) {
    const result = await compete(row, entriesOf(row, contenders), expected, budget, (text) => told(`${row.id}: ${text}`));
    measured.push({ ...result, ...(row.beside && { beside: row.beside }) });
    show(measured.at(-1));
  }
  if (!only || only.includes('memory')) {
    for (const length of options.quick ? [1024] : [1024, 4096]) measured.push(await memoryOf(length, chosen, told)), show(measured.at(-1));
  }
  if (!only || only.includes('ready')) {
    measured.push(await readiness(chosen, told)), show(measured.at(-1));
    if (!options.quick) measured.push(wireSizes(told)), show(measured.at(-1));
  }
  return { engine: `Node ${process.version}`, clock: options.clock, contenders, rows: measured };
}

const runs = [await inNode()];
if (options.browsers) { // peers' files make a page that is not isolated: one thread
  const { now: _, ...milliseconds } = budget;
  runs.push(...await inBrowsers({ rows: rows.filter(({ group }) => group !== 'threads'), chosen, budget: milliseconds }, { onProgress: told, tell: print, onRow: (browser, row) => print(`${browser}: ${table(row)}`) }));
}
const version = (name) => JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url), 'utf8')).version;
const result = {
  machine: { host: hostname(), cpu: cpus()[0].model.trim(), cores: cpus().length, gigabytes: Math.round(totalmem() / 2 ** 30) },
  date: new Date().toISOString().slice(0, 10),
  versions: Object.fromEntries(['onnxruntime-web', '@tensorflow/tfjs', '@jax-js/jax', '@wllama/wllama'].map((name) => [name, version(name)])),
  runs: runs.map(({ contenders, ...run }) => ({ ...run, contenders: contenders.map(({ name, fault }) => ({ name, fault })) })),
};
if (options.out) {
  mkdirSync(dirname(options.out), { recursive: true });
  writeFileSync(options.out, `${JSON.stringify(result, null, 1)}\n`);
}
if (options.pictures) {
  for (const [name, svg] of Object.entries(await drawPeers(result.runs))) writeFileSync(`${options.pictures}/peers-${name}.svg`, svg);
}
process.exit(); // some peers leave something running
