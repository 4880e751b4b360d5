// The bench against peers, in Node (run by npm run bench, which builds what it needs first):
//   --only product,attention     groups of rows           --contenders simd,ort   who takes part
//   --seconds 1                  for each, in a row       --clock cpu             processor time: for a machine that others use
//   --quick                      without the rows that take minutes
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, hostname, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { meter } from '../../../bindings/toolchain/host.mjs';
import { entriesOf, loadContenders, names } from './contenders.mjs';
import { compete } from './measure.mjs';
import { expected, rows } from './rows.mjs';
import { table } from './table.mjs';

const list = (text) => text?.split(',').map((word) => word.trim()).filter(Boolean);
const { values: options } = parseArgs({ options: {
  only: { type: 'string' }, contenders: { type: 'string' }, seconds: { type: 'string', default: '1' }, clock: { type: 'string', default: 'wall' }, quick: { type: 'boolean' }, out: { type: 'string' } } });
const only = list(options.only), chosen = list(options.contenders);
const groups = [...new Set(rows.map(({ group }) => group))];
for (const [what, given, known] of [['only', only, groups], ['contenders', chosen, Object.keys(names)]]) {
  const wrong = given?.find((word) => !known.includes(word));
  if (wrong) throw new RangeError(`--${what} is ${wrong}; there are ${known.join(', ')}`);
}
const seconds = Number(options.seconds);
if (!(seconds > 0)) throw new RangeError(`--seconds is ${options.seconds}; a number above 0 is wanted`);

if (!['wall', 'cpu'].includes(options.clock)) throw new RangeError(`--clock is ${options.clock}; there are wall, cpu`);
const processorTime = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};
const budget = { warmUp: 500, turn: 60, seconds, now: options.clock === 'cpu' ? processorTime : () => performance.now() };

const folder = (preset) => new URL(`../../../build/${preset}/`, import.meta.url);
const assets = {
  kernels(variant) {
    return readFileSync(new URL('kernels.wasm', folder(variant === 'relaxed' ? 'wasm-relaxed' : 'wasm')));
  },
};

const progress = meter('bench:');
const contenders = await loadContenders(assets, chosen, (text) => progress.show(text));
const results = [];
for (const row of rows) {
  if ((only && !only.includes(row.group)) || (row.long && options.quick)) continue;
  const result = await compete(row, entriesOf(row, contenders), expected, budget,
    (text) => progress.show(`${row.id}: ${text}`));
  progress.end();
  results.push({ ...result, ...(row.beside && { beside: row.beside }) });
  console.log(table(results.at(-1)));
}

if (options.out) {
  const { name, version } = process.release.name === 'node' ? { name: 'Node', version: process.version } : process.release;
  mkdirSync(new URL('./', new URL(options.out, `file://${process.cwd()}/`)), { recursive: true });
  writeFileSync(options.out, `${JSON.stringify({
    machine: { cpu: cpus()[0].model, cores: cpus().length, memory: Math.round(totalmem() / 2 ** 30), host: hostname() },
    date: new Date().toISOString().slice(0, 10), engine: `${name} ${version}`, clock: options.clock,
    versions: Object.fromEntries(contenders.map(({ name, version, fault }) => [name, version ?? fault ?? ''])), rows: results }, null, 1)}\n`);
}
process.exit(); // some peers leave something running
