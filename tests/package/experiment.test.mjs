import assert from 'node:assert/strict';
import { test } from 'node:test';
import { experiment, load } from '../../dist/index.js';
import { load as loadRemote } from '../../dist/remote.js';
import { texts } from '../../dist/texts.mjs';

const TINY = { model: { width: 16, layers: 1, heads: 2 }, trainLength: 8, testLengths: [8, 16], steps: 12, batch: 2, testTokens: 64 };
const text = 'The quick brown fox jumps over the lazy dog. '.repeat(40);

for (const workers of [0, 2]) {
  test(`trains short and tests long, with ${workers} workers`, async () => {
    const events = [];
    const job = experiment({ ...TINY, encodings: ['nope', { name: 'rope', base: 500 }], text, seeds: 2, workers, onProgress: (e) => events.push(e) });
    assert.deepEqual(job.runs.map((run) => run.seed), [1, 1, 2, 2]);
    const result = await job.finished;
    assert.deepEqual(result.encodings.map((e) => e.encoding), ['nope', 'rope:base=500']);
    for (const { parameters, trainLosses, tests, failed, stepsPerSecond } of result.encodings) {
      assert.ok(parameters > 256 * 16 && stepsPerSecond > 0);
      assert.deepEqual(trainLosses.map((losses) => losses.length), [12, 12]);
      assert.deepEqual(failed, []);
      assert.deepEqual(tests.map((t) => t.length), [8, 16]);
      for (const { length, loss, perplexity, accuracy, byPosition } of tests) {
        assert.equal(loss.values.length, 2);
        assert.ok(loss.sd > 0 && loss.mean > 0 && loss.mean < 7);
        assert.ok(Math.abs(perplexity.values[0] - Math.exp(loss.values[0])) < 1e-3 * perplexity.values[0]);
        assert.ok(accuracy.mean >= 0 && accuracy.mean <= 1);
        assert.equal(byPosition.length, length);
      }
    }
    for (let run = 0; run < 4; run++) {
      const own = events.filter((e) => e.run === run);
      assert.equal(own[0].type, 'start');
      assert.equal(own.at(-1).type, 'end');
      const train = own.filter((e) => e.type === 'train');
      assert.equal(train.reduce((n, e) => n + e.losses.length, 0), 12);
      assert.equal(train.at(-1).step, 12);
      assert.deepEqual(own.filter((e) => e.type === 'test').map((e) => e.length), [8, 16]);
    }
  });
}

test('workers or none, same numbers', async () => {
  const run = (workers) => experiment({ ...TINY, encodings: ['alibi'], task: 'copy', workers, variant: 'simd' }).finished;
  const [a, b] = await Promise.all([run(0), run(1)]);
  assert.deepEqual(a.encodings[0].trainLosses, b.encodings[0].trainLosses);
  assert.deepEqual(a.encodings[0].tests, b.encodings[0].tests);
});

test('all tasks, and tests along the way', async () => {
  for (const task of ['copy', 'recall', 'text']) {
    const steps = [];
    const result = await experiment({
      ...TINY, encodings: ['rope'], task, workers: 0, testEvery: 5, ...(task === 'text' ? { text } : {}), onProgress: (e) => { if (e.type === 'test') steps.push(e.step); },
    }).finished;
    assert.deepEqual(steps, [5, 5, 10, 10, 12, 12], task);
    assert.equal(result.task, task);
  }
});

test('a length that an encoding refuses is told, not fatal', async () => {
  const { encodings: [learned] } = await experiment({ ...TINY, encodings: ['learned'], text, workers: 0 }).finished;
  assert.ok(learned.tests[0].loss.mean > 0);
  assert.equal(learned.tests[1].loss, undefined);
  assert.match(learned.tests[1].refused, /8/);
});

test('a length that does not fit into memory is told, and the shorter and later ones are measured', async () => {
  const { encodings: [nope] } = await experiment({ ...TINY, encodings: ['nope'], task: 'copy', testLengths: [16, 2 ** 23, 32], workers: 0 }).finished;
  assert.deepEqual(nope.tests.map((test) => test.refused === undefined), [true, false, true]);
  assert.match(nope.tests[1].refused, /memory/);
});

test('a misspelt encoding comes to light before training', async () => {
  for (const workers of [0, 1]) {
    const events = [];
    const job = experiment({ ...TINY, encodings: ['rope', 'banana'], text, workers, onProgress: (e) => events.push(e) });
    await assert.rejects(job.finished, (error) => error instanceof RangeError && /banana/.test(error.message));
    assert.equal(events.length, 0);
  }
});

test('options that are wrong are named at once', () => {
  for (const [bad, kind] of [
    [{ encodings: [] }, TypeError], [{ encodings: 'rope' }, TypeError], [{ task: 'sort' }, RangeError], [{ text: undefined }, TypeError],
    [{ text: null }, TypeError], [{ text: { train: text } }, TypeError], [{ text: { train: text, test: null } }, TypeError], [{ text: { train: text, test: text, tset: text } }, TypeError],
    [{ task: 'copy' }, TypeError], [{ steps: 0 }, RangeError], [{ seeds: 0 }, RangeError], [{ seeds: [-1] }, RangeError], [{ trainLength: 1.5 }, RangeError],
    [{ testLengths: [] }, RangeError], [{ testLengths: [Number.NaN] }, RangeError], [{ batch: '16' }, TypeError], [{ step: 5 }, TypeError],
  ]) assert.throws(() => experiment({ ...TINY, encodings: ['rope'], text, workers: 0, ...bad }), kind, JSON.stringify(bad));
});

test('what the experiment decides itself is not ignored in another place, but refused with the right one', () => {
  for (const [bad, message] of [
    [{ model: { encoding: 'rope' } }, /^model\.encoding .*encodings/], [{ model: { vocabulary: 5 } }, /^model\.vocabulary .*task/],
    [{ model: { trainedLength: 5 } }, /^model\.trainedLength .*trainLength/], [{ training: { steps: 5 } }, /^training\.steps .*steps/],
    [{ training: { seed: 5 } }, /^training\.seed .*seeds/], [{ model: 5 }, /^model must be/], [{ model: null }, /^model must be/], [{ model: { with: 5 } }, /^model has no option 'with'/],
    [{ training: 5 }, /^training must be/], [{ training: null }, /^training must be/], [{ training: { lr: 5 } }, /^training has no option 'lr'/],
    [{ model: { width: 15, heads: 2 } }, /^heads is 2/], [{ testLengths: 64 }, /^testLengths must be an array/], [{ testLengths: '64' }, /^testLengths must be an array/],
    [{ signal: 5 }, /^signal must be an AbortSignal/], [{ onProgress: 5 }, /^onProgress must be a function/], [{ workers: -1 }, /^workers is -1/],
    [{ task: 'copy', text: undefined, trainLength: 1 }, /^trainLength is 1; it must be an integer from 2/],
    [{ testLengths: [8, 0] }, /^testLengths\[1\] is 0; it must be an integer from 1/],
    [{ model: { causal: false } }, /^model\.causal is false; .*\(true\)/],
  ]) assert.throws(() => experiment({ ...TINY, encodings: ['rope'], text, workers: 0, ...bad }), (error) => message.test(error.message), JSON.stringify(bad));
});

test('a test too short for the task is told, not fatal', async () => {
  const { encodings: [nope] } = await experiment({ ...TINY, encodings: ['nope'], task: 'recall', testLengths: [4, 8], workers: 0 }).finished;
  assert.match(nope.tests[0].refused, /4/);
  assert.ok(nope.tests[1].loss.mean > 0);
});

test('a split may be of texts', async () => {
  const { encodings } = await experiment({ ...TINY, encodings: ['nope'], text: { train: text, test: text }, workers: 0 }).finished;
  assert.ok(encodings[0].tests[0].loss.mean > 0);
});

for (const workers of [0, 2]) {
  test(`can be paused and resumed, with ${workers} workers`, async () => {
    let seen = 0;
    const job = experiment({ ...TINY, steps: 400, encodings: ['rope'], text, workers, onProgress: (e) => {
      if (e.type === 'train' && ++seen === 1) {
        job.pause();
        setTimeout(() => { paused = seen; setTimeout(() => { later = seen; job.resume(); }, 300); }, 300);
      }
    } });
    let paused, later;
    await job.finished;
    assert.equal(job.paused, false);
    assert.equal(paused, later, 'nothing happened while paused');
    assert.equal(job.result.encodings[0].trainLosses[0].length, 400);
  });

  test(`can be cancelled, with ${workers} workers`, async () => {
    const job = experiment({ ...TINY, steps: 1e6, encodings: ['rope', 'alibi'], text, workers, onProgress: (e) => { if (e.type === 'train') job.cancel(); } });
    await assert.rejects(job.finished, { name: 'AbortError' });
    assert.ok(job.result.encodings.some((e) => e.trainLosses[0].length > 0));
    const end = new AbortController();
    const other = experiment({ ...TINY, steps: 1e6, encodings: ['rope'], text, workers, signal: end.signal });
    setTimeout(() => end.abort(new Error('enough')), 50);
    await assert.rejects(other.finished, /enough/);
    await assert.rejects(experiment({ ...TINY, encodings: ['rope'], text, workers, signal: AbortSignal.abort() }).finished, { name: 'AbortError' });
  });
}

test('a worker that cannot start is told', async () => {
  const job = experiment({ ...TINY, encodings: ['rope'], text, workers: 1, createWorker: () => {
    const worker = { postMessage() {}, addEventListener() {}, removeEventListener() {}, terminate() {} };
    setTimeout(() => worker.onerror({ message: 'no script' }));
    return worker;
  } });
  await assert.rejects(job.finished, /no script/);
});

test('what a worker cannot load is told as load() tells it', async () => {
  const wasmBinary = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 9, 9, 9);
  for (const workers of [0, 1]) {
    await assert.rejects(experiment({ encodings: ['rope'], task: 'copy', steps: 2, workers, wasmBinary }).finished, { name: 'LoadError', code: 'invalid' });
  }
});

test('a worker rotates in place too', async () => {
  const remote = await loadRemote({ variant: 'simd' });
  const encoding = await remote.encoding('rope', { headDim: 8 });
  const x = new Float32Array(8).fill(1);
  const turned = await encoding.rotate(Float32Array.from(x), [3]);
  assert.equal(await encoding.rotate(x, [3], { inPlace: true }), x);
  assert.deepEqual(x, turned);
  await assert.rejects(encoding.rotate([...x], [3], { inPlace: true }), { name: 'TypeError', message: /Float32Array/ });
  remote.terminate();
});

test('the same objects in a worker', async () => {
  const remote = await loadRemote({ variant: 'simd' });
  const local = await load({ variant: 'simd' });
  try {
    assert.deepEqual(await remote.encodings(), local.encodings());
    assert.deepEqual([remote.variant, remote.threads, await remote.memoryBytes()], ['simd', 1, local.memoryBytes]);
    assert.deepEqual(await remote.encodings(texts), local.encodings(texts));
    const encoding = await remote.encoding('rope', { headDim: 8 });
    assert.deepEqual(await encoding.rotate([1, 2, 3, 4, 5, 6, 7, 8], 3), local.encoding('rope', { headDim: 8 }).rotate([1, 2, 3, 4, 5, 6, 7, 8], 3));
    await assert.rejects(remote.encoding('banana'), RangeError);
    const config = { vocabulary: 17, width: 16, layers: 1, heads: 2 };
    const model = await remote.model(config, { seed: 3 });
    const twin = local.model(config, { seed: 3 });
    assert.deepEqual(await model.logits([1, 2, 3]), twin.logits([1, 2, 3]));
    const collect = async (generation) => { const all = []; for await (const token of generation) all.push(token); return all; };
    assert.deepEqual(await collect(model.generate([1], { tokens: 9, seed: 2 })), await collect(twin.generate([1], { tokens: 9, seed: 2 })));
    const trainer = await model.trainer({ steps: 5 });
    const own = twin.trainer({ steps: 5 });
    const tokens = Array.from({ length: 18 }, (_, i) => i % 17);
    assert.deepEqual(await trainer.step(tokens, { batch: 2, length: 8 }), own.step(tokens, { batch: 2, length: 8 }));
    assert.deepEqual(await model.save({ training: true }), twin.save({ training: true }));
    const end = new AbortController();
    await assert.rejects(async () => { for await (const _ of model.generate([1], { tokens: 1e5, signal: end.signal })) end.abort(); }, { name: 'AbortError' });
    await model.dispose();
    await assert.rejects(model.logits([1]), { name: 'DisposedError' });
  } finally {
    remote.terminate();
  }
});

test('errors of an encoding in a worker have their class; what is ended says so, and can be ended again', async () => {
  const remote = await loadRemote({ variant: 'simd' });
  const encoding = await remote.encoding('alibi', { heads: 2, headDim: 4 });
  const model = await remote.model({ vocabulary: 9, width: 8, layers: 1, heads: 1 });
  assert.equal(await encoding.spec, 'alibi');
  assert.deepEqual(await encoding.doors, ['bias']);
  assert.equal((await encoding.shape).headDim, 4);
  await assert.rejects(encoding.table(-1), RangeError);
  await assert.rejects(encoding.table('x'), TypeError);
  await assert.rejects(remote.attention(new Float32Array(1), new Float32Array(1), new Float32Array(1), null), TypeError);
  await assert.rejects(model.generate([1], null).next(), TypeError);
  const other = await remote.encoding('nope');
  await other[Symbol.dispose ?? Symbol.for('Symbol.dispose')]();
  await assert.rejects(other.bias(2), { name: 'DisposedError' });
  const pending = encoding.bias(2000);
  remote.terminate();
  remote.terminate();
  for (const call of [() => pending, () => encoding.bias(2), () => encoding.spec, () => model.logits([1]), () => model.generate([1]).next(),
    () => remote.encodings(), () => remote.encoding('nope'), () => model.trainer()]) {
    await assert.rejects(async () => call(), (error) => error.name === 'DisposedError' && /ended by terminate\(\)/.test(error.message));
  }
  await encoding.dispose();
  await model.dispose();
});
