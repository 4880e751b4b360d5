import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DisposedError, load, OutOfMemoryError } from '../../dist/index.js';
import { texts } from '../../dist/texts.mjs';

const lw = await load({ variant: 'simd' });
const close = (actual, wanted, tolerance) => {
  assert.equal(actual.length, wanted.length);
  wanted.forEach((value, i) => assert.ok(Math.abs(actual[i] - value) <= tolerance, `[${i}]: ${actual[i]}, not ${value}`));
};
const one = [1, 2, 3, 4, 5, 6, 7, 8];
const INTERLEAVED = [-1.272232513, -1.838864985, 1.683928641, 4.707906576, 4.817777168, 6.147277704, 6.975968536, 8.020963969];
const HALF = [-1.695592537, 0.1375517383, 2.7886816, 3.975982036, -4.808842475, 6.323059348, 7.086836737, 8.011963982];

test('the catalogue says what there is', () => {
  const all = lw.encodings();
  for (const name of ['nope', 'sinusoidal', 'learned', 'rope', 'alibi', 't5', 'window', 'log_n']) assert.ok(all.some((e) => e.name === name), name);
  for (const entry of all) assert.ok(!('title' in entry) && Array.isArray(entry.doors) && Array.isArray(entry.options), entry.name);
});

test('with the texts it says it in both languages', () => {
  const rope = lw.encodings(texts).find(({ name }) => name === 'rope');
  assert.match(rope.title, /Rotary/);
  assert.match(rope.title_zh, /旋转/);
  assert.match(rope.options.find(({ name }) => name === 'base').meaning_zh, /慢/);
  assert.deepEqual(lw.encodings(texts).map(({ title, title_zh, paper, past_note, past_note_zh, differs, differs_zh, options, ...facts }) =>
    ({ ...facts, options: options.map(({ meaning, meaning_zh, ...option }) => option) })), lw.encodings());
});

test('rotation in both pairings (EleutherAI/gpt-neox#834)', () => {
  using(lw.encoding({ name: 'rope', pairing: 'interleaved' }, { headDim: 8 }), (rope) => {
    close(rope.rotate(one, 3), INTERLEAVED, 1e-6);
    close(rope.rotate(rope.rotate(one, 3), 3, { inverse: true }), one, 1e-5);
    const x = Float32Array.from(one);
    assert.equal(rope.rotate(x, [3], { inPlace: true }), x);
    close(x, INTERLEAVED, 1e-6);
    const { cos, sin, pairs, pairing } = rope.rotation([3]);
    assert.deepEqual([pairs, pairing, cos.length, sin.length], [4, 'interleaved', 4, 4]);
    close(cos, [0, 1, 2, 3].map((k) => Math.cos(3 * 10000 ** (-k / 4))), 1e-7);
  });
  using(lw.encoding({ name: 'rope', pairing: 'half' }, { headDim: 8 }), (rope) => close(rope.rotate(one, 3), HALF, 1e-6));
});

test('a cached key is turned on by turning it by the difference (ggml-org/llama.cpp#3835)', () => {
  using(lw.encoding('rope:pairing=half', { headDim: 8 }), (rope) => {
    const first = rope.rotate(rope.rotate(one, 10), -4);
    close(first, [2.357247778, -1.737183611, 2.574853574, 3.951928288, 4.521435935, 6.081298636, 7.167295799, 8.023855856], 1e-5);
    close(rope.rotate(first, -2), [3.130368856, -0.4943880658, 2.717674981, 3.967968085, -4.0250206, 6.305202649, 7.114368749, 8.015935957], 1e-5);
  });
});

test('what a number may be (emscripten-core/emscripten#20185)', () => {
  using(lw.encoding('rope', { headDim: 8 }), (rope) => {
    rope.rotate(one, 5);
    assert.throws(() => rope.rotate(one, 5n), TypeError);
    for (const bad of [2 ** 53, 3.5, Number.NaN, Infinity]) assert.throws(() => rope.rotate(one, bad), RangeError);
    for (const bad of [Number.NaN, Infinity]) assert.throws(() => rope.rotate(one, [bad]), RangeError);
    assert.throws(() => rope.rotate(one, ['3']), TypeError);
    assert.throws(() => rope.rotate(one, new BigInt64Array(1)), TypeError);
  });
  for (const bad of [-1, 0, Number.NaN, 3.7, 4294967301, 2 ** 53]) {
    for (const name of ['heads', 'kvHeads', 'headDim', 'width', 'trainedLength']) {
      assert.throws(() => lw.encoding('rope', { headDim: 8, [name]: bad }), RangeError, `${name} ${bad}`);
    }
  }
  for (const bad of ['8', null, {}, [8], 8n]) assert.throws(() => lw.encoding('rope', { headDim: bad ?? 8n }), TypeError);
});

test('sizes, names and options that are wrong are named', () => {
  assert.throws(() => lw.encoding('banana'), /banana/);
  assert.throws(() => lw.encoding('rope:bass=5'), /bass/);
  assert.throws(() => lw.encoding({ name: 'rope', base: -1 }), /base/);
  assert.throws(() => lw.encoding('rope', { headDim: 7 }), RangeError);
  assert.throws(() => lw.encoding('rope+rope', { headDim: 8 }), RangeError);
  assert.throws(() => lw.encoding('rope', { heads: 3, kvHeads: 2, headDim: 8 }), /kvHeads/);
  assert.throws(() => lw.encoding('rope', { headdim: 8 }), /headdim/);
  using(lw.encoding('rope', { headDim: 8 }), (rope) => {
    assert.throws(() => rope.rotate([1, 2, 3], 0), RangeError);
    assert.throws(() => rope.rotate([], 0), RangeError);
    assert.throws(() => rope.rotate(one, [1, 2]), RangeError);
    assert.throws(() => rope.table(0), RangeError);
    assert.throws(() => rope.table(-5), RangeError);
    assert.throws(() => rope.bias({ queries: 2, keys: 4, offset: -1.5 }), RangeError);
    assert.throws(() => rope.bias({ queries: 2, key: 4 }), TypeError);
    assert.throws(() => rope.bias({ queries: 2, keys: 4, positions: [1] }), RangeError);
  });
});

test('positions past a table are refused, naming both lengths', () => {
  using(lw.encoding('learned', { width: 8, heads: 1, trainedLength: 16 }), (learned) => {
    assert.equal(learned.table(16).length, 16 * 8);
    assert.throws(() => learned.table(17), (error) => error instanceof RangeError && /16/.test(error.message));
    assert.equal(learned.table(16).length, 16 * 8, 'and then it works');
  });
});

test('a window counts the query itself (huggingface/transformers#39408)', () => {
  const mask = (spec) => using(lw.encoding(spec, { headDim: 1 }), (e) => [...e.pattern(6)].join('').match(/.{6}/g));
  assert.deepEqual(mask({ name: 'window', width: 3 }), ['100000', '110000', '111000', '011100', '001110', '000111']);
  assert.deepEqual(mask({ name: 'window', width: 1 }), ['100000', '010000', '001000', '000100', '000010', '000001']);
  assert.throws(() => lw.encoding({ name: 'window', width: 0 }), RangeError);
  close(lw.attention(new Float32Array(6), new Float32Array(6), [0, 1, 2, 3, 4, 5], { encoding: { name: 'window', width: 3 }, headDim: 1 }), [0, 0.5, 1, 2, 3, 4], 1e-6);
});

test('queries are the latest tokens (onnx/onnx#8068)', () => {
  close(lw.attention(new Float32Array(2), new Float32Array(5), [1, 2, 3, 4, 5], { headDim: 1 }), [2.5, 3], 1e-6);
  close(lw.attention(new Float32Array(5), new Float32Array(2), [1, 2], { headDim: 1 }), [0, 0, 0, 1, 1.5], 1e-6);
});

test('rows before token 0 see nothing, in attention, pattern and bias alike (onnx/onnx#8068)', () => {
  const rows = (data, keys) => [...data].join('').match(new RegExp(`.{${keys}}`, 'g'));
  for (const spec of ['nope', 'window:width=9']) using(lw.encoding(spec, { headDim: 1 }), (e) => {
    assert.deepEqual(rows(e.pattern({ queries: 5, keys: 2 }), 2), ['00', '00', '00', '10', '11']);
    assert.deepEqual(rows(e.pattern({ queries: 2, keys: 5 }), 5), ['11110', '11111']);
    assert.deepEqual(rows(e.pattern({ queries: 3, keys: 3, offset: -1 }), 3), ['000', '100', '110']);
    assert.deepEqual(rows(e.pattern({ queries: 2, keys: 2, offset: -7 }), 2), ['00', '00']);
    assert.deepEqual([...e.attention([0, 0], [0, 0], [1, 2], { offset: -7 })], [0, 0]);
  });
  using(lw.encoding('alibi', { heads: 2, headDim: 1 }), (e) => {
    const all = e.bias({ queries: 2, keys: 2 });
    assert.deepEqual([...e.bias({ queries: 5, keys: 2 })], [0, 1].flatMap((h) => [0, 0, 0, 0, 0, 0, ...all.slice(4 * h, 4 * h + 4)]));
    assert.deepEqual([...new Set(e.bias({ queries: 2, keys: 2, offset: -2 }))], [0]);
  });
  using(lw.encoding('alibi', { headDim: 1, causal: false }), (e) => {
    for (const call of [() => e.pattern({ queries: 5, keys: 2 }), () => e.bias({ queries: 5, keys: 2 }), () => e.attention([0, 0], [0], [1])]) {
      assert.throws(call, /offset is -\d \(keys − queries\); without a causal mask/);
    }
    assert.deepEqual([...e.pattern({ queries: 5, keys: 2, offset: 0 })], Array(10).fill(1));
  });
});

test('attention equals its formula, with a bias and grouped heads', () => {
  const [heads, kvHeads, headDim, tokens] = [4, 2, 8, 13];
  const wave = (n, f) => Float32Array.from({ length: n }, (_, i) => Math.sin(i * f));
  const [q, k, v] = [wave(tokens * heads * headDim, 0.7), wave(tokens * kvHeads * headDim, 1.3), wave(tokens * kvHeads * headDim, 0.31)];
  using(lw.encoding('alibi', { heads, kvHeads, headDim }), (alibi) => {
    const out = alibi.attention(q, k, v);
    const bias = alibi.bias(tokens);
    const wanted = [];
    for (let i = 0; i < tokens; i++) for (let h = 0; h < heads; h++) {
      const at = (x, row, head, n) => x.subarray((row * n + head) * headDim, (row * n + head + 1) * headDim);
      const g = Math.floor(h * kvHeads / heads);
      const scores = Array.from({ length: i + 1 }, (_, j) =>
        at(q, i, h, heads).reduce((s, x, d) => s + x * at(k, j, g, kvHeads)[d], 0) / Math.sqrt(headDim) + bias[(h * tokens + i) * tokens + j]);
      const weights = scores.map(Math.exp), total = weights.reduce((a, b) => a + b);
      for (let d = 0; d < headDim; d++) wanted.push(weights.reduce((s, w, j) => s + w * at(v, j, g, kvHeads)[d], 0) / total);
    }
    close(out, wanted, 1e-5);
    // The last two rows alone, as with a cache.
    close(alibi.attention(q.subarray(-2 * heads * headDim), k, v), wanted.slice(-2 * heads * headDim), 1e-5);
  });
});

test('attention refuses what does not fit', () => {
  const x = new Float32Array(8);
  assert.throws(() => lw.attention(x, x, new Float32Array(4), { headDim: 4 }), /v has 4/);
  assert.throws(() => lw.attention(new Float32Array(7), x, x, { headDim: 4 }), /q has 7/);
  assert.throws(() => lw.attention(x, x, x, { headDim: 4, offset: 1.5 }), RangeError);
  assert.throws(() => lw.attention(x, x, x, { headDim: 4, ofset: 1 }), TypeError);
  assert.throws(() => lw.attention(x, x, x, { headDim: 4, encoding: 'forget_gate' }), /x is missing/);
  assert.equal(lw.attention(x, x, x, { headDim: 4, encoding: 'shaw' }).length, x.length); // content, but not of the layer's input
  assert.throws(() => lw.attention('text', x, x, { headDim: 4 }), TypeError);
});

test('closed doors give neutral elements', () => {
  using(lw.encoding('nope', { heads: 2, headDim: 4 }), (nope) => {
    assert.deepEqual(nope.doors, []);
    assert.deepEqual([...new Set(nope.table(3))], [0]);
    assert.deepEqual([...new Set(nope.bias(3))], [0]);
    assert.deepEqual([...nope.scale(2)], [1, 1, 1, 1]);
    assert.deepEqual([...nope.pattern(2)], [1, 0, 1, 1]);
    assert.equal(nope.rotation(3).pairs, 0);
    assert.deepEqual([...nope.rotate(one, 3)], one);
    assert.deepEqual([...nope.positions(3)], [0, 1, 2]);
  });
});

test('fractional and huge positions', () => {
  using(lw.encoding('sinusoidal', { width: 4, heads: 1 }), (e) => {
    close(e.table([0.5, 1e6]), [0.5, 1e6].flatMap((p) => [Math.sin(p), Math.cos(p), Math.sin(p / 100), Math.cos(p / 100)]), 1e-6);
  });
});

test('learned parameters can be replaced', () => {
  using(lw.encoding('learned', { width: 4, heads: 1, trainedLength: 3 }), (e) => {
    const [[name, { rows, columns }]] = Object.entries(e.parameters);
    assert.deepEqual([rows, columns], [3, 4]);
    const values = Float32Array.from({ length: 12 }, (_, i) => i);
    e.setParameter(name, values);
    assert.deepEqual(e.parameters[name].data, values);
    assert.deepEqual(e.table(3), values);
    assert.throws(() => e.setParameter(name, [1]), RangeError);
    assert.throws(() => e.setParameter('none', values), RangeError);
  });
});

test('layers are for models', () => {
  assert.throws(() => lw.encoding('window:width=4|rope'), { name: 'RangeError', message: /encoding is 'window:width=4\|rope'; allowed here: one stack/ });
});

test('parameters of one name say whose they are', () => {
  using(lw.encoding('forget_gate+content_bias+alibi', { width: 4, heads: 1 }), (e) => {
    assert.deepEqual(Object.keys(e.parameters), ['forget_gate.weight', 'bias', 'content_bias.weight']);
    e.setParameter('content_bias.weight', [1, 2, 3, 4]);
    assert.deepEqual([...e.parameters['content_bias.weight'].data], [1, 2, 3, 4]);
  });
});

test('encodings that look at tokens are told which', () => {
  using(lw.encoding('digits+alibi', { heads: 1 }), (e) => {
    assert.equal(e.readsTokens, true);
    for (const length of [1, 4]) assert.throws(() => e.positions(length), new RegExp(`tokens are missing; allowed with .digits\\+alibi.*: ${length}`));
    e.setTokens([65]);
    assert.throws(() => e.positions(4), /tokens has 1 entries; allowed with 'digits\+alibi'.*: 4/);
    e.setTokens([65, 49, 50, 65]);
    assert.deepEqual([...e.positions(4)], [0, 1, 2, 0]);
    assert.throws(() => e.setTokens([-1]), RangeError);
    const ones = new Float32Array(4).fill(1);
    const options = { encoding: 'digits+alibi', heads: 1, headDim: 1, tokens: [65, 49, 50, 65] };
    assert.deepEqual(lw.attention(ones, ones, ones, options), ones);
    assert.throws(() => lw.attention(ones, ones, ones, { ...options, tokens: undefined }), /setTokens/);
  });
});

test('after dispose() every call says so; twice does no harm', () => {
  const rope = lw.encoding('rope', { headDim: 8 });
  rope.dispose();
  rope.dispose();
  assert.equal(rope.disposed, true);
  for (const call of [() => rope.rotate(one, 1), () => rope.table(1), () => rope.bias(2), () => rope.pattern(2), () => rope.scale(2),
    () => rope.positions(2), () => rope.rotation(2), () => rope.attention(one, one, one), () => rope.parameters]) assert.throws(call, DisposedError);
  assert.equal(typeof rope[Symbol.dispose], 'function');
});

test('results outlive growing memory (emscripten-core/emscripten#6747)', async () => {
  const own = await load({ variant: 'simd' });
  const small = own.encoding('sinusoidal', { width: 8, heads: 1 });
  const table = small.table(4);
  const copy = [...table];
  const before = own.memoryBytes;
  const large = own.encoding('sinusoidal', { width: 1024, heads: 1 });
  large.table(40000);
  assert.ok(own.memoryBytes > before, 'memory grew');
  assert.deepEqual([...table], copy);
  close(small.table(4), copy, 0);
});

test('ten thousand encodings leave nothing behind (emscripten-core/emscripten#20621)', async () => {
  const own = await load({ variant: 'simd' });
  const round = () => {
    const e = own.encoding('t5', { heads: 2, headDim: 8 });
    e.bias(16);
    e.dispose();
    assert.throws(() => own.encoding('rope', { headDim: 7 }));
  };
  for (let i = 0; i < 100; i++) round();
  const before = own.memoryBytes;
  for (let i = 0; i < 10000; i++) round();
  assert.equal(own.memoryBytes, before);
});

test('running out of memory is an error, and work goes on', async () => {
  const own = await load({ variant: 'simd' });
  const e = own.encoding('t5', { heads: 64, headDim: 8 });
  assert.throws(() => e.bias(2 ** 16), OutOfMemoryError);
  assert.throws(() => e.table(2 ** 24), OutOfMemoryError);
  assert.throws(() => own.model({ width: 16384, hidden: 65536, layers: 256, heads: 64, vocabulary: 2 ** 20 }), (error) =>
    error instanceof OutOfMemoryError || error instanceof RangeError);
  assert.equal(e.bias(4).length, 64 * 16);
});

test('sizes that 32 bits cannot hold are refused, not taken modulo 2³² (ggml-org/llama.cpp#25401)', async () => {
  const own = await load({ variant: 'simd' });
  const x = new Float32Array(2 ** 19);
  using(own.encoding('transformer_xl', { heads: 1, headDim: 2, width: 2 ** 14 }), (e) => assert.throws(() => e.attention(x, x, x), OutOfMemoryError));
  const wide = { vocabulary: 2, width: 1024, heads: 1024, hidden: 1, encoding: { layers: Array(11).fill('learned_bias:clip=390000') } };
  assert.throws(() => own.model({ ...wide, layers: 11 }), (error) => error instanceof RangeError && /the model has \d{10} parameters/.test(error.message));
  assert.throws(() => own.register({ name: 'wide', rotation: () => 0, pairs: 2 ** 30 + 1 }) && own.encoding('wide'), /headDim is 64; allowed with wide: at least 2147483650/);
  assert.equal(own.encoding('alibi').bias(4).length, 16);
});

test('any shape and any spec gives a result or a RangeError', () => {
  const names = lw.encodings().map((e) => e.name);
  fc.assert(fc.property(
    fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 2 }), fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 9 }),
    fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 33 }), fc.boolean(),
    (spec, heads, headDim, trainedLength, length, causal) => {
      let e;
      try {
        e = lw.encoding(spec, { heads, headDim, trainedLength, causal });
        const x = Float32Array.from({ length: length * heads * headDim }, (_, i) => Math.cos(i));
        for (const result of [e.table(length), e.bias(length), e.scale(length), e.attention(x, x, x, { x })]) {
          assert.ok(result.every((v) => !Number.isNaN(v)), `${spec}: NaN`);
        }
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
      } finally {
        e?.dispose();
      }
    },
  ), { numRuns: 300 });
});

function using(thing, work) {
  try {
    return work(thing);
  } finally {
    thing.dispose();
  }
}

test('what mixes neighbours has no table, and says so', () => {
  using(lw.encoding('conditional', { width: 8, heads: 1 }), (e) => {
    assert.equal(e.mixes, true);
    assert.throws(() => e.table(4), (error) => error instanceof RangeError && /^conditional has no table: it mixes neighbours/.test(error.message));
  });
  using(lw.encoding('sinusoidal', { width: 8, heads: 1 }), (e) => assert.deepEqual([e.mixes, e.table(2)[1]], [false, 1]));
});
