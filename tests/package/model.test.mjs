import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lengthwise } from '../../dist/engine.js';
import { DisposedError, FormatError, load, readSafetensors, writeSafetensors } from '../../dist/index.js';
import { loadCore } from '../../dist/load.js';
import { load as loadRemote } from '../../dist/remote.js';
import { checkpoint, tokenizerFile } from './llama2-files.mjs';

const lw = await load({ variant: 'simd' });
const SMALL = { vocabulary: 17, width: 16, layers: 2, heads: 2, trainedLength: 8, hidden: 24 };
const tokens = Array.from({ length: 12 }, (_, i) => (i * 5) % 17);
const batch = Array.from({ length: 4 * 9 }, (_, i) => (i * 7) % 17);
const shape = { batch: 4, length: 8 };
const softmaxLoss = (row, target) => Math.log(row.reduce((s, x) => s + Math.exp(x), 0)) - row[target];
const same = (a, b, tolerance = 1e-5) => a.forEach((x, i) => assert.ok(Math.abs(x - b[i]) <= tolerance, `[${i}]: ${x}, ${b[i]}`));

test('losses are what the logits say', () => {
  const model = lw.model({ ...SMALL, encoding: 'alibi' }, { seed: 3 });
  const logits = model.logits(tokens);
  assert.equal(logits.length, 12 * 17);
  same(model.losses(tokens), tokens.slice(1).map((t, i) => softmaxLoss(logits.subarray(i * 17, (i + 1) * 17), t)));
  model.dispose();
});

test('the same seed gives the same weights', () => {
  const [a, b, c] = [1, 1, 2].map((seed) => lw.model(SMALL, { seed }));
  assert.deepEqual(a.logits(tokens), b.logits(tokens));
  assert.notDeepEqual(a.logits(tokens), c.logits(tokens));
  [a, b, c].forEach((m) => m.dispose());
});

for (const encoding of ['nope', 'sinusoidal', 'rope', 'alibi', 't5', 'window:width=4', { layers: ['rope', 'alibi'] }]) {
  test(`generation with a cache equals full passes: ${JSON.stringify(encoding)}`, async () => {
    const model = lw.model({ ...SMALL, encoding }, { seed: 5 });
    const made = [];
    for await (const token of model.generate([1, 2, 3], { tokens: 10, temperature: 0 })) made.push(token);
    const all = [1, 2, 3];
    for (const token of made) {
      const last = model.logits(all).slice(-17);
      assert.ok(last[token] >= Math.max(...last) - 1e-4);
      all.push(token);
    }
    model.dispose();
  });
}

test('the seed decides what is drawn', async () => {
  const model = lw.model(SMALL, { seed: 5 });
  const draw = async (seed, options) => {
    const made = [];
    for await (const token of model.generate([1], { tokens: 20, seed, ...options })) made.push(token);
    return made;
  };
  assert.deepEqual(await draw(1), await draw(1));
  assert.notDeepEqual(await draw(1), await draw(2));
  assert.deepEqual(await draw(1, { topK: 1 }), await draw(1, { temperature: 0 }));
  model.dispose();
});

test('a generation can be ended, and only one runs at a time', async () => {
  const model = lw.model(SMALL);
  const end = new AbortController();
  await assert.rejects(async () => {
    for await (const _ of model.generate([1], { tokens: 1000, signal: end.signal })) end.abort();
  }, { name: 'AbortError' });
  const first = model.generate([1]);
  await first.next();
  await model.generate([2]).next();
  await assert.rejects(first.next(), /another generation/);
  model.dispose();
});

test('training ends a generation, a new trainer the one before', async () => {
  const model = lw.model(SMALL);
  const trainer = model.trainer();
  const generation = model.generate([1]);
  await generation.next();
  trainer.step(batch, shape);
  await assert.rejects(generation.next(), /the model was trained/);
  const other = model.trainer();
  assert.throws(() => trainer.step(batch, shape), /another trainer/);
  assert.throws(() => trainer.info, /another trainer/);
  assert.throws(() => model.trainer({ steps: -1 }), RangeError);
  assert.equal(other.step(batch, shape).step, 1, 'one that could not be made changes nothing');
  model.dispose();
  assert.throws(() => other.step(batch, shape), DisposedError);
});

test('a new trainer ends the one before in a worker too', async () => {
  const remote = await loadRemote();
  try {
    const model = await remote.model(SMALL), trainer = await model.trainer(), other = await model.trainer({ learningRate: 1e-2 });
    await assert.rejects(trainer.step(batch, shape), /another trainer/);
    assert.equal((await other.step(batch, shape)).step, 1);
    await model.dispose();
    await assert.rejects(other.step(batch, shape), DisposedError);
  } finally {
    remote.terminate();
  }
});

test('a generation that cannot start leaves the one under way alone', async () => {
  const model = lw.model(SMALL, { seed: 5 });
  const draw = async (disturb) => {
    const made = [];
    for await (const token of model.generate([1], { tokens: 9, seed: 2 })) { made.push(token); await disturb(); }
    return made;
  };
  const alone = await draw(() => {});
  assert.deepEqual(await draw(() => assert.rejects(model.generate([99], { seed: 7 }).next(), RangeError)), alone);
  model.dispose();
});

test('a model that sees what follows does not generate', async () => {
  const model = lw.model({ ...SMALL, causal: false, encoding: 'nope' });
  await assert.rejects(model.generate([1]).next(), (error) => error instanceof RangeError && /causal is false.*\(true\)/.test(error.message));
  model.dispose();
});

test('training lowers the loss', () => {
  const model = lw.model({ ...SMALL, encoding: 'rope' }, { seed: 1 });
  const trainer = model.trainer({ learningRate: 1e-2, steps: 60, warmup: 5 });
  const first = trainer.step(batch, shape);
  assert.equal(first.step, 1);
  let last;
  for (let i = 0; i < 59; i++) last = trainer.step(batch, shape);
  assert.equal(last.step, 60);
  assert.ok(last.loss < first.loss / 2, `${first.loss} → ${last.loss}`);
  model.dispose();
});

test('parts of a batch gather the gradient of the whole', () => {
  const [whole, parts] = [4, 3].map((microBatch) => {
    const model = lw.model({ ...SMALL, encoding: 'rope' }, { seed: 1 }), trainer = model.trainer();
    const infos = [1, 2, 3].map(() => trainer.step(batch, { ...shape, microBatch }));
    assert.throws(() => trainer.step(batch, { ...shape, microBatch: 5 }), /microBatch/);
    model.dispose();
    return infos;
  });
  whole.forEach(({ loss, gradientNorm }, i) => {
    assert.ok(Math.abs(parts[i].loss - loss) < 1e-5 * loss, `${parts[i].loss}, ${loss}`);
    assert.ok(Math.abs(parts[i].gradientNorm - gradientNorm) < 1e-4 * gradientNorm);
  });
});

test('a mask must leave something to predict', () => {
  const model = lw.model(SMALL, { seed: 1 }), trainer = model.trainer(), before = model.save({ training: true });
  assert.throws(() => trainer.step(batch, { ...shape, mask: new Float32Array(4 * 8) }), /^RangeError: mask is 0 everywhere/);
  assert.deepEqual(model.save({ training: true }), before);
  model.dispose();
});

test('a mask leaves predictions out', () => {
  const model = lw.model(SMALL, { seed: 1 });
  const trainer = model.trainer();
  const all = model.losses(batch.slice(0, 9));
  const info = trainer.step(batch.slice(0, 9), { batch: 1, length: 8, mask: [1, 0, 0, 1, 0, 0, 0, 0] });
  assert.ok(Math.abs(info.loss - (all[0] + all[3]) / 2) < 1e-5);
  model.dispose();
});

for (const encoding of ['learned:overflow=clamp', 't5', 'random_sorted:max=64+rope']) {
  test(`training goes on bit for bit after saving: ${encoding}`, () => {
    const straight = lw.model({ ...SMALL, encoding }, { seed: 9 });
    const trainer = straight.trainer({ steps: 20, seed: 4 });
    for (let i = 0; i < 5; i++) trainer.step(batch, shape);
    const resumed = lw.loadModel(straight.save({ training: true }));
    const again = resumed.trainer();
    assert.equal(again.info.step, 5);
    for (let i = 0; i < 5; i++) assert.deepEqual(again.step(batch, shape), trainer.step(batch, shape));
    assert.deepEqual(resumed.save({ training: true }), straight.save({ training: true }));
    straight.dispose();
    resumed.dispose();
  });
}

test('a saved model is the model', () => {
  const model = lw.model({ ...SMALL, encoding: 't5', tied: false, norm: 'layer', activation: 'swiglu', kvHeads: 1 }, { seed: 2 });
  const file = model.save({ metadata: { note: 'mine' } });
  assert.equal(readSafetensors(file).metadata.note, 'mine');
  const back = lw.loadModel(file);
  assert.deepEqual(back.config, model.config);
  assert.deepEqual(back.logits(tokens), model.logits(tokens));
  assert.deepEqual(back.save({ metadata: { note: 'mine' } }), file);
  assert.throws(() => model.save({ training: true }), RangeError);
  model.dispose();
  back.dispose();
});

test('a llama2.c checkpoint, tied or not, becomes a model that can be saved', () => {
  for (const tied of [true, false]) {
    const model = lw.loadModel(checkpoint({ tied }));
    assert.equal(model.config.tied, tied);
    const back = lw.loadModel(model.save());
    assert.deepEqual(back.logits([1, 2, 3]), model.logits([1, 2, 3]));
    model.dispose();
    back.dispose();
  }
});

test('files that lie are refused, and work goes on', () => {
  const model = lw.model(SMALL);
  const file = model.save();
  const rewrite = (change) => {
    const { metadata, tensors } = readSafetensors(file);
    const config = JSON.parse(metadata.config);
    change({ config, tensors, metadata });
    return writeSafetensors({ metadata: { ...metadata, config: JSON.stringify(config) }, tensors });
  };
  const lies = {
    'a width': rewrite(({ config }) => { config.width = 16384; }),
    'layers': rewrite(({ config }) => { config.layers = 200; }),
    'one layer more': rewrite(({ config }) => { config.layers = 3; }),
    'one layer less': rewrite(({ config }) => { config.layers = 1; }),
    'a vocabulary': rewrite(({ config }) => { config.vocabulary = 2 ** 20; }),
    'a text for a number': rewrite(({ config }) => { config.heads = '2'; }),
    'an unknown key': rewrite(({ config }) => { config.extra = 1; }),
    'an unknown encoding': rewrite(({ config }) => { config.encoding = 'banana'; }),
    'a tensor missing': rewrite(({ tensors }) => { tensors.delete('layers.0.wk'); }),
    'a tensor too many': rewrite(({ tensors }) => { tensors.set('extra', tensors.get('final_norm')); }),
    'a tensor of another type': rewrite(({ tensors }) => { tensors.get('final_norm').dtype = 'I32'; }),
    'a transposed tensor': rewrite(({ tensors }) => { tensors.get('layers.0.w1').shape.reverse(); }),
    'NaN for a number (huggingface/transformers#42959)': writeSafetensors({ metadata: { config: JSON.stringify({ ...model.config, normEpsilon: 0 }).replace('"normEpsilon":0', '"normEpsilon":NaN') }, tensors: new Map() }),
    'no JSON': writeSafetensors({ metadata: { config: '{' }, tensors: new Map() }),
    'a truncated file': file.slice(0, -1),
    'half a file': file.slice(0, file.length / 2),
    'nothing': new Uint8Array(0),
  };
  for (const [name, lie] of Object.entries(lies)) assert.throws(() => lw.loadModel(lie), FormatError, name);
  assert.throws(() => lw.loadModel('path'), TypeError);
  assert.deepEqual(lw.loadModel(file).logits(tokens), model.logits(tokens));
});

test('the head is the embedding or a tensor of its own, never what chance left there (huggingface/transformers#43429)', () => {
  const [tied, untied] = [true, false].map((tied) => lw.model({ ...SMALL, tied }, { seed: 2 }));
  const rewrite = (model, change) => {
    const { metadata, tensors } = readSafetensors(model.save());
    const config = JSON.parse(metadata.config);
    change(config, tensors);
    return writeSafetensors({ metadata: { ...metadata, config: JSON.stringify(config) }, tensors });
  };
  const head = (tensors) => tensors.set('head', tensors.get('embedding'));
  for (const [file, error] of [
    [rewrite(tied, () => {})], [rewrite(tied, (config) => { delete config.tied; })], [rewrite(tied, (config) => { config.tied = null; })],
    [rewrite(tied, (config, tensors) => head(tensors)), /unexpected tensor 'head'/], [rewrite(tied, (config) => { config.tied = false; }), /no tensor 'head'/],
    [rewrite(untied, (config) => { config.tied = true; }), /unexpected tensor 'head'/], [rewrite(untied, (config, tensors) => { tensors.delete('head'); }), /no tensor 'head'/],
    [rewrite(tied, (config) => { config.text_config = { tied: true }; }), /text_config/],
  ]) {
    if (error) assert.throws(() => lw.loadModel(file), (thrown) => thrown instanceof FormatError && error.test(thrown.message), String(error));
    else assert.deepEqual(lw.loadModel(file).logits(tokens), tied.logits(tokens));
  }
  assert.deepEqual(lw.loadModel(rewrite(untied, () => {})).logits(tokens), untied.logits(tokens));
});

test('whatever the alignment of data in a file (huggingface/huggingface.js#2201)', () => {
  const model = lw.model(SMALL, { seed: 2 });
  const file = model.save({ training: model.trainer() && true });
  const header = Number(new DataView(file.buffer).getBigUint64(0, true));
  for (let blanks = 1; blanks < 8; blanks++) {
    const moved = new Uint8Array(Buffer.concat([file.subarray(0, 8 + header), Buffer.from(' '.repeat(blanks)), file.subarray(8 + header)]));
    new DataView(moved.buffer).setBigUint64(0, BigInt(header + blanks), true);
    const back = lw.loadModel(moved);
    back.trainer();
    assert.deepEqual(back.save({ training: true }), file);
    back.dispose();
  }
});

test('a damaged training state is refused', () => {
  const model = lw.model(SMALL);
  model.trainer().step(batch, shape);
  const file = model.save({ training: true });
  const damaged = (change) => {
    const { metadata, tensors } = readSafetensors(file);
    const state = tensors.get('training.state');
    state.bytes = state.bytes.slice();
    change(new DataView(state.bytes.buffer), state, metadata);
    return writeSafetensors({ metadata, tensors });
  };
  const moments = 64, squares = 64 + 4 * model.parameterCount;
  for (const [what, change] of Object.entries({
    'step -1': (view) => view.setBigInt64(0, -1n, true),
    'generator': (view) => [8, 16].forEach((at) => view.setBigInt64(at, 0n, true)),
    'generator ': (view) => [24, 32].forEach((at) => view.setBigInt64(at, 0n, true)),
    'not finite': (view) => view.setFloat32(moments + 8, Number.NaN, true),
    'not finite ': (view) => view.setFloat64(40, Infinity, true),
    'negative': (view) => view.setFloat32(squares, -1, true),
    'bytes': (view, state) => { state.bytes = state.bytes.slice(8); state.shape = [state.bytes.length]; },
    'U8': (view, state) => { state.dtype = 'I8'; },
    'training is not': (view, state, metadata) => { metadata.training = '{'; },
    'training is not ': (view, state, metadata) => { delete metadata.training; },
    'lr': (view, state, metadata) => { metadata.training = '{"lr":1}'; },
    'steps': (view, state, metadata) => { metadata.training = '{"steps":"x"}'; },
  })) assert.throws(() => lw.loadModel(damaged(change)), (error) => error instanceof FormatError && error.message.includes(what.trim()), what);
  const late = lw.loadModel(damaged((view, state, metadata) => { metadata.training = '{"learningRate":-1}'; }));
  assert.throws(() => late.trainer(), (error) => error instanceof FormatError && /learningRate/.test(error.message));
  late.trainer({ steps: 5 }).step(batch, shape);
  model.dispose();
});

test('after a step that was refused a model can still be saved and read', () => {
  const model = lw.model(SMALL, { seed: 1 });
  model.trainer().step(batch, shape);
  const { metadata, tensors } = readSafetensors(model.save({ training: true }));
  const embedding = tensors.get('embedding');
  embedding.bytes = new Uint8Array(new Float32Array(17 * 16).fill(3e38).buffer);
  const wild = lw.loadModel(writeSafetensors({ metadata, tensors }));
  const trainer = wild.trainer(), before = trainer.info;
  assert.throws(() => trainer.step(batch, shape), /not finite/);
  assert.deepEqual(trainer.info, before);
  assert.deepEqual(lw.loadModel(wild.save({ training: true })).trainer().info, before);
  [model, wild].forEach((m) => m.dispose());
});

test('metadata that could not be read back, or that save() writes itself, are refused', () => {
  const model = lw.model(SMALL);
  for (const metadata of [{ a: 1 }, { a: null }, { config: 'mine' }, { format: 'x' }, { training: '' }]) {
    assert.throws(() => model.save({ metadata }), /metadata\./, JSON.stringify(metadata));
  }
  model.dispose();
});

test('a tokenizer is called a tokenizer', () => {
  assert.throws(() => lw.loadModel(tokenizerFile(['a', 'b'])), (error) => error instanceof FormatError && /tokenizer/.test(error.message));
});

test('tokens and numbers that are wrong are named', async () => {
  const model = lw.model(SMALL);
  for (const bad of [[17], [-1], [1.5], [Number.NaN], []]) assert.throws(() => model.logits(bad), RangeError);
  for (const bad of [['1'], [1n], null, 'text', 5]) assert.throws(() => model.logits(bad), TypeError);
  assert.throws(() => model.losses([1]), RangeError);
  for (const bad of [{ temperature: -1 }, { topP: 0 }, { topP: 1.1 }, { topK: -1 }, { tokens: 1.5 }, { seed: -1 }, { temperature: Number.NaN }]) {
    await assert.rejects(model.generate([1], bad).next(), RangeError, JSON.stringify(bad));
  }
  await assert.rejects(model.generate([1], { temprature: 0 }).next(), TypeError);
  await assert.rejects(model.generate([], {}).next(), RangeError);
  for (const bad of [{ learningRate: -1 }, { learningRate: Number.NaN }, { steps: 0 }, { beta1: 1 }, { warmup: 0.5 }]) assert.throws(() => model.trainer(bad), RangeError, JSON.stringify(bad));
  assert.throws(() => model.trainer({ lr: 1 }), TypeError);
  const trainer = model.trainer();
  assert.throws(() => trainer.step(batch, { batch: 4, length: 9 }), RangeError);
  assert.throws(() => trainer.step(batch, { batch: 4 }), TypeError);
  assert.throws(() => trainer.step(batch, { ...shape, mask: [1] }), RangeError);
  assert.throws(() => trainer.step(batch, { ...shape, mask: new Float32Array(32).fill(Number.NaN) }), RangeError);
  for (const bad of [{ width: 15 }, { heads: 0 }, { layers: -1 }, { kvHeads: 3 }, { norm: 'batch' }, { activation: 'tanh' }, { encoding: 'banana' }, { normEpsilon: 0 }, { vocabulary: 1 }]) {
    assert.throws(() => lw.model({ ...SMALL, ...bad }), RangeError, JSON.stringify(bad));
  }
  assert.throws(() => lw.model({ ...SMALL, depth: 3 }), TypeError);
  assert.throws(() => lw.model({ ...SMALL, tied: 1 }), TypeError);
  trainer.step(batch, shape);
  model.dispose();
});

test('past a learned table: an error, and the model still works', async () => {
  const model = lw.model({ ...SMALL, encoding: 'learned' });
  assert.throws(() => model.logits(tokens), RangeError);
  await assert.rejects(async () => { for await (const _ of model.generate([1], { tokens: 20 })); }, RangeError);
  assert.equal(model.logits(tokens.slice(0, 8)).length, 8 * 17);
  model.dispose();
});

test('after dispose() every call says so', async () => {
  const model = lw.model(SMALL);
  const trainer = model.trainer();
  model.dispose();
  model.dispose();
  for (const call of [() => model.logits([1]), () => model.losses([1, 2]), () => model.save(), () => model.trainer(),
    () => model.parameterCount, () => trainer.step(batch, shape), () => trainer.info]) assert.throws(call, DisposedError);
  await assert.rejects(model.generate([1]).next(), DisposedError);
});

test('models leave nothing behind', async () => {
  const own = await load({ variant: 'simd' });
  const round = () => {
    const model = own.model(SMALL);
    model.trainer().step(batch, shape);
    model.dispose();
    assert.throws(() => own.model({ ...SMALL, encoding: 'banana' }));
  };
  for (let i = 0; i < 50; i++) round();
  const before = own.memoryBytes;
  for (let i = 0; i < 2000; i++) round();
  assert.equal(own.memoryBytes, before);
});

test('the last megabytes of memory serve like the first (wasm-bindgen/wasm-bindgen#3311)', async () => {
  const loaded = await loadCore({ variant: 'simd' }), { core } = loaded, high = new Lengthwise(loaded);
  const config = { ...SMALL, encoding: 't5' };
  const [near, far] = [0, 1].map((ballast) => {
    if (ballast) assert.ok(core._malloc(2 ** 31 - 40 * 2 ** 20), 'ballast'); // pages that nobody touches cost nothing
    const model = high.model(config, { seed: 4 });
    const table = high.encoding('t5', { heads: 2 });
    const { loss } = model.trainer().step(batch, shape);
    return { loss, logits: model.logits(tokens), file: model.save({ training: true }), bias: table.bias(9), parameters: table.parameters };
  });
  assert.ok(high.memoryBytes > 2 ** 31 - 40 * 2 ** 20);
  assert.deepEqual(far, near);
  assert.throws(() => high.encoding('sinusoidal', { width: 1024 }).table(2 ** 15), { name: 'OutOfMemoryError' });
  assert.equal(core._malloc(2.2 * 2 ** 30), 0);
  assert.deepEqual(high.model(config, { seed: 4 }).logits([1]), lw.model(config, { seed: 4 }).logits([1]));
});

test('a model with NaN weights says so instead of giving a token', async () => {
  const model = lw.model({ vocabulary: 16, width: 8, layers: 1, heads: 2 });
  const file = model.save();
  file.fill(0xff, file.length - 512); // tensors lie at the end; all ones is a NaN
  const broken = lw.loadModel(file);
  await assert.rejects(async () => { for await (const token of broken.generate([1], { tokens: 1 })) assert.fail(`got ${token}`); }, /not finite/);
  broken.dispose();
  model.dispose();
});

test('quantized: nearly the same logits, its own rounded weights, no more training', async () => {
  for (const [precision, most] of [['f16', 5e-3], ['int8', 0.1]]) {
    const model = lw.model({ ...SMALL, encoding: 'rope', kvHeads: 1, activation: 'swiglu' }, { seed: 3 });
    const [exact, weights, norm] = [model.logits(tokens), model.tensor('layers.0.w2').data, model.tensor('final_norm').data];
    const trainer = model.trainer();
    const generation = model.generate([1, 2]);
    await generation.next();
    model.quantize(precision);
    assert.equal(model.precision, precision);
    await assert.rejects(generation.next(), /was quantized/);
    assert.throws(() => trainer.step(batch, shape), /the model was quantized: this trainer cannot go on/);
    const rounded = model.logits(tokens);
    same(rounded, exact, most);
    assert.notDeepEqual(rounded, exact);
    const row = model.tensor('layers.0.w2').data.subarray(0, 24), largest = Math.max(...weights.subarray(0, 24).map(Math.abs));
    same(row, weights, precision === 'f16' ? 2 ** -11 * largest : largest / 254 * 1.0001);
    assert.deepEqual(model.tensor('final_norm').data, norm);
    const again = lw.loadModel(model.save());
    same(again.logits(tokens), rounded, 1e-5);
    assert.throws(() => model.trainer(), /quantised/);
    assert.throws(() => model.save({ training: true }), /no trainer/);
    assert.throws(() => model.quantize('int8'), /quantised already/);
    assert.equal(model.logits(tokens)[3], rounded[3]);
    [model, again].forEach((m) => m.dispose());
  }
  const model = lw.model(SMALL);
  assert.throws(() => model.quantize('int4'), /precision is 'int4'; it must be one of f16, int8/);
  assert.equal(model.precision, 'f32');
  model.dispose();
  assert.throws(() => model.quantize('int8'), DisposedError);
});
