// What takes a process of its own to see: how long from the import until something works, how far the heap grows; and how
// much comes over the wire.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';
import { buildSync } from 'esbuild';
import { oneLine } from './measure.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const shown = { simd: 'lengthwise simd', relaxed: 'lengthwise relaxed', ort: 'onnxruntime-web', tfjs: 'tfjs-wasm', jax: 'jax-js' };
const ours = (key) => key === 'simd' || key === 'relaxed';

/** A fresh process for each time, in turns; milliseconds on the wall. */
export async function readiness(chosen, onProgress, rounds = 7) {
  const entries = Object.entries(shown).filter(([key]) => !chosen || chosen.includes(key)).map(([key, name]) => ({ key, name, ours: ours(key), error: 0, times: [] }));
  for (let round = 0; round < rounds; round++) for (const entry of entries) {
    if (entry.fault) continue;
    onProgress(`import → ready: ${entry.name}, ${round + 1} of ${rounds}`);
    ask(entry, (milliseconds) => entry.times.push(milliseconds), 'start.mjs', entry.key);
  }
  return { id: 'import → ready in Node', group: 'ready', unit: 'ms', work: 1, entries: entries.map(({ key, times, ...entry }) => {
    times.sort((a, b) => a - b);
    return entry.fault ? entry : { ...entry, median: times[rounds >> 1], low: times[rounds >> 2], high: times[rounds - 1 - (rounds >> 2)], best: times[0], rounds };
  }) };
}

/** Gives what another process prints to `use`, or leaves the fault in the entry. */
function ask(entry, use, ...command) {
  try {
    use(Number(execFileSync(process.execPath, [...process.execArgv, here(command[0]), ...command.slice(1)], { stdio: ['ignore', 'pipe', 'pipe'] }).toString().trim().split('\n').pop()));
  } catch (error) {
    entry.fault = oneLine(/^\w*Error.*$/m.exec(String(error.stderr))?.[0] ?? error.message);
  }
}
const same = (value) => ({ median: value, low: value, high: value, best: value, rounds: 1 });

/** Megabytes that attention takes beyond its inputs and its result. */
export async function memoryOf(length, chosen, onProgress) {
  const ways = [['simd', '-'], ['relaxed', '-'], ['ort', 'fused'], ['ort', 'graph'], ['tfjs', '-'], ['jax', '-']].filter(([key]) => !chosen || chosen.includes(key));
  return { id: `memory of attention ${length}`, group: 'memory', unit: 'MB', work: 1, entries: ways.map(([key, form]) => {
    onProgress(`memory: ${key}`);
    const entry = { name: form === '-' ? shown[key] : `${shown[key]} (${form})`, ours: ours(key), error: 0 };
    ask(entry, (bytes) => Object.assign(entry, same(Math.max(bytes / 2 ** 20, 0.01))), 'memory.mjs', key, form, String(length));
    return entry;
  }) };
}

const brotli = (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }).length;
const script = (contents) => buildSync({ stdin: { contents, resolveDir: here('.') }, bundle: true, minify: true, write: false, format: 'esm', platform: 'browser', target: 'es2022',
  mainFields: ['module', 'browser', 'main'], external: ['node:*', 'fs', 'path', 'url', 'worker_threads', 'perf_hooks', 'module', 'os'], logLevel: 'silent' }).outputFiles[0].contents;

/** Kilobytes of brotli: what a page fetches before the first tensor, bundled and minified, with its WebAssembly. */
export function wireSizes(onProgress) {
  const peers = 'node_modules';
  const parts = {
    simd: ["export { load } from '../../../dist/index.js'", '../../../dist/lengthwise.wasm'],
    relaxed: ["export { load } from '../../../dist/index.js'", '../../../dist/lengthwise-relaxed.wasm'],
    ort: ["export { InferenceSession, Tensor } from 'onnxruntime-web/wasm'", `${peers}/onnxruntime-web/dist/ort-wasm-simd-threaded.wasm`],
    tfjs: ["export { tensor, matMul, setBackend } from '@tensorflow/tfjs-core'; import '@tensorflow/tfjs-backend-wasm'", `${peers}/@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm-simd.wasm`],
    jax: ["export { init, jit, numpy } from '@jax-js/jax'"],
    wllama: ["export { Wllama } from '@wllama/wllama'", `${peers}/@wllama/wllama/esm/wasm/wllama.wasm`],
  };
  return { id: 'on the wire, brotli', group: 'ready', unit: 'KB', work: 1, entries: Object.entries(parts).map(([key, [code, wasm]]) => {
    onProgress(`brotli: ${key}`);
    const size = (brotli(script(code)) + (wasm ? brotli(readFileSync(here(wasm))) : 0)) / 1024;
    return { name: shown[key] ?? key, ours: ours(key), error: 0, ...same(size) };
  }) };
}
