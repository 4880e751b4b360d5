import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { load } from '../../dist/index.js';
import { checkpoint, tokenizerFile } from './llama2-files.mjs';
import { texts } from '../../dist/texts.mjs';

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'lengthwise-'));
const at = (name) => join(folder, name);
after(() => rmSync(folder, { recursive: true }));

const run = (...args) => spawnSync(process.execPath, [cli, ...args], { encoding: 'utf8', maxBuffer: 1 << 26 });
/** The JSON that must be alone on stdout. */
const json = (...args) => {
  const { status, stdout, stderr } = run(...args, '--json');
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout);
};
/** A failure is one sentence on stderr, nothing on stdout. */
const fails = (status, pattern, ...args) => {
  const result = run(...args);
  assert.equal(result.status, status, result.stdout + result.stderr);
  assert.equal(result.stdout, '');
  assert.match(result.stderr, pattern);
  if (status === 1) assert.equal(result.stderr.trim().split('\n').length, 1, result.stderr);
};
const small = ['--steps', '6', '--train-length', '8', '--test-lengths', '8,16', '--width', '16', '--layers', '1', '--heads', '2', '--batch', '2', '--test-tokens', '64'];
writeFileSync(at('text.txt'), 'All work and no play makes Jack a dull boy.\n'.repeat(50));
writeFileSync(at('model.bin'), checkpoint());
writeFileSync(at('tokenizer.bin'), tokenizerFile(Array.from({ length: 41 }, (_, i) => `${String.fromCharCode(97 + (i % 26))}${i > 25 ? 'e' : ''}`)));
writeFileSync(at('tokens.json'), JSON.stringify(Array.from({ length: 300 }, (_, i) => (i * 7) % 300)));

test('every command has help', () => {
  for (const args of [['--help'], ...['compare', 'encodings', 'show', 'generate', 'loss', 'audit'].map((command) => [command, '--help'])]) {
    const { status, stdout } = run(...args);
    assert.equal(status, 0);
    assert.ok(stdout.length > 400, args.join(' '));
  }
});

test('its version', () => {
  const { status, stdout } = run('--version');
  assert.deepEqual([status, stdout.trim()], [0, JSON.parse(readFileSync(new URL('../../package.json', import.meta.url))).version]);
});

test('encodings', async () => {
  const descriptors = json('encodings');
  assert.deepEqual(descriptors, (await load()).encodings(texts));
  const { stdout } = run('encodings');
  for (const { name } of descriptors) assert.match(stdout, new RegExp(`^${name} `, 'm'));
});

test('show: rotation applied, and all digits', () => {
  const shown = json('show', 'rope', '--options', '{"pairing":"half"}', '--head-dim', '8', '--positions', '[3]', '--apply', '[1,2,3,4,5,6,7,8]');
  const wanted = [-1.695592537, 0.1375517383, 2.7886816, 3.975982036, -4.808842475, 6.323059348, 7.086836737, 8.011963982];
  shown.rotation.applied[0].forEach((value, i) => {
    assert.ok(Math.abs(value - wanted[i]) < 1e-6);
    assert.equal(value, Math.fround(value), 'a float, unrounded');
  });
  assert.deepEqual([shown.rotation.pairs, shown.rotation.pairing, shown.rotation.cos.length, shown.rotation.cos[0].length], [4, 'half', 1, 4]);
  assert.equal(shown.input, null);
  assert.equal(shown.bias, null);
});

test('show: one vector for each position, back and forth', () => {
  const there = json('show', 'rope', '--head-dim', '2', '--positions', '[1,2]', '--apply', '[[1,0],[1,0]]').rotation.applied;
  there.forEach(([c, s], i) => assert.ok(Math.abs(c - Math.cos(i + 1)) < 1e-6 && Math.abs(s - Math.sin(i + 1)) < 1e-6));
  const back = json('show', 'rope', '--head-dim', '2', '--positions', '[1,2]', '--inverse', '--apply', JSON.stringify(there)).rotation.applied;
  back.forEach(([x, y]) => assert.ok(Math.abs(x - 1) < 1e-6 && Math.abs(y) < 1e-6));
});

test('show: more queries than keys, infinities', () => {
  const { pattern, bias } = json('show', 'alibi', '--queries', '5', '--keys', '2');
  assert.deepEqual(pattern, [[0, 0], [0, 0], [0, 0], [1, 0], [1, 1]]);
  assert.deepEqual(bias[0].slice(0, 3), [[0, 0], [0, 0], [0, 0]]);
  assert.deepEqual(json('show', 'nope', '--queries', '2', '--keys', '2', '--offset', '-1').pattern, [[0, 0], [1, 0]]);
  assert.deepEqual(json('show', 'learned', '--width', '2', '--trained-length', '2', '--queries', '2', '--parameters', '{"table":[[1e999,-1e999],[1,2]]}').parameters.table, [['Infinity', '-Infinity'], [1, 2]]);
  assert.match(run('show', '--help').stdout, /"-Infinity"/);
});

test('show takes the parameters that it shows', () => {
  const { parameters } = json('show', 't5', '--heads', '1');
  const [name, rows] = Object.entries(parameters)[0];
  const changed = rows.map((row, i) => (i ? row : row.map(() => '-Infinity')));
  const shown = json('show', 't5', '--heads', '1', '--parameters', JSON.stringify({ [name]: changed }));
  assert.deepEqual(shown.parameters[name], changed);
});

test('show: bias, pattern, input, scale, parameters', () => {
  const alibi = json('show', 'alibi', '--heads', '2', '--queries', '2', '--keys', '3');
  assert.deepEqual(alibi.pattern, [[1, 1, 0], [1, 1, 1]]);
  assert.deepEqual([alibi.bias.length, alibi.bias[0].length, alibi.bias[0][0].length], [2, 2, 3]);
  assert.deepEqual(alibi.bias[0][1].map((x) => x + 0), [-2 / 16, -1 / 16, 0]);
  const input = json('show', 'sinusoidal', '--width', '4', '--positions', '[0, 0.5, 1000000]').input;
  assert.deepEqual([input.length, input[0].length], [3, 4]);
  assert.ok(Math.abs(input[2][0] - Math.sin(1e6)) < 1e-6);
  const table = json('show', 'learned', '--width', '2', '--trained-length', '2', '--queries', '2', '--parameters', '{"table":[[1,2],[3,4]]}');
  assert.deepEqual(table.input, [[1, 2], [3, 4]]);
  assert.equal(json('show', 'log_n', '--trained-length', '2', '--heads', '3', '--queries', '4').scale.length, 3);
  assert.match(run('show', 'alibi').stdout, /^bias\n/m);
});

test('compare: a table, JSON and a picture', () => {
  const args = ['compare', '--encodings', 'nope,alibi,learned', '--text', at('text.txt'), '--seeds', '2', '--workers', '1', ...small];
  const result = json(...args, '--svg', at('stretch.svg'));
  assert.deepEqual(result.encodings.map((e) => e.encoding), ['nope', 'alibi', 'learned']);
  assert.deepEqual(result.testLengths, [8, 16]);
  for (const { tests } of result.encodings.slice(0, 2)) for (const t of tests) assert.ok(t.perplexity.mean > 1 && t.perplexity.sd >= 0 && t.byPosition.length === t.length);
  assert.match(result.encodings[2].tests[1].refused, /overflow/);
  const svg = readFileSync(at('stretch.svg'), 'utf8');
  assert.match(svg, /^<svg[^>]* xmlns="http:\/\/www.w3.org\/2000\/svg"/);
  for (const word of ['nope', 'alibi', 'trained', 'perplexity']) assert.ok(svg.includes(word), word);
  const { stdout, status } = run(...args);
  assert.equal(status, 0);
  assert.match(stdout, /^alibi +[\d.]+ ± [\d.e-]+ +[\d.]+ ± [\d.e-]+$/m);
  assert.match(stdout, /^learned .*—$/m);
});

test('an encoding of your own: the path of a module', () => {
  const path = at('mine.mjs');
  writeFileSync(path, `export default { name: 'mine', options: { slope: 1 }, bias: (head, distance, { slope }) => -slope * distance };`);
  const { bias } = json('show', `${path}:slope=2+window`, '--queries', '2');
  assert.deepEqual(bias[0][1], [-2, 0]);
  const { encodings } = json('compare', '--task', 'copy', '--encodings', `${path},${path}+rope,nope`, '--workers', '1', ...small);
  assert.deepEqual(encodings.map((e) => e.encoding), ['mine', 'mine+rope', 'nope']);
  assert.deepEqual(encodings.flatMap((e) => e.failed), []);
  assert.equal(json('audit', path, '--trained-length', '16').unique.distance, 1);
  assert.match(run('audit', path, '--trained-length', '16').stdout, /^mine at 16 tokens/);
  fails(1, /could not be imported from .*missing\.mjs/, 'compare', '--encodings', at('missing.mjs'), '--task', 'copy', ...small);
});

test('audit: numbers and a table', () => {
  const nope = json('audit', 'nope', '--trained-length', '16');
  assert.deepEqual([nope.length, nope.unique.distance, nope.deterministic.again, nope.past.distances], [16, 0, 0, null]);
  const learned = json('audit', 'learned', '--trained-length', '16', '--width', '8');
  assert.match(learned.past.refused, /64/);
  assert.equal(learned.cost.parameters, 16 * 8);
  assert.equal(json('audit', 'learned', '--options', '{"overflow":"clamp"}').past.rows, 0);
  assert.match(run('audit', 'alibi').stdout, /unique +distance/);
  fails(1, /ropee/, 'audit', 'ropee');
});

test('compare: tasks without a text', () => {
  for (const task of ['copy', 'recall']) {
    const { encodings: [rope] } = json('compare', '--task', task, '--encodings', 'rope', '--workers', '0', '--threads', '2', ...small);
    assert.ok(rope.tests[0].accuracy.mean >= 0);
  }
});

test('compare, interrupted, prints what is measured', async () => {
  const interrupt = async (wait, ...more) => {
    const child = spawn(process.execPath, [cli, 'compare', '--task', 'copy', '--workers', '1', ...small, ...more], { stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '', printed = '';
    child.stderr.on('data', (data) => {
      if (!said) setTimeout(() => child.kill('SIGINT'), wait);
      said += data;
    });
    child.stdout.on('data', (data) => { printed += data; });
    assert.equal(await new Promise((resolve) => child.on('close', resolve)), 130, said);
    return { said, printed };
  };
  const nothing = await interrupt(0, '--steps', '1000000', '--encodings', 'rope');
  assert.equal(nothing.printed, '');
  assert.match(nothing.said, /interrupted; 0 of 1 encodings have been measured/);
  const many = Array.from({ length: 1000 }, (_, i) => `rope:base=${i + 2}`);
  const some = await interrupt(700, '--encodings', many.join());
  const measured = Number(/interrupted; (\d+) of 1000/.exec(some.said)?.[1]);
  assert.ok(measured > 0 && measured < 1000, some.said);
  assert.deepEqual(some.printed.match(/^rope:base=\d+/gm), many.slice(0, measured));
});

test('compare: faults come before training and before its progress', () => {
  fails(1, /^lengthwise: encoding is "banana"/, 'compare', '--encodings', 'rope,banana', '--task', 'copy', '--workers', '0', ...small);
  fails(1, /^lengthwise: --train-length is 1;/, 'compare', '--encodings', 'rope', '--task', 'copy', ...small, '--train-length', '1');
  fails(1, /^lengthwise: the picture .*nowhere.x\.svg cannot be written: ENOENT/, 'compare', '--svg', at('nowhere/x.svg'), '--task', 'copy', ...small);
  fails(1, /^lengthwise: the picture .* cannot be written: EISDIR/, 'compare', '--svg', folder, '--task', 'copy', ...small);
  fails(1, /^lengthwise: --text cannot be given/, 'compare', '--task', 'copy', '--text', at('text.txt'), ...small);
});

test('generate', () => {
  const args = ['generate', '--model', at('model.bin'), '--tokenizer', at('tokenizer.bin'), '--prompt', 'abc', '--tokens', '12'];
  const made = json(...args, '--temperature', '0');
  assert.equal(made.tokens.length, 12);
  assert.equal(typeof made.text, 'string');
  assert.deepEqual(json(...args, '--seed', '5'), json(...args, '--seed', '5'));
  assert.ok(run(...args, '--temperature', '0').stdout.startsWith('abc'));
});

test('generate and loss with a model of bytes', async () => {
  const lw = await load();
  const model = lw.model({ width: 16, layers: 1, heads: 2 });
  writeFileSync(at('own.safetensors'), model.save());
  assert.equal(json('generate', '--model', at('own.safetensors'), '--prompt', 'é', '--tokens', '3').tokens.length, 3);
  writeFileSync(at('bytes.json'), '[1,2,3,4]');
  const { losses, mean, window } = json('loss', '--model', at('own.safetensors'), '--tokens', at('bytes.json'), '--window', '2');
  const wanted = model.losses([1, 2, 3, 4]);
  assert.equal(window, 2);
  assert.ok(Math.abs(losses[0] - (wanted[0] + wanted[1]) / 2) < 1e-6 && Math.abs(losses[1] - wanted[2]) < 1e-6);
  assert.ok(Math.abs(mean - (wanted[0] + wanted[1] + wanted[2]) / 3) < 1e-6);
});

test('loss in windows', () => {
  const args = ['loss', '--model', at('model.bin'), '--tokens', at('tokens.json'), '--window', '128'];
  const { losses } = json(...args);
  assert.equal(losses.length, 3);
  assert.deepEqual(json(...args, '--threads', '3').losses, losses);
  assert.match(run('loss', '--model', at('model.bin'), '--tokens', at('tokens.json')).stdout, /past the trained 16/);
});

test('failures are one sentence, exit code 1', () => {
  fails(1, /banana/, 'show', 'banana');
  fails(1, /bass/, 'show', 'rope', '--options', '{"bass":1}');
  fails(1, /headDim|head_dim|odd|even/, 'show', 'rope', '--head-dim', '7');
  fails(2, /--precision/, 'generate', '--model', at('own.safetensors'), '--prompt', 'a', '--precision', 'int4');
  fails(1, /nowhere/, 'generate', '--model', at('nowhere'), '--prompt', 'a');
  fails(1, /not a model file|llama2/, 'generate', '--model', at('text.txt'), '--prompt', 'a');
  fails(1, /--tokenizer/, 'generate', '--model', at('model.bin'), '--prompt', 'a');
  fails(1, /pieces/, 'generate', '--model', at('own.safetensors'), '--tokenizer', at('tokenizer.bin'), '--prompt', 'a');
  fails(2, /'--threads <n>' argument '17' is invalid. It must be an integer from 1 to 16/, 'loss', '--model', at('model.bin'), '--tokens', at('tokens.json'), '--threads', '17');
  fails(1, /--top-p is 2;/, 'generate', '--model', at('own.safetensors'), '--prompt', 'a', '--top-p', '2');
  fails(1, /llama2.c tokenizer/, 'generate', '--model', at('tokenizer.bin'), '--prompt', 'a');
  fails(1, /JSON array/, 'loss', '--model', at('model.bin'), '--tokens', at('text.txt'));
  fails(1, /nowhere/, 'compare', '--text', at('nowhere'));
});

test('wrong usage has exit code 2', () => {
  fails(2, /an empty place between commas/, 'compare', '--encodings', 'rope,,alibi');
  fails(2, /unknown command/, 'comapre');
  fails(2, /unknown option/, 'encodings', '--jsn');
  fails(2, /steps/, 'compare', '--steps', 'many');
  fails(2, /steps/, 'compare', '--steps', '-5');
  fails(2, /task/, 'compare', '--task', 'sort');
  fails(2, /JSON/, 'show', 'rope', '--options', '{');
  fails(2, /"name"/, 'show', 'rope', '--options', '{"name":"alibi"}');
  fails(2, /--model/, 'generate', '--prompt', 'a');
  fails(2, /missing required argument/, 'show');
});
