// `npm test`: every layer in order, then a summary whose last line is "N passed, N failed".
//   npm test -- native page     runs only the layers named
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { buildAll, buildPreset, hasTarget, project } from '../bindings/toolchain/build.mjs';
import { ask, Problem } from '../bindings/toolchain/host.mjs';
import { ensureToolchain } from '../bindings/toolchain/setup.mjs';

const MINUTES = 60_000;

/** Runs a program to its end; gives { code, signal, output }. */
function execute(command, args, { limit = 30 * MINUTES, env = process.env } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: project, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const chunks = [];
    const timer = setTimeout(() => child.kill('SIGKILL'), limit);
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => chunks.push(data));
    child.on('error', (error) => chunks.push(Buffer.from(String(error))));
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, output: Buffer.concat(chunks).toString() });
    });
  });
}

/** Counts found in an output; a runner that crashed or said nothing is one failure more. */
function judge({ code, signal, output }, counts) {
  if (!counts) return { passed: 0, failed: 1, output: `${output}\nthe runner ended with ${signal ?? code} and gave no result` };
  const crashed = code !== 0 && counts.failed === 0;
  if (crashed) output += `\nthe runner ended with ${signal ?? code}`;
  return { passed: counts.passed, failed: counts.failed + (crashed ? 1 : 0), skipped: counts.skipped, output };
}

function doctestCounts(output) {
  const match = /test cases:\s*(\d+)\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed(?:\s*\|\s*(\d+) skipped)?/.exec(output);
  // skipped: what doctest filtered out, none without a filter
  return match && Number(match[1]) > 0 && { passed: Number(match[2]), failed: Number(match[3]) };
}

async function doctest(preset, start) {
  const folder = await buildPreset(preset, ['build.ninja']); // looks for new files
  const program = preset.startsWith('wasm') ? 'lengthwise_tests.cjs' : 'lengthwise_tests';
  if (!hasTarget(folder, program)) return { skip: 'tests/native/ holds no tests' };
  await buildPreset(preset, ['lengthwise_tests']);
  const [command, ...args] = [...start, join(folder, program), '--no-colors=1'];
  const env = { ...process.env, ASAN_OPTIONS: 'detect_leaks=1:detect_stack_use_after_return=1', UBSAN_OPTIONS: 'print_stacktrace=1' };
  const result = await execute(command, args, { env });
  return judge(result, doctestCounts(result.output));
}

/** The tests under the sanitizers, then each fuzz target with the same inputs every time. */
async function sanitize() {
  const tests = await doctest('sanitize', []);
  const folder = await buildPreset('sanitize', ['lengthwise_fuzz']);
  const results = [tests];
  for (const name of readdirSync(join(project, 'tests/fuzz')).filter((file) => file.endsWith('_fuzz.cpp')).map((file) => file.slice(0, -4))) {
    const result = await execute(join(folder, name), []);
    const passed = result.code === 0 && / passed$/m.test(result.output);
    results.push({ passed: Number(passed), failed: Number(!passed), output: passed ? '' : `${name}: ${result.output}` });
  }
  const sum = (key) => results.reduce((total, result) => total + (result[key] ?? 0), 0);
  return { passed: sum('passed'), failed: sum('failed'), output: results.map(({ output }) => output ?? '').join('\n') };
}

// (module (func (result v128) … f32x4.relaxed_madd)): only an engine with relaxed SIMD takes it.
const RELAXED = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 19, 1, 17, 0,
  65, 0, 253, 15, 65, 0, 253, 15, 65, 0, 253, 15, 253, 133, 2, 11];

/** How to start Node so that it has relaxed SIMD, or null. */
function relaxedNode() {
  const probe = `process.exit(WebAssembly.validate(Uint8Array.of(${RELAXED})) ? 0 : 1)`;
  return [[], ['--experimental-wasm-relaxed-simd']].find((flags) => ask(process.execPath, [...flags, '-e', probe]) !== null) ?? null;
}

async function relaxed() {
  const flags = relaxedNode();
  if (!flags) return { skip: `Node ${process.version} has no relaxed SIMD, not even behind a flag` };
  return doctest('wasm-relaxed', [process.execPath, ...flags]);
}

async function guards() {
  const folder = join(project, 'tests/native/guards');
  const expected = existsSync(folder) ? readdirSync(folder).filter((name) => /\.(cpp|mjs)$/.test(name)).length : 0;
  if (!expected) return { skip: 'tests/native/guards/ holds no guards' };
  await buildPreset('native', ['build.ninja']); // looks for new files
  const build = await buildPreset('native', ['lengthwise_tests']); // whose objects the recipe links
  const result = await execute('ctest', ['--test-dir', build, '-R', '^guard/', '--output-on-failure']);
  const match = /(\d+) tests? failed out of (\d+)/.exec(result.output);
  const [failed, total] = match ? [Number(match[1]), Number(match[2])] : [0, 0];
  return judge(result, total >= expected && { passed: total - failed, failed });
}

function testFiles(folder) {
  const path = join(project, folder);
  if (!existsSync(path)) return [];
  return readdirSync(path, { recursive: true }).filter((name) => name.endsWith('.test.mjs')).sort().map((name) => join(path, name));
}

/** Node's own test runner, in TAP: counts at the end, skips as directives. */
async function nodeTests(folder, args = []) {
  const files = testFiles(folder);
  // Forced to exit: a test that failed may have left a server or a browser behind. Early Node 20 lacks these flags.
  const flags = ['--test-force-exit', ...args].filter((flag) => ask(process.execPath, [flag, '-e', '0']) !== null);
  const result = await execute(process.execPath, ['--test', '--test-reporter=tap', ...flags, ...files]);
  const count = (name) => Number(new RegExp(`^# ${name} (\\d+)$`, 'm').exec(result.output)?.[1] ?? Number.NaN);
  const failed = count('fail') + count('cancelled');
  const skips = [...result.output.matchAll(/^\s*ok \d+ - (.*?) # SKIP ?(.*)$/gm)].map(([, name, why]) => `${name}${why ? `: ${why}` : ''}`);
  const counts = Number.isNaN(failed) ? null : { passed: count('pass'), failed, skipped: skips };
  // Of what is long, what failed.
  const faults = [...result.output.matchAll(/^( *)not ok .*\n(?:\1 .*\n)*/gm)].map(([text]) => text);
  return judge({ ...result, output: faults.join('') || result.output }, counts);
}

/** Tests of what is built, some of it in browsers. */
async function builtTests(folder, args) {
  if (!testFiles(folder).length) return { skip: `${folder}/ holds no tests` };
  await buildAll();
  const { installChromium } = await import('./page/browsers.mjs');
  await installChromium();
  return nodeTests(folder, args);
}

const LAYERS = {
  native: () => doctest('native', []),
  sanitize,
  guards,
  wasm: () => doctest('wasm', [process.execPath]),
  'wasm-relaxed': relaxed,
  package: () => builtTests('tests/package'),
  // One page at a time: they train, and would starve each other.
  page: () => builtTests('tests/page', ['--test-concurrency=1']),
};

async function runLayer(name) {
  const started = Date.now();
  let result;
  try {
    result = await LAYERS[name]();
  } catch (error) {
    const message = error instanceof Problem ? error.message : error?.stack ?? String(error);
    result = { passed: 0, failed: 1, output: message };
  }
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  if (result.failed) console.log(`\n── ${name} ──\n${result.output.trim().split('\n').slice(-400).join('\n')}\n`);
  const text = result.skip ? `SKIPPED: ${result.skip}` : `${result.passed} passed, ${result.failed} failed`;
  const line = `${result.failed ? '✗' : result.skip ? '○' : '✓'} ${name.padEnd(13)} ${text} (${seconds} s)`;
  const skips = (result.skipped ?? []).map((each) => `  ○ SKIPPED ${each}`);
  for (const each of [line, ...skips]) console.log(each);
  return { ...result, lines: [line, ...skips] };
}

const named = process.argv.slice(2).filter((argument) => argument !== '--');
const unknown = named.filter((name) => !(name in LAYERS));
if (unknown.length) {
  console.error(`No layer is called ${unknown.join(', ')}; there are ${Object.keys(LAYERS).join(', ')}.`);
  process.exit(2);
}
// What the machine lacks is said once, not by every layer.
await ensureToolchain().catch((error) => {
  if (!(error instanceof Problem)) throw error;
  console.log(`${error.message}\n\n0 passed, 1 failed`);
  process.exit(1);
});
const results = [];
for (const name of Object.keys(LAYERS)) if (!named.length || named.includes(name)) results.push(await runLayer(name));
const sum = (key) => results.reduce((total, result) => total + (result[key] ?? 0), 0);
console.log(`\n${results.flatMap(({ lines }) => lines).join('\n')}\n`);
console.log(`${sum('passed')} passed, ${sum('failed')} failed`);
process.exitCode = sum('failed') ? 1 : 0;
