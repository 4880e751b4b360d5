// npm run bench -- <name> [native]: builds one of the benches and runs it as WebAssembly, or natively.
//   encodings   what each plan costs beside one attention pass         product, attention   GFLOP/s of the kernels
//   foundation  time to ready, size, training steps a second           (all print what they measure)
//   growth      time and memory against length, heads, head width and model size: --longest 8192, --clock cpu
//   peers       all of it beside onnxruntime-web, tfjs, jax-js, wllama and plain JavaScript: also without a name, and with
//               the options of peers/bench.mjs; writes results/peers-<host>.json and charts
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildAll, buildPreset } from '../../bindings/toolchain/build.mjs';
import { ask, Problem, run, say } from '../../bindings/toolchain/host.mjs';
import { fail } from '../../bindings/toolchain/setup.mjs';

const programs = { encodings: 'plan_bench', product: 'product_bench', attention: 'attention_bench' };
const given = process.argv.slice(2);
const name = given[0]?.startsWith('--') || !given.length ? 'peers' : given[0], native = given[1] === 'native';
const rest = given.slice(native ? 2 : 1);
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** The packages to compare with, which have a lock file of their own. */
async function ensurePeers() {
  const [lock, installed] = ['peers/package-lock.json', 'peers/node_modules/.package-lock.json'].map(here);
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return;
  say('installing the peers (npm ci in tests/bench/peers)');
  await run('npm', ['ci', '--ignore-scripts', '--loglevel=error'], { cwd: here('peers') });
}

/** Node 20 has relaxed SIMD behind a flag. */
function relaxedFlags() {
  const flag = '--experimental-wasm-relaxed-simd';
  return ask(process.execPath, [flag, '-e', '0']) === null ? [] : [flag];
}

async function growth() {
  await buildAll();
  const rest = given.slice(1), chosen = rest.some((word) => /^--(longest|out|pictures)\b/.test(word)); // a part is not to replace the whole
  const files = chosen ? [] : ['--out', here(`results/growth-${hostname()}.json`), '--pictures', here('../../web/pictures')];
  return [process.execPath, [...relaxedFlags(), here('growth.mjs'), ...files, ...rest]];
}

async function peers() {
  await buildAll();
  for (const preset of ['wasm', 'wasm-relaxed']) await buildPreset(preset, ['kernels_threads']);
  await ensurePeers();
  const more = given.filter((word) => word !== 'peers');
  const chosen = more.some((word) => /^--(only|contenders|out|pictures)\b/.test(word)); // a part is not to replace the whole
  const files = chosen ? [] : ['--out', here(`results/peers-${hostname()}.json`), '--pictures', here('../../web/pictures')];
  return [process.execPath, [...relaxedFlags(), here('peers/bench.mjs'), ...files, ...more]];
}

async function bench() {
  if (name === 'peers') return peers();
  if (name === 'growth') return growth();
  if (name === 'foundation') {
    await buildAll();
    return [process.execPath, [here('foundation.mjs'), ...given.slice(1)]];
  }
  const program = programs[name];
  if (!program) throw new Problem(`npm run bench -- ${name}: the name is one of ${[...Object.keys(programs), 'foundation', 'growth', 'peers'].join(', ')}`);
  const folder = await buildPreset(native ? 'native' : 'wasm', [program]);
  return native ? [join(folder, program), rest] : [process.execPath, [join(folder, `${program}.cjs`), ...rest]];
}

if (given.includes('--help')) {
  const text = (path, lines) => readFileSync(here(path), 'utf8').split('\n').slice(0, lines).map((line) => line.replace(/^\/\/ ?/, '')).join('\n');
  console.log(`${text('run.mjs', 6)}\n\n${text('peers/bench.mjs', 6)}`);
  process.exit();
}
try {
  const [command, args] = await bench();
  process.on('SIGINT', () => {}); // the bench hears it too, and says when it is done
  spawn(command, args, { stdio: 'inherit' }).on('close', (code, signal) => { process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1); });
} catch (error) {
  fail(error);
}
