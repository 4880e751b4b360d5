// Several threads: the same bits, an end, and a word about what is missing.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { experiment, load } from '../../dist/index.js';
import { load as remote } from '../../dist/remote.js';

const dist = new URL('../../dist/', import.meta.url);
const tokens = Int32Array.from({ length: 4 * 65 }, (_, i) => (i * 7919) % 256);
const code = (wanted) => (error) => error.name === 'LoadError' && error.code === wanted;

/** Losses of some training steps, parameters and logits after them. */
async function trained(lw, encoding = 'rope') {
  const model = await lw.model({ width: 64, layers: 2, heads: 4, encoding });
  const trainer = await model.trainer();
  const losses = [];
  for (let i = 0; i < 3; i++) losses.push((await trainer.step(tokens, { batch: 4, length: 64 })).loss);
  const result = { losses, logits: await model.logits(tokens.subarray(0, 100)) };
  await model.dispose();
  return result;
}

test('the same bits with one thread and with more, in a worker too', async () => {
  const one = await load({ variant: 'simd' });
  assert.equal(one.threads, 1);
  for (const encoding of ['rope', 't5', 'forget_gate', 'rope+linear_attention']) {
    const wanted = await trained(one, encoding);
    for (const threads of [1, 2, 3]) {
      const several = await load({ variant: 'simd', threads });
      assert.equal(several.threads, threads);
      assert.deepEqual(await trained(several, encoding), wanted, `${encoding}, ${threads} threads`);
      several.dispose();
    }
  }
  const away = await remote({ variant: 'simd', threads: 2 });
  assert.equal(away.threads, 2);
  assert.deepEqual(await trained(away), await trained(one));
  away.terminate();
});

test('memory that grows later is that of all threads', async () => {
  const big = { width: 512, layers: 2, heads: 8, hidden: 2048 };
  const two = await load({ variant: 'simd', threads: 2 }), one = await load({ variant: 'simd' });
  const before = two.memoryBytes;
  assert.deepEqual(two.model(big).logits(tokens), one.model(big).logits(tokens));
  assert.ok(two.memoryBytes > before + 2 ** 24);
  two.dispose();
});

test('an encoding of your own fills its tables in the caller\'s thread', async () => {
  const mine = { name: 'mine', bias: (head, distance) => -distance / 2 ** (head + 1) };
  const [one, two] = [await load({ variant: 'simd' }), await load({ variant: 'simd', threads: 2 })];
  for (const lw of [one, two]) lw.register(mine);
  assert.deepEqual(await trained(two, 'mine'), await trained(one, 'mine'));
  two.dispose();
});

test('an experiment has the same losses', async () => {
  const losses = async (threads) => {
    const { encodings } = await experiment({
      encodings: ['rope'], task: 'copy', steps: 10, trainLength: 64, batch: 4, testTokens: 256, workers: 1, threads, variant: 'simd', model: { layers: 1 },
    }).finished;
    return encodings[0].tests.map(({ loss }) => loss.mean);
  };
  assert.deepEqual(await losses(2), await losses(1));
});

test('dispose() ends the threads; what was made works on', async () => {
  const lw = await load({ variant: 'simd', threads: 2 });
  const model = lw.model({ width: 64, heads: 4 });
  const before = model.logits(tokens);
  lw.dispose();
  lw.dispose();
  assert.equal(lw.threads, 1);
  assert.deepEqual(model.logits(tokens), before);
});

test('a process does not wait for threads, whether they work, look out for work or sleep', () => {
  for (const from of ['index', 'remote']) {
    for (const rest of [0, 300]) {
      const script = `
        import { load } from ${JSON.stringify(new URL(`${from}.js`, dist).href)};
        const lw = await load({ threads: 3 });
        const model = await lw.model({ width: 64, heads: 4 });
        await model.logits(Array.from({ length: 100 }, (_, i) => i));
        ${rest ? `await new Promise((resolve) => setTimeout(resolve, ${rest}));` : ''}
        console.log(lw.threads);
        ${from === 'remote' ? 'lw.terminate();' : ''}`;
      assert.equal(execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8', timeout: 20_000 }).trim(), '3');
    }
  }
});

test('a number that is none', async () => {
  for (const threads of [0, 17, 1.5, -1, NaN]) {
    await assert.rejects(load({ threads }), { name: 'RangeError', message: `threads is ${threads}; it must be an integer from 1 to 16` });
  }
  await assert.rejects(load({ threads: '2' }), TypeError);
});

test('the file must be the one for as many threads', async () => {
  const [single, several] = ['lengthwise.wasm', 'lengthwise-threads.wasm'].map((name) => readFileSync(new URL(name, dist)));
  await assert.rejects(load({ wasmBinary: single, threads: 2 }), (error) => code('threads')(error) && /lengthwise-threads\.wasm/.test(error.message));
  await assert.rejects(load({ wasmBinary: several }), (error) => code('threads')(error) && /threads from 2 on/.test(error.message));
  const two = await load({ wasmBinary: several, threads: 2 });
  assert.equal(two.threads, 2);
  const again = await load({ wasmBinary: two.module, threads: 2 });
  assert.equal(again.threads, 2);
  for (const lw of [two, again]) lw.dispose();
});

test('where memory cannot be shared there is one thread', async (t) => {
  globalThis.crossOriginIsolated = false; // as in a page without the headers
  t.after(() => { delete globalThis.crossOriginIsolated; });
  const lw = await load({ threads: 4 });
  assert.equal(lw.threads, 1);
  assert.ok(lw.model({ width: 16, heads: 2 }).logits([1, 2, 3]).length > 0);
  await assert.rejects(load({ wasmBinary: readFileSync(new URL('lengthwise-threads.wasm', dist)), threads: 2 }),
    (error) => code('threads')(error) && /Cross-Origin-Embedder-Policy/.test(error.message));
});

test('workers that may not be made are said so', async (t) => {
  const [before, own] = [globalThis.Worker, process.getBuiltinModule];
  t.after(() => { globalThis.Worker = before, process.getBuiltinModule = own; });
  process.getBuiltinModule = undefined; // as in a page
  let ended = 0;
  globalThis.Worker = class { // the second is of another origin than the page
    static made = 0;
    constructor() { if (this.constructor.made++) throw new DOMException('cannot be accessed from origin', 'SecurityError'); }
    postMessage() {}
    terminate() { ended++; }
  };
  const wasmBinary = readFileSync(new URL('lengthwise-threads.wasm', dist));
  await assert.rejects(load({ wasmBinary, threads: 3 }), (error) => code('threads')(error) && /origin/.test(error.message));
  assert.equal(ended, 1);
});
