// load({ inferenceOnly: true }): the same numbers from a smaller file, without training and audit.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { experiment, load } from '../../dist/index.js';
import { load as loadRemote } from '../../dist/remote.js';

const shape = { heads: 4, kvHeads: 2, headDim: 8, width: 32, trainedLength: 16 };
const wave = (count, step) => Float32Array.from({ length: count }, (_, i) => Math.sin(step * i) * 1.5);
const tokens = Int32Array.from({ length: 24 }, (_, i) => (i * 7) % 11);
const refused = { name: 'Error', message: /inference only.*neither trains nor audits.*load\(\) without inferenceOnly.*lengthwise-inference\.wasm/ };

const { variant: best } = await load();
for (const variant of new Set(['simd', best])) {
  const [whole, part] = await Promise.all([false, true].map((inferenceOnly) => load({ variant, inferenceOnly })));

  test(`every encoding gives the same bits, ${variant}`, () => {
    assert.deepEqual(part.encodings(), whole.encodings());
    for (const { name, experiment: spec, doors } of whole.encodings()) {
      const length = shape.trainedLength;
      const call = { encoding: spec.split('>').at(-1), ...shape, x: wave(length * shape.width, 0.7), tokens: tokens.subarray(0, length) };
      const [q, k, v] = [wave(length * 32, 0.37), wave(length * 16, 0.61), wave(length * 16, 0.23)];
      const [a, b] = [whole, part].map((lw) => attention(lw, q, k, v, call));
      assert.deepEqual(b, a, `${name} (${doors})`);
    }
  });

  test(`models give the same bits, ${variant}`, async () => {
    for (const encoding of ['rope', 'alibi', 't5', 'cope', 'fire']) {
      const models = [whole, part].map((lw) => lw.model({ width: 32, heads: 4, layers: 2, vocabulary: 11, trainedLength: 16, encoding }, { seed: 3 }));
      const seen = [];
      for (const model of models) {
        const said = [model.logits(tokens.subarray(0, 16)), model.losses(tokens.subarray(0, 16))];
        for await (const token of model.generate([1], { tokens: 12, seed: 5 })) said.push(token);
        model.quantize('int8');
        seen.push([...said, model.losses(tokens.subarray(0, 16)), model.save()]);
        model.dispose();
      }
      assert.deepEqual(seen[1], seen[0], encoding);
    }
  });
}

test('with relaxed SIMD, behind a flag in Node 20', { skip: best === 'relaxed' }, () => {
  const { NODE_TEST_CONTEXT, ...env } = process.env; // it runs on its own
  execFileSync(process.execPath, ['--experimental-wasm-relaxed-simd', fileURLToPath(import.meta.url)], { env, encoding: 'utf8' });
});

/** Encodings that look at their tokens want to be told them, the others must not be. */
function attention(lw, q, k, v, { tokens, ...call }) {
  try {
    return lw.attention(q, k, v, call);
  } catch (error) {
    assert.match(error.message, /tokens are missing/);
    return lw.attention(q, k, v, { ...call, tokens });
  }
}

test('training and audit are refused in a sentence, and nothing is lost', async () => {
  const lw = await load({ inferenceOnly: true }), whole = await load();
  const trained = whole.model({ width: 16, heads: 2, layers: 1, vocabulary: 11, trainedLength: 8, encoding: 'rope' });
  const trainer = trained.trainer({ seed: 1 });
  trainer.step(tokens.subarray(0, 18), { batch: 2, length: 8 });
  const checkpoint = trained.save({ training: true });
  const model = lw.loadModel(checkpoint);
  assert.throws(() => model.trainer(), refused);
  assert.throws(() => model.trainer({ steps: 5 }), refused);
  assert.throws(() => lw.audit('rope'), refused);
  assert.deepEqual(model.logits([1, 2, 3]), trained.logits([1, 2, 3]));
  assert.deepEqual(model.save({ training: true }), checkpoint);
  model.dispose();
  assert.throws(() => experiment({ encodings: ['rope'], task: 'copy', inferenceOnly: true }), /inferenceOnly/);
});

test('in a worker too', async () => {
  const lw = await loadRemote({ inferenceOnly: true });
  after(() => lw.terminate());
  const model = await lw.model({ width: 16, heads: 2, layers: 1, vocabulary: 11 });
  await assert.rejects(model.trainer(), refused);
  await assert.rejects(lw.audit('rope'), refused);
  assert.equal((await model.logits([1, 2])).length, 22);
});

test('several threads have one file for everything', async () => {
  const lw = await load({ inferenceOnly: true, threads: 2 });
  after(() => lw.dispose());
  assert.equal(lw.threads, 2);
  const model = lw.model({ width: 16, heads: 2, layers: 1, vocabulary: 11, trainedLength: 8 });
  assert.equal(model.trainer().step(tokens.subarray(0, 18), { batch: 2, length: 8 }).step, 1);
});
