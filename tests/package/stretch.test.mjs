// Encodings put on a model after it was trained with another.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { DisposedError, experiment, load, phases } from '../../dist/index.js';
import { load as loadRemote } from '../../dist/remote.js';

const lw = await load();
const shape = { width: 16, heads: 2, layers: 2, trainedLength: 16, vocabulary: 33 };
const tokens = Array.from({ length: 40 }, (_, t) => (7 * t + (t * t) % 5) % 33);
const cli = new URL('../../dist/cli.js', import.meta.url).pathname;
const file = (name) => new URL(`../../../shared/models/${name}`, import.meta.url);

test('withEncoding: the weights of one model under the encoding of another', () => {
  // rope and those put on it learn nothing of their own, so that the same seed draws the same weights for all of them.
  for (const encoding of ['yarn:factor=4', { name: 'ntk', factor: 8 }, ['rope', { name: 'window', width: 4 }], { layers: ['rope', 'nope'] }]) {
    const trained = lw.model({ ...shape, encoding: 'rope' }, { seed: 3 });
    const other = trained.withEncoding(encoding), made = lw.model({ ...shape, encoding }, { seed: 3 });
    assert.equal(other.config.encoding, made.config.encoding);
    assert.deepEqual(other.logits(tokens), made.logits(tokens));
    assert.notDeepEqual(other.logits(tokens), trained.logits(tokens));
    assert.deepEqual(lw.loadModel(other.save()).logits(tokens), made.logits(tokens));
    // Training one leaves the other as it is; disposing of the first leaves the second.
    const before = trained.logits(tokens);
    other.trainer({ steps: 4 }).step([...tokens, ...tokens.slice(0, 11)].slice(0, 34), { batch: 2, length: 16 });
    assert.notDeepEqual(other.logits(tokens), made.logits(tokens));
    assert.deepEqual(trained.logits(tokens), before);
    trained.dispose();
    assert.equal(other.logits(tokens).length, made.logits(tokens).length);
    assert.throws(() => trained.withEncoding('nope'), DisposedError);
  }
});

test('withEncoding: what was learned comes along, what would have to be learned is refused', () => {
  const trained = lw.model({ ...shape, encoding: 't5:buckets=8' }, { seed: 3 });
  const table = trained.tensorNames.find((name) => name.startsWith('encoding.'));
  assert.deepEqual(trained.withEncoding('t5:buckets=8+log_n').tensor(table), trained.tensor(table));
  assert.ok(!trained.withEncoding('nope').tensorNames.includes(table));
  const fails = (encoding, message, type = RangeError) => assert.throws(() => trained.withEncoding(encoding), (e) => e instanceof type && message.test(e.message), String(encoding));
  fails('cope', /"cope" learns encoding/);
  fails('t5:buckets=16', /"t5:buckets=16" learns encoding\.0\.t5\.\w+ of another shape, which a model trained with "t5:buckets=8" has not learned/);
  fails('banana', /banana/);
  fails('rope|rope|rope', /specs separated by \|/);
  fails('rope>yarn', /allowed here: one encoding/);
  fails(undefined, /encoding must be/, TypeError);
  fails(7, /encoding must be/, TypeError);
  assert.throws(() => lw.encoding('rope>yarn'), /allowed here: one encoding/);
  assert.throws(() => lw.model({ encoding: 'rope>yarn' }), /allowed here: one encoding/);
  trained.quantize('int8');
  fails('nope', /the model is quantised; allowed: put the encoding on the one that it was made from/);
  assert.equal(trained.losses(tokens).length, tokens.length - 1); // works on
});

test('withEncoding in a worker gives the same', async () => {
  const remote = await loadRemote({ variant: lw.variant });
  try {
    const trained = await remote.model({ ...shape, encoding: 'rope' }, { seed: 3 });
    const other = await trained.withEncoding('yarn:factor=4');
    assert.equal((await other.config()).encoding, lw.model({ ...shape, encoding: 'yarn:factor=4' }).config.encoding);
    assert.deepEqual(await other.logits(tokens), lw.model({ ...shape, encoding: 'rope' }, { seed: 3 }).withEncoding('yarn:factor=4').logits(tokens));
    await assert.rejects(trained.withEncoding('t5'), { name: 'RangeError', message: /learns encoding/ });
  } finally {
    remote.terminate();
  }
});

const tiny = { task: 'copy', trainLength: 16, testLengths: [16, 64], steps: 20, batch: 4, testTokens: 512, workers: 0, model: { width: 16, heads: 2, layers: 2 } };

test('an experiment with > trains with what stands before it and tests with what stands behind', async () => {
  const encodings = ['rope', 'rope>rope', 'rope>yarn:factor=4', 'rope > grouped:group=4:window=8 + rope'];
  const told = [];
  const job = experiment({ ...tiny, encodings, seeds: 2, onProgress: (event) => told.push(event) });
  assert.deepEqual(job.runs, [1, 2].flatMap((seed) => encodings.map((encoding) => ({ encoding, seed }))));
  const { encodings: [plain, same, yarn, grouped] } = await job.finished;
  // A listener that writes into what it is told, or throws, spoils no other run.
  const spoilt = await experiment({ ...tiny, encodings, onProgress: (event) => {
    if (event.type === 'train') event.losses.fill(0);
    if (event.type === 'test' && event.run === 2) throw new Error('no');
  } }).finished;
  assert.deepEqual(spoilt.encodings.map((e) => e.failed), [[], [], ['no'], []]);
  assert.ok(spoilt.encodings.filter((_, i) => i !== 2).every(({ tests }) => tests.every(({ loss }) => loss.mean > 0)));
  // Trained once for all four, and each is told everything.
  for (let run = 0; run < 8; run++) {
    const of = (type) => told.filter((event) => event.run === run && event.type === type);
    assert.deepEqual([of('start').length, of('end').length, of('test').length, of('train').reduce((sum, { losses }) => sum + losses.length, 0)], [1, 1, 2, 20]);
  }
  assert.equal(new Set(told.filter(({ type }) => type === 'end').map(({ stepsPerSecond }) => stepsPerSecond)).size, 2); // one training for each seed
  for (const other of [same, yarn, grouped]) assert.deepEqual(other.trainLosses, plain.trainLosses);
  const losses = ({ tests }) => tests.map((t) => t.loss.mean);
  assert.deepEqual(losses(same), losses(plain));
  for (const other of [yarn, grouped]) losses(other).forEach((loss, i) => assert.notEqual(loss, losses(plain)[i]));
  assert.deepEqual([plain, same, yarn, grouped].map((e) => e.encoding), encodings);
  // A fault behind the > comes to light before anything is trained.
  for (const spec of ['rope>', '> rope']) assert.throws(() => experiment({ ...tiny, encodings: ['rope', spec] }), { name: 'RangeError', message: `encodings has '${spec}'; allowed: an encoding on each side of >` });
  assert.throws(() => experiment({ ...tiny, encodings: ['rope>yarn>ntk'] }), /^RangeError: encodings has 'rope>yarn>ntk'; allowed: one >/);
  for (const [spec, message] of [['rope>banana', /banana/], ['rope>t5', /"t5" learns encoding/]]) {
    let began = false;
    await assert.rejects(experiment({ ...tiny, encodings: ['rope', spec], onProgress: () => { began = true; } }).finished, message, spec);
    assert.ok(!began, spec);
  }
});

test('phases reads what a run goes through', () => {
  const none = { tested: null, fineTune: 0 };
  for (const [spec, wanted] of [['rope', { trained: 'rope', ...none }], [' rope+log_n ', { trained: 'rope+log_n', ...none }],
    ['rope > yarn:factor=4', { trained: 'rope', tested: 'yarn:factor=4', fineTune: 0 }], ['rope>rope|nope @ 0100 ', { trained: 'rope', tested: 'rope|nope', fineTune: 100 }]])
    assert.deepEqual(phases(spec), wanted, spec);
  for (const [spec, allowed] of [['a>b>c', /one >/], ['rope@5', /one @, behind the encoding that is put on/], ['rope@5>rope', /one @/], ['rope>rope@5@6', /one @/], ['rope>@5', /each side/], ['>rope', /each side/],
    ...['', ' ', '0', '-1', '1.5', '1e3', '12345678', 'x', '5 6'].map((steps) => [`rope>rope@${steps}`, /behind the @ how many steps of fine-tuning, 1 to 9999999/])])
    assert.throws(() => phases(spec), (e) => e instanceof RangeError && e.message.startsWith(`encodings has '${spec}'; allowed: `) && allowed.test(e.message), spec);
  for (const spec of [undefined, 5, null, ['rope']]) assert.throws(() => phases(spec), { name: 'TypeError', message: /^spec must be a string, not / });
  assert.throws(() => lw.encoding('rope@5'), /"rope@5"; allowed here: one encoding \(a>b@100/);
});

test('an experiment with @ fine-tunes before it tests, apart from the others', async () => {
  const encodings = ['rope', 'rope>rope', 'rope>rope@6', 'rope>yarn:factor=4@6'], told = [];
  const options = { ...tiny, encodings, testEvery: 10, onProgress: (event) => told.push(event) };
  const result = await experiment(options).finished, [plain, same, tuned, yarn] = result.encodings;
  assert.deepEqual(result.fineTuning, { length: 64, learningRate: 1e-3 });
  const losses = ({ tests }) => tests.map((t) => t.loss.mean), first = (e) => e.trainLosses[0].slice(0, 20);
  assert.deepEqual(losses(same), losses(plain));
  for (const e of [tuned, yarn]) {
    assert.equal(e.trainLosses[0].length, 26);
    assert.deepEqual(first(e), plain.trainLosses[0]);
    losses(e).forEach((loss, i) => assert.notEqual(loss, losses(plain)[i]));
  }
  // The first loss of fine-tuning is that of the trained model on the longer sequences: nothing was learned before it.
  assert.notEqual(tuned.trainLosses[0][20], yarn.trainLosses[0][20]);
  const steps = (run, type) => told.filter((event) => event.run === run && event.type === type).map(({ step }) => step);
  assert.deepEqual([0, 2].map((run) => steps(run, 'test')), [[10, 10, 20, 20], [10, 10, 26, 26]]);
  assert.deepEqual([0, 2].map((run) => [steps(run, 'train').at(-1), ...new Set(told.filter((e) => e.run === run && e.type === 'train').map((e) => e.steps))]), [[20, 20], [26, 26]]);
  // Alone it comes out the same; another length or learning rate does not.
  const alone = async (more) => losses((await experiment({ ...tiny, encodings: ['rope>rope@6'], ...more }).finished).encodings[0]);
  assert.deepEqual(await alone({}), losses(tuned));
  assert.deepEqual(await alone({ fineTuning: { length: 64, learningRate: 1e-3 } }), losses(tuned));
  assert.deepEqual(await alone({ training: { learningRate: 3e-3 }, fineTuning: { learningRate: undefined } }), losses(tuned));
  assert.notDeepEqual(await alone({ fineTuning: { length: 32 } }), losses(tuned));
  assert.notDeepEqual(await alone({ fineTuning: { learningRate: 3e-3 } }), losses(tuned));
  // What cannot be fine-tuned at that length comes to light before anything is trained; what breaks off later does so alone.
  let began = false;
  await assert.rejects(experiment({ ...tiny, encodings: ['learned', 'learned>learned@2'], onProgress: () => { began = true; } }).finished, /the table of learned has trainedLength = 16 rows/);
  assert.throws(() => experiment({ ...tiny, task: 'text', text: { train: 'x'.repeat(60), test: 'x'.repeat(90) }, encodings: ['rope>rope@2'] }), { name: 'RangeError', message: 'fineTuning.length is 64; it must be less than the 60 bytes of the training text' });
  assert.ok(!began);
  const late = await experiment({ ...tiny, encodings: ['learned>learned@60', 'learned', 'learned>nope@60'], fineTuning: { length: 17 } }).finished; // copy draws lengths from 8 to 17
  assert.deepEqual(late.encodings.map((e) => e.failed.length), [1, 0, 0]);
  for (const [fineTuning, message] of [[{ length: 1 }, /fineTuning\.length is 1; it must be/], [{ length: 2.5 }, /fineTuning\.length/], [{ learningRate: -1 }, /fineTuning\.learningRate is -1/], [{ steps: 5 }, /fineTuning has no option 'steps'/], [{ length: 2 ** 20 + 1 }, /an integer from 2 to 1048576/], [null, /fineTuning/]])
    assert.throws(() => experiment({ ...tiny, encodings, fineTuning }), message);
  // What is wrong with training's own rate is said of that, with and without an @.
  await assert.rejects(experiment({ ...tiny, encodings, training: { learningRate: 5 } }).finished, /^RangeError: learningRate is 5; allowed/);
});

test('cancelling need not wait until everything is tried', async () => {
  const slow = experiment({ ...tiny, encodings: Array.from({ length: 400 }, (_, i) => `rope>rope:base=${i + 2}@2`), trainLength: 64, batch: 64 });
  setTimeout(() => slow.cancel(), 50);
  await assert.rejects(slow.finished, { name: 'AbortError' });
  assert.ok(slow.result.encodings.every(({ trainLosses }) => trainLosses.every((losses) => losses.length === 0)), 'nothing was trained yet');
});

test('a listener that throws at the end of one run leaves the others', async () => {
  let ends = 0;
  const { encodings } = await experiment({ ...tiny, encodings: ['rope', 'rope>rope@3', 'rope>yarn'], onProgress: ({ type }) => { if (type === 'end' && ends++ === 0) throw new Error('mine'); } }).finished;
  assert.deepEqual(encodings.map((e) => e.failed), [['mine'], [], []]);
  assert.ok(encodings.every(({ tests }) => tests.every(({ loss }) => loss.mean > 0)));
});

test('a cancelled experiment stops in the midst of fine-tuning', async () => {
  const steps = [];
  const job = experiment({ ...tiny, encodings: ['rope>rope@9000'], onProgress: (event) => {
    if (event.type !== 'train') return;
    steps.push(event.step);
    if (event.step > 20) job.cancel();
  } });
  await assert.rejects(job.finished, { name: 'AbortError' });
  assert.ok(steps.at(-1) < 9000);
  assert.ok(job.result.encodings[0].trainLosses[0].length > 20);
});

test('on the command line: compare with >, loss and generate with --encoding, modules too', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lengthwise-'));
  const at = (name) => join(folder, name), json = (...args) => JSON.parse(execFileSync(process.execPath, [cli, ...args, '--json'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }));
  try {
    const trained = lw.model({ width: 16, heads: 2, layers: 2, trainedLength: 16 }, { seed: 3 });
    const bytes = Array.from({ length: 64 }, (_, t) => (t * 37) % 256);
    writeFileSync(at('model.safetensors'), trained.save());
    writeFileSync(at('tokens.json'), JSON.stringify(bytes));
    writeFileSync(at('mine.mjs'), "export default { name: 'mine', bias: (head, distance) => -Math.floor(distance / 8) };");
    lw.register({ name: 'mine', bias: (head, distance) => -Math.floor(distance / 8) });
    const model = ['--model', at('model.safetensors')], mean = (losses) => losses.reduce((a, b) => a + b, 0) / losses.length;
    for (const [given, encoding] of [['yarn:factor=4', 'yarn:factor=4'], [`rope+${at('mine.mjs')}`, 'rope+mine']]) {
      const wanted = mean(trained.withEncoding(encoding).losses(bytes));
      assert.ok(Math.abs(json('loss', ...model, '--tokens', at('tokens.json'), '--encoding', given).mean - wanted) < 1e-6, given);
      assert.notEqual(wanted, mean(trained.losses(bytes)));
    }
    assert.equal(json('generate', ...model, '--prompt', 'a', '--tokens', '3', '--encoding', 'nope', '--precision', 'f16').tokens.length, 3);
    const few = ['--task', 'copy', '--train-length', '16', '--steps', '5', '--width', '16', '--heads', '2', '--layers', '2', '--workers', '0'];
    assert.deepEqual(json('compare', '--encodings', `rope,rope>rope+${at('mine.mjs')}`, ...few).encodings.map((e) => e.encoding), ['rope', 'rope>rope+mine']);
    // A file may be written in several ways, and have a space in its name.
    writeFileSync(at('my own.mjs'), "export default { name: 'spaced', options: { slope: 1 }, bias: (head, distance, { slope }) => -slope * distance };");
    const twice = json('compare', '--encodings', `${at('my own.mjs')},rope>rope + ${folder}/../${folder.split('/').at(-1)}/my own.mjs:slope=2`, ...few);
    assert.deepEqual(twice.encodings.map((e) => e.encoding), ['spaced', 'rope>rope + spaced:slope=2']);
    for (const [more, said] of [[['--learning-rate', '5'], /lengthwise: --learning-rate is 5; allowed/], [['--fine-tune-length', '1'], /--fine-tune-length is 1; it must be an integer from 2 to 1048576/]])
      assert.throws(() => json('compare', '--encodings', 'rope>rope@2', ...few, ...more), (e) => said.test(e.stderr), String(said));
    const { fineTuning, encodings: [, tuned] } = json('compare', '--encodings', `rope,rope>rope+${at('mine.mjs')}@2`, ...few, '--fine-tune-length', '24');
    assert.deepEqual([fineTuning.length, tuned.encoding, Object.keys(tuned.trainLosses[0]).length], [24, 'rope>rope+mine@2', 7]);
    assert.throws(() => json('loss', ...model, '--tokens', at('tokens.json'), '--encoding', 't5'), (e) => /learns encoding/.test(e.stderr));
  } finally {
    lw.unregister('mine');
    rmSync(folder, { recursive: true });
  }
});

test('what an experiment shows of each encoding can be run, and shows something past the trained length', () => {
  const shown = Object.fromEntries(lw.encodings().map((d) => [d.name, d.experiment]));
  assert.deepEqual([shown.nope, shown.rope, shown.random_sorted, shown.yarn, shown.xpos, shown.grouped, shown.bilevel],
    ['nope', 'rope', 'random_sorted+rope', 'rope>yarn', 'xpos:scale_base=64', 'rope>grouped:group=4:window=16+rope', 'bilevel+rope']);
  const sizes = { width: 64, heads: 4, layers: 2, trainedLength: 64 }, text = Array.from({ length: 512 }, (_, t) => (31 * t + (t * t) % 11) % 256);
  for (const [name, spec] of Object.entries(shown)) {
    const [trained, tested] = spec.split('>'), model = lw.model({ ...sizes, encoding: trained });
    if (tested === undefined) continue;
    const other = model.withEncoding(tested);
    assert.notDeepEqual(other.losses(text), model.losses(text), name);
  }
});

// The mean loss of each 512 positions, from tests/oracle/stories.py: the checkpoint was trained on 512.
const STORIES = {
  'rope:pairing=interleaved': [1.0778, 1.1348, 1.1784, 1.6622],
  'ntk:pairing=interleaved:factor=4': [1.2282, 1.1194, 1.1968, 1.5068],
  'yarn:pairing=interleaved:factor=4': [1.469, 1.362, 1.3252, 1.424],
  'grouped:group=8:window=128+rope:pairing=interleaved': [1.0847, 0.9766, 0.9213, 1.128],
  'rectified:window=256+rope:pairing=interleaved': [1.0776, 0.9625, 0.9085, 1.1097],
  'chunked+rope:pairing=interleaved': [1.0778, 0.9797, 0.9382, 1.1378],
  'rope:pairing=interleaved+window:width=256': [1.0782, 0.9583, 0.9068, 1.1008],
  nope: [4.5036, 4.7761, 4.6944, 4.8217],
};
const skip = existsSync(file('stories260K.bin')) ? false : '../shared/models has no stories260K.bin';

test('stories260K four times past its length, under encodings that it was not trained with', { skip }, () => {
  const trained = lw.loadModel(readFileSync(file('stories260K.bin')));
  const { long_text: { tokens } } = JSON.parse(readFileSync(file('stories260K.expected.json'), 'utf8'));
  for (const [encoding, wanted] of Object.entries(STORIES)) {
    const model = trained.withEncoding(encoding), losses = model.losses(tokens);
    wanted.forEach((loss, i) => {
      const window = losses.subarray(512 * i, 512 * (i + 1)), mean = window.reduce((a, b) => a + b, 0) / window.length;
      assert.ok(Math.abs(mean - loss) < 1e-3, `${encoding}, ${512 * i} on: ${mean}, not ${loss}`);
    });
    model.dispose();
  }
});
