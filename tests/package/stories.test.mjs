// A real model somebody else trained, against an independent implementation. The files are not part of the repository.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Llama2Tokenizer, load } from '../../dist/index.js';

const file = (name) => new URL(`../../../shared/models/${name}`, import.meta.url);
const names = ['stories260K.bin', 'tok512.bin', 'stories260K.expected.json'];
const missing = names.filter((name) => !existsSync(file(name)));
const skip = missing.length ? `../shared/models has no ${missing.join(', ')}` : false;

test('stories260K', { skip }, async (t) => {
  const expected = JSON.parse(readFileSync(file(names[2]), 'utf8'));
  const tokenizer = new Llama2Tokenizer(readFileSync(file(names[1])), 512);
  const bytes = readFileSync(file(names[0]));
  for (const variant of ['simd', 'auto']) {
    const lw = await load({ variant });
    const model = lw.loadModel(bytes);
    for (const { prompt, prompt_tokens, logits, greedy_tokens, greedy_text } of expected.cases) {
      await t.test(`${lw.variant}: "${prompt}"`, async () => {
        assert.deepEqual(tokenizer.encode(prompt), prompt_tokens);
        const made = [];
        for await (const token of model.generate(prompt_tokens, { tokens: greedy_tokens.length, temperature: 0 })) made.push(token);
        assert.deepEqual(made, greedy_tokens);
        assert.equal(tokenizer.decode(made), greedy_text);
        const all = model.logits([...prompt_tokens, ...greedy_tokens]);
        for (const [position, wanted] of Object.entries(logits)) {
          wanted.forEach((value, i) => assert.ok(Math.abs(all[position * 512 + i] - value) <= 2e-4, `${position}, ${i}: ${all[position * 512 + i]}, not ${value}`));
        }
      });
    }
    await t.test(`${lw.variant}: four times past its length`, () => {
      const losses = model.losses(expected.long_text.tokens);
      expected.long_text.nll_by_128.forEach((wanted, i) => {
        const window = losses.subarray(i * 128, (i + 1) * 128);
        const mean = window.reduce((a, b) => a + b, 0) / window.length;
        assert.ok(Math.abs(mean - wanted) <= 2e-3, `window ${i}: ${mean}, not ${wanted}`);
      });
    });
    model.dispose();
  }
});

test('stories260K in fewer bits: the loss hardly moves', { skip }, async (t) => {
  const { long_text: { tokens } } = JSON.parse(readFileSync(file(names[2]), 'utf8'));
  const lw = await load();
  const mean = (precision) => {
    const model = lw.loadModel(readFileSync(file(names[0])));
    if (precision !== 'f32') model.quantize(precision);
    const losses = model.losses(tokens.slice(0, 512));
    model.dispose();
    return losses.reduce((a, b) => a + b, 0) / losses.length;
  };
  const exact = mean('f32');
  for (const [precision, most] of [['f16', 5e-4], ['int8', 0.01]]) {
    const moved = mean(precision) - exact;
    t.diagnostic(`${precision}: ${exact.toFixed(4)} nats ${moved < 0 ? '−' : '+'} ${Math.abs(moved).toFixed(5)}`);
    assert.ok(moved !== 0 && Math.abs(moved) < most, `${precision}: ${moved}`);
  }
});

test('truncated at any place it is refused', { skip }, async () => {
  const lw = await load();
  const bytes = readFileSync(file(names[0]));
  for (const share of [0, 1e-5, 0.1, 0.5, 0.999999]) {
    assert.throws(() => lw.loadModel(bytes.subarray(0, Math.floor(bytes.length * share))), { name: 'FormatError' });
  }
});
